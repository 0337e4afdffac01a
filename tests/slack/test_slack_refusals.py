"""Clicks that do not count: each clicker, and nobody else, is told why and who can help."""

import pytest

from bot.llm.scripted import call, say
from bot.playground.places import Post
from bot.playground.workspace import Workspace
from bot.slack import people
from tests.slack.lab import Lab


@pytest.fixture(autouse=True)
def always_asks_slack(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute's memory is tested by itself; here nothing is remembered."""
    monkeypatch.setattr(people, "REFRESH_SECONDS", 0.0)


async def _card(lab: Lab, slack: Workspace) -> Post:
    asked = await slack.requester.mentions_bot("write")
    return await asked.thread.card_with("Approve")


async def test_somebody_outside_the_group_is_told_who_can_decide(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)})]) as running:
        card = await _card(lab, slack)
        for label in ("Approve", "Reject…", "Edit…"):
            click = await slack.requester.clicks(label, in_=card)
            assert click.acked
            await slack.requester.ephemeral_containing("Only oncall can decide this.")
        await slack.until(lambda: len(slack.requester.whispers) == 3, "an answer to each click")
        assert slack.approver.whispers == []
        assert "Approve" in card.buttons
        facts = await running.bot.engine.store.audit_of((await running.last()).run_id)
        assert [fact.fact.kind for fact in facts].count("click_refused") == 3
        assert lab.marked() == []


async def test_four_eyes_the_requester_cannot_approve_their_own_request(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)}), say("ok")]):
        asked = await slack.approver.mentions_bot("write")
        card = await asked.thread.card_with("Approve")
        await slack.approver.clicks("Approve", in_=card)
        await slack.approver.ephemeral_containing(
            "You asked for this yourself; someone else has to approve it."
        )
        await slack.second_approver.clicks("Approve", in_=card)
        await card.shows("1 written")


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ({"is_restricted": True}, "Guests cannot decide here."),
        ({"is_ultra_restricted": True}, "Guests cannot decide here."),
        ({"is_stranger": True}, "People from other organisations cannot decide here."),
        ({"deleted": True}, "This account is deactivated."),
        ({"is_bot": True}, "Bots cannot decide."),
    ],
)
async def test_only_full_members_decide_even_if_they_are_in_the_group(
    lab: Lab, slack: Workspace, flags: dict[str, bool], told: str
) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)})]):
        card = await _card(lab, slack)
        click = await slack.approver.clicks("Approve", in_=card, wait=False)
        # Slack says so while the click is on its way.
        slack.change_user(slack.approver, **flags)
        await click.settled()
        await slack.approver.ephemeral_containing(told)
        assert "Approve" in card.buttons
        assert lab.marked() == []


async def test_somebody_who_left_the_group_after_opening_the_form_cannot_submit_it(
    lab: Lab, slack: Workspace
) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks), "count": 2})]):
        card = await _card(lab, slack)
        await slack.approver.clicks("Edit…", in_=card)
        sheet = await slack.approver.modal("Edit")
        slack.change_group(slack.second_approver)
        await slack.approver.submits(sheet, {"count": "1"})
        await sheet.shows("Only oncall can decide this.")
        assert "Approve" in card.buttons
        assert lab.marked() == []


async def test_somebody_who_joined_the_group_a_moment_ago_can_decide(lab: Lab, slack: Workspace) -> None:
    slack.change_group(slack.second_approver)
    async with lab.bot([call("mark", {"path": str(lab.marks)}), say("ok")]):
        card = await _card(lab, slack)
        await slack.approver.clicks("Approve", in_=card)
        await slack.approver.ephemeral_containing("Only oncall can decide this.")
        slack.change_group(slack.second_approver, slack.approver)
        await slack.approver.clicks("Approve", in_=card)
        await card.shows("1 written")


@pytest.mark.parametrize("method", ["users.info", "usergroups.list"])
async def test_if_slack_cannot_say_who_they_are_nobody_decides(
    lab: Lab, slack: Workspace, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people, "FRESH_SECONDS", 0.0)
    async with lab.bot([call("mark", {"path": str(lab.marks)})]):
        card = await _card(lab, slack)
        slack.faults.fail(method, "internal_error", times=4)
        await slack.approver.clicks("Approve", in_=card)
        await slack.approver.ephemeral_containing("I cannot check right now who you are.")
        assert "Approve" in card.buttons
        assert lab.marked() == []


