"""What happened in a run, entry by entry. Entries are appended, never changed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from bot.domain.canonical import JsonObject
from bot.domain.decision import Outcome
from bot.domain.ids import InterruptId, UserId
from bot.domain.tool import ToolCall, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class UserText:
    """A request, or something a person wrote while the run was under way."""

    author: UserId
    text: str
    kind: Literal["user"] = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBlock:
    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBlock:
    call: ToolCall
    type: Literal["call"] = "call"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueBlock:
    """Something only the model's vendor understands (signed thinking); it must go back unchanged."""

    data: JsonObject
    type: Literal["opaque"] = "opaque"


Block: TypeAlias = TextBlock | CallBlock | OpaqueBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
        )


StopReason = Literal["end", "tools", "max_tokens", "refusal", "context_full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurn:
    """One answer of the model: words and proposed calls, in its order."""

    blocks: tuple[Block, ...]
    stop: StopReason = "end"
    usage: Usage = Usage()
    model: str = ""
    kind: Literal["model"] = "model"

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(block.call for block in self.blocks if isinstance(block, CallBlock))


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanDecision:
    """How an interrupt of this run ended."""

    interrupt_id: InterruptId
    outcome: Outcome
    kind: Literal["decision"] = "decision"


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftEdited:
    """A person replaced the model's final text before it was posted."""

    by: UserId
    text: str
    kind: Literal["draft"] = "draft"


Item: TypeAlias = UserText | ModelTurn | ToolResult | HumanDecision | DraftEdited


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An item with its place in the run."""

    seq: int
    at: datetime
    item: Item
