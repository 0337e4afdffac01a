"""The engine's overhead with an instant model, against the raw floor in the same run."""

import asyncio
import itertools
import json
import resource
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks import floor
from benchmarks.table import show, verdict
from bot.domain.decision import Approve
from bot.domain.ids import CallId, InterruptId, RunId
from bot.domain.run import AgentSpec
from bot.domain.tool import READS, ToolCall
from bot.domain.transcript import CallBlock, ModelTurn, TextBlock, ToolResult
from bot.engine.ports import CallContext, ModelEvent, ModelRequest
from bot.engine.runner import Request
from bot.tools.tool import Arguments, tool
from tests.engine.lab import ANN, DEV, Lab, lab
from tests.fakes.policies import TablePolicy

ROUNDS = 300
TURNS = 400
PAYLOAD = "x" * 2048


class Empty(Arguments):
    pass


@tool()
async def act(args: Empty, context: CallContext) -> str:
    """Do something that must be asked about."""
    return "done"


@tool(effects=READS)
async def read(args: Empty, context: CallContext) -> str:
    """Return 2 KB."""
    return PAYLOAD


class InstantModel:
    """Answers at once: one call, and after its result the end. A long run reads `TURNS` times."""

    def __init__(self, name: str = "act", turns: int = 1) -> None:
        self._name, self._turns = name, turns

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        entries = len(request.transcript)
        if isinstance(request.transcript[-1].item, ToolResult) and entries > 2 * self._turns:
            yield ModelTurn(blocks=(TextBlock(text="Done."),))
        else:
            call = ToolCall(id=CallId(f"c{entries}"), tool=self._name, args={})
            yield ModelTurn(blocks=(CallBlock(call=call),), stop="tools")


@asynccontextmanager
async def engine(folder: Path, model: InstantModel) -> AsyncGenerator[Lab]:
    policy = TablePolicy(verdicts={"read": "allow"})
    async with lab(folder / "ours.db", model, policy=policy, tools=(act, read)) as bench:
        bench.agent = AgentSpec(model="instant", max_turns=10**6)
        yield bench


def request(bench: Lab) -> Request:
    return Request(thread=bench.thread, requester=DEV.id, text="please", agent=bench.agent)


TURN = json.dumps(
    {"kind": "model", "blocks": [{"type": "call", "call": {"id": "c1", "tool": "act", "args": {}}}]}
)


