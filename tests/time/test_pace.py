"""How a sweep goes easy on clicks."""

import re
from pathlib import Path

import pytest

import bot
from bot.engine.pace import BUDGET, MOST, Pace


def swept(pace: Pace, *, commit: float, each: float, timers: int = 1000) -> tuple[float, float]:
    """Go through a sweep on a disk like this; return how long it took, and how much of that it rested."""
    elapsed = rested = 0.0
    left = timers
    pace.begin()
    while left > 0:
        fired = min(left, pace.batch)
        took = commit + fired * each
        left -= fired
        rest = pace.rest(elapsed + took, took, fired)
        elapsed, rested = elapsed + took + rest, rested + rest
    return elapsed, rested


@pytest.mark.parametrize(
    ("commit", "largest"),
    [
        pytest.param(0.0002, 2, id="a quick disk"),
        pytest.param(0.004, 16, id="a slow one"),
        pytest.param(0.009, MOST, id="a very slow one"),
    ],
)
def test_a_thousand_stay_within_a_second_in_transactions_as_small_as_the_disk_allows(
    commit: float, largest: int
) -> None:
    pace = Pace()
    elapsed, rested = swept(pace, commit=commit, each=0.0001)
    assert elapsed < 1.0
    assert rested > 0.05
    assert pace.batch <= largest


def test_one_slow_commit_does_not_make_the_transactions_of_a_quick_disk_large() -> None:
    pace = Pace()
    pace.begin()
    elapsed = 0.0
    for number in range(100):
        took = 0.005 if number % 20 == 10 else 0.0004
        rest = pace.rest(elapsed + took, took, pace.batch)
        elapsed += took + rest
    assert pace.batch <= 8


def test_a_sweep_that_is_behind_does_not_rest() -> None:
    assert Pace().rest(1.0, 1.0, 4) == 0.0
    assert Pace().rest(BUDGET, BUDGET, 4) == BUDGET * 3


def test_one_file_knows_apscheduler() -> None:
    root = Path(bot.__file__).parent
    known = re.compile(r"^\s*(from|import) apscheduler", re.MULTILINE)
    files = [file for file in root.rglob("*.py") if known.search(file.read_text(encoding="utf-8"))]
    assert [str(file.relative_to(root)) for file in files] == ["scheduler/timer.py"]
