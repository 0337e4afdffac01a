"""The card, and what becomes of it: approve, options, edit, reject, quorum, reasons, remembering."""

import asyncio

import pytest

from bot.llm.scripted import ScriptedModel, call, calls, say, tool_call
from bot.playground.errors import CannotDo
from bot.playground.places import Post
from bot.playground.workspace import Workspace
from tests.slack.lab import Lab, eventually


async def test_a_mention_asks_and_a_click_runs_it_and_the_answer_is_in_the_thread(
    lab: Lab, slack: Workspace
) -> None:
    args = {"path": str(lab.marks), "count": 3}
    async with lab.bot([call("mark", args, text="these look fine"), say("All done.")]):
        asked = await slack.requester.mentions_bot("write something")
        card = await asked.thread.card_with("Approve", saying="Write 3 lines.")
        assert lab.marked() == []
        click = await slack.approver.clicks("Approve", in_=card)
        assert click.acked
        await card.shows("Approved")
        await card.shows("3 written")
        assert card.buttons == []
        await asked.thread.message_containing("All done.")
        assert lab.marked() == ["x"] * 3


async def test_the_card_answers_what_why_impact_options_who_and_until_when(
    lab: Lab, slack: Workspace
) -> None:
    args = {"path": "/tmp/x", "text": "hello", "count": 3}
    async with lab.bot([call("mark", args, text="these look fine")]):
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Approve")
        shown = card.shown
        assert "Approval needed · mark" in shown
        assert "Write 3 lines. Cannot be undone." in shown
        assert "Why ask: It writes a file.  (changes)" in shown
        assert "path   /tmp/x\ntext   hello\ncount  3" in shown
        assert "Only one  1 line instead" in shown
        assert "The agent says: “these look fine”" in shown
        assert "<@U0REQUESTER> asked · <!subteam^S0ONCALL> decides · expires <!date^" in shown
        assert card.buttons == ["Explain", "Approve", "Only one", "Edit…", "Reject…"]
        # The agent's words are in a block of their own, not beside what was measured.
        (words,) = [block for block in card.blocks if "The agent says" in str(block)]
        assert words["type"] == "context"


async def test_an_irreversible_approval_is_confirmed_first(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)}), say("ok")]):
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Approve")
        thought_better = await slack.approver.clicks("Approve", in_=card, confirm=False)
        assert thought_better.cancelled
        await slack.approver.clicks("Approve", in_=card)
        await card.shows("Approved")


async def test_explain_shows_the_whole_policy_explanation(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("mark", {"path": "/tmp/x"})]):
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Explain")
        await slack.requester.clicks("Explain", in_=card)
        sheet = await slack.requester.modal("Why this is asked")
        assert "ASK  mark" in sheet.shown
        assert "changes" in sheet.shown
        assert "policy slack-tests" in sheet.shown


async def test_an_option_runs_what_it_says(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks), "count": 3}), say("ok")]):
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Only one")
        await slack.approver.clicks("Only one", in_=card)
        await card.shows("Decided by U0APPROVER")
        await card.shows("count  3 → 1")
        await card.shows("1 written")
        assert lab.marked() == ["x"]


async def test_a_rejection_takes_its_reason_to_the_agent_and_the_card(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)}), say("I see.")]) as running:
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Reject…")
        await slack.approver.clicks("Reject…", in_=card)
        sheet = await slack.approver.modal("Reject")
        await slack.approver.submits(sheet, {"Why not?": "keep the March builds"})
        assert sheet.is_closed
        await card.shows("Rejected by U0APPROVER")
        await card.shows("“keep the March builds”")
        assert card.buttons == []
        await asked.thread.message_containing("I see.")
        ((status, text),) = await running.results()
        assert status == "declined"
        assert "because: keep the March builds" in text
        assert lab.marked() == []


async def test_an_edit_is_checked_judged_again_and_shown_before_and_after(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks), "count": 3}), say("ok")]):
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Edit…")
        await slack.approver.clicks("Edit…", in_=card)
        sheet = await slack.approver.modal("Edit")
        assert (sheet.value_of("count"), sheet.value_of("path")) == ("3", str(lab.marks))

        await slack.approver.submits(sheet)
        assert "Nothing was changed" in next(iter(sheet.errors.values()))
        await slack.approver.submits(sheet, {"text": "forbidden"})
        assert "The policy forbids the edited call: Not this text." in next(iter(sheet.errors.values()))
        with pytest.raises(CannotDo, match="takes"):
            await slack.approver.submits(sheet, {"count": "5000"})
        assert not sheet.is_closed
        assert card.buttons, "nothing was consumed"

        await slack.approver.submits(sheet, {"text": "edited", "count": "2", "colour": "green"})
        assert sheet.is_closed
        await card.shows("Edited and approved by U0APPROVER")
        await card.shows("count  3 → 2\ntext  (none) → edited\ncolour  (none) → green")
        await card.shows("2 written")
        assert lab.marked() == ["edited"] * 2


async def test_an_edit_that_needs_more_people_is_asked_about_anew(lab: Lab, slack: Workspace) -> None:
    lab.policy = lab.policy.replace(
        "deny:",
        "  - {id: many, tool: mark, when: {count: {gt: 5}}, reason: Many., approval: {quorum: 2}}\ndeny:",
    )
    async with lab.bot([call("mark", {"path": str(lab.marks), "count": 2}), say("ok")]):
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Edit…")
        await slack.approver.clicks("Edit…", in_=card)
        await slack.approver.submits(await slack.approver.modal("Edit"), {"count": "7"})
        await card.shows("Edited by U0APPROVER; asking again below.")
        again = await asked.thread.card_with("Approve", saying="Write 7 lines.", after=card)
        await slack.approver.clicks("Approve", in_=again)
        await again.shows("(1 of 2)")
        await slack.second_approver.clicks("Approve", in_=again.again())
        await again.shows("7 written")
        assert len(lab.marked()) == 7


