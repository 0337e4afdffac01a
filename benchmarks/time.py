"""100,000 open interrupts with three timers each: arming them, finding the next, firing 1,000, and clicks meanwhile."""

import asyncio
import resource
import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from benchmarks.engine import InstantModel, act, timed
from benchmarks.table import show, verdict
from bot.domain.decision import Reject
from bot.domain.ids import CallId, InterruptId, RunId, ThreadId
from bot.domain.interrupt import Interrupt
from bot.domain.run import AgentSpec, CallState, Head, Thread
from bot.domain.tool import Planned, ToolCall
from bot.domain.transcript import CallBlock, Entry, Item, ModelTurn, UserText
from bot.domain.verdict import Approvers, Escalation
from bot.engine.ports import Change
from tests.engine.lab import ANN, DEV, NOON, Lab, lab
from tests.fakes.policies import TablePolicy

MANY, FEW, DUE, CLICKS = 100_000, 1_000, 1_000, 400
THREAD = Thread(id=ThreadId("C1/1.0"), front="slack", channel="C1", keeps_messages=True)
ONCALL = Approvers(users=("ann",), groups=("S1",), label="oncall")
STORAGE = Approvers(users=("eve",), groups=("S2",), label="storage")


def change(name: str, *, remind: float, escalate: float, expires: float) -> Change:
    """A run that waits for one approval, with its three timers so many minutes from now."""
    call = ToolCall(id=CallId("c1"), tool="act", args={})
    asked = InterruptId(f"{name}-1")
    items: tuple[Item, ...] = (
        UserText(author=DEV.id, text="please"),
        ModelTurn(blocks=(CallBlock(call=call),), stop="tools"),
    )
    interrupt = Interrupt(
        id=asked,
        run_id=RunId(name),
        thread_id=THREAD.id,
        channel="C1",
        kind="approval",
        reason="It changes something.",
        requester=DEV.id,
        approvers=ONCALL,
        opened_at=NOON,
        expires_at=NOON + timedelta(minutes=expires),
        verbs=("approve", "reject"),
        call_id=call.id,
        planned=Planned(tool="act", args={}),
        on_timeout="deny",
        remind_at=(NOON + timedelta(minutes=remind),),
        escalate=Escalation(after=timedelta(minutes=escalate), to=STORAGE),
    )
    head = Head(
        run_id=RunId(name),
        thread=THREAD,
        requester=DEV.id,
        agent=AgentSpec(model="instant"),
        created_at=NOON,
        state="waiting",
        cursor=len(items),
        phase="calls",
        calls=(CallState(id=call.id, status="asking", interrupt=asked),),
        turns=1,
        asked=1,
    )
    entries = tuple(Entry(seq=seq, at=NOON, item=item) for seq, item in enumerate(items))
    return Change(head=head, entries=entries, opened=(interrupt,))


async def arm(bench: Lab, names: list[str], **minutes: float) -> float:
    """Store them, fifty at a time, as busy processes would; return how many a second."""
    queue = iter(names)

    async def worker() -> None:
        for name in queue:
            await bench.store.create(change(name, **minutes), worker=None, request_key=None)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(50):
            group.create_task(worker())
    return len(names) / (time.perf_counter() - began)


class Clicks:
    """One person after the other declines something; each click is timed by itself."""

    def __init__(self, bench: Lab, prefix: str) -> None:
        self._bench, self._prefix, self._next = bench, prefix, 0

    async def one(self, _: int = 0) -> None:
        name = InterruptId(f"{self._prefix}{self._next}-1")
        self._next += 1
        await self._bench.runner.decide(name, Reject(), ANN)

    async def until(self, done: asyncio.Event) -> list[float]:
        took: list[float] = []
        while not done.is_set():
            took += await timed(self.one, 1)
            # People do not click in a closed loop, and an idle loop must not be what is measured.
            await asyncio.sleep(0.002)
        return took


class Measured:
    """What one sweep cost."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.fired = 0
        self.grown = 0.0
        self.idle: list[float] = []
        self.during: list[float] = []


async def sweep(bench: Lab, clicks: Clicks) -> Measured:
    found, done = Measured(), asyncio.Event()
    await bench.supervisor.idle()
    for _ in range(CLICKS):
        found.idle += await timed(clicks.one, 1)
        await asyncio.sleep(0.002)
    await bench.supervisor.idle()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with asyncio.TaskGroup() as group:
        clicking = group.create_task(clicks.until(done))
        began = time.perf_counter()
        swept = await bench.runner.sweep()
        found.seconds = time.perf_counter() - began
        done.set()
    found.during = clicking.result()
    found.fired = sum(swept.fired.values())
    found.grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    await bench.supervisor.idle()
    return found


async def measure() -> None:
    far = {"remind": 500.0, "escalate": 600.0, "expires": 900.0}
    with tempfile.TemporaryDirectory() as name:
        policy = TablePolicy()
        path = Path(name) / "time.db"
        async with lab(path, InstantModel(), policy=policy, tools=(act,)) as bench:
            await arm(bench, [f"few{number}" for number in range(FEW)], **far)
            few = statistics.median(await timed(lambda _: bench.store.next_due(), 300))
            rate = await arm(bench, [f"far{number}" for number in range(MANY - FEW - 2 * DUE)], **far)
            late = await arm(
                bench, [f"remind{number}" for number in range(DUE)], remind=1, escalate=600, expires=900
            )
            await arm(
                bench, [f"expire{number}" for number in range(DUE)], remind=500, escalate=600, expires=3
            )
            many = statistics.median(await timed(lambda _: bench.store.next_due(), 300))
            clicks = Clicks(bench, "far")
            bench.clock.pass_(minutes=2)
            reminded = await sweep(bench, clicks)
            bench.clock.pass_(minutes=2)
            expired = await sweep(bench, clicks)
    rows: list[Sequence[object]] = [
        [f"arming {MANY:,} × 3 timers", f"{rate:,.0f}/s", f"last {DUE:,}: {late:,.0f}/s", ""],
        [
            "next due (with 1,000 → 100,000)",
            f"{few:.2f} → {many:.2f} ms",
            f"{many / few:.2f}×",
            verdict(many / few, 1.5),
        ],
    ]
    for what, found in (("reminders", reminded), ("expiries, runs go on", expired)):
        idle, during = statistics.median(found.idle), statistics.median(found.during)
        assert found.fired == DUE
        rows += [
            [
                f"sweep of {found.fired:,} {what}",
                f"{found.seconds:.2f} s",
                f"memory +{found.grown:.1f} MB",
                verdict(found.seconds, 1),
            ],
            [
                f"… click meanwhile ({len(found.during)})",
                f"{idle:.2f} → {during:.2f} ms",
                f"{during / idle:.2f}×",
                verdict(during / idle, 2),
            ],
            [
                "… p95",
                f"{p95(found.idle):.2f} → {p95(found.during):.2f} ms",
                f"{p95(found.during) / p95(found.idle):.2f}×",
                "",
            ],
        ]
    show("Time (SQLite, p50)", ["", "measured", "", "promised"], rows)


def p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def main() -> None:
    asyncio.run(measure())
