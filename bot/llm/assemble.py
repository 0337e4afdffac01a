"""Puts a turn together from the events of a stream.

The SDK's own accumulator raises on arguments that are not JSON, in the middle of a stream; here they become a
malformed call, which the model is told about and can mend.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from anthropic.types import (
    InputJSONDelta,
    MessageDeltaUsage,
    RawContentBlockDelta,
    RawMessageStreamEvent,
    SignatureDelta,
    TextDelta,
    ThinkingDelta,
)
from anthropic.types import Usage as WireUsage

from bot.domain.canonical import JsonObject, canonical
from bot.domain.ids import CallId
from bot.domain.tool import ToolCall
from bot.domain.transcript import Block, CallBlock, ModelTurn, OpaqueBlock, StopReason, TextBlock, Usage
from bot.llm.mapping import encodable

_STOPS: Mapping[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tools",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_full",
}


class Assembly:
    def __init__(self, names: Mapping[str, str]) -> None:
        #: Our names of the tools by the names they were sent with.
        self._names = names
        self._blocks: dict[int, JsonObject] = {}
        self._json: dict[int, str] = {}
        self._counts: dict[str, int] = {}
        self._stop: str | None = None
        self._model = ""
        #: Whether the stream said itself that it is over.
        self.complete = False

    @property
    def paused(self) -> bool:
        """Whether the service stopped to take breath and wants to be asked to go on."""
        return self._stop == "pause_turn"

    def feed(self, event: RawMessageStreamEvent) -> str:
        """Take in one event; return the text it adds to the answer."""
        match event.type:
            case "message_start":
                self._model = event.message.model
                self._count(event.message.usage)
            case "content_block_start":
                self._blocks[event.index] = event.content_block.to_dict()
            case "content_block_delta":
                return self._grow(event.index, event.delta)
            case "message_delta":
                self._stop = event.delta.stop_reason
                self._count(event.usage)
            case "message_stop":
                self.complete = True
            case _:
                pass
        return ""

    def turn(self) -> ModelTurn:
        return ModelTurn(
            blocks=tuple(self._block(index, self._blocks[index]) for index in sorted(self._blocks)),
            # A reason that is new to us must not lose the answer.
            stop=_STOPS.get(self._stop or "", "end"),
            usage=Usage(**self._counts),
            model=self._model,
        )

    def _grow(self, index: int, delta: RawContentBlockDelta) -> str:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        match delta:
            case TextDelta(text=text):
                text = encodable(text)
                block["text"] += text
                return text
            case InputJSONDelta(partial_json=piece):
                self._json[index] = self._json.get(index, "") + piece
            case ThinkingDelta(thinking=thinking):
                block["thinking"] += thinking
            case SignatureDelta(signature=signature):
                block["signature"] = signature
            case _:
                # Citations: we offer nothing that could be cited.
                pass
        return ""

    def _block(self, index: int, block: JsonObject) -> Block:
        match block["type"]:
            case "text":
                return TextBlock(text=block["text"])
            case "tool_use":
                return CallBlock(call=self._call(block, self._json.get(index, "")))
            case _:
                return OpaqueBlock(data=block)

    def _call(self, block: JsonObject, raw: str) -> ToolCall:
        call_id, tool = CallId(block["id"]), self._names.get(block["name"], block["name"])
        # A call without arguments has no JSON at all; some gateways send all of it with the block's start.
        args = arguments(raw) if raw.strip() else block.get("input") or {}
        if args is None:
            return ToolCall(id=call_id, tool=tool, args={}, malformed=encodable(raw))
        return ToolCall(id=call_id, tool=tool, args=args)

    def _count(self, usage: WireUsage | MessageDeltaUsage) -> None:
        """Keep the newest numbers: those at the end are totals, but not all of them are repeated there."""
        found = {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_tokens": usage.cache_read_input_tokens,
            "cache_write_tokens": usage.cache_creation_input_tokens,
        }
        self._counts |= {name: count for name, count in found.items() if count is not None}


def arguments(raw: str) -> JsonObject | None:
    """Return the arguments of a call; None if they are not an object that we can store and send back."""
    try:
        value: Any = json.loads(raw)
        # Python reads NaN, Infinity and half characters, which are not JSON for anybody else.
        canonical(value).encode()
    except (ValueError, RecursionError):
        return None
    return cast("JsonObject", value) if isinstance(value, dict) else None
