"""The gate: whatever a tool does, the engine gets a result it can read."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from pydantic import Field

from bot.domain.errors import ConfigError
from bot.domain.interrupt import Question
from bot.domain.run import AgentSpec
from bot.domain.tool import READS, Impact, Planned, ToolResult
from bot.engine.ports import CallContext, Progress, Resumed, Toolbox
from bot.tools.limits import Limits
from bot.tools.redact import Redactor
from bot.tools.registry import Registry
from bot.tools.tool import Arguments, Output, Suspend, ToolFailed, tool
from tests.tools.support import preview, run


class Nothing(Arguments):
    pass


class Counted(Arguments):
    count: int = Field(ge=0)


async def _breaks(args: Nothing, context: CallContext) -> Impact:
    raise ValueError("no disk, hunter2-secret")


async def _never(args: Nothing, context: CallContext) -> Impact:
    await asyncio.Event().wait()
    raise AssertionError


@tool(effects=READS)
async def greet(args: Counted, context: CallContext) -> str:
    """Greet."""
    return "hello " * args.count


@tool()
def plain(args: Nothing, context: CallContext) -> str:
    return "from a thread"


@tool()
async def streams(args: Nothing, context: CallContext) -> AsyncIterator[str]:
    yield "one\n"
    yield "two\n"


@tool()
async def concludes(args: Nothing, context: CallContext) -> AsyncIterator[str | Output]:
    yield "working\n"
    yield Output(text="3 things broke", status="error")


@tool(preview=_breaks)
async def fails(args: Nothing, context: CallContext) -> str:
    raise ToolFailed("The disk is full.")


@tool(preview=_never)
async def crashes(args: Nothing, context: CallContext) -> str:
    return {"found": "x"}["missing"]


@tool()
async def leaves(args: Nothing, context: CallContext) -> str:
    sys.exit(3)


@tool()
async def cancels_itself(args: Nothing, context: CallContext) -> str:
    raise asyncio.CancelledError


@tool(seconds=0.05)
async def hangs(args: Nothing, context: CallContext) -> AsyncIterator[str]:
    yield "started\n"
    await asyncio.Event().wait()


@tool()
async def floods(args: Nothing, context: CallContext) -> AsyncIterator[str]:
    for number in range(10_000):
        yield f"line {number}\n"


@tool()
async def asks(args: Nothing, context: CallContext) -> str:
    if context.resumed is None:
        raise Suspend(Question(text="Which one, hunter2-secret?"), {"step": 2})
    return f"{context.resumed.answer['data']} at step {context.resumed.state['step']}"


@tool()
async def leaks(args: Nothing, context: CallContext) -> AsyncIterator[str]:
    yield "password is hunter2-"
    yield "secret, and that is all\n"


PART = "It may have done part of its work."
TOOLS = (greet, plain, streams, concludes, fails, crashes, leaves, cancels_itself, hangs, floods, asks, leaks)


@pytest.fixture
def toolbox() -> Toolbox:
    limits = Limits(output=1000, progress=500, preview_seconds=0.05)
    return Registry(TOOLS, redactor=Redactor(["hunter2-secret"]), limits=limits)


async def test_a_coroutine_tool_answers_with_its_text(toolbox: Toolbox, context: CallContext) -> None:
    ran = await run(toolbox, context, "greet", count=2)
    assert (ran.status, ran.text, ran.progress) == ("ok", "hello hello ", "")


async def test_a_plain_function_runs_too(toolbox: Toolbox, context: CallContext) -> None:
    assert (await run(toolbox, context, "plain")).text == "from a thread"


async def test_a_streaming_tool_shows_its_text_and_answers_with_it(
    toolbox: Toolbox, context: CallContext
) -> None:
    ran = await run(toolbox, context, "streams")
    assert (ran.progress, ran.text) == ("one\ntwo\n", "one\ntwo\n")


async def test_a_conclusion_replaces_what_was_streamed(toolbox: Toolbox, context: CallContext) -> None:
    ran = await run(toolbox, context, "concludes")
    assert (ran.progress, ran.status, ran.text) == ("working\n", "error", "3 things broke")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fails", "The disk is full."),
        ("crashes", "The tool failed with KeyError: 'missing'"),
        ("leaves", "The tool failed with SystemExit: 3"),
        ("cancels_itself", "The tool was cancelled from within."),
        ("hangs", f"started\nhangs was stopped after 0.05 s, its time limit. {PART}"),
    ],
)
async def test_whatever_goes_wrong_is_told_in_words(
    toolbox: Toolbox, context: CallContext, name: str, text: str
) -> None:
    ran = await run(toolbox, context, name)
    assert (ran.status, ran.text) == ("error", text)


async def test_a_flood_is_cut_in_the_middle_and_says_so(toolbox: Toolbox, context: CallContext) -> None:
    ran = await run(toolbox, context, "floods")
    assert ran.text.startswith("line 0\nline 1\n")
    assert ran.text.endswith("line 9998\nline 9999\n")
    assert "… 97,890 characters left out …" in ran.text
    assert len(ran.progress) == 500


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({}, "count: Field required"),
        ({"count": "10"}, "count: Input should be a valid integer"),
        ({"count": True}, "count: Input should be a valid integer"),
        ({"count": -1}, "count: Input should be greater than or equal to 0"),
        ({"count": 1, "x": 1}, "x: Extra inputs are not permitted"),
    ],
)
async def test_arguments_that_do_not_fit_are_named_and_nothing_runs(
    toolbox: Toolbox, context: CallContext, args: dict[str, object], problem: str
) -> None:
    assert toolbox.invalid(Planned(tool="greet", args=args)) == problem
    ran = await run(toolbox, context, "greet", **args)
    assert (ran.status, ran.text) == ("error", f"Not run: {problem}")


async def test_an_unknown_tool_is_an_error_result(toolbox: Toolbox, context: CallContext) -> None:
    assert toolbox.definition("nope") is None
    assert (await run(toolbox, context, "nope")).text == "Not run: there is no tool called 'nope'"
    assert await toolbox.preview(Planned(tool="nope", args={}), context) is None


async def test_a_tool_stops_half_way_and_goes_on_with_the_answer(
    toolbox: Toolbox, context: CallContext
) -> None:
    first = await run(toolbox, context, "asks")
    assert first.suspended.question.text == "Which one, ‹secret:9384›?"
    assert first.suspended.state == {"step": 2}
    resumed = Resumed(state=first.suspended.state, answer={"data": "the red one"})
    second = await run(toolbox, replace(context, resumed=resumed), "asks")
    assert second.text == "the red one at step 2"


async def test_a_secret_split_over_two_chunks_is_masked_in_both_places(
    toolbox: Toolbox, context: CallContext
) -> None:
    ran = await run(toolbox, context, "leaks")
    assert ran.text == ran.progress == "password is ‹secret:9384›, and that is all\n"


async def test_a_secret_across_the_cut_of_a_long_result_is_masked_first(context: CallContext) -> None:
    secret = "hunter2-secret"

    @tool()
    async def long(args: Nothing, context: CallContext) -> str:
        # The middle is left out from the 500th character on: inside the secret.
        return "x" * 493 + secret + "y" * 5000

    toolbox = Registry([long], redactor=Redactor([secret]), limits=Limits(output=1000))
    ran = await run(toolbox, context, "long")
    assert "hunter2" not in ran.text
    assert ran.text.startswith("x" * 493 + "‹secret")


async def test_a_preview_that_breaks_or_hangs_says_that_it_could_not_measure(
    toolbox: Toolbox, context: CallContext
) -> None:
    broken = await preview(toolbox, context, "fails")
    assert broken.summary == (
        "Could not be measured: The tool failed with ValueError: no disk, ‹secret:9384›"
    )
    hanging = await preview(toolbox, context, "crashes")
    assert hanging.summary == "Could not be measured: it took longer than 0.05 s."
    assert await toolbox.preview(Planned(tool="plain", args={}), context) is None


async def test_tools_that_block_their_threads_do_not_block_the_others(context: CallContext) -> None:
    release = threading.Event()

    @tool(seconds=0.2)
    def blocks(args: Nothing, context: CallContext) -> str:
        release.wait(30)
        return "at last"

    toolbox = Registry([blocks, plain])
    try:
        # More than any shared pool of threads would have.
        hung = await asyncio.gather(*(run(toolbox, context, "blocks") for _ in range(50)))
        assert {ran.status for ran in hung} == {"error"}
        assert (await run(toolbox, context, "plain")).text == "from a thread"
    finally:
        release.set()


async def test_a_plain_function_that_raises_stop_iteration_is_told(context: CallContext) -> None:
    @tool()
    def stops(args: Nothing, context: CallContext) -> str:
        return next(iter(()))

    ran = await run(Registry([stops]), context, "stops")
    assert ran.text == "The tool failed with RuntimeError: StopIteration() was raised"


async def test_whoever_stops_listening_stops_the_tool(context: CallContext) -> None:
    stopped = asyncio.Event()

    @tool()
    async def endless(args: Nothing, context: CallContext) -> AsyncIterator[str]:
        try:
            while True:
                yield "more\n"
        finally:
            stopped.set()

    events = Registry([endless]).execute(Planned(tool="endless", args={}), context)
    assert await anext(events) == Progress(text="more\n")
    await events.aclose()
    assert stopped.is_set()


async def test_cancelling_the_run_cancels_the_tool_and_is_not_swallowed(context: CallContext) -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    @tool()
    async def waits(args: Nothing, context: CallContext) -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    async with asyncio.TaskGroup() as group:
        task = group.create_task(run(Registry([waits]), context, "waits"))
        await started.wait()
        task.cancel()
    assert stopped.is_set()
    assert task.cancelled()


def test_an_agent_has_the_tools_its_patterns_name(toolbox: Toolbox) -> None:
    agent = AgentSpec(model="m", tools=("gr*", "streams"))
    assert [definition.name for definition in toolbox.definitions(agent)] == ["greet", "streams"]
    assert len(toolbox.definitions(AgentSpec(model="m"))) == 12


def test_two_tools_of_one_name_do_not_start() -> None:
    with pytest.raises(ConfigError, match="two tools are called 'greet'"):
        Registry([greet, greet])


def test_the_schema_is_that_of_the_arguments() -> None:
    assert greet.definition.parameters == {
        "additionalProperties": False,
        "properties": {"count": {"minimum": 0, "type": "integer"}},
        "required": ["count"],
        "type": "object",
    }
    assert greet.definition.description == "Greet."


async def test_the_time_a_tool_took_is_measured(toolbox: Toolbox, context: CallContext) -> None:
    ran = await run(toolbox, context, "hangs")
    assert isinstance(ran.end, ToolResult)
    assert ran.end.took_ms is not None
    assert 50 <= ran.end.took_ms < 5000
