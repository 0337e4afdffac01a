"""The shape of a policy file. A key nobody knows is an error, because a typo must not widen anything."""

import re
from datetime import datetime, time, timedelta
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def _duration(value: object) -> object:
    match = re.fullmatch(r"(\d+)([smhdw])", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("a duration like 30s, 15m, 2h or 7d is expected")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _listed(value: object) -> object:
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _moment(value: object) -> object:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError("a time like 2026-12-20T00:00Z is expected") from None
    if moment.tzinfo is None:
        raise ValueError("say in which time zone: 2026-12-20T00:00Z")
    return moment


def _clock(value: object) -> object:
    try:
        return time.fromisoformat(str(value))
    except ValueError:
        raise ValueError("a time of day like 22:00 is expected") from None


Duration: TypeAlias = Annotated[timedelta, BeforeValidator(_duration)]
Texts: TypeAlias = Annotated[list[str], BeforeValidator(_listed), Field(min_length=1)]
Moment: TypeAlias = Annotated[datetime, BeforeValidator(_moment)]
Clock: TypeAlias = Annotated[time, BeforeValidator(_clock)]
Name: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 _.-]*$", max_length=80)]
Conditions: TypeAlias = Annotated[dict[str, Any], Field(min_length=1)]
Answer: TypeAlias = Literal["allow", "ask", "deny"]
VERBS = ("approve", "edit", "reject", "respond", "cancel")


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Group(Strict):
    """People by their Slack ids; display names can be chosen by anybody."""

    usergroup: Annotated[list[str], BeforeValidator(_listed)] = []
    users: Annotated[list[str], BeforeValidator(_listed)] = []


class Escalate(Strict):
    after: Duration
    to: Texts


class Narrowed(Strict):
    label: str
    narrow: Conditions


class Instead(Strict):
    label: str
    use: str
    with_: dict[str, Any] = Field(default={}, alias="with")


class EditOnly(Strict):
    edit: Texts


class Approval(Strict):
    by: Texts | None = None
    quorum: Annotated[int, Field(ge=1, le=20)] | None = None
    requester_may_approve: bool | None = None
    reason: Literal["optional", "required"] | None = None
    expires: Duration | None = None
    remind: list[Duration] | None = None
    escalate: Escalate | None = None
    on_timeout: Literal["deny", "cancel_run", "keep_waiting"] | None = None
    #: Whether "not now, remind me later" may move the expiry as well.
    snooze: Literal["bounded", "extend"] | None = None
    options: "Options | None" = None


def _option(option: Any) -> str | Narrowed | Instead | EditOnly:
    if isinstance(option, str):
        if option not in VERBS:
            raise ValueError(
                f"there is no option {option!r}; use one of {', '.join(VERBS)}, narrow, use or edit"
            )
        return option
    if not isinstance(option, dict):
        raise ValueError("an option is a word or a mapping")  # noqa: TRY004 - pydantic reports ValueErrors
    wanted = Narrowed if "narrow" in option else EditOnly if "edit" in option else Instead
    return wanted.model_validate(option)


Options: TypeAlias = Annotated[list[Any], AfterValidator(lambda options: [_option(each) for each in options])]
Approval.model_rebuild()


class Paths(Strict):
    under: Texts


class Hours(Strict):
    start: Clock = Field(alias="from")
    end: Clock = Field(alias="to")
    days: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]] = [
        "mon",
        "tue",
        "wed",
        "thu",
        "fri",
        "sat",
        "sun",
    ]
    zone: str = "UTC"


class EffectWords(Strict):
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    @property
    def wanted(self) -> dict[str, bool]:
        return cast("dict[str, bool]", self.model_dump(exclude_none=True))


class RuleFile(Strict):
    id: Name
    tool: Texts = ["*"]
    reason: str = ""
    when: Conditions | None = None
    unless: Conditions | None = None
    command: Texts | None = None
    recursive_on: Texts | None = None
    pipe_into: Texts | None = None
    profile: Literal["read_only"] | None = None
    paths: Paths | None = None
    touches: Texts | None = None
    hosts: Texts | None = None
    effects: EffectWords | None = None
    scope: Literal["confirmed", "exceeded"] | None = None
    environment: Texts | None = None
    requester: Texts | None = None
    hours: Hours | None = None

    @model_validator(mode="after")
    def _recursive_needs_a_command(self) -> "RuleFile":
        if self.recursive_on and not self.command:
            raise ValueError("recursive_on needs command, for example command: [rm]")
        return self


class DenyRule(RuleFile):
    pass


class AllowRule(RuleFile):
    pinned: bool = False

    @model_validator(mode="after")
    def _only_what_can_be_proved(self) -> "AllowRule":
        for name in ("touches", "pipe_into", "recursive_on"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name} is a guess on the safe side; it can deny or ask, never allow")
        return self


