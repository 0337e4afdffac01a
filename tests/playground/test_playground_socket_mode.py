"""Socket Mode, driven by `slack_sdk`'s own client and by bare sockets."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, WSServerHandshakeError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse

from bot.playground.workspace import Workspace
from tests.playground.support import CARD, PING_SECONDS, QUICK_PING_SECONDS, Client

#: The SDK's SocketModeRequest, whose payload has no type.
Request = Any


class Listener:
    """What Slack's client received; acks what `ack` says."""

    def __init__(self, slack: Workspace) -> None:
        self._slack = slack
        self.requests: list[Request] = []
        self.ack: Callable[[Request], bool] = lambda _request: True

    async def __call__(self, client: Any, request: Request) -> None:
        self.requests.append(request)
        self._slack.nudge()
        if self.ack(request):
            await client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))

    @property
    def events(self) -> list[str]:
        return [request.payload["event"]["type"] for request in self.requests if request.type == "events_api"]


@asynccontextmanager
async def listening(
    slack: Workspace, client: Client, *, ping_interval: float = PING_SECONDS
) -> AsyncGenerator[Listener]:
    socket: Any = SocketModeClient(slack.app_token, web_client=client, ping_interval=ping_interval)
    listener = Listener(slack)
    socket.socket_mode_request_listeners.append(listener)
    before = slack.sockets.count
    await socket.connect()
    await slack.connected(before + 1)
    yield listener
    await socket.close()


@pytest.fixture
async def listener(slack: Workspace, client: Client) -> AsyncGenerator[Listener]:
    async with listening(slack, client) as opened:
        yield opened


async def raw_socket(slack: Workspace, client: Client, session: ClientSession) -> ClientWebSocketResponse:
    answer = await client.apps_connections_open(app_token=slack.app_token)
    return await session.ws_connect(answer["url"])


async def test_a_socket_is_greeted(slack: Workspace, client: Client, session: ClientSession) -> None:
    socket = await raw_socket(slack, client, session)
    hello = await socket.receive_json(timeout=5)
    assert (hello["type"], hello["num_connections"]) == ("hello", 1)
    assert hello["connection_info"] == {"app_id": "A0ASKFIRST"}
    await socket.close()


async def test_an_address_works_once(slack: Workspace, client: Client, session: ClientSession) -> None:
    url = (await client.apps_connections_open(app_token=slack.app_token))["url"]
    first = await session.ws_connect(url)
    with pytest.raises(WSServerHandshakeError):
        await session.ws_connect(url)
    await first.close()


async def test_the_eleventh_socket_is_sent_away(
    slack: Workspace, client: Client, session: ClientSession
) -> None:
    sockets = [await raw_socket(slack, client, session) for _ in range(10)]
    await slack.connected(10)
    eleventh = await raw_socket(slack, client, session)
    assert await eleventh.receive_json(timeout=5) == {"type": "disconnect", "reason": "too_many_websockets"}
    assert slack.sockets.count == 10
    for socket in sockets:
        await socket.close()
    await slack.connected(0)


async def test_a_mention_comes_as_message_and_app_mention_with_different_ids(
    slack: Workspace, listener: Listener
) -> None:
    post = await slack.requester.mentions_bot("hello")
    await slack.settle()
    assert listener.events == ["message", "app_mention"]
    payloads = [request.payload for request in listener.requests]
    assert len({payload["event_id"] for payload in payloads}) == 2
    assert {payload["event"]["ts"] for payload in payloads} == {post.ts}
    assert {payload["is_ext_shared_channel"] for payload in payloads} == {False}


async def test_a_direct_message_is_only_a_message(slack: Workspace, listener: Listener) -> None:
    await slack.requester.mentions_bot("psst", in_=slack.requester.dm)
    await slack.settle()
    (request,) = listener.requests
    assert (request.payload["event"]["type"], request.payload["event"]["channel_type"]) == ("message", "im")


