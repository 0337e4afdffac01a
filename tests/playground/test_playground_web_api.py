"""Slack's own async client calls every method the bot uses; bad calls fail the way they fail at Slack."""

import json
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import ClientSession

from bot.playground.workspace import Workspace
from bot.playground.world import Channel
from tests.playground.support import (
    CARD,
    MANIFEST,
    Client,
    actions,
    button,
    modal,
    new_client,
    refusal,
    section,
    text_input,
)

GENERAL, PRIVATE, ELSEWHERE, ARCHIVED = "C0GENERAL", "C0PRIVATE", "C0ELSEWHERE", "C0ARCHIVED"


# The error classes. Each row is one wrong call.

LONG = [section("x" * 2999) for _ in range(5)]
BAD_CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("channel_not_found", "chat.postMessage", {"channel": "C0NOWHERE", "text": "x"}),
    ("not_in_channel", "chat.postMessage", {"channel": ELSEWHERE, "text": "x"}),
    ("is_archived", "chat.postMessage", {"channel": ARCHIVED, "text": "x"}),
    ("no_text", "chat.postMessage", {"channel": GENERAL}),
    ("invalid_arguments", "chat.postMessage", {"text": "x"}),
    ("cannot_reply_to_message", "chat.postMessage", {"channel": GENERAL, "text": "x", "thread_ts": "1.0"}),
    ("invalid_blocks_format", "chat.postMessage", {"channel": GENERAL, "blocks": "no json"}),
    ("invalid_blocks", "chat.postMessage", {"channel": GENERAL, "blocks": [section("x" * 3001)]}),
    ("msg_blocks_too_long", "chat.postMessage", {"channel": GENERAL, "blocks": LONG}),
    (
        "invalid_blocks",
        "chat.postMessage",
        {"channel": GENERAL, "attachments": [{"blocks": [{"type": "x"}]}]},
    ),
    ("invalid_attachments", "chat.postMessage", {"channel": GENERAL, "attachments": ["x"]}),
    ("too_many_attachments", "chat.postMessage", {"channel": GENERAL, "attachments": [{"text": "x"}] * 101}),
    ("invalid_metadata_format", "chat.postMessage", {"channel": GENERAL, "text": "x", "metadata": {"a": 1}}),
    ("markdown_text_conflict", "chat.postMessage", {"channel": GENERAL, "text": "x", "markdown_text": "x"}),
    ("msg_too_long", "chat.postMessage", {"channel": GENERAL, "markdown_text": "x" * 12_001}),
    ("message_not_found", "chat.update", {"channel": GENERAL, "ts": "1.0", "text": "x"}),
    ("message_not_found", "chat.delete", {"channel": GENERAL, "ts": "1.0"}),
    ("message_not_found", "chat.getPermalink", {"channel": GENERAL, "message_ts": "1.0"}),
    ("user_not_in_channel", "chat.postEphemeral", {"channel": GENERAL, "user": "U0STRANGER", "text": "x"}),
    ("user_not_found", "users.info", {"user": "U0NOBODY"}),
    ("no_such_subteam", "usergroups.users.list", {"usergroup": "S0NONE"}),
    ("user_disabled", "conversations.open", {"users": "U0FORMER"}),
    ("users_list_not_supplied", "conversations.open", {}),
    ("thread_not_found", "conversations.replies", {"channel": GENERAL, "ts": "1.0"}),
    ("message_not_found", "reactions.add", {"channel": GENERAL, "timestamp": "1.0", "name": "eyes"}),
    ("no_item_specified", "reactions.add", {"name": "eyes"}),
    ("invalid_trigger_id", "views.open", {"trigger_id": "made.up", "view": modal("Hi")}),
    ("invalid_arguments", "views.open", {"trigger_id": "x", "view": modal("x" * 25)}),
    ("view_too_large", "views.publish", {"user_id": "U0GUEST", "view": {"blocks": ["x" * 250_001]}}),
    ("not_found", "views.update", {"view_id": "V0NONE", "view": modal("Hi")}),
    ("missing_recipient_user_id", "chat.startStream", {"channel": GENERAL}),
    ("missing_recipient_team_id", "chat.startStream", {"channel": GENERAL, "recipient_user_id": "U0GUEST"}),
    (
        "invalid_thread_ts",
        "assistant.threads.setStatus",
        {"channel_id": GENERAL, "thread_ts": "1", "status": ""},
    ),
    ("thread_ts_required", "agents.sessions.setStatus", {"channel_id": GENERAL, "status": "active"}),
    ("file_not_found", "files.completeUploadExternal", {"files": [{"id": "F0"}]}),
    ("unknown_method", "chat.shout", {"channel": GENERAL}),
]


