"""What the offline model can do: a table of requests it recognises, each with a small plan.

A plan is a generator. It yields what to call, is sent what came of it, and returns the answer:

    def _read(asked):
        (text,) = yield Step(say="I read it.", calls=(call("read_file", path=asked["path"]),))
        return report(text)

Nothing of a plan is stored. For every turn it is started again and fed the results that the transcript holds,
so it goes on after a restart, days later, in another process, exactly where it stopped.
"""

import difflib
import json
import re
import shlex
from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bot.domain.canonical import JsonObject
from bot.domain.tool import ResultStatus

MOST_LINES = 25
MOST_CHARACTERS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    tool: str
    args: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Words, and calls to make side by side."""

    say: str
    calls: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A call that was proposed, and what came of it."""

    what: str
    status: ResultStatus
    text: str
    notice: str = ""

    @property
    def ok(self) -> bool:
        return self.status == "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The words of the request that a plan needs, and the tools there are."""

    words: dict[str, str]
    tools: Collection[str]

    def __getitem__(self, name: str) -> str:
        return self.words.get(name, "")


Plan: TypeAlias = Generator[Step, Sequence[Outcome], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    plan: Callable[[Asked], Plan]
    #: Without all of these tools it is not offered.
    needs: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]
    #: Shown to people who ask for something else; empty if it is not for people.
    example: str


def call(tool: str, **args: Any) -> Proposal:
    return Proposal(tool=tool, args=args)


# ── Saying what happened ─────────────────────────────────────────────────────────────────────────────────

_SAYS: dict[ResultStatus, str] = {
    "error": "{what} did not work. {text}",
    "denied": "{what} is not allowed here, so I did not do it. {text}",
    "declined": "{what} was declined, so I did not do it and will not try again unless you ask. {text}",
    "timed_out": "Nobody answered in time about this, so it was not done: {what}. {text}",
    "cancelled": "{what} was cancelled. {text}",
    "unknown": "I do not know whether this happened: {what}. {text}",
}


def report(*outcomes: Outcome) -> str:
    """Tell people what came of each call, and nothing that did not happen."""
    return "\n\n".join(_reported(outcome) for outcome in outcomes)


def _reported(outcome: Outcome) -> str:
    text = shortened(_for_people(outcome.text))
    if not outcome.ok:
        return _SAYS[outcome.status].format(what=outcome.what, text=text).rstrip()
    # If a person changed the call, what was proposed is not what was done.
    head = _for_people(outcome.notice) or f"{outcome.what}:"
    return f"{head}\n{text}" if text else f"{head} done."


def _for_people(text: str) -> str:
    """Leave out what only the model is told."""
    return re.split(r"\s*\bDo not (?:retry|repeat)\b", text, maxsplit=1)[0].strip()


def shortened(text: str) -> str:
    lines = text[:MOST_CHARACTERS].splitlines()
    kept = "\n".join(lines[:MOST_LINES])
    left = text.count("\n") + 1 - min(len(lines), MOST_LINES)
    return f"{kept}\n… and {left} more lines" if left > 0 and text else kept


# ── Plans ────────────────────────────────────────────────────────────────────────────────────────────────


def _list(asked: Asked) -> Plan:
    outcomes = yield Step(
        say="I look at what is there.", calls=(call("find_files", path=asked["path"] or ".", limit=20),)
    )
    return report(*outcomes)


def _find(asked: Asked) -> Plan:
    args: JsonObject = {"path": asked["path"] or "."}
    if asked["contains"]:
        args |= {"contains": unquoted(asked["contains"])}
    else:
        args |= {"pattern": unquoted(asked["pattern"])}
    outcomes = yield Step(say="I search for it.", calls=(call("find_files", **args),))
    return report(*outcomes)


def _read(asked: Asked) -> Plan:
    outcomes = yield Step(say="I read the file.", calls=(call("read_file", path=unquoted(asked["path"])),))
    return report(*outcomes)


