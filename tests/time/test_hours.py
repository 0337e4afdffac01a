"""Business hours: reminders and escalations wait for people to be at work, the expiry does not."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.engine.hours import Hours, next_open, parse_hours
from bot.engine.timers import TimeRules
from bot.llm.scripted import call, say
from tests.time.desk import desk, ladder, posts, sweep, timeline

OFFICE = "mon-fri 09:00-17:00 Europe/Berlin"
MARK = call("mark", {"path": "p"})


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "opens"),
    [
        # 2026-11-18 is a Wednesday; Berlin is one hour ahead of UTC in winter and two in summer.
        pytest.param("2026-11-18T08:00", "2026-11-18T08:00", id="the first minute counts"),
        pytest.param("2026-11-18T15:59", "2026-11-18T15:59", id="the last minute counts"),
        pytest.param("2026-11-18T16:00", "2026-11-19T08:00", id="the end does not"),
        pytest.param("2026-11-18T05:00", "2026-11-18T08:00", id="before work"),
        pytest.param("2026-11-20T16:30", "2026-11-23T08:00", id="over the weekend"),
        pytest.param("2026-03-27T17:00", "2026-03-30T07:00", id="over the change to summer time"),
    ],
)
def test_next_open(moment: str, opens: str) -> None:
    assert next_open(utc(moment), parse_hours(OFFICE)) == utc(opens)


def test_without_hours_it_is_always_open() -> None:
    assert next_open(utc("2026-11-22T03:00"), None) == utc("2026-11-22T03:00")


def test_days_may_go_over_the_end_of_the_week() -> None:
    assert parse_hours("Sat-Mon 00:00-24:00").days == {5, 6, 0}
    assert parse_hours("wed 10:00-11:00 UTC").days == {2}


@pytest.mark.parametrize(
    "text",
    ["", "9-17", "mon-fri 17:00-09:00", "foo 09:00-10:00", "mon 09:00-10:00 Nowhere/Town", "mon 09:70-10:00"],
)
def test_hours_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_hours(text)


@given(
    moment=st.integers(0, 15 * 365 * 24 * 60 * 60).map(
        lambda seconds: utc("2020-01-01") + timedelta(seconds=seconds)
    ),
    days=st.frozensets(st.integers(0, 6), min_size=1),
    start=st.integers(4 * 60, 22 * 60),
    length=st.integers(60, 120),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia"]),
)
def test_the_next_opening_is_never_early_never_a_week_away_and_really_open(
    moment: datetime, days: frozenset[int], start: int, length: int, zone: str
) -> None:
    hours = Hours(days=days, start=start, end=min(start + length, 24 * 60), zone=ZoneInfo(zone))
    opens = next_open(moment, hours)
    assert moment <= opens <= moment + timedelta(days=8)
    assert hours.open_at(opens)
    # Nothing in between would have been open: hours begin on the minute.
    if opens > moment:
        assert not hours.open_at(opens - timedelta(minutes=1))
    assert next_open(opens, hours) == opens


async def test_a_reminder_waits_for_business_hours_and_is_not_late_then(tmp_path: Path) -> None:
    rules = TimeRules(hours={"oncall": parse_hours(OFFICE)})
    terms = ladder(expires=24 * 60, remind=(5,), escalate=None)
    async with desk(tmp_path / "a.db", [MARK, say("ok")], terms=terms, rules=rules) as bench:
        bench.clock.now = utc("2026-11-18T16:00")
        run = await bench.ask()
        bench.clock.pass_(minutes=5)
        assert (await sweep(bench)).next_due == utc("2026-11-19T08:00")
        assert await posts(bench) == []
        bench.clock.now = utc("2026-11-19T08:00")
        await sweep(bench)
        (reminder,) = await posts(bench)
        assert (reminder["kind"], reminder["late"]) == ("reminder", False)
        bench.clock.now = utc("2026-11-19T16:00")
        # The expiry does not wait.
        assert (await sweep(bench)).expired == 1
        assert [kind for kind, _ in await timeline(bench, run)] == ["reminder", "timeout"]


async def test_each_group_has_its_own_hours(tmp_path: Path) -> None:
    rules = TimeRules(hours={"*": parse_hours(OFFICE), "storage": parse_hours("mon-sun 00:00-24:00")})
    async with desk(tmp_path / "a.db", [MARK], rules=rules, terms=ladder(expires=1200)) as bench:
        bench.clock.now = utc("2026-11-18T20:00")
        await bench.ask()
        bench.clock.pass_(minutes=10)
        await sweep(bench)
        assert [post["kind"] for post in await posts(bench)] == ["escalation"]


async def test_what_would_come_after_the_expiry_is_recorded_as_skipped(tmp_path: Path) -> None:
    rules = TimeRules(hours={"*": parse_hours(OFFICE)})
    async with desk(tmp_path / "a.db", [MARK], rules=rules) as bench:
        bench.clock.now = utc("2026-11-18T20:00")
        run = await bench.ask()
        bench.clock.pass_(minutes=10)
        await sweep(bench)
        bodies = [record.fact.body for record in await bench.store.audit_of(run)]
        skipped = [body["skipped"] for body in bodies if "skipped" in body]
        assert skipped == ["outside business hours until it expires"] * 2
        assert await posts(bench) == []