@pytest.mark.parametrize(
    ("error", "method", "arguments"), BAD_CALLS, ids=[f"{m} {e}" for e, m, _ in BAD_CALLS]
)
async def test_a_bad_call_is_answered_with_slacks_error(
    client: Client, error: str, method: str, arguments: dict[str, Any]
) -> None:
    assert (await refusal(client.api_call(method, json=arguments)))["error"] == error


async def test_a_rejected_call_changes_nothing(slack: Workspace, client: Client) -> None:
    before = slack.hub.feed.number
    for _, method, arguments in BAD_CALLS:
        await refusal(client.api_call(method, json=arguments))
    assert slack.general.messages == []
    assert slack.hub.feed.since(before) is not None
    assert {change.kind for change in slack.hub.feed.since(before) or ()} == {"call"}


async def test_invalid_blocks_are_reported_with_pointers_twice(client: Client) -> None:
    blocks = [section("fine"), actions(*(button(str(n), str(n)) for n in range(26)))]
    answer = await refusal(client.chat_postMessage(channel=GENERAL, text="x", blocks=blocks))
    assert answer["errors"] == ["no more than 25 items allowed [json-pointer:/blocks/1/elements]"]
    assert answer["response_metadata"]["messages"] == [f"[ERROR] {answer['errors'][0]}"]


# Who may call.


@pytest.mark.parametrize(
    ("token", "error"),
    [
        (None, "not_authed"),
        ("xoxb-playground-0000", "invalid_auth"),
        ("xoxb-123456789012-123456789012-abcdefghijklmnopqrstuvwx", "invalid_auth"),
    ],
)
async def test_a_token_that_is_not_ours_is_refused_and_not_kept(
    slack: Workspace, token: str | None, error: str
) -> None:
    client = new_client(slack, token=token)
    assert (await refusal(client.auth_test()))["error"] == error
    assert (await refusal(client.api_call("auth.test", params={"token": token or ""})))["error"] == error
    assert token is None or token not in str(slack.transcript)


async def test_a_token_in_a_body_or_query_is_taken_and_not_kept(
    slack: Workspace, session: ClientSession
) -> None:
    for shape in ("data", "params"):
        fields: Any = {shape: {"token": slack.bot_token}}
        async with session.post(f"{slack.api_url}auth.test", **fields) as response:
            assert (await response.json())["ok"] is True
    assert slack.bot_token not in str(slack.transcript)
    assert all("token" not in call.args for call in slack.calls("auth.test"))


async def test_each_token_works_for_its_own_methods_only(slack: Workspace, client: Client) -> None:
    assert (await refusal(client.apps_connections_open(app_token=slack.bot_token)))["error"] == (
        "not_allowed_token_type"
    )
    answer = await refusal(client.auth_test(token=slack.app_token))
    assert answer["error"] == "not_allowed_token_type"


@pytest.mark.parametrize(
    ("scope", "method", "arguments"),
    [
        ("chat:write", "chat.postMessage", {"channel": GENERAL, "text": "x"}),
        ("users:read", "users.info", {"user": "U0GUEST"}),
        ("usergroups:read", "usergroups.users.list", {"usergroup": "S0ONCALL"}),
        ("channels:read", "conversations.info", {"channel": GENERAL}),
        ("groups:read", "conversations.info", {"channel": PRIVATE}),
        ("im:write", "conversations.open", {"users": "U0GUEST"}),
        ("files:write", "files.getUploadURLExternal", {"filename": "x", "length": 1}),
    ],
)
async def test_a_scope_that_the_manifest_lacks_is_named(
    client: Client, scope: str, method: str, arguments: dict[str, Any]
) -> None:
    assert (await client.api_call(method, json=arguments))["ok"]
    async with Workspace.open(manifest=MANIFEST.without(scope)) as slack:
        answer = await refusal(new_client(slack).api_call(method, json=arguments))
    assert (answer["error"], answer["needed"]) == ("missing_scope", scope)
    assert scope not in answer["provided"].split(",")


# The shapes of arguments.


@pytest.mark.parametrize("shape", ["json", "data", "params"])
async def test_arguments_come_as_json_form_or_query(slack: Workspace, client: Client, shape: str) -> None:
    blocks = CARD if shape == "json" else json.dumps(CARD)
    arguments = {
        "channel": GENERAL,
        "text": "hello",
        "blocks": blocks,
        "unfurl_links": "0",
    }
    await client.api_call("chat.postMessage", **{shape: arguments})
    (post,) = slack.general.messages
    assert (post.text, post.buttons) == ("hello", ["Approve", "Reject…"])


