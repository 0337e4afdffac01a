"""From Slack to the app: each delivery must be acked in three seconds, and events come again.

The rules are the same for both transports; `sockets.py` and `http_events.py` only carry.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, Protocol

from bot.playground.clock import Clock, Timer
from bot.playground.faults import Faults
from bot.playground.feed import Feed
from bot.playground.shapes import Json
from bot.playground.transcript import Transcript

ACK_SECONDS = 3.0
#: An event that was not acked comes again at once, after a minute, and after five minutes.
RETRIES = (0.0, 60.0, 300.0)

Kind = Literal["events_api", "interactive", "slash_commands"]


def _nothing(_delivery: "Delivery") -> None:
    pass


@dataclass(slots=True, kw_only=True, eq=False)
class Delivery:
    id: str
    kind: Kind
    payload: Json
    #: What the transcript calls it.
    label: str
    attempt: int = 0
    retry_reason: str | None = None
    state: Literal["new", "in_flight", "acked", "missed"] = "new"
    answer: Json | None = None
    on_ack: Callable[["Delivery"], None] = _nothing
    on_miss: Callable[["Delivery"], None] = _nothing
    deadline: Timer | None = None
    #: Set once it is acked, or given up.
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    def envelope(self) -> Json:
        """Return the frame of Socket Mode."""
        envelope: Json = {
            "envelope_id": self.id,
            "type": self.kind,
            "payload": self.payload,
            "accepts_response_payload": self.kind != "events_api",
        }
        if self.kind == "events_api":
            envelope |= {"retry_attempt": self.attempt, "retry_reason": self.retry_reason or ""}
        return envelope


class Transport(Protocol):
    #: The reason Slack gives when the app did not answer in time.
    timeout_reason: str

    def carry(self, delivery: Delivery) -> bool:
        """Set `delivery` on its way, or say that nobody is there to take it."""
        ...


@dataclass(slots=True, kw_only=True)
class Courier:
    clock: Clock
    faults: Faults
    feed: Feed
    transcript: Transcript
    transport: Transport
    in_flight: dict[str, Delivery] = field(default_factory=dict[str, Delivery])
    _held: list[Delivery] = field(default_factory=list[Delivery])

    def post(self, delivery: Delivery) -> Delivery:
        remaining = self.faults.take_reordered()
        if remaining == 0:
            self._send(delivery)
            return delivery
        self._held.append(delivery)
        if remaining == 1:
            held, self._held = self._held, []
            for late in reversed(held):
                self._send(late)
        return delivery

    def acked(self, delivery_id: str, answer: Json | None) -> None:
        delivery = self.in_flight.get(delivery_id)
        if delivery is None:
            self.transcript.note("<-", f"ack of {delivery_id}: late, repeated or unknown, ignored")
            self.feed.publish("ack_ignored", {"id": delivery_id})
        elif self.faults.take_dropped_ack():
            self.transcript.note("--", f"ack of {delivery.label} lost on the way")
            self.feed.publish("ack_lost", {"id": delivery_id})
        else:
            self._settle(delivery, "acked")
            delivery.answer = answer
            self.transcript.note("<-", f"ack of {delivery.label}{f' {answer}' if answer else ''}")
            delivery.on_ack(delivery)
            delivery.settled.set()
            self.feed.publish("acked", {"id": delivery.id})

    def failed(self, delivery_id: str, reason: str, *, retry: bool = True) -> None:
        """Take the answer of an app that refused, or the lack of one."""
        delivery = self.in_flight.get(delivery_id)
        if delivery is None:
            return
        self._settle(delivery, "missed")
        self.transcript.note("--", f"{delivery.label}: {reason}")
        if delivery.kind == "events_api" and retry and delivery.attempt < len(RETRIES):
            wait = RETRIES[delivery.attempt]
            delivery.attempt += 1
            delivery.retry_reason = reason
            if wait:
                self.clock.later(wait, partial(self._send, delivery))
            else:
                self._send(delivery)
        else:
            delivery.on_miss(delivery)
            delivery.settled.set()
        self.feed.publish("missed", {"id": delivery.id, "reason": reason})

    def _send(self, delivery: Delivery) -> None:
        again = f" (attempt {delivery.attempt})" if delivery.attempt else ""
        self.transcript.note("->", f"{delivery.label}{again}")
        delivery.state = "in_flight"
        self.in_flight[delivery.id] = delivery
        if not self.transport.carry(delivery):
            # Slack keeps nothing for an app that is not there.
            self.failed(delivery.id, "nobody connected", retry=False)
            return
        late = partial(self.failed, delivery.id, self.transport.timeout_reason)
        delivery.deadline = self.clock.later(ACK_SECONDS, late)
        if self.faults.take_duplicate():
            self.transcript.note("->", f"{delivery.label} (duplicate)")
            self.transport.carry(delivery)

    def _settle(self, delivery: Delivery, state: Literal["acked", "missed"]) -> None:
        del self.in_flight[delivery.id]
        delivery.state = state
        if delivery.deadline is not None:
            delivery.deadline.cancel()
