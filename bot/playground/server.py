"""The playground's face to the app: Web API, Socket Mode, response URLs and uploads, on loopback only."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hmac import compare_digest

from aiohttp import web

from bot.playground.arguments import Arguments, merge, parse_body
from bot.playground.errors import SlackError
from bot.playground.hub import Hub
from bot.playground.methods.call import Call
from bot.playground.methods.registry import METHODS, Method
from bot.playground.responses import use_response_url
from bot.playground.safety import is_loopback
from bot.playground.shapes import Json
from bot.playground.sockets import Sockets

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
LARGEST_BODY = 16 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    bot: str
    app: str


@web.middleware
async def loopback_only(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse other host names: a web page cannot reach us through a name that it points at 127.0.0.1."""
    if not is_loopback(request.url.host or "") or not is_loopback(request.remote or ""):
        raise web.HTTPForbidden(text="the playground answers on loopback only")
    return await handler(request)


class Server:
    def __init__(self, hub: Hub, sockets: Sockets, tokens: Tokens) -> None:
        self._hub = hub
        self._sockets = sockets
        self._tokens = tokens

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/link/", self._sockets.serve),
            web.get("/api/{method}", self.call),
            web.post("/api/{method}", self.call),
            web.post("/actions/{key}", self.use_response_url),
            web.post("/commands/{key}", self.use_response_url),
            web.post("/upload/v1/{file}", self.upload),
        ]

    async def call(self, request: web.Request) -> web.Response:
        """Answer a Web API call: as Slack does, with HTTP 200 even for most errors."""
        name = request.match_info["method"]
        fault = self._hub.faults.take(name)
        arguments = Arguments({})
        status, headers = 200, {"X-OAuth-Scopes": ",".join(sorted(self._hub.manifest.scopes))}
        try:
            arguments = await _arguments(request)
            await self._delay(name, fault.latency)
            answer = {"ok": True, **self._run(name, arguments, _token(request, arguments), fault.strike)}
        except SlackError as error:
            answer, status = error.body(), error.status
            headers |= error.headers
        self._hub.transcript.called(name, arguments.values, answer)
        self._hub.feed.publish("call", {"method": name, "ok": answer["ok"]})
        if fault.reset and request.transport is not None:
            self._hub.transcript.note("--", f"connection reset instead of the answer to {name}")
            request.transport.abort()
        return web.json_response(answer, status=status, headers=headers)

    async def _delay(self, name: str, seconds: float) -> None:
        if seconds:
            self._hub.transcript.note("--", f"{name} held back for {seconds} s")
            self._hub.feed.publish("held", {"method": name})
            await self._hub.clock.sleep(seconds)

    async def use_response_url(self, request: web.Request) -> web.Response:
        try:
            payload = parse_body("application/json", await request.text())
            use_response_url(self._hub.world, request.match_info["key"], payload)
        except SlackError as error:
            self._hub.transcript.note("<-", f"response_url = {error.code}")
            # Unlike the Web API, these answer with a status and a bare word.
            return web.Response(status=400 if error.status == 200 else error.status, text=error.code)
        self._hub.transcript.note("<-", f"response_url {json.dumps(payload)[:160]}")
        return web.Response(text="ok")

    async def upload(self, request: web.Request) -> web.Response:
        file = self._hub.world.files.get(request.match_info["file"])
        content = await request.read()
        if file is None or file.completed or len(content) != file.length:
            raise web.HTTPBadRequest(text="no such upload, or not the announced length")
        file.content = content
        return web.Response(text=f"OK - {len(content)}")

    def _run(self, name: str, arguments: Arguments, token: str | None, strike: Callable[[], None]) -> Json:
        method = METHODS.get(name)
        if method is None:
            raise SlackError("unknown_method", req_method=name)
        self._check_caller(method, token)
        strike()
        hub = self._hub
        call = Call(
            world=hub.world,
            manifest=hub.manifest,
            args=arguments,
            url=hub.url,
            new_socket=lambda: self._sockets.new_address(hub.url),
        )
        method.check_scope(call)
        channel = arguments.values.get("channel")
        hub.rates.check(name, method.per_minute, channel if isinstance(channel, str) else None)
        return method.run(call)

    def _check_caller(self, method: Method, token: str | None) -> None:
        if method.caller == "anybody":
            return
        if not token:
            raise SlackError("not_authed")
        is_bot, is_app = compare_digest(token, self._tokens.bot), compare_digest(token, self._tokens.app)
        if not (is_bot or is_app):
            raise SlackError("invalid_auth")
        if is_app != (method.caller == "app"):
            raise SlackError("not_allowed_token_type")


def _token(request: web.Request, arguments: Arguments) -> str | None:
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return token if kind == "Bearer" else arguments.optional("token")


async def _arguments(request: web.Request) -> Arguments:
    if request.content_type in _FORMS:
        return merge(request.query, await request.post())
    return merge(request.query, parse_body(request.content_type, await request.text()))
