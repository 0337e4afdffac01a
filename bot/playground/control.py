"""The control API in JSON, for the page: people act, time moves, things break; a feed tells what changed.

Each route needs the random control token and, from a browser, this server's own Origin: no other web page may
click "Approve". Clicks answer at once; whether the app acked comes over the feed.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from hmac import compare_digest

from aiohttp import web

from bot.playground.arguments import Arguments, parse_body
from bot.playground.client import Interaction
from bot.playground.errors import CannotDo, SlackError
from bot.playground.faults import Faults
from bot.playground.hub import Hub
from bot.playground.people import Person, person
from bot.playground.places import Place, Post, Sheet, look
from bot.playground.shapes import Json
from bot.playground.snapshot import snapshot
from bot.playground.sockets import Sockets

Action = Callable[["Control", Arguments], Awaitable[Json]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
#: Puts a handler behind the checks of the control API.
Guard = Callable[[Handler], Handler]
_KEEP_ALIVE_SECONDS = 15.0


class Control:
    def __init__(self, hub: Hub, sockets: Sockets, token: str, reset: Callable[[], None]) -> None:
        self.hub = hub
        self.sockets = sockets
        self.reset = reset
        self._token = token

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/_control/state", self.guarded(self.state)),
            web.get("/_control/feed", self.guarded(self.feed)),
            web.get("/_control/transcript", self.guarded(self.transcript)),
            web.post("/_control/{action}", self.guarded(self.act)),
        ]

    def person(self, args: Arguments) -> Person:
        return person(self.hub, args.text("user"))

    def place(self, args: Arguments) -> Place:
        channel = args.text("channel")
        if channel not in self.hub.world.channels:
            raise CannotDo(f"there is no channel {channel!r}")
        return Place(hub=self.hub, id=channel, root=args.optional("thread_ts"))

    def post(self, args: Arguments) -> Post:
        key = args.text("channel"), args.text("ts")
        hidden = self.hub.world.ephemerals.get(key)
        return look(self.hub, hidden or self.hub.world.message(*key))

    def sheet(self, args: Arguments) -> Sheet:
        view = self.hub.world.views.get(args.text("view"))
        if view is None:
            raise CannotDo("there is no such view")
        return Sheet(hub=self.hub, view=view)

    def target(self, args: Arguments) -> Post | Sheet:
        return self.sheet(args) if "view" in args else self.post(args)

    async def act(self, request: web.Request) -> web.Response:
        action = ACTIONS.get(request.match_info["action"])
        if action is None:
            raise web.HTTPNotFound(text=f"actions: {', '.join(ACTIONS)}")
        try:
            args = Arguments(parse_body(request.content_type, await request.text()))
            return web.json_response({"ok": True, **await action(self, args)})
        except CannotDo as error:
            return web.json_response({"ok": False, "error": str(error)}, status=409)
        except SlackError as error:
            return web.json_response(error.body(), status=400)

    async def state(self, request: web.Request) -> web.Response:
        viewer = request.query.get("as")
        if viewer is not None and viewer not in self.hub.world.users:
            raise web.HTTPNotFound(text="no such user")
        return web.json_response(snapshot(self.hub, viewer))

    async def transcript(self, _request: web.Request) -> web.Response:
        return web.Response(text=str(self.hub.transcript))

    async def feed(self, request: web.Request) -> web.StreamResponse:
        """Send changes as they happen; a client that was away too long is told to reload the state."""
        response = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",
            }
        )
        await response.prepare(request)
        last = request.headers.get("Last-Event-ID") or request.query.get("after") or ""
        number = int(last) if last.isdecimal() else self.hub.feed.number
        # The page went away, for example to be loaded again: nothing is wrong.
        with contextlib.suppress(ConnectionResetError):
            await self._follow(response, number)
        return response

    async def _follow(self, response: web.StreamResponse, number: int) -> None:
        while not self.hub.feed.closed:
            changes = self.hub.feed.since(number)
            if changes is None:
                await response.write(_event(self.hub.feed.number, "reload", {}))
            else:
                for change in changes:
                    await response.write(_event(change.number, change.kind, change.data))
            number = self.hub.feed.number
            try:
                async with asyncio.timeout(_KEEP_ALIVE_SECONDS):
                    await self.hub.feed.wait(number)
            except TimeoutError:
                await response.write(b": still here\n\n")

    def guarded(self, handler: Handler) -> Handler:
        """Let a request through to `handler` only from our own page, with the token."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            # Browsers send Origin with every cross-site request; ours is the address the page came from.
            origin = request.headers.get("Origin")
            if origin is not None and origin != f"http://{request.host}":
                raise web.HTTPForbidden(text="wrong origin")
            # An EventSource cannot set headers.
            token = request.headers.get("X-Playground-Token") or request.query.get("token") or ""
            if not compare_digest(token.encode(), self._token.encode()):
                raise web.HTTPForbidden(text="wrong control token")
            return await handler(request)

        return guarded


