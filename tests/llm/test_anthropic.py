"""The real SDK over real HTTP, against a pretend API that is as strict as the real one."""

import asyncio
import gc
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

import pytest

from bot.domain.errors import BotError, ConfigError, ModelUnavailable
from bot.domain.ids import CallId
from bot.domain.tool import ToolCall
from bot.domain.transcript import CallBlock, ModelTurn, OpaqueBlock, StopReason, TextBlock, Usage
from bot.engine.ports import Model, ModelEvent, Retrying, TextDelta
from bot.llm.anthropic import AnthropicModel
from tests.fakes.anthropic_api import AnthropicApi, Broken, Call, Redacted, Refuse, Reply, Step, Thinking
from tests.llm.build import events_of, proposal, request, result, streamed, tool, tool_call, turn_of, user

HI = request(user("hi"), tools=[tool("read_file"), tool("mcp:git/log")])


@dataclass
class Rig:
    api: AnthropicApi
    model: AnthropicModel
    slept: list[float] = field(default_factory=list[float])


@asynccontextmanager
async def rig(*steps: Step, max_retries: int = 2, idle_seconds: float = 5) -> AsyncGenerator[Rig]:
    """A model that talks to the pretend API, does not really sleep, and is half lucky."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async with (
        AnthropicApi(steps) as api,
        AnthropicModel(
            api_key=api.key,
            base_url=api.url,
            max_retries=max_retries,
            idle_seconds=idle_seconds,
            sleep=sleep,
            jitter=lambda: 0.5,
        ) as model,
    ):
        yield Rig(api=api, model=model, slept=slept)
        assert api.refused == []


# ── An answer ────────────────────────────────────────────────────────────────────────────────────────────


async def test_text_is_streamed_as_it_arrives_and_the_turn_comes_last() -> None:
    usage = {
        "input_tokens": 7,
        "output_tokens": 42,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
    }
    async with rig(Reply("Hello there, you.", usage=usage)) as at:
        model: Model = at.model
        assert await events_of(model, HI) == [
            TextDelta(text="Hello "),
            TextDelta(text="there, "),
            TextDelta(text="you."),
            ModelTurn(
                blocks=(TextBlock(text="Hello there, you."),),
                stop="end",
                usage=Usage(input_tokens=7, output_tokens=42, cache_read_tokens=100, cache_write_tokens=20),
                model="claude-test",
            ),
        ]


async def test_calls_come_with_our_names_and_their_arguments() -> None:
    reply = Reply(
        "Looking.", Call("c1", "read_file", {"path": "a"}), Call("c2", "mcp__git__log", {"n": [1, 2]})
    )
    async with rig(reply) as at:
        turn = await turn_of(at.model, HI)

    assert turn.stop == "tools"
    assert turn.blocks == (
        TextBlock(text="Looking."),
        CallBlock(call=ToolCall(id=CallId("c1"), tool="read_file", args={"path": "a"})),
        CallBlock(call=ToolCall(id=CallId("c2"), tool="mcp:git/log", args={"n": [1, 2]})),
    )


async def test_a_tool_nobody_offered_keeps_the_name_the_model_gave_it() -> None:
    async with rig(Reply(Call("c1", "mcp__evil__x"))) as at:
        assert (await turn_of(at.model, HI)).calls == (
            ToolCall(id=CallId("c1"), tool="mcp__evil__x", args={}),
        )


async def test_the_conversation_is_sent_with_its_results() -> None:
    asked = request(user("go"), proposal(tool_call("c1", "mcp:git/log")), result("c1", "aa"), tools=HI.tools)
    async with rig(Reply("Done.")) as at:
        await turn_of(at.model, asked)

    sent = at.api.bodies[0]
    assert sent["model"] == "claude-test"
    assert sent["stream"] is True
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "user"]
    assert sent["messages"][1]["content"][0]["name"] == "mcp__git__log"
    assert sent["messages"][2]["content"][0]["content"] == "aa"


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param('{"path": "a', id="cut off"),
        pytest.param('["a"]', id="a list"),
        pytest.param('"a"', id="a string"),
        pytest.param("null", id="nothing"),
        pytest.param('{"n": NaN}', id="a number that is none"),
        pytest.param('{"n": 1e999}', id="a number too large"),
        pytest.param('{"n": "\\ud800"}', id="half a character"),
        pytest.param("[" * 100_000, id="too deep"),
    ],
)
async def test_arguments_that_are_no_json_object_become_a_malformed_call(raw: str) -> None:
    async with rig(Reply(Call("c1", "read_file", raw=raw), Call("c2", "read_file", {"path": "b"}))) as at:
        turn = await turn_of(at.model, HI)

    assert turn.calls == (
        ToolCall(id=CallId("c1"), tool="read_file", args={}, malformed=raw),
        ToolCall(id=CallId("c2"), tool="read_file", args={"path": "b"}),
    )


async def test_a_call_without_arguments_may_have_no_json_at_all() -> None:
    async with rig(Reply(Call("c1", "read_file", raw=""))) as at:
        assert (await turn_of(at.model, HI)).calls == (ToolCall(id=CallId("c1"), tool="read_file", args={}),)


async def test_signed_thinking_is_kept_and_goes_back_unchanged() -> None:
    thinking = Reply(Thinking("hm", "s1gn"), Redacted("x0x0"), "Looking.", Call("c1", "read_file"))
    async with rig(thinking, Reply("Done.")) as at:
        first = await turn_of(at.model, HI)
        assert first.blocks[:2] == (
            OpaqueBlock(data={"type": "thinking", "thinking": "hm", "signature": "s1gn"}),
            OpaqueBlock(data={"type": "redacted_thinking", "data": "x0x0"}),
        )
        await turn_of(at.model, request(user("hi"), first, result("c1"), tools=HI.tools))

    assert at.api.bodies[1]["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "s1gn"},
        {"type": "redacted_thinking", "data": "x0x0"},
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "c1", "name": "read_file", "input": {}},
    ]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("tool_use", "tools"),
        ("max_tokens", "max_tokens"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context_full"),
        ("a_reason_of_next_year", "end"),
    ],
)
async def test_stop_reasons(theirs: str, ours: StopReason) -> None:
    async with rig(Reply("Words.", stop=theirs)) as at:
        turn = await turn_of(at.model, HI)

    assert (turn.stop, turn.text) == (ours, "Words.")


async def test_a_paused_answer_is_continued_and_comes_as_one_turn() -> None:
    async with rig(
        Reply("One, ", stop="pause_turn"), Reply("two, ", stop="pause_turn"), Reply("three.")
    ) as at:
        events = await events_of(at.model, HI)

    turn = events[-1]
    assert isinstance(turn, ModelTurn)
    assert (turn.text, turn.stop, streamed(events)) == ("One, two, three.", "end", "One, two, three.")
    assert turn.usage == Usage(input_tokens=30, output_tokens=15)
    assert at.api.bodies[2]["messages"][1:] == [
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "One, "}, {"type": "text", "text": "two, "}],
        }
    ]


async def test_an_answer_that_only_pauses_is_taken_as_it_is() -> None:
    async with rig(*[Reply("x", stop="pause_turn")] * 6) as at:
        assert (await turn_of(at.model, HI)).text == "xxxxxx"


# ── Trying again ─────────────────────────────────────────────────────────────────────────────────────────

TALK = Reply("Hello there, you.")


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Refuse(408), "the model did not answer in time"),
        (Refuse(409), "the model is busy"),
        (Refuse(429, "rate_limit_error"), "the model gets more requests than it allows"),
        (Refuse(500), "the model had an internal error"),
        (Refuse(502, text="<html>Bad gateway</html>"), "the model cannot be reached"),
        (Refuse(503), "the model is unavailable"),
        (Refuse(504), "the model did not answer in time"),
        (Refuse(529, "overloaded_error"), "the model is overloaded"),
        (Refuse(520), "the model had an internal error"),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Refuse) else "",
)
async def test_a_passing_fault_is_tried_again_in_the_open(fault: Refuse, why: str) -> None:
    async with rig(fault, TALK) as at:
        events = await events_of(at.model, HI)

    assert events[0] == Retrying(attempt=1, wait_seconds=0.75, why=why, void=False)
    assert streamed(events) == "Hello there, you."
    assert at.slept == [0.75]


@pytest.mark.parametrize(
    ("fault", "why", "void"),
    [
        # The first two events are message_start and ping, the third opens the text.
        pytest.param(Broken(TALK, 4, "cut"), "the model broke off its answer", True, id="cut after a word"),
        pytest.param(Broken(TALK, 2, "cut"), "the model broke off its answer", False, id="cut before a word"),
        pytest.param(Broken(TALK, 4, "end"), "the model broke off its answer", True, id="ended early"),
        pytest.param(
            Broken(TALK, 7, "end"), "the model broke off its answer", True, id="ended without its stop"
        ),
        pytest.param(Broken(TALK, 4, "junk"), "the model broke off its answer", True, id="an event of junk"),
        pytest.param(Broken(TALK, 4, "error"), "the model is overloaded", True, id="overloaded half way"),
        pytest.param(
            Broken(TALK, 4, "error", "api_error"),
            "the model had an internal error",
            True,
            id="error half way",
        ),
        pytest.param(
            Broken(TALK, 2, "error", "rate_limit_error"),
            "the model gets more requests than it allows",
            False,
            id="limited half way",
        ),
    ],
)
async def test_a_broken_stream_is_tried_again_and_what_it_said_is_void(
    fault: Broken, why: str, void: bool
) -> None:
    async with rig(fault, TALK) as at:
        events = await events_of(at.model, HI)

    before = [TextDelta(text="Hello ")] if void else []
    retry = next(place for place, event in enumerate(events) if isinstance(event, Retrying))
    assert events[retry] == Retrying(attempt=1, wait_seconds=0.75, why=why, void=void)
    assert events[:retry][:1] == before
    assert streamed(events[retry:]) == "Hello there, you."
    assert isinstance(events[-1], ModelTurn)


async def test_a_silent_stream_counts_as_broken() -> None:
    async with rig(Broken(TALK, 4, "stall"), TALK, idle_seconds=0.05) as at:
        events = await events_of(at.model, HI)

    assert events[1] == Retrying(
        attempt=1, wait_seconds=0.75, why="the model did not answer in time", void=True
    )
    assert streamed(events[2:]) == "Hello there, you."


async def test_a_pause_that_breaks_starts_the_whole_answer_anew() -> None:
    async with rig(Reply("One, ", stop="pause_turn"), Broken(TALK, 2, "cut"), TALK) as at:
        events = await events_of(at.model, HI)

    assert [type(event).__name__ for event in events[:2]] == ["TextDelta", "Retrying"]
    assert events[1] == Retrying(
        attempt=1, wait_seconds=0.75, why="the model broke off its answer", void=True
    )
    assert isinstance(events[-1], ModelTurn)
    assert events[-1].text == "Hello there, you."


async def test_a_service_that_is_not_there_is_tried_again_then_given_up() -> None:
    async with rig() as at:
        pass  # The server is gone; its port answers nobody.
    gone = AnthropicModel(
        api_key="k", base_url=at.api.url, max_retries=1, sleep=_no_sleep, jitter=lambda: 0.5
    )
    async with gone:
        events, error = await until_error(gone)

    assert events == [Retrying(attempt=1, wait_seconds=0.75, why="the model cannot be reached")]
    assert isinstance(error, ModelUnavailable)


async def test_waiting_doubles_and_ends_in_a_message_people_can_use() -> None:
    async with rig(*[Refuse(529, "overloaded_error")] * 7, max_retries=6) as at:
        events, error = await until_error(at.model)

    assert at.slept == [0.75, 1.5, 3.0, 6.0, 12.0, 22.5]
    assert [event.attempt for event in events if isinstance(event, Retrying)] == [1, 2, 3, 4, 5, 6]
    assert isinstance(error, ModelUnavailable)
    assert str(error) == (
        "The model cannot answer: the model is overloaded, also after 7 tries."
        " What was done so far is kept; please ask again in a few minutes."
    )


@pytest.mark.parametrize(
    ("headers", "waits"),
    [
        ({"retry-after": "7"}, 7.5),
        ({"retry-after": "0"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.75),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, 0.75),
        ({"retry-after": "-1"}, 0.75),
        ({"retry-after": "nan"}, 0.75),
    ],
    ids=str,
)
async def test_the_service_says_how_long_to_wait(headers: dict[str, str], waits: float) -> None:
    async with rig(Refuse(429, "rate_limit_error", headers=headers), TALK) as at:
        await turn_of(at.model, HI)

    assert at.slept == [waits]


async def test_people_are_told_instead_of_kept_waiting_for_an_hour() -> None:
    async with rig(Refuse(429, "rate_limit_error", headers={"retry-after": "3600"})) as at:
        events, error = await until_error(at.model)

    assert (events, at.slept) == ([], [])
    assert "asks to wait for 60 minutes" in str(error)


# ── What trying again cannot mend ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        (Refuse(401, "authentication_error"), ConfigError, "check ANTHROPIC_API_KEY"),
        (Refuse(403, "permission_error"), ConfigError, "may not use the model 'claude-test'"),
        (Refuse(404, "not_found_error"), ConfigError, "The model 'claude-test' does not exist"),
        (Refuse(404, text="<html>404</html>"), ConfigError, "check ANTHROPIC_BASE_URL"),
        (Refuse(400, "invalid_request_error"), ModelUnavailable, "a fault of Askfirst, not yours"),
        (Refuse(400, "invalid_request_error"), ModelUnavailable, "request req_test"),
        (Refuse(402, "billing_error"), ModelUnavailable, "no credit left"),
        (
            Refuse(400, "invalid_request_error", "Your credit balance is too low to access the API."),
            ModelUnavailable,
            "An administrator must add credit",
        ),
        (Refuse(529, headers={"x-should-retry": "false"}), ModelUnavailable, "ask again later"),
        (Broken(TALK, 2, "error", "authentication_error"), ConfigError, "check ANTHROPIC_API_KEY"),
    ],
)
async def test_a_lasting_fault_says_who_must_do_what(
    fault: Step, kind: type[BotError], says: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with rig(fault) as at:
        events, error = await until_error(at.model)

    assert (events, at.slept) == ([], [])
    assert type(error) is kind
    assert says in str(error)
    assert "vendor" not in str(error) + caplog.text


@pytest.mark.parametrize(
    "fault",
    [
        Refuse(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        Refuse(413, "request_too_large"),
    ],
)
async def test_a_conversation_that_is_too_long_is_an_outcome_not_an_error(fault: Refuse) -> None:
    async with rig(fault) as at:
        assert await events_of(at.model, HI) == [
            ModelTurn(blocks=(), stop="context_full", model="claude-test")
        ]


async def test_a_wrong_key_is_refused_by_the_service() -> None:
    async with (
        AnthropicApi([]) as api,
        AnthropicModel(api_key="sk-wrong", base_url=api.url) as model,
    ):
        with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY"):
            await turn_of(model, HI)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"api_key": " \n"}, "ANTHROPIC_API_KEY is empty"),
        ({"api_key": "sk-änt"}, "characters that no key has"),
        ({"api_key": "sk-a\nb"}, "characters that no key has"),
        ({"api_key": "k", "base_url": "localhost:80"}, "ANTHROPIC_BASE_URL must start with"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_at_once(settings: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        AnthropicModel(**settings)  # pyright: ignore[reportArgumentType]


async def test_a_line_break_after_the_key_does_no_harm() -> None:
    async with (
        AnthropicApi([TALK]) as api,
        AnthropicModel(api_key=api.key + "\n", base_url=api.url) as model,
    ):
        assert (await turn_of(model, HI)).text == "Hello there, you."


# ── Good manners ─────────────────────────────────────────────────────────────────────────────────────────


async def test_neither_prompts_nor_keys_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    asked = request(user("my s3cret plan"), system="my s3cret system")
    async with rig(Refuse(529), Broken(TALK, 4, "cut"), Reply("a s3cret answer")) as at:
        await turn_of(at.model, asked)

    assert "s3cret" not in caplog.text
    assert at.api.key not in caplog.text
    assert "answered with an error" in caplog.text


async def test_a_reader_who_leaves_early_leaves_nothing_open(recwarn: pytest.WarningsRecorder) -> None:
    async with rig(Broken(TALK, 4, "stall")) as at, aclosing(at.model.stream(HI)) as events:
        assert await anext(events) == TextDelta(text="Hello ")
    gc.collect()

    assert [str(each.message) for each in recwarn] == []


async def test_a_cancelled_run_stops_waiting_for_the_model() -> None:
    async with rig(Broken(TALK, 4, "stall")) as at:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await events_of(at.model, HI)

    assert at.slept == []


# ── Structured answers ───────────────────────────────────────────────────────────────────────────────────

SCHEMA = {
    "type": "object",
    "properties": {
        "risk": {"enum": ["low", "high"], "type": "string"},
        "items": {"type": "integer", "minimum": 0},
    },
    "required": ["risk"],
    "additionalProperties": False,
}


async def ask(at: Rig, within: float = 5) -> dict[str, object]:
    return await at.model.structured(
        model="claude-test", system="Assess.", prompt="delete all", schema=SCHEMA, within=within
    )


async def test_a_structured_answer_is_forced_into_its_form() -> None:
    async with rig(Reply(Call("c1", "answer", {"risk": "high", "items": 3}))) as at:
        assert await ask(at) == {"risk": "high", "items": 3}

    sent = at.api.bodies[0]
    assert sent["tool_choice"] == {"type": "tool", "name": "answer"}
    assert sent["tools"][0]["strict"] is True
    assert sent["tools"][0]["input_schema"]["additionalProperties"] is False
    assert "stream" not in sent


@pytest.mark.parametrize(
    ("step", "kind", "says"),
    [
        (Reply("I would rather talk."), ModelUnavailable, "does not have the form"),
        (Reply(Call("c1", "answer", {"risk": "some"})), ModelUnavailable, "does not have the form"),
        (
            Reply(Call("c1", "answer", {"risk": "low", "items": -1})),
            ModelUnavailable,
            "does not have the form",
        ),
        (Refuse(529), ModelUnavailable, "the model is overloaded"),
        (Refuse(413), ModelUnavailable, "too long"),
        (Refuse(401), ConfigError, "ANTHROPIC_API_KEY"),
    ],
)
async def test_a_structured_answer_that_does_not_fit_is_an_error(
    step: Step, kind: type[BotError], says: str
) -> None:
    async with rig(step) as at:
        with pytest.raises(kind, match=says):
            await ask(at)

    assert at.slept == []


async def test_a_structured_answer_is_not_waited_for_longer_than_allowed() -> None:
    async with rig(Broken(TALK, 0, "stall"), idle_seconds=60) as at, asyncio.timeout(10):
        with pytest.raises(ModelUnavailable, match="did not answer in time"):
            await ask(at, within=0.05)


async def _no_sleep(seconds: float) -> None:
    pass


async def until_error(model: Model) -> tuple[list[ModelEvent], BotError]:
    """Return what was streamed before the error, and the error."""
    events: list[ModelEvent] = []

    async def drain() -> None:
        async for event in model.stream(HI):
            events.append(event)  # noqa: PERF401 (a comprehension would lose what came before the error)

    with pytest.raises(BotError) as caught:
        await drain()
    return events, caught.value