async def test_a_quorum_shows_how_far_it_is(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("wipe", {"path": str(lab.marks)}), say("ok")]):
        asked = await slack.requester.mentions_bot("wipe it")
        card = await asked.thread.card_with("Approve", saying="(0 of 2)")
        await slack.approver.clicks("Approve", in_=card)
        await card.shows("(1 of 2) · agreed so far: <@U0APPROVER>")
        await slack.approver.clicks("Approve", in_=card.again())
        await slack.settle()
        assert "(1 of 2)" in card.shown
        assert lab.marked() == []
        await slack.second_approver.clicks("Approve", in_=card.again())
        await card.shows("Approved by U0SECOND with U0APPROVER")
        await card.shows("Done")
        assert lab.marked() == ["wiped"]


async def test_the_policy_may_want_a_reason_for_an_approval(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("explainable", {"path": str(lab.marks)}), say("ok")]):
        asked = await slack.requester.mentions_bot("do")
        card = await asked.thread.card_with("Approve")
        await slack.approver.clicks("Approve", in_=card)
        sheet = await slack.approver.modal("Approve")
        with pytest.raises(CannotDo, match="fill in"):
            await slack.approver.submits(sheet)
        await slack.approver.submits(sheet, {"Why is this right?": "ticket 42"})
        await card.shows("Approved by U0APPROVER")
        await card.shows("“ticket 42”")
        await card.shows("Done")


async def test_approve_and_remember_makes_a_bounded_grant_that_can_be_revoked(
    lab: Lab, slack: Workspace
) -> None:
    args = {"path": str(lab.marks)}
    script = [call("jot", args), say("one"), call("jot", args), say("two"), call("jot", args)]
    async with lab.bot(script):
        first = await slack.requester.mentions_bot("jot it")
        card = await first.thread.card_with("Approve")
        await slack.requester.selects("Approve and remember…", from_="af:more", in_=card)
        sheet = await slack.requester.modal("Approve and remember")
        await slack.requester.submits(sheet, {"Where": "In this channel", "For how long": "4 hours"})
        await card.shows("Approved and remembered by U0REQUESTER")
        await first.thread.message_containing("one")

        second = await slack.requester.mentions_bot("jot it again")
        await second.thread.message_containing("two")
        assert lab.marked() == ["jotted"] * 2

        await slack.requester.runs("/askfirst grants")
        listed = await slack.requester.ephemeral_containing("4 more times")
        await slack.requester.clicks("Revoke", in_=listed)
        await slack.requester.ephemeral_containing("Revoked.")
        third = await slack.requester.mentions_bot("jot it once more")
        await third.thread.card_with("Approve")
        assert lab.marked() == ["jotted"] * 2


async def test_several_questions_are_settled_one_by_one_and_the_run_goes_on_after_the_last(
    lab: Lab, slack: Workspace
) -> None:
    proposed = [tool_call("mark", {"path": str(lab.marks), "text": text}) for text in ("a", "b", "c")]
    model = ScriptedModel([calls(*proposed), say("All three.")])
    async with lab.bot(model):
        asked = await slack.requester.mentions_bot("write three")
        cards = [await asked.thread.card_with("Approve", saying=f"text  {text}") for text in "abc"]
        await slack.approver.clicks("Approve", in_=cards[1])
        await cards[1].shows("2 more questions are open in this thread")
        await slack.approver.clicks("Reject…", in_=cards[0])
        await slack.approver.submits(await slack.approver.modal(), {})
        await cards[0].shows("1 more question is open in this thread")
        assert lab.marked() == []
        assert len(model.requests) == 1
        await slack.approver.clicks("Approve", in_=cards[2])
        await asked.thread.message_containing("All three.")
        assert sorted(lab.marked()) == ["b", "c"]
        for card in cards:
            assert card.buttons == []
            assert "more question" not in card.shown or card is cards[0]


async def test_two_people_click_at_the_same_instant_and_one_wins(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)}), say("ok")]):
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Approve")
        people = (slack.approver, slack.second_approver)
        clicks = await asyncio.gather(*(person.clicks_stale("Approve", in_=card) for person in people))
        assert all(click.acked for click in clicks)
        await card.shows("1 written")
        first_won = "by U0APPROVER" in card.shown
        winner, loser = people if first_won else people[::-1]
        await loser.ephemeral_containing(f"This was already approved by {winner.mention}")
        assert winner.whispers == []
        assert lab.marked() == ["x"]


async def test_stopping_from_the_card_ends_the_run(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)})]) as running:
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Approve")
        await slack.approver.selects("Stop the run", from_="af:more", in_=card)
        await card.shows("Run stopped by U0APPROVER")
        await asked.thread.message_containing("Stopped: Cancelled by U0APPROVER.")

        async def over() -> bool:
            return (await running.last()).state == "cancelled"

        await eventually(over)


async def test_a_card_posted_before_a_restart_is_decided_after_it(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)})]):
        asked = await slack.requester.mentions_bot("write")
        card: Post = await asked.thread.card_with("Approve")
    async with lab.bot([say("After the restart.")]):
        await slack.approver.clicks("Approve", in_=card)
        await card.shows("1 written")
        await asked.thread.message_containing("After the restart.")
