"""100,000 open interrupts with three timers each: arming them, finding the next, firing 1,000, and clicks meanwhile."""

import asyncio
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from benchmarks.engine import InstantModel, act
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

MANY, FEW, DUE, CLICKS, ROUNDS = 100_000, 1_000, 1_000, 100, 3
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


async def next_due(bench: Lab) -> float:
    """Milliseconds to find when the next timer is due."""
    took: list[float] = []
    for _ in range(1000):
        began = time.perf_counter()
        await bench.store.next_due()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


class Clicks:
    """One person after the other declines something; each click is timed by itself, its run goes on in between."""

    def __init__(self, bench: Lab, prefix: str) -> None:
        self._bench, self._prefix, self._next = bench, prefix, 0

    async def one(self) -> float:
        run = RunId(f"{self._prefix}{self._next}")
        self._next += 1
        began = time.perf_counter()
        await self._bench.runner.decide(InterruptId(f"{run}-1"), Reject(), ANN)
        took = (time.perf_counter() - began) * 1000
        await self._bench.supervisor.settled(run)
        return took

    async def until(self, done: asyncio.Event) -> list[float]:
        took: list[float] = []
        while not done.is_set():
            took.append(await self.one())
        return took


class Measured:
    """What sweeps cost; several, with clicks in between, because a shared disk has its moods."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.idle: list[float] = []
        self.during: list[float] = []

    def rows(self, what: str) -> list[Sequence[object]]:
        seconds, idle, during = (
            statistics.median(values) for values in (self.seconds, self.idle, self.during)
        )
        late, later = p95(self.idle), p95(self.during)
        return [
            [f"sweep of {DUE:,} {what}", f"{seconds:.2f} s", "", verdict(seconds, 1)],
            [
                f"… click meanwhile ({len(self.during)})",
                f"{idle:.2f} → {during:.2f} ms",
                f"{during / idle:.2f}×",
                verdict(during / idle, 2),
            ],
            ["… p95", f"{late:.2f} → {later:.2f} ms", f"{later / late:.2f}×", ""],
        ]


async def sweep(bench: Lab, clicks: Clicks, found: Measured) -> None:
    done = asyncio.Event()
    await bench.supervisor.idle()
    found.idle += [await clicks.one() for _ in range(CLICKS)]
    async with asyncio.TaskGroup() as group:
        clicking = group.create_task(clicks.until(done))
        began = time.perf_counter()
        swept = await bench.runner.sweep()
        found.seconds.append(time.perf_counter() - began)
        done.set()
    found.during += clicking.result()
    assert sum(swept.fired.values()) == DUE
    await bench.supervisor.idle()


async def peak(bench: Lab, prefix: str, count: int, minute: float) -> int:
    """Bytes a sweep of `count` reminders needs at most, beyond what was there before."""
    await arm(
        bench, [f"{prefix}{number}" for number in range(count)], remind=minute, escalate=600, expires=900
    )
    bench.clock.now = NOON + timedelta(minutes=minute)
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    swept = await bench.runner.sweep()
    _, most = tracemalloc.get_traced_memory()
    assert sum(swept.fired.values()) == count
    return most - before


async def sweeps(bench: Lab) -> tuple[Measured, Measured]:
    """Reminders and expiries in turn, with everything else waiting."""
    reminded, expired, clicks = Measured(), Measured(), Clicks(bench, "far")
    for number in range(ROUNDS):
        minute = 1.0 + 2 * number
        await arm(bench, names(f"remind{number}-", DUE), remind=minute, escalate=600, expires=900)
        await arm(bench, names(f"expire{number}-", DUE), remind=500, escalate=600, expires=minute + 1)
        bench.clock.now = NOON + timedelta(minutes=minute)
        await sweep(bench, clicks, reminded)
        bench.clock.now = NOON + timedelta(minutes=minute + 1)
        await sweep(bench, clicks, expired)
    return reminded, expired


async def measure() -> None:
    far = {"remind": 500.0, "escalate": 600.0, "expires": 900.0}
    rows: list[Sequence[object]] = []
    with tempfile.TemporaryDirectory() as name:
        async with lab(Path(name) / "a.db", InstantModel(), policy=TablePolicy(), tools=(act,)) as bench:
            first = await arm(bench, names("few", FEW), **far)
            few = await next_due(bench)
            await arm(bench, names("far", MANY - 2 * FEW), **far)
            last = await arm(bench, names("last", FEW), **far)
            many = await next_due(bench)
            reminded, expired = await sweeps(bench)
            tracemalloc.start()
            # The first fills pydantic's cache of strings, which is bounded.
            await peak(bench, "warm", 16 * DUE, 20)
            small, large = await peak(bench, "small", DUE, 21), await peak(bench, "large", 4 * DUE, 22)
            tracemalloc.stop()
    rows += [
        ratio(f"arming one of {FEW:,} → {MANY:,}, × 3 timers", 1000 / first, 1000 / last, "ms", 1.5),
        ratio(f"next due of {FEW:,} → {MANY:,}", few, many, "ms", 1.5),
        *reminded.rows("reminders"),
        *expired.rows("expiries, and the runs go on"),
        [
            f"memory for a sweep of {DUE:,} → {4 * DUE:,}",
            f"{small / 1e6:.2f} → {large / 1e6:.2f} MB",
            "",
            verdict(large / 1e6, 1),
        ],
    ]
    show(f"Time: {MANY:,} open interrupts (SQLite, p50)", ["", "measured", "ratio", "promised"], rows)


def names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def ratio(what: str, before: float, after: float, unit: str, limit: float) -> Sequence[object]:
    grown = after / before
    return [what, f"{before:.2f} → {after:.2f} {unit}", f"{grown:.2f}×", verdict(grown, limit)]


def p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def main() -> None:
    asyncio.run(measure())
