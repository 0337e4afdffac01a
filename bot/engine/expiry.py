"""What happens when a timer of an open interrupt is due: remind, escalate, expire. Pure.

The timers are rows, armed in the transaction that opens the interrupt and disarmed in the one that settles it.
A sweep takes each due row and writes what `fire` says, in one transaction: however many processes sweep, and
wherever one dies, each timer has its effect exactly once.

- **remind**: mentions those who can decide. **escalate**: adds the next group. Both wait for business hours.
- **expire**: `deny` tells the agent that time ran out, and the run goes on once its other questions are settled.
  `cancel_run` stops the run and withdraws its other open questions. `keep_waiting` renews the question once,
  until the run's patience ends; then it is `cancel_run`. Every interrupt expires.

What became due while nothing ran (a restart, a machine that slept, a clock that jumped) fires in the order of
the due times, marked late. Nobody is pinged about a question that cannot be answered any more: a reminder found
after the expiry is only recorded.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from bot.domain.audit import AuditFact, AuditKind
from bot.domain.decision import Expired
from bot.domain.ids import InterruptId
from bot.domain.interrupt import Asked, Interrupt
from bot.domain.run import Head
from bot.domain.verdict import Approvers
from bot.engine import notices
from bot.engine.hours import next_open
from bot.engine.notices import ExpiryNotice, Reminder
from bot.engine.ports import Post
from bot.engine.timers import Snoozed, Timer, TimeRules

#: Time to decide that is left, at least, after a reminder somebody asked for.
_TO_DECIDE = timedelta(minutes=15)
_SHORTEST_NOTICE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """What a due timer changes; everything is written together."""

    outcome: Expired | None = None
    #: The question stays open until then instead.
    renewed: datetime | None = None
    escalated: Approvers | None = None
    #: Fires later: people are not at work.
    deferred: Timer | None = None
    facts: tuple[AuditFact, ...] = ()
    posts: tuple[Post, ...] = ()


def fire(
    timer: Timer,
    asked: Asked,
    head: Head,
    now: datetime,
    rules: TimeRules,
    *,
    siblings: tuple[InterruptId, ...] = (),
) -> Fired:
    """Say what `timer`, which is due, changes. `siblings` are the run's other open questions."""
    moment = _Moment(timer=timer, asked=asked, head=head, now=now, rules=rules, siblings=siblings)
    match timer.kind:
        case "remind":
            return _remind(moment)
        case "escalate":
            return _escalate(moment)
        case "expire":
            return _expire(moment)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    timer: Timer
    asked: Asked
    head: Head
    now: datetime
    rules: TimeRules
    siblings: tuple[InterruptId, ...]

    @property
    def interrupt(self) -> Interrupt:
        return self.asked.interrupt

    @property
    def late(self) -> bool:
        return self.now - self.timer.due_at > self.rules.late_after

    @property
    def over(self) -> bool:
        """Whether it cannot be answered any more, although its expiry has not fired yet."""
        return self.now >= self.interrupt.expires_at

    def fact(self, kind: AuditKind, **more: Any) -> AuditFact:
        late = {"late": True, "due": notices.iso(self.timer.due_at)} if self.late else {}
        run_id = self.interrupt.run_id
        return AuditFact(
            kind=kind, at=self.now, run_id=run_id, body={"id": self.interrupt.id, **late, **more}
        )

    def post(
        self, kind: str, notice: Reminder | notices.Escalated | ExpiryNotice, *, again: str = ""
    ) -> tuple[Post, ...]:
        thread = self.head.thread
        if not thread.keeps_messages:
            return ()
        key = f"{kind}/{self.interrupt.id}{again}"
        run_id, subject = self.interrupt.run_id, self.interrupt.id
        return (
            Post(
                key=key, thread=thread, run_id=run_id, kind=kind, subject=subject, body=notices.body(notice)
            ),
        )

    def outside_hours(self, approvers: Approvers) -> Fired | None:
        """If these people are not at work: fire when they are, or never, if it expires before that."""
        opens = next_open(self.now, self.rules.hours_of(approvers))
        if opens == self.now:
            return None
        if opens >= self.interrupt.expires_at:
            kind: AuditKind = "reminder" if self.timer.kind == "remind" else "escalation"
            return Fired(facts=(self.fact(kind, skipped="outside business hours until it expires"),))
        return Fired(deferred=replace(self.timer, due_at=opens))


