"""send_message: to other channels or people. How many people it reaches is its impact."""

import asyncio
from typing import Any, Protocol

from pydantic import Field

from bot.domain.tool import Effects, Impact
from bot.engine.ports import CallContext
from bot.tools.tool import Arguments, Output, Tool, tool
from bot.tools.words import many


class Messenger(Protocol):
    """Where messages go, besides the thread a run talks in."""

    async def recipients(self, to: str) -> int:
        """Return how many people a message to this channel or person reaches.

        Raises:
            ToolFailed: there is no such channel or person, or the bot cannot write there.
        """
        ...

    async def send(self, to: str, text: str, *, key: str) -> str:
        """Post `text` literally, without markup or mentions, and return a reference to the message.

        `key` is the same when the same message is tried again.
        """
        ...


class SendMessage(Arguments):
    to: list[str] = Field(min_length=1, max_length=100, description="Channels or people, each with its id")
    text: str = Field(min_length=1, max_length=12_000)


def send_message(messenger: Messenger) -> Tool[SendMessage]:
    async def preview(args: SendMessage, _context: CallContext) -> Impact:
        places = _once(args.to)
        counts = await asyncio.gather(*(messenger.recipients(place) for place in places))
        people = sum(counts)
        reached = [
            f"{place} ({many(count, 'recipient')})" for place, count in zip(places, counts, strict=True)
        ]
        return Impact(
            summary=f"Send a message to {many(people, 'recipient')} in {many(len(places), 'conversation')}.",
            count=people,
            samples=tuple(reached[:5]),
            reversible=False,
            facts={"conversations": str(len(places))},
            detail=args.text,
        )

    @tool(effects=Effects(destructive=False, idempotent=False, open_world=True), preview=preview)
    async def send_message(args: SendMessage, context: CallContext) -> Output:
        """Send a message to other channels or people. The text is posted as it is, without markup."""
        failed: list[str] = []
        places = _once(args.to)
        for place in places:
            try:
                await messenger.send(place, args.text, key=f"{context.idempotency_key}:{place}")
            except Exception as error:  # noqa: BLE001 (one that fails must not hide that others were sent)
                failed.append(f"\n- {place}: {error}")
        sent = f"Sent to {len(places) - len(failed)} of {many(len(places), 'conversation')}."
        return Output(text=sent + "".join(failed), status="error" if failed else "ok")

    return send_message


def _once(places: list[str]) -> list[str]:
    return list(dict.fromkeys(places))


def message_tools(messenger: Messenger | None) -> tuple[Tool[Any], ...]:
    return (send_message(messenger),) if messenger else ()
