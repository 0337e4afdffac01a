"""The alarm: armed for the next due time, and again after each sweep; no job per approval."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.domain.errors import ConfigError
from bot.domain.ids import RunId
from bot.engine.ports import InterruptsOpened, RunEnded
from bot.llm.scripted import call, say
from bot.scheduler.chores import Chores
from bot.scheduler.jobs import Waking, keeping_time
from bot.scheduler.timer import Alarm
from bot.settings import load_settings
from tests.engine.lab import NOON, Recorder
from tests.time.desk import SLACK, desk, ladder

NEVER = timedelta(hours=1)


def real_now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the alarm itself goes by the wall clock


class Sweeps:
    """Answers with what it was told, and lets a test wait for the next call."""

    def __init__(self, *answers: datetime | Exception | None) -> None:
        self._answers = list(answers)
        self.calls: asyncio.Queue[int] = asyncio.Queue()
        self._count = 0

    async def __call__(self) -> datetime | None:
        self._count += 1
        answer = self._answers.pop(0) if self._answers else None
        self.calls.put_nowait(self._count)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def called(self) -> int:
        async with asyncio.timeout(5):
            return await self.calls.get()


async def nothing() -> None:
    return None


def alarm(sweeps: Sweeps) -> Alarm:
    return Alarm(sweeps, nothing, safety=NEVER, chores_every=NEVER)


async def test_it_sweeps_at_once_and_then_when_the_database_says() -> None:
    soon = real_now() + timedelta(milliseconds=30)
    sweeps = Sweeps(soon, None)
    async with alarm(sweeps).running():
        assert await sweeps.called() == 1
        assert await sweeps.called() == 2
        assert real_now() >= soon
    assert sweeps.calls.empty()


async def test_what_is_long_due_is_swept_at_once() -> None:
    sweeps = Sweeps(real_now() - timedelta(days=2), None)
    async with alarm(sweeps).running():
        await sweeps.called()
        assert await sweeps.called() == 2


async def test_an_earlier_time_replaces_a_later_one_and_not_the_other_way_round() -> None:
    sweeps = Sweeps(real_now() + timedelta(hours=1), None)
    bell = alarm(sweeps)
    async with bell.running():
        await sweeps.called()
        bell.at(real_now() + timedelta(milliseconds=20))
        bell.at(real_now() + timedelta(hours=2))
        assert await sweeps.called() == 2


async def test_a_sweep_that_fails_is_tried_again_by_the_slow_one(caplog: pytest.LogCaptureFixture) -> None:
    sweeps = Sweeps(OSError("the disk is full"), None)
    bell = Alarm(sweeps, nothing, safety=timedelta(milliseconds=50), chores_every=NEVER)
    async with bell.running():
        assert await sweeps.called() == 1
        assert await sweeps.called() == 2
    assert "the sweep failed" in caplog.text


async def test_chores_are_done_beside_the_sweep_and_one_that_fails_is_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    chores = Sweeps(OSError("the disk is full"), None)

    async def do() -> None:
        await chores()

    bell = Alarm(Sweeps(), do, safety=NEVER, chores_every=timedelta(milliseconds=30))
    async with bell.running():
        await chores.called()
        await chores.called()
    assert "a chore failed" in caplog.text


async def test_leaving_waits_for_the_sweep_under_way() -> None:
    gate, finished = asyncio.Event(), False
    started = asyncio.Event()

    async def slow() -> None:
        nonlocal finished
        started.set()
        await gate.wait()
        finished = True

    bell = Alarm(slow, nothing, safety=NEVER, chores_every=NEVER)
    async with bell.running():
        await started.wait()
        asyncio.get_running_loop().call_later(0.01, gate.set)
    assert finished


async def test_a_question_this_process_opens_sets_the_alarm_for_its_first_timer(tmp_path: Path) -> None:
    front = Recorder()
    waking = Waking(front)
    dues: list[datetime] = []
    waking.listen(dues.append)
    async with desk(tmp_path / "a.db", [call("mark", {"path": "p"})]) as bench:
        run = await bench.ask()
        await waking.show(SLACK, RunId(run), InterruptsOpened(interrupts=tuple(await bench.open(run))))
    assert dues == [NOON + timedelta(minutes=5)]
    assert len(front.events) == 1


async def test_everything_together_expires_a_question_with_one_line_of_wiring(tmp_path: Path) -> None:
    terms = ladder(remind=(), escalate=None)
    async with desk(tmp_path / "a.db", [call("mark", {"path": "p"}), say("ok")], terms=terms) as bench:
        bench.clock.now = real_now() - timedelta(minutes=15)
        run = await bench.ask()
        bench.clock.now = real_now()
        waking = Waking(bench.front)
        async with asyncio.timeout(5), keeping_time(bench.runner, bench.store, bench.clock, Chores(), waking):
            await bench.front.until(RunEnded)
        assert (await bench.head(run)).state == "done"


def test_settings_of_time() -> None:
    settings = load_settings(
        business_hours={"oncall": "mon-fri 09:00-17:00 Europe/Berlin"}, digest="person", keep_runs_days=0
    )
    assert set(settings.time_rules.hours) == {"oncall"}
    chores = settings.chores
    assert (chores.keep_runs, chores.digest is not None) == (None, True)
    assert load_settings().chores.digest is None


@pytest.mark.parametrize(
    "given", [{"business_hours": {"*": "always"}}, {"digest_zone": "Nowhere"}, {"keep_runs_days": -1}]
)
def test_settings_of_time_that_do_not_fit_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="These settings do not fit"):
        load_settings(**given)
