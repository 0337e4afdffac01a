"""Retention and the digest: what is removed, what stays, what is posted, by one process, once."""

import asyncio
import json
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bot.domain.audit import GENESIS, chained
from bot.domain.decision import Reject
from bot.domain.errors import CheckpointNotFound
from bot.domain.ids import RunId, UserId
from bot.domain.person import Person
from bot.domain.run import Base
from bot.engine.waiting import for_person, in_channel
from bot.llm.scripted import ScriptedModel, call, say
from bot.scheduler.chores import Chores, DigestPlan, do_chores, post_digest, retain
from tests.engine.lab import ANN, EVE, NOON, Clock, Lab
from tests.time.desk import desk, posts, query, sweep

MARK = call("mark", {"path": "p"})
LONG = "x" * 20_000
KEEP = Chores(keep_runs=timedelta(days=90))


async def rows(bench: Lab, run: RunId) -> int:
    entries = await query(bench, "all_entries", run)
    interrupts = await query(bench, "interrupts_of_run", run)
    heads = await query(bench, "run", run)
    card = [row for name in interrupts for row in await query(bench, "post", f"card/{name[0]}")]
    return len(entries) + len(interrupts) + len(heads) + len(card)


async def verify(bench: Lab) -> int:
    """Walk the audit chain; fail where a record was changed or cut out."""
    previous, count = GENESIS, 0
    async for record, at, text in bench.store.audit():
        fact = record.fact
        previous = chained(previous, seq=record.seq, kind=fact.kind, at_us=at, run_id=fact.run_id, body=text)
        assert record.hash == previous
        count += 1
    return count


async def test_finished_runs_are_removed_after_their_time_and_the_audit_stays(tmp_path: Path) -> None:
    model = ScriptedModel([MARK, say("ok"), MARK, say("ok"), MARK])
    async with desk(tmp_path / "a.db", model) as bench:
        old = await bench.ask()
        clicked = (await bench.only(old)).id
        await bench.decide(clicked, Reject())
        bench.clock.pass_(days=60)
        recent = await bench.ask()
        await bench.decide(await bench.only(recent), Reject())
        waiting = await bench.ask()
        before = await verify(bench)
        bench.clock.pass_(days=31)
        assert await retain(bench.store, KEEP, bench.clock.now) == 1
        assert (await rows(bench, old), await bench.store.head(old)) == (0, None)
        assert await rows(bench, recent) > 4
        assert await rows(bench, waiting) > 3
        assert await query(bench, "leftovers") == []
        assert await verify(bench) == before + 1
        assert [fact for fact in await bench.facts(old) if fact == "decision"] == ["decision"]
        # A click on a card that old is answered, too.
        with pytest.raises(CheckpointNotFound):
            await bench.runner.decide(clicked, Reject(), ANN)


async def test_the_audit_log_says_what_was_removed(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [say("ok"), say("ok")]) as bench:
        runs = [await bench.ask(), await bench.ask()]
        bench.clock.pass_(days=91)
        await retain(bench.store, KEEP, bench.clock.now)
        records = [record.fact async for record, _, _ in bench.store.audit()]
        (fact,) = [fact for fact in records if fact.kind == "retention"]
        assert (fact.body["runs"], sorted(fact.body["ids"])) == (2, sorted(runs))


async def test_a_run_that_another_goes_on_from_is_kept_as_long_as_that_one(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [say("one"), say("two")]) as bench:
        first = await bench.ask()
        bench.clock.pass_(days=89)
        head = await bench.head(first)
        second = await bench.ask(base=Base(run_id=first, cursor=head.cursor))
        bench.clock.pass_(days=2)
        assert await retain(bench.store, KEEP, bench.clock.now) == 0
        assert len(await bench.items(second)) == 4
        bench.clock.pass_(days=89)
        assert await retain(bench.store, KEEP, bench.clock.now) == 2


async def test_a_run_that_somebody_goes_on_from_in_this_very_moment_is_not_removed(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [say("one"), say("two")]) as bench:
        first = await bench.ask()
        bench.clock.pass_(days=91)
        before = bench.clock.now - timedelta(days=90)
        found = await bench.store.removable(before, limit=10)
        await bench.ask(base=Base(run_id=first, cursor=(await bench.head(first)).cursor))
        assert await bench.store.remove_runs(found, before, bench.clock.now) == ()


