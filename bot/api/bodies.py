"""What clients send and get, as models; the OpenAPI document is generated from them."""

from datetime import timedelta
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, RootModel, StringConstraints

from bot.domain.canonical import JsonObject
from bot.domain.decision import Answer, Approve, Cancel, Choose, Edit, Reject, Remember, Respond

#: Printable ASCII without spaces: safe in headers, paths, logs and SSE ids.
Name: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,200}$")]
#: No NUL: PostgreSQL cannot keep it, and nobody types it.
Text: TypeAlias = Annotated[str, StringConstraints(max_length=100_000, pattern=r"^[^\x00]*$")]
Reason: TypeAlias = Annotated[str, StringConstraints(max_length=3000, pattern=r"^[^\x00]*$")]


def _whole(value: object) -> object:
    """JSON knows one kind of number: 5.0 is the integer 5."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


#: Behind the bounds, or the generated schema would lose them.
WHOLE = BeforeValidator(_whole)


class Strict(BaseModel):
    """What strangers send: a misspelt field must fail, not be ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class RememberBody(Strict):
    """Let the same call pass later without asking."""

    place: Literal["thread", "channel"]
    minutes: Annotated[int, Field(ge=1, le=60 * 24 * 31), WHOLE]
    uses: Annotated[int, Field(ge=1, le=1000), WHOLE]

    def remember(self) -> Remember:
        return Remember(place=self.place, lasts=timedelta(minutes=self.minutes), uses=self.uses)


class ApproveBody(Strict):
    verb: Literal["approve"]
    reason: Reason = ""
    remember: RememberBody | None = None

    def answer(self) -> Answer:
        return Approve(reason=self.reason, remember=self.remember.remember() if self.remember else None)


class ChooseBody(Strict):
    verb: Literal["choose"]
    option: Annotated[str, StringConstraints(max_length=200)]
    reason: Reason = ""
    remember: RememberBody | None = None

    def answer(self) -> Answer:
        remember = self.remember.remember() if self.remember else None
        return Choose(option=self.option, reason=self.reason, remember=remember)


class EditBody(Strict):
    """The new arguments as a whole (for a review: by call id), or the new text of a draft."""

    verb: Literal["edit"]
    args: JsonObject | None = None
    text: Text | None = None
    reason: Reason = ""

    def answer(self) -> Answer:
        return Edit(args=self.args, text=self.text, reason=self.reason)


class RejectBody(Strict):
    verb: Literal["reject"]
    reason: Reason = ""

    def answer(self) -> Answer:
        return Reject(reason=self.reason)


class RespondBody(Strict):
    """Data that fits the question's `response_schema`, or text if it has none."""

    verb: Literal["respond"]
    data: Any

    def answer(self) -> Answer:
        return Respond(data=self.data)


class CancelBody(Strict):
    """Stop the whole run."""

    verb: Literal["cancel"]
    reason: Reason = ""

    def answer(self) -> Answer:
        return Cancel(reason=self.reason)


DecisionBody: TypeAlias = Annotated[
    ApproveBody | ChooseBody | EditBody | RejectBody | RespondBody | CancelBody,
    Field(discriminator="verb"),
]


class DecideBody(Strict):
    decision: DecisionBody


#: How streams end by default, and how not.
WAIT = "Keep the stream open while the run waits for people, instead of ending it after the interrupt."


class ChatBody(Strict):
    message: Annotated[str, StringConstraints(min_length=1, max_length=100_000, pattern=r"^[^\x00]*$")]
    session_id: Name | None = Field(
        default=None, description="Continue this conversation; without it a new one begins."
    )
    wait: bool = Field(default=False, description=WAIT)


class AnswerBody(Strict):
    """A plain answer to the one question a session waits for."""

    session_id: Name
    answer: Text = Field(
        description="yes, approve or true approves; no… rejects with what follows as the reason; an option's id or "
        "label chooses it; anything else is refused, unless the question wants text."
    )
    wait: bool = Field(default=False, description=WAIT)


class ExactBody(Strict):
    """A structured decision on a named interrupt."""

    interrupt_id: Name
    decision: DecisionBody
    wait: bool = Field(default=False, description=WAIT)


