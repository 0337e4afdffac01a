"""Several processes on one SQLite file."""

import subprocess
import sys
from pathlib import Path

import pytest

from bot.llm.scripted import call
from tests.engine.lab import lab
from tests.engine.tools import marks


def child(folder: Path, who: str, interrupt: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.engine.race_child", str(folder), who, interrupt]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
async def test_of_two_processes_that_answer_at_once_one_wins_and_the_other_is_told_who(
    tmp_path: Path,
) -> None:
    target = tmp_path / "marks"
    async with lab(tmp_path / "a.db", [call("mark", {"path": str(target)})]) as bench:
        question = await bench.only(await bench.ask())
    children = [child(tmp_path, who, question.id) for who in ("ann", "bob")]
    for process in children:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in children:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ends = {
        who: process.communicate(timeout=20)[0].strip()
        for who, process in zip(("ann", "bob"), children, strict=True)
    }
    (winner,) = [who for who, end in ends.items() if end == "won"]
    (loser,) = [end for end in ends.values() if end != "won"]
    assert loser == f"already resumed: {question.id} was approved by {winner} at 2026-11-18 12:00:00 UTC"
    assert marks(target) == ["x"]
