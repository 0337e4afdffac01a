"""Finding things: the Home tab and the words of the command."""

import pytest

from bot.llm.scripted import call, say
from bot.playground.workspace import Workspace
from tests.slack.lab import Lab


async def test_the_home_tab_lists_what_waits_what_i_asked_what_was_decided_and_my_grants(
    lab: Lab, slack: Workspace
) -> None:
    args = {"path": str(lab.marks)}
    async with lab.bot([call("mark", args), call("jot", args), say("ok")]):
        first = await slack.requester.mentions_bot("write")
        card = await first.thread.card_with("Approve", saying="mark")
        await slack.approver.opens_home()
        home = await slack.approver.home()
        await home.shows("mark: Write 1 lines.")
        (link,) = [
            block["accessory"]["url"]
            for block in home.view.body["blocks"]
            if block.get("accessory", {}).get("url")
        ]
        assert link.endswith(
            f"/archives/C0GENERAL/p{card.ts.replace('.', '')}?thread_ts={first.ts}&cid=C0GENERAL"
        )
        await slack.requester.opens_home()
        mine = await slack.requester.home()
        await mine.shows("is *waiting*")
        assert "Nothing waits for you." in mine.shown

        await slack.approver.clicks("Approve", in_=card)
        second = await first.thread.card_with("Approve", saying="jot")
        await slack.requester.selects("Approve and remember…", from_="af:more", in_=second)
        await slack.requester.submits(await slack.requester.modal(), {})
        await first.thread.message_containing("ok")
        await slack.approver.opens_home()
        await home.shows("approved by <@U0APPROVER>")
        await home.shows("Nothing waits for you.")
        await slack.requester.opens_home()
        await mine.shows("jot in this thread: 5 more times")
        await slack.requester.clicks("Revoke", in_=mine)
        await mine.shows("None.")


async def test_pending_status_why_and_help_are_told_to_the_person_alone(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)})]) as running:
        await slack.approver.runs("/askfirst pending")
        await slack.approver.ephemeral_containing("Nothing waits for you.")
        asked = await slack.requester.mentions_bot("write")
        await asked.thread.card_with("Approve")
        (waiting,) = await running.bot.engine.store.open_interrupts()
        name = waiting.interrupt.id

        await slack.approver.runs("/askfirst pending")
        await slack.approver.ephemeral_containing(f"|{name}>")
        await slack.requester.runs("/askfirst pending")
        others = await slack.requester.ephemeral_containing("Waiting for others in this channel:")
        assert "Nothing waits for you." in others.shown
        await slack.requester.runs("/askfirst status")
        await slack.requester.ephemeral_containing("is *waiting*")
        await slack.approver.runs(f"/askfirst why {name}")
        await slack.approver.ephemeral_containing("ASK  mark")
        await slack.approver.runs("/askfirst why nothing")
        await slack.approver.ephemeral_containing("Which one?")
        await slack.guest.runs(f"/askfirst why {name}")
        await slack.guest.ephemeral_containing("You can ask that in the channel of the card")
        await slack.approver.runs("/askfirst help")
        await slack.approver.ephemeral_containing("/askfirst cancel [run]")
        await slack.approver.runs("/askfirst grants")
        await slack.approver.ephemeral_containing("Nothing is remembered here.")
        await slack.approver.runs("/askfirst revoke g-none")
        await slack.approver.ephemeral_containing("There is no such remembered approval")
        assert len(slack.general.messages) == 2


async def test_a_request_that_begins_with_a_command_word_is_still_a_request(
    lab: Lab, slack: Workspace
) -> None:
    async with lab.bot([say("Helped.")]):
        await slack.requester.runs("/askfirst help me with the logs")
        root = await slack.general.message_containing("help me with the logs")
        await root.thread.message_containing("Helped.")


@pytest.mark.parametrize("transport", ["socket"], indirect=True)
async def test_somebody_else_cannot_revoke_a_grant_they_could_not_give(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("jot", {"path": str(lab.marks)}), say("ok")]) as running:
        asked = await slack.requester.mentions_bot("jot")
        card = await asked.thread.card_with("Approve")
        await slack.requester.selects("Approve and remember…", from_="af:more", in_=card)
        await slack.requester.submits(await slack.requester.modal(), {})
        await asked.thread.message_containing("ok")
        (grant,) = await running.bot.engine.store.grants(lab.clock())
        await slack.approver.runs(f"/askfirst revoke {grant.id}")
        await slack.approver.ephemeral_containing("Only who gave it, or who could give it, can revoke it.")
        assert len(await running.bot.engine.store.grants(lab.clock())) == 1
