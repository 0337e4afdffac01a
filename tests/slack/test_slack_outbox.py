"""No card lost, none doubled, whatever happens to Slack, to us, or to the card."""

import asyncio

import pytest

from bot.domain.ids import WorkerId
from bot.engine.ports import Delivered
from bot.llm.scripted import ScriptedModel, call, calls, say, tool_call
from bot.playground.places import Place, Post
from bot.playground.workspace import Workspace
from bot.storage.sqlite import open_sqlite
from bot.storage.store import SqlStore
from bot.storage.workers import is_gone
from tests.slack.lab import Lab, Running, eventually
from tests.slack.tools import GATES


def _cards(place: Place) -> list[Post]:
    return [post for post in place.messages if "asked by" in post.text]


async def _shown(running: Running) -> None:
    """Wait until nothing is left to be shown."""

    async def nothing_due() -> bool:
        return await running.bot.engine.store.next_post("slack") is None

    await eventually(nothing_due, seconds=8)


@pytest.mark.parametrize(
    "fault",
    ["ratelimited", "internal_error", "server_error", "reset"],
)
async def test_a_card_is_posted_once_in_spite_of(lab: Lab, slack: Workspace, fault: str) -> None:
    match fault:
        case "ratelimited":
            slack.faults.ratelimit("chat.postMessage", retry_after=1)
        case "reset":
            slack.faults.reset_after("chat.postMessage", times=1)
        case "server_error":
            slack.faults.fail("chat.postMessage", "server_error", status=503, times=2)
        case _:
            slack.faults.fail("chat.postMessage", fault, times=2)
    async with lab.bot([call("mark", {"path": str(lab.marks)}), say("ok")]) as running:
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Approve")
        await _shown(running)
        assert len(_cards(asked.thread)) == 1
        await slack.approver.clicks("Approve", in_=card)
        await card.shows("1 written")


@pytest.mark.parametrize("fault", ["ratelimited", "reset", "server_error"])
async def test_the_final_state_is_shown_in_spite_of(lab: Lab, slack: Workspace, fault: str) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)}), say("ok")]) as running:
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Approve")
        match fault:
            case "ratelimited":
                slack.faults.ratelimit("chat.update", retry_after=1, times=2)
            case "reset":
                slack.faults.reset_after("chat.update", times=2)
            case _:
                slack.faults.fail("chat.update", "server_error", status=500, times=2)
        await slack.approver.clicks("Approve", in_=card)
        await card.shows("1 written")
        await _shown(running)
        assert card.buttons == []
        assert len(_cards(asked.thread)) == 1


async def test_an_open_card_that_somebody_deletes_comes_back(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)}), say("ok")]):
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Approve")
        await slack.approver.deletes(card)
        again = await asked.thread.card_with("Approve", after=card)
        await slack.approver.clicks("Approve", in_=again)
        await again.shows("1 written")
        assert len(_cards(asked.thread)) == 1


async def test_a_card_deleted_while_it_was_decided_is_shown_with_its_outcome(
    lab: Lab, slack: Workspace
) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)}), say("ok")]):
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Approve")
        click = await slack.approver.clicks("Approve", in_=card, wait=False)
        await slack.approver.deletes(card)
        await click.settled()
        await asked.thread.message_containing("1 written")
        assert lab.marked() == ["x"]


async def test_a_card_whose_thread_is_gone_stands_in_the_channel(lab: Lab, slack: Workspace) -> None:
    GATES["door"] = asyncio.Event()
    async with lab.bot([call("hold", {"what": "door"}), call("mark", {"path": str(lab.marks)}), say("ok")]):
        asked = await slack.requester.mentions_bot("write")
        await asked.thread.has_session("processing")
        slack.faults.fail("chat.postMessage", "thread_not_found")
        GATES["door"].set()
        card = await slack.general.card_with("Approve")
        assert card.thread_ts is None
        await slack.approver.clicks("Approve", in_=card)
        await card.shows("1 written")


async def test_a_restart_between_the_click_and_the_execution_loses_nothing(
    lab: Lab, slack: Workspace
) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)})]) as running:
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Approve")
        # The process is about to go: it still takes the click, and drives nothing any more.
        running.bot.engine.supervisor._stopping.set()  # pyright: ignore[reportPrivateUsage]
        assert (await slack.approver.clicks("Approve", in_=card)).acked
    assert lab.marked() == []
    async with lab.bot([say("After the restart.")]):
        await card.shows("Approved by U0APPROVER")
        await card.shows("1 written")
        await asked.thread.message_containing("After the restart.")
        assert lab.marked() == ["x"]
        assert len(_cards(asked.thread)) == 1


