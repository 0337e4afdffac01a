"""A conversation as the Messages API wants it. Pure.

The API is strict where a transcript is not: every `tool_use` needs its `tool_result` in the very next
message, roles alternate, blank text and foreign tool names are refused, and one mistake makes the whole
thread unusable. So whatever the transcript looks like (stopped half way, results missing, two notes in a
row), what comes out of here is accepted.

The whole transcript is mapped for every request. 800 entries take about a millisecond, much less than
encoding them as JSON; a remembered, partly mapped conversation could get out of step with a transcript that
was resumed in another process, for no gain that anybody would notice.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

from bot.domain.canonical import JsonObject
from bot.domain.ids import CallId
from bot.domain.tool import ResultStatus, ToolDefinition, ToolResult
from bot.domain.transcript import (
    Block,
    CallBlock,
    DraftEdited,
    Entry,
    ModelTurn,
    OpaqueBlock,
    TextBlock,
    UserText,
)
from bot.engine.ports import ModelRequest

#: Stands in for the result of a call that has none.
NOT_RUN = "not executed: the run was stopped before this call ran"
#: Stands in for words of a person where the API needs some and nobody said any.
NO_REQUEST = "(no request)"
GO_ON = "(please go on)"
NO_OUTPUT = "(no output)"

# Only `error` is sent as an error. Claude tries again when a call *failed*; what people or the policy decided
# is not a failure, and sending it as one makes the model repeat the call for ever.
_IS_ERROR: frozenset[ResultStatus] = frozenset({"error"})
_LABELS: Mapping[ResultStatus, str] = {
    "denied": "[denied by the policy]",
    "declined": "[declined by a person]",
    "timed_out": "[timed out: nobody answered]",
    "cancelled": "[cancelled]",
    "unknown": "[outcome unknown]",
}

_CACHE_HERE: JsonObject = {"type": "ephemeral"}


def body(request: ModelRequest) -> JsonObject:
    """Return the arguments of `messages.create` for this request."""
    mapped: JsonObject = {
        "model": request.agent.model,
        "max_tokens": request.agent.max_tokens,
        "messages": cached(messages(request.transcript)),
    }
    tools = tool_params(request.tools)
    system = system_blocks(request.system)
    # The cached prefix is tools, then system: one mark at the end of both is enough.
    if system:
        system[-1]["cache_control"] = _CACHE_HERE
        mapped["system"] = system
    elif tools:
        tools[-1]["cache_control"] = _CACHE_HERE
    if tools:
        mapped["tools"] = tools
    return mapped


def system_blocks(system: str) -> list[JsonObject]:
    return _text(system)


def tool_params(tools: Iterable[ToolDefinition]) -> list[JsonObject]:
    return [
        {
            "name": wire_name(tool.name),
            "description": tool.description,
            "input_schema": {"type": "object", **tool.parameters},
        }
        for tool in tools
    ]


def cached(mapped: list[JsonObject]) -> list[JsonObject]:
    """Mark the newest two user messages for the prompt cache.

    The newest writes what the next request will read. The one before it is where the last request wrote: the
    API looks only about twenty blocks back from a mark, and a turn with many calls is longer than that.
    """
    marked = [message for message in mapped if message["role"] == "user"][-2:]
    for message in marked:
        message["content"][-1]["cache_control"] = _CACHE_HERE
    return mapped


# ── Messages ─────────────────────────────────────────────────────────────────────────────────────────────


def messages(transcript: Sequence[Entry]) -> list[JsonObject]:
    """Return the conversation as alternating messages that begin and end with the user."""
    items = _as_posted(transcript)
    talk = _Talk(several=len({item.author for item in items if isinstance(item, UserText)}) > 1)
    for item in items:
        match item:
            case ModelTurn():
                talk.model(item)
            case ToolResult():
                talk.results.setdefault(item.call_id, item)
            case UserText():
                talk.user(item)
    return talk.end()


def assistant_content(turn: ModelTurn) -> list[JsonObject]:
    """Return a turn's blocks as the API wants them back; empty if nothing of it can be sent."""
    return _assistant(turn, _Ids())[0]


def _as_posted(transcript: Sequence[Entry]) -> list[UserText | ModelTurn | ToolResult]:
    """Leave out what is not for the model, and let it see its answers as people saw them."""
    items: list[UserText | ModelTurn | ToolResult] = []
    newest: tuple[int, ModelTurn] | None = None
    for entry in transcript:
        match entry.item:
            case ModelTurn() as turn:
                newest = (len(items), turn)
                items.append(turn)
            case UserText() | ToolResult() as item:
                items.append(item)
            case DraftEdited(text=text) if newest is not None:
                place, turn = newest
                items[place] = _reworded(turn, text)
            case _:
                # A HumanDecision: the tool's result tells the model what came of it.
                pass
    return items


def _reworded(turn: ModelTurn, text: str) -> ModelTurn:
    opaque = tuple(block for block in turn.blocks if isinstance(block, OpaqueBlock))
    proposed = tuple(block for block in turn.blocks if isinstance(block, CallBlock))
    # Posted means it was not refused, whatever the model said first.
    return ModelTurn(blocks=(*opaque, TextBlock(text=text), *proposed))