def _write(asked: Asked) -> Plan:
    outcomes = yield Step(say="I would like to write this file.", calls=(_writing(asked),))
    return report(*outcomes)


def _writing(asked: Asked) -> Proposal:
    return call("write_file", path=unquoted(asked["path"]), content=unquoted(asked["content"]) + "\n")


def _check_and_write(asked: Asked) -> Plan:
    look = call("read_file", path=asked["read"]) if asked["read"] else call("find_files", path=".", limit=20)
    outcomes = yield Step(say="I look and, beside it, propose what to write.", calls=(look, _writing(asked)))
    return report(*outcomes)


def _compare(asked: Asked) -> Plan:
    names = unquoted(asked["one"]), unquoted(asked["other"])
    one, other = yield Step(
        say="I read both, side by side.", calls=tuple(call("read_file", path=name) for name in names)
    )
    if not (one.ok and other.ok):
        return report(*(outcome for outcome in (one, other) if not outcome.ok))
    if one.text == other.text:
        return f"{names[0]} and {names[1]} have the same content."
    lines = difflib.unified_diff(one.text.splitlines(), other.text.splitlines(), *names, lineterm="")
    return f"{names[0]} and {names[1]} differ:\n{shortened(chr(10).join(lines))}"


def _run(asked: Asked) -> Plan:
    outcomes = yield Step(
        say="I would like to run this command.", calls=(call("execute", command=unquoted(asked["command"])),)
    )
    return report(*outcomes)


def _run_several(asked: Asked) -> Plan:
    commands = [unquoted(part) for part in re.split(r"[;\n]", asked["commands"]) if part.strip()]
    outcomes = yield Step(
        say=f"I would like to run {len(commands)} commands; each can be decided by itself.",
        calls=tuple(call("execute", command=command) for command in commands),
    )
    return report(*outcomes)


def _restart(asked: Asked) -> Plan:
    command = shlex.join(["systemctl", "restart", asked["service"]])
    outcomes = yield Step(
        say=f"I would like to restart {asked['service']}.", calls=(call("execute", command=command),)
    )
    return report(*outcomes)


def _clean_up(asked: Asked) -> Plan:
    target = _target(asked["what"])
    if target is None:
        return "I cannot tell which files you mean. Name them, for example: delete *.tmp in build"
    (found,) = yield Step(say="First I look at what this would touch.", calls=(call("find_files", **target),))
    if not found.ok:
        return report(found)
    if re.match(r"(no|0)\b", found.text, re.IGNORECASE):
        return f"There is nothing to delete: no file matches {_described(target)}."
    if "delete_files" in asked.tools:
        outcomes = yield Step(
            say=f"I would like to delete {_described(target)}.", calls=(call("delete_files", **target),)
        )
        return report(*outcomes)
    if "ask_human" not in asked.tools or "execute" not in asked.tools:
        return f"{report(found)}\n\nI have no tool to delete them."
    return (yield from _delete_by_command(target, found))


def _delete_by_command(target: JsonObject, found: Outcome) -> Plan:
    (choice,) = yield Step(
        say=f"I found this:\n{shortened(found.text)}",
        calls=(call("ask_human", question=f"Which may go: {_described(target)}?", options=list(_AGES)),),
    )
    if not choice.ok:
        return report(choice)
    days = _AGES.get(choice.text.strip())
    if days is None:
        return "Then I leave everything as it is."
    days = max(days, target["older_than_days"])
    command = ["find", target["path"], "-type", "f", "-name", target["pattern"]]
    command += ["-mtime", f"+{days}"] if days else []
    outcomes = yield Step(
        say="I would like to delete them with this command.",
        calls=(call("execute", command=shlex.join([*command, "-print", "-delete"])),),
    )
    return report(*outcomes)


