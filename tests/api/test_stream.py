"""Text that is told while it is written: cut anywhere, nothing is lost and nothing doubled."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.api.events import Cursor, Ended, Finished, Proposed, Said, StreamEvent, parse_cursor, rest_of
from bot.api.stream import HttpFront, Streams
from bot.domain.errors import InvalidAnswer
from bot.domain.ids import CallId, RunId, ThreadId
from bot.domain.interrupt import Asked
from bot.domain.run import AgentSpec, Head, Thread
from bot.domain.tool import ToolResult
from bot.domain.transcript import CallBlock, Entry, Item, ModelTurn, TextBlock, UserText
from bot.engine.ports import ModelEvent, ModelRequest, Retrying, TextDelta
from bot.llm.scripted import call, say, tool_call
from tests.api.server import Reply, bench
from tests.engine.lab import DEV, NOON


class Typist:
    """A model that writes piece by piece, each when the test lets it."""

    def __init__(self, *pieces: str, void_after: int | None = None) -> None:
        self._pieces = pieces
        self._void_after = void_after
        self.gates = [asyncio.Event() for _ in pieces]
        self.written = [asyncio.Event() for _ in pieces]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        text = ""
        for number, piece in enumerate(self._pieces):
            await self.gates[number].wait()
            yield TextDelta(text=piece)
            text += piece
            self.written[number].set()
            if number == self._void_after:
                yield Retrying(attempt=1, wait_seconds=0, why="overloaded", void=True)
                text = ""
        yield ModelTurn(blocks=(TextBlock(text=text),), model="typist")

    async def write(self, number: int) -> None:
        self.gates[number].set()
        await self.written[number].wait()


async def test_text_is_told_while_it_is_written_and_a_cut_in_the_middle_of_it_is_healed(
    tmp_path: Path,
) -> None:
    model = Typist("One ", "two ", "three.")
    async with bench(tmp_path / "a.db", model) as api:
        whole = asyncio.ensure_future(api.chat())  # noqa: TID251 - awaited below
        await model.write(0)
        run = RunId("here-run2")
        session = (await api.store.heads())[0].thread.id
        path = f"/api/v1/chat/{session}/events"
        async with api.following(path) as stream:
            first = await anext(stream)
        assert first.data["text"] == "One "
        await model.write(1)
        await model.write(2)
        everything = await whole
        rest = await api.call("GET", path, Last_Event_ID=first.id)
        assert everything.text == "One two three."
        assert rest.text == "two three."
        assert rest.types[-1] == "done"
        assert everything.headers["X-Run-Id"] == run


async def test_a_client_that_is_cut_again_and_again_while_the_model_writes_hears_everything_once(
    tmp_path: Path,
) -> None:
    words = [f"{number} " for number in range(60)]
    model = Typist(*words)
    async with bench(tmp_path / "a.db", model) as api:
        whole = asyncio.ensure_future(api.chat())  # noqa: TID251 - awaited below
        await model.write(0)
        session = (await api.store.heads())[0].thread.id
        path, last, heard, types = f"/api/v1/chat/{session}/events", "", "", list[str]()
        for number in range(1, len(words)):
            async with api.following(path, last=last) as stream:
                event = await anext(aiter(stream))
            last, heard = event.id, heard + event.data["text"]
            await model.write(number)
        rest = await api.call("GET", path, Last_Event_ID=last)
        types = rest.types
        assert heard + rest.text == "".join(words) == (await whole).text
        assert types[-1] == "done"


async def test_a_server_that_stops_ends_its_streams_at_once(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [call("mark", {"path": "/x"})]) as api:
        session = (await api.chat()).headers["X-Session-Id"]
        async with api.following(f"/api/v1/chat/{session}/events?wait=true") as stream:
            await anext(aiter(stream))
            api.front.close()
            async with asyncio.timeout(5):
                rest = [each async for each in stream]
        assert "done" not in [each.type for each in rest]


async def test_void_text_is_replaced_as_a_whole(tmp_path: Path) -> None:
    model = Typist("Wrong ", "Right", void_after=0)
    async with bench(tmp_path / "a.db", model) as api:
        stream = asyncio.ensure_future(api.chat())  # noqa: TID251 - awaited below
        await model.write(0)
        await _heard(api.front.writing, "here-run2", gone=True)
        await model.write(1)
        reply = await stream
        assert _shown(reply) == "Right"


async def _heard(writing: Callable[[RunId], object], run: str, *, gone: bool) -> None:
    async with asyncio.timeout(5):
        while (writing(RunId(run)) is None) is not gone:
            await asyncio.sleep(0)


def _shown(reply: Reply) -> str:
    """What a client shows that heeds `replace`."""
    shown = ""
    for each in reply.events:
        if each.type == "text":
            shown = each.data["text"] if each.data.get("replace") else shown + each.data["text"]
    return shown


async def test_another_text_after_a_crash_replaces_what_was_told_before(tmp_path: Path) -> None:
    first = Typist("I think that ", "never")
    async with bench(tmp_path / "a.db", first, worker="one") as api:
        head_start = asyncio.ensure_future(api.chat())  # noqa: TID251 - cut below
        await first.write(0)
        session = (await api.store.heads())[0].thread.id
        async with api.following(f"/api/v1/chat/{session}/events") as stream:
            told = await anext(stream)
        head_start.cancel()
    async with bench(tmp_path / "a.db", [say("Something else.")], worker="two") as api:
        await api.supervisor.recover()
        reply = await api.call("GET", f"/api/v1/chat/{session}/events", Last_Event_ID=told.id)
        assert reply.only("text") == {
            "type": "text",
            "text": "Something else.",
            "replace": True,
            "session_id": session,
            "run_id": reply.events[0].data["run_id"],
        }


class Ledger:
    """Only what a stream reads of the store: one run's rows, as the test writes them."""

    def __init__(self, *items: Item) -> None:
        self.head = Head(
            run_id=RunId("r"),
            thread=Thread(id=ThreadId("t"), front="http"),
            requester=DEV.id,
            agent=AgentSpec(model="m"),
            created_at=NOON,
            state="running",
        )
        self.items = list(items)

    async def progress(self, run_id: RunId, entry: int) -> tuple[Head, list[Entry], tuple[Asked, ...]]:
        entries = [Entry(seq=seq, at=NOON, item=item) for seq, item in enumerate(self.items)]
        return self.head, entries[entry:], ()


