"""Reminders, escalation and expiry on a virtual clock: what fires, when, in which order, and once."""

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.decision import Approve, Expired, Reject, Withdrawn
from bot.domain.errors import CheckpointNotFound, NotAllowed
from bot.domain.ids import InterruptId, RunId, ThreadId, UserId
from bot.domain.interrupt import Interrupt
from bot.domain.person import Person
from bot.domain.run import Breakpoint, Thread
from bot.domain.transcript import ModelTurn
from bot.domain.verdict import Approvers, Escalation
from bot.engine.timers import timers_of
from bot.llm.scripted import ScriptedModel, call, calls, say, tool_call
from tests.engine.lab import ANN, DEV, EVE, NOON
from tests.engine.tools import marks
from tests.time.desk import desk, ladder, posts, query, sweep, timeline

MARK = call("mark", {"path": "p", "count": 3})


def two() -> ModelTurn:
    return calls(tool_call("mark", {"path": "a"}, id="c1"), tool_call("mark", {"path": "b"}, id="c2"))


async def test_an_interrupt_is_armed_with_all_its_timers_in_the_transaction_that_opens_it(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path / "a.db", [MARK]) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        rows = await query(bench, "due_timers_of", 2**62, question.id)
        assert [(kind, ordinal) for _, kind, ordinal, *_ in rows] == [
            ("remind", 0),
            ("escalate", 0),
            ("expire", 0),
        ]
        assert await bench.store.next_due() == NOON + timedelta(minutes=5)


async def test_a_question_without_reminders_expires_all_the_same(tmp_path: Path) -> None:
    script = [call("ask_somebody", {"question": "Which?"}), say("I go on without it")]
    async with desk(tmp_path / "a.db", script, patience=timedelta(hours=2)) as bench:
        run = await bench.ask()
        assert await bench.store.next_due() == NOON + timedelta(hours=2)
        bench.clock.pass_(hours=2)
        await sweep(bench)
        ((status, text),) = await bench.results(run)
        assert (status, (await bench.head(run)).state) == ("timed_out", "done")
        assert text.startswith("No answer: nobody answered the question in time.")
        (notice,) = await posts(bench, "expiry")
        assert (notice["ask"], notice["reason"], notice["ending"]) == ("input", "Which?", "denied")
        assert (notice["not_done"], notice["tool"]) == (None, "")


async def test_a_review_expires_likewise_and_ends_the_run(tmp_path: Path) -> None:
    before = Breakpoint(when="before", step="model", reason="Look first.")
    async with desk(tmp_path / "a.db", patience=timedelta(hours=2)) as bench:
        run = await bench.ask(breakpoints=(before,))
        bench.clock.pass_(hours=2)
        await sweep(bench)
        assert (await bench.head(run)).state == "cancelled"
        (notice,) = await posts(bench, "expiry")
        assert (notice["ask"], notice["reason"], notice["ending"]) == ("review", "Look first.", "run_stopped")
        assert notice["approvers"] == [{"label": "requester", "users": ["dev"], "groups": []}]


async def test_nothing_fires_before_it_is_due(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [MARK]) as bench:
        run = await bench.ask()
        bench.clock.pass_(minutes=4, seconds=59)
        swept = await sweep(bench)
        assert (dict(swept.fired), swept.next_due) == ({}, NOON + timedelta(minutes=5))
        assert await timeline(bench, run) == []


async def test_a_reminder_mentions_those_who_can_decide_and_changes_nothing_else(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [MARK]) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        bench.clock.pass_(minutes=5)
        swept = await sweep(bench)
        assert swept.next_due == NOON + timedelta(minutes=10)
        assert await posts(bench) == [
            {
                "key": f"reminder/{question.id}/0",
                "kind": "reminder",
                "interrupt": question.id,
                "run": run,
                "thread": "C1/1.0",
                "channel": "C1",
                "ask": "approval",
                "reason": "It changes something.",
                "tool": "mark",
                "summary": "3 lines",
                "requester": "dev",
                "approvers": [{"label": "oncall", "users": ["ann"], "groups": ["S-oncall"]}],
                "mention": ["ann", "S-oncall"],
                "text": "This waits for you since 12:00 UTC and expires at 12:15 UTC.",
                "opened_at": "2026-11-18T12:00:00Z",
                "expires_at": "2026-11-18T12:15:00Z",
                "snoozed_by": "",
                "late": False,
            }
        ]
        assert await timeline(bench, run) == [("reminder", False)]
        assert (await bench.only(run)).id == question.id


