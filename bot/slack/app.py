# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedFunctionDecorator=false, reportUnusedFunction=false
# Bolt types its decorators only partly; this file and `socket.py` are the only ones that see it.
"""The shell around Bolt: everything it takes in goes to `routes.py`, and what comes back is the ack."""

import logging
import re

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.canonical import JsonObject
from bot.slack.routes import Kind, Routes
from bot.slack.web import Identity

_ANYTHING = re.compile(".*", re.DOTALL)


def build_app(routes: Routes, me: Identity, client: AsyncWebClient, *, signing_secret: str = "") -> AsyncApp:
    """Return an app that answers everything Slack may send.

    `process_before_response`: the ack goes out when the listener returns, so each commits first, and Bolt does
    not poll for it every 10 ms.
    """

    async def authorize() -> AuthorizeResult:
        # Asked once at the start, not lazily with the first click.
        return AuthorizeResult(
            enterprise_id=None, team_id=me.team, bot_user_id=me.user, bot_id=me.bot, bot_token=client.token
        )

    logger = logging.getLogger("bot.slack.bolt")
    # A request with a bad signature would be logged whole, at INFO; and that the client's token is not asked for
    # again for each request is on purpose, no reason for a warning.
    logger.setLevel(logging.ERROR)
    app = AsyncApp(
        logger=logger,
        client=client,
        authorize=authorize,
        signing_secret=signing_secret or "socket-mode-has-none",
        process_before_response=True,
        attaching_conversation_kwargs_enabled=False,
        # Bolt also drops what others do to our messages, such as deleting a card; `messages.py` tells them apart.
        ignoring_self_events_enabled=False,
    )
    _listen(app, routes)
    return app


def _listen(app: AsyncApp, routes: Routes) -> None:  # noqa: C901 - a table
    async def through(kind: Kind, body: JsonObject, ack: AsyncAck) -> BoltResponse:
        return await ack(**(await routes.handle(kind, body) or {}))

    # One listener of a kind and no other: if the first did not ack in three seconds, Bolt would run the next as well.
    @app.event(_ANYTHING)
    async def event(body: JsonObject, ack: AsyncAck) -> None:
        await through("event", body, ack)

    @app.action(_ANYTHING)
    async def action(body: JsonObject, ack: AsyncAck) -> None:
        await through("action", body, ack)

    @app.view(_ANYTHING)
    async def view(body: JsonObject, ack: AsyncAck) -> None:
        await through("view", body, ack)

    @app.view_closed(_ANYTHING)
    async def closed(ack: AsyncAck) -> None:
        await ack()

    @app.command(_ANYTHING)
    async def command(body: JsonObject, ack: AsyncAck) -> None:
        await through("command", body, ack)

    @app.shortcut(_ANYTHING)
    async def shortcut(ack: AsyncAck) -> None:
        await ack()

    @app.options(_ANYTHING)
    async def options(ack: AsyncAck) -> None:
        await ack(options=[])
