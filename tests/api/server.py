"""An API on loopback over a real engine, and a client that reads its streams."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp.test_utils import TestServer

from bot.api.app import make_app
from bot.api.auth import new_token
from bot.api.client_tools import ClientPolicies, ClientToolbox
from bot.api.metrics import Metrics
from bot.api.ports import Access, Check, Limits, World
from bot.api.stream import HttpFront
from bot.domain.canonical import JsonObject
from bot.domain.ids import UserId, WorkerId
from bot.domain.interrupt import Interrupt
from bot.domain.run import AgentSpec, Breakpoint, Head, Thread
from bot.domain.tool import ToolCall, ToolDefinition
from bot.domain.verdict import Ask, Deny, Verdict
from bot.engine.approvals import Approvals
from bot.engine.driver import World as EngineWorld
from bot.engine.judge import Judge
from bot.engine.ports import LiveEvent, Model
from bot.engine.runner import Runner
from bot.engine.supervisor import Supervisor
from bot.llm.scripted import ScriptedModel, Step
from bot.policy.context import Context
from bot.policy.explain import Explanation
from bot.policy.model import Clarify, LimitUse
from bot.storage.announce import AnnouncingStore
from bot.storage.sqlite import open_sqlite
from bot.tools.registry import Registry
from bot.tools.tool import AnyTool
from tests.engine.lab import Clock, CountingIds, Everybody
from tests.engine.tools import TOOLS
from tests.fakes.policies import TablePolicy

GENEROUS = Limits(per_minute=1e6, burst=100_000, keep_alive_seconds=0.2)


@dataclass(frozen=True)
class Sent:
    """One event of a stream."""

    event: str
    id: str
    data: JsonObject

    @property
    def type(self) -> str:
        return self.data["type"]


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    events: list[Sent] = field(default_factory=list[Sent])
    body: Any = None

    @property
    def types(self) -> list[str]:
        return [each.type for each in self.events]

    @property
    def text(self) -> str:
        return "".join(each.data["text"] for each in self.events if each.type == "text")

    def only(self, kind: str) -> JsonObject:
        (found,) = [each.data for each in self.events if each.type == kind]
        return found


@dataclass(frozen=True)
class Defaulting:
    """A `TablePolicy` that says so where nothing in the table mentions a tool, as real policies do."""

    table: TablePolicy

    @property
    def version(self) -> str:
        return self.table.version

    @property
    def breakpoints(self) -> tuple[Breakpoint, ...]:
        return self.table.breakpoints

    @property
    def clarify(self) -> Clarify | None:
        return self.table.clarify

    def for_channel(self, channel: str) -> Defaulting:
        return self

    def limits_touched(self, call: ToolCall, context: Context) -> tuple[LimitUse, ...]:
        return ()

    def decide(self, call: ToolCall, context: Context) -> Verdict:
        verdict = self.table.decide(call, context)
        mentioned = call.tool in self.table.verdicts or context.tool is None or not context.tool.client
        return verdict if mentioned or not isinstance(verdict, Ask) else replace(verdict, rules=("default",))


class TablePolicies:
    """The API's view of a `TablePolicy`."""

    def __init__(self, policy: TablePolicy, toolbox: ClientToolbox, agent: AgentSpec) -> None:
        self._policy = policy
        self._toolbox = toolbox
        self._agent = agent

    def agent(self, channel: str) -> AgentSpec:
        return self._agent

    def breakpoints(self, channel: str) -> tuple[Breakpoint, ...]:
        return self._policy.breakpoints

    def explain(self, head: Head, interrupt: Interrupt) -> Explanation | None:
        planned = interrupt.planned
        return self.explain_call(planned.tool, planned.args, "", head.requester) if planned else None

    def explain_call(self, tool: str, args: JsonObject, channel: str, requester: UserId) -> Explanation:
        verdict = Deny(rules=("table",), reason="It is a table.", policy="v1")
        return Explanation(policy="table", version="v1", tool=tool, args=args, verdict=verdict, heard=())

    def tools(self, agent: AgentSpec) -> tuple[ToolDefinition, ...]:
        return self._toolbox.definitions(agent)


class Both:
    """Two fronts that see everything."""

    def __init__(self, *fronts: HttpFront | Metrics) -> None:
        self._fronts = fronts

    async def show(self, thread: Thread, run_id: Any, event: LiveEvent) -> None:
        for front in self._fronts:
            await front.show(thread, run_id, event)


