"""A policy after it was read: frozen values and compiled tests, no YAML and no text left to interpret."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Literal, TypeAlias

from bot.domain.canonical import JsonObject
from bot.domain.run import AgentSpec, Breakpoint
from bot.domain.tool import ToolDefinition
from bot.domain.verdict import ApprovalTerms, Approvers
from bot.policy.look import Look
from bot.policy.outcome import Unclear
from bot.policy.paths import Resolver, text_glob

Block: TypeAlias = Literal["deny", "ask", "allow"]
#: From lenient to strict; a verdict is never less strict than the strictest rule that speaks.
STRICTNESS: Mapping[str, int] = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """One condition of a rule, and how it reads to people."""

    phrase: str
    check: Callable[[Look], bool]
    #: What in the call made it hold, for explain.
    found: Callable[[Look], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTerms:
    """How a rule asks, and whether it names its approvers itself or falls back to the file's."""

    terms: ApprovalTerms
    named: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    id: str
    block: Block
    tools: tuple[str, ...]
    tests: tuple[Test, ...] = ()
    #: Of the commands in a shell text, those this allow rule covers, as bits; None covers all of them.
    covers: Callable[[Look], int] | None = None
    #: Ask, instead of allowing, when the tool's definition is not the one that was approved.
    pinned: bool = False
    reason: str = ""
    ask: RuleTerms | None = None
    #: The programs it names, for lint.
    commands: tuple[str, ...] = ()
    #: file:line, for explain and lint.
    source: str = ""

    #: All tests in one; compiled from them, so that a verdict does not walk through tables.
    speaks: Callable[[Look], bool] = lambda _: True

    def is_for(self, tool: str) -> bool:
        return any(self._names(pattern, tool) for pattern in self.tools)

    def _names(self, pattern: str, tool: str) -> bool:
        if self.block == "allow" and pattern != "*" and tool.count("/") != pattern.count("/"):
            return False  # to let something through, `mcp:*` does not reach into servers
        return text_glob(pattern)(tool)


def speaks(tests: tuple[Test, ...], look: Look) -> bool:
    """Return whether all `tests` hold. One that certainly fails settles it, also if another is unclear.

    Raises:
        Unclear: none fails for certain, but not all can be told.
    """
    unclear: Unclear | None = None
    for test in tests:
        try:
            if not test.check(look):
                return False
        except Unclear as error:
            unclear = error
    if unclear:
        raise unclear
    return True


def spoken(tests: tuple[Test, ...]) -> Callable[[Look], bool]:
    """Compile `tests` to one function; most rules have one or none."""
    match tests:
        case ():
            return lambda _: True
        case (only,):
            return only.check
        case (first, second):
            return _both(first.check, second.check)
        case _:
            return partial(speaks, tests)


def _both(first: Callable[[Look], bool], second: Callable[[Look], bool]) -> Callable[[Look], bool]:
    def speak(look: Look) -> bool:
        try:
            return first(look) and second(look)
        except Unclear:
            # If the first was unclear, the second may still settle it, and the other way round.
            return speaks((Test(phrase="", check=first), Test(phrase="", check=second)), look)

    return speak


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRules:
    """The rules of one layer that may speak about one tool."""

    deny: tuple[Rule, ...]
    ask: tuple[Rule, ...]
    allow: tuple[Rule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One file. A file that extends another is a second layer: its rules join, its default only tightens."""

    name: str
    default: Block
    rules: tuple[Rule, ...]
    default_terms: RuleTerms
    index: dict[str, ToolRules] = field(default_factory=dict[str, ToolRules], compare=False, repr=False)

    def rules_for(self, tool: str) -> ToolRules:
        # Tool names come from the registry, so this index stays as small as the registry.
        found = self.index.get(tool)
        if found is None:
            mine = [rule for rule in self.rules if rule.is_for(tool)]
            found = self.index[tool] = ToolRules(
                deny=tuple(rule for rule in mine if rule.block == "deny"),
                ask=tuple(rule for rule in mine if rule.block == "ask"),
                allow=tuple(rule for rule in mine if rule.block == "allow"),
            )
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """At most so many within a window; counted in the store, so that a restart forgets nothing."""

    id: str
    tools: tuple[str, ...]
    max: int
    per: timedelta
    then: Literal["ask", "deny"] = "deny"
    #: What is counted: calls that may run, or questions put to people.
    counts: Literal["calls", "asks"] = "calls"
    #: Whose calls are counted together.
    each: Literal["policy", "channel", "thread", "requester"] = "policy"
    tests: tuple[Test, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUse:
    """A counter this call would use."""

    id: str
    key: str
    per: timedelta
    max: int
    counts: Literal["calls", "asks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClarifyField:
    """One thing to ask before any work is done."""

    name: str
    question: str
    choices: tuple[object, ...] = ()
    default: object = None
    #: Constraints on the answer in the operator language: {"under": "/srv"}.
    constraints: JsonObject = field(default_factory=JsonObject)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClarifyQuestion:
    #: Tool names or patterns this is asked before.
    before: tuple[str, ...]
    fields: tuple[ClarifyField, ...]
    #: Constraints with `$name` where an answer goes.
    contract: JsonObject = field(default_factory=JsonObject)
    lasts: timedelta = timedelta(hours=2)
    outside: Literal["ask", "deny"] = "ask"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clarify:
    ambiguous: bool = False
    blast_radius: tuple[str, ...] = ()
    #: Effects of tools that need no clarification: {"read_only": True}.
    skip_effects: Mapping[str, bool] = field(default_factory=dict[str, bool])
    by: Approvers = Approvers(requester=True, requester_may_approve=True, label="requester")
    expires: timedelta = timedelta(minutes=15)
    questions: tuple[ClarifyQuestion, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTest:
    """A call and the verdict its author expects."""

    call: str
    args: JsonObject
    expect: Block
    rule: str | None = None
    impact: JsonObject | None = None
    context: JsonObject = field(default_factory=JsonObject)
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Everything one channel is governed by."""

    name: str
    #: Hash of the content, extended files included.
    version: str
    channels: tuple[str, ...]
    layers: tuple[Layer, ...]
    resolver: Resolver
    environment: str = ""
    agent: AgentSpec | None = None
    #: How long a waiting run can be resumed at most.
    checkpoint_ttl: timedelta | None = None
    breakpoints: tuple[Breakpoint, ...] = ()
    clarify: Clarify | None = None
    limits: tuple[Limit, ...] = ()
    groups: Mapping[str, Approvers] = field(default_factory=dict[str, Approvers])
    #: Definitions for tests and lint, where the registry of the running bot is not at hand.
    tools: Mapping[str, ToolDefinition] = field(default_factory=dict[str, ToolDefinition])
    #: Whether among paths, one per line, is one nobody may change through a tool: the policy's own files and
    #: the bot's configuration.
    protected: Callable[[str], bool] = lambda _: False
    tests: tuple[PolicyTest, ...] = ()
    #: Symbolic links that tests and case files assume.
    test_links: Mapping[str, str] = field(default_factory=dict[str, str])
    files: tuple[str, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(rule for layer in self.layers for rule in layer.rules)

    @property
    def interrupts(self) -> bool:
        return self.agent is None or self.agent.interrupts