async def test_events_of_a_stranger_say_where_they_come_from(slack: Workspace, listener: Listener) -> None:
    await slack.stranger.mentions_bot("hi")
    await slack.settle()
    payload = listener.requests[-1].payload
    assert payload["is_ext_shared_channel"] is True
    assert payload["event"]["user_team"] == "T0PARTNER"


async def test_the_bot_hears_itself_and_edits_and_deletions(
    slack: Workspace, client: Client, listener: Listener
) -> None:
    ts = (await client.chat_postMessage(channel=slack.general.id, text="one"))["ts"]
    await client.chat_update(channel=slack.general.id, ts=ts, text="two")
    await client.chat_delete(channel=slack.general.id, ts=ts)
    await slack.settle()
    events = [request.payload["event"] for request in listener.requests]
    assert [event.get("subtype") for event in events] == [None, "message_changed", "message_deleted"]
    assert events[0]["bot_id"] == "B0ASKFIRST"
    assert (events[1]["previous_message"]["text"], events[1]["message"]["text"]) == ("one", "two")
    assert events[2]["deleted_ts"] == ts


async def test_opening_the_home_tab_brings_what_was_published_before(
    slack: Workspace, client: Client, listener: Listener
) -> None:
    await slack.approver.opens_home()
    published = await client.views_publish(user_id=slack.approver.id, view={"type": "home", "blocks": []})
    await slack.approver.opens_home()
    await slack.approver.opens_home("messages")
    await slack.settle()
    events = [request.payload["event"] for request in listener.requests]
    assert [event["tab"] for event in events] == ["home", "home", "messages"]
    assert [event.get("view", {}).get("id") for event in events] == [None, published["view"]["id"], None]


async def test_what_the_bot_cannot_see_or_did_not_subscribe_to_is_not_sent(
    slack: Workspace, listener: Listener
) -> None:
    await slack.requester.mentions_bot("hi", in_=slack.place("C0ELSEWHERE"))
    slack.happens({"type": "team_join", "user": "U1"})
    await slack.settle()
    assert listener.requests == []


async def test_each_envelope_goes_to_exactly_one_socket(slack: Workspace, client: Client) -> None:
    async with listening(slack, client) as first, listening(slack, client) as second:
        for number in range(10):
            await slack.requester.says(str(number), in_=slack.requester.dm)
        await slack.settle()
        texts = [request.payload["event"]["text"] for request in first.requests + second.requests]
        assert sorted(texts) == [str(number) for number in range(10)]
        assert first.requests
        assert second.requests


async def test_an_event_that_is_not_acked_comes_again_three_times(
    slack: Workspace, listener: Listener
) -> None:
    listener.ack = lambda _request: False
    await slack.requester.says("hello?")
    for wait, deliveries in [(2.9, 1), (0.1, 2), (63, 3), (303, 4)]:
        await slack.advance(wait, settle=False)
        await slack.until(lambda n=deliveries: len(listener.requests) == n, f"{deliveries} deliveries")
    await slack.advance(10_000, settle=False)
    assert [request.retry_attempt for request in listener.requests] == [0, 1, 2, 3]
    assert [request.retry_reason for request in listener.requests] == ["", "timeout", "timeout", "timeout"]
    assert len({request.payload["event_id"] for request in listener.requests}) == 1


async def test_a_late_ack_of_the_retry_ends_it(slack: Workspace, listener: Listener) -> None:
    listener.ack = lambda request: bool(request.retry_attempt)
    await slack.requester.says("hello?")
    await slack.advance(3, settle=False)
    await slack.settle()
    await slack.advance(10_000)
    assert [request.retry_attempt for request in listener.requests] == [0, 1]


async def test_a_click_that_is_not_acked_is_not_repeated_but_shown(
    slack: Workspace, client: Client, listener: Listener
) -> None:
    listener.ack = lambda request: request.type != "interactive"
    await client.chat_postMessage(channel=slack.general.id, text="x", blocks=CARD)
    card = await slack.general.card_with("Approve")
    click = await slack.approver.clicks("Approve", in_=card, wait=False)
    await slack.until(lambda: "interactive" in [r.type for r in listener.requests], "the click")
    assert not click.acked
    assert not click.didnt_respond
    await slack.advance(3, settle=False)
    assert click.didnt_respond
    assert [delivery.label for delivery in slack.hub.unanswered] == ["block_actions approve by approver"]
    await slack.advance(10_000, settle=False)
    await slack.requester.says("meanwhile")
    await slack.settle()
    assert [request.type for request in listener.requests].count("interactive") == 1


