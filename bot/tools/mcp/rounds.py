"""One call in rounds: what a server asks while it is called, and what people have answered so far."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcp import Client
from mcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    InputResponse,
    InputResponses,
)
from pydantic import TypeAdapter

from bot.domain.canonical import JsonObject
from bot.engine.ports import CallContext
from bot.tools.mcp import elicit
from bot.tools.tool import ToolFailed

_RESULT: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)


def answers_of(context: CallContext) -> dict[str, JsonObject]:
    """Return everything people have answered for this call, by the question's identity."""
    if context.resumed is None:
        return {}
    state = context.resumed.state
    answer = elicit.result(context.resumed).model_dump(mode="json", exclude_none=True)
    return {**state["answers"], state["asked"]: answer}


@dataclass(slots=True, kw_only=True)
class OlderCall:
    """A call to an older server: the answers we have, and the first question we have none for."""

    answers: dict[str, JsonObject]
    open: ElicitRequestParams | None = None

    def answer(self, asked: ElicitRequestParams) -> ElicitResult:
        known = self.answers.get(elicit.identity(asked))
        if known is not None:
            return ElicitResult.model_validate(known)
        self.open = self.open or asked
        return ElicitResult(action="cancel")


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What is sent to a modern server next, or the first question that nobody has answered."""

    responses: InputResponses = field(default_factory=dict[str, InputResponse])
    request_state: str | None = None
    open: ElicitRequestParams | None = None
    #: What the server asked, as it came, to be stored while people think.
    kept: JsonObject = field(default_factory=JsonObject)


async def send(
    client: Client, name: str, args: JsonObject, sending: Round
) -> CallToolResult | InputRequiredResult:
    # Not `call_tool`, which holds what comes back against a schema of the server's own: its patterns would be
    # run by a backtracking engine on our event loop, for structured content that we do not use.
    params = CallToolRequestParams(
        name=name,
        arguments=args,
        input_responses=sending.responses or None,
        request_state=sending.request_state,
    )
    return await client.session.send_request(CallToolRequest(params=params), _RESULT)


def answered(asked: InputRequiredResult, answers: Mapping[str, JsonObject]) -> Round:
    responses: InputResponses = {}
    still_open: ElicitRequestParams | None = None
    for key, request in (asked.input_requests or {}).items():
        if not isinstance(request, ElicitRequest):
            raise ToolFailed("The server asks for something that is not for a person to answer.")
        known = answers.get(elicit.identity(request.params))
        if known is not None:
            responses[key] = ElicitResult.model_validate(known)
        elif still_open is None:
            still_open = request.params
    return Round(
        responses=responses,
        request_state=asked.request_state,
        open=still_open,
        kept=asked.model_dump(mode="json", by_alias=True, exclude_none=True),
    )