class _Ids:
    """Call ids as the API accepts them: unique in the conversation, made of letters, digits, `_` and `-`."""

    _VALID = re.compile(r"[a-zA-Z0-9_-]{1,64}")

    def __init__(self) -> None:
        self._used: set[str] = set()

    def take(self, call_id: str) -> str:
        wire = call_id if self._VALID.fullmatch(call_id) else "call"
        number = len(self._used)
        while wire in self._used:
            wire, number = f"call_{number}", number + 1
        self._used.add(wire)
        return wire


class _Talk:
    """The messages so far, and what waits to become the next user message."""

    def __init__(self, *, several: bool) -> None:
        self.messages: list[JsonObject] = []
        #: What came of the newest turn's calls.
        self.results: dict[CallId, ToolResult] = {}
        self._several = several
        self._ids = _Ids()
        self._open: list[tuple[CallId, str]] = []
        self._texts: list[JsonObject] = []

    def user(self, item: UserText) -> None:
        if item.text.strip():
            self._texts += _text(f"{item.author}: {item.text}" if self._several else item.text)

    def model(self, turn: ModelTurn) -> None:
        content, opened = _assistant(turn, self._ids)
        if not content:
            return
        self._flush()
        if not self.messages:
            self._add("user", _text(NO_REQUEST))
        self._add("assistant", content)
        self._open = opened

    def end(self) -> list[JsonObject]:
        self._flush()
        if not self.messages:
            self._add("user", _text(NO_REQUEST))
        elif self.messages[-1]["role"] == "assistant":
            # Ending with the model's words would ask it to continue them in mid-sentence; newer models
            # refuse.
            self._add("user", _text(GO_ON))
        return self.messages

    def _flush(self) -> None:
        """Close the user message: the results of all calls, in the order of the calls, then the words."""
        content = [_result(wire, self.results.get(call_id)) for call_id, wire in self._open]
        content += self._texts
        if content:
            self._add("user", content)
        self.results, self._open, self._texts = {}, [], []

    def _add(self, role: str, content: list[JsonObject]) -> None:
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"] += content
        else:
            self.messages.append({"role": role, "content": content})


def _assistant(turn: ModelTurn, ids: _Ids) -> tuple[list[JsonObject], list[tuple[CallId, str]]]:
    """Return a turn's content, and its calls with the ids they go by in it."""
    content: list[JsonObject] = []
    opened: list[tuple[CallId, str]] = []
    # The API asks not to be shown what it refused to say: it would refuse again.
    for block in () if turn.stop == "refusal" else _sendable(turn.blocks):
        match block:
            case TextBlock(text=text):
                content += _text(text)
            case OpaqueBlock(data=data):
                content.append(data)
            case CallBlock(call=call):
                wire = ids.take(call.id)
                opened.append((call.id, wire))
                args = {} if call.malformed is not None else call.args
                content.append({"type": "tool_use", "id": wire, "name": wire_name(call.tool), "input": args})
    return content, opened


def _sendable(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Cut off thinking that leads nowhere, which the API refuses as the end of a message."""
    end = len(blocks)
    while end and (isinstance(last := blocks[end - 1], OpaqueBlock) or _blank(last)):
        end -= 1
    return blocks[:end]


def _blank(block: Block) -> bool:
    return isinstance(block, TextBlock) and not block.text.strip()


def _result(wire: str, result: ToolResult | None) -> JsonObject:
    if result is None:
        return {"type": "tool_result", "tool_use_id": wire, "content": NOT_RUN}
    label = _LABELS.get(result.status, "")
    parts = [part for part in (label, result.notice, result.text) if part.strip()]
    mapped: JsonObject = {
        "type": "tool_result",
        "tool_use_id": wire,
        "content": encodable("\n".join(parts) or NO_OUTPUT),
    }
    if result.status in _IS_ERROR:
        mapped["is_error"] = True
    return mapped


def _text(text: str) -> list[JsonObject]:
    """Return one text block, or none: the API refuses blank ones."""
    return [{"type": "text", "text": encodable(text)}] if text.strip() else []


def encodable(text: str) -> str:
    """Replace half characters (lone surrogates), which neither a request nor a database can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


# ── Tool names ───────────────────────────────────────────────────────────────────────────────────────────

#: What the API allows, without the two prefixes that are ours.
_PLAIN = re.compile(r"(?!mcp__|tool__)[a-zA-Z0-9_-]{1,128}")
# The server's part has no double underscore and no underscore at its end, so that `__` splits it in one way
# only.
_MCP = re.compile(r"mcp:([a-zA-Z0-9-]+(?:_[a-zA-Z0-9-]+)*)/([a-zA-Z0-9_-]+)")
_FOREIGN = re.compile(r"[^a-zA-Z0-9-]+")


def wire_name(name: str) -> str:
    """Return the tool's name as the API allows it; different names stay different.

    `read_file` stays, `mcp:github/get_issue` becomes `mcp__github__get_issue`, and whatever fits neither
    becomes `tool__<what is readable of it>__<digest>`. Only we make names with these prefixes, so none meets
    another.
    """
    if _PLAIN.fullmatch(name):
        return name
    if (match := _MCP.fullmatch(name)) and len(wire := f"mcp__{match[1]}__{match[2]}") <= 128:
        return wire
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"tool__{_FOREIGN.sub('-', name)[:90]}__{mark}"


def own_names(tools: Iterable[ToolDefinition]) -> dict[str, str]:
    """Return the way back: the name each tool has here, by the name the model calls it."""
    return {wire_name(tool.name): tool.name for tool in tools}
