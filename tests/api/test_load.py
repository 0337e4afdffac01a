"""Many streams at once, and streams that break."""

import asyncio
import random
from collections.abc import AsyncGenerator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.api import STREAMS, WORDS, measure
from bot.domain.ids import CallId
from bot.domain.transcript import ModelTurn
from bot.engine.ports import ModelEvent, ModelRequest, TextDelta
from bot.llm.scripted import call, calls, say, tool_call
from tests.api.server import Bench, Sent, bench


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_five_hundred_open_streams_lose_no_event() -> None:
    figures = await measure()
    assert figures["wrong"] == 0
    # Each hears at least the text and that it is over; text that piled up may come in fewer, larger pieces.
    assert 2 * STREAMS <= figures["events"] <= STREAMS * (WORDS + 1)


class Chatty:
    """Reads twice, changes something that is asked about, and talks all the time."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        number = sum(isinstance(entry.item, ModelTurn) for entry in request.transcript)
        words = [f"turn {number} ", "and ", "so ", "on. "]
        for word in words:
            await asyncio.sleep(random.random() / 500)
            yield TextDelta(text=word)
        path = str(request.transcript[0].item.text)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]
        steps = [
            calls(tool_call("look", {"what": "a"}), tool_call("look", {"what": "b"}), text="".join(words)),
            call("mark", {"path": path}, text="".join(words)),
            say("".join(words)),
        ]
        yield named(steps[number], len(request.transcript))


def named(turn: ModelTurn, place: int) -> ModelTurn:
    blocks = [
        replace(block, call=replace(block.call, id=CallId(f"c{place}-{index}")))
        if block.type == "call"
        else block
        for index, block in enumerate(turn.blocks)
    ]
    return replace(turn, blocks=tuple(blocks))


def told(events: Iterable[Sent]) -> list[Any]:
    """What a client makes of a stream: text joined, everything else in order."""
    joined: list[Any] = []
    for event in events:
        if event.type == "text" and joined and isinstance(joined[-1], str):
            joined[-1] += event.data["text"]
        else:
            joined.append(event.data["text"] if event.type == "text" else event.data)
    return joined


async def _restless(api: Bench, session: str, dice: random.Random) -> list[Sent]:
    """A client whose connection breaks after a few events, again and again."""
    heard: list[Sent] = []
    while not heard or heard[-1].type not in {"done", "error"}:
        last = heard[-1].id if heard else ""
        async with api.following(f"/api/v1/chat/{session}/events?wait=true", last=last) as stream:
            for _ in range(dice.randint(1, 4)):
                event = await anext(aiter(stream), None)
                if event is None:
                    break
                heard.append(event)
    return heard


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_whoever_is_cut_at_random_while_everything_happens_hears_what_a_late_reader_reads(
    tmp_path: Path, seed: int
) -> None:
    dice = random.Random(seed)
    async with bench(tmp_path / "a.db", Chatty()) as api:
        for person in ("dev", "ann"):
            await api.token(person)

        async def one(number: int) -> None:
            asked = await api.chat(str(tmp_path / f"m{number}"))
            session = asked.headers["X-Session-Id"]
            listener = asyncio.ensure_future(_restless(api, session, dice))  # noqa: TID251 - awaited below
            await api.resume(session_id=session, answer="yes")
            heard = await listener
            late = await api.call("GET", f"/api/v1/chat/{session}/events")
            assert told(heard) == told(late.events)
            assert len({event.id for event in heard}) == len(heard)

        await asyncio.gather(*(one(number) for number in range(25)))
