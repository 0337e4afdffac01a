"""Everything at once, on this machine: a workspace with its page, the bot in a process of its own, one database."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import TypeAlias

from aiohttp import web

from bot.domain.canonical import JsonObject
from bot.domain.errors import ConfigError
from bot.playground import cast
from bot.playground.arguments import Arguments, parse_body
from bot.playground.child import Child
from bot.playground.clock import Clock
from bot.playground.control import Guard
from bot.playground.errors import CannotDo, SlackError
from bot.playground.underneath import Underneath, open_underneath
from bot.playground.workspace import Routes, Workspace
from bot.playground.world import BOT_USER, Channel
from bot.settings import Settings, load_settings

POLICIES = Path(str(resources.files("bot.playground"))) / "policies"
PRODUCTION = "C0PROD"
#: More would carry messages and cards beyond what anybody wants to see skipped.
MOST_SECONDS = 7 * 86_400
#: A slow machine may need that long to start a second Python.
START_SECONDS = 60.0

Act: TypeAlias = Callable[["Demo", Arguments], Awaitable[None]]


class Demo:
    """A demo that is running; the page talks to it through `routes`."""

    def __init__(self) -> None:
        self._slack: Workspace | None = None
        self._child: Child | None = None
        self._underneath: Underneath | None = None
        self._model = "offline model"

    @property
    def slack(self) -> Workspace:
        assert self._slack is not None, "the demo is not open yet"
        return self._slack

    @property
    def bot(self) -> Child:
        assert self._child is not None, "the demo is not open yet"
        return self._child

    @property
    def address(self) -> str:
        """What to open in a browser. The token is in the fragment, which browsers keep to themselves."""
        return f"{self.slack.url}/#token={self.slack.control_token}"

    async def ready(self) -> None:
        """Wait until the bot is connected, or has given up."""
        await self.slack.until(lambda: self.bot.state != "starting", "the bot to start")

    # What the page asks for.

    def routes(self, guard: Guard) -> Routes:
        return [
            web.get("/_demo/underneath", guard(self._look)),
            web.post("/_demo/{act}", guard(self._act)),
        ]

    async def _look(self, _request: web.Request) -> web.Response:
        assert self._underneath is not None, "the demo is not open yet"
        facts, bot = await self._underneath.facts(), self.bot
        state: JsonObject = {
            "state": bot.state,
            "pid": bot.pid,
            "code": bot.code,
            "trouble": bot.trouble,
            "model": self._model,
        }
        return web.json_response(
            {"now": self.slack.clock.now(), "skipped": round(bot.ahead), "bot": state, **facts}
        )

    async def _act(self, request: web.Request) -> web.Response:
        act = _ACTS.get(request.match_info["act"])
        if act is None:
            raise web.HTTPNotFound(text=f"acts: {', '.join(_ACTS)}")
        try:
            await act(self, Arguments(parse_body(request.content_type, await request.text())))
        except (CannotDo, SlackError) as error:
            return web.json_response({"ok": False, "error": str(error)}, status=409)
        return web.json_response({"ok": True})

    async def skip(self, args: Arguments) -> None:
        """Move the clocks of the workspace and of the bot ahead, by so many seconds or to a moment."""
        now = self.slack.clock.now()
        seconds = args.number("to", 0) - now + 1 if "to" in args else args.number("seconds", 0)
        if not 0 < seconds <= MOST_SECONDS:
            raise CannotDo("time can be skipped only forward, and by a week at most")
        # First let acks arrive that are under way, so that none is late by accident.
        await self.slack.advance(seconds)
        await self.bot.move_clock(self.bot.ahead + seconds)
        self.changed()

    async def kill(self, _args: Arguments) -> None:
        await self.bot.kill()

    async def start(self, _args: Arguments) -> None:
        await self.bot.start()

    def changed(self) -> None:
        self.slack.hub.feed.publish("demo", {})

    # How it is put together.

    @asynccontextmanager
    async def running(self, folder: Path, *, ports: Sequence[int] = (0,)) -> AsyncGenerator["Demo"]:
        """Serve the workspace and run the bot on the files in `folder`, until the block ends.

        Raises:
            ConfigError: every one of the ports is taken.
        """
        settings = load_settings(
            database=str(folder / "askfirst.db"), workdir=folder / "files", policies=POLICIES
        )
        self._model = "offline model" if settings.offline else settings.model
        async with AsyncExitStack() as stack:
            clock = Clock(running=True)
            # Opened first, closed last: as long as the page is served, it may ask.
            self._underneath = await stack.enter_async_context(
                open_underneath(settings, POLICIES, lambda: datetime.fromtimestamp(clock.now(), UTC))
            )
            self._slack = await self._workspace(stack, clock, ports)
            _furnish(self._slack)
            tasks = await stack.enter_async_context(asyncio.TaskGroup())
            self._child = Child(folder, _environment(settings, self._slack), tasks, self.changed)
            stack.push_async_callback(self._child.close)
            await self._child.start()
            yield self

    async def _workspace(self, stack: AsyncExitStack, clock: Clock, ports: Sequence[int]) -> Workspace:
        """Serve at the first port that is free. Only trying tells: another program may be quicker than a look."""
        for port in ports:
            try:
                opening = Workspace.open(clock=clock, port=port, patience=START_SECONDS, more=self.routes)
                return await stack.enter_async_context(opening)
            except* OSError:
                pass
        raise ConfigError(
            f"Port {ports[0]} is taken by another program. Name another with --port, or leave it out."
        )


_ACTS: dict[str, Act] = {"skip": Demo.skip, "kill": Demo.kill, "start": Demo.start}


def _furnish(slack: Workspace) -> None:
    """Add the channel in which two people must agree; leave out what a demo does not need."""
    staff = {BOT_USER, cast.REQUESTER, cast.APPROVER, cast.SECOND_APPROVER}
    slack.add_channel(Channel(id=PRODUCTION, name="production", members=staff))
    for channel in (cast.ELSEWHERE, cast.ARCHIVED):
        del slack.hub.world.channels[channel]


def _environment(settings: Settings, slack: Workspace) -> dict[str, str]:
    """What the bot's process is told: this Slack, this database, these files."""
    told = {
        "SLACK_API_URL": slack.api_url,
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "ASKFIRST_DATABASE": settings.database,
        "ASKFIRST_WORKDIR": str(settings.workdir),
        "ASKFIRST_POLICIES": str(settings.policies),
        "ASKFIRST_MODEL": settings.model,
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    if settings.anthropic_api_key is not None:
        told["ANTHROPIC_API_KEY"] = settings.anthropic_api_key.get_secret_value()
    if settings.anthropic_base_url:
        told["ANTHROPIC_BASE_URL"] = settings.anthropic_base_url
    return told
