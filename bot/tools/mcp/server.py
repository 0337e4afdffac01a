"""One MCP server: its tools, as they were last seen, and calls to them.

**Definitions are held to.** Right before a call the server is asked again what it offers: that tells whether
it is still there, and whether the tool is still the one that was judged. If it is not, nothing is run and the
model is told to propose it again, which goes through the policy with the new definition.

**Questions of a server** (elicitation) become interrupts, and nothing waits in memory for the answer:

- A server of protocol 2026-07-28 returns its question as a result, with a state of its own. We keep both, and
  call again with state and answer: it goes on where it stopped.
- An older server asks in the middle of a call and waits. We cannot, so we tell it that the person cancelled,
  drop what it answers, and ask. With the answer **the tool is called again from its beginning**, and when it
  asks the same thing it is answered at once. What it did before it asked, it does twice; servers ask before
  they act, as the protocol advises, but one that does not will show it here.
"""

import asyncio
import logging
import re
from dataclasses import dataclass, field

from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CONNECTION_CLOSED,
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    InputRequiredResult,
    Tool,
    ToolAnnotations,
)

from bot.domain.canonical import JsonObject
from bot.domain.tool import Effects, Impact, ToolDefinition
from bot.engine.ports import CallContext
from bot.tools.mcp import elicit
from bot.tools.mcp.config import ServerConfig
from bot.tools.mcp.connection import Connection
from bot.tools.mcp.content import output
from bot.tools.mcp.rounds import OlderCall, Round, answered, answers_of, send
from bot.tools.schema import Validator, misfit, validator
from bot.tools.tool import Chunks, Output, Suspend, ToolFailed

logger = logging.getLogger(__name__)

_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_LONGEST_DESCRIPTION = 4000
_CAREFUL = Effects()
_MOST_ROUNDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class McpTool:
    """One tool of one server, as the registry sees it."""

    definition: ToolDefinition
    server: "McpServer" = field(repr=False, compare=False)
    name: str
    seconds: float | None = 120
    #: A server has no way to tell what a call would do.
    measures: bool = False

    def invalid(self, args: JsonObject) -> str | None:
        known: JsonObject = self.definition.parameters.get("properties", {})
        unknown = sorted(set(args) - set(known))
        if unknown:
            return f"{unknown[0]}: the tool has no such argument"
        try:
            return misfit(self._validator(), args)
        except ToolFailed as error:
            return f"the tool cannot be called: its schema is {error}"

    async def preview(self, args: JsonObject, context: CallContext) -> Impact | None:  # noqa: ARG002
        return None

    async def run(self, args: JsonObject, context: CallContext) -> Chunks:
        yield await self.server.call(self, args, context)

    def _validator(self) -> Validator:
        return validator(self.definition.parameters)


