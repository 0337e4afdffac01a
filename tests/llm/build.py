"""Short words for the values these tests are about."""

from collections.abc import Sequence
from datetime import UTC, datetime

from bot.domain.canonical import JsonObject
from bot.domain.ids import CallId, UserId
from bot.domain.run import AgentSpec
from bot.domain.tool import ResultStatus, ToolCall, ToolDefinition, ToolResult
from bot.domain.transcript import CallBlock, Entry, Item, ModelTurn, TextBlock, UserText
from bot.engine.ports import Model, ModelEvent, ModelRequest, TextDelta

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def entries(*items: Item) -> list[Entry]:
    return [Entry(seq=seq, at=AT, item=item) for seq, item in enumerate(items)]


def user(text: str, author: str = "U1") -> UserText:
    return UserText(author=UserId(author), text=text)


def answer(text: str) -> ModelTurn:
    return ModelTurn(blocks=(TextBlock(text=text),))


def tool_call(call_id: str, tool: str = "read_file", args: JsonObject | None = None) -> ToolCall:
    return ToolCall(id=CallId(call_id), tool=tool, args=args if args is not None else {})


def proposal(*calls: ToolCall, text: str = "") -> ModelTurn:
    words = (TextBlock(text=text),) if text else ()
    return ModelTurn(blocks=(*words, *(CallBlock(call=call) for call in calls)), stop="tools")


def result(call_id: str, text: str = "done", status: ResultStatus = "ok", notice: str = "") -> ToolResult:
    return ToolResult(call_id=CallId(call_id), status=status, text=text, notice=notice)


def tool(name: str, **properties: JsonObject) -> ToolDefinition:
    return ToolDefinition(
        name=name, description=f"The tool {name}.", parameters={"type": "object", "properties": properties}
    )


def request(
    *items: Item, tools: Sequence[ToolDefinition] = (), system: str = "You ask before you act."
) -> ModelRequest:
    return ModelRequest(
        agent=AgentSpec(model="claude-test", max_tokens=100),
        system=system,
        transcript=entries(*items),
        tools=tuple(tools),
    )


async def events_of(model: Model, asked: ModelRequest) -> list[ModelEvent]:
    return [event async for event in model.stream(asked)]


async def turn_of(model: Model, asked: ModelRequest) -> ModelTurn:
    """Return the turn, after checking the promise of the port: exactly one turn, and it comes last."""
    events = await events_of(model, asked)
    turns = [event for event in events if isinstance(event, ModelTurn)]
    assert len(turns) == 1
    assert events[-1] is turns[0]
    return turns[0]


def streamed(events: Sequence[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))
