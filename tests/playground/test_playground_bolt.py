"""A minimal Bolt app, which we did not write, lives in the workspace over both transports."""

import asyncio

import pytest
from slack_bolt.app.async_app import AsyncApp

from bot.playground.workspace import Workspace
from tests.playground.support import CARD, QUICK_PING_SECONDS, Client, Connect, connected, sample_app


@pytest.fixture
async def sample(app: AsyncApp, connect: Connect) -> AsyncApp:
    sample_app(app)
    await connect(app)
    return app


@pytest.mark.usefixtures("sample")
async def test_a_mention_gets_a_card_and_a_click_rewrites_it(slack: Workspace) -> None:
    asked = await slack.requester.mentions_bot("clean up old test files")
    card = await asked.thread.card_with("Approve", saying="847 files")
    click = await slack.approver.clicks("Approve", in_=card)
    assert click.acked
    await card.shows("Approved by <@U0APPROVER>")
    assert card.buttons == []


@pytest.mark.usefixtures("sample")
async def test_a_modal_shows_a_validation_error_and_then_closes(slack: Workspace) -> None:
    await slack.requester.mentions_bot("clean up")
    card = await slack.general.card_with("Reject…")
    await slack.approver.clicks("Reject…", in_=card)
    modal = await slack.approver.modal("Reject")

    await slack.approver.submits(modal, {"Reason": "no"})
    assert modal.errors == {"Reason": "Say a little more"}
    assert not modal.is_closed

    await slack.approver.submits(modal, {"Reason": "keep the March builds"})
    assert modal.is_closed
    await card.shows("Rejected: keep the March builds")


@pytest.mark.usefixtures("sample")
async def test_a_slash_command_is_answered_to_one_person_and_then_to_all(slack: Workspace) -> None:
    await slack.requester.runs("/askfirst waiting")
    await slack.requester.ephemeral_containing("You asked for waiting")
    await slack.general.message_containing("and here is more")
    assert slack.approver.whispers == []


@pytest.mark.usefixtures("sample")
async def test_an_answer_is_streamed_into_the_thread(slack: Workspace) -> None:
    asked = await slack.requester.mentions_bot("stream it")
    answer = await asked.thread.message_containing("**All** done")
    await slack.called("chat.stopStream")
    assert answer.again().blocks[0]["type"] == "markdown"


@pytest.mark.usefixtures("sample")
async def test_the_home_tab_is_published_for_who_opened_it(slack: Workspace) -> None:
    await slack.approver.opens_home()
    home = await slack.approver.home()
    assert "Nothing waits for you" in home.shown


@pytest.mark.parametrize("transport", ["socket"], indirect=True)
@pytest.mark.parametrize("reason", ["refresh_requested", "warning"])
@pytest.mark.usefixtures("sample")
async def test_the_app_comes_back_when_asked_to_reconnect(slack: Workspace, reason: str) -> None:
    slack.sockets.disconnect(reason)
    await slack.until(lambda: slack.sockets.opened >= 2 and slack.sockets.count == 1, "a second socket")
    await slack.requester.mentions_bot("clean up")
    await slack.general.card_with("Approve")


async def test_the_app_comes_back_after_its_socket_was_lost(slack: Workspace, app: AsyncApp) -> None:
    async with connected(slack, sample_app(app), "socket", ping_interval=QUICK_PING_SECONDS):
        slack.sockets.drop()
        await slack.until(lambda: slack.sockets.opened >= 2 and slack.sockets.count == 1, "a second socket")
        await slack.requester.mentions_bot("clean up")
        await slack.general.card_with("Approve")


@pytest.mark.usefixtures("sample")
async def test_two_hundred_concurrent_clicks_are_delivered_and_acked_without_a_miss(
    slack: Workspace, client: Client
) -> None:
    for number in range(20):
        await client.chat_postMessage(channel=slack.general.id, text=str(number), blocks=CARD)
    cards = slack.general.messages
    people = [slack.requester, slack.approver, slack.second_approver, slack.guest]
    clicks = await asyncio.gather(
        *(people[n % 4].clicks_stale("Approve", in_=cards[n % 20]) for n in range(200))
    )
    assert [click.acked for click in clicks] == [True] * 200
    assert not slack.hub.unanswered
    # Each was handled once: nothing was delivered twice, nothing was lost.
    await slack.called("chat.update", times=200)
    await slack.settle()
    assert len(slack.calls("chat.update")) == 200
