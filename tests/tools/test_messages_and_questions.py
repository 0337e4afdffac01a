"""Messages to others, and questions to people."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from bot.domain.canonical import JsonObject
from bot.domain.interrupt import Option
from bot.engine.ports import CallContext, Resumed, Toolbox
from bot.tools.builtin.assemble import builtin_tools
from bot.tools.registry import Registry
from bot.tools.tool import ToolFailed
from tests.tools.support import clock, preview, run


@dataclass
class Workspace:
    """A messenger that keeps its promises, in memory."""

    members: dict[str, int]
    posted: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    async def recipients(self, to: str) -> int:
        if to not in self.members:
            raise ToolFailed(f"There is no conversation {to!r}.")
        return self.members[to]

    async def send(self, to: str, text: str, *, key: str) -> str:
        await self.recipients(to)
        self.posted.append((to, text, key))
        return f"{to}/{len(self.posted)}"


@pytest.fixture
def workspace() -> Workspace:
    return Workspace({"C0ALL": 1240, "C0OPS": 8, "U0ANN": 1})


@pytest.fixture
def toolbox(workspace: Workspace) -> Toolbox:
    return Registry(builtin_tools(clock=clock, messenger=workspace))


async def test_the_impact_of_a_message_is_how_many_people_it_reaches(
    toolbox: Toolbox, context: CallContext, workspace: Workspace
) -> None:
    impact = await preview(
        toolbox, context, "send_message", to=["C0ALL", "U0ANN", "C0ALL"], text="Down at *12*"
    )
    assert impact.summary == "Send a message to 1,241 recipients in 2 conversations."
    assert (impact.count, impact.reversible) == (1241, False)
    assert impact.samples == ("C0ALL (1,240 recipients)", "U0ANN (1 recipient)")
    assert impact.detail == "Down at *12*"
    assert workspace.posted == []


async def test_a_message_is_sent_once_to_each_with_a_key_against_repeats(
    toolbox: Toolbox, context: CallContext, workspace: Workspace
) -> None:
    ran = await run(toolbox, context, "send_message", to=["C0OPS", "U0ANN", "C0OPS"], text="<!channel> hi")
    assert ran.text == "Sent to 2 of 2 conversations."
    assert workspace.posted == [
        ("C0OPS", "<!channel> hi", "run-1:call-1:C0OPS"),
        ("U0ANN", "<!channel> hi", "run-1:call-1:U0ANN"),
    ]


async def test_one_that_fails_is_named_and_the_others_are_sent(
    toolbox: Toolbox, context: CallContext, workspace: Workspace
) -> None:
    ran = await run(toolbox, context, "send_message", to=["C0OPS", "C0NONE"], text="hi")
    assert ran.status == "error"
    assert ran.text == "Sent to 1 of 2 conversations.\n- C0NONE: There is no conversation 'C0NONE'."
    measured = await preview(toolbox, context, "send_message", to=["C0NONE"], text="hi")
    assert measured.summary == "Could not be measured: There is no conversation 'C0NONE'."


def test_without_a_messenger_there_is_no_such_tool() -> None:
    assert Registry(builtin_tools(clock=clock)).definition("send_message") is None


MISFIT = "The answer does not fit the form:"
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"days": {"type": "integer", "minimum": 1}},
    "required": ["days"],
}


@pytest.mark.parametrize(
    ("args", "answer", "text"),
    [
        ({}, {"data": "the blue one"}, "the blue one"),
        ({"options": ["red", "blue"]}, {"data": "blue", "option": "2"}, "blue"),
        ({"schema": SCHEMA}, {"data": {"days": 30}}, '{"days": 30}'),
    ],
)
async def test_a_question_stops_the_tool_and_the_answer_is_its_result(
    toolbox: Toolbox, context: CallContext, args: JsonObject, answer: JsonObject, text: str
) -> None:
    asked = await run(toolbox, context, "ask_human", question="Which one?", **args)
    assert asked.suspended.question.text == "Which one?"
    resumed = replace(context, resumed=Resumed(state=asked.suspended.state, answer=answer))
    assert (await run(toolbox, resumed, "ask_human", question="Which one?", **args)).text == text


async def test_options_and_schema_are_part_of_the_question(toolbox: Toolbox, context: CallContext) -> None:
    asked = await run(toolbox, context, "ask_human", question="?", options=["a", "b"], schema=SCHEMA)
    question = asked.suspended.question
    assert question.options == (Option(id="1", label="a"), Option(id="2", label="b"))
    assert question.schema == SCHEMA


@pytest.mark.parametrize(
    ("args", "answer", "problem"),
    [
        ({"schema": SCHEMA}, {"days": 0}, f"{MISFIT} days: 0 is less than the minimum of 1"),
        ({"schema": SCHEMA}, {"days": "30"}, f'{MISFIT} days: "30" is not of type "integer"'),
        ({"schema": SCHEMA}, "soon", f'{MISFIT} "soon" is not of type "object"'),
        ({"options": ["red"]}, "green", "'green' is not one of the options."),
        ({}, None, "The answer is not text; ask again."),
    ],
)
async def test_an_answer_that_does_not_fit_never_reaches_the_agent(
    toolbox: Toolbox, context: CallContext, args: JsonObject, answer: Any, problem: str
) -> None:
    resumed = replace(context, resumed=Resumed(state={}, answer={"data": answer}))
    ran = await run(toolbox, resumed, "ask_human", question="?", **args)
    assert (ran.status, ran.text) == ("error", problem)


async def test_a_schema_that_is_none_or_refers_elsewhere_is_refused_before_anybody_is_asked(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    # This one could be followed, if anybody did.
    (tmp_path / "schema.json").write_text('{"type": "string"}')
    elsewhere = f"file://{tmp_path}/schema.json"
    for schema in ({"type": "nonsense"}, {"$ref": elsewhere}, {"$ref": "http://169.254.169.254/"}):
        ran = await run(toolbox, context, "ask_human", question="?", schema=schema)
        assert ran.status == "error"
        assert ran.text.startswith("not a valid JSON schema: ")
    twice = await run(toolbox, context, "ask_human", question="?", options=["a", "a"])
    assert twice.text == "two options are the same"
