"""What the Slack front asks of every database: one writer per message, each delivery once."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from bot.domain.ids import InterruptId, WorkerId
from bot.domain.tool import ToolResult
from bot.domain.transcript import Entry
from bot.engine.ports import Change, Delivered, Post
from bot.storage.store import SqlStore
from tests.contract.test_store import ANN, ME, NOON, RUN, THREAD, approved, fact, parked, question

SLACK = replace(THREAD, front="slack", keeps_messages=True)
CARD = Post(key="card/r1-1", thread=SLACK, run_id=RUN, kind="card", subject="r1-1")
LEASE = timedelta(seconds=60)
YOU = WorkerId("you")
CLICK = Delivered(id="event/1", kind="event", body={"text": "ä\u202e"})


async def _take(store: SqlStore, worker: WorkerId = ME, later: timedelta = timedelta()) -> list[str]:
    now = NOON + later
    taken = await store.take_posts("slack", worker, now, until=now + LEASE, limit=10)
    return [due.key for due in taken]


async def test_of_many_takers_one_gets_the_post_until_it_lets_go(store: SqlStore) -> None:
    await store.want_posts([CARD], NOON)
    takers = [_take(store, WorkerId(f"w{number}")) for number in range(10)]
    assert sum(len(taken) for taken in await asyncio.gather(*takers)) == 1
    # A change meanwhile does not let a second writer in.
    await store.want_posts([CARD], NOON)
    assert await _take(store, YOU) == []
    await store.post_shown(CARD.key, 1, "C1/1.0")
    assert await _take(store, YOU) == [CARD.key]
    await store.post_shown(CARD.key, 2, "C1/1.0")
    assert await store.next_post("slack") is None
    assert await _take(store) == []


async def test_an_attempt_without_an_answer_leaves_the_next_in_doubt(store: SqlStore) -> None:
    await store.want_posts([CARD], NOON)
    (first,) = await store.take_posts("slack", ME, NOON, until=NOON + LEASE, limit=10)
    assert (first.maybe_sent, first.ref, first.revision) == (False, None, 1)
    await store.post_failed(CARD.key, NOON + LEASE, was_sent=True)
    assert await store.next_post("slack") == NOON + LEASE
    assert await _take(store, YOU) == []
    (second,) = await store.take_posts("slack", YOU, NOON + LEASE, until=NOON + 2 * LEASE, limit=10)
    assert second.maybe_sent
    # … and one that surely did not arrive does not.
    await store.post_failed(CARD.key, NOON + LEASE, was_sent=False)
    (third,) = await store.take_posts("slack", YOU, NOON + LEASE, until=NOON + 2 * LEASE, limit=10)
    assert not third.maybe_sent


async def test_a_dead_takers_posts_are_free_at_once_and_in_doubt(store: SqlStore) -> None:
    await store.want_posts([CARD], NOON)
    assert await _take(store, WorkerId("dead-1")) == [CARD.key]
    assert await _take(store) == []
    await store.free_posts(ME, NOON)
    (due,) = await store.take_posts("slack", ME, NOON, until=NOON + LEASE, limit=10)
    assert due.maybe_sent


async def test_a_lost_message_is_posted_anew_and_a_stream_is_adopted(store: SqlStore) -> None:
    await store.adopt_post(CARD, "C1/9.0")
    assert await store.next_post("slack") is None
    await store.want_posts([CARD], NOON)
    (due,) = await store.take_posts("slack", ME, NOON, until=NOON + LEASE, limit=10)
    assert (due.ref, due.maybe_sent) == ("C1/9.0", False)
    assert await store.post_by_ref("C1/9.0") == (CARD.key, "r1-1", "card")
    await store.post_lost(CARD.key, NOON)
    (again,) = await store.take_posts("slack", ME, NOON, until=NOON + LEASE, limit=10)
    assert (again.ref, again.maybe_sent) == (None, False)


async def test_a_delivery_is_handled_by_one_and_taken_over_from_the_dead_by_one(store: SqlStore) -> None:
    first = await asyncio.gather(*(store.receive(CLICK, WorkerId(f"w{n}"), NOON) for n in range(10)))
    assert sum(first) == 1
    await store.handled([CLICK.id], NOON)
    assert not await store.receive(CLICK, ME, NOON)
    assert await store.left_behind(ME, NOON) == ()

    other = replace(CLICK, id="event/2")
    assert await store.receive(other, WorkerId("dead-2"), NOON)
    assert await store.receive(other, ME, NOON), "it came again, and whoever had it is dead"
    assert not await store.receive(other, ME, NOON)

    third = replace(CLICK, id="event/3")
    assert await store.receive(third, WorkerId("dead-3"), NOON)
    assert await store.left_behind(ME, NOON) == (third,)
    assert await store.left_behind(YOU, NOON) == ()

    await store.handled([other.id, third.id], NOON)
    await store.forget_deliveries(NOON + LEASE)
    assert await store.receive(CLICK, ME, NOON)


async def test_a_card_is_read_in_one_go(store: SqlStore) -> None:
    asked = question(call_id="c1")
    made = await parked(store, asked, question(2))
    facts = await store.card_facts(asked.id)
    assert facts is not None
    assert (facts.asked.interrupt, facts.state) == (asked, "waiting")
    await store.settle(asked.id, approved(), [fact()])
    facts = await store.card_facts(asked.id)
    assert facts is not None
    assert (facts.left, facts.result) == (1, None)
    await store.settle(InterruptId("r1-2"), approved(), [fact()])
    await store.claim(RUN, ME, NOON)
    head = await store.head(RUN)
    assert head is not None
    result = ToolResult(call_id=asked.call_id, status="ok", text="done")  # pyright: ignore[reportArgumentType]
    change = Change(head=head, entries=(Entry(seq=1, at=NOON, item=result),))
    await store.commit(change, ME, NOON)
    facts = await store.card_facts(asked.id)
    assert facts is not None
    assert (facts.left, facts.result, facts.state) == (0, result, "running")
    assert await store.card_facts(InterruptId("none")) is None
    assert [each.run_id for each in await store.runs_of(ANN)] == [made.run_id]
    assert {each.interrupt.id for each in await store.recently_settled()} == {asked.id, "r1-2"}
