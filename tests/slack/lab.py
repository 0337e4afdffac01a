"""The real bot in the local workspace: real Bolt, real SQLite file, real policies, a scripted model."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, TypeVar

from bot.domain.run import Head
from bot.domain.tool import ToolResult
from bot.engine.ports import Model
from bot.llm.scripted import ScriptedModel, Step
from bot.playground.workspace import Workspace
from bot.settings import Settings, load_settings
from bot.tools.tool import AnyTool
from bot.wiring import SlackBot, open_slack, utc_now
from tests.slack.tools import TOOLS

Transport = Literal["socket", "http"]
T = TypeVar("T")

#: Reads run; what changes asks @oncall (four eyes); `wipe` needs two of them; `note` lets the requester decide.
POLICY = """
version: 1
name: slack-tests
default: ask
groups: {oncall: {usergroup: S0ONCALL}}
approval: {by: oncall, requester_may_approve: false, expires: 15m, on_timeout: deny, options: [approve, edit, reject]}
ask:
  - {id: changes, tool: mark, reason: It writes a file.}
  - {id: two-of-them, tool: wipe, reason: It empties a file., approval: {quorum: 2}}
  - {id: own, tool: jot, reason: It is yours., approval: {by: requester, requester_may_approve: true}}
  - {id: say-why, tool: explainable, reason: The policy wants a reason., approval: {reason: required}}
deny:
  - {id: never, tool: mark, when: {text: {eq: forbidden}}, reason: Not this text.}
allow:
  - {id: looking, tool: [look, chatter, hold, ask_human, ask_form]}
"""


class Clock:
    """The real time, which a test may move forward."""

    def __init__(self) -> None:
        self.offset = timedelta()

    def __call__(self) -> datetime:
        return utc_now() + self.offset

    def pass_(self, **time: float) -> None:
        self.offset += timedelta(**time)


@dataclass(kw_only=True)
class Lab:
    """A workspace, a folder with the database, and how to start bots on them."""

    slack: Workspace
    folder: Path
    transport: Transport
    policy: str = POLICY
    clock: Clock = field(default_factory=Clock)

    @property
    def marks(self) -> Path:
        return self.folder / "marks"

    def marked(self) -> list[str]:
        return self.marks.read_text(encoding="utf-8").splitlines() if self.marks.exists() else []

    def settings(self) -> Settings:
        policies = self.folder / "policy.yaml"
        policies.write_text(self.policy, encoding="utf-8")
        given = {
            "database": str(self.folder / "askfirst.db"),
            "policies": policies,
            "workdir": self.folder,
            "sandbox": "none",
            "SLACK_BOT_TOKEN": self.slack.bot_token,
            "SLACK_API_URL": self.slack.api_url,
            "SLACK_PORT": 0,
        }
        if self.transport == "socket":
            given["SLACK_APP_TOKEN"] = self.slack.app_token
        else:
            given["SLACK_SIGNING_SECRET"] = self.slack.signing_secret
        return load_settings(**given)

    @asynccontextmanager
    async def bot(
        self, script: Iterable[Step] | Model = (), *, tools: Iterable[AnyTool] = TOOLS
    ) -> AsyncGenerator["Running"]:
        """Start the bot; leaving the block stops it, starting it again is a restart."""
        model = script if hasattr(script, "stream") else ScriptedModel(script)  # pyright: ignore[reportArgumentType]
        settings = await asyncio.to_thread(self.settings)
        async with open_slack(settings, model=model, tools=tuple(tools), clock=self.clock) as bot:  # pyright: ignore[reportArgumentType]
            if self.transport == "http":
                await self.slack.deliver_to(bot.address)
            yield Running(lab=self, bot=bot)


@dataclass(frozen=True, kw_only=True)
class Running:
    lab: Lab
    bot: SlackBot

    async def heads(self) -> tuple[Head, ...]:
        return await self.bot.engine.store.heads()

    async def last(self) -> Head:
        return (await self.heads())[0]

    async def results(self) -> list[tuple[str, str]]:
        entries = await self.bot.engine.store.transcript((await self.last()).run_id)
        return [(e.item.status, e.item.text) for e in entries if isinstance(e.item, ToolResult)]


async def eventually(look: Callable[[], Awaitable[T]], *, what: str = "it", seconds: float = 5) -> T:
    """Wait until `look` finds something; for rows, which tell nobody that they changed."""
    async with asyncio.timeout(seconds):
        while not (found := await look()):
            await asyncio.sleep(0.01)
    return found