async def test_escalation_adds_the_next_group_on_the_card_and_by_mention_and_is_recorded(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path / "a.db", [MARK, say("ok")]) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        with pytest.raises(NotAllowed):
            await bench.runner.decide(question.id, Reject(), EVE)
        bench.clock.pass_(minutes=10)
        card = (await query(bench, "post", f"card/{question.id}"))[0][7]
        await sweep(bench)
        (escalation,) = await posts(bench, "escalation")
        assert escalation["mention"] == ["eve", "S-storage"]
        assert escalation["joined"] == [{"label": "storage", "users": ["eve"], "groups": ["S-storage"]}]
        assert escalation["text"] == "No answer from oncall in 10 minutes; storage can decide now, too."
        assert [each["label"] for each in escalation["approvers"]] == ["oncall", "storage"]
        assert [each["label"] for each in escalation["silent"]] == ["oncall"]
        assert escalation["waited_seconds"] == 600
        (asked,) = await bench.asked(run)
        assert [each.label for each in asked.escalated_to] == ["storage"]
        assert (await query(bench, "post", f"card/{question.id}"))[0][7] == card + 1
        assert ("escalation", False) in await timeline(bench, run)
        # A member of the group that joined can decide now.
        carol = Person(id=UserId("carol"), groups=frozenset({"S-storage"}))
        await bench.decide(question, Reject(reason="no"), carol)
        assert (await bench.head(run)).state == "done"


async def test_an_answer_disarms_what_has_not_fired(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [MARK, say("ok")]) as bench:
        run = await bench.ask()
        await bench.decide(await bench.only(run), Reject())
        assert await bench.store.next_due() is None
        bench.clock.pass_(days=1)
        assert dict((await sweep(bench)).fired) == {}


async def test_expiry_with_deny_tells_the_agent_that_time_ran_out_and_the_run_goes_on(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [MARK, say("Then not.")], terms=ladder(remind=())) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        bench.clock.pass_(minutes=15)
        swept = await sweep(bench)
        assert (swept.expired, swept.next_due) == (1, None)
        ((status, text),) = await bench.results(run)
        assert status == "timed_out"
        assert "This is not a rejection" in text
        assert "declined" not in text
        assert (await bench.head(run)).state == "done"
        (notice,) = await posts(bench, "expiry")
        assert notice["mention"] == ["dev"]
        assert notice["text"] == (
            "Nobody decided in time, so I did not run mark. The agent goes on without it."
        )
        assert notice["not_done"] == {"tool": "mark", "args": {"path": "p", "count": 3}}
        assert (notice["ending"], notice["may_ask_again"], notice["late"]) == ("denied", True, False)
        assert notice["expired_at"] == notice["noticed_at"] == "2026-11-18T12:15:00Z"
        (asked,) = await bench.asked(run)
        assert asked.outcome == Expired(at=NOON + timedelta(minutes=15), on_timeout="deny")
        assert (await query(bench, "post", f"card/{question.id}"))[0][7] > 1
        assert marks(tmp_path / "p") == []


async def test_expiry_with_cancel_run_stops_the_run_and_takes_its_siblings_with_it(tmp_path: Path) -> None:
    async with desk(
        tmp_path / "a.db", [two()], terms=ladder(on_timeout="cancel_run", remind=(), escalate=None)
    ) as bench:
        run = await bench.ask()
        first, second = await bench.open(run)
        bench.clock.pass_(minutes=15)
        await sweep(bench)
        assert (await bench.head(run)).state == "cancelled"
        (notice,) = await posts(bench, "expiry")
        assert (notice["ending"], notice["also_ended"]) == ("run_stopped", [second.id])
        outcomes = [asked.outcome for asked in await bench.asked(run)]
        assert outcomes == [Expired(at=NOON + timedelta(minutes=15), on_timeout="cancel_run")] * 2
        assert first.id == notice["interrupt"]
        assert await timeline(bench, run) == [("timeout", False), ("timeout", False)]
        assert await bench.store.next_due() is None


async def test_a_sibling_that_could_still_be_answered_is_withdrawn_when_the_run_is_stopped(
    tmp_path: Path,
) -> None:
    short = ladder(on_timeout="cancel_run", expires=5, remind=(), escalate=None)
    turn = calls(
        tool_call("mark", {"path": "a"}, id="c1"), tool_call("ask_somebody", {"question": "?"}, id="c2")
    )
    async with desk(tmp_path / "a.db", [turn], terms=short) as bench:
        run = await bench.ask()
        assert len(await bench.open(run)) == 2
        bench.clock.pass_(minutes=5)
        await sweep(bench)
        assert (await bench.head(run)).state == "cancelled"
        outcomes = {asked.interrupt.kind: asked.outcome for asked in await bench.asked(run)}
        assert isinstance(outcomes["approval"], Expired)
        assert isinstance(outcomes["input"], Withdrawn)


