"""What people answer, and how an interrupt ended."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

from bot.domain.canonical import JsonObject
from bot.domain.grant import GrantPlace
from bot.domain.ids import InterruptId, UserId
from bot.domain.tool import Impact, Planned
from bot.domain.verdict import OnTimeout, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Remember:
    """Let the same call pass later without asking: here, until then, at most so often."""

    place: GrantPlace
    lasts: timedelta
    uses: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Approve:
    reason: str = ""
    remember: Remember | None = None
    verb: Literal["approve"] = "approve"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choose:
    option: str
    reason: str = ""
    remember: Remember | None = None
    verb: Literal["choose"] = "choose"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Replace the arguments (of an approval) or the text (of a draft under review)."""

    args: JsonObject | None = None
    text: str | None = None
    reason: str = ""
    verb: Literal["edit"] = "edit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    reason: str = ""
    verb: Literal["reject"] = "reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Respond:
    data: Any = None
    verb: Literal["respond"] = "respond"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Stop the whole run."""

    reason: str = ""
    verb: Literal["cancel"] = "cancel"


Answer: TypeAlias = Approve | Choose | Edit | Reject | Respond | Cancel


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Who answered what, when, and from where."""

    answer: Answer
    by: UserId
    at: datetime
    via: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """People settled it."""

    decision: Decision
    #: Who else had to agree, in the order of their votes.
    others: tuple[UserId, ...] = ()
    #: For an option or an edit: what will be executed instead, and what was measured for it.
    planned: Planned | None = None
    impact: Impact | None = None
    #: What the policy said of that, and what binds the approval to exactly that.
    verdict: Verdict | None = None
    digest: str = ""
    kind: Literal["decided"] = "decided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """Nobody answered in time."""

    at: datetime
    on_timeout: OnTimeout
    #: Somebody asked again while the run still waited: this question took its place.
    replaced_by: InterruptId | None = None
    kind: Literal["expired"] = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """The question is no longer of interest: the run was cancelled, or another interrupt took its place."""

    at: datetime
    why: str
    by: UserId | None = None
    replaced_by: InterruptId | None = None
    kind: Literal["withdrawn"] = "withdrawn"


Outcome: TypeAlias = Decided | Expired | Withdrawn


def describe(outcome: Outcome) -> str:
    """Say in one word what happened, for people and for the audit log."""
    match outcome:
        case Decided(decision=decision):
            return _DONE[decision.answer.verb]
        case Expired():
            return "expired"
        case Withdrawn(replaced_by=None):
            return "withdrawn"
        case Withdrawn():
            return "replaced"


_DONE = {
    "approve": "approved",
    "choose": "approved with an option",
    "edit": "edited and approved",
    "reject": "rejected",
    "respond": "answered",
    "cancel": "cancelled",
}
