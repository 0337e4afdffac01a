"""The scope is clarified first, in the thread, and then the agent is held to it."""

from bot.cli.demo import fill_scratch
from bot.llm.offline import OfflineModel
from bot.playground.workspace import Workspace
from tests.slack.lab import POLICY, Lab

CLARIFYING = (
    POLICY.replace("[look,", "[find_files, look,")
    + """
clarify:
  when: {ambiguous: true, blast_radius: [high]}
  skip: {effects: {read_only: true}}
  by: requester
  expires: 15m
  questions:
    - before: delete_files
      ask:
        path: {question: Which folder?, default: ci-artifacts}
        older_than_days: {question: How old at least?, choices: [30, 365], default: 30}
      contract: {path: {under: $path}, older_than_days: {gte: $older_than_days}}
      lasts: 2h
"""
)


async def test_the_cleanup_of_847_files_from_clarification_to_receipt(lab: Lab, slack: Workspace) -> None:
    """The seed's example, for real: scope first, then measured options, then exactly what was chosen."""
    fill_scratch(lab.folder)
    lab.policy = CLARIFYING
    async with lab.bot(OfflineModel()):
        asked = await slack.requester.mentions_bot("clean up old test files")
        clarification = await asked.thread.card_with("Start with these limits")
        assert "Which folder?" in clarification.shown
        await slack.requester.clicks("Start with these limits", in_=clarification)
        await asked.thread.message_containing("Scope confirmed by")
        card = await asked.thread.card_with("Approve", saying="Delete 847 files (2.3 GB)")
        assert "535 newer files kept" in card.shown
        await slack.approver.clicks("Older than 1 year (312)", in_=card)
        await card.shows("312 files deleted")
        assert len(list((lab.folder / "ci-artifacts").iterdir())) == 535


async def test_the_scope_can_be_changed_from_the_thread(lab: Lab, slack: Workspace) -> None:
    fill_scratch(lab.folder, count=5, old=2)
    lab.policy = CLARIFYING
    async with lab.bot(OfflineModel()):
        asked = await slack.requester.mentions_bot("clean up old test files")
        await slack.requester.clicks(
            "Start with these limits", in_=await asked.thread.card_with("Start with these limits")
        )
        contract = await asked.thread.message_containing("Scope confirmed by")
        card = await asked.thread.card_with("Approve")
        await slack.approver.clicks("Change scope…", in_=contract)
        await slack.approver.ephemeral_containing("can change the scope")
        await slack.requester.clicks("Change scope…", in_=contract)
        await card.shows("Not needed any more: the scope is being changed")
        await asked.thread.card_with("Start with these limits")