@pytest.mark.parametrize(("body", "error"), [("{", "invalid_json"), ("[]", "json_not_object")])
async def test_a_body_that_is_not_a_json_object_is_refused(
    slack: Workspace, session: ClientSession, body: str, error: str
) -> None:
    headers = {"Authorization": f"Bearer {slack.bot_token}", "Content-Type": "application/json"}
    async with session.post(f"{slack.api_url}auth.test", data=body, headers=headers) as response:
        assert (await response.json())["error"] == error


# What works.


async def test_the_bot_knows_itself(client: Client) -> None:
    answer = await client.auth_test()
    assert (answer["user_id"], answer["bot_id"]) == ("U0ASKFIRST", "B0ASKFIRST")
    assert "chat:write" in answer.headers["x-oauth-scopes"]


async def test_a_message_is_posted_changed_linked_and_deleted(slack: Workspace, client: Client) -> None:
    posted = await client.chat_postMessage(channel=GENERAL, text="one", blocks=CARD, metadata=_METADATA)
    ts = str(posted["ts"])
    assert all(block["block_id"] for block in posted["message"]["blocks"])
    await client.chat_update(channel=GENERAL, ts=ts, text="two", blocks=[])
    (post,) = slack.general.messages
    assert (post.text, post.buttons) == ("two", [])
    link = await client.chat_getPermalink(channel=GENERAL, message_ts=ts)
    assert ts.replace(".", "") in link["permalink"]
    history = await client.conversations_history(channel=GENERAL, include_all_metadata=True)
    assert history["messages"][0]["metadata"] == _METADATA
    await client.chat_delete(channel=GENERAL, ts=ts)
    assert slack.general.messages == []
    assert (await refusal(client.chat_update(channel=GENERAL, ts=ts, text="x")))[
        "error"
    ] == "message_not_found"


_METADATA = {"event_type": "approval", "event_payload": {"id": "ap-1"}}


async def test_an_update_with_text_only_leaves_the_buttons(slack: Workspace, client: Client) -> None:
    posted = await client.chat_postMessage(channel=GENERAL, text="one", blocks=CARD)
    await client.chat_update(channel=GENERAL, ts=str(posted["ts"]), text="Approved")
    assert slack.general.messages[0].buttons == ["Approve", "Reject…"]


async def test_an_update_is_refused_over_4000_characters(client: Client) -> None:
    ts = str((await client.chat_postMessage(channel=GENERAL, text="one"))["ts"])
    await client.chat_update(channel=GENERAL, ts=ts, text="x" * 4000)
    answer = await refusal(client.chat_update(channel=GENERAL, ts=ts, text="x" * 4001))
    assert answer["error"] == "msg_too_long"


async def test_the_bot_changes_only_its_own_messages(slack: Workspace, client: Client) -> None:
    post = await slack.requester.says("mine")
    update = client.chat_update(channel=GENERAL, ts=post.ts, text="x")
    assert (await refusal(update))["error"] == "cant_update_message"
    delete = client.chat_delete(channel=GENERAL, ts=post.ts)
    assert (await refusal(delete))["error"] == "cant_delete_message"


async def test_an_ephemeral_message_is_seen_by_one_and_cannot_be_updated(
    slack: Workspace, client: Client
) -> None:
    answer = await client.chat_postEphemeral(channel=GENERAL, user=slack.guest.id, text="only you")
    assert [post.text for post in slack.guest.whispers] == ["only you"]
    assert slack.approver.whispers == []
    assert slack.general.messages == []
    update = client.chat_update(channel=GENERAL, ts=str(answer["message_ts"]), text="x")
    assert (await refusal(update))["error"] == "message_not_found"


async def test_replies_to_replies_stay_in_one_thread(slack: Workspace, client: Client) -> None:
    root = await slack.requester.says("root")
    first = await client.chat_postMessage(channel=GENERAL, text="first", thread_ts=root.ts)
    await client.chat_postMessage(channel=GENERAL, text="second", thread_ts=str(first["ts"]))
    replies = await client.conversations_replies(channel=GENERAL, ts=root.ts)
    assert [message["text"] for message in replies["messages"]] == ["root", "first", "second"]
    history = await client.conversations_history(channel=GENERAL)
    assert [message["text"] for message in history["messages"]] == ["root"]


