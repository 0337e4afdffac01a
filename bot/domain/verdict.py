"""What the policy answers for one call: Allow, Ask or Deny, and on which terms to ask."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, TypeAlias

from bot.domain.canonical import JsonObject

OnTimeout = Literal["deny", "cancel_run", "keep_waiting"]
Verb = Literal["approve", "choose", "edit", "reject", "respond", "cancel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvers:
    """Who may decide. All empty means nobody: fail closed."""

    users: tuple[str, ...] = ()
    #: Ids of user groups, resolved at click time.
    groups: tuple[str, ...] = ()
    #: Whether the person who asked is among the approvers.
    requester: bool = False
    #: Four eyes: whether the person who asked may approve if they are listed above.
    requester_may_approve: bool = False
    #: How the policy calls them, for people to read ("oncall").
    label: str = ""
    #: Several rules asked for different people: a decider must also be among each of these.
    all_of: tuple["Approvers", ...] = ()

    @property
    def nobody(self) -> bool:
        mine = self.users or self.groups or self.requester
        return not mine or any(others.nobody for others in self.all_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalation:
    after: timedelta
    to: Approvers


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionSpec:
    """A scoped option written in the policy; the engine measures it before it is offered."""

    label: str
    #: Another tool to use instead, if any.
    use: str | None = None
    #: Arguments of the option: constants that replace or join the planned ones.
    args: JsonObject = field(default_factory=JsonObject)
    #: Constraints that may only tighten an argument: {"older_than_days": {"gte": 365}}.
    narrow: JsonObject = field(default_factory=JsonObject)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalTerms:
    """How a question is put: to whom, how many must agree, until when, with which answers."""

    approvers: Approvers = Approvers()
    quorum: int = 1
    reason_required: bool = False
    expires: timedelta = timedelta(minutes=15)
    remind: tuple[timedelta, ...] = ()
    escalate: Escalation | None = None
    on_timeout: OnTimeout = "cancel_run"
    #: Whether "not now, remind me later" may move the expiry.
    snooze_extends: bool = False
    verbs: tuple[Verb, ...] = ("approve", "edit", "reject")
    #: Arguments a person may edit; None means all of them.
    editable: tuple[str, ...] | None = None
    options: tuple[OptionSpec, ...] = ()
    #: Whether "approve and remember" may be offered.
    grantable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Allow:
    #: Ids of the rules that spoke; `grant:ID` where a remembered approval did.
    rules: tuple[str, ...]
    reason: str
    policy: str
    kind: Literal["allow"] = "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    rules: tuple[str, ...]
    reason: str
    policy: str
    terms: ApprovalTerms = ApprovalTerms()
    kind: Literal["ask"] = "ask"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deny:
    rules: tuple[str, ...]
    reason: str
    policy: str
    kind: Literal["deny"] = "deny"


Verdict: TypeAlias = Allow | Ask | Deny
