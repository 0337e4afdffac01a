"""What the engine needs from the world, as promises. `wiring.py` fits adapters to them; nobody inherits."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from bot.domain.audit import AuditFact
from bot.domain.canonical import JsonObject
from bot.domain.decision import Decision, Outcome
from bot.domain.grant import Grant
from bot.domain.ids import CallId, GrantId, InterruptId, RunId, ThreadId, UserId, WorkerId
from bot.domain.interrupt import Asked, Interrupt, Question
from bot.domain.person import Person
from bot.domain.run import AgentSpec, Breakpoint, Head, RunState, Thread
from bot.domain.tool import Impact, Planned, ToolCall, ToolDefinition, ToolResult
from bot.domain.transcript import Entry, ModelTurn, UserText
from bot.domain.verdict import Verdict
from bot.engine.timers import Snoozed, Swept, TimeRules
from bot.policy.context import Context
from bot.policy.model import Clarify, LimitUse

Clock: TypeAlias = Callable[[], datetime]


# ── The model ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    agent: AgentSpec
    #: Who the agent is and what it must hold to; built by the engine.
    system: str
    #: The whole conversation, oldest first; grows in place from turn to turn, so an adapter may map only
    #: what is new. It may end in calls without results: the adapter must never send such an orphan.
    transcript: Sequence[Entry]
    tools: tuple[ToolDefinition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    text: str
    #: Which entry of the transcript the turn it belongs to will be; the driver fills it in.
    entry: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying:
    """The model is overloaded or unreachable; the adapter waits and tries again."""

    attempt: int
    wait_seconds: float
    why: str
    #: Text that was streamed by the failed attempt is void.
    void: bool = False


ModelEvent: TypeAlias = TextDelta | Retrying | ModelTurn


class Model(Protocol):
    """Answers a conversation."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Yield text as it arrives and, last, exactly one `ModelTurn`.

        Raises:
            ModelUnavailable: also after several tries; the message says what the person can do.
            ConfigError: the key, the address or the model's name is wrong.
        """
        ...


# ── Tools ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """What a tool gets back that stopped half way: its own state and the person's answer."""

    state: JsonObject
    answer: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """The situation a tool runs in."""

    run_id: RunId
    call_id: CallId
    thread: Thread
    requester: UserId
    cwd: str
    #: The same for every attempt at this call; pass it on to services that can recognise a repeat.
    idempotency_key: str
    resumed: Resumed | None = None
    #: Whether people said yes to exactly these arguments.
    approved: bool = False
    #: Tools that live in the client of this run; they are answered there.
    client_tools: tuple[ToolDefinition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Output of a streaming tool, as it is produced."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """The tool stopped half way to ask; it is called again with `state` and the answer."""

    question: Question
    state: JsonObject


#: Exactly one ToolResult or Suspended ends the stream.
ToolEvent: TypeAlias = Progress | Suspended | ToolResult


class Toolbox(Protocol):
    """All tools, behind one gate. Nothing here raises because of a tool or its arguments."""

    def definitions(self, agent: AgentSpec) -> tuple[ToolDefinition, ...]:
        """Return the tools this agent has."""
        ...

    def definition(self, name: str) -> ToolDefinition | None: ...

    def invalid(self, planned: Planned) -> str | None:
        """Say what is wrong with the arguments, for the model to read; None if they fit."""
        ...

    def measures(self, tool: str) -> bool:
        """Whether `preview` does any work for this tool."""
        ...

    def masked(self, planned: Planned) -> Planned:
        """Return the call with secret values masked, for people to see; never to be executed."""
        ...

    async def preview(self, planned: Planned, context: CallContext) -> Impact | None:
        """Measure what a call would do, without doing it. None if the tool cannot tell."""
        ...

    def execute(self, planned: Planned, context: CallContext) -> AsyncIterator[ToolEvent]:
        """Run it within its time and output limits; the one place where tools run."""
        ...


# ── Policy ───────────────────────────────────────────────────────────────────────────────────────────────


class PolicyInForce(Protocol):
    """The policy of one channel at this moment."""

    @property
    def version(self) -> str: ...

    @property
    def breakpoints(self) -> tuple[Breakpoint, ...]: ...

    @property
    def clarify(self) -> Clarify | None:
        """When to ask before any work; None means never."""
        ...

    def decide(self, call: ToolCall, context: Context) -> Verdict: ...

    def limits_touched(self, call: ToolCall, context: Context) -> tuple[LimitUse, ...]:
        """Return the counters this call would use."""
        ...


class Policies(Protocol):
    def for_channel(self, channel: str) -> PolicyInForce: ...


class People(Protocol):
    """Who somebody is right now; looked up when it matters, never remembered for long."""

    async def person(self, user: UserId) -> Person:
        """Return what is known; a standing of `unknown` where nobody can say."""
        ...


# ── Storage ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A message to be shown, or to be shown again because what it is about has changed."""

    #: The same key is the same message.
    key: str
    thread: Thread
    run_id: RunId
    #: card: an interrupt as it stands · answer: how the run ended · or what a front makes of it.
    kind: str
    #: What it is about: an interrupt's id, or the run's.
    subject: str
    #: Fixed content, for messages that are not rendered from a row.
    body: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DuePost:
    """A post whose turn it is, held by one worker: nobody else writes this message meanwhile."""

    key: str
    thread_id: ThreadId
    run_id: RunId
    kind: str
    subject: str
    body: JsonObject | None
    #: What is shown once this attempt succeeds; a change in between leaves it due again.
    revision: int
    #: Where the message is, once it is anywhere.
    ref: str | None = None
    attempts: int = 0
    #: An earlier attempt got no answer: the message may be there although nobody knows where.
    maybe_sent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFacts:
    """Everything a card shows of an interrupt, as of one moment."""

    asked: Asked
    #: Where its run stands, and how many of its questions are open.
    state: RunState
    left: int
    #: What came of the call, once it is settled.
    result: ToolResult | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """Something a front was sent and must not lose once it said thank you."""

    #: The same for every attempt at this delivery.
    id: str
    kind: str
    body: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Everything one step of a run changes, written in one transaction or not at all."""

    head: Head
    entries: tuple[Entry, ...] = ()
    opened: tuple[Interrupt, ...] = ()
    facts: tuple[AuditFact, ...] = ()
    #: Notes that became entries with this change.
    notes_taken: tuple[int, ...] = ()
    posts: tuple[Post, ...] = ()
    #: The request to stop or to rescope was heeded.
    heeded: bool = False
    #: Counters of limits that this change uses, and grants that calls started with it rely on.
    uses: tuple[str, ...] = ()
    grants_used: tuple[GrantId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something a person wrote while the run was under way."""

    id: int
    item: UserText
    at: datetime


@dataclass(slots=True, kw_only=True)
class Checkpoint:
    """Everything needed to go on elsewhere. The transcript belongs to whoever claimed the run."""

    head: Head
    transcript: list[Entry]
    #: The interrupts this head refers to, as they stand.
    asked: dict[InterruptId, Asked] = field(default_factory=dict[InterruptId, Asked])
    #: Somebody wants it stopped, or wrote something for it.
    cancel: "CancelRequest | None" = None
    noted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequest:
    """Somebody wants the run to stop, or to ask about its scope again before it goes on."""

    by: UserId
    reason: str = ""
    what: Literal["cancel", "rescope"] = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What the store made of a change."""

    #: `ready` although `waiting` was asked for: the last interrupt was settled meanwhile.
    state: RunState
    cancel: CancelRequest | None = None
    #: People wrote something that the run has not taken yet.
    noted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleResult:
    #: False: somebody else was first; `asked` tells who.
    won: bool
    asked: Asked
    #: The run has no open interrupt left and may be claimed.
    run_ready: bool = False
    #: Set if it was claimed with the same transaction.
    checkpoint: Checkpoint | None = None


class Store(Protocol):
    """Runs, transcripts, interrupts and the audit log. Every method is one transaction."""

    async def create(self, change: Change, *, worker: WorkerId | None, request_key: str | None) -> RunId:
        """Store a new run, already claimed by `worker` if its state is `running`.

        If `request_key` was seen before, store nothing and return that run's id.

        Raises:
            IdTaken: another run has this id.
        """
        ...

    async def claim(self, run_id: RunId, worker: WorkerId, now: datetime) -> Checkpoint:
        """Take a ready run; of several claims exactly one succeeds.

        Raises:
            AlreadyResumed: it is running, waiting or over.
            CheckpointNotFound: nobody knows it, or it has expired.
            Corrupt: a row does not decode; the run was set aside.
        """
        ...

    async def commit(self, change: Change, worker: WorkerId, now: datetime) -> Committed:
        """Write a step of a run this worker has claimed.

        A head that says `waiting` is stored as `ready` if no interrupt of the run is open any more.
        A final state withdraws every interrupt that is still open.

        Raises:
            LostRace: the run is not this worker's any more; nothing was written.
            GrantSpent: a grant in `grants_used` cannot be used (any more); nothing was written.
        """
        ...

    async def count_uses(self, keys: Sequence[tuple[str, datetime]]) -> dict[str, int]:
        """Return how often each counter was used since the given time."""
        ...

    async def grants_for(self, thread: Thread, tool: str, now: datetime) -> tuple[Grant, ...]:
        """Return what was remembered for this tool in this thread and its channel, and still holds."""
        ...

    async def revoke(self, grant_id: GrantId, now: datetime, fact: AuditFact) -> bool:
        """End a grant; return whether there was one to end."""
        ...

    async def asked(self, interrupt_id: InterruptId) -> Asked | None: ...

    async def asked_of(self, interrupts: Sequence[InterruptId]) -> dict[InterruptId, Asked]: ...

    async def vote(
        self, interrupt_id: InterruptId, decision: Decision, fact: AuditFact
    ) -> tuple[Decision, ...]:
        """Add one person's vote, once; return all votes if the interrupt is still open, else none."""
        ...

    async def settle(
        self,
        interrupt_id: InterruptId,
        outcome: Outcome,
        facts: Sequence[AuditFact],
        *,
        successor: Interrupt | None = None,
        claim_for: WorkerId | None = None,
        posts: Sequence[Post] = (),
        grant: Grant | None = None,
    ) -> SettleResult:
        """End an open interrupt, or change nothing and tell how it ended. Exactly one caller wins.

        `successor` is opened in the same transaction and takes its place. If it was the last open interrupt
        of a waiting run, the run is claimed for `claim_for` at once, or made ready for anybody. `grant` is
        stored with it, if the caller wins.

        Raises:
            CheckpointNotFound: nobody knows this interrupt.
        """
        ...

    async def fire_due(self, now: datetime, rules: TimeRules, *, limit: int) -> Swept:
        """Fire up to `limit` due timers of open interrupts, the most overdue first.

        A timer is removed in the transaction that writes its effect: in any number of processes, and wherever
        one dies, each fires once.
        """
        ...

    async def fire_overdue(self, interrupt_id: InterruptId, now: datetime, rules: TimeRules) -> Swept:
        """Fire the due timers of one interrupt, for somebody who comes before the sweep does."""
        ...

    async def next_due(self) -> datetime | None:
        """Return when the next timer is due; the cost does not grow with the number of timers."""
        ...

    async def snooze(
        self, interrupt: Interrupt, who: UserId, snoozed: Snoozed, fact: AuditFact
    ) -> Asked | None:
        """Arm a reminder for one person; return the interrupt as it stands, unchanged if it is settled."""
        ...

    async def ask_again(
        self, expired: Asked, successor: Interrupt, facts: Sequence[AuditFact], posts: Sequence[Post]
    ) -> bool:
        """Open `successor` in the place of an expired interrupt whose run still waits for others.

        Returns False, and changes nothing, if the run has gone on or somebody else was first.
        """
        ...

    async def record(self, facts: Sequence[AuditFact]) -> None: ...

    async def note(self, run_id: RunId, item: UserText, at: datetime) -> None:
        """Keep something a person wrote for the agent's next turn."""
        ...

    async def notes(self, run_id: RunId) -> tuple[Note, ...]: ...

    async def request_cancel(self, run_id: RunId, request: CancelRequest, now: datetime) -> RunState:
        """Ask for the run to be stopped: withdraw its interrupts and make a waiting run claimable.

        Returns the state it is in now. Raises CheckpointNotFound, or AlreadyResumed if it is over.
        """
        ...

    async def cancels(self, worker: WorkerId) -> dict[RunId, CancelRequest]:
        """Return the cancel requests for runs this worker owns."""
        ...

    async def release(self, run_id: RunId, worker: WorkerId, now: datetime) -> None:
        """Give a claimed run back, for anybody to claim again."""
        ...

    async def heartbeat(self, worker: WorkerId, now: datetime) -> None: ...

    async def release_orphans(self, worker: WorkerId, now: datetime) -> tuple[RunId, ...]:
        """Make the runs of dead workers ready, and return all runs that wait for a worker.

        The cost does not grow with the number of waiting runs.
        """
        ...

    async def head(self, run_id: RunId) -> Head | None: ...

    async def transcript(self, run_id: RunId) -> list[Entry]:
        """Return the run's whole conversation, with what it continues."""
        ...


# ── Fronts ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    call_id: CallId
    planned: Planned


@dataclass(frozen=True, slots=True, kw_only=True)
class CallProgress:
    call_id: CallId
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished:
    planned: Planned
    result: ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptsOpened:
    interrupts: tuple[Interrupt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    state: Literal["done", "failed", "cancelled", "quarantined"]
    #: The answer, or why there is none.
    text: str


LiveEvent: TypeAlias = (
    TextDelta | Retrying | CallStarted | CallProgress | CallFinished | InterruptsOpened | RunEnded
)


class Front(Protocol):
    """Shows a run's progress as it happens. What must not be lost is in the store, not here."""

    async def show(self, thread: Thread, run_id: RunId, event: LiveEvent) -> None:
        """Show it soon. Must not raise and must not wait for people or slow services."""
        ...


class Ids(Protocol):
    def run(self) -> RunId: ...

    def thread(self) -> ThreadId: ...
