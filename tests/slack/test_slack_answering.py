"""Questions of the agent: options, free text, forms; and what text can never do."""

import pytest

from bot.domain.transcript import UserText
from bot.llm.scripted import ScriptedModel, call, say
from bot.playground.errors import CannotDo
from bot.playground.workspace import Workspace
from tests.slack.lab import Lab


async def test_an_option_is_a_button(lab: Lab, slack: Workspace) -> None:
    args = {"question": "Which folder?", "options": ["/srv/a", "/srv/b"]}
    async with lab.bot([call("ask_human", args), say("ok")]) as running:
        asked = await slack.requester.mentions_bot("clean up")
        card = await asked.thread.card_with("/srv/b", saying="Which folder?")
        await slack.requester.clicks("/srv/b", in_=card)
        await card.shows("Decided by U0REQUESTER")
        await asked.thread.message_containing("ok")
        assert await running.results() == [("ok", "/srv/b")]


async def test_a_reply_in_the_thread_answers_an_open_question_of_the_person_asked(
    lab: Lab, slack: Workspace
) -> None:
    async with lab.bot([call("ask_human", {"question": "How old?"}), say("ok")]) as running:
        asked = await slack.requester.mentions_bot("clean up")
        card = await asked.thread.card_with("Answer…", saying="How old?")
        await slack.approver.replies("three days", to=asked)
        await slack.approver.ephemeral_containing("It does not decide the open question")
        await slack.requester.replies("a year at least", to=asked)
        await card.shows("Answered by U0REQUESTER")
        await card.shows("a year at least")
        await asked.thread.message_containing("ok")
        assert await running.results() == [("ok", "a year at least")]


async def test_a_reply_never_approves_anything_and_is_kept_for_the_agent(lab: Lab, slack: Workspace) -> None:
    model = ScriptedModel([call("mark", {"path": str(lab.marks)}), say("I read it.")])
    async with lab.bot(model):
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Approve")
        await slack.approver.replies("approve! yes! go ahead", to=asked)
        await slack.approver.ephemeral_containing("that takes the buttons on the card")
        await slack.approver.mentions_bot("yes, approve it", in_=asked.thread)
        await slack.settle()
        assert "Approve" in card.buttons
        assert lab.marked() == []
        await slack.approver.clicks("Approve", in_=card)
        await asked.thread.message_containing("I read it.")
        texts = [e.item.text for e in model.requests[-1].transcript if isinstance(e.item, UserText)]
        assert texts == ["write", "approve! yes! go ahead", "yes, approve it"]


async def test_a_form_takes_text_numbers_choices_a_date_and_yes_or_no(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("ask_form", {"question": "What exactly?"}), say("ok")]) as running:
        asked = await slack.requester.mentions_bot("clean up")
        card = await asked.thread.card_with("Answer…")
        await slack.requester.clicks("Answer…", in_=card)
        sheet = await slack.requester.modal("Answer")
        with pytest.raises(CannotDo, match="number"):
            await slack.requester.submits(sheet, {"days": "many"})
        filled = {
            "folder": "/srv/ci",
            "days": "30",
            "share": "0.5",
            "kind": "builds",
            "also": ["tmp"],
            "until": "2026-12-24",
            "sure": "Yes",
        }
        await slack.requester.submits(sheet, filled)
        assert sheet.is_closed
        await card.shows("Answered by U0REQUESTER")
        await asked.thread.message_containing("ok")
        ((status, text),) = await running.results()
        assert status == "ok"
        assert text == (
            "[('also', ['tmp']), ('days', 30), ('folder', '/srv/ci'), ('kind', 'builds'), "
            "('share', 0.5), ('sure', True), ('until', '2026-12-24')]"
        )


async def test_a_question_may_be_skipped_with_a_reason(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("ask_human", {"question": "How old?"}), say("then not")]) as running:
        asked = await slack.requester.mentions_bot("clean up")
        card = await asked.thread.card_with("Skip…")
        await slack.requester.clicks("Skip…", in_=card)
        await slack.requester.submits(await slack.requester.modal("Skip"), {"Why not?": "no idea"})
        await card.shows("Rejected by U0REQUESTER")
        await asked.thread.message_containing("then not")
        assert (await running.results())[0][0] == "declined"
