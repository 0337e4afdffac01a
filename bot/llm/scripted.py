"""A model that answers from a script, for tests and benchmarks."""

from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import replace
from typing import TypeAlias

from bot.domain.canonical import JsonObject
from bot.domain.ids import CallId
from bot.domain.tool import ToolCall
from bot.domain.transcript import Block, CallBlock, ModelTurn, StopReason, TextBlock
from bot.engine.ports import ModelEvent, ModelRequest, TextDelta

#: A turn; or what to make of a request; or an error that the model raises instead of answering.
Step: TypeAlias = ModelTurn | Callable[[ModelRequest], ModelTurn] | Exception


class ScriptError(AssertionError):
    """The script and the conversation do not fit: a failed test, not an unavailable model."""


class ScriptedModel:
    """Takes one step per request, in order, and remembers what it was asked.

    The transcript of a request grows in place, so each request is kept with a copy of it as it was.
    """

    def __init__(self, steps: Iterable[Step]) -> None:
        self.steps: tuple[Step, ...] = tuple(steps)
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        turn = self._next(request)
        for block in turn.blocks:
            if isinstance(block, TextBlock) and block.text:
                yield TextDelta(text=block.text)
        yield turn

    @property
    def unconsumed(self) -> int:
        return max(0, len(self.steps) - len(self.requests))

    def assert_consumed(self) -> None:
        """Fail if the conversation ended before the script did."""
        if self.unconsumed:
            raise ScriptError(f"{self.unconsumed} of {len(self.steps)} scripted steps were never asked for")

    def _next(self, request: ModelRequest) -> ModelTurn:
        number = len(self.requests)
        self.requests.append(replace(request, transcript=tuple(request.transcript)))
        if number >= len(self.steps):
            last = type(request.transcript[-1].item).__name__ if request.transcript else "nothing"
            raise ScriptError(
                f"the model was asked {number + 1} times but the script has {len(self.steps)} steps;"
                f" the conversation ends in {last}"
            )
        step = self.steps[number]
        if isinstance(step, Exception):
            raise step
        return _named(step if isinstance(step, ModelTurn) else step(request), len(request.transcript))


def _named(turn: ModelTurn, place: int) -> ModelTurn:
    """Give calls without an id one that no other turn of this conversation has, also after a restart."""
    blocks: list[Block] = []
    for index, block in enumerate(turn.blocks):
        if isinstance(block, CallBlock) and not block.call.id:
            named = replace(block.call, id=CallId(f"call-{place}-{index}"))
            blocks.append(CallBlock(call=named))
        else:
            blocks.append(block)
    return replace(turn, blocks=tuple(blocks))


def say(text: str, *, stop: StopReason = "end") -> ModelTurn:
    """Return a turn of words only, which ends the run."""
    return ModelTurn(blocks=(TextBlock(text=text),), stop=stop, model="scripted")


# `id` is what tests call it; the shadowed builtin is not needed here.
def tool_call(tool: str, args: JsonObject, *, id: str = "") -> ToolCall:  # noqa: A002
    """Return a call, for `calls`. Without an `id` the model gives it one when it proposes it."""
    return ToolCall(id=CallId(id), tool=tool, args=args)


def call(tool: str, args: JsonObject, *, id: str = "", text: str = "") -> ModelTurn:  # noqa: A002
    """Return a turn that proposes one call, after some words if `text` is given."""
    return calls(tool_call(tool, args, id=id), text=text)


def calls(*proposed: ToolCall, text: str = "") -> ModelTurn:
    """Return a turn that proposes several calls side by side."""
    words: tuple[Block, ...] = (TextBlock(text=text),) if text else ()
    blocks = tuple(CallBlock(call=each) for each in proposed)
    return ModelTurn(blocks=words + blocks, stop="tools", model="scripted")
