"""An engine with real parts (SQLite file, tool registry, state machine) and a scripted model."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.domain.decision import Answer
from bot.domain.ids import InterruptId, RunId, ThreadId, UserId, WorkerId
from bot.domain.interrupt import Asked, Interrupt
from bot.domain.person import Person
from bot.domain.run import AgentSpec, Base, Breakpoint, Head, Thread
from bot.domain.tool import ToolResult
from bot.domain.transcript import Item
from bot.engine.approvals import Approvals, Counted
from bot.engine.assess import Assessor
from bot.engine.driver import World
from bot.engine.judge import Judge
from bot.engine.ports import LiveEvent, Model
from bot.engine.runner import Request, Runner
from bot.engine.supervisor import Supervisor
from bot.engine.timers import TimeRules
from bot.llm.scripted import ScriptedModel, Step
from bot.storage.sqlite import open_sqlite
from bot.storage.store import SqlStore
from bot.tools.registry import Registry
from bot.tools.tool import AnyTool
from tests.engine.tools import TOOLS
from tests.fakes.policies import TablePolicy

NOON = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
ANN = Person(id=UserId("ann"))
BOB = Person(id=UserId("bob"))
EVE = Person(id=UserId("eve"))
DEV = Person(id=UserId("dev"))


class Clock:
    """Stands still until it is moved."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **time: float) -> None:
        self.now += timedelta(**time)


class CountingIds:
    def __init__(self, prefix: str) -> None:
        self._numbers = itertools.count(1)
        self._prefix = prefix

    def run(self) -> RunId:
        return RunId(f"{self._prefix}{next(self._numbers)}")

    def thread(self) -> ThreadId:
        return ThreadId(f"thread-{next(self._numbers)}")


class Recorder:
    """A front that remembers what it was shown and lets tests wait for it."""

    def __init__(self) -> None:
        self.events: list[LiveEvent] = []
        self._changed = asyncio.Condition()

    async def show(self, thread: Thread, run_id: RunId, event: LiveEvent) -> None:
        self.events.append(event)
        async with self._changed:
            self._changed.notify_all()

    async def until(self, kind: type[LiveEvent], count: int = 1) -> None:
        async with asyncio.timeout(5), self._changed:
            await self._changed.wait_for(
                lambda: sum(isinstance(event, kind) for event in self.events) >= count
            )


class Everybody:
    """Everybody is a member."""

    async def person(self, user: UserId) -> Person:
        return Person(id=user)


@dataclass(kw_only=True)
class Lab:
    """One process's engine."""

    store: SqlStore
    runner: Runner
    supervisor: Supervisor
    front: Recorder
    clock: Clock
    policy: TablePolicy
    world: World
    thread: Thread = field(default_factory=lambda: Thread(id=ThreadId("t1"), front="terminal", channel="C1"))
    agent: AgentSpec = field(default_factory=lambda: AgentSpec(model="scripted", cwd="/work"))

    async def ask(
        self,
        text: str = "please",
        *,
        agent: AgentSpec | None = None,
        breakpoints: tuple[Breakpoint, ...] = (),
        key: str | None = None,
        base: Base | None = None,
    ) -> RunId:
        """Ask as dev and wait until the run ends or parks."""
        request = Request(
            thread=self.thread,
            requester=DEV.id,
            text=text,
            agent=agent or self.agent,
            breakpoints=breakpoints,
            key=key,
            base=base,
        )
        run_id = await self.runner.ask(request)
        await self.supervisor.settled(run_id)
        return run_id

    async def decide(
        self, interrupt: Interrupt | InterruptId, answer: Answer, person: Person = ANN
    ) -> Counted:
        """Answer and wait until the run ends or parks again."""
        name = interrupt.id if isinstance(interrupt, Interrupt) else interrupt
        counted = await self.runner.decide(name, answer, person, via="test")
        await self.supervisor.settled(counted.run_id)
        return counted

    async def open(self, run_id: RunId) -> list[Interrupt]:
        return [asked.interrupt for asked in await self.store.open_interrupts(run_id)]

    async def only(self, run_id: RunId) -> Interrupt:
        (interrupt,) = await self.open(run_id)
        return interrupt

    async def asked(self, run_id: RunId) -> list[Asked]:
        return list(await self.store.interrupts_of(run_id))

    async def head(self, run_id: RunId) -> Head:
        head = await self.store.head(run_id)
        assert head is not None
        return head

    async def items(self, run_id: RunId) -> list[Item]:
        return [entry.item for entry in await self.store.transcript(run_id)]

    async def results(self, run_id: RunId) -> list[tuple[str, str]]:
        """Status and text of every call, in the order they were settled."""
        items = await self.items(run_id)
        return [(item.status, item.text) for item in items if isinstance(item, ToolResult)]

    async def facts(self, run_id: RunId) -> list[str]:
        return [record.fact.kind for record in await self.store.audit_of(run_id)]


@asynccontextmanager
async def lab(
    path: Path,
    script: Iterable[Step] | Model = (),
    *,
    policy: TablePolicy | None = None,
    clock: Clock | None = None,
    tools: Iterable[AnyTool] = TOOLS,
    worker: str = "here",
    assessor: Assessor | None = None,
    is_gone: Callable[[WorkerId, datetime | None, datetime], bool] = lambda owner, seen, now: True,
    rules: TimeRules | None = None,
) -> AsyncGenerator[Lab]:
    """Open an engine on the database at `path`. Open it again afterwards to see what a restart does.

    Every other worker counts as dead by default, as after a restart.
    """
    clock, policy, front = clock or Clock(), policy or TablePolicy(verdicts={"look": "allow"}), Recorder()
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_sqlite(path))
        store = SqlStore(database, is_gone)
        toolbox = Registry(tools)
        judge = Judge(toolbox=toolbox, policies=policy, store=store, clock=clock, people=Everybody())
        model = script if hasattr(script, "stream") else ScriptedModel(script)  # pyright: ignore[reportArgumentType]
        world = World(
            store=store,
            model=model,  # pyright: ignore[reportArgumentType]
            toolbox=toolbox,
            judge=judge,
            front=front,
            clock=clock,
            worker=WorkerId(worker),
            assessor=assessor or Assessor(None),
            time=rules or TimeRules(),
        )
        supervisor = await stack.enter_async_context(Supervisor(world).running(beat_seconds=3600))
        approvals = Approvals(store, toolbox, judge, clock, worker=WorkerId(worker), rules=world.time)
        runner = Runner(world, supervisor, approvals, CountingIds(f"{worker}-run"))
        yield Lab(
            store=store,
            runner=runner,
            supervisor=supervisor,
            front=front,
            clock=clock,
            policy=policy,
            world=world,
        )
