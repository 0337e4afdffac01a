"""The other transport: signed requests to the app's own address, as Slack sends them without Socket Mode."""

import asyncio
import hashlib
import hmac
import json
import time
from urllib.parse import urlencode

import aiohttp

from bot.playground.delivery import Courier, Delivery
from bot.playground.errors import PlaygroundError
from bot.playground.safety import require_loopback
from bot.playground.shapes import Json, as_dict

_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"
# Deadlines are the courier's, on the playground's clock. This only keeps a hung app from hanging tests.
_HANG_SECONDS = 60.0


class HttpEvents:
    timeout_reason = "http_timeout"

    def __init__(self, request_url: str, signing_secret: str, tasks: asyncio.TaskGroup) -> None:
        self._url = require_loopback(request_url)
        self._secret = signing_secret
        self._tasks = tasks
        self._under_way: set[asyncio.Task[None]] = set()
        self._session: aiohttp.ClientSession | None = None
        self.courier: Courier | None = None

    def carry(self, delivery: Delivery) -> bool:
        task = self._tasks.create_task(self._post(delivery))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return True

    async def verify(self) -> None:
        """Do what Slack does when the address is entered: the app must return the challenge."""
        challenge = "playground-challenge"
        body = json.dumps({"type": "url_verification", "challenge": challenge})
        status, _, answer = await self._send(body, _JSON, {})
        if status != 200 or (_parsed(answer) or {}).get("challenge") != challenge:
            raise PlaygroundError(
                f"the app at {self._url} did not return the challenge but {status} {answer!r}"
            )

    async def close(self) -> None:
        for task in self._under_way:
            task.cancel()
        if self._session is not None:
            await self._session.close()

    async def _post(self, delivery: Delivery) -> None:
        assert self.courier is not None  # set before anything is delivered
        body, content_type = _encoded(delivery)
        headers: dict[str, str] = {}
        if delivery.attempt:
            headers["X-Slack-Retry-Num"] = str(delivery.attempt)
            headers["X-Slack-Retry-Reason"] = delivery.retry_reason or ""
        try:
            status, answered, text = await self._send(body, content_type, headers)
        except (aiohttp.ClientError, TimeoutError, OSError):
            self.courier.failed(delivery.id, "connection_failed")
            return
        if 200 <= status < 300:
            self.courier.acked(delivery.id, _parsed(text) or ({"text": text} if text.strip() else None))
        else:
            self.courier.failed(delivery.id, "http_error", retry=answered.get("X-Slack-No-Retry") != "1")

    async def _send(
        self, body: str, content_type: str, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], str]:
        if self._session is None:
            # Environment proxies are ignored on purpose: these requests must not leave the machine.
            timeout = aiohttp.ClientTimeout(total=_HANG_SECONDS)
            self._session = aiohttp.ClientSession(trust_env=False, timeout=timeout)
        # Signed with the real time: the app checks it against its own clock, whatever the playground's says.
        skew = self.courier.faults.clock_skew if self.courier is not None else 0.0
        signed = sign(self._secret, str(int(time.time() + skew)), body)
        async with self._session.post(
            self._url,
            data=body.encode(),
            headers={
                "Content-Type": content_type,
                "User-Agent": "Slackbot 1.0 (playground)",
                **signed,
                **headers,
            },
            allow_redirects=False,
        ) as response:
            return response.status, dict(response.headers), await response.text()


def sign(secret: str, timestamp: str, body: str) -> dict[str, str]:
    """Return the headers of Slack's v0 signature."""
    digest = hmac.new(secret.encode(), f"v0:{timestamp}:{body}".encode(), hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={digest}"}


def _encoded(delivery: Delivery) -> tuple[str, str]:
    match delivery.kind:
        case "events_api":
            return json.dumps(delivery.payload), _JSON
        case "interactive":
            return urlencode({"payload": json.dumps(delivery.payload)}), _FORM
        case "slash_commands":
            return urlencode(delivery.payload), _FORM


def _parsed(text: str) -> Json | None:
    try:
        return as_dict(json.loads(text))
    except ValueError:
        return None
