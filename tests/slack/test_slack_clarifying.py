"""Clarifying a request in Slack, and questions where others read along."""

import asyncio

from bot.llm.scripted import call, say
from bot.playground.workspace import Workspace
from tests.slack.lab import POLICY, Lab
from tests.slack.tools import GATES

CLARIFYING = (
    POLICY
    + """
clarify:
  when: {ambiguous: true, blast_radius: [high]}
  skip: {effects: {read_only: true}}
  by: requester
  expires: 15m
  questions:
    - before: ["*"]
      ask:
        path: {question: Which folder?, default: /srv/archive}
        count: {question: How many at most?, choices: [5, 50], default: 5}
      contract: {path: {under: $path}, count: {lte: $count}}
"""
)


async def test_an_unclear_request_is_clarified_with_a_form_before_any_work(
    lab: Lab, slack: Workspace
) -> None:
    lab.policy = CLARIFYING
    GATES["door"] = asyncio.Event()
    async with lab.bot([call("hold", {"what": "door"}), say("Cleaned.")]) as running:
        asked = await slack.requester.mentions_bot("clean up everything old")
        card = await asked.thread.card_with("Start with these limits", saying="Before I start")
        assert "Which folder?" in card.shown
        await slack.approver.clicks("Start with these limits", in_=card)
        await slack.approver.ephemeral_containing("Only requester can decide this.")
        await slack.requester.clicks("Answer…", in_=card)
        sheet = await slack.requester.modal("Answer")
        assert sheet.value_of("Which folder?") == "/srv/archive"
        await slack.requester.submits(sheet, {"Which folder?": "/srv/ci", "How many at most?": "50"})
        await card.shows("Answered by U0REQUESTER")
        await asked.thread.has_session("processing")
        head = await running.last()
        assert head.scope is not None
        assert "/srv/ci" in head.scope.summary

        contract = await asked.thread.message_containing("Scope confirmed by")
        await slack.requester.clicks("Change scope…", in_=contract)
        # What is under way is finished; then it asks, before it goes on.
        GATES["door"].set()
        again = await asked.thread.card_with("Start with these limits", after=card)
        await slack.requester.clicks("Start with these limits", in_=again)
        await again.shows("Decided by U0REQUESTER")
        await again.shows("Start with these limits: ")
        await asked.thread.message_containing("Cleaned.")


async def test_a_question_in_a_shared_channel_is_read_and_answered_in_a_form(
    lab: Lab, slack: Workspace
) -> None:
    args = {"question": "Which secret folder?", "options": ["/srv/a", "/srv/b"]}
    async with lab.bot([call("ask_human", args), say("ok")]) as running:
        asked = await slack.requester.mentions_bot("clean up", in_=slack.shared)
        card = await asked.thread.card_with("Answer…")
        assert "secret" not in card.shown
        assert "/srv/a" not in card.shown
        await slack.stranger.clicks("Answer…", in_=card)
        await slack.stranger.ephemeral_containing("People from other organisations cannot decide here.")
        await slack.requester.clicks("Answer…", in_=card)
        sheet = await slack.requester.modal("Answer")
        assert "Which secret folder?" in sheet.shown
        await slack.requester.submits(sheet, {"Your choice": "/srv/b"})
        await asked.thread.message_containing("ok")
        assert await running.results() == [("ok", "/srv/b")]
