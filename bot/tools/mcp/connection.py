"""One server: started when it is needed, ended by the task that started it, tried again after a while.

The SDK keeps a server's pipes in task groups, and a task group must be left by the task that entered it. So
one owner task per server enters and leaves; everybody else only sends requests, which any task may do. The
owner sleeps until the connection is wanted, and then until it is to be dropped.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import IO, Any, Protocol, cast

from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitRequestParams, ElicitResult, ErrorData, Implementation, Tool
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from bot.tools.mcp.config import ServerConfig
from bot.tools.threads import in_thread
from bot.tools.tool import ToolFailed

_MOST_PAGES = 20
_LONGEST_WAIT = 60.0


class Listener(Protocol):
    """Who wants to know what a connection learns."""

    def learned(self, tools: list[Tool]) -> None: ...

    async def elicited(self, asked: ElicitRequestParams) -> ElicitResult | ErrorData: ...


class Connection:
    """A server that is there when it is needed, if it can be."""

    def __init__(self, name: str, config: ServerConfig, listener: Listener, *, start_seconds: float) -> None:
        self.name = name
        self._config = config
        self._listener = listener
        self._start_seconds = start_seconds
        self._wanted = asyncio.Event()
        self._dropped = asyncio.Event()
        self._client: Client | None = None
        self._waiting: list[asyncio.Future[Client]] = []
        #: Why it does not run, and when it may be tried again.
        self._reason = ""
        self._failures = 0
        self._retry_at = 0.0

    @property
    def modern(self) -> bool:
        """Whether questions come as results that can be kept, rather than as requests that wait."""
        return self._client is not None and self._client.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def own(self) -> None:
        """Be the owner task: start the server when it is wanted and end it when it is dropped."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            log = await in_thread(lambda _stop: _log())
            try:
                await self._live(log)
            except Exception as error:  # noqa: BLE001 (an SDK, a server, a network: all become one reason)
                self._failed(_why(error), await in_thread(lambda _stop, log=log: _tail(log)))
            finally:
                self._client = None
                log.close()

    async def _live(self, log: IO[str]) -> None:
        async with AsyncExitStack() as stack:
            # Not anyio's: a scope that is left before the task groups entered inside it would break them.
            async with asyncio.timeout(self._start_seconds):
                client = await stack.enter_async_context(self._make(log))
                self._listener.learned(await _tools(client))
            self._client = client
            self._dropped.clear()
            for future in self._waiting:
                if not future.done():
                    future.set_result(client)
            self._waiting.clear()
            await self._dropped.wait()

    @asynccontextmanager
    async def _make(self, log: IO[str]) -> AsyncGenerator[Client]:
        async with AsyncExitStack() as stack:
            transport: Any
            if self._config.url is not None:
                # In a thread, since it reads certificates.
                made = await in_thread(lambda _stop: create_mcp_http_client(headers=self._config.headers))
                http = await stack.enter_async_context(made)
                transport = streamable_http_client(self._config.url, http_client=http)
            else:
                parameters = StdioServerParameters(
                    command=self._config.command or "",
                    args=self._config.args,
                    env=self._config.env,
                    cwd=self._config.cwd,
                )
                transport = stdio_client(parameters, errlog=log)  # pyright: ignore[reportArgumentType]
            client = Client(
                transport,
                elicitation_callback=self._elicited,
                client_info=Implementation(name="askfirst", version="1"),
                cache=None,
            )
            yield await stack.enter_async_context(client)

    async def _elicited(self, context: Any, params: ElicitRequestParams) -> ElicitResult | ErrorData:  # noqa: ARG002
        return await self._listener.elicited(params)

    async def client(self) -> Client:
        """Return a running server's client, starting the server if it may be started now.

        Raises:
            ToolFailed: it does not run; the message says why and when it will be tried again.
        """
        if self._client is not None and not self._dropped.is_set():
            return self._client
        if time.monotonic() < self._retry_at:
            raise ToolFailed(self._not_running())
        future: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self._wanted.set()
        return await future

    async def fresh(self) -> Client:
        """Return a client that has just answered, with what it offers now passed on to the listener."""
        for attempt in (1, 2):
            client = await self.client()
            try:
                async with asyncio.timeout(self._start_seconds):
                    self._listener.learned(await _tools(client))
            except (MCPError, TimeoutError) as error:
                # Ended, or busy with a call that nobody waits for any more: a new one is the way out of both.
                self.lost()
                if attempt == 2:
                    raise ToolFailed(f"The MCP server {self.name} does not answer: {_why(error)}.") from error
            else:
                return client
        raise AssertionError

    def worked(self) -> None:
        """Take note that it answered a call: the next failure is a first one again."""
        self._failures = 0

    def lost(self) -> None:
        """Have the owner end this connection. The next call starts another, at once if this was the first."""
        self._dropped.set()
        if self._failures:
            self._back_off("it keeps stopping")
        self._failures += 1

    def nudge(self) -> None:
        """Start it in the background if it does not run and may be tried."""
        if self._client is None and time.monotonic() >= self._retry_at:
            self._wanted.set()

    def _failed(self, why: str, log: str) -> None:
        self._back_off(f"{why}{log}")
        self._failures += 1
        for future in self._waiting:
            if not future.done():
                future.set_exception(ToolFailed(self._not_running()))
                # Whoever waited may be gone; an exception nobody fetches would be logged as an error.
                future.exception()
        self._waiting.clear()

    @property
    def trouble(self) -> str:
        """Say why it does not run; empty if nothing is known against it."""
        return self._not_running() if self._client is None and self._reason else ""

    def _back_off(self, why: str) -> None:
        self._reason = why
        self._retry_at = time.monotonic() + min(2.0**self._failures, _LONGEST_WAIT)

    def _not_running(self) -> str:
        when = f"it will be tried again in {max(1, round(self._retry_at - time.monotonic()))} s"
        return f"The MCP server {self.name} is not running: {self._reason}; {when}."


async def _tools(client: Client) -> list[Tool]:
    found: list[Tool] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return found


def _why(error: BaseException) -> str:
    """Find the first real reason inside what task groups make of it."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    match error:
        case TimeoutError():
            return "it took too long"
        case FileNotFoundError(filename=name):
            return f"{name} was not found"
        case MCPError(message=message):
            return message.rstrip(".").lower()
        case _:
            return f"{type(error).__name__}: {error}".rstrip(": ")


def _log() -> IO[str]:
    return tempfile.TemporaryFile("w+", errors="replace")


def _tail(log: IO[str]) -> str:
    """Return the last line the server wrote to stderr: mostly it says why it did not start."""
    end = log.seek(0, os.SEEK_END)
    log.seek(max(0, end - 4096))
    lines = [line.strip() for line in log.read().splitlines() if line.strip()]
    return f" ({lines[-1][:300]})" if lines else ""