#: The answers offered, and how many days old a file must be then.
_AGES: dict[str, int | None] = {"All of them": 0, "Only those older than a year": 365, "None of them": None}
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_KINDS = (
    (r"\blogs?\b", "*.log"),
    (r"\b(?:tmp|temp|temporary)\b", "*.tmp"),
    (r"\bbackups?\b", "*.bak"),
    (r"\btests?\b", "*test*"),
    (r"\b(?:everything|all files)\b", "*"),
)


def _target(what: str) -> JsonObject | None:
    """Read from `old logs in build older than 2 weeks` what is meant; None if it does not say which files.

    A guess would have to be wide, and what is wide here gets deleted.
    """
    place = re.search(r"\b(?:in|from|under)\s+(\S+)", what)
    # The folder's own name must not be taken for the kind of files.
    folder, pattern = _files(what.replace(place[0], "") if place else what)
    if pattern is None:
        return None
    age = re.search(r"\bolder than\s+(\d+)\s*(day|week|month|year)", what)
    days = int(age[1]) * _DAYS[age[2]] if age else 30 if re.search(r"\bold\b", what) else 0
    path = unquoted(place[1]) if place else folder
    return {"path": path, "pattern": pattern, "older_than_days": days}


def _files(what: str) -> tuple[str, str | None]:
    """Return a folder and a pattern."""
    if name := re.search(r"\S*[*?.]\S*", what):
        folder, slash, pattern = unquoted(name[0]).rpartition("/")
        return (folder or slash or "."), pattern or None
    return ".", next((pattern for kind, pattern in _KINDS if re.search(kind, what, re.IGNORECASE)), None)


def _described(target: JsonObject) -> str:
    days = target["older_than_days"]
    age = f" older than {days} days" if days else ""
    return f"{target['pattern']} in {target['path']}{age}"


def _move(asked: Asked) -> Plan:
    args: JsonObject = {"path": ".", "pattern": asked["pattern"], "to": unquoted(asked["path"])}
    outcomes = yield Step(say="I would like to move these files.", calls=(call("move_files", **args),))
    return report(*outcomes)


def _choice(_: Asked) -> Plan:
    (answer,) = yield Step(
        say="I have a question.",
        calls=(
            call(
                "ask_human",
                question="When may I do maintenance?",
                options=["Now", "Tonight at 22:00", "Not this week"],
            ),
        ),
    )
    return f"Noted: {answer.text}." if answer.ok else report(answer)


_FORM: JsonObject = {
    "type": "object",
    "properties": {
        "service": {"type": "string", "title": "Which service?", "minLength": 1},
        "environment": {"type": "string", "title": "Where?", "enum": ["staging", "production"]},
        "minutes": {"type": "integer", "title": "For how many minutes?", "minimum": 1, "maximum": 240},
        "announce": {"type": "boolean", "title": "Tell the channel before?"},
    },
    "required": ["service", "environment", "minutes"],
    "additionalProperties": False,
}


def _form(_: Asked) -> Plan:
    (answer,) = yield Step(
        say="I need a few details.",
        calls=(call("ask_human", question="What shall the maintenance window be?", schema=_FORM),),
    )
    if not answer.ok:
        return report(answer)
    return "This is what I understood:\n" + "\n".join(_fields(answer.text))


def _fields(text: str) -> list[str]:
    try:
        data: Any = json.loads(text)
        return [f"{name}: {value}" for name, value in data.items()]
    except (ValueError, AttributeError):
        return [text]


def _send(asked: Asked) -> Plan:
    args: JsonObject = {"to": [asked["to"]], "text": unquoted(asked["text"])}
    outcomes = yield Step(say="I would like to send this message.", calls=(call("send_message", **args),))
    return report(*outcomes)


def _fetch(asked: Asked) -> Plan:
    args: JsonObject = {"method": "GET", "url": asked["url"]}
    outcomes = yield Step(say="I fetch the page.", calls=(call("http_request", **args),))
    return report(*outcomes)


