"""From a post's row to a message: everything it shows is read at the moment it is shown."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.domain.canonical import JsonObject
from bot.domain.ids import InterruptId, RunId
from bot.domain.run import FINAL
from bot.domain.transcript import DraftEdited, ModelTurn
from bot.engine.ports import DuePost
from bot.slack.address import address_of
from bot.slack.people import Channels
from bot.slack.ports import Records
from bot.slack.views.answer import answer, is_cut
from bot.slack.views.card import Card, card
from bot.slack.views.notices import fixed
from bot.slack.views.outcome import After
from bot.slack.views.scope import contract


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    #: None if there is nothing to show.
    message: JsonObject | None = None
    #: The whole text, where the message shows only a part of it.
    file: str = ""


class Renderer:
    def __init__(
        self, records: Records, channels: Channels, finish: Callable[[RunId], Awaitable[None]]
    ) -> None:
        self._records = records
        self._channels = channels
        #: Ends what is still being streamed for a run, so that the final text can take its place.
        self._finish = finish

    async def render(self, due: DuePost) -> Rendered:
        """Return the message as it should be now."""
        match due.kind:
            case "card":
                return Rendered(message=await self._card(due))
            case "answer":
                return await self._answer(due)
            case "contract":
                head = await self._records.head(due.run_id)
                shared = await self._is_shared(due)
                return Rendered(message=contract(head, shared=shared) if head else None)
            case _:
                shared = await self._is_shared(due)
                return Rendered(message=fixed(due.kind, due.body or {}, shared=shared))

    async def _is_shared(self, due: DuePost) -> bool:
        channel = address_of(due.thread_id).channel
        # To a person alone: nobody reads along.
        return not channel.startswith(("U", "W")) and await self._channels.is_shared(channel)

    async def _card(self, due: DuePost) -> JsonObject | None:
        facts = await self._records.card_facts(InterruptId(due.subject))
        if facts is None:
            return None
        shared = await self._channels.is_shared(address_of(due.thread_id).channel)
        after = After(result=facts.result, left=facts.left, over=facts.state in FINAL, shared=shared)
        return card(Card(asked=facts.asked, after=after, shared=shared, revision=due.revision))

    async def _answer(self, due: DuePost) -> Rendered:
        head = await self._records.head(due.run_id)
        if head is None or head.state not in FINAL:
            return Rendered()
        await self._finish(due.run_id)
        text = await self._final_text(due.run_id) if head.state == "done" else ""
        # Once: a later change of the message does not post the file again.
        whole = text if due.revision == 1 and is_cut(text) else ""
        return Rendered(message=answer(head, text), file=whole)

    async def _final_text(self, run_id: RunId) -> str:
        for entry in reversed(await self._records.transcript(run_id)):
            if isinstance(entry.item, DraftEdited | ModelTurn):
                return entry.item.text
        return ""
