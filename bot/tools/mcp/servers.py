"""All MCP servers as a source of tools, named `mcp:server/tool`."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from bot.engine.tasks import task_group
from bot.tools.mcp.config import McpConfig
from bot.tools.mcp.known import recall, remember
from bot.tools.mcp.server import McpServer, McpTool
from bot.tools.tool import ToolFailed

logger = logging.getLogger(__name__)


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
        async with task_group() as owners:
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