async def test_the_file_shrinks(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", ScriptedModel([say(LONG)] * 60)) as bench:
        for _ in range(60):
            await bench.ask()
        await query(bench, "count_open")
        bench.clock.pass_(days=91)
        await retain(bench.store, Chores(keep_runs=None), bench.clock.now)
        before = (tmp_path / "a.db").stat().st_size
        assert await retain(bench.store, KEEP, bench.clock.now) == 60
        assert (tmp_path / "a.db").stat().st_size < before / 3


async def test_removal_goes_on_where_a_dead_process_left_off(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [say("ok")]) as bench:
        run = await bench.ask()
        bench.clock.pass_(days=91)
        before = bench.clock.now - timedelta(days=90)
        await bench.store.remove_runs((run,), before, bench.clock.now)
        assert await bench.store.remove_leftovers(limit=1)
    async with desk(tmp_path / "a.db", worker="next") as bench:
        assert await rows(bench, run) > 0
        await retain(bench.store, KEEP, NOON)
        assert await rows(bench, run) == 0


async def test_runs_are_archived_before_they_are_removed(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [MARK, say("done")]) as bench:
        run = await bench.ask("please")
        await bench.decide(await bench.only(run), Reject())
        bench.clock.pass_(days=91)
        chores = Chores(keep_runs=timedelta(days=90), archive=tmp_path / "old")
        await retain(bench.store, chores, bench.clock.now)
    (file,) = (tmp_path / "old").iterdir()
    (line,) = file.read_text(encoding="utf-8").splitlines()
    record = json.loads(line)
    assert (record["run"], record["state"], len(record["interrupts"])) == (run, "done", 1)
    assert record["entries"][0]["item"]["text"] == "please"
    assert record["interrupts"][0]["outcome"]["kind"] == "decided"


async def test_old_uses_and_grants_go_too(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db") as bench:
        old, recent = (int((NOON - timedelta(days=days)).timestamp()) * 1_000_000 for days in (100, 10))
        for number in range(5):
            await query(bench, "insert_use", "k", old + number, "r")
        await query(bench, "insert_use", "k", recent, "r")
        await query(bench, "insert_grant", "g-old", "thread/t", "mark", "ann", old, 1, 1, "{}")
        await query(bench, "insert_grant", "g-new", "thread/t", "mark", "ann", recent, 1, 1, "{}")
        assert await bench.store.forget("uses", NOON - timedelta(days=90), limit=2) == 2
        await retain(bench.store, KEEP, NOON)
        assert await query(bench, "count_uses", "k", 0) == [(1,)]
        assert await query(bench, "forget_grants", 2**62, 10) == [("g-new",)]


async def test_a_click_gets_its_turn_between_the_steps_of_a_removal(tmp_path: Path) -> None:
    model = ScriptedModel([*[say(LONG)] * 40, MARK, say("ok")])
    async with desk(tmp_path / "a.db", model) as bench:
        for _ in range(40):
            await bench.ask()
        bench.clock.pass_(days=91)
        run = await bench.ask()
        removing = asyncio.ensure_future(retain(bench.store, KEEP, bench.clock.now))  # noqa: TID251 - awaited below
        await asyncio.sleep(0)
        await bench.decide(await bench.only(run), Reject())
        assert not removing.done()
        assert await removing == 40


# ── Digest ───────────────────────────────────────────────────────────────────────────────────────────────

NINE = DigestPlan(audience="both", at=time(9, 0), zone=ZoneInfo("Europe/Berlin"))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


async def test_the_digest_is_posted_once_a_day_by_one_process(tmp_path: Path) -> None:
    clock = Clock(utc("2026-11-18T07:00"))
    async with (
        desk(tmp_path / "a.db", [MARK, MARK], clock=clock, worker="one") as one,
        desk(tmp_path / "a.db", clock=clock, worker="two") as two,
    ):
        await one.ask()
        await one.ask()
        clock.now = utc("2026-11-18T07:59")
        assert not await post_digest(one.store, NINE, clock.now)
        clock.now = utc("2026-11-18T08:00")
        did = await asyncio.gather(*(post_digest(lab.store, NINE, clock.now) for lab in (one, two, one)))
        assert sorted(did) == [False, False, True]
        digests = await posts(one, "digest")
        assert [(post["key"], post["total"]) for post in digests] == [
            ("digest/channel/C1/2026-11-18", 2),
            ("digest/person/ann/2026-11-18", 2),
        ]
        assert digests[0]["text"].splitlines()[0] == "2 waiting for a decision"
        assert digests[0]["items"][0]["tool"] == "mark"
        assert digests[0]["items"][0]["approvers"] == [
            {"label": "oncall", "users": ["ann"], "groups": ["S-oncall"]}
        ]
        clock.now = utc("2026-11-18T20:00")
        assert not await post_digest(two.store, NINE, clock.now)


async def test_nothing_waits_nothing_is_posted(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [say("ok")]) as bench:
        await bench.ask()
        assert await post_digest(bench.store, NINE, NOON)
        assert await posts(bench, "digest") == []


async def test_pending_shows_the_same_list_to_those_who_can_decide(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", ScriptedModel([MARK] * 30)) as bench:
        for _ in range(30):
            await bench.ask()
            bench.clock.pass_(seconds=1)
        waiting, total = await bench.store.waiting()
        here = in_channel(waiting, "C1", at=bench.clock.now)
        assert (total, here.total, len(here.items)) == (30, 30, 20)
        assert [item.expires_at for item in here.items] == sorted(item.expires_at for item in here.items)
        assert in_channel(waiting, "C2", at=NOON).total == 0
        carol = Person(id=UserId("carol"), groups=frozenset({"S-oncall"}))
        assert for_person(waiting, carol, at=NOON).total == 30
        assert for_person(waiting, EVE, at=NOON).total == 0
        bench.clock.pass_(minutes=12)
        await sweep(bench)
        waiting, _ = await bench.store.waiting()
        # Escalation reached the next group: it is in their list, too.
        assert for_person(waiting, EVE, at=NOON).total == 30


async def test_chores_are_done_once_an_hour_by_whoever_comes_first(tmp_path: Path) -> None:
    clock = Clock()
    async with (
        desk(tmp_path / "a.db", [say("ok"), say("ok")], clock=clock, worker="one") as one,
        desk(tmp_path / "a.db", clock=clock, worker="two") as two,
    ):
        first = await one.ask()
        clock.pass_(days=91)
        await do_chores(two.store, KEEP, clock)
        assert await one.store.head(first) is None
        second = await one.ask()
        one_hour: Any = timedelta(hours=1)
        await do_chores(one.store, Chores(keep_runs=timedelta(0)), clock)
        assert await one.store.head(second) is not None
        clock.now += one_hour
        await do_chores(one.store, Chores(keep_runs=timedelta(0)), clock)
        assert await one.store.head(second) is None
