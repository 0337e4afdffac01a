"""From a post's row to a message: everything it shows is read at the moment it is shown."""

from collections.abc import Awaitable, Callable

from bot.domain.canonical import JsonObject
from bot.domain.ids import InterruptId, RunId
from bot.domain.interrupt import Asked
from bot.domain.run import FINAL
from bot.domain.tool import ToolResult
from bot.domain.transcript import DraftEdited, ModelTurn
from bot.engine.ports import DuePost
from bot.slack.address import address_of
from bot.slack.people import Channels
from bot.slack.ports import Records
from bot.slack.views.answer import answer
from bot.slack.views.card import Card, card
from bot.slack.views.notices import fixed
from bot.slack.views.outcome import After


class Renderer:
    def __init__(
        self, records: Records, channels: Channels, finish: Callable[[RunId], Awaitable[None]]
    ) -> None:
        self._records = records
        self._channels = channels
        #: Ends what is still being streamed for a run, so that the final text can take its place.
        self._finish = finish

    async def render(self, due: DuePost) -> JsonObject | None:
        """Return the message as it should be now; None if there is nothing to show."""
        match due.kind:
            case "card":
                return await self._card(due)
            case "answer":
                return await self._answer(due)
            case _:
                return fixed(due.kind, due.body or {})

    async def _card(self, due: DuePost) -> JsonObject | None:
        asked = await self._records.asked(InterruptId(due.subject))
        if asked is None:
            return None
        shared = await self._channels.is_shared(address_of(due.thread_id).channel)
        if asked.outcome is None:
            return card(Card(asked=asked, shared=shared, revision=due.revision))
        head = await self._records.head(due.run_id)
        after = After(
            result=await self._result(asked),
            left=len(await self._records.open_interrupts(due.run_id)),
            over=head is None or head.state in FINAL,
            shared=shared,
        )
        return card(Card(asked=asked, after=after, shared=shared, revision=due.revision))

    async def _result(self, asked: Asked) -> ToolResult | None:
        call_id = asked.interrupt.call_id
        if call_id is None:
            return None
        for entry in reversed(await self._records.transcript(asked.interrupt.run_id)):
            if isinstance(entry.item, ToolResult) and entry.item.call_id == call_id:
                return entry.item
        return None

    async def _answer(self, due: DuePost) -> JsonObject | None:
        head = await self._records.head(due.run_id)
        if head is None or head.state not in FINAL:
            return None
        await self._finish(due.run_id)
        return answer(head, await self._final_text(due.run_id) if head.state == "done" else "")

    async def _final_text(self, run_id: RunId) -> str:
        for entry in reversed(await self._records.transcript(run_id)):
            if isinstance(entry.item, DraftEdited | ModelTurn):
                return entry.item.text
        return ""
