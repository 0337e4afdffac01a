"""What comes by itself: reminders, escalation, expiry, digests; and "not now"."""

import pytest

from bot.llm.scripted import call, say
from bot.playground.workspace import Workspace
from tests.slack.lab import POLICY, Lab

pytestmark = pytest.mark.parametrize("transport", ["socket"], indirect=True)


async def test_a_reminder_mentions_who_can_decide_and_stands_under_the_card(
    lab: Lab, slack: Workspace
) -> None:
    lab.policy = POLICY.replace("expires: 15m,", "expires: 15m, remind: [5m],")
    async with lab.bot([call("mark", {"path": str(lab.marks)})]) as running:
        asked = await slack.requester.mentions_bot("write")
        await asked.thread.card_with("Approve")
        lab.clock.pass_(minutes=6)
        await running.bot.engine.runner.sweep()
        reminder = await asked.thread.message_containing("This waits for you since")
        mentioned = [e for e in reminder.blocks[0]["elements"][0]["elements"] if e["type"] == "usergroup"]
        assert [each["usergroup_id"] for each in mentioned] == ["S0ONCALL"]


async def test_an_expiry_says_what_was_not_done_and_can_be_asked_again(lab: Lab, slack: Workspace) -> None:
    lab.policy = POLICY.replace("on_timeout: deny", "on_timeout: cancel_run")
    args = {"path": str(lab.marks)}
    async with lab.bot([call("mark", args), call("mark", args), say("ok")]) as running:
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Approve")
        lab.clock.pass_(minutes=16)
        await running.bot.engine.runner.sweep()
        await card.shows("Expired, not run")
        assert card.buttons == []
        notice = await asked.thread.card_with(
            "Ask again", saying="Nobody decided in time, so I did not run mark."
        )
        await slack.guest.clicks("Ask again", in_=notice)
        await slack.guest.ephemeral_containing("Guests cannot decide here.")
        await slack.requester.clicks("Ask again", in_=notice)
        again = await asked.thread.card_with("Approve", after=card)
        await slack.approver.clicks("Approve", in_=again)
        await again.shows("1 written")
        assert lab.marked() == ["x"]


async def test_not_now_reminds_only_the_person_who_said_so(lab: Lab, slack: Workspace) -> None:
    lab.policy = POLICY.replace("expires: 15m,", "expires: 5h,")
    async with lab.bot([call("mark", {"path": str(lab.marks)})]) as running:
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Approve")
        await slack.approver.selects("Remind me in an hour", from_="af:more", in_=card)
        await slack.approver.ephemeral_containing("I remind you <!date^")
        await slack.requester.selects("Remind me in an hour", from_="af:more", in_=card)
        await slack.requester.ephemeral_containing("Only oncall can decide this.")
        lab.clock.pass_(minutes=61)
        await running.bot.engine.runner.sweep()
        reminder = await asked.thread.message_containing("This waits for you")
        assert "U0APPROVER" in reminder.shown
        assert "Approve" in card.buttons


async def test_a_notice_in_a_shared_channel_quotes_nothing(lab: Lab, slack: Workspace) -> None:
    lab.policy = POLICY.replace("on_timeout: deny", "on_timeout: cancel_run")
    async with lab.bot([call("mark", {"path": str(lab.marks)})]) as running:
        asked = await slack.requester.mentions_bot("write", in_=slack.shared)
        await asked.thread.card_with("Review…")
        lab.clock.pass_(minutes=16)
        await running.bot.engine.runner.sweep()
        notice = await asked.thread.card_with("Ask again")
        assert "mark" not in notice.shown