class McpServer:
    """A server's tools as they were last seen, and calls to it."""

    def __init__(self, name: str, config: ServerConfig, *, start_seconds: float) -> None:
        self.name = name
        self.trusted = config.trusted
        self.connection = Connection(name, config, self, start_seconds=start_seconds)
        self.tools: dict[str, McpTool] = {}
        #: The same, as the server put it.
        self.offered: list[Tool] = []
        #: Answers for an older server that asks while it is being called.
        self._call: OlderCall | None = None
        self._one_at_a_time = asyncio.Lock()

    # What the connection tells us ————————————————————————————————————————————————————————————————————————

    def learned(self, tools: list[Tool]) -> None:
        if tools == self.offered:
            return  # as nearly always: it is asked before each call
        self.offered = tools
        self.tools = {f"mcp:{self.name}/{tool.name}": self._tool(tool) for tool in tools if _usable(tool)}

    async def elicited(self, asked: ElicitRequestParams) -> ElicitResult | ErrorData:
        if self._call is None:
            return ElicitResult(action="cancel")
        return self._call.answer(asked)

    def _tool(self, tool: Tool) -> McpTool:
        definition = ToolDefinition(
            name=f"mcp:{self.name}/{tool.name}",
            description=(tool.description or tool.title or "")[:_LONGEST_DESCRIPTION],
            parameters=tool.input_schema,
            effects=_effects(tool.annotations) if self.trusted else _CAREFUL,
            trusted=self.trusted,
        )
        return McpTool(definition=definition, server=self, name=tool.name)

    # What the registry wants of us ———————————————————————————————————————————————————————————————————————

    async def call(self, judged: McpTool, args: JsonObject, context: CallContext) -> Output:
        client = await self.connection.fresh()
        now = self.tools.get(judged.definition.name)
        if now is None:
            raise ToolFailed(f"Not run: the MCP server {self.name} no longer has the tool {judged.name}.")
        if now.definition != judged.definition:
            raise ToolFailed(
                f"Not run: the definition of {judged.definition.name} changed since this call was judged. "
                "Propose it again if it still fits."
            )
        try:
            result = await self._called(client, judged.name, args, context)
        except MCPError as error:
            if error.code != CONNECTION_CLOSED:
                raise ToolFailed(f"The MCP server {self.name} refused: {error.message}") from error
            self.connection.lost()
            what = f"The MCP server {self.name} stopped while {judged.name} was running"
            raise ToolFailed(f"{what}. Whether it was done is not known.") from error
        self.connection.worked()
        return result

    async def _called(self, client: Client, name: str, args: JsonObject, context: CallContext) -> Output:
        if self.connection.modern:
            return await self._call_modern(client, name, args, context)
        # An older server's question does not say which call it belongs to, so there is only one at a time.
        async with self._one_at_a_time:
            return await self._call_older(client, name, args, context)

    async def _call_modern(self, client: Client, name: str, args: JsonObject, context: CallContext) -> Output:
        answers = answers_of(context)
        kept = context.resumed.state["round"] if context.resumed else None
        sending = answered(InputRequiredResult.model_validate(kept), answers) if kept else Round()
        for _ in range(_MOST_ROUNDS):
            if sending.open:
                state = {"asked": elicit.identity(sending.open), "answers": answers, "round": sending.kept}
                raise Suspend(elicit.question(sending.open, self.name), state)
            try:
                result = await send(client, name, args, sending)
            except MCPError as error:
                if error.code == CONNECTION_CLOSED or sending.request_state is None or not kept:
                    raise
                # It was restarted and does not know its own state any more. From the beginning, then: the
                # answers that people gave are still good for the same questions.
                kept, sending = None, Round()
                continue
            if isinstance(result, CallToolResult):
                return output(result)
            sending = answered(result, answers)
        raise ToolFailed(f"The MCP server {self.name} asked more than {_MOST_ROUNDS} times.")

    async def _call_older(self, client: Client, name: str, args: JsonObject, context: CallContext) -> Output:
        call = self._call = OlderCall(answers=answers_of(context))
        try:
            result = await send(client, name, args, Round())
        finally:
            self._call = None
        if call.open:
            state = {"asked": elicit.identity(call.open), "answers": call.answers}
            raise Suspend(elicit.question(call.open, self.name), state)
        assert isinstance(result, CallToolResult)  # the protocol's older versions have nothing else
        return output(result)


def _usable(tool: Tool) -> bool:
    if _TOOL_NAME.fullmatch(tool.name):
        return True
    logger.warning("an MCP tool has a name that cannot be used: %r", tool.name[:100])
    return False


def _effects(hints: ToolAnnotations | None) -> Effects:
    """Return the effects a trusted server claims; what it does not say is taken as the worst."""
    if hints is None:
        return _CAREFUL
    read_only = hints.read_only_hint is True
    return Effects(
        read_only=read_only,
        destructive=hints.destructive_hint is not False and not read_only,
        idempotent=hints.idempotent_hint is True or read_only,
        open_world=hints.open_world_hint is not False,
    )
