"""What can happen to a run. `machine.advance` says what each of them changes."""

from dataclasses import dataclass
from typing import TypeAlias

from bot.domain.assessment import Assessment, ScopeField
from bot.domain.canonical import JsonObject
from bot.domain.ids import CallId, UserId
from bot.domain.interrupt import Asked, Option, Question
from bot.domain.run import Breakpoint
from bot.domain.tool import Impact, Planned, ToolResult
from bot.domain.transcript import ModelTurn, UserText
from bot.domain.verdict import Deny, Verdict
from bot.policy.model import Clarify


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The model finished a turn."""

    turn: ModelTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One call, checked, measured and judged."""

    call_id: CallId
    planned: Planned
    #: What the policy says; None if the arguments do not even fit.
    verdict: Verdict | None
    invalid: str = ""
    impact: Impact | None = None
    digest: str = ""
    #: The call with secret values masked, if it has any.
    masked: Planned | None = None
    options: tuple[Option, ...] = ()
    #: Counters of limits that are used if it runs, and if it is asked about.
    uses_if_run: tuple[str, ...] = ()
    uses_if_asked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    judgements: tuple[Judgement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """These calls are about to run; recorded first, so that a crash cannot hide it."""

    calls: tuple[CallId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    result: ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedHalfWay:
    """A tool asks a person and will be called again with `state` and the answer."""

    call_id: CallId
    question: Question
    state: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """An interrupt this run waits for has its outcome."""

    asked: Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifted:
    """What was approved is no longer what would happen: ask again and show the difference."""

    judgement: Judgement
    before: Impact | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Forbidden:
    """The policy changed while the run waited and now denies what was approved."""

    call_id: CallId
    verdict: Deny


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantLapsed:
    """The remembered approval these calls relied on does not hold any more: judge them again."""

    calls: tuple[CallId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """These calls had started when their process died; nobody knows whether they finished."""

    calls: tuple[CallId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakpointHit:
    breakpoint: Breakpoint
    #: Names the step, so that the run does not stop there twice.
    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessed:
    """The request was looked at. `fields` is what people are to be asked before any work; None asks nothing."""

    assessment: Assessment
    clarify: Clarify | None = None
    fields: tuple[ScopeField, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """People wrote something while the run was under way."""

    texts: tuple[UserText, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeChangeAsked:
    by: UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelAsked:
    by: UserId
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broke:
    """The run cannot go on; `why` is for people."""

    why: str


Event: TypeAlias = (
    Answered
    | Judged
    | Started
    | Returned
    | StoppedHalfWay
    | Settled
    | Drifted
    | Forbidden
    | Lost
    | GrantLapsed
    | BreakpointHit
    | Assessed
    | Noted
    | ScopeChangeAsked
    | CancelAsked
    | Broke
)
