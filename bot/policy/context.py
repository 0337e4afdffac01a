"""Everything a verdict may depend on besides the call itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from bot.domain.grant import Grant
from bot.domain.ids import ThreadId, UserId
from bot.domain.scope import ScopeContract
from bot.domain.tool import Impact, ToolDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The situation of one call. A missing value never loosens a verdict."""

    #: None means that nobody knows such a tool.
    tool: ToolDefinition | None
    now: datetime
    requester: UserId = UserId("")
    thread: ThreadId = ThreadId("")
    channel: str = ""
    cwd: str = "/"
    environment: str = ""
    impact: Impact | None = None
    scope: ScopeContract | None = None
    grants: tuple[Grant, ...] = ()
    #: How often each of the policy's limits was used within its window: limit id → count.
    recent: Mapping[str, int] = field(default_factory=dict[str, int])
    #: Fingerprints of pinned tool definitions: tool name → fingerprint that was approved.
    pins: Mapping[str, str] = field(default_factory=dict[str, str])
    #: Nobody can be asked: whatever would ask is denied.
    headless: bool = False
