"""What time asks of every database: the same transactions, on SQLite and PostgreSQL."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from bot.domain.decision import Expired
from bot.domain.ids import RunId, UserId
from bot.domain.interrupt import Interrupt
from bot.domain.run import Base, Thread
from bot.domain.verdict import Approvers, Escalation
from bot.engine.ports import Change, Post
from bot.engine.timers import Snoozed, TimeRules
from bot.storage.store import Database, SqlStore
from bot.storage.transactions import Transaction
from tests.contract.test_store import ME, NOON, RUN, THREAD, created, fact, head, parked, question

RULES = TimeRules()
STORAGE = Approvers(users=("eve",), label="storage")
SLACK = replace(THREAD, front="slack", keeps_messages=True)


def at(minutes: float) -> timedelta:
    return timedelta(minutes=minutes)


def laddered(number: int = 1) -> Interrupt:
    return question(
        number,
        remind_at=(NOON + at(5),),
        escalate=Escalation(after=at(10), to=STORAGE),
        on_timeout="deny",
    )


async def test_the_whole_ladder(store: SqlStore) -> None:
    await parked(store, laddered())
    assert await store.next_due() == NOON + at(5)
    seen: list[tuple[object, object]] = []
    for minutes in (5, 10, 15):
        swept = await store.fire_due(NOON + at(minutes), RULES, limit=10)
        seen.append((dict(swept.fired), swept.next_due))
    assert seen == [
        ({"remind": 1}, NOON + at(10)),
        ({"escalate": 1}, NOON + at(15)),
        ({"expire": 1}, None),
    ]
    asked = await store.asked(laddered().id)
    assert asked is not None
    assert asked.outcome == Expired(at=NOON + at(15), on_timeout="deny")
    assert asked.escalated_to == (STORAGE,)
    kinds = [record.fact.kind for record in await store.audit_of(RUN)]
    assert kinds == ["reminder", "escalation", "timeout"]
    found = await store.head(RUN)
    assert found is not None
    assert found.state == "ready"


async def test_of_many_sweeps_at_once_each_timer_is_fired_by_one(store: SqlStore) -> None:
    await parked(store, *(laddered(number) for number in range(20)))
    sweeps = await asyncio.gather(*(store.fire_due(NOON + at(5), RULES, limit=7) for _ in range(12)))
    assert sum(swept.fired.get("remind", 0) for swept in sweeps) == 20
    assert len(await store.audit_of(RUN)) == 20


async def test_a_renewed_question_has_its_new_expiry_everywhere(store: SqlStore) -> None:
    await parked(store, question(on_timeout="keep_waiting"))
    swept = await store.fire_overdue(question().id, NOON + at(15), RULES)
    assert (dict(swept.fired), swept.expired) == ({"expire": 1}, 0)
    later = NOON + timedelta(hours=24)
    (waiting,), total = await store.waiting()
    (asked,) = await store.open_interrupts(RUN)
    assert (waiting.asked.interrupt.expires_at, total, waiting.front) == (later, 1, "")
    assert asked.interrupt.expires_at == later == await store.next_due()


async def test_a_snooze_arms_one_reminder_for_one_person(store: SqlStore) -> None:
    await parked(store)
    snoozed = Snoozed(remind_at=NOON + at(9), expires_at=NOON + at(30))
    for _ in range(2):
        assert await store.snooze(question(), UserId("bob"), snoozed, fact(snoozed=True)) is not None
    assert await store.next_due() == NOON + at(9)
    swept = await store.fire_due(NOON + at(9), RULES, limit=10)
    assert (dict(swept.fired), swept.next_due) == ({"remind": 1}, NOON + at(30))


async def test_asking_again_opens_a_successor_only_while_the_run_waits(store: SqlStore) -> None:
    await parked(store, question(1, on_timeout="deny"), question(2, expires_at=NOON + at(99)))
    await store.fire_due(NOON + at(15), RULES, limit=10)
    expired = await store.asked(question(1).id)
    assert expired is not None
    again = question(3, opened_at=NOON + at(16), expires_at=NOON + at(40))
    assert await store.ask_again(expired, again, (fact(again=True),), ())
    followed = await store.asked(question(1).id)
    assert followed is not None
    assert followed.outcome == Expired(at=NOON + at(15), on_timeout="deny", replaced_by=again.id)
    assert await store.next_due() == NOON + at(40)
    await store.fire_due(NOON + at(100), RULES, limit=10)
    both = await store.asked(again.id)
    assert both is not None
    assert not await store.ask_again(both, question(4), (), ())


async def test_a_mark_moves_forward_once(store: SqlStore) -> None:
    where = Thread(id=SLACK.id, front="slack", channel="C1", keeps_messages=True)
    post = Post(
        key="digest/1", thread=where, run_id=RunId(""), kind="digest", subject="C1", body={"total": 1}
    )
    did = await asyncio.gather(*(store.claim_mark("digest", NOON, (post,)) for _ in range(5)))
    assert sorted(did) == [False] * 4 + [True]
    assert not await store.claim_mark("digest", NOON - at(1))
    assert await store.claim_mark("digest", NOON + at(1))


async def test_removal(store: SqlStore) -> None:
    await created(store, "done")
    going_on = head(RunId("r2"), state="done", base=Base(run_id=RUN, cursor=1), created_at=NOON + at(60))
    await store.create(Change(head=going_on), worker=None, request_key=None)
    later, now = NOON + at(30), NOON + timedelta(days=100)
    assert await store.removable(later, limit=10) == ()
    exported = await store.export(RUN)
    assert exported is not None
    assert exported["entries"][0]["item"]["text"] == "hello"
    everything = now - timedelta(days=1)
    assert await store.removable(everything, limit=10) == ("r2",)
    assert await store.remove_runs((RUN, RunId("r2")), everything, now) == ("r2",)
    assert await store.removable(everything, limit=10) == (RUN,)
    assert await store.remove_runs((RUN,), everything, now) == (RUN,)
    while await store.remove_leftovers(limit=1):
        pass
    assert await store.head(RUN) is None
    assert await store.export(RUN) is None
    records = [record.fact async for record, _, _ in store.audit()]
    assert [each.body["runs"] for each in records if each.kind == "retention"] == [1, 1]
    while await store.shrink(pages=10):
        pass


async def test_forgetting(store: SqlStore) -> None:
    made = await created(store, "running")
    change = Change(head=replace(made, state="done"), uses=("limit/1", "limit/2"))
    await store.commit(change, ME, NOON)
    for name in ("uses", "grants", "posts"):
        assert await store.forget(name, NOON, limit=10) == 0
    assert await store.forget("uses", NOON + at(1), limit=10) == 2
    assert await store.count_uses([("limit/1", NOON - at(1))]) == {"limit/1": 0}


async def test_a_timer_without_its_interrupt_is_thrown_away(store: SqlStore, database: Database) -> None:
    def orphan() -> Transaction[None]:
        yield "arm_timer", ("gone-1", "remind", 0, 1)

    await database.write(orphan())
    assert dict((await store.fire_due(NOON, RULES, limit=10)).fired) == {}
    assert await store.next_due() is None


async def test_what_is_settled_is_not_snoozed(store: SqlStore) -> None:
    await parked(store, question(on_timeout="deny"))
    await store.fire_due(NOON + at(15), RULES, limit=10)
    snoozed = Snoozed(remind_at=NOON + at(20), expires_at=NOON + at(30))
    after = await store.snooze(question(), UserId("bob"), snoozed, fact(snoozed=True))
    assert after is not None
    assert after.outcome is not None
    assert await store.next_due() is None