async def test_with_deny_the_siblings_stay_open_and_partial_answers_are_kept(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    turn = calls(
        tool_call("mark", {"path": str(target)}, id="c1"),
        tool_call("ask_somebody", {"question": "Which?"}, id="c2"),
    )
    async with desk(tmp_path / "a.db", [turn, say("ok")], terms=ladder(expires=5)) as bench:
        run = await bench.ask()
        bench.clock.pass_(minutes=5)
        await sweep(bench)
        assert (await bench.head(run)).state == "waiting"
        question = await bench.only(run)
        await bench.decide(question, Reject(), DEV)
        assert (await bench.head(run)).state == "done"
        assert sorted(status for status, _ in await bench.results(run)) == ["declined", "timed_out"]
        assert marks(target) == []


async def test_an_approved_sibling_does_not_run_when_another_question_stops_the_run(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    turn = calls(tool_call("mark", {"path": str(target)}, id="c1"), tool_call("mark", {"path": "b"}, id="c2"))
    async with desk(tmp_path / "a.db", [turn], terms=ladder(on_timeout="cancel_run")) as bench:
        run = await bench.ask()
        first, _second = await bench.open(run)
        await bench.decide(first, Approve())
        bench.clock.pass_(minutes=15)
        await sweep(bench)
        assert (await bench.head(run)).state == "cancelled"
        assert marks(target) == []


async def test_keep_waiting_renews_once_until_the_patience_ends_and_can_be_answered(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    script = [call("mark", {"path": str(target)}), say("done")]
    terms = ladder(on_timeout="keep_waiting", remind=(), escalate=None)
    async with desk(tmp_path / "a.db", script, terms=terms, patience=timedelta(hours=3)) as bench:
        run = await bench.ask()
        bench.clock.pass_(minutes=15)
        swept = await sweep(bench)
        assert (swept.expired, swept.next_due) == (0, NOON + timedelta(hours=3))
        question = await bench.only(run)
        assert question.expires_at == NOON + timedelta(hours=3)
        (notice,) = await posts(bench, "expiry")
        assert (notice["ending"], notice["until"]) == ("keeps_waiting", "2026-11-18T15:00:00Z")
        assert (notice["may_ask_again"], notice["not_done"]) == (False, None)
        assert notice["text"] == "Nobody has decided yet. This can still be answered until 15:00 UTC."
        bench.clock.pass_(hours=2)
        await bench.decide(question, Approve(), ANN)
        assert marks(target) == ["x"]


async def test_keep_waiting_ends_with_the_patience_and_stops_the_run(tmp_path: Path) -> None:
    terms = ladder(on_timeout="keep_waiting", remind=(), escalate=None)
    async with desk(tmp_path / "a.db", [MARK], terms=terms, patience=timedelta(hours=3)) as bench:
        run = await bench.ask()
        bench.clock.pass_(minutes=15)
        await sweep(bench)
        bench.clock.pass_(hours=3)
        await sweep(bench)
        assert (await bench.head(run)).state == "cancelled"
        assert [notice["ending"] for notice in await posts(bench, "expiry")] == [
            "keeps_waiting",
            "run_stopped",
        ]
        assert await bench.store.next_due() is None


async def test_a_click_between_the_expiry_and_the_sweep_counts_if_the_question_keeps_waiting(
    tmp_path: Path,
) -> None:
    target = tmp_path / "marks"
    script = [call("mark", {"path": str(target)}), say("done")]
    async with desk(tmp_path / "a.db", script, terms=ladder(on_timeout="keep_waiting")) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        bench.clock.pass_(minutes=20)
        await bench.decide(question, Approve(), ANN)
        assert marks(target) == ["x"]


async def test_what_became_due_while_nothing_ran_fires_once_in_order_marked_late(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [MARK], terms=ladder(remind=(5, 8))) as bench:
        run = await bench.ask()
        question = await bench.only(run)
    async with desk(tmp_path / "a.db", [say("ok")], worker="second") as bench:
        bench.clock.now = NOON + timedelta(minutes=12)
        await sweep(bench)
        assert await timeline(bench, run) == [("reminder", True), ("reminder", True), ("escalation", True)]
        kinds = [(post["kind"], post["late"]) for post in await posts(bench)]
        assert sorted(kinds) == [("escalation", True), ("reminder", True), ("reminder", True)]
        bench.clock.now = NOON + timedelta(hours=6)
        await sweep(bench)
        assert (await timeline(bench, run))[3:] == [("timeout", True)]
        (notice,) = await posts(bench, "expiry")
        assert (notice["late"], notice["expired_at"], notice["noticed_at"]) == (
            True,
            "2026-11-18T12:15:00Z",
            "2026-11-18T18:00:00Z",
        )
        assert dict((await sweep(bench)).fired) == {}
        # People are told when its time was over, not when that was noticed.
        with pytest.raises(CheckpointNotFound, match="it expired at 2026-11-18 12:15 UTC, nothing was run"):
            await bench.runner.decide(question.id, Approve(), ANN)


async def test_nobody_is_pinged_about_a_question_that_is_over_when_the_machine_wakes(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [MARK, say("ok")]) as bench:
        run = await bench.ask()
        bench.clock.pass_(hours=9)
        await sweep(bench)
        assert await timeline(bench, run) == [("reminder", True), ("escalation", True), ("timeout", True)]
        assert [post["kind"] for post in await posts(bench)] == ["expiry"]


async def test_a_clock_that_jumps_back_fires_nothing_twice(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", [MARK]) as bench:
        run = await bench.ask()
        bench.clock.pass_(minutes=5)
        await sweep(bench)
        bench.clock.pass_(minutes=-30)
        assert dict((await sweep(bench)).fired) == {}
        bench.clock.pass_(minutes=31)
        await sweep(bench)
        assert await timeline(bench, run) == [("reminder", False)]


async def test_a_front_that_keeps_no_messages_gets_no_posts_but_the_same_timers(tmp_path: Path) -> None:
    terminal = Thread(id=ThreadId("t"), front="terminal")
    async with desk(tmp_path / "a.db", [MARK, say("ok")], thread=terminal) as bench:
        run = await bench.ask()
        for _ in range(3):
            bench.clock.pass_(minutes=5)
            await sweep(bench)
        assert [kind for kind, _ in await timeline(bench, run)] == ["reminder", "escalation", "timeout"]
        assert await query(bench, "due_posts", "terminal", 2**62, 10) == []


async def test_a_click_after_the_expiry_gets_an_answer_and_the_run_goes_on_without_any_sweep(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path / "a.db", [MARK, say("ok")]) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        bench.clock.pass_(minutes=15)
        with pytest.raises(CheckpointNotFound, match="it expired at 2026-11-18 12:15 UTC, nothing was run"):
            await bench.runner.decide(question.id, Approve(), ANN)
        await bench.supervisor.settled(run)
        assert (await bench.head(run)).state == "done"
        assert len(await posts(bench, "expiry")) == 1
        assert (await sweep(bench)).expired == 0


async def test_one_row_that_does_not_decode_does_not_stop_the_sweep(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.db", ScriptedModel([MARK, MARK, say("ok")])) as bench:
        broken, fine = await bench.ask(), await bench.ask()
        bad = (await bench.only(broken)).id
        await query(bench, "escalate_interrupt", bad, "no JSON")
        bench.clock.pass_(minutes=15)
        await sweep(bench)
        assert ((await bench.head(fine)).state, (await bench.head(broken)).state) == ("done", "quarantined")
        assert await bench.store.next_due() is None


minutes = st.integers(1, 100).map(lambda number: timedelta(minutes=number))


@given(
    remind=st.lists(minutes, max_size=5),
    escalate=st.none() | minutes,
    expires=minutes,
)
def test_timers_come_in_order_none_after_the_expiry_which_is_always_there(
    remind: list[timedelta], escalate: timedelta | None, expires: timedelta
) -> None:
    everybody = Approvers(users=("ann",))
    interrupt = Interrupt(
        id=InterruptId("i"),
        run_id=RunId("r"),
        thread_id=ThreadId("t"),
        kind="approval",
        reason="",
        requester=UserId("dev"),
        approvers=everybody,
        opened_at=NOON,
        expires_at=NOON + expires,
        verbs=("approve",),
        remind_at=tuple(NOON + after for after in remind),
        escalate=Escalation(after=escalate, to=everybody) if escalate else None,
    )
    timers = timers_of(interrupt)
    dues = [timer.due_at for timer in timers]
    assert dues == sorted(dues)
    assert [timer.kind for timer in timers].index("expire") == len(timers) - 1
    assert len({(timer.kind, timer.ordinal) for timer in timers}) == len(timers)
    assert sum(timer.kind == "remind" for timer in timers) == sum(after < expires for after in remind)
