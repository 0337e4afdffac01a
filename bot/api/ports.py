"""What the API needs from the rest, as promises; `wiring.open_api` fits them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias

from bot.domain.audit import AuditFact
from bot.domain.canonical import JsonObject
from bot.domain.ids import InterruptId, RunId, ThreadId, UserId
from bot.domain.interrupt import Asked, Interrupt
from bot.domain.run import AgentSpec, Breakpoint, Head, RunState
from bot.domain.token import Token
from bot.domain.transcript import Entry
from bot.engine.ports import Clock, Ids, ToolDefinition
from bot.engine.runner import Runner
from bot.policy.explain import Explanation

#: Says what is wrong, or nothing.
Check: TypeAlias = Callable[[], Awaitable[str]]


class Figures(Protocol):
    """How things stand in the database."""

    @property
    def runs(self) -> dict[str, int]: ...
    @property
    def open(self) -> dict[tuple[str, str], int]: ...
    @property
    def queues(self) -> dict[str, tuple[int, datetime | None]]: ...


class Store(Protocol):
    """Reading, and the few writes that are the API's own."""

    async def token_by_hash(self, hash_: str) -> Token | None: ...

    async def progress(self, run_id: RunId, entry: int) -> tuple[Head, list[Entry], tuple[Asked, ...]]: ...

    async def touched_since(self, seq: int) -> tuple[int, frozenset[RunId]]: ...

    async def head(self, run_id: RunId) -> Head | None: ...

    async def heads(self, *, state: RunState | None = None, limit: int = 50) -> tuple[Head, ...]: ...

    async def heads_of(self, requester: UserId, *, limit: int = 50) -> tuple[Head, ...]: ...

    async def last_of_thread(self, thread: ThreadId) -> Head | None: ...

    async def transcript(self, run_id: RunId) -> list[Entry]: ...

    async def asked(self, interrupt_id: InterruptId) -> Asked | None: ...

    async def open_interrupts(self, run_id: RunId | None = None) -> tuple[Asked, ...]: ...

    async def interrupts_of(self, run_id: RunId) -> tuple[Asked, ...]: ...

    async def change_waiting(
        self, run_id: RunId, change: Callable[[Head], Head], fact: AuditFact, version: int | None
    ) -> Head: ...

    async def figures(self, now: datetime) -> Figures: ...


class Policy(Protocol):
    """What the API tells of the policy, and takes from it."""

    def agent(self, channel: str) -> AgentSpec: ...

    def breakpoints(self, channel: str) -> tuple[Breakpoint, ...]: ...

    def explain(self, head: Head, interrupt: Interrupt) -> Explanation | None: ...

    def explain_call(self, tool: str, args: JsonObject, channel: str, requester: UserId) -> Explanation: ...

    def tools(self, agent: AgentSpec) -> tuple[ToolDefinition, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a client may cost."""

    body_bytes: int = 1_000_000
    #: A token's requests a minute, and how many of them at once.
    per_minute: float = 240.0
    burst: int = 60
    #: Streams one token may hold open.
    streams: int = 600
    #: How long a request that is not a stream may take.
    seconds: float = 30.0
    #: A stream is closed after so long; the client goes on with its Last-Event-ID.
    stream_seconds: float = 3600.0
    keep_alive_seconds: float = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """From where the API may be called."""

    #: Host headers that are answered; anything else is a rebinding attack or a misconfigured proxy.
    hosts: frozenset[str] = frozenset({"localhost", "127.0.0.1", "::1"})
    #: Origins whose pages may call it; none by default.
    origins: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything the handlers use."""

    runner: Runner
    store: Store
    policy: Policy
    ids: Ids
    clock: Clock
    limits: Limits = Limits()
    access: Access = Access()
    #: What `/readyz` asks besides the database.
    checks: dict[str, Check] = field(default_factory=dict[str, Check])
    #: Also speak the dialect of AG-UI clients before 1.0.
    legacy_agui: bool = False