async def taken(work: Awaitable[object]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    await work
    return (time.perf_counter() - began) * 1000


async def one_by_one(folder: Path) -> list[list[object]]:
    """Ours and the floor take turns, so that whatever else the machine does hits both."""
    raw = await floor.connect(folder / "floor.db")
    async with engine(folder, InstantModel()) as bench:

        async def start() -> None:
            await bench.supervisor.settled(await bench.runner.ask(request(bench)))

        async def resume(number: int) -> None:
            run = RunId(f"here-run{number + 1}")
            await bench.runner.decide(InterruptId(f"{run}-1"), Approve(), ANN)
            await bench.supervisor.settled(run)

        started = [
            (await taken(floor.start(raw, f"r{n}", TURN)), await taken(start())) for n in range(ROUNDS)
        ]
        resumed = [(await taken(floor.resume(raw, f"r{n}")), await taken(resume(n))) for n in range(ROUNDS)]
    await raw.close()
    return [
        compared("request → interrupt stored", started, 5),
        compared("answer → finished", resumed, 3),
    ]


def compared(name: str, pairs: list[tuple[float, float]], limit: float) -> list[object]:
    low, high = (statistics.median(column) for column in zip(*pairs, strict=True))
    return [name, f"{low:.2f} ms", f"{high:.2f} ms", f"{high / low:.1f}×", verdict(high / low, limit)]


async def fifty_at_once(folder: Path) -> list[object]:
    total, width = 1000, 50

    async def swarm(work: Callable[[int], Awaitable[object]]) -> float:
        numbers = iter(range(total))

        async def worker() -> None:
            for number in numbers:
                await work(number)

        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(width):
                group.create_task(worker())
        return total / (time.perf_counter() - began)

    raw = await floor.connect(folder / "floor50.db")

    async def least(number: int) -> None:
        await floor.start(raw, f"r{number}", TURN)
        await floor.resume(raw, f"r{number}")

    floor_rate = await swarm(least)
    await raw.close()
    async with engine(folder / "fifty", InstantModel()) as bench:

        async def whole(_: int) -> None:
            run = await bench.runner.ask(request(bench))
            await bench.supervisor.settled(run)
            await bench.runner.decide(InterruptId(f"{run}-1"), Approve(), ANN)
            await bench.supervisor.settled(run)

        rate = await swarm(whole)
    ratio = rate / floor_rate
    judged = verdict(ratio, 1 / 3, at_least=True)
    return ["runs/s, 50 at once", f"{floor_rate:.0f}", f"{rate:.0f}", f"{ratio:.2f}×", judged]


async def long_run(folder: Path) -> list[float]:
    """Milliseconds of each turn of one long run."""
    marks: list[float] = []

    class Watched(InstantModel):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            marks.append(time.perf_counter())
            async for event in super().stream(request):
                yield event

    async with engine(folder, Watched("read", TURNS)) as bench:
        run = await bench.runner.ask(request(bench))
        await bench.supervisor.settled(run)
        assert (await bench.head(run)).turns == TURNS + 1
    return [(after - before) * 1000 for before, after in itertools.pairwise(marks)]


async def floor_run(path: Path) -> list[float]:
    raw = await floor.connect(path)
    result = json.dumps({"kind": "result", "text": PAYLOAD})
    await floor.write(raw, (floor.RUN, ("r", "running", "{}")))
    took = [await taken(floor.long_turn(raw, "r", number * 2, TURN, result)) for number in range(TURNS)]
    await raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    await raw.close()
    return took


async def many_turns(folder: Path) -> list[list[object]]:
    # Three times in turn; the median run counts, so that one hiccup of the machine does not decide.
    floors = [sum(await floor_run(folder / f"floor400-{n}.db")) for n in range(3)]
    runs = [await long_run(folder / f"long{n}") for n in range(3)]
    total, least = statistics.median(map(sum, runs)), statistics.median(floors)
    growth = statistics.median(
        statistics.median(turns[-50:]) / statistics.median(turns[:50]) for turns in runs
    )
    size, floor_size = (folder / "long0/ours.db").stat().st_size, (folder / "floor400-0.db").stat().st_size
    stored = size / floor_size
    name = f"{TURNS} turns with 2 KB results"
    sizes = f"{floor_size / 1e6:.2f} MB", f"{size / 1e6:.2f} MB"
    return [
        [name, f"{least:.0f} ms", f"{total:.0f} ms", f"{total / least:.1f}×", verdict(total / least, 3)],
        ["… last turns ÷ first turns", "1", f"{growth:.2f}", f"{growth:.2f}×", verdict(growth, 1.2)],
        ["… bytes stored, audit included", *sizes, f"{stored:.2f}×", verdict(stored, 1.5)],
    ]


async def fill(path: Path, count: int) -> None:
    """Leave so many runs waiting."""
    async with engine(path, InstantModel()) as bench:
        queue = iter(range(count))

        async def worker() -> None:
            for _ in queue:
                await bench.runner.ask(request(bench))

        async with asyncio.TaskGroup() as group:
            for _ in range(50):
                group.create_task(worker())
        await bench.supervisor.idle()


async def start_up(path: Path) -> None:
    async with engine(path, InstantModel()) as bench:
        await bench.supervisor.recover()


async def waiting_rows(folder: Path) -> list[list[object]]:
    few, many = folder / "waiting1000", folder / "waiting50000"
    await fill(few, 1_000)
    await fill(many, 50_000)
    starts = [(await taken(start_up(few)), await taken(start_up(many))) for _ in range(31)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with engine(few, InstantModel()) as small, engine(many, InstantModel()) as large:

        async def resume(bench: Lab, number: int, count: int) -> None:
            run = RunId(f"here-run{1 + number * 7919 % count}")
            await bench.runner.decide(InterruptId(f"{run}-1"), Approve(), ANN)
            await bench.supervisor.settled(run)

        resumes = [
            (await taken(resume(small, number, 1_000)), await taken(resume(large, number, 50_000)))
            for number in range(200)
        ]
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return [
        compared("start-up with 50,000 waiting (floor: 1,000)", starts, 1.2),
        compared("resume a random one of 50,000 (floor: 1,000)", resumes, 1.2),
        ["memory grown by both", "", f"{grown:.1f} MB", "", ""],
    ]


async def measure() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = await one_by_one(folder)
        rows.append(await fifty_at_once(folder))
        rows += await many_turns(folder)
        rows += await waiting_rows(folder)
    show(
        "Engine overhead (p50, SQLite, instant model)",
        ["", "raw floor", "Askfirst", "ratio", "promised"],
        rows,
    )


def main() -> None:
    asyncio.run(measure())
