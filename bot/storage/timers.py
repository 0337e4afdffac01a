"""The transactions of time: firing due timers, snoozing, asking again, what waits. The pattern is `transactions`'."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from bot.domain.audit import AuditFact
from bot.domain.decision import Expired, Withdrawn
from bot.domain.errors import Corrupt
from bot.domain.ids import InterruptId, RunId, UserId
from bot.domain.interrupt import Asked, Interrupt
from bot.engine.expiry import Fired, fire
from bot.engine.ports import Post
from bot.engine.timers import Snoozed, Swept, Timer, TimerKind, TimeRules
from bot.engine.waiting import Waiting
from bot.storage import transactions as tx
from bot.storage.codec import ESCALATED, OUTCOME, micros, moment
from bot.storage.transactions import Row, Transaction

_STOPPED = "another question of the same step was not answered in time, and the run is stopped"


def fire_due(now: datetime, rules: TimeRules, limit: int) -> Transaction[Swept]:
    """Fire up to `limit` due timers, the most overdue first."""
    rows = yield "due_timers", (micros(now), limit)
    swept = yield from _fire_all(rows, now, rules)
    return replace(swept, next_due=(yield from next_due()))


def fire_overdue(interrupt_id: InterruptId, now: datetime, rules: TimeRules) -> Transaction[Swept]:
    """Fire the due timers of one interrupt: somebody clicked before the sweep came by."""
    rows = yield "due_timers_of", (micros(now), interrupt_id)
    return (yield from _fire_all(rows, now, rules))


def next_due() -> Transaction[datetime | None]:
    rows = yield "next_timer", ()
    return moment(rows[0][0]) if rows and rows[0][0] is not None else None


def _fire_all(rows: Sequence[Row], now: datetime, rules: TimeRules) -> Transaction[Swept]:
    firing = _Firing(now, rules)
    for interrupt_id, kind, ordinal, due, who, run_id in rows:
        timer = Timer(
            interrupt_id=InterruptId(interrupt_id),
            kind=kind,
            ordinal=ordinal,
            due_at=moment(due),
            who=UserId(who) if who else None,
        )
        yield from firing.one(timer, RunId(run_id or ""))
    # Recorded at once: one look at the end of the chain for all of them.
    yield from tx.record(firing.facts)
    return firing.swept()


class _Firing:
    """One transaction's worth of due timers."""

    def __init__(self, now: datetime, rules: TimeRules) -> None:
        self._now = now
        self._at = micros(now)
        self._rules = rules
        self.facts: list[AuditFact] = []
        self._fired: Counter[TimerKind] = Counter()
        self._expired = 0
        self._ready: list[RunId] = []
        self._changed: list[RunId] = []

    def swept(self) -> Swept:
        return Swept(
            fired=dict(self._fired),
            expired=self._expired,
            ready=tuple(self._ready),
            changed=tuple(self._changed),
        )

    def one(self, timer: Timer, run_id: RunId) -> Transaction[None]:
        # The run first and then its rows, as everywhere: two transactions that want the same cannot deadlock.
        run = yield "lock_run", (run_id,)
        took = yield "take_timer", (timer.interrupt_id, timer.kind, timer.ordinal, micros(timer.due_at))
        if not took or not run:
            return
        try:
            asked = yield from tx.asked(timer.interrupt_id)
            head = tx.head_of(run[0])
        except Corrupt as problem:
            yield from self._set_aside(run_id, problem)
            return
        if asked is None or asked.outcome is not None:
            return
        siblings: tuple[InterruptId, ...] = ()
        if timer.kind == "expire":
            rows = yield "open_siblings", (run_id, timer.interrupt_id)
            siblings = tuple(InterruptId(row[0]) for row in rows)
        fired = fire(timer, asked, head, self._now, self._rules, siblings=siblings)
        yield from self._write(timer, asked, fired)

    def _write(self, timer: Timer, asked: Asked, fired: Fired) -> Transaction[None]:
        if fired.deferred is not None:
            yield from _arm(fired.deferred)
            return
        self._fired[timer.kind] += 1
        self.facts.extend(fired.facts)
        interrupt_id = asked.interrupt.id
        if fired.renewed is not None:
            yield "renew_interrupt", (interrupt_id, micros(fired.renewed))
            yield from _arm(replace(timer, due_at=fired.renewed))
        if fired.escalated is not None:
            joined = ESCALATED.write((*asked.escalated_to, fired.escalated))
            yield "escalate_interrupt", (interrupt_id, joined)
        if fired.outcome is not None:
            yield from self._expire(asked.interrupt, fired.outcome)
        if fired.renewed or fired.escalated or fired.outcome:
            yield "touch_known_post", (f"card/{interrupt_id}", self._at)
        yield from tx.touch(fired.posts, self._now)

    def _expire(self, interrupt: Interrupt, outcome: Expired) -> Transaction[None]:
        """By the same compare-and-swap as a click. A stopped run takes its other questions with it."""
        text = OUTCOME.write(outcome)
        # Nothing is left to disarm: the expiry is an interrupt's last timer.
        yield "settle_interrupt", (interrupt.id, self._at, text)
        self._expired += 1
        if outcome.on_timeout == "cancel_run":
            for row in (yield "expire_siblings", (interrupt.run_id, self._at, text)):
                yield "disarm_timers", (row[0],)
                yield "touch_known_post", (f"card/{row[0]}", self._at)
                self._expired += 1
                body = {"id": row[0], "on_timeout": "cancel_run", "with": interrupt.id}
                self.facts.append(AuditFact(kind="timeout", at=self._now, run_id=interrupt.run_id, body=body))
            yield from tx.withdraw_open(interrupt.run_id, Withdrawn(at=self._now, why=_STOPPED))
        woken = yield "wake_run", (interrupt.run_id, self._at)
        (self._ready if woken else self._changed).append(interrupt.run_id)

    def _set_aside(self, run_id: RunId, problem: Corrupt) -> Transaction[None]:
        """One row that does not decode must not keep all others from being looked at."""
        yield "quarantine_run", (run_id, self._at)
        yield "quarantine_row", ("timer", run_id, self._at, f"{problem.name}: {problem.why}")
        yield from tx.withdraw_open(run_id, Withdrawn(at=self._now, why="the run cannot be read"))
        # Whoever tries to go on with it tells the thread why that is not possible.
        self._ready.append(run_id)


