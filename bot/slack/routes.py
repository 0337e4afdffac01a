"""What Slack sends, and who handles it, once. Whatever it asks for is durable before Slack is acked.

Events and commands are stored first: what they start goes on after the ack, and Slack would not send them again.
One that a process died with is handled by the next one, by the same table, from the stored body.

Clicks and forms are decided before they are acked; their row is the decision itself, which only the first of several
can make. A click that a dying process did not ack shows the person a warning, and is better made again than carried
out later by surprise.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Literal, TypeAlias

from bot.domain.canonical import JsonObject, digest
from bot.engine.ports import Delivered
from bot.slack.bot import Bot
from bot.slack.listeners import actions, commands, home, messages, stop, submissions

logger = logging.getLogger(__name__)

Kind: TypeAlias = Literal["event", "action", "view", "command"]
#: What the ack carries, if anything.
Reply: TypeAlias = JsonObject | None
Handler: TypeAlias = Callable[[Bot, JsonObject], Awaitable[Reply]]

EVENTS: dict[str, Handler] = {
    "app_mention": messages.on_mention,
    "message": messages.on_message,
    "app_home_opened": home.on_home,
    "agent_session_stopped": stop.on_stop,
}
OTHERS: dict[str, Handler] = {
    "action": actions.on_click,
    "view": submissions.on_submit,
    "command": commands.on_command,
}
#: Decided before the ack, so there is nothing to be caught up with.
DECIDED = {"action", "view"}
#: How long a delivery is remembered after it was handled; Slack gives up after an hour at most.
REMEMBERED = timedelta(days=1)
NOTE_SECONDS = 0.05


class Routes:
    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        #: Deliveries under way here: their second copy waits for the answer to the first.
        self._going: dict[str, asyncio.Future[Reply]] = {}
        self._done_with: list[str] = []

    async def handle(self, kind: Kind, body: JsonObject) -> Reply:
        """Store, do, and return what to ack with."""
        handler = _handler(kind, body)
        if handler is None:
            return None
        delivered = Delivered(id=delivery_id(kind, body), kind=kind, body=body)
        if (first := self._going.get(delivered.id)) is not None:
            return await asyncio.shield(first)
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._going[delivered.id] = answer
        reply: Reply = None
        try:
            bot = self._bot
            if kind in DECIDED or await bot.office.store.receive(delivered, bot.office.worker, bot.clock()):
                reply = await self._done(handler, delivered)
        finally:
            del self._going[delivered.id]
            answer.set_result(reply)
        return reply

    async def _done(self, handler: Handler, delivered: Delivered) -> Reply:
        bot = self._bot
        try:
            return await handler(bot, delivered.body)
        except Exception:
            # Acked all the same: Slack would only send it again, and again it would fail.
            logger.exception("a %s could not be handled", delivered.kind)
            return None
        finally:
            if delivered.kind not in DECIDED:
                self._finished(delivered.id)

    def _finished(self, delivery: str) -> None:
        """Note that it is done, soon and together with others: that only saves the next process from looking."""
        self._done_with.append(delivery)
        if len(self._done_with) == 1:
            self._bot.errands.start(self._note_done())

    async def _note_done(self) -> None:
        await asyncio.sleep(NOTE_SECONDS)
        done, self._done_with = self._done_with, []
        await self._bot.office.store.handled(done, self._bot.clock())

    async def catch_up(self) -> int:
        """Handle what dead processes left behind; return how much that was."""
        bot = self._bot
        await bot.office.store.forget_deliveries(bot.clock() - REMEMBERED)
        left = await bot.office.store.left_behind(bot.office.worker, bot.clock())
        for delivered in left:
            handler = _handler(delivered.kind, delivered.body)
            if handler is not None:
                await self._done(handler, delivered)
        return len(left)


def concerns_us(body: JsonObject) -> bool:
    """Whether an event has to be looked at. Most do not: each update of a card comes back as one."""
    return "event" not in body or _handler("event", body) is not None


def _handler(kind: str, body: JsonObject) -> Handler | None:
    if kind != "event":
        return OTHERS[kind]
    name = body["event"]["type"]
    if name == "message" and not messages.is_relevant(body):
        return None
    return EVENTS.get(name)


def delivery_id(kind: str, body: JsonObject) -> str:
    """The same for every attempt of Slack at one delivery, and for nothing else."""
    if kind == "event":
        return f"event/{body['event_id']}"
    trigger = body.get("trigger_id")
    return f"{kind}/{trigger}" if trigger else f"{kind}/{digest(body)[:32]}"
