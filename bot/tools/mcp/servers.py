"""All MCP servers as a source of tools, named `mcp:server/tool`.

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
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    InputRequiredResult,
    InputResponse,
    InputResponses,
    Tool,
    ToolAnnotations,
)
from pydantic import TypeAdapter

from bot.domain.canonical import JsonObject
from bot.domain.tool import Effects, Impact, ToolDefinition
from bot.engine.ports import CallContext
from bot.tools.mcp import elicit
from bot.tools.mcp.config import McpConfig, ServerConfig
from bot.tools.mcp.connection import Connection
from bot.tools.mcp.content import output
from bot.tools.mcp.known import recall, remember
from bot.tools.schema import Validator, misfit, validator
from bot.tools.tool import Chunks, Output, Suspend, ToolFailed

logger = logging.getLogger(__name__)

_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_LONGEST_DESCRIPTION = 4000
_CAREFUL = Effects()
_MOST_ROUNDS = 10
_RESULT: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)


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
        self._call: _OlderCall | None = None
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
        answers = _answers(context)
        kept = context.resumed.state["round"] if context.resumed else None
        sending = _answered(InputRequiredResult.model_validate(kept), answers) if kept else _Round()
        for _ in range(_MOST_ROUNDS):
            if sending.open:
                state = {"asked": elicit.identity(sending.open), "answers": answers, "round": sending.kept}
                raise Suspend(elicit.question(sending.open, self.name), state)
            try:
                result = await _send(client, name, args, sending)
            except MCPError as error:
                if error.code == CONNECTION_CLOSED or sending.request_state is None or not kept:
                    raise
                # It was restarted and does not know its own state any more. From the beginning, then: the
                # answers that people gave are still good for the same questions.
                kept, sending = None, _Round()
                continue
            if isinstance(result, CallToolResult):
                return output(result)
            sending = _answered(result, answers)
        raise ToolFailed(f"The MCP server {self.name} asked more than {_MOST_ROUNDS} times.")

    async def _call_older(self, client: Client, name: str, args: JsonObject, context: CallContext) -> Output:
        call = self._call = _OlderCall(answers=_answers(context))
        try:
            result = await _send(client, name, args, _Round())
        finally:
            self._call = None
        if call.open:
            state = {"asked": elicit.identity(call.open), "answers": call.answers}
            raise Suspend(elicit.question(call.open, self.name), state)
        assert isinstance(result, CallToolResult)  # the protocol's older versions have nothing else
        return output(result)


def _answers(context: CallContext) -> dict[str, JsonObject]:
    """Return everything people have answered for this call, by the question's identity."""
    if context.resumed is None:
        return {}
    state = context.resumed.state
    answer = elicit.result(context.resumed).model_dump(mode="json", exclude_none=True)
    return {**state["answers"], state["asked"]: answer}


@dataclass(slots=True, kw_only=True)
class _OlderCall:
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
class _Round:
    """What is sent to a modern server next, or the first question that nobody has answered."""

    responses: InputResponses = field(default_factory=dict[str, InputResponse])
    request_state: str | None = None
    open: ElicitRequestParams | None = None
    #: What the server asked, as it came, to be stored while people think.
    kept: JsonObject = field(default_factory=JsonObject)


async def _send(
    client: Client, name: str, args: JsonObject, sending: _Round
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


def _answered(asked: InputRequiredResult, answers: Mapping[str, JsonObject]) -> _Round:
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
    return _Round(
        responses=responses,
        request_state=asked.request_state,
        open=still_open,
        kept=asked.model_dump(mode="json", by_alias=True, exclude_none=True),
    )


class McpServers:
    """The source of all MCP tools, for the registry."""

    def __init__(self, config: McpConfig, *, known: Path | None = None, start_seconds: float = 20) -> None:
        """Make the source; `known` is a file in which definitions are kept, so that servers start lazily."""
        self._config = config
        self._known = known
        self._servers = {
            name: McpServer(name, server, start_seconds=start_seconds)
            for name, server in config.servers.items()
        }

    @asynccontextmanager
    async def running(self, *, wait_seconds: float = 10) -> AsyncGenerator["McpServers"]:
        """Be ready to start servers, and end them on leaving.

        A server whose definitions are not known is started now, and waited for a while; a slow one's tools
        appear when it is there.
        """
        if self._known:
            for name, tools in (await asyncio.to_thread(recall, self._known, self._config.servers)).items():
                self._servers[name].learned(tools)
        async with asyncio.TaskGroup() as owners:
            servers = self._servers.values()
            tasks = [owners.create_task(server.connection.own(), name=server.name) for server in servers]
            try:
                await self._discover(wait_seconds)
                await self._remember()
                yield self
            finally:
                await self._remember()
                for task in tasks:
                    task.cancel()

    def tools(self) -> Mapping[str, McpTool]:
        found: dict[str, McpTool] = {}
        for server in self._servers.values():
            if not server.tools:
                server.connection.nudge()
            found.update(server.tools)
        return found

    def missing(self, name: str) -> str | None:
        """Say why a tool of one of the servers is not there."""
        server = self._servers.get(name.removeprefix("mcp:").partition("/")[0])
        return server.connection.trouble or None if server and name.startswith("mcp:") else None

    async def _discover(self, wait_seconds: float) -> None:
        async def ask(server: McpServer) -> None:
            try:
                await server.connection.client()
            except ToolFailed as error:
                logger.warning("%s", error)

        unknown = [server for server in self._servers.values() if not server.tools]
        try:
            async with asyncio.timeout(wait_seconds):
                await asyncio.gather(*(ask(server) for server in unknown))
        except TimeoutError:
            slow = ", ".join(server.name for server in unknown if not server.tools)
            logger.warning("MCP servers are still starting: %s", slow)

    async def _remember(self) -> None:
        if self._known:
            offered = {name: server.offered for name, server in self._servers.items()}
            try:
                await asyncio.to_thread(remember, self._known, self._config.servers, offered)
            except OSError as error:
                logger.warning("%s cannot be written: %s", self._known, error.strerror)


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
