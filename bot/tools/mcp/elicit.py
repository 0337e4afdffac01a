"""Questions of a server to the person (elicitation), as questions of ours. Pure."""

from typing import Any, cast

from mcp.types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from bot.domain.canonical import JsonObject, digest
from bot.domain.interrupt import Option, Question
from bot.engine.ports import Resumed
from bot.tools.schema import validator

_DONE, _DECLINE = "I have done that", "Decline"


def identity(asked: ElicitRequestParams) -> str:
    """Recognise the same question when it is asked again."""
    if isinstance(asked, ElicitRequestFormParams):
        return digest([asked.message, asked.requested_schema])
    # Not its URL: that often carries a code of its own for each attempt.
    return digest([asked.message])


def question(asked: ElicitRequestParams, server: str) -> Question:
    """Put it so that people know who asks: a server is not the bot.

    Raises:
        ToolFailed: its form cannot be used; a schema that refers elsewhere must not be followed by anybody.
    """
    text = f"The server {server} asks: {asked.message}"
    if isinstance(asked, ElicitRequestFormParams):
        validator(asked.requested_schema)
        return Question(text=text, schema=asked.requested_schema)
    options = (Option(id="accept", label=_DONE), Option(id="decline", label=_DECLINE))
    return Question(text=f"{text}\n{asked.url}", options=options)


def result(resumed: Resumed) -> ElicitResult:
    """Return what the server is told."""
    data: Any = resumed.answer.get("data")
    if isinstance(data, dict):
        return ElicitResult(action="accept", content=cast("JsonObject", data))
    return ElicitResult(action="accept" if data == _DONE else "decline")