def _arm(timer: Timer) -> Transaction[None]:
    yield (
        "put_timer",
        (timer.interrupt_id, timer.kind, timer.ordinal, micros(timer.due_at), timer.who),
    )


# ── People and time ──────────────────────────────────────────────────────────────────────────────────────


def snooze(interrupt: Interrupt, who: UserId, snoozed: Snoozed, fact: AuditFact) -> Transaction[Asked | None]:
    """Arm a reminder for one person, and move the expiry if it is to move. None if it is gone."""
    yield "lock_run", (interrupt.run_id,)
    asked = yield from tx.asked(interrupt.id)
    if asked is None or asked.outcome is not None:
        return asked
    # The time is the ordinal: two people may snooze, and the same wish twice is one reminder.
    reminder = micros(snoozed.remind_at)
    yield "put_timer", (interrupt.id, "remind", reminder, reminder, who)
    if snoozed.expires_at > asked.interrupt.expires_at:
        expires = micros(snoozed.expires_at)
        yield "renew_interrupt", (interrupt.id, expires)
        yield "put_timer", (interrupt.id, "expire", 0, expires, None)
        yield "touch_known_post", (f"card/{interrupt.id}", micros(fact.at))
    yield from tx.record((fact,))
    return (yield from tx.asked(interrupt.id))


def ask_again(
    expired: Asked, successor: Interrupt, facts: Sequence[AuditFact], posts: Sequence[Post]
) -> Transaction[bool]:
    """Open `successor` in the place of an expired interrupt, if its run still waits for the others."""
    run = yield "lock_run", (expired.interrupt.run_id,)
    asked = yield from tx.asked(expired.interrupt.id)
    outcome = asked.outcome if asked else None
    if not run or run[0][1] != "waiting" or not isinstance(outcome, Expired) or outcome.replaced_by:
        return False
    after = replace(outcome, replaced_by=successor.id)
    yield "replace_outcome", (expired.interrupt.id, OUTCOME.write(after))
    yield from tx.open_interrupt(successor)
    yield from tx.record(facts)
    yield from tx.touch(posts, successor.opened_at)
    return True


def waiting(limit: int) -> Transaction[tuple[tuple[Waiting, ...], int]]:
    """What waits for people, the next to expire first, and how many wait in all."""
    rows = yield "waiting", (limit,)
    found: list[Waiting] = []
    for *row, front in rows:
        try:
            found.append(Waiting(asked=(yield from tx.asked_from(row)), front=front or ""))
        except Corrupt:
            # Told when its run is claimed or its timer fires; a list of the others is still a list.
            continue
    count = yield "count_open", ()
    return tuple(found), count[0][0]


def claim_mark(name: str, at: datetime, posts: Sequence[Post]) -> Transaction[bool]:
    """Whether this process is the one to do what `name` stands for at `at`; if so, write the posts with it."""
    rows = yield "claim_mark", (name, micros(at))
    if rows:
        yield from tx.touch(posts, at)
    return bool(rows)
