"""A process that works on one request and kills itself, as hard as `kill -9`, at a given durable boundary.

    python -m tests.engine.crash_child FOLDER [in-tool | before NUMBER | after NUMBER]

It starts the request (or finds it), recovers what a dead process left, answers every question the way a
person who can look at the world would, and prints the end as JSON.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from bot.domain.decision import Answer, Approve, Choose
from bot.domain.interrupt import Interrupt
from bot.domain.person import Person
from bot.domain.transcript import ModelTurn
from bot.engine.ports import ModelRequest
from bot.engine.runner import Request
from bot.llm.scripted import ScriptedModel, calls, say, tool_call
from bot.storage.sqlite import SqliteDatabase
from bot.storage.transactions import T, Transaction
from tests.engine.lab import ANN, DEV, Lab, lab
from tests.engine.tools import AFTER_MARK, marks
from tests.fakes.policies import TablePolicy


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def crash_at(when: str, number: int) -> None:
    """Die right before or right after the `number`th commit of this process."""
    original: Callable[..., object] = SqliteDatabase.write
    count = 0

    async def write(self: SqliteDatabase, transaction: Transaction[T]) -> T:
        nonlocal count
        count += 1
        if when == "before" and count == number:
            die()
        result: T = await original(self, transaction)
        if when == "after" and count == number:
            die()
        return result

    SqliteDatabase.write = write


def model(folder: Path) -> ScriptedModel:
    def step(request: ModelRequest) -> ModelTurn:
        if any(isinstance(entry.item, ModelTurn) for entry in request.transcript):
            return say("Done.")
        return calls(
            tool_call("look", {}, id="read"),
            tool_call("touch", {"path": str(folder / "touched")}, id="repeatable"),
            tool_call("mark", {"path": str(folder / "marked")}, id="once"),
        )

    return ScriptedModel([step] * 50)


def answer(question: Interrupt, folder: Path) -> tuple[Answer, Person]:
    if question.kind == "recovery":
        return Choose(option="happened" if marks(folder / "marked") else "again"), ANN
    return Approve(), ANN


async def work(folder: Path) -> None:
    policy = TablePolicy(verdicts={"look": "allow", "touch": "allow"})
    async with lab(folder / "a.db", model(folder), policy=policy, worker=f"w{os.getpid()}") as bench:
        await bench.supervisor.recover()
        request = Request(thread=bench.thread, requester=DEV.id, text="go", agent=bench.agent, key="C1/1")
        run = await bench.runner.ask(request)
        await bench.supervisor.settled(run)
        while waiting := await bench.open(run):
            for question in waiting:
                reply, person = answer(question, folder)
                await bench.runner.decide(question.id, reply, person)
            await bench.supervisor.settled(run)
        await report(bench, folder)


async def report(bench: Lab, folder: Path) -> None:
    (head,) = await bench.store.heads()
    kinds = [asked.interrupt.kind for asked in await bench.asked(head.run_id)]
    end = {
        "state": head.state,
        "marked": len(marks(folder / "marked")),
        "results": sorted(status for status, _ in await bench.results(head.run_id)),
        "asked": sorted(kinds),
    }
    print(json.dumps(end))


if __name__ == "__main__":
    target = Path(sys.argv[1])
    if len(sys.argv) == 3:
        AFTER_MARK.append(die)
    elif len(sys.argv) > 3:
        crash_at(sys.argv[2], int(sys.argv[3]))
    asyncio.run(work(target))