async def test_live_text_never_overtakes_what_was_stored_before_it() -> None:
    proposed = ModelTurn(blocks=(CallBlock(call=tool_call("look", {}, id="c1")),), stop="tools")
    ledger, front = Ledger(UserText(author=DEV.id, text="go"), proposed), HttpFront()
    stream = Streams(ledger, front).follow(Cursor(run=RunId("r")))  # pyright: ignore[reportArgumentType]
    async with aclosing(stream) as told:
        first, _ = await anext(told)
        assert isinstance(first, Proposed)
        # While the client was told of the call, it finished and the model began to write.
        ledger.items.append(ToolResult(call_id=CallId("c1"), status="ok", text="fine"))
        await front.show(ledger.head.thread, RunId("r"), TextDelta(text="Done.", entry=3))
        second, _ = await anext(told)
        third, _ = await anext(told)
        assert isinstance(second, Finished)
        assert third == Said(entry=3, text="Done.")
        ledger.items.append(ModelTurn(blocks=(TextBlock(text="Done."),)))
        ledger.head = replace(ledger.head, state="done")
        front.changed(RunId("r"))
        assert [event for event, _ in [each async for each in told]] == [Ended(state="done", text="Done.")]


async def test_what_another_process_does_is_noticed(tmp_path: Path) -> None:
    script = [call("mark", {"path": str(tmp_path / "m")})]
    async with bench(tmp_path / "a.db", script, worker="one") as api:
        asked = await api.chat()
        session, name = asked.headers["X-Session-Id"], asked.only("interrupt")["interrupt_id"]
        path = f"/api/v1/chat/{session}/events?wait=true"
        async with (
            api.following(path, last=asked.events[-1].id) as stream,
            bench(tmp_path / "a.db", [say("Done.")], worker="two") as other,
        ):
            await other.resume(interrupt_id=name, decision={"verb": "approve"})
            heard = [each.type async for each in stream]
        assert heard == ["decision", "tool_result", "text", "done"]


@given(text=st.text(max_size=40), cuts=st.lists(st.integers(0, 40), max_size=5))
def test_pieces_of_a_text_always_make_the_whole(text: str, cuts: list[int]) -> None:
    cursor, told = Cursor(run=RunId("r")), ""
    for cut in [*sorted(cuts), len(text)]:
        said, cursor = rest_of(text[: max(cut, cursor.chars)], cursor, entry=1)
        told += said.text if said else ""
        assert said is None or not said.replaces
        cursor = parse_cursor(str(cursor))
    assert told == text


@given(
    told=st.text(min_size=1, max_size=20),
    later=st.text(min_size=1, max_size=20),
)
def test_a_text_that_does_not_begin_as_it_was_told_is_told_anew(told: str, later: str) -> None:
    _, cursor = rest_of(told, Cursor(run=RunId("r")), entry=0)
    said: StreamEvent | None
    said, _ = rest_of(later, cursor, entry=0)
    if later.startswith(told):
        assert (said.text if said else "") == later[len(told) :]
    else:
        assert said == Said(entry=0, text=later, replaces=True)


@pytest.mark.parametrize(
    "text", ["", "x", "a.b.c.d.e.f.g", "r.1.0.0.zz.0.a", "r.-1.0.0.0.0.a", ".1.0.0.0.0.a"]
)
def test_a_foreign_event_id_is_refused(text: str) -> None:
    with pytest.raises(InvalidAnswer):
        parse_cursor(text)
