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


async def timed(work: Callable[[int], Awaitable[object]], rounds: int) -> list[float]:
    """Milliseconds of each round."""
    took: list[float] = []
    for number in range(rounds):
        began = time.perf_counter()
        await work(number)
        took.append((time.perf_counter() - began) * 1000)
    return took


TURN = json.dumps(
    {"kind": "model", "blocks": [{"type": "call", "call": {"id": "c1", "tool": "act", "args": {}}}]}
)


async def one_by_one(folder: Path) -> list[list[object]]:
    raw = await floor.connect(folder / "floor.db")
    async with engine(folder, InstantModel()) as bench:

        async def start(_: int) -> None:
            run = await bench.runner.ask(request(bench))
            await bench.supervisor.settled(run)

        async def resume(number: int) -> None:
            run = RunId(f"here-run{number + 1}")
            await bench.runner.decide(InterruptId(f"{run}-1"), Approve(), ANN)
            await bench.supervisor.settled(run)

        ours = [await timed(start, ROUNDS), await timed(resume, ROUNDS)]
        raws = [
            await timed(lambda number: floor.start(raw, f"r{number}", TURN), ROUNDS),
            await timed(lambda number: floor.resume(raw, f"r{number}"), ROUNDS),
        ]
    await raw.close()
    rows: list[list[object]] = []
    for name, mine, least, limit in zip(
        ("request → interrupt stored", "answer → finished"), ours, raws, (5, 3), strict=True
    ):
        low, high = statistics.median(least), statistics.median(mine)
        ratio = high / low
        rows.append([name, f"{low:.2f} ms", f"{high:.2f} ms", f"{ratio:.1f}×", verdict(ratio, limit)])
    return rows


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


async def many_turns(folder: Path) -> list[list[object]]:
    raw = await floor.connect(folder / "floor400.db")
    result = json.dumps({"kind": "result", "text": PAYLOAD})
    await floor.write(raw, (floor.RUN, ("r", "running", "{}")))
    least = await timed(lambda number: floor.long_turn(raw, "r", number * 2, TURN, result), TURNS)
    await raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    await raw.close()
    marks: list[float] = []

    class Watched(InstantModel):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            marks.append(time.perf_counter())
            async for event in super().stream(request):
                yield event

    async with engine(folder / "long", Watched("read", TURNS)) as bench:
        run = await bench.runner.ask(request(bench))
        await bench.supervisor.settled(run)
        assert (await bench.head(run)).turns == TURNS + 1
    turns = [(after - before) * 1000 for before, after in itertools.pairwise(marks)]
    total, floor_total = sum(turns), sum(least)
    growth = statistics.median(turns[-50:]) / statistics.median(turns[:50])
    size, floor_size = (folder / "long/ours.db").stat().st_size, (folder / "floor400.db").stat().st_size
    ratio, bytes_ratio = total / floor_total, size / floor_size
    return [
        [
            f"{TURNS} turns with 2 KB results",
            f"{floor_total:.0f} ms",
            f"{total:.0f} ms",
            f"{ratio:.1f}×",
            verdict(ratio, 3),
        ],
        ["… last turns ÷ first turns", "1", f"{growth:.2f}", f"{growth:.2f}×", verdict(growth, 1.2)],
        [
            "… bytes stored, audit included",
            f"{floor_size / 1e6:.2f} MB",
            f"{size / 1e6:.2f} MB",
            f"{bytes_ratio:.2f}×",
            verdict(bytes_ratio, 1.5),
        ],
    ]


async def waiting(folder: Path, count: int) -> tuple[float, float, float]:
    """Milliseconds to start up and to resume a random run, and MB of memory, with `count` runs waiting."""
    path = folder / f"waiting{count}"
    async with engine(path, InstantModel()) as bench:
        async with asyncio.TaskGroup() as group:
            queue = iter(range(count))

            async def worker() -> None:
                for _ in queue:
                    await bench.runner.ask(request(bench))

            for _ in range(50):
                group.create_task(worker())
        await bench.supervisor.idle()
    starts: list[float] = []
    for _ in range(15):
        began = time.perf_counter()
        async with engine(path, InstantModel()) as bench:
            await bench.supervisor.recover()
            starts.append((time.perf_counter() - began) * 1000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with engine(path, InstantModel()) as bench:
        await bench.supervisor.recover()

        async def resume(number: int) -> None:
            run = RunId(f"here-run{1 + number * 7919 % count}")
            await bench.runner.decide(InterruptId(f"{run}-1"), Approve(), ANN)
            await bench.supervisor.settled(run)

        took = await timed(resume, 200)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return statistics.median(starts), statistics.median(took), grown


async def waiting_rows(folder: Path) -> list[list[object]]:
    few, many = await waiting(folder, 1_000), await waiting(folder, 50_000)
    start, resume = many[0] / few[0], many[1] / few[1]
    return [
        [
            "start-up with 50,000 waiting (floor: 1,000)",
            f"{few[0]:.1f} ms",
            f"{many[0]:.1f} ms",
            f"{start:.2f}×",
            verdict(start, 1.2),
        ],
        [
            "resume a random one of 50,000 (floor: 1,000)",
            f"{few[1]:.2f} ms",
            f"{many[1]:.2f} ms",
            f"{resume:.2f}×",
            verdict(resume, 1.2),
        ],
        ["memory grown by recover and 200 resumes", f"{few[2]:.1f} MB", f"{many[2]:.1f} MB", "", ""],
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
