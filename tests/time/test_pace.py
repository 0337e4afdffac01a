"""How a sweep goes easy on clicks."""

from pathlib import Path

import bot
from bot.engine.pace import BUDGET, MOST, Pace


def test_on_a_quick_disk_a_transaction_fires_a_timer_or_two() -> None:
    pace = Pace()
    for _ in range(5):
        pace.rest(pace.batch * BUDGET / 10, pace.batch)
    assert pace.batch == 1


def test_on_a_slow_disk_it_fires_more_but_never_too_many() -> None:
    pace = Pace()
    for _ in range(9):
        pace.rest(1.0, pace.batch)
    assert pace.batch == MOST


def test_it_rests_as_long_as_it_worked_if_the_budget_allows() -> None:
    assert Pace().rest(0.001, 4) == 0.001
    assert Pace().rest(BUDGET * 3, 4) == BUDGET * 4 - BUDGET * 3
    assert Pace().rest(1.0, 4) == 0.0


def test_one_file_knows_apscheduler() -> None:
    root = Path(bot.__file__).parent
    files = [
        file
        for file in root.rglob("*.py")
        if "import" in (text := file.read_text(encoding="utf-8"))
        and "apscheduler" in text
        and any("apscheduler" in line and "import" in line for line in text.splitlines())
    ]
    assert [str(file.relative_to(root)) for file in files] == ["scheduler/timer.py"]
