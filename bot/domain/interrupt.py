"""A question to people that stops a run: everything a card has to show, and who may answer."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from bot.domain.canonical import JsonObject
from bot.domain.decision import Decision, Outcome
from bot.domain.ids import CallId, InterruptId, RunId, ThreadId, UserId
from bot.domain.tool import Impact, Planned
from bot.domain.verdict import Approvers, Escalation, OnTimeout, Verb

InterruptKind = Literal["approval", "clarification", "input", "review", "recovery"]
InterruptStatus = Literal["open", "settled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One answer offered: label, what it does (a change to the arguments), its measured consequence."""

    id: str
    label: str
    consequence: str = ""
    #: What is executed if it is chosen; None where the option is an answer, not an action.
    planned: Planned | None = None
    impact: Impact | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a tool, or the engine, wants to know from a person."""

    text: str
    options: tuple[Option, ...] = ()
    #: JSON schema of the answer; None means any text.
    schema: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    """The immutable part of a question; how it ended is an `Outcome` beside it."""

    id: InterruptId
    run_id: RunId
    thread_id: ThreadId
    kind: InterruptKind
    #: Why it asks, in words for people.
    reason: str
    requester: UserId
    approvers: Approvers
    opened_at: datetime
    expires_at: datetime
    verbs: tuple[Verb, ...]
    #: The channel the thread is in, if the front has such a thing.
    channel: str = ""
    call_id: CallId | None = None
    planned: Planned | None = None
    #: The same with secret values masked, where it has any: what people see. What is executed is `planned`.
    masked: Planned | None = None
    impact: Impact | None = None
    options: tuple[Option, ...] = ()
    response_schema: JsonObject | None = None
    #: What is under review, if it is not a single call: the step, its calls, the draft.
    subject: JsonObject | None = None
    #: The rules that spoke, and the version of the policy they are from.
    rules: tuple[str, ...] = ()
    policy: str = ""
    quorum: int = 1
    reason_required: bool = False
    editable: tuple[str, ...] | None = None
    grantable: bool = False
    on_timeout: OnTimeout = "cancel_run"
    remind_at: tuple[datetime, ...] = ()
    escalate: Escalation | None = None
    #: Whether "not now" may move the expiry; else it is bounded by it.
    snooze_extends: bool = False
    #: The agent's own words. Shown apart and labelled, never mixed with measured facts.
    said: str = ""
    #: Binds an approval to tool, arguments, directory, tool definition, impact and policy.
    digest: str = ""
    #: When the world changed since an earlier approval: what was measured then.
    previous_impact: Impact | None = None

    @property
    def shown(self) -> Planned | None:
        """What would be executed, as people may see it."""
        return self.masked or self.planned

    def option(self, option_id: str) -> Option | None:
        return next((option for option in self.options if option.id == option_id), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An interrupt as it stands now: with its votes so far and, once settled, its outcome."""

    interrupt: Interrupt
    status: InterruptStatus = "open"
    votes: tuple[Decision, ...] = ()
    outcome: Outcome | None = None
    #: Approvers that joined by escalation.
    escalated_to: tuple[Approvers, ...] = ()