class ResumeBody(RootModel[AnswerBody | ExactBody]):
    """Either `session_id` with a plain `answer`, or `interrupt_id` with a structured `decision`."""


class StreamQuery(Strict):
    wait: bool = Field(default=False, description=WAIT)


class RunsQuery(Strict):
    state: Literal["ready", "running", "waiting", "done", "failed", "cancelled", "quarantined"] | None = None
    limit: int = Field(default=50, ge=1, le=500)


class BreakpointBody(Strict):
    when: Literal["before", "after"]
    step: Literal["model", "tools"]
    tools: tuple[Annotated[str, StringConstraints(max_length=200)], ...] = ("*",)
    reason: Reason = ""


class ChangeBody(Strict):
    """Changes to a run that waits; what is left out stays."""

    #: Only if the run still has this version.
    version: Annotated[int, Field(ge=0, le=2**53), WHOLE] | None = None
    #: Told to the agent as a message, before its next turn.
    note: (
        Annotated[str, StringConstraints(min_length=1, max_length=100_000, pattern=r"^[^\x00]*$")] | None
    ) = None
    instructions: Text | None = None
    max_turns: Annotated[int, Field(ge=1, le=1000), WHOLE] | None = None
    breakpoints: tuple[BreakpointBody, ...] | None = Field(default=None, max_length=50)
    labels: dict[str, Annotated[str, StringConstraints(max_length=1000)]] | None = Field(
        default=None, max_length=50
    )


class CancelRunBody(Strict):
    reason: Reason = ""


class ForkBody(Strict):
    """Go another way from an earlier point: keep the first `at` entries of the run's own transcript."""

    at: Annotated[int, Field(ge=1, le=2**53), WHOLE]


class ExplainBody(Strict):
    tool: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    args: JsonObject = Field(default_factory=dict)
    #: The channel whose policy is asked; the token's own if it is left out.
    channel: Annotated[str, StringConstraints(max_length=200)] | None = None


# ── Answers ──────────────────────────────────────────────────────────────────────────────────────────────


class Answered(BaseModel):
    """What clients get. Open: newer versions may add fields."""

    model_config = ConfigDict(extra="allow", frozen=True)


class PlannedOut(Answered):
    tool: str
    args: JsonObject


class ImpactOut(Answered):
    summary: str
    count: int | None
    bytes: int | None


class OptionOut(Answered):
    id: str
    label: str
    consequence: str


class InterruptOut(Answered):
    """A question, and how it stands."""

    id: str
    run_id: str
    session_id: str
    kind: Literal["approval", "clarification", "input", "review", "recovery"]
    status: Literal["open", "settled"]
    outcome: str | None
    reason: str
    rules: list[str]
    planned: PlannedOut | None
    impact: ImpactOut | None
    options: list[OptionOut]
    response_schema: JsonObject | None
    subject: JsonObject | None
    verbs: list[str]
    opened_at: str
    expires_at: str
    votes: int
    quorum: int


class RunBrief(Answered):
    run_id: str
    session_id: str
    state: str
    front: str
    requester: str
    created_at: str
    next: list[str]


class RunList(Answered):
    runs: list[RunBrief]


class RunOut(Answered):
    """Everything there is to know about a run."""

    run_id: str
    state: str
    next: list[str]
    values: JsonObject
    metadata: JsonObject
    transcript: list[JsonObject]
    interrupts: list[InterruptOut]


class RunRef(Answered):
    run_id: str
    session_id: str
    state: str


class ApprovalList(Answered):
    approvals: list[InterruptOut]


class DecisionOut(Answered):
    """What became of an answer: settled, or counted towards a quorum."""

    run_id: str
    interrupt: InterruptOut
    votes: int
    needed: int
    #: The edit needs approvers of its own and is asked about under this id.
    replaced_by: str | None


class HeardOut(Answered):
    rule: str
    block: str
    said: str
    why: str
    source: str


class ExplanationOut(Answered):
    policy: str
    version: str
    tool: str
    args: JsonObject
    verdict: JsonObject
    heard: list[HeardOut]
    refused: str


class Health(Answered):
    status: Literal["ok", "failing"]
    checks: dict[str, str] = Field(default_factory=dict)


class ProblemOut(Answered):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
