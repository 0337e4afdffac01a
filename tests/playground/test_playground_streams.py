"""Streams: what Slack's `chat_stream` helper does with them, and how they end."""

import pytest

from bot.playground.places import Post
from bot.playground.workspace import Workspace
from tests.playground.support import CARD, Client, Json, refusal


@pytest.fixture
async def asked(slack: Workspace) -> Post:
    return await slack.requester.says("tell me")


def where(asked: Post) -> Json:
    return {
        "channel": asked.channel,
        "thread_ts": asked.ts,
        "recipient_user_id": asked.user,
        "recipient_team_id": "T0PLAYGROUND",
    }


async def started(client: Client, asked: Post) -> Json:
    answer = await client.chat_startStream(**where(asked), markdown_text="Looking")
    return {"channel": answer["channel"], "ts": answer["ts"]}


async def test_a_stream_grows_and_ends_with_blocks(slack: Workspace, client: Client, asked: Post) -> None:
    stream = await client.chat_stream(**where(asked), buffer_size=5)
    await stream.append(markdown_text="Looking ")
    await stream.append(markdown_text="at files")
    task = {"type": "task_update", "id": "t1", "title": "List files", "status": "in_progress"}
    await stream.append(chunks=[task])
    await stream.append(chunks=[task | {"status": "complete"}])
    await stream.stop(blocks=CARD, session_status="suspended")
    post = await asked.thread.message_containing("Looking at files")
    assert [block["type"] for block in post.blocks] == ["markdown", "task_card", "section", "actions"]
    assert post.blocks[1]["status"] == "complete"
    assert asked.thread.session is not None
    assert asked.thread.session.status == "suspended"
    assert len(slack.calls("chat.startStream")) == 1


@pytest.mark.parametrize("call", ["chat.appendStream", "chat.stopStream"])
async def test_a_stream_dies_after_five_minutes_and_its_message_can_then_be_updated(
    slack: Workspace, client: Client, asked: Post, call: str
) -> None:
    stream = await started(client, asked)
    await slack.advance(299)
    await client.chat_appendStream(**stream, markdown_text=" …")
    update = client.chat_update(**stream, text="too early")
    assert (await refusal(update))["error"] == "streaming_state_conflict"
    await slack.advance(1)
    late = client.api_call(call, json=stream | {"markdown_text": "late"})
    assert (await refusal(late))["error"] == "message_not_in_streaming_state"
    await client.chat_update(**stream, text="recovered")
    await asked.thread.message_containing("recovered")


async def test_a_stopped_stream_takes_nothing_more(client: Client, asked: Post) -> None:
    stream = await started(client, asked)
    await client.chat_stopStream(**stream)
    late = client.chat_appendStream(**stream, markdown_text="late")
    assert (await refusal(late))["error"] == "message_not_in_streaming_state"


async def test_only_streaming_messages_of_the_app_can_be_appended_to(client: Client, asked: Post) -> None:
    theirs = client.chat_appendStream(channel=asked.channel, ts=asked.ts, markdown_text="x")
    assert (await refusal(theirs))["error"] == "message_not_owned_by_app"
    plain = await client.chat_postMessage(channel=asked.channel, text="x")
    ours = client.chat_appendStream(channel=asked.channel, ts=plain["ts"], markdown_text="x")
    assert (await refusal(ours))["error"] == "message_not_in_streaming_state"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"markdown_text": "x" * 12_001}, "msg_too_long"),
        ({"chunks": [{"type": "dance"}]}, "invalid_chunks"),
        ({"chunks": [{"type": "task_update", "id": "t", "title": "x", "status": "lost"}]}, "invalid_chunks"),
        ({"chunks": [{"type": "blocks", "blocks": [{"type": "section"}]}]}, "invalid_blocks"),
        ({}, "no_text"),
    ],
)
async def test_a_bad_append_adds_nothing(
    slack: Workspace, client: Client, asked: Post, fields: Json, error: str
) -> None:
    stream = await started(client, asked)
    good_first: list[Json] = [{"type": "markdown_text", "text": "half"}, *fields.get("chunks", [])]
    sent = fields | ({"chunks": good_first} if "chunks" in fields else {})
    assert (await refusal(client.api_call("chat.appendStream", json=stream | sent)))["error"] == error
    assert slack.general.messages[-1].text == "Looking"


async def test_an_unknown_session_status_stops_nothing(client: Client, asked: Post) -> None:
    stream = await started(client, asked)
    bad = client.chat_stopStream(**stream, markdown_text="!", session_status="napping")
    assert (await refusal(bad))["error"] == "invalid_status"
    await client.chat_stopStream(**stream)
    await asked.thread.message_containing("Looking")
    assert asked.thread.messages[-1].text == "Looking"


async def test_stop_ends_the_streams_and_tells_the_app(slack: Workspace, client: Client, asked: Post) -> None:
    stream = await started(client, asked)
    await client.agents_sessions_setStatus(channel_id=asked.channel, thread_ts=asked.ts, status="processing")
    await slack.requester.presses_stop(in_=asked.thread)
    late = client.chat_appendStream(**stream, markdown_text="late")
    assert (await refusal(late))["error"] == "stopped_by_user"
    assert "agent_session_stopped" in str(slack.transcript)
    # Moving the session on is the app's job.
    assert asked.thread.session is not None
    assert asked.thread.session.status == "processing"
