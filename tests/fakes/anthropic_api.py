"""A pretend Anthropic API on loopback: real HTTP, real event stream format, and the real API's strictness.

    script = [Reply("Looking.", Call("c1", "read_file", {"path": "a"})), Reply("Done.")]
    async with AnthropicApi(script) as api:
        ...  # a client with base_url=api.url and api_key=api.key
    assert api.bodies[1]["messages"][-1]["content"][0]["tool_use_id"] == "c1"

Each request takes one step of the script. A request the real API would refuse gets the same 400 here, and its
reason is kept in `api.refused`: a fake that accepts an orphaned tool call would hide the worst of our
mistakes.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, Self, TypeAlias, cast

from aiohttp import web

Json: TypeAlias = dict[str, Any]

# ── What a script is made of ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Call:
    """A tool_use block. `raw` is sent instead of `input` as it is, also if it is not JSON."""

    id: str
    name: str
    input: Json = field(default_factory=dict[str, Any])
    raw: str | None = None


@dataclass(frozen=True)
class Thinking:
    text: str
    signature: str


@dataclass(frozen=True)
class Redacted:
    data: str


Part: TypeAlias = str | Call | Thinking | Redacted


class Reply:
    """One complete answer. `stop` is worked out from the parts unless it is given."""

    def __init__(self, *parts: Part, stop: str | None = None, usage: Json | None = None) -> None:
        self.parts = parts
        proposes = any(isinstance(part, Call) for part in parts)
        self.stop = stop or ("tool_use" if proposes else "end_turn")
        self.usage: Json = {"input_tokens": 10, "output_tokens": 5} | (usage or {})


@dataclass(frozen=True)
class Refuse:
    """An HTTP error instead of an answer."""

    status: int
    type: str = "api_error"
    message: str = "vendor text that nobody should see"
    headers: dict[str, str] = field(default_factory=dict[str, str])
    #: An answer that is not the API's own, as a proxy would give.
    text: str | None = None


@dataclass(frozen=True)
class Broken:
    """An answer that starts well and breaks after so many events.

    cut: the connection is lost · end: the stream ends early, but cleanly · stall: nothing more comes ·
    error: an `error` event of type `error_type` · junk: an event whose data is not JSON.
    """

    reply: Reply
    after: int
    how: Literal["cut", "end", "stall", "error", "junk"]
    error_type: str = "overloaded_error"


Step: TypeAlias = Reply | Refuse | Broken | Callable[[Json], Reply | Refuse | Broken]


# ── The server ───────────────────────────────────────────────────────────────────────────────────────────


class AnthropicApi:
    key = "sk-ant-test"

    def __init__(self, steps: Iterable[Step]) -> None:
        self.steps = list(steps)
        #: The JSON of every request that was let in, in order.
        self.bodies: list[Json] = []
        self.headers: list[dict[str, str]] = []
        #: Why requests were refused, in the words of the validator.
        self.refused: list[str] = []
        self.url = ""
        self._closing = asyncio.Event()
        self._taken = 0
        self._paused = False

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/v1/messages", self._messages)
        self._runner = web.AppRunner(app, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        await self._runner.cleanup()

    @property
    def unconsumed(self) -> int:
        return len(self.steps) - self._taken

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        if not self._knows(request):
            return _error(Refuse(401, "authentication_error"))
        body: Json = json.loads(await request.read())
        why = problem(body, paused=self._paused) or (
            "the script is exhausted" if not self.unconsumed else None
        )
        if why:
            self.refused.append(why)
            return _error(Refuse(400, "invalid_request_error", why))
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        step = self._next(body)
        self._paused = isinstance(step, Reply) and step.stop == "pause_turn"
        if isinstance(step, Refuse):
            return _error(step)
        if not body.get("stream"):
            if isinstance(step, Broken):  # An answer that is not streamed can only stall.
                await self._closing.wait()
                step = step.reply
            return web.json_response(_message(body, step), headers={"request-id": "req_test"})
        return await self._stream(request, body, step)

    def _knows(self, request: web.Request) -> bool:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        return self.key in {given, request.headers.get("x-api-key")}

    def _next(self, body: Json) -> Reply | Refuse | Broken:
        step = self.steps[self._taken]
        self._taken += 1
        return step if isinstance(step, Reply | Refuse | Broken) else step(body)

    async def _stream(self, request: web.Request, body: Json, step: Reply | Broken) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream", "request-id": "req_test"})
        await response.prepare(request)
        reply = step if isinstance(step, Reply) else step.reply
        for number, event in enumerate(events(body, reply)):
            if isinstance(step, Broken) and number == step.after:
                await self._break(request, response, step)
                return response
            await response.write(_sse(event["type"], json.dumps(event)))
        return response

    async def _break(self, request: web.Request, response: web.StreamResponse, step: Broken) -> None:
        match step.how:
            case "cut":
                assert request.transport is not None
                request.transport.abort()
            case "stall":
                await self._closing.wait()
            case "error":
                await response.write(_sse("error", json.dumps(_failure(step.error_type, "vendor text"))))
            case "junk":
                await response.write(_sse("content_block_delta", "{not json"))
            case "end":
                pass


def _sse(event: str, data: str) -> bytes:
    return f"event: {event}\ndata: {data}\n\n".encode()


def _failure(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _error(step: Refuse) -> web.Response:
    headers = {"request-id": "req_test", **step.headers}
    if step.text is not None:
        return web.Response(status=step.status, text=step.text, headers=headers)
    return web.json_response(_failure(step.type, step.message), status=step.status, headers=headers)


# ── Answers on the wire ──────────────────────────────────────────────────────────────────────────────────


def _message(body: Json, reply: Reply) -> Json:
    content: list[Json] = [
        {**_opening(part), "input": json.loads(part.raw) if part.raw is not None else part.input}
        if isinstance(part, Call)
        else {"type": "text", "text": part}
        for part in reply.parts
        if isinstance(part, Call | str)
    ]
    return {**_head(body, reply), "content": content, "stop_reason": reply.stop}


def _head(body: Json, reply: Reply) -> Json:
    return {
        "id": "msg_test",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**reply.usage, "output_tokens": 1},
    }


def events(body: Json, reply: Reply) -> Iterator[Json]:
    """Yield the events of one answer, as the real API sends them."""
    yield {"type": "message_start", "message": _head(body, reply)}
    yield {"type": "ping"}
    for index, part in enumerate(reply.parts):
        yield {"type": "content_block_start", "index": index, "content_block": _opening(part)}
        for delta in _deltas(part):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": reply.stop, "stop_sequence": None},
        "usage": {"output_tokens": reply.usage["output_tokens"]},
    }
    yield {"type": "message_stop"}


def _opening(part: Part) -> Json:
    match part:
        case str():
            return {"type": "text", "text": ""}
        case Call():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
        case Thinking():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case Redacted():
            return {"type": "redacted_thinking", "data": part.data}


def _deltas(part: Part) -> list[Json]:
    match part:
        case str():
            return [{"type": "text_delta", "text": word} for word in re.findall(r"\S+\s*|\s+", part)]
        case Call():
            raw = part.raw if part.raw is not None else json.dumps(part.input)
            half = len(raw) // 2
            pieces = ("", raw[:half], raw[half:])
            return [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        case Thinking():
            return [
                {"type": "thinking_delta", "thinking": part.text},
                {"type": "signature_delta", "signature": part.signature},
            ]
        case Redacted():
            return []


# ── What the real API refuses ────────────────────────────────────────────────────────────────────────────

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ID = re.compile(r"[a-zA-Z0-9_-]+")


def problem(body: Json, *, paused: bool = False) -> str | None:
    """Say why the real API would answer 400 to this request; None if it would not.

    After a `pause_turn`, and only then, the conversation may end with the model's own words.
    """
    return next(_problems(body, paused=paused), None)


def _problems(body: Json, *, paused: bool) -> Iterator[str]:
    given: list[Json] = body.get("messages") or []
    messages = [{**message, "content": _blocks(message["content"])} for message in given]
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model: field required"
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        yield "max_tokens: must be at least 1"
    if (marks := _count_marks(body)) > 4:
        yield f"a maximum of 4 blocks with cache_control may be provided. Found {marks}."
    yield from _tool_problems(body)
    yield from _blank_text("system", _blocks(body.get("system") or []))
    yield from _role_problems(messages, may_end="assistant" if paused else "user")
    yield from _pair_problems(messages)
    for place, message in enumerate(messages):
        yield from _content_problems(f"messages.{place}", message)


def _blocks(content: str | list[Json]) -> list[Json]:
    """Plain words are short for one text block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _tool_problems(body: Json) -> Iterator[str]:
    tools: list[Json] = body.get("tools") or []
    names = [tool["name"] for tool in tools]
    for place, tool in enumerate(tools):
        if not _NAME.fullmatch(tool["name"]):
            yield f"tools.{place}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        if tool.get("input_schema", {}).get("type") != "object":
            yield f"tools.{place}.custom.input_schema.type: Field required"
    if len(set(names)) != len(names):
        yield "tools: Tool names must be unique."
    choice: Json = body.get("tool_choice") or {}
    if choice.get("type") == "tool" and choice["name"] not in names:
        yield f"Tool {choice['name']!r} not found in provided tools"


