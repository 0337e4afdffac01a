"""HTTP mode: Slack posts to us. The signature is checked before anything else is looked at."""

import hashlib
import hmac
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.app.async_app import AsyncApp

from bot.slack.routes import concerns_us

PATH = "/slack/events"
#: Older requests may be replays.
WINDOW_SECONDS = 300
_LARGEST = 2 * 1024**2


def signed(secret: str, timestamp: str, body: bytes, signature: str, *, now: float) -> bool:
    """Whether Slack sent this, a moment ago. Bolt would answer malformed headers with a 500."""
    if not (timestamp.isascii() and timestamp.isdecimal() and signature.isascii()):
        return False
    if abs(now - int(timestamp)) > WINDOW_SECONDS:
        return False
    ours = hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(f"v0={ours}", signature)


def application(app: AsyncApp, secret: str, now: Callable[[], float] = time.time) -> web.Application:
    async def receive(request: web.Request) -> web.Response:
        timestamp = request.headers.get("X-Slack-Request-Timestamp", "")
        signature = request.headers.get("X-Slack-Signature", "")
        if not signed(secret, timestamp, await request.read(), signature, now=now()):
            return web.Response(status=401, text="invalid signature")
        if request.content_type == "application/json" and not concerns_us(await request.json()):
            return web.Response()
        answer = await app.async_dispatch(await to_bolt_request(request))
        return await to_aiohttp_response(answer)

    served = web.Application(client_max_size=_LARGEST)
    served.router.add_post(PATH, receive)
    return served


@asynccontextmanager
async def serving(app: AsyncApp, secret: str, host: str, port: int) -> AsyncGenerator[str]:
    """Listen inside this block; the value is the address."""
    runner = web.AppRunner(application(app, secret), access_log=None, shutdown_timeout=5)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield f"http://{host}:{runner.addresses[0][1]}{PATH}"
    finally:
        await runner.cleanup()
