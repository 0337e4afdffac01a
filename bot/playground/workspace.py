"""Open a workspace, meet the people in it.

async with Workspace.open() as slack:
app = AsyncApp(client=AsyncWebClient(token=slack.bot_token, base_url=slack.api_url))
handler = AsyncSocketModeHandler(app, slack.app_token)
await handler.connect_async()
await slack.requester.mentions_bot("clean up old test files")
card = await slack.general.card_with("Approve")
await slack.approver.clicks("Approve", in_=card)
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Self, TypeAlias

from aiohttp import web

from bot.playground import cast
from bot.playground.clock import Clock
from bot.playground.control import Control, Guard
from bot.playground.delivery import Courier
from bot.playground.errors import Unsafe
from bot.playground.faults import Faults
from bot.playground.feed import Feed
from bot.playground.http_events import HttpEvents
from bot.playground.hub import Hub
from bot.playground.manifest import Manifest, read_manifest
from bot.playground.pages import page_routes
from bot.playground.people import Person, person
from bot.playground.places import Place
from bot.playground.rates import Rates
from bot.playground.safety import is_loopback, new_token, require_playground_token
from bot.playground.server import LARGEST_BODY, Server, Tokens, loopback_only
from bot.playground.shapes import Json
from bot.playground.sockets import Sockets
from bot.playground.transcript import ApiCall, Transcript
from bot.playground.world import Channel, Happened, User, World

Routes: TypeAlias = Sequence[web.RouteDef]


def _nothing_more(_guard: Guard) -> Routes:
    return ()


class Workspace:
    """One workspace with its server. Everything in it belongs to one event loop."""

    def __init__(self, hub: Hub, sockets: Sockets, tokens: Tokens, tasks: asyncio.TaskGroup) -> None:
        self.hub = hub
        self.sockets = sockets
        self.bot_token, self.app_token = tokens.bot, tokens.app
        self.signing_secret = secrets.token_hex(16)
        self.control_token = secrets.token_urlsafe(24)
        self._tasks = tasks
        self._http: HttpEvents | None = None

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        *,
        manifest: Manifest | None = None,
        clock: Clock | None = None,
        bot_token: str | None = None,
        app_token: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        patience: float = 10.0,
        more: Callable[[Guard], Routes] = _nothing_more,
    ) -> AsyncGenerator[Self]:
        """Serve a workspace with its people on loopback until the block ends.

        The clock stands still unless a running one is given. A wait takes `patience` real seconds at most.
        `more` adds routes; what it is given puts them behind the same checks as the control API.

        Raises:
            Unsafe: a token looks real, or `host` is not loopback.
        """
        if not is_loopback(host):
            raise Unsafe(f"{host} can be reached by others; the playground stays on loopback")
        tokens = Tokens(
            bot=require_playground_token(bot_token or new_token("xoxb")),
            app=require_playground_token(app_token or new_token("xapp")),
        )
        asked_for = manifest or await asyncio.to_thread(read_manifest)
        pages = await asyncio.to_thread(page_routes)
        hub, sockets = _build(clock or Clock(), asked_for, patience)
        async with asyncio.TaskGroup() as tasks:
            slack = cls(hub, sockets, tokens, tasks)
            application = slack._application(tokens, pages, more)
            runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
            await runner.setup()
            try:
                await web.TCPSite(runner, host, port).start()
                hub.url = f"http://{host}:{runner.addresses[0][1]}"
                yield slack
            finally:
                await slack._close()
                await runner.cleanup()

    # Where the app finds it.

    @property
    def url(self) -> str:
        return self.hub.url

    @property
    def api_url(self) -> str:
        """What to give an `AsyncWebClient` as base_url."""
        return f"{self.url}/api/"

    async def deliver_to(self, request_url: str, *, verify: bool = True) -> None:
        """Send signed requests to the app at `request_url` from now on, instead of using Socket Mode.

        Raises:
            Unsafe: it is not on this machine.
        """
        await self._close_http()
        self._http = HttpEvents(request_url, self.signing_secret, self._tasks)
        self._http.courier = self.hub.courier
        self.hub.courier.transport = self._http
        if verify:
            await self._http.verify()

    # People and places.

    @property
    def requester(self) -> Person:
        return self.person(cast.REQUESTER)

    @property
    def approver(self) -> Person:
        return self.person(cast.APPROVER)

    @property
    def second_approver(self) -> Person:
        return self.person(cast.SECOND_APPROVER)

    @property
    def guest(self) -> Person:
        return self.person(cast.GUEST)

    @property
    def stranger(self) -> Person:
        """Somebody of another workspace, in the externally shared channel."""
        return self.person(cast.STRANGER)

    @property
    def former(self) -> Person:
        """Somebody whose account is deactivated."""
        return self.person(cast.FORMER)

    @property
    def general(self) -> Place:
        return self.place(cast.GENERAL)

    @property
    def private(self) -> Place:
        return self.place(cast.PRIVATE)

    @property
    def shared(self) -> Place:
        """The channel shared with another workspace."""
        return self.place(cast.SHARED)

    def person(self, user_id: str) -> Person:
        return person(self.hub, user_id)

    def place(self, channel_id: str) -> Place:
        return Place(hub=self.hub, id=channel_id)

    def add_user(self, user: User, *, channels: tuple[str, ...] = (cast.GENERAL,)) -> Person:
        self.hub.world.users[user.id] = user
        for channel in channels:
            self.hub.world.channels[channel].members.add(user.id)
        return self.person(user.id)

    def change_user(self, who: Person, **changes: Any) -> None:
        """Deactivate somebody, make them a guest, and the like."""
        self.hub.world.users[who.id] = replace(who.user, **changes)

    def change_group(self, *members: Person, group: str = cast.ONCALL) -> None:
        self.hub.world.usergroups[group].users = [member.id for member in members]

    def add_channel(self, channel: Channel) -> Place:
        self.hub.world.channels[channel.id] = channel
        return self.place(channel.id)

    # Time, faults, and what happened.

    @property
    def clock(self) -> Clock:
        return self.hub.clock

    @property
    def faults(self) -> Faults:
        return self.hub.faults

    @property
    def rates(self) -> Rates:
        return self.hub.rates

    @property
    def transcript(self) -> Transcript:
        return self.hub.transcript

    async def advance(self, seconds: float, *, settle: bool = True) -> None:
        """Let time pass. First wait for acks under way, so that none is late by accident.

        A test about missed acks passes `settle=False`.
        """
        if settle:
            await self.hub.settle()
        self.hub.clock.advance(seconds)

    async def settle(self) -> None:
        """Wait until the app has acked everything it was sent."""
        await self.hub.settle()

    async def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait until `condition` is true; it is looked at after every change of the workspace and `nudge`."""
        await self.hub.wait(condition, what)

    def nudge(self) -> None:
        """Say that something outside changed that a test may be waiting for."""
        self.hub.feed.publish("nudge", {})

    def calls(self, method: str) -> list[ApiCall]:
        """Return the calls of one Web API method, oldest first."""
        return [call for call in self.hub.transcript.calls if call.method == method]

    async def called(self, method: str, *, times: int = 1) -> list[ApiCall]:
        await self.hub.wait(lambda: self.transcript.counts[method] >= times, f"{times} calls of {method}")
        return self.calls(method)

    async def connected(self, sockets: int = 1) -> None:
        """Wait until the app has this many sockets open."""
        await self.hub.wait(lambda: self.sockets.count == sockets, f"{sockets} open sockets")

    def happens(self, event: Json, *, in_: Place | None = None, subscription: str | None = None) -> None:
        """Deliver any other event, if the app subscribed to it."""
        channel = self.hub.world.channels[in_.id] if in_ is not None else None
        name = subscription or event["type"]
        self.hub.tell_app(Happened(subscription=name, event=event, channel=channel))

    def reset(self) -> None:
        """Start over with the people and places of a new workspace; sockets stay connected."""
        self.hub.reset()
        cast.populate(self.hub.world)

    def _application(self, tokens: Tokens, pages: Routes, more: Callable[[Guard], Routes]) -> web.Application:
        app = web.Application(middlewares=[loopback_only], client_max_size=LARGEST_BODY)
        app.add_routes(Server(self.hub, self.sockets, tokens).routes())
        control = Control(self.hub, self.sockets, self.control_token, self.reset)
        app.add_routes([*control.routes(), *pages, *more(control.guarded)])
        return app

    async def _close(self) -> None:
        self.hub.clock.close()
        self.hub.feed.close()
        await self._close_http()
        await self.sockets.close()

    async def _close_http(self) -> None:
        if self._http is not None:
            await self._http.close()


def _build(clock: Clock, manifest: Manifest, patience: float) -> tuple[Hub, Sockets]:
    world, feed, faults = World(clock.now), Feed(), Faults()
    cast.populate(world)
    transcript = Transcript(clock.now)
    sockets = Sockets(world, transcript)
    courier = Courier(clock=clock, faults=faults, feed=feed, transcript=transcript, transport=sockets)
    sockets.courier = courier
    hub = Hub(
        world=world,
        clock=clock,
        feed=feed,
        faults=faults,
        rates=Rates(clock.now),
        manifest=manifest,
        transcript=transcript,
        courier=courier,
        patience=patience,
    )
    return hub, sockets
