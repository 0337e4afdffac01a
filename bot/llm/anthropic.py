"""Claude behind the `Model` port: one streamed request per turn, tried again in the open."""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from itertools import count
from typing import Any, Self, cast

import anthropic
import httpx2
import jsonschema_rs
from anthropic.types import RawMessageStreamEvent, ToolParam

from bot.domain.canonical import JsonObject
from bot.domain.errors import ConfigError, ModelUnavailable
from bot.domain.transcript import ModelTurn
from bot.engine.ports import ModelEvent, ModelRequest, Retrying, TextDelta
from bot.llm import mapping
from bot.llm.assemble import Assembly
from bot.llm.faults import BROKE_OFF, ContextFull, Transient, translate

#: Without advice from the service: 1, 2, 4, 8 … seconds, at most this long.
LONGEST_BACK_OFF = 30.0
#: If the service asks for more than this, people are told instead of kept waiting.
LONGEST_WAIT = 120.0
#: How often an answer may pause before we take what there is.
MOST_PAUSES = 5


class AnthropicModel:
    """Use it as an async context manager, or call `close`."""

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str | None = None,
        max_retries: int = 4,
        connect_seconds: float = 10,
        #: How long a stream may be silent, pings included, before it counts as cut off.
        idle_seconds: float = 90,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._max_retries = max_retries
        self._sleep, self._jitter = sleep, jitter
        # At DEBUG level the SDK logs whole requests, that is, what people wrote and what tools read.
        logging.getLogger("anthropic").setLevel(logging.INFO)
        self._client = anthropic.AsyncAnthropic(
            api_key=_checked_key(api_key),
            base_url=_checked_url(base_url),
            timeout=anthropic.Timeout(idle_seconds, connect=connect_seconds),
            # Ours are visible to people; the SDK's would be silent, and would multiply ours.
            max_retries=0,
            open_telemetry=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._client.close()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        body, names = mapping.body(request), mapping.own_names(request.tools)
        for attempt in count(1):
            spoke = False
            try:
                async with aclosing(self._attempt(body, names)) as events:
                    async for event in events:
                        spoke = True
                        yield event
            except ContextFull:
                yield ModelTurn(blocks=(), stop="context_full", model=request.agent.model)
                return
            except Transient as fault:
                wait = self._wait(fault, attempt)
                retrying = Retrying(attempt=attempt, wait_seconds=wait, why=fault.why, void=spoke)
            else:
                return
            yield retrying
            await self._sleep(wait)

    async def structured(
        self,
        *,
        model: str,
        system: str,
        prompt: str,
        schema: JsonObject,
        within: float,
        max_tokens: int = 1024,
    ) -> JsonObject:
        """Return the model's answer as an object that fits `schema`. Asks once.

        Raises:
            ModelUnavailable: it did not answer within so many seconds, or not in this form.
            ConfigError: the key, the address or the model's name is wrong.
        """
        tool: ToolParam = {
            "name": "answer",
            "description": "Give your answer in this form.",
            # The API enforces a part of JSON schema; the rest becomes description, and is checked below.
            "input_schema": anthropic.transform_schema(schema),
            "strict": True,
        }
        try:
            async with asyncio.timeout(within):
                message = await self._client.messages.create(
                    model=model,
                    max_tokens=max_tokens,
                    system=system,
                    messages=[{"role": "user", "content": mapping.encodable(prompt)}],
                    tools=[tool],
                    tool_choice={"type": "tool", "name": tool["name"]},
                )
        except TimeoutError as error:
            raise ModelUnavailable(_GIVEN_UP.format(why="it did not answer in time")) from error
        except (anthropic.APIError, httpx2.RequestError, ValueError) as error:
            raise _final(translate(error, model=model)) from error
        found = next((block.input for block in message.content if block.type == "tool_use"), None)
        if not jsonschema_rs.is_valid(schema, found):
            raise ModelUnavailable(_GIVEN_UP.format(why="its answer does not have the form it was asked for"))
        return cast("JsonObject", found)

    def _wait(self, fault: Transient, attempt: int) -> float:
        """Return how long to wait before the next attempt, or raise if there is to be none."""
        if attempt > self._max_retries:
            why = f"{fault.why}, also after {attempt} tries"
            raise ModelUnavailable(_GIVEN_UP.format(why=why)) from fault
        if fault.retry_after is not None:
            if fault.retry_after > LONGEST_WAIT:
                why = f"{fault.why}, and asks to wait for {fault.retry_after / 60:.0f} minutes"
                raise ModelUnavailable(_GIVEN_UP.format(why=why)) from fault
            # Never less than asked; a little more, so that not everybody comes back in the same moment.
            return fault.retry_after + self._jitter()
        longest = min(LONGEST_BACK_OFF, 2.0 ** (attempt - 1))
        return longest * (0.5 + self._jitter() / 2)

    async def _attempt(self, body: JsonObject, names: Mapping[str, str]) -> AsyncGenerator[ModelEvent, None]:
        """Yield one whole answer; if the service pauses it, ask to go on where it stopped."""
        turn: ModelTurn | None = None
        messages: list[Any] = body["messages"]
        for _ in range(1 + MOST_PAUSES):
            assembly = Assembly(names)
            async with aclosing(self._events(body, assembly)) as events:
                async for event in events:
                    if text := assembly.feed(event):
                        yield TextDelta(text=text)
            turn = _joined(turn, assembly.turn())
            said = mapping.assistant_content(turn)
            if not assembly.paused or not said:
                break
            body = {**body, "messages": [*messages, {"role": "assistant", "content": said}]}
        if turn is not None:
            yield turn

    async def _events(
        self, body: JsonObject, assembly: Assembly
    ) -> AsyncGenerator[RawMessageStreamEvent, None]:
        """Yield the events of one request, up to and including the one that says it is complete."""
        try:
            async with await self._client.messages.create(**body, stream=True) as events:
                async for event in events:
                    yield event
        except (anthropic.APIError, httpx2.RequestError, ValueError) as error:
            # ValueError: an event that is not JSON or not UTF-8. Once it is complete, nothing is lost.
            if not assembly.complete:
                raise translate(error, model=body["model"]) from error
        if not assembly.complete:
            raise Transient(BROKE_OFF)


_GIVEN_UP = "The model cannot answer: {why}. What was done so far is kept; please ask again in a few minutes."


def _final(fault: Exception) -> Exception:
    """Return what to raise if nothing is tried again."""
    match fault:
        case Transient(why=why):
            return ModelUnavailable(_GIVEN_UP.format(why=why))
        case ContextFull():
            return ModelUnavailable("The request is too long for the model. Please ask for less at once.")
        case _:
            return fault


def _joined(before: ModelTurn | None, after: ModelTurn) -> ModelTurn:
    if before is None:
        return after
    return replace(after, blocks=before.blocks + after.blocks, usage=before.usage + after.usage)


def _checked_key(api_key: str) -> str:
    # A line break from a file or an editor is the most common mistake, and a useless one to fail for.
    key = api_key.strip()
    if not key:
        raise ConfigError("ANTHROPIC_API_KEY is empty.")
    if not key.isascii() or not key.isprintable():
        raise ConfigError("ANTHROPIC_API_KEY contains characters that no key has: copy it again.")
    return key


def _checked_url(base_url: str | None) -> str | None:
    if base_url and not base_url.startswith(("http://", "https://")):
        raise ConfigError("ANTHROPIC_BASE_URL must start with http:// or https://.")
    return base_url or None