def _remind(moment: _Moment) -> Fired:
    timer, interrupt = moment.timer, moment.interrupt
    if moment.over:
        return Fired(facts=(moment.fact("reminder", skipped="it was over"),))
    # Whoever said "in an hour" means in an hour.
    deferred = None if timer.who else moment.outside_hours(interrupt.approvers)
    if deferred is not None:
        return deferred
    notice = Reminder(
        about=notices.about(moment.asked),
        mention=(timer.who,) if timer.who else notices.ids(notices.deciders(moment.asked)),
        snoozed_by=timer.who or "",
        late=moment.late,
    )
    who = {"for": timer.who} if timer.who else {}
    return Fired(
        facts=(moment.fact("reminder", **who),),
        posts=moment.post("reminder", notice, again=f"/{timer.ordinal}"),
    )


def _escalate(moment: _Moment) -> Fired:
    interrupt, asked = moment.interrupt, moment.asked
    if interrupt.escalate is None:
        return Fired()
    if moment.over and interrupt.on_timeout != "keep_waiting":
        return Fired(facts=(moment.fact("escalation", skipped="it was over"),))
    to = interrupt.escalate.to
    deferred = moment.outside_hours(to)
    if deferred is not None:
        return deferred
    joined = replace(asked, escalated_to=(*asked.escalated_to, to))
    them = notices.named(interrupt, (to,))
    notice = notices.Escalated(
        about=notices.about(joined),
        mention=notices.ids(them),
        joined=them,
        silent=notices.deciders(asked),
        waited_seconds=int((moment.now - interrupt.opened_at).total_seconds()),
        late=moment.late,
    )
    return Fired(
        escalated=to,
        facts=(moment.fact("escalation", to=to.label or [*to.users, *to.groups]),),
        posts=moment.post("escalation", notice),
    )


def _expire(moment: _Moment) -> Fired:
    interrupt, now = moment.interrupt, moment.now
    until = interrupt.opened_at + moment.head.agent.patience
    if interrupt.on_timeout == "keep_waiting" and now < until and interrupt.expires_at < until:
        notice = _notice(moment, "keeps_waiting", until=until)
        return Fired(
            renewed=until,
            facts=(moment.fact("timeout", on_timeout="keep_waiting", until=notices.iso(until)),),
            posts=moment.post("expiry", notice, again="/renewed"),
        )
    on_timeout = "deny" if interrupt.on_timeout == "deny" else "cancel_run"
    notice = _notice(moment, "denied" if on_timeout == "deny" else "run_stopped")
    return Fired(
        # When its time was over, not when that was noticed: this is what people read on the card.
        outcome=Expired(at=interrupt.expires_at, on_timeout=on_timeout),
        facts=(moment.fact("timeout", on_timeout=on_timeout),),
        posts=moment.post("expiry", notice),
    )


def _notice(moment: _Moment, ending: notices.Ending, *, until: datetime | None = None) -> ExpiryNotice:
    interrupt = moment.interrupt
    planned = interrupt.planned
    return ExpiryNotice(
        about=notices.about(moment.asked, expires_at=until),
        mention=(interrupt.requester,),
        ending=ending,
        not_done={"tool": planned.tool, "args": planned.args} if planned and not until else None,
        expired_at=notices.iso(interrupt.expires_at),
        noticed_at=notices.iso(moment.now),
        until=notices.iso(until) if until else "",
        also_ended=moment.siblings if ending == "run_stopped" else (),
        # A call that may have run is not asked for again with a click.
        may_ask_again=until is None and interrupt.kind != "recovery",
        late=moment.late,
    )


# ── Not now ──────────────────────────────────────────────────────────────────────────────────────────────


def snoozed(interrupt: Interrupt, head: Head, until: datetime, now: datetime) -> Snoozed:
    """Say when to remind somebody who wants it at `until`.

    The expiry bounds it, with a little time left to decide; where the policy lets people extend it, the expiry
    moves instead, but never beyond the run's patience.
    """
    latest = interrupt.opened_at + head.agent.patience
    expires = interrupt.expires_at
    if interrupt.snooze_extends:
        expires = max(expires, min(until + _TO_DECIDE, latest))
    left = expires - now
    last_call = expires - min(_SHORTEST_NOTICE, left / 2)
    return Snoozed(remind_at=max(now, min(until, last_call)), expires_at=expires)
