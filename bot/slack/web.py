# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# Slack's client types its answers as `dict | bytes`; this is the one place that calls it.
"""The door to Slack's Web API: typed calls, one shared session, and errors as values of ours."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from aiohttp import ClientError, ClientSession, ClientTimeout
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.canonical import JsonObject
from bot.domain.errors import ConfigError, Upstream

API = "https://slack.com/api/"
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class SlackFailed(Upstream):
    """Slack said no, or nothing."""

    def __init__(
        self, code: str, *, retry_after: float | None = None, may_have_happened: bool = False
    ) -> None:
        self.code = code
        self.retry_after = retry_after
        #: No answer came back: the message may be there all the same.
        self.may_have_happened = may_have_happened
        super().__init__(f"Slack answered {code}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who we are in the workspace."""

    team: str
    user: str
    bot: str
    url: str


class Web:
    """Slack's Web API."""

    def __init__(self, client: AsyncWebClient) -> None:
        self.client = client

    async def call(self, method: str, **arguments: Any) -> JsonObject:
        """Call a method that takes JSON.

        Raises:
            SlackFailed
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        return await self._answered(method, json=given)

    async def read(self, method: str, **arguments: Any) -> JsonObject:
        """Call a method that only reads; Slack takes no JSON there."""
        params = {name: _param(value) for name, value in arguments.items() if value is not None}
        return await self._answered(method, http_verb="GET", params=params)

    async def upload(self, channel: str, thread_ts: str, name: str, content: str) -> None:
        """Put a text file into a thread.

        Raises:
            SlackFailed
        """
        data = content.encode("utf-8", "replace")
        place = await self.read("files.getUploadURLExternal", filename=name, length=len(data))
        assert self.client.session is not None
        try:
            async with self.client.session.post(place["upload_url"], data=data) as response:
                if response.status != 200:
                    raise SlackFailed(f"http_{response.status}")
        except (ClientError, TimeoutError, OSError) as error:
            raise SlackFailed("connection_failed") from error
        files = [{"id": place["file_id"], "title": name}]
        await self.call("files.completeUploadExternal", files=files, channel_id=channel, thread_ts=thread_ts)

    async def identity(self) -> Identity:
        """Ask Slack who we are.

        Raises:
            ConfigError: the token is wrong; says what to do.
        """
        try:
            told = await self._answered("auth.test", http_verb="POST", params={})
        except SlackFailed as failed:
            raise ConfigError(_TOKEN_HELP.get(failed.code, _UNREACHABLE).format(code=failed.code)) from failed
        return Identity(
            team=told["team_id"], user=told["user_id"], bot=told.get("bot_id", ""), url=told["url"]
        )

    async def _answered(self, method: str, **how: Any) -> JsonObject:
        try:
            response = await self.client.api_call(method, **how)
        except SlackApiError as error:
            raise _failure(error) from error
        except (ClientError, TimeoutError, OSError) as error:
            raise SlackFailed("connection_failed", may_have_happened=True) from error
        return dict(response.data) if isinstance(response.data, dict) else {}


_TOKEN_HELP = {
    "invalid_auth": "Slack does not know SLACK_BOT_TOKEN. Copy the Bot User OAuth Token (xoxb-…) of your app again.",
    "not_allowed_token_type": "SLACK_BOT_TOKEN is not a bot token (xoxb-…); the xapp- one is SLACK_APP_TOKEN.",
    "token_revoked": "SLACK_BOT_TOKEN was revoked. Reinstall the app and copy the new token.",
    "token_expired": "SLACK_BOT_TOKEN has expired. Reinstall the app and copy the new token.",
    "account_inactive": "The app was uninstalled, or its workspace is gone. Install it again.",
}
_UNREACHABLE = (
    "Slack could not be reached to check SLACK_BOT_TOKEN ({code}). Check the network and SLACK_API_URL."
)


def _param(value: Any) -> Any:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value


def _failure(error: SlackApiError) -> SlackFailed:
    response: Any = error.response
    status = int(getattr(response, "status_code", 0) or 0)
    headers: Any = getattr(response, "headers", None) or {}
    data: Any = getattr(response, "data", None)
    code = str(data.get("error", "")) if isinstance(data, dict) else ""
    if status == 429:
        wait = headers.get("Retry-After") or headers.get("retry-after") or "1"
        return SlackFailed("ratelimited", retry_after=float(wait))
    if status >= 500:
        return SlackFailed(code or f"http_{status}", may_have_happened=True)
    return SlackFailed(code or f"http_{status}")


@asynccontextmanager
async def open_web(token: str, base_url: str = API) -> AsyncGenerator[Web]:
    """One session for all calls: a connection per call costs three times as much on loopback, more with TLS."""
    url = base_url if base_url.endswith("/") else f"{base_url}/"
    # The limit of the SDK's own sessions does not hold for ours.
    async with ClientSession(timeout=ClientTimeout(total=30)) as session:
        # No retry handlers: retrying after a reset connection may post twice. The outbox retries, and looks first.
        client = AsyncWebClient(token=token, base_url=url, session=session, retry_handlers=[])
        if (urlsplit(url).hostname or "") in _LOOPBACK:
            # The SDK reads proxies from the environment and ignores NO_PROXY.
            client.proxy = None
        yield Web(client)