@dataclass(kw_only=True)
class Bench:
    store: AnnouncingStore
    runner: Runner
    supervisor: Supervisor
    policy: TablePolicy
    clock: Clock
    url: str
    http: aiohttp.ClientSession
    front: HttpFront
    metrics: Metrics
    tokens: dict[str, str] = field(default_factory=dict[str, str])

    async def token(
        self,
        person: str = "dev",
        scopes: str = "ask,decide,read,admin",
        groups: Iterable[str] = (),
        name: str = "",
    ) -> str:
        """A token of this person, made the first time it is asked for."""
        name = name or f"{person}-{scopes}"
        if name not in self.tokens:
            secret, token = new_token(
                f"{name}-{id(self)}",
                person=person,
                scopes=scopes.split(","),
                now=self.clock(),
                groups=groups,
                channel="C1",
            )
            await self.store.add_token(token)
            self.tokens[name] = secret
        return self.tokens[name]

    async def headers(self, person: str, scopes: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {await self.token(person, scopes)}"}

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        person: str = "dev",
        scopes: str = "ask,decide,read,admin",
        **headers: str,
    ) -> Reply:
        """Send a request and read all of the answer."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = await self.headers(person, scopes) | given
        async with self.http.request(method, self.url + path, json=body, headers=sent) as response:
            kind = response.content_type
            if kind == "text/event-stream":
                events = [each async for each in read(response)]
                return Reply(response.status, dict(response.headers), events)
            raw = await response.read()
            parsed = json.loads(raw) if raw and "json" in kind else raw.decode()
            return Reply(response.status, dict(response.headers), body=parsed)

    async def chat(self, message: str = "please", *, person: str = "dev", **more: Any) -> Reply:
        return await self.call("POST", "/api/v1/chat", {"message": message, **more}, person=person)

    async def resume(self, *, person: str = "ann", **body: Any) -> Reply:
        return await self.call("POST", "/api/v1/chat/resume", body, person=person)

    @asynccontextmanager
    async def following(
        self, path: str, *, person: str = "dev", last: str = ""
    ) -> AsyncGenerator[AsyncIterator[Sent]]:
        """A stream that is read as far as the test wants."""
        sent = await self.headers(person, "ask,decide,read,admin")
        if last:
            sent["Last-Event-ID"] = last
        async with self.http.get(self.url + path, headers=sent) as response:
            assert response.status == 200
            yield read(response)


async def read(response: aiohttp.ClientResponse) -> AsyncGenerator[Sent]:
    """Parse a stream as a browser would."""
    fields: dict[str, str] = {}
    async for raw in response.content:
        line = raw.decode().rstrip("\n")
        if not line:
            if "data" in fields:
                yield Sent(fields.get("event", ""), fields.get("id", ""), json.loads(fields["data"]))
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = fields[name] + "\n" + value if name == "data" and name in fields else value


@asynccontextmanager
async def bench(
    path: Path,
    script: Iterable[Step] | Model = (),
    *,
    policy: TablePolicy | None = None,
    clock: Clock | None = None,
    tools: Iterable[AnyTool] = TOOLS,
    worker: str = "here",
    limits: Limits = GENEROUS,
    access: Access | None = None,
    checks: dict[str, Check] | None = None,
    agent: AgentSpec | None = None,
    legacy: bool = False,
) -> AsyncGenerator[Bench]:
    """Open an engine and its API on the database at `path`; open it again to see what a restart does."""
    clock, policy = (
        clock or Clock(),
        policy or TablePolicy(verdicts={"look": "allow", "ask_somebody": "allow"}),
    )
    front, metrics = HttpFront(), Metrics()
    agent = agent or AgentSpec(model="scripted", cwd="/work")
    async with open_sqlite(path) as database:
        store = AnnouncingStore(database, lambda owner, seen, now: True)
        store.on_run = front.changed
        store.on_change = metrics.committed
        store.on_settled = metrics.settled
        toolbox = ClientToolbox(Registry(tools))
        judge = Judge(
            toolbox=toolbox,
            policies=ClientPolicies(Defaulting(policy)),
            store=store,
            clock=clock,
            people=Everybody(),
        )
        model = script if hasattr(script, "stream") else ScriptedModel(script)  # pyright: ignore[reportArgumentType]
        engine = EngineWorld(
            store=store,
            model=model,  # pyright: ignore[reportArgumentType]
            toolbox=toolbox,
            judge=judge,
            front=Both(front, metrics),
            clock=clock,
            worker=WorkerId(worker),
        )
        async with Supervisor(engine).running(beat_seconds=3600) as supervisor:
            approvals = Approvals(store, toolbox, judge, clock, worker=WorkerId(worker))
            ids = CountingIds(f"{worker}-run")
            runner = Runner(engine, supervisor, approvals, ids)
            world = World(
                runner=runner,
                store=store,
                policy=TablePolicies(policy, toolbox, agent),
                ids=ids,
                clock=clock,
                limits=limits,
                access=access or Access(),
                checks=checks or {},
                legacy_agui=legacy,
            )
            async with TestServer(make_app(world, front, metrics)) as server, aiohttp.ClientSession() as http:
                yield Bench(
                    store=store,
                    runner=runner,
                    supervisor=supervisor,
                    policy=policy,
                    clock=clock,
                    url=str(server.make_url("")).rstrip("/"),
                    http=http,
                    front=front,
                    metrics=metrics,
                )
