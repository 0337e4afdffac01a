"""What time has to say, as facts: the bodies of posts of the kinds reminder, escalation, expiry and digest. Pure.

Fronts render them from the facts. The fields of each class are the body's; every body has two more in common:
`mention`, the ids of the people and user groups to tell, and `text`, plain words for a front that has no rendering
of its own. Times are ISO 8601 in UTC. What people and tools wrote (`reason`, `summary`, `not_done`, and so also
`text`) is to be shown literally.
"""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal, TypeAlias, cast

from bot.domain.canonical import JsonObject
from bot.domain.interrupt import Asked, Interrupt
from bot.domain.verdict import Approvers


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Some approvers: people by id, user groups by id; `label` is how the policy calls them."""

    label: str
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The question itself: the same fields begin each body, and are the items of a digest."""

    interrupt: str
    run: str
    thread: str
    channel: str
    #: approval, clarification, input, review or recovery.
    ask: str
    #: Why it asks, or the question a tool put.
    reason: str
    #: What would run; empty if the question is not about one call.
    tool: str
    #: What was measured ("847 files, 2.3 GB"); empty if nothing was.
    summary: str
    #: User id of whoever asked for the work.
    requester: str
    #: Everybody who can decide now, escalation included.
    approvers: tuple[Named, ...]
    opened_at: str
    expires_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    about: About
    #: Those who can decide; only the one who said "not now", if that is what it is about.
    mention: tuple[str, ...]
    #: Set if this is the reminder somebody wanted instead of deciding.
    snoozed_by: str
    #: Sent after its time, because nothing ran then.
    late: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalated:
    about: About
    #: Those who can decide now, too.
    mention: tuple[str, ...]
    joined: tuple[Named, ...]
    #: Those who did not answer.
    silent: tuple[Named, ...]
    waited_seconds: int
    late: bool


#: denied: the agent was told and goes on · run_stopped · keeps_waiting: still to be answered, until `until`.
Ending = Literal["denied", "run_stopped", "keeps_waiting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryNotice:
    about: About
    #: The requester.
    mention: tuple[str, ...]
    ending: Ending
    #: What was not done, exactly; null for a question that is no action.
    not_done: JsonObject | None
    #: When its time was over, and when that was noticed.
    expired_at: str
    noticed_at: str
    #: For keeps_waiting: until when it can still be answered; else empty.
    until: str
    #: Ids of open questions of the same run that ended with it.
    also_ended: tuple[str, ...]
    #: Whether to offer "Ask again".
    may_ask_again: bool
    late: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What waits, for one channel or one person, the next to expire first."""

    #: `channel` or `person`; the post's subject is its id.
    audience: str
    #: The local day it is for, YYYY-MM-DD.
    day: str
    at: str
    mention: tuple[str, ...] = ()
    items: tuple[About, ...]
    #: How many wait in all; more than there are items if there are too many to list.
    total: int


Notice: TypeAlias = Reminder | Escalated | ExpiryNotice | Digest


def body(notice: Notice) -> JsonObject:
    """Return the notice as JSON; the fields of `about` stand beside the others."""
    facts: dict[str, Any] = _plain(notice)
    return {**facts.pop("about", {}), **facts, "text": text(notice)}


def text(notice: Notice) -> str:
    """The notice in plain words."""
    match notice:
        case Reminder(about=about):
            return f"This waits for you since {_clock(about.opened_at)} and expires at {_clock(about.expires_at)}."
        case Escalated():
            minutes = notice.waited_seconds // 60
            who, others = _names(notice.joined), _names(notice.silent)
            return f"No answer from {others} in {minutes} minutes; {who} can decide now, too."
        case ExpiryNotice(ending="keeps_waiting"):
            return f"Nobody has decided yet. This can still be answered until {_clock(notice.until)}."
        case ExpiryNotice():
            what = f"run {notice.about.tool}" if notice.about.tool else "do anything"
            then = (
                "The run is stopped." if notice.ending == "run_stopped" else "The agent goes on without it."
            )
            return f"Nobody decided in time, so I did not {what}. {then}"
        case Digest():
            lines = [
                f"{item.tool or item.ask}: {item.summary or item.reason} (expires {_clock(item.expires_at)})"
                for item in notice.items
            ]
            return "\n".join([f"{notice.total} waiting for a decision", *lines])


def _clock(iso_text: str) -> str:
    return f"{datetime.fromisoformat(iso_text):%H:%M} UTC"


def _names(named: tuple[Named, ...]) -> str:
    return " or ".join(each.label or ", ".join((*each.users, *each.groups)) for each in named)


def ids(named: tuple[Named, ...]) -> tuple[str, ...]:
    """The ids to mention, each once."""
    return tuple(dict.fromkeys(name for each in named for name in (*each.users, *each.groups)))


def _plain(value: Any) -> Any:
    # dataclasses.asdict copies every leaf, which was a quarter of a sweep's time.
    kind = cast("type[object]", type(value))
    if kind is tuple:
        return [_plain(each) for each in value]
    names = _FIELDS.get(kind)
    return value if names is None else {name: _plain(getattr(value, name)) for name in names}


_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(each.name for each in fields(kind))
    for kind in (Named, About, Reminder, Escalated, ExpiryNotice, Digest)
}


def about(asked: Asked, *, expires_at: datetime | None = None) -> About:
    interrupt = asked.interrupt
    return About(
        interrupt=interrupt.id,
        run=interrupt.run_id,
        thread=interrupt.thread_id,
        channel=interrupt.channel,
        ask=interrupt.kind,
        reason=interrupt.reason,
        tool=interrupt.planned.tool if interrupt.planned else "",
        summary=interrupt.impact.summary if interrupt.impact else "",
        requester=interrupt.requester,
        approvers=deciders(asked),
        opened_at=iso(interrupt.opened_at),
        expires_at=iso(expires_at or interrupt.expires_at),
    )


def deciders(asked: Asked) -> tuple[Named, ...]:
    return named(asked.interrupt, (asked.interrupt.approvers, *asked.escalated_to))


def named(interrupt: Interrupt, sets: tuple[Approvers, ...]) -> tuple[Named, ...]:
    """Who these approvers are; where several rules must be suited, everybody any of them names."""
    flat = [each for approvers in sets for each in (approvers, *approvers.all_of)]
    return tuple(dict.fromkeys(_named(interrupt, approvers) for approvers in flat))


def _named(interrupt: Interrupt, approvers: Approvers) -> Named:
    asker = (str(interrupt.requester),) if approvers.requester else ()
    users = tuple(dict.fromkeys((*approvers.users, *asker)))
    return Named(label=approvers.label, users=users, groups=approvers.groups)


def iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