async def test_what_happens_while_nobody_is_connected_is_lost(slack: Workspace, client: Client) -> None:
    await slack.requester.says("anybody?")
    async with listening(slack, client) as listener:
        await slack.advance(10_000)
        assert listener.requests == []


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
async def test_a_socket_that_is_asked_to_go_comes_back(
    slack: Workspace, listener: Listener, reason: str
) -> None:
    slack.sockets.disconnect(reason)
    await slack.until(lambda: slack.sockets.opened >= 2 and slack.sockets.count == 1, "a new socket")
    await slack.requester.says("hi")
    await slack.settle()
    assert listener.events == ["message"]


async def test_envelopes_in_flight_on_a_lost_socket_come_again_on_the_next(
    slack: Workspace, client: Client
) -> None:
    async with listening(slack, client, ping_interval=QUICK_PING_SECONDS) as listener:
        listener.ack = lambda request: bool(request.retry_attempt)
        await slack.requester.says("hi")
        await slack.until(lambda: listener.requests, "the first delivery")
        slack.sockets.drop()
        await slack.until(lambda: slack.sockets.count == 1, "a new socket")
        await slack.advance(3, settle=False)
        await slack.settle()
        assert [request.retry_attempt for request in listener.requests] == [0, 1]


# Faults.


async def test_a_dropped_ack_leads_to_a_redelivery(slack: Workspace, listener: Listener) -> None:
    slack.faults.drop_acks()
    await slack.requester.says("hi")
    await slack.until(lambda: "lost on the way" in str(slack.transcript), "the ack to be lost")
    await slack.advance(3, settle=False)
    await slack.settle()
    assert [request.retry_attempt for request in listener.requests] == [0, 1]


async def test_a_duplicate_has_the_same_envelope_id(slack: Workspace, listener: Listener) -> None:
    slack.faults.duplicate()
    await slack.requester.says("hi")
    await slack.until(lambda: len(listener.requests) == 2, "two deliveries")
    await slack.settle()
    assert len({request.envelope_id for request in listener.requests}) == 1


async def test_deliveries_can_arrive_in_reverse(slack: Workspace, listener: Listener) -> None:
    slack.faults.reorder(3)
    for text in ("one", "two", "three", "four"):
        await slack.requester.says(text)
    await slack.settle()
    texts = [request.payload["event"]["text"] for request in listener.requests]
    assert texts == ["three", "two", "one", "four"]


async def test_strict_acks_count_only_on_the_socket_that_carried(
    slack: Workspace, client: Client, session: ClientSession
) -> None:
    slack.faults.strict_acks = True
    sockets = [await raw_socket(slack, client, session) for _ in range(2)]
    for socket in sockets:
        assert (await socket.receive_json(timeout=5))["type"] == "hello"
    await slack.requester.says("hi")
    envelope = await sockets[0].receive_json(timeout=5)
    await sockets[1].send_json({"envelope_id": envelope["envelope_id"]})
    await slack.until(lambda: "another socket" in str(slack.transcript), "a refused ack")
    assert slack.hub.courier.in_flight
    await sockets[0].send_json({"envelope_id": envelope["envelope_id"]})
    await slack.settle()
    for socket in sockets:
        await socket.close()


@pytest.mark.parametrize("frame", ["", "no json", "[]", '{"envelope_id": 7}'])
async def test_nonsense_on_a_socket_is_ignored(
    slack: Workspace, client: Client, session: ClientSession, frame: str
) -> None:
    socket = await raw_socket(slack, client, session)
    assert (await socket.receive_json(timeout=5))["type"] == "hello"
    await socket.send_str(frame)
    await slack.requester.says("still there?")
    assert (await socket.receive_json(timeout=5))["type"] == "events_api"
    await socket.close()
