import pytest

from bot.domain.errors import ModelUnavailable
from bot.domain.ids import CallId
from bot.domain.tool import ToolCall
from bot.domain.transcript import CallBlock, Entry, ModelTurn, TextBlock
from bot.engine.ports import Model, ModelRequest, TextDelta
from bot.llm.scripted import ScriptedModel, ScriptError, call, calls, say, tool_call
from tests.llm.build import AT, events_of, request, turn_of, user


async def test_steps_are_taken_in_order_and_text_is_streamed_before_the_turn() -> None:
    model: Model = ScriptedModel([call("read_file", {"path": "a"}, id="c1", text="Looking."), say("Done.")])

    assert await events_of(model, request(user("hi"))) == [
        TextDelta(text="Looking."),
        ModelTurn(
            blocks=(
                TextBlock(text="Looking."),
                CallBlock(call=ToolCall(id=CallId("c1"), tool="read_file", args={"path": "a"})),
            ),
            stop="tools",
            model="scripted",
        ),
    ]
    assert (await turn_of(model, request(user("hi")))).text == "Done."


async def test_a_step_may_look_at_the_request() -> None:
    def count(asked: ModelRequest) -> ModelTurn:
        return say(f"{len(asked.transcript)} entries")

    assert (await turn_of(ScriptedModel([count]), request(user("a"), user("b")))).text == "2 entries"


async def test_a_step_may_be_an_error() -> None:
    with pytest.raises(ModelUnavailable, match="away"):
        await turn_of(ScriptedModel([ModelUnavailable("away")]), request(user("a")))


async def test_calls_without_an_id_get_one_that_no_other_turn_has() -> None:
    step = calls(tool_call("a", {}), tool_call("b", {}))
    model = ScriptedModel([step, step])

    first = await turn_of(model, request(user("hi")))
    second = await turn_of(model, request(user("hi"), first))

    assert [each.id for each in (*first.calls, *second.calls)] == [
        "call-1-0",
        "call-1-1",
        "call-2-0",
        "call-2-1",
    ]


async def test_a_request_is_remembered_as_it_was_although_the_transcript_grows() -> None:
    model = ScriptedModel([say("hello")])
    asked = request(user("hi"))
    await turn_of(model, asked)

    assert isinstance(asked.transcript, list)
    asked.transcript.append(Entry(seq=1, at=AT, item=user("more")))

    assert [entry.item for entry in model.requests[0].transcript] == [user("hi")]


async def test_an_exhausted_script_says_so() -> None:
    model = ScriptedModel([say("only one")])
    await turn_of(model, request(user("hi")))

    with pytest.raises(ScriptError, match="asked 2 times but the script has 1 steps"):
        await turn_of(model, request(user("hi"), user("again")))


async def test_steps_nobody_asked_for_are_found() -> None:
    model = ScriptedModel([say("one"), say("two")])
    await turn_of(model, request(user("hi")))

    assert model.unconsumed == 1
    with pytest.raises(ScriptError, match="1 of 2 scripted steps"):
        model.assert_consumed()
