"""ask_human: the agent's own question, as free text, a choice or a form."""

import json
from typing import Any

from pydantic import Field

from bot.domain.canonical import JsonObject
from bot.domain.interrupt import Option, Question
from bot.domain.tool import READS
from bot.engine.ports import CallContext, Resumed
from bot.tools.schema import misfit, validator
from bot.tools.tool import Arguments, Suspend, Tool, ToolFailed, tool


class AskHuman(Arguments):
    question: str = Field(min_length=1, description="What you need to know, in one or two sentences")
    options: list[str] = Field(default_factory=list[str], max_length=25, description="Answers to choose from")
    schema_: JsonObject | None = Field(
        None, alias="schema", description="JSON schema of an object, if the answer is a form"
    )


@tool(effects=READS)
async def ask_human(args: AskHuman, context: CallContext) -> str:
    """Ask the person in the thread what is unclear or theirs to decide. The run waits for the answer."""
    if context.resumed is None:
        raise Suspend(_question(args))
    return _answer(args, context.resumed)


def _question(args: AskHuman) -> Question:
    if args.schema_ is not None:
        validator(args.schema_)
    if len(set(args.options)) != len(args.options):
        raise ToolFailed("two options are the same")
    options = tuple(Option(id=str(number), label=label) for number, label in enumerate(args.options, 1))
    return Question(text=args.question, options=options, schema=args.schema_)


def _answer(args: AskHuman, resumed: Resumed) -> str:
    """Return the answer for the model. It was checked when it was given; it is checked here again."""
    data: Any = resumed.answer.get("data")
    if args.schema_ is not None and "option" not in resumed.answer:
        problem = misfit(validator(args.schema_), data)
        if problem:
            raise ToolFailed(f"The answer does not fit the form: {problem}")
        return json.dumps(data, ensure_ascii=False)
    if not isinstance(data, str):
        raise ToolFailed("The answer is not text; ask again.")
    if args.options and data not in args.options:
        raise ToolFailed(f"{data!r} is not one of the options.")
    return data


def ask_tools() -> tuple[Tool[Any], ...]:
    return (ask_human,)
