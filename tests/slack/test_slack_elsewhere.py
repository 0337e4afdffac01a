"""One question, several faces: answered elsewhere, the card shows it. Secrets are masked on every face."""

import asyncio

from bot.cli.paint import Paint
from bot.cli.screen import Screen
from bot.domain.decision import Approve, Decided, Decision
from bot.domain.ids import UserId
from bot.llm.scripted import call, say
from bot.playground.workspace import Workspace
from bot.wiring import open_engine
from tests.slack.lab import Lab, eventually

SECRET = "ghp_" + "a1B2c3D4" * 5


async def test_an_answer_given_in_another_process_changes_the_card_and_the_run_goes_on(
    lab: Lab, slack: Workspace
) -> None:
    """The other engine shares nothing with the bot but the database, as `askfirst serve` does."""
    async with lab.bot([call("mark", {"path": str(lab.marks)}), say("Done.")]) as running:
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Approve")
        settings = await asyncio.to_thread(lab.settings)
        async with open_engine(settings, Screen(Paint(on=False)), clock=lab.clock) as other:
            (waiting,) = await other.store.open_interrupts()
            decision = Decision(answer=Approve(), by=UserId("U0APPROVER"), at=lab.clock(), via="http")
            await other.store.settle(waiting.interrupt.id, Decided(decision=decision), [])
        await card.shows("Approved")
        await running.bot.engine.supervisor.recover()
        assert await eventually(lambda: asyncio.to_thread(lab.marked)) == ["x"]
        await asked.thread.message_containing("Done.")


async def test_a_secret_in_an_argument_is_masked_on_the_card_and_used_as_it_is(
    lab: Lab, slack: Workspace
) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks), "text": SECRET}), say("Done.")]):
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Approve")
        assert SECRET not in card.shown
        assert "‹secret:" in card.shown
        assert str(lab.marks) in card.shown
        await slack.approver.clicks("Approve", in_=card)
        await asked.thread.message_containing("Done.")
        assert lab.marked() == [SECRET]