async def test_a_state_that_could_not_be_shown_before_a_restart_is_shown_after_it(
    lab: Lab, slack: Workspace
) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks)}), say("Said.")]) as running:
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Approve")
        slack.faults.fail("chat.update", "internal_error", times=50)
        await slack.approver.clicks("Approve", in_=card)
        await running.bot.engine.supervisor.idle()
    slack.faults.clear()
    assert "Approve" in card.buttons
    async with lab.bot():
        await card.shows("1 written")
        assert card.buttons == []
        assert len(_cards(asked.thread)) == 1


async def test_a_card_that_could_not_be_posted_before_a_restart_is_posted_after_it(
    lab: Lab, slack: Workspace
) -> None:
    slack.faults.fail("chat.postMessage", "internal_error", times=50)
    async with lab.bot([call("mark", {"path": str(lab.marks)})]) as running:
        asked = await slack.requester.mentions_bot("write")

        async def waiting() -> bool:
            heads = await running.heads()
            return bool(heads) and heads[0].state == "waiting"

        await eventually(waiting)
    slack.faults.clear()
    async with lab.bot([say("ok")]):
        card = await asked.thread.card_with("Approve")
        await slack.approver.clicks("Approve", in_=card)
        await card.shows("1 written")
        assert len(_cards(asked.thread)) == 1


@pytest.mark.parametrize("kind", ["event", "command"])
async def test_a_delivery_that_a_dead_process_took_is_handled_by_the_next(
    lab: Lab, slack: Workspace, kind: str
) -> None:
    async with lab.bot():
        asked = await slack.requester.says("hello", in_=slack.general)
    # What a process leaves that is killed after it stored a delivery, acked it, and did nothing else.
    event = {
        "type": "app_mention",
        "user": "U0REQUESTER",
        "channel": asked.channel,
        "ts": asked.ts,
        "text": "hi",
    }
    bodies = {
        "event": {"event_id": "Ev1", "team_id": "T0PLAY", "event": event},
        "command": {
            "user_id": "U0REQUESTER",
            "channel_id": asked.channel,
            "text": "say it",
            "trigger_id": "1.2.3",
            "command": "/askfirst",
        },
    }
    delivered = Delivered(id=f"{kind}/1", kind=kind, body=bodies[kind])
    async with open_sqlite(lab.folder / "askfirst.db") as database:
        store = SqlStore(database, is_gone)
        dead = WorkerId("another-machine/1/1/abcdef")
        assert await store.receive(delivered, dead, lab.clock())
        assert not await store.receive(delivered, dead, lab.clock())
    async with lab.bot([say("Caught up.")]) as running:
        await slack.general.message_containing("Caught up.")
        assert len(await running.heads()) == 1
    async with lab.bot() as running:
        assert len(await running.heads()) == 1


async def test_two_bots_on_one_database_post_each_card_once_and_one_click_wins(
    lab: Lab, slack: Workspace
) -> None:
    proposed = [tool_call("mark", {"path": str(lab.marks), "text": str(n)}) for n in range(8)]
    model = ScriptedModel([calls(*proposed), say("All.")])
    async with lab.bot(model) as first, lab.bot(model) as second:
        asked = await slack.requester.mentions_bot("write eight")
        cards = [await asked.thread.card_with("Approve", saying=f"text  {n}\n") for n in range(8)]
        await _shown(first)
        await _shown(second)
        assert len(_cards(asked.thread)) == 8
        clicks = [
            person.clicks_stale("Approve", in_=card)
            for card in cards
            for person in (slack.approver, slack.second_approver)
        ]
        settled = await asyncio.gather(*clicks)
        assert all(click.acked for click in settled)
        await asked.thread.message_containing("All.")
        for card in cards:
            await card.shows("1 written")
        await _shown(first)
        assert sorted(lab.marked()) == [str(n) for n in range(8)]
        assert len(_cards(asked.thread)) == 8
        assert len([post for post in asked.thread.messages if post.text == "Done."]) == 1
        whispers = [*slack.approver.whispers, *slack.second_approver.whispers]
        assert len(whispers) == 8


async def test_a_redelivered_click_counts_once(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("wipe", {"path": str(lab.marks)})]):
        asked = await slack.requester.mentions_bot("wipe")
        card = await asked.thread.card_with("Approve")
        slack.faults.duplicate(1)
        await slack.approver.clicks("Approve", in_=card)
        await card.shows("(1 of 2)")
        await slack.settle()
        assert slack.approver.whispers == []
        assert lab.marked() == []