def _revise(asked: Asked) -> Plan:
    yield from ()
    return (
        f"I have read that it should be changed ({asked['why'] or 'no reason given'}), but the offline model"
        " cannot write anything new. Edit the draft, or ask for something else."
    )


def unquoted(text: str) -> str:
    text = text.strip()
    pairs = {('"', '"'), ("'", "'"), ("`", "`"), ("“", "”")}
    return text[1:-1] if len(text) > 1 and (text[0], text[-1]) in pairs else text


# ── The table: the first row that fits wins ──────────────────────────────────────────────────────────────


def _skill(plan: Callable[[Asked], Plan], needs: str, *phrases: str, example: str = "") -> Skill:
    """Make a row. A phrase is a regex in which `{name}` stands for one word and `{name…}` for any number."""
    patterns = tuple(re.compile(_regex(phrase), re.IGNORECASE | re.DOTALL) for phrase in phrases)
    return Skill(plan=plan, needs=tuple(needs.split()), patterns=patterns, example=example)


def _regex(phrase: str) -> str:
    several = re.sub(r"\{(\w+)…\}", r"(?P<\1>.+)", phrase)
    single = re.sub(r"\{(\w+)\}", r"(?P<\1>\\S+?)", several)
    return rf"(?:please )?{single}[.!?]?\s*".replace(" ", r"\s+")


SKILLS: tuple[Skill, ...] = (
    _skill(
        _list, "find_files", "list files", "list files in {path}", "ls", "ls {path}", example="list files"
    ),
    _skill(
        _find,
        "find_files",
        "find files containing {contains…} in {path}",
        "find files containing {contains…}",
        "find {pattern} in {path}",
        "find {pattern}",
        example="find *.log",
    ),
    _skill(_compare, "read_file", "compare {one} (?:and|with) {other}", example="compare a.txt and b.txt"),
    _skill(_read, "read_file", "(?:read|show|cat|open) {path}", example="read notes.txt"),
    _skill(
        _check_and_write,
        "find_files read_file write_file",
        "check {read} and write {content…} to {path}",
        "check and write {content…} to {path}",
        example="check notes.txt and write seen to log.txt",
    ),
    _skill(
        _write,
        "write_file",
        "(?:write|save) {content…} (?:to|into) {path}",
        example="write hello to greeting.txt",
    ),
    _skill(_run_several, "execute", "run these: {commands…}", example="run these: uname -a; date"),
    _skill(_run, "execute", "(?:run|execute) {command…}", example="run uname -a"),
    _skill(_restart, "execute", "restart {service}", "restart the {service} service", example="restart api"),
    _skill(
        _clean_up,
        "find_files",
        "(?:delete|remove) {what…}",
        "(?:clean|tidy) up {what…}",
        example="clean up old test files",
    ),
    _skill(_move, "move_files", "move {pattern} to {path}", example="move *.bak to archive"),
    _skill(
        _form,
        "ask_human",
        "ask me for (?:the )?details",
        "ask me with a form",
        "plan (?:a )?maintenance",
        example="ask me for details",
    ),
    _skill(_choice, "ask_human", "ask me {what…}", example="ask me something"),
    _skill(
        _send,
        "send_message",
        "send a message to {to} saying {text…}",
        "send {text…} to {to}",
        example="send a message to #ops saying hi",
    ),
    _skill(_fetch, "http_request", "(?:fetch|get) {url}", example="fetch http://localhost:8000/health"),
    _skill(
        _revise, "", "{who} reviewed this and wants it changed because: {why…}", "{who} reviewed this {rest…}"
    ),
)


def recognised(request: str) -> tuple[Skill, dict[str, str]] | None:
    """Return the row of the table that fits, and the words it found."""
    for skill in SKILLS:
        for pattern in skill.patterns:
            if match := pattern.fullmatch(request.strip()):
                return skill, match.groupdict()
    return None
