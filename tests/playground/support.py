"""Blocks and an app that several tests of the playground share."""
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false, reportMissingParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUntypedFunctionDecorator=false
# pyright: reportUnusedFunction=false
# Bolt injects listener arguments by name and types its decorators only partly.

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Literal

import pytest
from aiohttp import web
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.manifest import read_manifest
from bot.playground.workspace import Workspace

Json = dict[str, Any]
#: Read once, outside any event loop.
MANIFEST = read_manifest()
Transport = Literal["socket", "http"]
Connect = Callable[[AsyncApp], Awaitable[None]]
#: Bolt's default. With 0.2 s its client dropped its own socket in 11 of 24 bursts on a busy machine.
PING_SECONDS = 10.0
#: For tests about a lost socket, which the client notices at its next ping.
QUICK_PING_SECONDS = 1.0
#: Slack's own AsyncWebClient. It types its methods and answers only partly, so tests do not lean on that.
Client = Any


def new_client(slack: Workspace, *, token: str | None = "ours", **options: Any) -> Client:
    token = slack.bot_token if token == "ours" else token
    return AsyncWebClient(token=token, base_url=slack.api_url, **options)


@asynccontextmanager
async def connected(
    slack: Workspace, app: AsyncApp, transport: Transport, *, ping_interval: float = PING_SECONDS
) -> AsyncGenerator[None]:
    """Connect `app` to the workspace, over Socket Mode or signed HTTP, until the block ends."""
    async with AsyncExitStack() as stack:
        if transport == "socket":
            handler = AsyncSocketModeHandler(app, slack.app_token, ping_interval=ping_interval)
            await handler.connect_async()
            stack.push_async_callback(handler.close_async)
            await slack.connected()
        else:
            runner = web.AppRunner(app.web_app(path="/slack/events"), access_log=None, shutdown_timeout=1)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            await slack.deliver_to(f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events")
        yield


async def refused(call: Awaitable[Any]) -> Any:
    """Return the HTTP response to a call that Slack's client reports as an error."""
    with pytest.raises(SlackApiError) as caught:
        await call
    return caught.value.response


async def refusal(call: Awaitable[Any]) -> Json:
    """Return the answer to a call that Slack's client reports as an error."""
    return dict((await refused(call)).data)


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def section(text: str, **more: Any) -> Json:
    return {"type": "section", "text": plain(text), **more}


def button(text: str, action_id: str, **more: Any) -> Json:
    return {"type": "button", "text": plain(text), "action_id": action_id, **more}


def actions(*elements: Json, **more: Any) -> Json:
    return {"type": "actions", "elements": list(elements), **more}


def menu(placeholder: str, action_id: str, *labels: str) -> Json:
    options = [{"text": plain(label), "value": label.lower()} for label in labels]
    return {
        "type": "static_select",
        "action_id": action_id,
        "placeholder": plain(placeholder),
        "options": options,
    }


def text_input(label: str, block_id: str, *, optional: bool = False, **more: Any) -> Json:
    element = {"type": "plain_text_input", "action_id": "text", **more}
    return {
        "type": "input",
        "block_id": block_id,
        "label": plain(label),
        "element": element,
        "optional": optional,
    }


def modal(title: str, *blocks: Json, **more: Any) -> Json:
    return {"type": "modal", "title": plain(title), "submit": plain("Send"), "blocks": list(blocks), **more}


CARD = [
    section("Delete 847 files"),
    actions(button("Approve", "approve", value="1"), button("Reject…", "reject")),
]


def sample_app(app: AsyncApp) -> AsyncApp:
    """Add a minimal approval bot: mention → card → click, or reject with a reason; a command; a stream."""
    _listen(app)
    _decide(app)
    return app


def _listen(app: AsyncApp) -> None:
    @app.event("app_mention")
    async def on_mention(event, say, client):
        if "stream" in event["text"]:
            stream = await client.chat_stream(
                channel=event["channel"],
                thread_ts=event["ts"],
                recipient_user_id=event["user"],
                recipient_team_id=event["team"],
            )
            await stream.append(markdown_text="**All** ")
            await stream.append(markdown_text="done")
            await stream.stop()
        else:
            await say(text="Approval needed", blocks=CARD, thread_ts=event["ts"])

    @app.event("message")
    async def on_message() -> None:
        pass

    @app.event("app_home_opened")
    async def on_home(event, client):
        view = {"type": "home", "blocks": [section("Nothing waits for you")]}
        await client.views_publish(user_id=event["user"], view=view)

    @app.command("/askfirst")
    async def on_command(ack, command, respond):
        await ack(f"You asked for {command['text']}")
        await respond("and here is more", response_type="in_channel")


def _decide(app: AsyncApp) -> None:
    @app.action("approve")
    async def on_approve(ack, body, client):
        await ack()
        channel, ts = body["channel"]["id"], body["message"]["ts"]
        text = f"Approved by <@{body['user']['id']}>"
        await client.chat_update(channel=channel, ts=ts, text=text, blocks=[section(text)])

    @app.action("reject")
    async def on_reject(ack, body, client):
        await ack()
        where = f"{body['channel']['id']} {body['message']['ts']}"
        view = modal("Reject", text_input("Reason", "reason"), callback_id="reason", private_metadata=where)
        await client.views_open(trigger_id=body["trigger_id"], view=view)

    @app.view("reason")
    async def on_reason(ack, view, client):
        reason = view["state"]["values"]["reason"]["text"]["value"]
        if len(reason) < 5:
            await ack(response_action="errors", errors={"reason": "Say a little more"})
            return
        await ack()
        channel, ts = view["private_metadata"].split()
        await client.chat_update(channel=channel, ts=ts, text=f"Rejected: {reason}", blocks=[])
