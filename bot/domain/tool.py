"""What tools are, what the model proposes, and what came of it."""

from dataclasses import dataclass, field
from typing import Literal

from bot.domain.canonical import JsonObject, digest
from bot.domain.ids import CallId


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """The MCP annotation words. The defaults are the careful ones: an unknown tool may do anything."""

    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True

    @property
    def repeatable(self) -> bool:
        """Whether running twice is as good as once, so that a crash needs no question."""
        return self.read_only or self.idempotent


READS = Effects(read_only=True, destructive=False, idempotent=True, open_world=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """What the model and the policy know of a tool."""

    name: str
    description: str
    #: JSON schema of the arguments; its `properties` are the only arguments a call may have.
    parameters: JsonObject
    effects: Effects = Effects()
    #: Whether the effects may be believed: our own tools, or an MCP server marked trusted.
    trusted: bool = True
    #: Names of arguments that hold file system paths, working directories, shell text or URLs.
    paths: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    #: Whether it runs in the asker's own client, which answers its calls.
    client: bool = False

    #: Changes when the tool's description or schema changes; approvals and grants are bound to it.
    fingerprint: str = field(init=False, default="")

    def __post_init__(self) -> None:
        # Computed once: a verdict needs it each time, and hashing a large schema costs more than judging.
        made = digest([self.name, self.description, self.parameters])[:16]
        object.__setattr__(self, "fingerprint", made)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call as the model proposed it."""

    id: CallId
    tool: str
    args: JsonObject
    #: The raw text of arguments that were not JSON; such a call is never run.
    malformed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What would be executed: the tool and its exact arguments."""

    tool: str
    args: JsonObject

    @property
    def digest(self) -> str:
        return digest([self.tool, self.args])


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another way to do what was planned, measured by the tool itself."""

    label: str
    consequence: str
    planned: Planned
    impact: "Impact | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """What a tool's preview measured before running."""

    summary: str
    count: int | None = None
    bytes: int | None = None
    samples: tuple[str, ...] = ()
    #: None means that nobody knows.
    reversible: bool | None = None
    #: Identity of what would be touched; if it is set, any difference before execution asks again.
    fingerprint: str | None = None
    #: Further measured facts, shown as they are ("oldest": "2019-03-01").
    facts: dict[str, str] = field(default_factory=dict[str, str])
    alternatives: tuple[Alternative, ...] = ()
    #: A unified diff or other preformatted text to show.
    detail: str = ""


#: What became of a call. `declined` and `timed_out` are different things, and the model is told which.
ResultStatus = Literal["ok", "error", "denied", "declined", "timed_out", "cancelled", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What came of a call, as the model will read it."""

    call_id: CallId
    status: ResultStatus
    text: str
    #: Told to the model before the text, e.g. that a person changed the arguments.
    notice: str = ""
    #: Milliseconds the tool ran; None if it did not.
    took_ms: int | None = None
    kind: Literal["result"] = "result"
