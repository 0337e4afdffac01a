"""The values of time: a timer, what a sweep did, and what the operator set. `expiry` says what they mean."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from bot.domain.ids import InterruptId, RunId, UserId
from bot.domain.interrupt import Interrupt
from bot.domain.verdict import Approvers
from bot.engine.hours import Hours

TimerKind = Literal["remind", "escalate", "expire"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRules:
    """What the operator set about time."""

    #: By the approvers' label in the policy; "*" for everybody else.
    hours: Mapping[str, Hours] = field(default_factory=dict[str, Hours])
    #: More than the slow sweep's interval, so that only real delays count.
    late_after: timedelta = timedelta(seconds=90)

    def hours_of(self, approvers: Approvers) -> Hours | None:
        return self.hours.get(approvers.label) or self.hours.get("*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timer:
    """One row: when something is to happen if nobody answers."""

    interrupt_id: InterruptId
    kind: TimerKind
    ordinal: int
    due_at: datetime
    #: Who wanted to be reminded, if somebody did.
    who: UserId | None = None


def timers_of(interrupt: Interrupt) -> list[Timer]:
    """The timers an interrupt is armed with, the expiry last: whatever would come after it never comes."""
    name, expires = interrupt.id, interrupt.expires_at
    timers = [
        Timer(interrupt_id=name, kind="remind", ordinal=number, due_at=due)
        for number, due in enumerate(sorted(interrupt.remind_at))
    ]
    if interrupt.escalate is not None:
        due = interrupt.opened_at + interrupt.escalate.after
        timers.append(Timer(interrupt_id=name, kind="escalate", ordinal=0, due_at=due))
    timers = sorted((timer for timer in timers if timer.due_at < expires), key=lambda timer: timer.due_at)
    return [*timers, Timer(interrupt_id=name, kind="expire", ordinal=0, due_at=expires)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What a sweep did."""

    #: Timers fired, by kind.
    fired: Mapping[TimerKind, int] = field(default_factory=dict[TimerKind, int])
    expired: int = 0
    #: Runs with no open interrupt left, and runs that should look at their interrupts again.
    ready: tuple[RunId, ...] = ()
    changed: tuple[RunId, ...] = ()
    #: When the next timer is due; None if there is none.
    next_due: datetime | None = None

    def then(self, later: "Swept") -> "Swept":
        kinds: set[TimerKind] = {*self.fired, *later.fired}
        return Swept(
            fired={kind: self.fired.get(kind, 0) + later.fired.get(kind, 0) for kind in kinds},
            expired=self.expired + later.expired,
            ready=self.ready + later.ready,
            changed=self.changed + later.changed,
            next_due=later.next_due,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Snoozed:
    """When somebody is reminded, and when the question expires now."""

    remind_at: datetime
    expires_at: datetime
