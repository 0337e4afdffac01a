"""Everything of one workspace, wired together: state, clock, courier, and what clients do with them."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from bot.playground import interactions
from bot.playground.clock import Clock
from bot.playground.delivery import Courier, Delivery, Kind
from bot.playground.errors import NeverHappened, SlackError
from bot.playground.faults import Faults
from bot.playground.feed import Feed
from bot.playground.inputs import Control
from bot.playground.manifest import Manifest
from bot.playground.rates import Rates
from bot.playground.responses import RESPONSE_URL_SECONDS, TROUBLE, answer_submission, respond
from bot.playground.shapes import Json
from bot.playground.transcript import Transcript
from bot.playground.world import Channel, Happened, Message, ResponseUrl, Trigger, User, View, World

T = TypeVar("T")
TRIGGER_SECONDS = 3.0
#: A playground may run for days; what nobody used among this many is forgotten.
_KEPT = 10_000


@dataclass(slots=True, kw_only=True)
class Hub:
    world: World
    clock: Clock
    feed: Feed
    faults: Faults
    rates: Rates
    manifest: Manifest
    transcript: Transcript
    courier: Courier
    #: Real seconds a test waits before it fails with the transcript.
    patience: float = 10.0
    #: Set once the server knows its port.
    url: str = ""
    #: Clicks and commands that show "didn't respond" to the person, newest last.
    unanswered: deque[Delivery] = field(default_factory=lambda: deque[Delivery](maxlen=1_000))

    def __post_init__(self) -> None:
        self.world.changed = self.feed.publish
        self.world.happened = self.tell_app

    # Towards the app.

    def tell_app(self, happened: Happened) -> None:
        """Deliver an event, if the app subscribed to it."""
        if self.manifest.hears(happened.subscription):
            self._post("events_api", interactions.event_callback(self.world, happened))

    def act_in_message(
        self, user: User, message: Message, control: Control, action: Json, state: Json
    ) -> Delivery:
        target = ResponseUrl(
            channel=message.channel,
            user=user.id,
            expires_at=self.world.now() + RESPONSE_URL_SECONDS,
            message_ts=message.ts,
            thread_ts=message.thread_ts,
        )
        payload = interactions.message_action(
            self.world,
            user,
            message,
            action,
            trigger=self._trigger(user),
            url=self._response_url("actions", target),
            state=state,
        )
        self.transcript.note("--", f"{user.name} uses {control.label!r}")
        return self._post("interactive", payload, on_miss=self._not_answered)

    def act_in_view(self, user: User, view: View, control: Control, action: Json, state: Json) -> Delivery:
        trigger = self._trigger(user, view)
        payload = interactions.view_action(user, view, action, trigger=trigger, state=state)
        self.transcript.note("--", f"{user.name} uses {control.label!r} in a {view.type} view")
        return self._post("interactive", payload, on_miss=self._not_answered)

    def submit(self, user: User, view: View, state: Json) -> Delivery:
        view.errors, view.trouble = {}, None
        trigger = self._trigger(user, view)
        payload = interactions.view_submission(user, view, trigger=trigger, state=state)
        on_ack, on_miss = partial(self._submitted, view), partial(self._not_submitted, view)
        return self._post("interactive", payload, on_ack=on_ack, on_miss=on_miss)

    def tell_closed(self, user: User, view: View, state: Json, *, is_cleared: bool) -> Delivery:
        payload = interactions.view_closed(user, view, state=state, is_cleared=is_cleared)
        return self._post("interactive", payload)

    def run_command(self, user: User, channel: Channel, command: str, text: str) -> Delivery:
        expires = self.world.now() + RESPONSE_URL_SECONDS
        target = ResponseUrl(channel=channel.id, user=user.id, expires_at=expires)
        payload = interactions.slash_command(
            user,
            channel,
            command,
            text,
            trigger=self._trigger(user),
            url=self._response_url("commands", target),
        )
        on_ack = partial(self._answered_command, target)
        return self._post("slash_commands", payload, on_ack=on_ack, on_miss=self._not_answered)

    # For tests.

    async def wait(self, find: Callable[[], T | None], what: str) -> T:
        """Return what `find` finds, as soon as that is true, looking again at every change.

        Raises:
            NeverHappened: it did not come within `patience`; the message holds the transcript.
        """
        async with self.patiently(what):
            while True:
                seen = self.feed.number
                found = find()
                if found:
                    return found
                await self.feed.wait(seen)
        raise AssertionError("unreachable: the block above returns or raises")

    @asynccontextmanager
    async def patiently(self, what: str) -> AsyncGenerator[None]:
        """Fail with the transcript if the block takes longer than a test should wait."""
        try:
            async with asyncio.timeout(self.patience):
                yield
        except TimeoutError:
            raise NeverHappened(f"waited {self.patience} s for {what}\n{self.transcript}") from None

    async def settle(self) -> None:
        """Wait until the app has acked everything it was sent."""
        await self.wait(lambda: not self.courier.in_flight, "the app to ack everything it was sent")

    def reset(self) -> None:
        """Forget all state and all faults; what was under way is not waited for."""
        for delivery in self.courier.in_flight.values():
            if delivery.deadline is not None:
                delivery.deadline.cancel()
        self.courier.in_flight.clear()
        self.unanswered.clear()
        self.faults.clear()
        self.world.reset()
        self.feed.publish("reset", {})

    def _post(
        self,
        kind: Kind,
        payload: Json,
        on_ack: Callable[[Delivery], None] = lambda _: None,
        on_miss: Callable[[Delivery], None] = lambda _: None,
    ) -> Delivery:
        label = interactions.label_of(payload)
        delivery_id = self.world.next_id("envelope-")
        return self.courier.post(
            Delivery(id=delivery_id, kind=kind, payload=payload, label=label, on_ack=on_ack, on_miss=on_miss)
        )

    def _trigger(self, user: User, view: View | None = None) -> str:
        expires_at = self.world.now() + TRIGGER_SECONDS
        trigger_id = self.world.next_secret(f"{self.world.next_id('')}.")
        in_view = None if view is None else view.id
        self.world.triggers[trigger_id] = Trigger(user=user.id, expires_at=expires_at, view=in_view)
        _forget_oldest(self.world.triggers)
        return trigger_id

    def _response_url(self, kind: str, target: ResponseUrl) -> str:
        key = self.world.next_secret("")
        self.world.response_urls[key] = target
        _forget_oldest(self.world.response_urls)
        return f"{self.url}/{kind}/{key}"

    # When the app answered, or did not.

    def _answered_command(self, target: ResponseUrl, delivery: Delivery) -> None:
        if delivery.answer:
            try:
                respond(self.world, target, delivery.answer)
            except SlackError as error:
                self.transcript.note("--", f"Slack could not show the answer to {delivery.label}: {error}")
                self._not_answered(delivery)

    def _submitted(self, view: View, delivery: Delivery) -> None:
        try:
            answer_submission(self.world, view, delivery.answer)
        except SlackError as error:
            self.transcript.note(
                "--", f"Slack cannot use the answer to {delivery.label}: {error} {error.fields}"
            )
            self._not_submitted(view, delivery)

    def _not_submitted(self, view: View, delivery: Delivery) -> None:
        view.trouble = TROUBLE
        self.unanswered.append(delivery)
        self.feed.publish("trouble", {"user": view.user, "view": view.id})

    def _not_answered(self, delivery: Delivery) -> None:
        self.unanswered.append(delivery)
        self.feed.publish("didnt_respond", {"label": delivery.label})


def _forget_oldest(issued: dict[str, Any]) -> None:
    if len(issued) > _KEPT:
        del issued[next(iter(issued))]