def _role_problems(messages: list[Json], *, may_end: str) -> Iterator[str]:
    roles = [message["role"] for message in messages]
    if not roles:
        yield "messages: at least one message is required"
        return
    if roles[0] != "user":
        yield "messages: first message must use the user role"
    if roles[-1] not in {"user", may_end}:
        yield "This model does not support assistant message prefill."
    # The real API joins neighbours of one role; ours never sends them, because what it joins is not what we
    # cached.
    if any(one == other for one, other in pairwise(roles)):
        yield "messages: roles must alternate"


def _pair_problems(messages: list[Json]) -> Iterator[str]:
    seen: set[str] = set()
    open_ids: list[str] = []
    for place, message in enumerate(messages):
        blocks: list[Json] = message["content"]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if foreign := [each for each in answered if each not in open_ids]:
            yield f"messages.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {foreign}"
        if missing := [each for each in open_ids if each not in answered]:
            yield f"messages.{place}: `tool_use` ids were found without `tool_result` blocks: {missing}"
        if len(set(answered)) != len(answered):
            yield f"messages.{place}: each tool_use must have a single result"
        if answered != open_ids and sorted(answered) == sorted(open_ids):
            # Harmless to the real API, but we promise it.
            yield f"messages.{place}: results are not in the order of the calls"
        open_ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if seen & set(open_ids) or len(set(open_ids)) != len(open_ids):
            yield f"messages.{place}: `tool_use` ids must be unique"
        seen |= set(open_ids)
    if open_ids:
        yield f"`tool_use` ids were found without `tool_result` blocks: {open_ids}"


