"""`askfirst chat`: talk to the agent in the terminal."""

import argparse
import getpass
import tempfile
from pathlib import Path
from typing import Any

from bot.cli import Commands, paint
from bot.cli.answering import Desk, Later
from bot.cli.demo import fill_scratch
from bot.cli.keyboard import Keyboard
from bot.cli.screen import Screen
from bot.domain.ids import ThreadId, UserId
from bot.domain.person import Person
from bot.domain.run import FINAL, Base, Breakpoint, Head, Thread
from bot.engine.runner import Request
from bot.settings import load_settings
from bot.wiring import Engine, open_engine

_EVERY_STEP = (
    Breakpoint(when="before", step="model"),
    Breakpoint(when="after", step="model"),
    Breakpoint(when="before", step="tools"),
    Breakpoint(when="after", step="tools"),
)
_HELP = """\
   Write what you want done. What needs approval stops and asks you.
   /new  start a new conversation      /runs  what is open here
   /quit leave; open questions stay open and are asked again next time"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "chat",
        help="talk to the agent in the terminal",
        description="Talk to the agent. Without ANTHROPIC_API_KEY a labelled offline model answers.",
    )
    parser.add_argument(
        "--demo", action="store_true", help="work in a scratch folder with files to play with"
    )
    parser.add_argument("--dir", type=Path, dest="workdir", help="where the agent works (default: here)")
    parser.add_argument("--database", help="where to keep runs (default: .askfirst/askfirst.db)")
    parser.add_argument("--thread", default="terminal", help="name of the conversation (default: terminal)")
    parser.add_argument("--step", action="store_true", help="stop before and after every step, for debugging")
    parser.set_defaults(run=run)


async def run(options: argparse.Namespace) -> int:
    given: dict[str, Any] = {"workdir": options.workdir, "database": options.database}
    if options.demo:
        given = _demo(given)
    settings = load_settings(**given)
    colours = paint.for_stream()
    async with open_engine(settings, Screen(colours)) as engine:
        person = Person(id=UserId(getpass.getuser()))
        desk = Desk(engine=engine, keyboard=Keyboard(), person=person, paint=colours)
        chat = Chat(desk, options.thread, _EVERY_STEP if options.step else ())
        chat.greet()
        try:
            await chat.talk()
        except (Later, EOFError):
            await chat.leave()
    return 0


def _demo(given: dict[str, Any]) -> dict[str, Any]:
    """A folder that outlives the process, so that a question can be answered after a restart."""
    folder = Path(tempfile.gettempdir()) / f"askfirst-demo-{getpass.getuser()}"
    scratch = folder / "files"
    if not scratch.exists():
        fill_scratch(scratch)
    print(f"Demo files are in {scratch} (remove {folder} to start afresh).")
    return {
        "workdir": given["workdir"] or scratch,
        "database": given["database"] or str(folder / "askfirst.db"),
    }


class Chat:
    """One person's conversation."""

    def __init__(self, desk: Desk, name: str, breakpoints: tuple[Breakpoint, ...]) -> None:
        self._desk = desk
        self._engine: Engine = desk.engine
        self._breakpoints = breakpoints
        self._thread = Thread(id=ThreadId(name), front="terminal")
        self._fresh = False

    def greet(self) -> None:
        tint = self._desk.paint
        agent = self._engine.agent(self._thread.channel)
        model = (
            "the offline model (set ANTHROPIC_API_KEY for a real one)"
            if agent.model == "offline"
            else agent.model
        )
        print(tint("Askfirst", "bold"), f"· {model} · works in {agent.cwd}")
        print(tint(_HELP, "dim"))

    async def talk(self) -> None:
        """Ask and answer until the person leaves."""
        await self._engine.runner.expire_due()
        await self._engine.supervisor.recover()
        await self._engine.supervisor.idle()
        while True:
            await self._answer_open()
            text = (await self._desk.keyboard.ask(self._desk.paint("\nyou> ", "bold"))).strip()
            if text and not await self._command(text):
                await self._request(text)

    async def leave(self) -> None:
        """Say what stays open."""
        waiting = await self._engine.store.open_interrupts()
        if waiting:
            print(
                f"\n   {len(waiting)} open: {', '.join(asked.interrupt.id for asked in waiting)}. They are kept."
            )
        print("\n   Bye.")

    async def _answer_open(self) -> None:
        """Put every open question of this conversation to the person, until none is left."""
        while waiting := [
            asked
            for asked in await self._engine.store.open_interrupts()
            if asked.interrupt.thread_id == self._thread.id
        ]:
            for asked in waiting:
                if not await self._desk.answer(asked):
                    return
            await self._engine.supervisor.settled(waiting[0].interrupt.run_id)

    async def _command(self, text: str) -> bool:
        match text.split(maxsplit=1)[0]:
            case "/quit" | "/exit":
                raise Later
            case "/new":
                self._fresh = True
                print("   A new conversation.")
            case "/runs":
                for head in await self._engine.store.heads(limit=10):
                    print(f"   {head.run_id}  {head.state:<10} {head.created_at:%Y-%m-%d %H:%M}")
            case "/help":
                print(_HELP)
            case _:
                return False
        return True

    async def _request(self, text: str) -> None:
        agent = self._engine.agent(self._thread.channel)
        policy = self._engine.policies.for_channel(self._thread.channel)
        request = Request(
            thread=self._thread,
            requester=self._desk.person.id,
            text=text,
            agent=agent,
            breakpoints=self._breakpoints or policy.breakpoints,
            base=await self._base(),
        )
        run_id = await self._engine.runner.ask(request)
        await self._engine.supervisor.settled(run_id)

    async def _base(self) -> Base | None:
        """The conversation so far, unless the person wanted a new one."""
        if self._fresh:
            self._fresh = False
            return None
        last = await self._engine.store.last_of_thread(self._thread.id)
        return _continued(last) if last else None


def _continued(last: Head) -> Base | None:
    return Base(run_id=last.run_id, cursor=last.cursor) if last.state in FINAL - {"quarantined"} else None
