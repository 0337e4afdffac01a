"""What every store promises, on every database."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.domain.audit import GENESIS, AuditFact, chained
from bot.domain.decision import Approve, Decided, Decision, Expired, Reject
from bot.domain.errors import AlreadyResumed, CheckpointNotFound, GrantSpent, IdTaken, LostRace
from bot.domain.grant import Grant
from bot.domain.ids import GrantId, InterruptId, RunId, ThreadId, UserId, WorkerId
from bot.domain.interrupt import Interrupt
from bot.domain.run import AgentSpec, Base, Head, Thread
from bot.domain.transcript import Entry, ModelTurn, TextBlock, UserText
from bot.domain.verdict import Approvers
from bot.engine.ports import CancelRequest, Change, Note
from bot.storage.store import SqlStore

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
ANN, BOB = UserId("ann"), UserId("bob")
ME, OTHER, DEAD = WorkerId("me"), WorkerId("other"), WorkerId("dead-worker")
RUN = RunId("r1")
THREAD = Thread(id=ThreadId("t1"), front="terminal", channel="C1")


def head(run_id: RunId = RUN, **changes: Any) -> Head:
    base = Head(
        run_id=run_id, thread=THREAD, requester=ANN, agent=AgentSpec(model="m"), created_at=NOON, cursor=1
    )
    return replace(base, **changes)


def said(text: str, seq: int = 0) -> Entry:
    return Entry(seq=seq, at=NOON, item=UserText(author=ANN, text=text))


def question(number: int = 1, run_id: RunId = RUN, **changes: Any) -> Interrupt:
    base = Interrupt(
        id=InterruptId(f"{run_id}-{number}"),
        run_id=run_id,
        thread_id=THREAD.id,
        kind="approval",
        reason="It deletes.",
        requester=ANN,
        approvers=Approvers(users=("ann", "bob")),
        opened_at=NOON,
        expires_at=NOON + timedelta(minutes=15),
        verbs=("approve", "reject"),
    )
    return replace(base, **changes)


def fact(**body: object) -> AuditFact:
    return AuditFact(kind="decision", at=NOON, run_id=RUN, body=body)


def approved(by: UserId = ANN) -> Decided:
    return Decided(decision=Decision(answer=Approve(), by=by, at=NOON))


async def created(store: SqlStore, state: str = "ready", **changes: Any) -> Head:
    made = head(state=state, **changes)
    worker = ME if state == "running" else None
    await store.create(Change(head=made, entries=(said("hello"),)), worker=worker, request_key=None)
    return made


async def parked(store: SqlStore, *questions: Interrupt) -> Head:
    """A run that waits for answers."""
    made = await created(store, "running")
    change = Change(head=replace(made, state="waiting"), opened=questions or (question(),))
    await store.commit(change, ME, NOON)
    return made


async def test_a_run_comes_back_as_it_was_stored(store: SqlStore) -> None:
    made = await created(store)
    checkpoint = await store.claim(RUN, ME, NOON)
    assert checkpoint.head == replace(made, state="running", version=1)
    assert checkpoint.transcript == [said("hello")]


async def test_of_many_claims_exactly_one_succeeds(store: SqlStore) -> None:
    await created(store)
    claims = [store.claim(RUN, WorkerId(f"w{number}"), NOON) for number in range(10)]
    outcomes = await asyncio.gather(*claims, return_exceptions=True)
    assert sum(not isinstance(outcome, BaseException) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, AlreadyResumed) for outcome in outcomes) == 9


async def test_an_unknown_run_is_a_checkpoint_not_found(store: SqlStore) -> None:
    with pytest.raises(CheckpointNotFound):
        await store.claim(RunId("nope"), ME, NOON)


async def test_the_same_request_makes_one_run_even_at_the_same_time(store: SqlStore) -> None:
    runs = [RunId(f"r{number}") for number in range(10)]
    changes = [Change(head=head(run), entries=(said("hello"),)) for run in runs]
    made = await asyncio.gather(
        *(store.create(change, worker=None, request_key="C1/7") for change in changes)
    )
    assert len(set(made)) == 1
    assert len(await store.heads()) == 1


async def test_only_the_owner_of_a_run_can_write_it_and_a_lost_write_changes_nothing(store: SqlStore) -> None:
    made = await created(store, "running")
    change = Change(head=replace(made, cursor=2), entries=(said("more", 1),), facts=(fact(),))
    with pytest.raises(LostRace):
        await store.commit(change, OTHER, NOON)
    assert await store.transcript(RUN) == [said("hello")]
    assert await store.audit_of(RUN) == []
    await store.commit(change, ME, NOON)
    with pytest.raises(LostRace):
        await store.commit(change, ME, NOON)


async def test_of_many_answers_exactly_one_wins_and_the_others_learn_who(store: SqlStore) -> None:
    await parked(store)
    voters = [UserId(f"u{number}") for number in range(20)]
    results = await asyncio.gather(
        *(store.settle(question().id, approved(by), [fact(by=by)]) for by in voters)
    )
    winners = [result for result in results if result.won]
    assert len(winners) == 1
    assert {result.asked.outcome for result in results} == {winners[0].asked.outcome}
    assert [result.run_ready for result in winners] == [True]
    assert len(await store.audit_of(RUN)) == 1


async def test_an_answer_and_an_expiry_at_once_have_one_winner(store: SqlStore) -> None:
    await parked(store)
    expired = Expired(at=NOON, on_timeout="deny")
    both = await asyncio.gather(
        store.settle(question().id, approved(), []), store.settle(question().id, expired, [])
    )
    assert sorted(result.won for result in both) == [False, True]


async def test_a_run_becomes_ready_with_its_last_answer_only(store: SqlStore) -> None:
    await parked(store, question(1), question(2))
    first = await store.settle(question(1).id, approved(), [])
    assert (first.won, first.run_ready) == (True, False)
    second = await store.settle(question(2).id, approved(), [], claim_for=ME)
    assert second.run_ready
    assert second.checkpoint is not None
    assert second.checkpoint.head.state == "running"


async def test_parking_after_the_last_answer_leaves_the_run_ready(store: SqlStore) -> None:
    made = await created(store, "running")
    await store.commit(Change(head=made, opened=(question(),)), ME, NOON)
    await store.settle(question().id, approved(), [])
    committed = await store.commit(Change(head=replace(made, state="waiting", version=1)), ME, NOON)
    assert committed.state == "ready"


async def test_a_finished_run_withdraws_what_is_still_open(store: SqlStore) -> None:
    made = await created(store, "running")
    await store.commit(Change(head=made, opened=(question(),)), ME, NOON)
    await store.commit(Change(head=replace(made, state="cancelled", version=1)), ME, NOON)
    asked = await store.asked(question().id)
    assert asked is not None
    assert (asked.status, asked.outcome and asked.outcome.kind) == ("settled", "withdrawn")
    assert await store.open_interrupts() == ()


async def test_votes_are_counted_once_per_person(store: SqlStore) -> None:
    await parked(store, question(quorum=2))
    for by in (ANN, ANN, BOB):
        votes = await store.vote(question().id, Decision(answer=Approve(), by=by, at=NOON), fact(by=by))
    assert [vote.by for vote in votes] == [ANN, BOB]
    await store.settle(question().id, Decided(decision=Decision(answer=Reject(), by=BOB, at=NOON)), [])
    assert await store.vote(question().id, Decision(answer=Approve(), by=ANN, at=NOON), fact()) == ()


async def test_runs_of_dead_workers_are_released_and_others_are_left_alone(store: SqlStore) -> None:
    for number, worker in enumerate((ME, OTHER, DEAD)):
        made = head(RunId(f"r{number}"), state="running")
        await store.create(Change(head=made), worker=worker, request_key=None)
    assert await store.release_orphans(ME, NOON) == (RunId("r2"),)
    assert (await store.head(RunId("r1"))) == head(RunId("r1"), state="running")


async def test_a_released_run_cannot_be_written_by_its_former_owner(store: SqlStore) -> None:
    made = head(state="running")
    await store.create(Change(head=made), worker=DEAD, request_key=None)
    await store.release_orphans(ME, NOON)
    with pytest.raises(LostRace):
        await store.commit(Change(head=made), DEAD, NOON)


async def test_a_cancel_request_makes_a_waiting_run_claimable_and_withdraws_its_questions(
    store: SqlStore,
) -> None:
    await parked(store)
    assert await store.request_cancel(RUN, CancelRequest(by=BOB, reason="enough"), NOON) == "ready"
    assert await store.open_interrupts(RUN) == ()
    checkpoint = await store.claim(RUN, ME, NOON)
    assert checkpoint.cancel == CancelRequest(by=BOB, reason="enough")


async def test_a_running_run_learns_of_a_cancel_request_with_its_next_write(store: SqlStore) -> None:
    made = await created(store, "running")
    await store.request_cancel(RUN, CancelRequest(by=BOB), NOON)
    assert await store.cancels(ME) == {RUN: CancelRequest(by=BOB)}
    assert (await store.commit(Change(head=made), ME, NOON)).cancel == CancelRequest(by=BOB)


async def test_notes_are_kept_in_order_until_they_are_taken(store: SqlStore) -> None:
    made = await created(store, "running")
    for text in ("one", "two"):
        await store.note(RUN, UserText(author=BOB, text=text), NOON)
    notes = await store.notes(RUN)
    assert notes == (
        Note(id=1, item=UserText(author=BOB, text="one"), at=NOON),
        Note(id=2, item=UserText(author=BOB, text="two"), at=NOON),
    )
    committed = await store.commit(Change(head=made), ME, NOON)
    assert committed.noted
    await store.commit(Change(head=replace(made, version=1), notes_taken=(1, 2)), ME, NOON)
    assert await store.notes(RUN) == ()


async def test_a_continued_run_reads_what_came_before_without_copying_it(store: SqlStore) -> None:
    await created(store)
    later = head(RunId("r2"), base=Base(run_id=RUN, cursor=1))
    answer = Entry(seq=0, at=NOON, item=ModelTurn(blocks=(TextBlock(text="hi"),)))
    await store.create(Change(head=later, entries=(answer,)), worker=None, request_key=None)
    assert await store.transcript(RunId("r2")) == [said("hello"), answer]


async def test_the_audit_chain_is_unbroken_under_concurrent_writers(store: SqlStore) -> None:
    await asyncio.gather(*(store.record([fact(n=number), fact(n=-number)]) for number in range(20)))
    previous = GENESIS
    numbers: list[int] = []
    async for record, at, body in store.audit():
        kind, run_id = record.fact.kind, record.fact.run_id
        assert record.hash == chained(previous, seq=record.seq, kind=kind, at_us=at, run_id=run_id, body=body)
        previous = record.hash
        numbers.append(record.seq)
    assert numbers == list(range(1, 41))


def grant(**changes: Any) -> Grant:
    base = Grant(
        id=GrantId("g1"),
        tool="mark",
        constraints={"path": {"eq": "p"}},
        place="channel",
        where="C1",
        granted_by=ANN,
        granted_at=NOON,
        expires_at=NOON + timedelta(hours=1),
        interrupt_id=question().id,
        rules=("careful",),
        policy="v1",
        tool_fingerprint="f",
        max_uses=2,
    )
    return replace(base, **changes)


async def test_a_grant_is_found_where_it_holds_and_used_at_most_so_often(store: SqlStore) -> None:
    made = await parked(store)
    await store.settle(question().id, approved(), [], grant=grant(), claim_for=ME)
    assert await store.grants_for(THREAD, "mark", NOON) == (grant(),)
    assert await store.grants_for(replace(THREAD, channel="C2"), "mark", NOON) == ()
    assert await store.grants_for(THREAD, "other", NOON) == ()
    assert await store.grants_for(THREAD, "mark", NOON + timedelta(hours=1)) == ()
    version = (await store.head(RUN) or made).version
    for use in range(2):
        change = Change(
            head=replace(made, state="running", version=version + use), grants_used=(GrantId("g1"),)
        )
        await store.commit(change, ME, NOON)
    third = replace(made, state="running", version=version + 2)
    change = Change(head=third, grants_used=(GrantId("g1"),))
    with pytest.raises(GrantSpent):
        await store.commit(change, ME, NOON)
    assert await store.grants(NOON) == ()


async def test_a_revoked_grant_holds_no_more(store: SqlStore) -> None:
    await parked(store)
    await store.settle(question().id, approved(), [], grant=grant())
    assert await store.revoke(GrantId("g1"), NOON, fact())
    assert not await store.revoke(GrantId("g1"), NOON, fact())
    assert await store.grants_for(THREAD, "mark", NOON) == ()


async def test_uses_are_counted_within_their_window(store: SqlStore) -> None:
    made = await created(store, "running")
    await store.commit(Change(head=made, uses=("five:prod", "five:prod")), ME, NOON)
    await store.commit(
        Change(head=replace(made, version=1), uses=("five:prod",)), ME, NOON + timedelta(hours=2)
    )
    assert await store.count_uses([("five:prod", NOON - timedelta(hours=1)), ("none", NOON)]) == {
        "five:prod": 3,
        "none": 0,
    }
    assert await store.count_uses([("five:prod", NOON + timedelta(hours=1))]) == {"five:prod": 1}


async def test_runs_are_found_by_the_beginning_of_their_id(store: SqlStore) -> None:
    for name in ("abc", "abd", "xyz"):
        await store.create(Change(head=head(RunId(name))), worker=None, request_key=None)
    assert await store.find("ab") == (RunId("abc"), RunId("abd"))
    assert await store.find("x") == (RunId("xyz"),)
    assert await store.find("%") == ()


async def test_a_taken_id_is_refused_and_the_run_that_has_it_stays_as_it_was(store: SqlStore) -> None:
    await created(store)
    with pytest.raises(IdTaken):
        await store.create(Change(head=head(), entries=(said("other"),)), worker=None, request_key=None)
    assert await store.transcript(RUN) == [said("hello")]
