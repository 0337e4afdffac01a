"""Where a run stands: the head of its checkpoint. The rest of it is the transcript up to `cursor`."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Literal

from bot.domain.canonical import JsonObject
from bot.domain.ids import CallId, InterruptId, RunId, ThreadId, UserId
from bot.domain.scope import ScopeContract
from bot.domain.tool import Impact, Planned, ToolDefinition
from bot.domain.transcript import Usage
from bot.domain.verdict import Verdict

#: ready: may be claimed by any process · running: claimed by one · waiting: interrupts are open ·
#: the others are final. quarantined: a row of it does not decode.
RunState = Literal["ready", "running", "waiting", "done", "failed", "cancelled", "quarantined"]
FINAL: frozenset[RunState] = frozenset({"done", "failed", "cancelled", "quarantined"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """Where people and the bot talk."""

    id: ThreadId
    #: slack, http or terminal.
    front: str
    #: The channel, if the front has such a thing; policies are chosen by it.
    channel: str = ""
    #: What the front needs to find it again (team, channel, ts …).
    address: JsonObject = field(default_factory=JsonObject)
    #: Whether the front keeps messages there that must be posted and updated, whatever happens to this process.
    keeps_messages: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpec:
    """Who works on the request."""

    model: str
    instructions: str = ""
    #: Names or patterns (`mcp:github/*`) of the tools it has; None means all.
    tools: tuple[str, ...] | None = None
    max_turns: int = 40
    max_tokens: int = 8192
    #: Where relative paths and commands start.
    cwd: str = ""
    #: False means headless: whatever would ask is denied.
    interrupts: bool = True
    environment: str = ""
    #: How long a waiting run can be resumed at most; no question outlives it.
    patience: timedelta = timedelta(hours=24)
    #: Tools that live in the client of this run. Kept with it, so that a restart can go on.
    client_tools: tuple[ToolDefinition, ...] = ()

    def has(self, tool: str) -> bool:
        """Whether this agent was given the tool."""
        return self.tools is None or any(fnmatchcase(tool, pattern) for pattern in self.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakpoint:
    """Stop before or after a step, for quality control or debugging."""

    when: Literal["before", "after"]
    #: `model`, or `tools`.
    step: Literal["model", "tools"]
    #: Tool names; empty for a model step means only the final answer, ("*",) means every one.
    tools: tuple[str, ...] = ("*",)
    reason: str = ""


#: proposed: not judged yet · asking: an interrupt is open or settled but not applied · ready: may start ·
#: started: running, or it was when the process died · settled: it has a result.
CallStatus = Literal["proposed", "asking", "ready", "started", "settled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallState:
    """What became of one call of the current turn; what the model proposed is in the transcript."""

    id: CallId
    status: CallStatus = "proposed"
    #: What will run if it differs from what was proposed: a person edited it or chose an option.
    planned: Planned | None = None
    verdict: Verdict | None = None
    impact: Impact | None = None
    digest: str = ""
    interrupt: InterruptId | None = None
    #: Whether people said yes to exactly this `digest`.
    approved: bool = False
    #: Counters of the policy's limits that this call uses when it starts.
    uses: tuple[str, ...] = ()
    #: State of a tool that stopped half way to ask, and the answer it got.
    saved: JsonObject | None = None
    answer: JsonObject | None = None
    #: Told to the model with the result.
    notice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """How often the same call was declined in this run."""

    digest: str
    times: int


#: clarify: the scope is looked at before any work · model: the model is to be called · calls: the turn's calls
#: are being settled · answer: the final text is under review · finish: nothing is left but to say so.
Phase = Literal["clarify", "model", "calls", "answer", "finish"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The small, rewritten part of a checkpoint."""

    run_id: RunId
    thread: Thread
    requester: UserId
    agent: AgentSpec
    created_at: datetime
    state: RunState = "ready"
    #: Grows with every write; a write only succeeds on top of the version it has seen.
    version: int = 0
    #: How many entries the transcript has.
    cursor: int = 0
    phase: Phase = "model"
    calls: tuple[CallState, ...] = ()
    #: Open or settled review of the current step, if a breakpoint was hit.
    review: InterruptId | None = None
    #: The steps that reviews let pass since the last turn, so that it does not stop there again.
    passed: tuple[str, ...] = ()
    breakpoints: tuple[Breakpoint, ...] = ()
    turns: int = 0
    asked: int = 0
    usage: Usage = Usage()
    refusals: tuple[Refusal, ...] = ()
    scope: ScopeContract | None = None
    #: Somebody wants to change the scope; it is asked about before the run goes on.
    rescoping: bool = False
    #: A clarification answered in somebody's own words, still to be read: the interrupt, and what they wrote.
    in_own_words: tuple[InterruptId, str] | None = None
    #: The run and entry this one continues; its transcript is not copied.
    base: "Base | None" = None
    #: Why it ended, for people.
    ending: str = ""
    labels: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    run_id: RunId
    #: How many of its entries count.
    cursor: int
