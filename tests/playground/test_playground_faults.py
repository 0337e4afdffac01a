"""Time and faults under control, as Slack's own client meets them."""

import asyncio

import pytest
from aiohttp import ClientSession
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler

from bot.playground.clock import Clock
from bot.playground.workspace import Workspace
from tests.playground.support import Client, new_client, refusal, refused

GENERAL = "C0GENERAL"


async def test_a_method_fails_as_often_as_told(slack: Workspace, client: Client) -> None:
    slack.faults.fail("chat.postMessage", "internal_error", times=2)
    for _ in range(2):
        answer = await refusal(client.chat_postMessage(channel=GENERAL, text="x"))
        assert answer["error"] == "internal_error"
    await client.chat_postMessage(channel=GENERAL, text="third")
    assert [post.text for post in slack.general.messages] == ["third"]


async def test_a_rate_limit_tells_how_long_to_wait(slack: Workspace, client: Client) -> None:
    slack.faults.ratelimit("users.info", retry_after=12)
    response = await refused(client.users_info(user="U0GUEST"))
    assert (response.status_code, response["error"]) == (429, "ratelimited")
    assert response.headers["Retry-After"] == "12"


async def test_slacks_rate_limit_handler_gets_through(slack: Workspace) -> None:
    slack.faults.ratelimit("chat.postMessage", retry_after=0)
    retrying = AsyncRateLimitErrorRetryHandler(max_retry_count=1)
    client = new_client(slack, retry_handlers=[retrying])
    await client.api_call("chat.postMessage", json={"channel": GENERAL, "text": "x"})
    assert len(slack.calls("chat.postMessage")) == 2
    assert len(slack.general.messages) == 1


async def test_a_reset_after_the_message_was_stored_makes_slacks_client_post_twice(slack: Workspace) -> None:
    slack.faults.reset_after("chat.postMessage")
    await new_client(slack).chat_postMessage(channel=GENERAL, text="once?")
    assert [post.text for post in slack.general.messages] == ["once?", "once?"]


async def test_latency_passes_on_the_virtual_clock(slack: Workspace, client: Client) -> None:
    slack.faults.slow("chat.postMessage", 30)
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        call = tasks.create_task(client.chat_postMessage(channel=GENERAL, text="slow"))
        await slack.until(lambda: "held back" in str(slack.transcript), "the call to arrive")
        slack.clock.advance(29)
        assert slack.general.messages == []
        slack.clock.advance(1)
        await call
    assert len(slack.general.messages) == 1


async def test_tiers_are_enforced_when_switched_on(slack: Workspace, client: Client) -> None:
    for _ in range(25):
        await client.usergroups_list()
    slack.rates.enforced = True
    for _ in range(20):
        await client.usergroups_list()
    assert (await refusal(client.usergroups_list()))["error"] == "ratelimited"
    await slack.advance(60)
    await client.usergroups_list()


async def test_one_message_a_second_in_each_channel(slack: Workspace, client: Client) -> None:
    slack.rates.enforced = True
    await client.chat_postMessage(channel=GENERAL, text="one")
    await client.chat_postMessage(channel=slack.private.id, text="elsewhere")
    assert (await refusal(client.chat_postMessage(channel=GENERAL, text="two")))["error"] == "ratelimited"
    await slack.advance(1)
    await client.chat_postMessage(channel=GENERAL, text="two")
    assert [post.text for post in slack.general.messages] == ["one", "two"]


async def test_faults_can_be_cleared(slack: Workspace, client: Client) -> None:
    slack.faults.fail("auth.test", "internal_error", times=9)
    slack.faults.clear()
    assert (await client.auth_test())["ok"]


# The clock itself.


def test_timers_fire_in_order_at_their_time() -> None:
    clock = Clock(start=100)
    fired: list[tuple[str, float]] = []

    def note_in_another_second() -> None:
        clock.later(1, lambda: fired.append(("two", clock.now())))

    clock.later(5, lambda: fired.append(("five", clock.now())))
    clock.later(1, note_in_another_second)
    clock.later(3, lambda: fired.append(("never", 0))).cancel()
    clock.advance(4.5)
    assert fired == [("two", 102)]
    clock.advance(1)
    assert fired == [("two", 102), ("five", 105)]
    assert clock.now() == 105.5


def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="forward"):
        Clock().advance(-1)


async def test_a_running_clock_runs_and_can_be_pushed() -> None:
    clock = Clock(start=0, running=True)
    soon, later = asyncio.Event(), asyncio.Event()
    clock.later(0.01, soon.set)
    clock.later(3600, later.set)
    async with asyncio.timeout(5):
        await soon.wait()
        assert not later.is_set()
        clock.advance(3600)
        assert later.is_set()
    clock.close()


async def test_a_stopped_clock_needs_no_luck(slack: Workspace, session: ClientSession) -> None:
    before = slack.clock.now()
    await asyncio.sleep(0.01)
    assert slack.clock.now() == before