async def test_a_late_click_is_told_who_decided_what_and_when(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)}), say("ok")]):
        card = await _card(lab, slack)
        await slack.approver.clicks("Reject…", in_=card)
        await slack.approver.submits(await slack.approver.modal(), {"Why not?": "no"})
        await card.shows("Rejected")
        click = await slack.second_approver.clicks_stale("Approve", in_=card)
        assert click.acked
        told = await slack.second_approver.ephemeral_containing("This was already rejected by <@U0APPROVER>")
        assert "<!date^" in told.shown
        for label in ("Edit…", "Reject…"):
            await slack.second_approver.clicks_stale(label, in_=card)
        await slack.until(lambda: len(slack.second_approver.whispers) == 3, "an answer to each click")
        assert lab.marked() == []


async def test_a_click_after_the_expiry_does_not_count_even_before_the_sweep_came_by(
    lab: Lab, slack: Workspace
) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)}), say("too late")]):
        card = await _card(lab, slack)
        lab.clock.pass_(minutes=16)
        await slack.approver.clicks("Approve", in_=card)
        await slack.approver.ephemeral_containing("This expired; nothing was run. Ask again in the thread")
        await card.shows("Expired, not run")
        assert card.buttons == []
        assert lab.marked() == []


async def test_a_click_on_a_stopped_run_is_too_late(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)})]):
        card = await _card(lab, slack)
        await slack.requester.runs("/askfirst cancel")
        await card.shows("Not needed any more")
        await slack.approver.clicks_stale("Approve", in_=card)
        await slack.approver.ephemeral_containing("This was already withdrawn by <@U0REQUESTER>")
        assert lab.marked() == []


async def test_what_was_shown_must_be_what_is_decided(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)})]):
        card = await _card(lab, slack)
        message = card.current
        assert message is not None
        for block in message.blocks:
            for element in block.get("elements", []):
                if element.get("action_id") == "af:approve":
                    element["value"] = element["value"].replace('"d":"', '"d":"0')
        await slack.approver.clicks("Approve", in_=card)
        await slack.approver.ephemeral_containing("This changed meanwhile, so nothing was decided.")
        assert lab.marked() == []


@pytest.mark.parametrize("value", ["", "nonsense", '{"i":"nobody-1","d":"x"}', '{"i":7}', "[]", "null"])
async def test_every_click_is_answered_also_on_buttons_nobody_knows(
    lab: Lab, slack: Workspace, value: str
) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)})]):
        card = await _card(lab, slack)
        message = card.current
        assert message is not None
        actions = next(block for block in message.blocks if block["type"] == "actions")
        actions["elements"][0] |= {"value": value or "x"}
        actions["elements"].append(
            {"type": "button", "text": {"type": "plain_text", "text": "Old"}, "action_id": "from:another:age"}
        )
        assert (await slack.approver.clicks("Approve", in_=card)).acked
        await slack.approver.ephemeral_containing("I do not know this")
        assert (await slack.approver.clicks("Old", in_=card)).acked
        await slack.until(lambda: len(slack.approver.whispers) == 2, "two answers")
        assert lab.marked() == []


async def test_people_of_other_organisations_neither_see_arguments_nor_explanations(
    lab: Lab, slack: Workspace
) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks), "text": "secret plan"}), say("ok")]):
        asked = await slack.requester.mentions_bot("write", in_=slack.shared)
        card = await asked.thread.card_with("Review…")
        assert "secret plan" not in card.shown
        assert str(lab.marks) not in card.shown
        assert "Approval needed · mark" in card.shown
        assert card.buttons == ["Explain", "Review…", "Reject…"]
        for label in ("Review…", "Explain", "Reject…"):
            await slack.stranger.clicks(label, in_=card)
        await slack.until(lambda: len(slack.stranger.whispers) == 3, "three refusals")
        assert not slack.hub.world.modals.get(slack.stranger.id)

        await slack.approver.clicks("Review…", in_=card)
        sheet = await slack.approver.modal("Review")
        assert "secret plan" in sheet.shown
        await slack.approver.submits(sheet)
        await card.shows("Approved by U0APPROVER")
        await card.shows("Done")
        assert "written" not in card.shown
        assert lab.marked() == ["secret plan"]