class AskRule(RuleFile):
    by: Texts | None = None
    quorum: Annotated[int, Field(ge=1, le=20)] | None = None
    requester_may_approve: bool | None = None
    expires: Duration | None = None
    remind: list[Duration] | None = None
    escalate: Escalate | None = None
    on_timeout: Literal["deny", "cancel_run", "keep_waiting"] | None = None
    #: Whether "not now, remind me later" may move the expiry as well.
    snooze: Literal["bounded", "extend"] | None = None
    options: Options | None = None
    #: Everything above, and `reason: required` for the decider, which a rule's own `reason` would hide.
    approval: Approval = Approval()
    #: An approval of this is never remembered.
    irreversible: bool = False

    @property
    def terms(self) -> Approval:
        own = {
            name: getattr(self, name)
            for name in Approval.model_fields
            if name != "reason" and getattr(self, name) is not None
        }
        return self.approval.model_copy(update=own)


class Checkpoint(Strict):
    ttl: Duration


class Agent(Strict):
    model: str = ""
    instructions: str = ""
    tools: list[str] | None = None
    max_turns: Annotated[int, Field(ge=1, le=1000)] = 40
    max_tokens: Annotated[int, Field(ge=1)] = 8192
    cwd: str = ""
    interrupts: bool = True
    checkpoint: Checkpoint | None = None


class Review(Strict):
    before: str | None = None
    after: str | None = None
    tools: list[str] | None = None
    reason: str = ""

    @model_validator(mode="after")
    def _one_of_them(self) -> "Review":
        if (self.before is None) == (self.after is None):
            raise ValueError("say either before or after")
        return self


class ClarifyWhen(Strict):
    ambiguous: bool = False
    blast_radius: Annotated[list[Literal["low", "medium", "high"]], BeforeValidator(_listed)] = []


class ClarifySkip(Strict):
    effects: EffectWords = EffectWords()


class ClarifyAsk(BaseModel):
    # Further keys are constraints on the answer; the compiler checks them as operators.
    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    question: str
    choices: list[Any] = []
    default: Any = None


class ClarifyBefore(Strict):
    before: Texts
    ask: dict[str, ClarifyAsk]
    contract: dict[str, Any] = {}
    lasts: Duration = timedelta(hours=2)
    outside: Literal["ask", "deny"] = "ask"


class ClarifyFile(Strict):
    when: ClarifyWhen = ClarifyWhen()
    skip: ClarifySkip = ClarifySkip()
    by: Texts = ["requester"]
    expires: Duration = timedelta(minutes=15)
    questions: list[ClarifyBefore] = []


class LimitFile(Strict):
    id: Name
    tool: Texts = ["*"]
    when: Conditions | None = None
    verdict: Literal["ask"] | None = None
    max: Annotated[int, Field(ge=0)]
    per: Duration
    each: Literal["policy", "channel", "thread", "requester"] = "policy"
    then: Literal["ask", "deny"] = "deny"


class Freeze(Strict):
    id: Name
    start: Moment = Field(alias="from")
    end: Moment = Field(alias="to")
    tool: Texts = ["*"]
    effects: EffectWords | None = None
    then: Literal["ask", "deny"] = "deny"
    reason: str = ""

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> "Freeze":
        if self.end <= self.start:
            raise ValueError("a freeze ends after it starts")
        return self


class ToolShape(Strict):
    """What tests and lint need to know of a tool that is not built in."""

    args: dict[str, str] | Literal["any"] = {}
    paths: list[str] = []
    commands: list[str] = []
    urls: list[str] = []
    effects: EffectWords = EffectWords()
    trusted: bool = True


class TestFile(Strict):
    call: str
    args: dict[str, Any] = {}
    impact: dict[str, Any] | None = None
    context: dict[str, Any] = {}
    expect: Answer
    rule: str | None = None


class PolicyFile(Strict):
    version: Literal[1]
    name: str = ""
    description: str = ""
    extends: str | None = None
    channels: list[str] = []
    environment: str = ""
    agent: Agent = Agent()
    default: Answer
    groups: dict[str, Group] = {}
    approval: Approval = Approval()
    deny: list[DenyRule] = []
    ask: list[AskRule] = []
    allow: list[AllowRule] = []
    review: list[Review] = []
    clarify: ClarifyFile | None = None
    limits: list[LimitFile] = []
    freeze: list[Freeze] = []
    protected: list[str] = []
    tools: dict[str, ToolShape] = {}
    #: Symbolic links that tests and case files assume; they never count for a real call.
    test_links: dict[str, str] = {}
    tests: list[TestFile] = []
