"""`askfirst runs`: see every run, answer it from here, stop it, or try another way from an earlier point."""

import argparse
import getpass
import json
from collections.abc import Callable, Sequence
from typing import Any

from bot.cli import Commands, paint
from bot.cli.answering import Desk, Later
from bot.cli.keyboard import Keyboard
from bot.cli.paint import Paint
from bot.cli.screen import Screen
from bot.domain.canonical import JsonObject
from bot.domain.decision import Answer, Approve, Cancel, Choose, Edit, Reject, Respond
from bot.domain.errors import CheckpointNotFound, ConfigError, InvalidAnswer
from bot.domain.ids import RunId, UserId
from bot.domain.interrupt import Asked
from bot.domain.literal import shortened, visible
from bot.domain.person import Person
from bot.domain.run import FINAL, Head
from bot.engine.snapshot import next_steps, snapshot
from bot.settings import load_settings
from bot.storage.store import SqlStore
from bot.wiring import Engine, open_engine, open_store


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "runs",
        help="list, show, resume, cancel and fork runs",
        description="Look into runs and go on with them: what was asked in Slack can be answered here, too.",
    )
    parser.add_argument("--database", help="where runs are kept (default: .askfirst/askfirst.db)")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _add_looking(actions)
    _add_answering(actions)
    stop = actions.add_parser("cancel", help="stop a run; what it was about to do is not done")
    stop.add_argument("id", help="the run's id, or the beginning of it")
    stop.add_argument("--reason", default="", help="told to the thread and recorded")
    stop.set_defaults(run=cancel)
    fork = actions.add_parser("fork", help="go another way from an earlier point of a run")
    fork.add_argument("id", help="the run's id, or the beginning of it")
    fork.add_argument(
        "--at", type=int, required=True, metavar="N", help="keep the first N entries of its transcript"
    )
    fork.set_defaults(run=fork_run)


def _add_looking(actions: Commands) -> None:
    everything = actions.add_parser("list", help="all runs, newest first")
    everything.add_argument(
        "--state", choices=["ready", "running", "waiting", *sorted(FINAL)], help="only these"
    )
    everything.add_argument("--limit", type=int, default=20, help="how many (default: 20)")
    everything.add_argument("--json", action="store_true", help="for machines")
    everything.set_defaults(run=list_runs)
    one = actions.add_parser("show", help="what is next, values, metadata, transcript, verdicts, interrupts")
    one.add_argument("id", help="the run's id, or the beginning of it")
    one.add_argument("--json", action="store_true", help="for machines")
    one.set_defaults(run=show)


def _add_answering(actions: Commands) -> None:
    parser = actions.add_parser(
        "resume",
        help="answer what a run asks and let it go on",
        description="Without an answer on the command line it asks. With one, say which question if several are open.",
    )
    parser.add_argument("id", help="the run's id, or the beginning of it")
    parser.add_argument("--interrupt", help="which question, if several are open")
    answer = parser.add_mutually_exclusive_group()
    answer.add_argument("--approve", action="store_true", help="do what was planned")
    answer.add_argument("--option", metavar="ID", help="choose an option")
    answer.add_argument("--edit", metavar="JSON", help="replace the arguments (for a review: by call id)")
    answer.add_argument("--text", help="replace the draft under review")
    answer.add_argument("--reject", metavar="REASON", help="do not do it, and say why")
    answer.add_argument("--respond", metavar="ANSWER", help="answer a question; JSON if it has a form")
    answer.add_argument("--cancel", action="store_true", help="stop the whole run")
    parser.set_defaults(run=resume)


async def list_runs(options: argparse.Namespace) -> int:
    async with open_store(load_settings(database=options.database)) as store:
        heads = await store.heads(state=options.state, limit=options.limit)
        if options.json:
            print(json.dumps([_brief(head) for head in heads], indent=2))
            return 0
        if not heads:
            print("No runs here yet. `askfirst chat` starts one.")
        for head in heads:
            asked = await store.open_interrupts(head.run_id)
            steps = "; ".join(next_steps(head, asked)) or shortened(visible(head.ending), 60)
            print(
                f"{head.run_id}  {head.state:<11} {head.created_at:%Y-%m-%d %H:%M}  {head.requester:<12} {steps}"
            )
    return 0


async def show(options: argparse.Namespace) -> int:
    async with open_store(load_settings(database=options.database)) as store:
        head = await _find(store, options.id)
        facts = snapshot(head, await store.transcript(head.run_id), await store.interrupts_of(head.run_id))
        records = await store.audit_of(head.run_id)
        facts["verdicts"] = [record.fact.body for record in records if record.fact.kind == "verdict"]
        if options.json:
            print(json.dumps(facts, indent=2, ensure_ascii=False))
        else:
            _print_run(facts, paint.for_stream())
    return 0


async def resume(options: argparse.Namespace) -> int:
    colours = paint.for_stream()
    async with open_engine(load_settings(database=options.database), Screen(colours)) as engine:
        head = await _find(engine.store, options.id)
        asked = await engine.store.open_interrupts(head.run_id)
        person = Person(id=UserId(getpass.getuser()))
        if not asked:
            await engine.runner.resume(head.run_id)
        elif (answer := _answer_from(options, asked)) is not None:
            await engine.runner.decide(
                _which(asked, options.interrupt).interrupt.id, answer, person, via="command"
            )
        else:
            await _in_dialogue(engine, asked, person, colours)
        await engine.supervisor.settled(head.run_id)
        return await _report(engine.store, head.run_id, colours)