async def test_lists_are_paged_with_cursors(slack: Workspace, client: Client) -> None:
    for number in range(5):
        await slack.requester.says(str(number))
    pages = [
        [message["text"] for message in page["messages"]]
        async for page in await client.conversations_history(channel=GENERAL, limit=2)
    ]
    assert pages == [["4", "3"], ["2", "1"], ["0"]]


@pytest.mark.parametrize(
    ("user", "flags"),
    [
        ("U0REQUESTER", {"deleted": False, "is_restricted": False, "team_id": "T0PLAYGROUND"}),
        ("U0GUEST", {"is_restricted": True, "is_ultra_restricted": False}),
        ("U0STRANGER", {"is_stranger": True, "team_id": "T0PARTNER"}),
        ("U0FORMER", {"deleted": True}),
        ("U0ASKFIRST", {"is_bot": True}),
    ],
)
async def test_users_info_tells_guests_strangers_and_the_deactivated_apart(
    client: Client, user: str, flags: dict[str, Any]
) -> None:
    found = (await client.users_info(user=user))["user"]
    assert {name: found[name] for name in flags} == flags
    assert found.get("is_stranger", False) is (user == "U0STRANGER")


async def test_places_and_groups_are_described(slack: Workspace, client: Client) -> None:
    shared = (await client.conversations_info(channel=slack.shared.id))["channel"]
    private = (await client.conversations_info(channel=PRIVATE))["channel"]
    assert (shared["is_ext_shared"], private["is_private"], private["is_ext_shared"]) == (True, True, False)
    assert slack.stranger.id in (await client.conversations_members(channel=slack.shared.id))["members"]
    group = await client.usergroups_users_list(usergroup="S0ONCALL")
    assert group["users"] == [slack.approver.id, slack.second_approver.id]
    listed = await client.usergroups_list(include_users=True)
    assert [g["handle"] for g in listed["usergroups"]] == ["oncall"]
    names = [c["name"] for c in (await client.conversations_list(types="private_channel"))["channels"]]
    assert names == ["ops-private"]


async def test_a_private_channel_without_the_bot_does_not_exist_for_it(
    slack: Workspace, client: Client
) -> None:
    slack.add_channel(Channel(id="C0SECRET", name="secret", kind="private", members={slack.approver.id}))
    assert (await refusal(client.conversations_info(channel="C0SECRET")))["error"] == "channel_not_found"
    assert (await client.conversations_info(channel=ELSEWHERE))["channel"]["is_member"] is False
    listed = await client.conversations_list(types="public_channel,private_channel")
    assert "secret" not in [channel["name"] for channel in listed["channels"]]


async def test_a_direct_message_is_opened_once(slack: Workspace, client: Client) -> None:
    first = await client.conversations_open(users=slack.approver.id)
    again = await client.conversations_open(users=[slack.approver.id], return_im=True)
    assert first["channel"]["id"] == again["channel"]["id"] == slack.approver.dm.id
    await client.chat_postMessage(channel=first["channel"]["id"], text="psst")
    await slack.approver.dm.message_containing("psst")


async def test_the_bot_joins_and_leaves_public_channels_if_it_may() -> None:
    allowed = replace(MANIFEST, scopes=MANIFEST.scopes | {"channels:join", "channels:write"})
    async with Workspace.open(manifest=allowed) as slack:
        client = new_client(slack)
        await client.conversations_join(channel=ELSEWHERE)
        await client.chat_postMessage(channel=ELSEWHERE, text="hi")
        await client.conversations_leave(channel=ELSEWHERE)
        again = client.chat_postMessage(channel="#elsewhere", text="hi")
        assert (await refusal(again))["error"] == "not_in_channel"
        private = client.conversations_join(channel=PRIVATE)
        assert (await refusal(private))["error"] == "method_not_supported_for_channel_type"


async def test_a_message_to_a_person_lands_in_their_direct_message(slack: Workspace, client: Client) -> None:
    await client.chat_postMessage(channel=slack.guest.id, text="psst")
    await slack.guest.dm.message_containing("psst")


async def test_reactions_are_added_once(slack: Workspace, client: Client) -> None:
    post = await slack.requester.says("hi")
    await client.reactions_add(channel=GENERAL, timestamp=post.ts, name="eyes")
    again = client.reactions_add(channel=GENERAL, timestamp=post.ts, name="eyes")
    assert (await refusal(again))["error"] == "already_reacted"
    await client.reactions_remove(channel=GENERAL, timestamp=post.ts, name="eyes")
    again = client.reactions_remove(channel=GENERAL, timestamp=post.ts, name="eyes")
    assert (await refusal(again))["error"] == "no_reaction"


