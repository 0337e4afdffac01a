"""What people can do about time: not now, and ask again."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.domain.decision import Approve, Reject
from bot.domain.errors import CheckpointNotFound, InvalidAnswer, NotAllowed
from bot.domain.ids import InterruptId, RunId
from bot.domain.transcript import ModelTurn, UserText
from bot.engine.assess import Assessor
from bot.engine.ports import CallStarted
from bot.engine.runner import Request
from bot.llm.scripted import ScriptedModel, call, calls, say, tool_call
from bot.storage.codec import micros
from tests.engine.lab import ANN, DEV, EVE, NOON, Lab
from tests.engine.tools import GATES, marks
from tests.scope.test_clarify import TOUCHING, Says, scoped
from tests.time.desk import SLACK, desk, ladder, posts, query, sweep

MARK = call("mark", {"path": "p"})


def at(**time: float) -> datetime:
    return NOON + timedelta(**time)


async def test_not_now_reminds_the_one_who_said_so_at_the_time_they_said(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [MARK], terms=ladder(expires=120, remind=(), escalate=None)) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        snoozed = await bench.runner.snooze(question.id, ANN, at(hours=1))
        assert (snoozed.remind_at, snoozed.expires_at) == (at(hours=1), at(hours=2))
        bench.clock.pass_(minutes=59)
        assert dict((await sweep(bench)).fired) == {}
        bench.clock.pass_(minutes=1)
        await sweep(bench)
        (reminder,) = await posts(bench, "reminder")
        assert reminder["mention"] == ["ann"]
        assert reminder["snoozed_by"] == "ann"
        bodies = [r.fact.body for r in await bench.store.audit_of(run) if r.fact.kind == "reminder"]
        assert [body.get("snoozed_by") or body.get("for") for body in bodies] == ["ann", "ann"]


async def test_not_now_is_bounded_by_the_expiry_with_time_left_to_decide(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [MARK], terms=ladder(remind=(), escalate=None)) as bench:
        question = await bench.only(await bench.ask())
        snoozed = await bench.runner.snooze(question.id, ANN, at(hours=1))
        assert (snoozed.remind_at, snoozed.expires_at) == (at(minutes=10), at(minutes=15))
        bench.clock.pass_(minutes=13)
        again = await bench.runner.snooze(question.id, ANN, at(hours=1))
        assert again.remind_at == at(minutes=14)


async def test_not_now_may_move_the_expiry_where_the_policy_says_so_but_not_beyond_the_patience(
    tmp_path: Path,
) -> None:
    terms = ladder(remind=(), escalate=None, snooze_extends=True)
    async with desk(tmp_path / "a.db", [MARK, say("ok")], terms=terms, patience=timedelta(hours=2)) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        snoozed = await bench.runner.snooze(question.id, ANN, at(hours=1))
        assert (snoozed.remind_at, snoozed.expires_at) == (at(hours=1), at(minutes=75))
        bench.clock.pass_(minutes=30)
        assert (await sweep(bench)).expired == 0
        assert (await bench.only(run)).expires_at == at(minutes=75)
        far = await bench.runner.snooze(question.id, ANN, at(hours=9))
        assert (far.remind_at, far.expires_at) == (at(minutes=115), at(hours=2))
        bench.clock.now = at(hours=2)
        assert (await sweep(bench)).expired == 1


async def test_only_those_who_can_decide_can_say_not_now(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [MARK]) as bench:
        question = await bench.only(await bench.ask())
        before = await query(bench, "due_timers_of", 2**62, question.id)
        with pytest.raises(NotAllowed):
            await bench.runner.snooze(question.id, EVE, at(minutes=7))
        assert await query(bench, "due_timers_of", 2**62, question.id) == before
        bench.clock.pass_(minutes=15)
        with pytest.raises(CheckpointNotFound, match="it expired at"):
            await bench.runner.snooze(question.id, ANN, at(hours=1))


async def test_a_snooze_dies_with_its_question(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [MARK, say("ok")]) as bench:
        question = await bench.only(await bench.ask())
        await bench.runner.snooze(question.id, ANN, at(minutes=7))
        await bench.decide(question, Reject())
        assert await bench.store.next_due() is None


# ── Ask again ────────────────────────────────────────────────────────────────────────────────────────────


async def test_asking_again_while_the_run_still_waits_is_a_new_question_judged_anew(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    turn = calls(
        tool_call("mark", {"path": str(target)}, id="c1"),
        tool_call("ask_somebody", {"question": "Which?"}, id="c2"),
    )
    model = ScriptedModel([turn, say("done")])
    async with desk(tmp_path / "a.db", model, terms=ladder(escalate=None)) as bench:
        run = await bench.ask()
        old = next(each for each in await bench.open(run) if each.kind == "approval")
        bench.clock.pass_(minutes=15)
        await sweep(bench)
        bench.policy.version = "v2"
        result = await bench.runner.ask_again(old.id, DEV)
        assert (result.how, result.run_id) == ("asked", run)
        again = next(each for each in await bench.open(run) if each.kind == "approval")
        assert again.id == result.interrupt != old.id
        assert (again.policy, again.expires_at) == ("v2", at(minutes=30))
        assert (await query(bench, "post", f"card/{again.id}"))[0][4] == "card"
        assert await bench.store.next_due() == at(minutes=20)
        # Twice is once.
        assert (await bench.runner.ask_again(old.id, DEV)).interrupt == again.id
        await bench.decide(again, Approve(), ANN)
        question = await bench.only(run)
        await bench.decide(question, Reject(), DEV)
        assert marks(target) == ["x"]
        # The agent never heard of the timeout.
        assert sorted(status for status, _ in await bench.results(run)) == ["declined", "ok"]


async def test_what_the_policy_forbids_by_now_is_not_asked_again(tmp_path: Path) -> None:
    turn = calls(
        tool_call("mark", {"path": "p"}, id="c1"), tool_call("ask_somebody", {"question": "?"}, id="c2")
    )
    async with desk(tmp_path / "a.db", [turn]) as bench:
        run = await bench.ask()
        old = next(each for each in await bench.open(run) if each.kind == "approval")
        bench.clock.pass_(minutes=15)
        await sweep(bench)
        bench.policy.verdicts["mark"] = "deny"
        with pytest.raises(InvalidAnswer, match="forbids it now"):
            await bench.runner.ask_again(old.id, DEV)
        assert len(await bench.open(run)) == 1


async def test_what_the_policy_lets_run_by_now_is_still_asked_of_the_same_people(tmp_path: Path) -> None:
    turn = calls(
        tool_call("mark", {"path": "p"}, id="c1"), tool_call("ask_somebody", {"question": "?"}, id="c2")
    )
    async with desk(tmp_path / "a.db", [turn], terms=ladder(escalate=None)) as bench:
        run = await bench.ask()
        old = next(each for each in await bench.open(run) if each.kind == "approval")
        bench.clock.pass_(minutes=15)
        await sweep(bench)
        bench.policy.verdicts["mark"] = "allow"
        result = await bench.runner.ask_again(old.id, ANN)
        again = next(each for each in await bench.open(run) if each.id == result.interrupt)
        assert (again.approvers, again.on_timeout) == (old.approvers, old.on_timeout)


async def test_a_question_of_a_tool_is_asked_again_as_it_was(tmp_path: Path) -> None:
    turn = calls(
        tool_call("mark", {"path": "p"}, id="c1"), tool_call("ask_somebody", {"question": "?"}, id="c2")
    )
    terms = ladder(expires=300, remind=(), escalate=None)
    async with desk(tmp_path / "a.db", [turn], terms=terms) as bench:
        run = await bench.ask()
        question = next(each for each in await bench.open(run) if each.kind == "input")
        # Its time is over before that of its sibling.
        soon = micros(at(minutes=1))
        await query(bench, "renew_interrupt", question.id, soon)
        await query(bench, "put_timer", question.id, "expire", 0, soon, None)
        bench.clock.pass_(minutes=1)
        await sweep(bench)
        result = await bench.runner.ask_again(question.id, DEV)
        again = next(each for each in await bench.open(run) if each.id == result.interrupt)
        assert (again.reason, again.kind, again.opened_at) == ("?", "input", bench.clock.now)
        assert again.expires_at == at(minutes=2)


async def test_of_two_who_ask_again_at_once_one_opens_the_question(tmp_path: Path) -> None:
    turn = calls(
        tool_call("mark", {"path": "p"}, id="c1"), tool_call("ask_somebody", {"question": "?"}, id="c2")
    )
    async with desk(tmp_path / "a.db", [turn]) as bench:
        run = await bench.ask()
        old = next(each for each in await bench.open(run) if each.kind == "approval")
        bench.clock.pass_(minutes=15)
        await sweep(bench)
        asked = await bench.store.asked(old.id)
        assert asked is not None
        one, two = (replace(old, id=InterruptId(f"{old.id}{letter}")) for letter in "ab")
        assert await bench.store.ask_again(asked, one, (), ())
        assert not await bench.store.ask_again(asked, two, (), ())
        assert two.id not in {each.id for each in await bench.open(run)}


async def test_asking_again_tells_a_run_that_has_gone_on(tmp_path: Path) -> None:
    model = ScriptedModel([MARK, call("ask_somebody", {"question": "Else?"}), MARK, say("ok")])
    async with desk(tmp_path / "a.db", model) as bench:
        run = await bench.ask()
        old = await bench.only(run)
        bench.clock.pass_(minutes=15)
        await sweep(bench)
        assert (await bench.runner.ask_again(old.id, DEV)).how == "noted"
        await bench.decide(await bench.only(run), Reject(), DEV)
        # The agent was told, proposed it again, and people are asked again.
        told = [item.text for item in await bench.items(run) if isinstance(item, UserText)]
        assert "dev still wants it" in told[-1]
        again = await bench.only(run)
        assert (again.kind, again.id != old.id) == ("approval", True)


async def test_asking_again_after_the_end_starts_one_run_from_the_same_conversation(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    one = call("mark", {"path": str(target)})
    model = ScriptedModel([one, one, say("done")])
    async with desk(tmp_path / "a.db", model, terms=ladder(on_timeout="cancel_run")) as bench:
        run = await bench.ask("clean up")
        old = await bench.only(run)
        bench.clock.pass_(minutes=15)
        await sweep(bench)
        assert (await bench.head(run)).state == "cancelled"
        first = await bench.runner.ask_again(old.id, DEV)
        second = await bench.runner.ask_again(old.id, ANN)
        assert (first.how, first.run_id) == (second.how, second.run_id) == ("new_run", first.run_id)
        await bench.supervisor.idle()
        head = await bench.head(first.run_id)
        assert (head.base is not None, head.requester) == (True, DEV.id)
        assert isinstance((await bench.items(first.run_id))[1], ModelTurn)
        assert marks(target) == []
        await bench.decide(await bench.only(first.run_id), Approve(), ANN)
        assert marks(target) == ["x"]


async def test_a_clarification_nobody_answered_is_asked_again_with_the_request_itself(tmp_path: Path) -> None:
    async with scoped(tmp_path, [], Assessor(Says(TOUCHING, TOUCHING))) as bench:
        bench.thread = SLACK
        run = await bench.ask("clean up old test files")
        old = await bench.only(run)
        bench.clock.pass_(minutes=16)
        await sweep(bench)
        (notice,) = await posts(bench, "expiry")
        assert (notice["ask"], notice["ending"], notice["may_ask_again"]) == (
            "clarification",
            "run_stopped",
            True,
        )
        again = await bench.runner.ask_again(old.id, DEV)
        await bench.supervisor.idle()
        assert (again.how, (await bench.only(again.run_id)).kind) == ("new_run", "clarification")
        (first,) = await bench.items(again.run_id)
        assert first == UserText(author=DEV.id, text="clean up old test files")


async def test_only_an_expired_question_and_only_by_those_it_concerns(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [MARK, say("ok")], terms=ladder(escalate=None)) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        with pytest.raises(InvalidAnswer, match="Only a question that expired"):
            await bench.runner.ask_again(question.id, DEV)
        bench.clock.pass_(minutes=15)
        await sweep(bench)
        with pytest.raises(NotAllowed):
            await bench.runner.ask_again(question.id, EVE)


async def test_an_expiry_reaches_a_run_whose_other_calls_are_still_under_way(tmp_path: Path) -> None:
    GATES["slow"] = asyncio.Event()
    turn = calls(tool_call("mark", {"path": "p"}, id="c1"), tool_call("hold", {"what": "slow"}, id="c2"))
    async with desk(tmp_path / "a.db", [turn], terms=ladder(on_timeout="cancel_run")) as bench:
        bench.policy.verdicts["hold"] = "allow"
        run = await _start(bench)
        bench.clock.pass_(minutes=15)
        await bench.runner.sweep()
        await bench.supervisor.settled(run)
        assert (await bench.head(run)).state == "cancelled"


async def _start(bench: Lab) -> RunId:
    run = await bench.runner.ask(Request(thread=bench.thread, requester=DEV.id, text="go", agent=bench.agent))
    await bench.front.until(CallStarted)
    return run