async def _in_dialogue(engine: Engine, asked: Sequence[Asked], person: Person, colours: Paint) -> None:
    desk = Desk(engine=engine, keyboard=Keyboard(), person=person, paint=colours)
    run_id = asked[0].interrupt.run_id
    try:
        while asked:
            for each in asked:
                if not await desk.answer(each):
                    return
            await engine.supervisor.settled(run_id)
            asked = await engine.store.open_interrupts(run_id)
    except Later:
        print("   Left open.")


async def cancel(options: argparse.Namespace) -> int:
    colours = paint.for_stream()
    async with open_engine(load_settings(database=options.database), Screen(colours)) as engine:
        head = await _find(engine.store, options.id)
        await engine.runner.cancel(head.run_id, UserId(getpass.getuser()), options.reason)
        await engine.supervisor.settled(head.run_id)
        return await _report(engine.store, head.run_id, colours)


async def fork_run(options: argparse.Namespace) -> int:
    colours = paint.for_stream()
    async with open_engine(load_settings(database=options.database), Screen(colours)) as engine:
        head = await _find(engine.store, options.id)
        fork = await engine.runner.fork(head.run_id, at=options.at, by=UserId(getpass.getuser()))
        print(f"Fork {fork} of {head.run_id} after entry {options.at}.")
        await engine.supervisor.settled(fork)
        return await _report(engine.store, fork, colours)


async def _find(store: SqlStore, prefix: str) -> Head:
    found = await store.find(prefix)
    if len(found) > 1 and RunId(prefix) not in found:
        raise InvalidAnswer(f"Several runs begin with {prefix!r}: {', '.join(found)}. Type more of it.")
    head = await store.head(RunId(prefix) if RunId(prefix) in found else found[0]) if found else None
    if head is None:
        raise CheckpointNotFound(prefix)
    return head


def _which(asked: Sequence[Asked], wanted: str | None) -> Asked:
    if wanted is None and len(asked) == 1:
        return asked[0]
    names = ", ".join(each.interrupt.id for each in asked)
    if wanted is None:
        raise InvalidAnswer(f"Several questions are open: {names}. Say which with --interrupt.")
    for each in asked:
        if each.interrupt.id == wanted:
            return each
    raise CheckpointNotFound(wanted, f"open here: {names}")


def _answer_from(options: argparse.Namespace, asked: Sequence[Asked]) -> Answer | None:
    """The answer given on the command line, if any."""

    def responded(text: str) -> Answer:
        has_form = _which(asked, options.interrupt).interrupt.response_schema is not None
        return Respond(data=_json(text, "--respond") if has_form else text)

    makers: dict[str, Callable[[Any], Answer]] = {
        "approve": lambda _: Approve(),
        "cancel": lambda _: Cancel(),
        "option": lambda option: Choose(option=option),
        "reject": lambda reason: Reject(reason=reason),
        "text": lambda text: Edit(text=text),
        "edit": lambda text: Edit(args=_json(text, "--edit")),
        "respond": responded,
    }
    for name, make in makers.items():
        given = getattr(options, name)
        if given is not None and given is not False:
            return make(given)
    return None


def _json(text: str, option: str) -> JsonObject:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{option} wants JSON: {error}") from error


async def _report(store: SqlStore, run_id: RunId, colours: Paint) -> int:
    head = await store.head(run_id)
    if head is None:
        raise CheckpointNotFound(run_id)
    waiting = await store.open_interrupts(run_id)
    print(f"Run {head.run_id} is {colours(head.state, 'bold')}.", *next_steps(head, waiting), sep="\n  ")
    return 0 if head.state in {"done", "waiting", "cancelled"} else 1


def _brief(head: Head) -> JsonObject:
    created = head.created_at.isoformat()
    return {"run_id": head.run_id, "state": head.state, "requester": head.requester, "created_at": created}


def _print_run(facts: JsonObject, colours: Paint) -> None:
    print(colours(f"Run {facts['run_id']} is {facts['state']}", "bold"))
    for name in ("next", "values", "metadata"):
        value: JsonObject | list[Any] = facts[name]
        print(colours(name, "bold"))
        rows = (
            value if isinstance(value, dict) else {str(number): item for number, item in enumerate(value, 1)}
        )
        for key, item in rows.items():
            print(f"  {key!s:<12} {visible(str(item))}")
    print(colours("transcript", "bold"))
    for entry in facts["transcript"]:
        _print_entry(entry, colours)
    for name in ("verdicts", "interrupts"):
        print(colours(name, "bold"))
        for item in facts[name]:
            print(f"  {visible(json.dumps(item, ensure_ascii=False))}")


def _print_entry(entry: JsonObject, colours: Paint) -> None:
    rest = {key: value for key, value in entry.items() if key not in {"number", "at", "kind"} and value}
    body = shortened(visible(json.dumps(rest, ensure_ascii=False)), 300)
    print(f"  {entry['number']:>3} {colours(entry['kind'], 'cyan'):<8} {body}")