async def test_a_file_is_uploaded_in_three_steps(slack: Workspace, client: Client) -> None:
    root = await slack.requester.says("send it")
    answer = await client.files_upload_v2(
        content="a,b\n1,2\n",
        filename="report.csv",
        title="Report",
        channel=GENERAL,
        initial_comment="Here",
        thread_ts=root.ts,
    )
    file_id = answer["file"]["id"]
    assert slack.hub.world.files[file_id].content == b"a,b\n1,2\n"
    post = await root.thread.message_containing("Here")
    assert post.current is not None
    assert post.current.files[0]["title"] == "Report"


async def test_an_upload_has_the_announced_length_and_comes_before_it_is_completed(
    client: Client, session: ClientSession
) -> None:
    announced = await client.files_getUploadURLExternal(filename="x", length=3)
    files = [{"id": announced["file_id"]}]
    assert (await refusal(client.files_completeUploadExternal(files=files)))["error"] == "file_not_found"
    for body, status in ((b"four", 400), (b"two", 200)):
        async with session.post(announced["upload_url"], data=body) as response:
            assert response.status == status
    assert (await client.files_completeUploadExternal(files=files))["files"][0]["size"] == 3


async def test_a_status_goes_away_by_a_reply_or_after_two_minutes(slack: Workspace, client: Client) -> None:
    root = await slack.requester.says("work")
    for end in ("reply", "time"):
        await client.assistant_threads_setStatus(channel_id=GENERAL, thread_ts=root.ts, status="is thinking…")
        await root.thread.has_status("is thinking…")
        if end == "reply":
            await client.chat_postMessage(channel=GENERAL, thread_ts=root.ts, text="done")
        else:
            await slack.advance(119)
            assert root.thread.status == "is thinking…"
            await slack.advance(1)
        assert root.thread.status == ""


async def test_a_session_is_created_moved_on_and_renamed(slack: Workspace, client: Client) -> None:
    root = await slack.requester.says("work")
    where = {"channel_id": GENERAL, "thread_ts": root.ts}
    answer = await client.agents_sessions_setStatus(**where, status="processing", title="Clean-up")
    assert (answer["status"], answer["title"]) == ("processing", "Clean-up")
    await client.agents_sessions_setStatus(**where, status="suspended", title="ignored")
    await root.thread.has_session("suspended")
    assert (await client.agents_sessions_rename(**where, title="Tidy"))["title"] == "Tidy"
    bad = client.agents_sessions_setStatus(**where, status="sleeping")
    assert (await refusal(bad))["error"] == "invalid_status"


async def test_a_session_without_the_stop_event_warns() -> None:
    manifest = MANIFEST.without("agent_session_stopped")
    async with Workspace.open(manifest=manifest) as slack:
        client = new_client(slack)
        root = await slack.requester.says("work")
        answer = await client.agents_sessions_setStatus(
            channel_id=GENERAL, thread_ts=root.ts, status="processing"
        )
        assert answer["warning"] == "missing_agent_session_stopped_event_subscription"


async def test_prompts_and_titles_are_kept(slack: Workspace, client: Client) -> None:
    dm = slack.requester.dm
    prompts = [{"title": "Waiting", "message": "What waits?"}]
    await client.assistant_threads_setSuggestedPrompts(channel_id=dm.id, prompts=prompts)
    assert slack.hub.world.prompts[dm.id, None] == prompts
    bad = client.assistant_threads_setSuggestedPrompts(channel_id=dm.id, prompts=prompts * 5)
    assert (await refusal(bad))["error"] == "invalid_arguments"
    root = await slack.requester.says("hi", in_=dm)
    await client.assistant_threads_setTitle(channel_id=dm.id, thread_ts=root.ts, title="Hello")
    assert slack.hub.world.titles[dm.id, root.ts] == "Hello"


async def test_blocks_validate_needs_no_token_and_lists_constraints(slack: Workspace) -> None:
    client = new_client(slack, token=None)
    assert (await client.blocks_validate(blocks=CARD))["ok"]
    assert (await client.blocks_validate(view=modal("Hi", text_input("Why", "why"))))["ok"]
    bad = await refusal(client.blocks_validate(blocks=[{"type": "section", "text": {"type": "invalid"}}]))
    assert bad["error"] == "invalid_blocks"
    assert bad["errors"] == [
        {
            "code": "failed_constraint",
            "message": "unsupported type: invalid",
            "pointer": "/0/text/type",
            "constraint": {"type": "enum", "expected": ["plain_text", "mrkdwn"]},
        }
    ]
    neither = await refusal(client.blocks_validate())
    assert neither["error"] == "invalid_arguments"
