"""Several processes, a crash in the middle, Slack down: each timer fires once, and nothing is lost."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.domain.decision import Approve, Decided, Expired
from bot.domain.errors import Stale
from bot.domain.ids import RunId
from bot.engine.timers import Swept, TimeRules
from bot.llm.scripted import ScriptedModel, call, say
from bot.storage import timers
from bot.storage.statements import statements
from bot.storage.transactions import Query, Row, Transaction
from tests.engine.lab import ANN, NOON, Clock, Lab, lab
from tests.engine.tools import marks
from tests.time.desk import desk, ladder, posts, query, sweep

#: More than three transactions of a sweep fire, however large they grow.
MANY = 30


async def wait_for_people(bench: Lab) -> list[RunId]:
    return [await bench.ask() for _ in range(MANY)]


def script(path: str = "p") -> ScriptedModel:
    return ScriptedModel([call("mark", {"path": path})] * MANY + [say("ok")] * MANY)


def endings() -> ScriptedModel:
    """For a process that only goes on with what another began."""
    return ScriptedModel([say("ok")] * MANY)


async def fired(bench: Lab, runs: Sequence[RunId]) -> Counter[str]:
    kinds = [record.fact.kind for run in runs for record in await bench.store.audit_of(run)]
    return Counter(kind for kind in kinds if kind in {"reminder", "escalation", "timeout"})


async def test_two_processes_that_sweep_at_once_fire_each_timer_once(tmp_path: Path) -> None:
    clock = Clock()
    async with (
        desk(tmp_path / "a.db", script(), clock=clock, worker="one") as one,
        desk(tmp_path / "a.db", endings(), clock=clock, worker="two") as two,
    ):
        runs = await wait_for_people(one)
        total = Counter[str]()
        for minutes in (5, 5, 5):
            clock.pass_(minutes=minutes)
            both = await asyncio.gather(sweep(one), sweep(two))
            for swept in both:
                total.update(dict(swept.fired))
        assert total == {"remind": MANY, "escalate": MANY, "expire": MANY}
        assert await fired(one, runs) == {"reminder": MANY, "escalation": MANY, "timeout": MANY}
        assert Counter(post["kind"] for post in await posts(one)) == {
            "reminder": MANY,
            "escalation": MANY,
            "expiry": MANY,
        }
        # One message each: none of them was touched twice.
        rows = await query(one, "due_posts", "slack", 2**62, 1000)
        assert {row[7] for row in rows if row[4] != "card" and row[4] != "answer"} == {1}
        assert {(await one.head(run)).state for run in runs} == {"done"}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2, 3])
async def test_a_process_killed_in_the_middle_of_a_sweep_loses_nothing_and_repeats_nothing(
    tmp_path: Path, when: str, number: int
) -> None:
    async with desk(tmp_path / "a.db", script(), terms=ladder(escalate=None)) as bench:
        runs = await wait_for_people(bench)
    command = [sys.executable, "-m", "tests.time.sweep_child", str(tmp_path / "a.db"), "5"]
    child = subprocess.run([*command, when, str(number)], capture_output=True, text=True, check=False)
    assert child.returncode == -signal.SIGKILL
    async with desk(tmp_path / "a.db", worker="next") as bench:
        bench.clock.pass_(minutes=5)
        left = sum((await sweep(bench)).fired.values())
        # Something was done before, something was left, and together it is everything, once.
        assert 0 < left <= MANY
        assert (left < MANY) == (when == "after" or number > 1)
        assert await fired(bench, runs) == {"reminder": MANY}
        assert len({post["key"] for post in await posts(bench, "reminder")}) == MANY


async def test_runs_whose_questions_expired_right_before_a_crash_go_on_in_the_next_process(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path / "a.db", script(), terms=ladder(remind=(), escalate=None)) as bench:
        runs = await wait_for_people(bench)
    command = [sys.executable, "-m", "tests.time.sweep_child", str(tmp_path / "a.db"), "15", "after", "2"]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    assert child.returncode == -signal.SIGKILL
    async with lab(tmp_path / "a.db", endings(), worker="next") as bench:
        bench.clock.pass_(minutes=15)
        await bench.runner.sweep()
        await bench.supervisor.recover()
        await bench.supervisor.idle()
        assert {(await bench.head(run)).state for run in runs} == {"done"}
        assert await fired(bench, runs) == {"timeout": MANY}


async def test_a_click_that_races_an_expiry_in_another_process_exactly_one_wins(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    before, after = Clock(), Clock()
    terms = ladder(remind=(), escalate=None)
    async with (
        desk(tmp_path / "a.db", script(str(target)), clock=before, worker="one", terms=terms) as one,
        desk(tmp_path / "a.db", endings(), clock=after, worker="two", terms=terms) as two,
    ):
        runs = await wait_for_people(one)
        questions = [await one.only(run) for run in runs]
        # One machine's clock is a second behind: its clicks are still in time.
        before.pass_(minutes=14, seconds=59)
        after.pass_(minutes=15)

        async def click(number: int) -> str:
            # Spread over the sweep, so that some come before it and some after.
            await asyncio.sleep(0.001 * number)
            try:
                await one.runner.decide(questions[number].id, Approve(), ANN)
            except Stale as late:
                return str(late)
            return ""

        told, swept = await asyncio.gather(
            asyncio.gather(*(click(number) for number in range(MANY))), two.runner.sweep()
        )
        await one.supervisor.idle()
        await two.supervisor.idle()
        outcomes = [(await one.asked(run))[0].outcome for run in runs]
        for answer, outcome in zip(told, outcomes, strict=True):
            if answer == "":
                assert isinstance(outcome, Decided)
            else:
                assert isinstance(outcome, Expired)
                assert "it expired at 2026-11-18 12:15 UTC, nothing was run" in answer
        assert swept.expired == sum(isinstance(outcome, Expired) for outcome in outcomes)
        assert len(marks(target)) == told.count("")
        assert {(await one.head(run)).state for run in runs} == {"done"}
        notices = await posts(two, "expiry")
        assert len(notices) == swept.expired


def test_a_timer_that_another_process_took_since_it_was_found_is_not_fired(tmp_path: Path) -> None:
    """As on PostgreSQL, where two processes may find the same row: the transactions are driven by hand."""
    asyncio.run(_one_waits(tmp_path / "a.db"))
    connection = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    slow = timers.fire_due(NOON + timedelta(minutes=5), TimeRules(), 10)
    found = _answer(connection, next(slow))
    assert len(found) == 1
    quick = _finish(connection, timers.fire_due(NOON + timedelta(minutes=5), TimeRules(), 10))
    late = _finish(connection, slow, found)
    connection.close()
    assert (dict(quick.fired), dict(late.fired)) == ({"remind": 1}, {})


async def _one_waits(path: Path) -> None:
    async with desk(path, [call("mark", {"path": "p"})]) as bench:
        await bench.ask()


def _answer(connection: sqlite3.Connection, asked: Query) -> list[Row]:
    name, args = asked
    named = {str(place): value for place, value in enumerate(args, 1)}
    return connection.execute(statements()[name], named).fetchall()


def _finish(
    connection: sqlite3.Connection, transaction: Transaction[Swept], rows: list[Row] | None = None
) -> Swept:
    try:
        asked = next(transaction) if rows is None else transaction.send(rows)
        while True:
            asked = transaction.send(_answer(connection, asked))
    except StopIteration as finished:
        return finished.value


class Slack:
    """As much of a front as it takes: shows what is due, if it is up."""

    def __init__(self, bench: Lab) -> None:
        self._bench = bench
        self.up = False
        self.shown: list[str] = []

    async def deliver(self) -> None:
        now = int(self._bench.clock.now.timestamp() * 1_000_000)
        for row in await query(self._bench, "due_posts", "slack", now, 100):
            key, wanted = row[0], row[7]
            if self.up:
                self.shown.append(key)
                await query(self._bench, "post_shown", key, wanted, '{"ts": "1"}')
            else:
                await query(self._bench, "post_failed", key, now + 60_000_000)


async def test_a_notice_that_slack_could_not_take_arrives_later_once(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [call("mark", {"path": "p"}), say("ok")]) as bench:
        slack = Slack(bench)
        run = await bench.ask()
        name = (await bench.only(run)).id
        bench.clock.pass_(minutes=5)
        await sweep(bench)
        await slack.deliver()
        bench.clock.pass_(minutes=10)
        # Slack is still down while the question expires.
        await sweep(bench)
        await slack.deliver()
        assert slack.shown == []
        slack.up = True
        bench.clock.pass_(minutes=2)
        for _ in range(3):
            await sweep(bench)
            await slack.deliver()
        once = Counter(slack.shown)
        assert once[f"expiry/{name}"] == once[f"reminder/{name}/0"] == once[f"card/{name}"] == 1
        assert (await bench.asked(run))[0].outcome is not None


async def test_a_restart_between_two_sweeps_changes_nothing(tmp_path: Path) -> None:
    clock = Clock()
    async with desk(tmp_path / "a.db", script(), clock=clock, worker="one") as bench:
        runs = await wait_for_people(bench)
        clock.pass_(minutes=5)
        await sweep(bench)
    clock.pass_(minutes=5)
    async with desk(tmp_path / "a.db", endings(), clock=clock, worker="two") as bench:
        swept: Any = await sweep(bench)
        assert dict(swept.fired) == {"escalate": MANY}
        assert await fired(bench, runs) == {"reminder": MANY, "escalation": MANY}