def _content_problems(where: str, message: Json) -> Iterator[str]:
    blocks: list[Json] = message["content"]
    types = [block["type"] for block in blocks]
    allowed = _USER if message["role"] == "user" else _ASSISTANT
    if not blocks:
        yield f"{where}: content must be non-empty"
    if foreign := set(types) - allowed:
        yield f"{where}: blocks {sorted(foreign)} are not allowed for role {message['role']}"
    if "tool_result" in types and "text" in types[: types.index("tool_result")]:
        yield f"{where}: tool_result blocks must come first"
    if types and types[-1] in {"thinking", "redacted_thinking"}:
        yield f"{where}: The final block in an assistant message cannot be `thinking`."
    yield from _blank_text(where, blocks)
    for block in blocks:
        yield from _block_problems(where, block)


_USER = {"text", "tool_result"}
_ASSISTANT = {"text", "tool_use", "thinking", "redacted_thinking"}


def _blank_text(where: str, blocks: list[Json]) -> Iterator[str]:
    if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
        yield f"{where}: text content blocks must contain non-whitespace text"


def _block_problems(where: str, block: Json) -> Iterator[str]:
    match block["type"]:
        case "tool_use":
            yield from _call_problems(where, block)
        case "tool_result" if not isinstance(block["content"], str):
            yield f"{where}: this fake knows results as text only"
        case "thinking" if not block.get("signature"):
            yield f"{where}: thinking.signature: Field required"
        case _:
            pass


def _call_problems(where: str, block: Json) -> Iterator[str]:
    if not _NAME.fullmatch(block["name"]):
        yield f"{where}: tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
    if not _ID.fullmatch(block["id"]):
        yield f"{where}: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
    if not isinstance(block["input"], dict):
        yield f"{where}: tool_use.input: Input should be a valid dictionary"


def _count_marks(value: object) -> int:
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return ("cache_control" in fields) + sum(_count_marks(each) for each in fields.values())
    if isinstance(value, list):
        return sum(_count_marks(each) for each in cast("list[object]", value))
    return 0
