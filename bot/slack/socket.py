# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# Bolt's handler types its client only partly.
"""Socket Mode: two connections, so that a refresh of one is no gap, and a watchdog that replaces a deaf one."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from bot.domain.errors import ConfigError
from bot.slack.routes import concerns_us

logger = logging.getLogger(__name__)

CONNECTIONS = 2
WATCH_SECONDS = 10.0
#: The SDK reconnects by itself; a connection that stays down for so long gets a new object altogether, and so does one
#: that looks alive and has heard nothing for much longer than a workspace is ever silent.
DOWN_SECONDS = 30.0
DEAF_SECONDS = 900.0
PING_SECONDS = 5.0


class _Handler(AsyncSocketModeHandler):
    """Bolt's handler, which is spared what concerns nobody here: a dispatch costs a millisecond."""

    async def handle(self, client: SocketModeClient, req: SocketModeRequest) -> None:
        if req.type == "events_api" and not concerns_us(req.payload):
            await client.send_socket_mode_response(SocketModeResponse(envelope_id=req.envelope_id))
        else:
            await super().handle(client, req)


class Sockets:
    def __init__(self, app: AsyncApp, app_token: str) -> None:
        self._app = app
        self._token = app_token
        self._handlers: list[AsyncSocketModeHandler] = []
        #: When each was last heard, and last seen up.
        self._heard: dict[int, float] = {}
        self._up: dict[int, float] = {}

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["Sockets"]:
        """Be connected inside this block.

        Raises:
            ConfigError: the app token is wrong; says what to do.
        """
        await self._check_token()
        async with asyncio.TaskGroup() as group:
            self._handlers = [await self._connected() for _ in range(CONNECTIONS)]
            watch = group.create_task(self._watch(WATCH_SECONDS))
            try:
                yield self
            finally:
                watch.cancel()
                for handler in self._handlers:
                    await handler.close_async()

    async def healthy(self) -> int:
        """Return how many connections are up."""
        return sum([bool(await handler.client.is_connected()) for handler in self._handlers])

    async def _connected(self) -> AsyncSocketModeHandler:
        handler = _Handler(self._app, self._token, ping_interval=PING_SECONDS)
        if (urlsplit(str(self._app.client.base_url)).hostname or "") in {"127.0.0.1", "localhost", "::1"}:
            # As in web.py: a proxy of the environment would be used even for this machine.
            handler.client.proxy = None

        async def heard(_message: Any) -> None:
            self._heard[id(handler)] = time.monotonic()

        handler.client.on_message_listeners.append(heard)
        self._heard[id(handler)] = self._up[id(handler)] = time.monotonic()
        await handler.connect_async()
        return handler

    async def _check_token(self) -> None:
        """Ask for an address once: the handler would retry a wrong token for ever."""
        try:
            await self._app.client.apps_connections_open(app_token=self._token)
        except SlackApiError as error:
            code = str(error.response.get("error", ""))
            raise ConfigError(
                f"Slack does not take SLACK_APP_TOKEN ({code}). It begins with xapp- and needs the scope"
                " connections:write; create it under Basic Information, App-Level Tokens."
            ) from error

    async def _watch(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            for place, handler in enumerate(self._handlers):
                try:
                    await self._look_after(place, handler)
                except Exception:
                    logger.exception(
                        "a Slack connection could not be replaced; trying again in %s s", seconds
                    )

    async def _look_after(self, place: int, handler: AsyncSocketModeHandler) -> None:
        now = time.monotonic()
        if await handler.client.is_connected():
            self._up[id(handler)] = now
        silent, down = now - self._heard[id(handler)], now - self._up[id(handler)]
        if silent < DEAF_SECONDS and down < DOWN_SECONDS:
            return
        logger.warning("a Slack connection was down for %d s, silent for %d s; replacing it", down, silent)
        # The new one first: there is no moment without any.
        self._handlers[place] = await self._connected()
        del self._heard[id(handler)], self._up[id(handler)]
        await handler.close_async()