def _event(number: int, kind: str, data: Json) -> bytes:
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def _sent(interaction: Interaction) -> Json:
    delivery = interaction.delivery
    return {"sent": delivery is not None, "id": delivery.id if delivery else None}


def _ref(post: Post) -> Json:
    return {"channel": post.channel, "ts": post.ts}


async def _say(control: Control, args: Arguments) -> Json:
    person, place = control.person(args), control.place(args)
    return _ref(await person.says(args.text("text"), in_=place, client_msg_id=args.optional("client_msg_id")))


async def _mention(control: Control, args: Arguments) -> Json:
    return _ref(await control.person(args).mentions_bot(args.text("text"), in_=control.place(args)))


async def _edit(control: Control, args: Arguments) -> Json:
    return _ref(await control.person(args).edits(control.post(args), args.text("text")))


async def _delete(control: Control, args: Arguments) -> Json:
    await control.person(args).deletes(control.post(args))
    return {}


async def _react(control: Control, args: Arguments) -> Json:
    await control.person(args).reacts(args.text("name"), to=control.post(args))
    return {}


async def _click(control: Control, args: Arguments) -> Json:
    confirm = args.flag("confirm", default=True)
    person, target = control.person(args), control.target(args)
    return _sent(await person.clicks(args.text("name"), in_=target, confirm=confirm, wait=False))


async def _select(control: Control, args: Arguments) -> Json:
    person, target, name = control.person(args), control.target(args), args.text("name")
    confirm, choice = args.flag("confirm", default=True), args.values.get("choice")
    return _sent(await person.selects(choice, from_=name, in_=target, confirm=confirm, wait=False))


async def _type(control: Control, args: Arguments) -> Json:
    text = args.optional("text") or ""
    await control.person(args).types(text, into=args.text("name"), in_=control.target(args))
    return {}


async def _submit(control: Control, args: Arguments) -> Json:
    values = args.mapping("values") or {}
    return _sent(await control.person(args).submits(control.sheet(args), values, wait=False))


async def _close(control: Control, args: Arguments) -> Json:
    person, sheet = control.person(args), control.sheet(args)
    return _sent(await person.closes(sheet, all_=args.flag("all"), wait=False))


async def _slash(control: Control, args: Arguments) -> Json:
    person, place = control.person(args), control.place(args)
    return _sent(await person.runs(args.text("command"), in_=place, wait=False))


async def _home(control: Control, args: Arguments) -> Json:
    await control.person(args).opens_home(args.optional("tab") or "home")
    return {}


async def _stop(control: Control, args: Arguments) -> Json:
    await control.person(args).presses_stop(in_=control.place(args))
    return {}


async def _clock(control: Control, args: Arguments) -> Json:
    control.hub.clock.advance(args.number("seconds", 0))
    return {"now": control.hub.clock.now()}


async def _faults(control: Control, args: Arguments) -> Json:
    method, times = args.optional("method") or "", args.number("times", 1)
    faults, sockets = control.hub.faults, control.sockets
    match args.text("kind"):
        case "fail":
            faults.fail(method, args.text("error"), times=times)
        case "ratelimit":
            faults.ratelimit(method, retry_after=args.number("seconds", 1), times=times)
        case "slow":
            faults.slow(method, args.number("seconds", 1), times=times)
        case "reset_after":
            faults.reset_after(method, times=times)
        case other:
            _break_delivery(faults, sockets, other, times, args.optional("reason") or "refresh_requested")
    return {}


def _break_delivery(faults: Faults, sockets: Sockets, kind: str, times: int, reason: str) -> None:
    match kind:
        case "drop_acks":
            faults.drop_acks(times)
        case "duplicate":
            faults.duplicate(times)
        case "reorder":
            faults.reorder(times)
        case "disconnect":
            sockets.disconnect(reason)
        case "drop_sockets":
            sockets.drop()
        case "clear":
            faults.clear()
        case _:
            raise CannotDo(f"there is no fault {kind!r}")


async def _reset(control: Control, _args: Arguments) -> Json:
    control.reset()
    return {}


ACTIONS: dict[str, Action] = {
    "say": _say,
    "mention": _mention,
    "edit": _edit,
    "delete": _delete,
    "react": _react,
    "click": _click,
    "select": _select,
    "type": _type,
    "submit": _submit,
    "close": _close,
    "slash": _slash,
    "home": _home,
    "stop": _stop,
    "clock": _clock,
    "faults": _faults,
    "reset": _reset,
}
