"""The JSON control API of the page, and who may use it."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientResponse, ClientSession
from slack_bolt.app.async_app import AsyncApp

from bot.playground.errors import Unsafe
from bot.playground.manifest import read_manifest
from bot.playground.safety import require_loopback, require_playground_token
from bot.playground.workspace import Workspace
from tests.playground.support import MANIFEST, Client, Connect, Json, actions, menu, sample_app


class Page:
    """What a browser page would do."""

    def __init__(self, slack: Workspace, session: ClientSession) -> None:
        self._slack = slack
        self._session = session
        self.headers = {"X-Playground-Token": slack.control_token, "Origin": slack.url}

    async def does(self, action: str, *, status: int = 200, **fields: Any) -> Json:
        url = f"{self._slack.url}/_control/{action}"
        async with self._session.post(url, json=fields, headers=self.headers) as response:
            assert response.status == status, await response.text()
            return await response.json()

    async def sees(self, viewer: str | None = None) -> Json:
        query = {} if viewer is None else {"as": viewer}
        url = f"{self._slack.url}/_control/state"
        async with self._session.get(url, params=query, headers=self.headers) as response:
            return await response.json()


@pytest.fixture
def page(slack: Workspace, session: ClientSession) -> Page:
    return Page(slack, session)


REQUESTER: Json = {"user": "U0REQUESTER"}
APPROVER: Json = {"user": "U0APPROVER"}


@pytest.mark.parametrize("transport", ["socket"], indirect=True)
async def test_a_whole_approval_can_be_played_over_json(
    slack: Workspace, page: Page, app: AsyncApp, connect: Connect
) -> None:
    await connect(sample_app(app))
    await page.does("mention", **REQUESTER, channel="C0GENERAL", text="clean up")
    card = await slack.general.card_with("Reject…")
    where: Json = {"channel": card.channel, "ts": card.ts}
    assert (await page.does("click", **APPROVER, **where, name="reject"))["sent"]
    sheet = await slack.approver.modal()
    (modal,) = (await page.sees("U0APPROVER"))["modals"]
    assert modal["id"] == sheet.id
    await page.does("submit", **APPROVER, view=sheet.id, values={"Reason": "no"})
    await slack.until(lambda: sheet.errors, "an error under the input")
    (modal,) = (await page.sees("U0APPROVER"))["modals"]
    assert modal["errors"] == {"reason": "Say a little more"}
    await page.does("submit", **APPROVER, view=sheet.id, values={"Reason": "keep them"})
    await card.shows("Rejected: keep them")
    await page.does("slash", **REQUESTER, channel="C0GENERAL", command="/askfirst waiting")
    await slack.requester.ephemeral_containing("You asked for waiting")
    await page.does("home", **APPROVER)
    await slack.approver.home()


@pytest.mark.parametrize("transport", ["socket"], indirect=True)
async def test_modals_are_typed_in_and_closed_and_menus_used_over_json(
    slack: Workspace, page: Page, app: AsyncApp, client: Client, connect: Connect
) -> None:
    await connect(sample_app(app))
    await page.does("mention", **REQUESTER, channel="C0GENERAL", text="clean up")
    card = await slack.general.card_with("Reject…")
    await page.does("click", **APPROVER, channel=card.channel, ts=card.ts, name="Reject…")
    sheet = await slack.approver.modal()
    await page.does("type", **APPROVER, view=sheet.id, name="Reason", text="half a")
    assert sheet.value_of("Reason") == "half a"
    await page.does("close", **APPROVER, view=sheet.id)
    assert sheet.is_closed
    blocks = [actions(menu("Folder", "folder", "/srv"))]
    ts = (await client.chat_postMessage(channel="C0GENERAL", text="x", blocks=blocks))["ts"]
    where: Json = {"channel": "C0GENERAL", "ts": ts, "name": "folder"}
    assert (await page.does("select", **APPROVER, **where, choice="/srv"))["sent"]
    assert "offers no" in (await page.does("select", **APPROVER, **where, choice="/etc", status=409))["error"]


async def test_the_stop_button_is_there_over_json(slack: Workspace, page: Page, client: Client) -> None:
    root = await slack.requester.says("work")
    where: Json = {"channel": root.channel, "thread_ts": root.ts}
    assert "stop button" in (await page.does("stop", **REQUESTER, **where, status=409))["error"]
    await client.agents_sessions_setStatus(channel_id=root.channel, thread_ts=root.ts, status="processing")
    assert (await page.sees())["sessions"][0]["status"] == "processing"
    await page.does("stop", **REQUESTER, **where)
    assert "agent_session_stopped" in str(slack.transcript)


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "ratelimit", "method": "auth.test", "seconds": 3},
        {"kind": "slow", "method": "auth.test", "seconds": 3},
        {"kind": "reset_after", "method": "auth.test"},
        {"kind": "drop_acks"},
        {"kind": "duplicate", "times": 2},
        {"kind": "reorder", "times": 2},
        {"kind": "disconnect", "reason": "warning"},
        {"kind": "drop_sockets"},
        {"kind": "clear"},
    ],
    ids=lambda fault: fault["kind"],
)
async def test_every_fault_is_within_reach_of_the_page(page: Page, fault: Json) -> None:
    assert (await page.does("faults", **fault))["ok"]


async def test_an_unknown_action_lists_the_known_ones(
    slack: Workspace, page: Page, session: ClientSession
) -> None:
    url = f"{slack.url}/_control/dance"
    async with session.post(url, json={}, headers=page.headers) as response:
        assert (response.status, "mention" in await response.text()) == (404, True)


async def test_messages_are_said_edited_reacted_to_and_deleted(slack: Workspace, page: Page) -> None:
    said = await page.does("say", **REQUESTER, channel="C0GENERAL", text="one")
    where: Json = {"channel": said["channel"], "ts": said["ts"]}
    await page.does("edit", **REQUESTER, **where, text="two")
    await page.does("react", **APPROVER, **where, name="eyes")
    (message,) = (await page.sees())["messages"]["C0GENERAL"]
    assert (message["text"], message["reactions"][0]["name"]) == ("two", "eyes")
    await page.does("delete", **REQUESTER, **where)
    assert (await page.sees())["messages"]["C0GENERAL"] == []


async def test_a_person_sees_only_what_they_may(slack: Workspace, page: Page, client: Client) -> None:
    await client.chat_postEphemeral(channel="C0GENERAL", user="U0GUEST", text="psst")
    guest, requester = await page.sees("U0GUEST"), await page.sees("U0REQUESTER")
    assert [message["text"] for message in guest["messages"]["C0GENERAL"]] == ["psst"]
    assert requester["messages"]["C0GENERAL"] == []
    assert "C0PRIVATE" in requester["messages"]
    assert "C0PRIVATE" not in guest["messages"]


@pytest.mark.parametrize(
    ("action", "fields", "status", "error"),
    [
        ("say", {"user": "U0FORMER", "channel": "C0GENERAL", "text": "x"}, 409, "deactivated"),
        ("say", {"user": "U0NOBODY", "channel": "C0GENERAL", "text": "x"}, 409, "nobody with the id"),
        ("say", {"user": "U0GUEST", "channel": "C0NONE", "text": "x"}, 409, "no channel"),
        ("say", {"user": "U0GUEST", "channel": "C0GENERAL"}, 400, "invalid_arguments"),
        (
            "click",
            {"user": "U0GUEST", "channel": "C0GENERAL", "ts": "1", "name": "x"},
            400,
            "message_not_found",
        ),
        ("submit", {"user": "U0GUEST", "view": "V1"}, 409, "no such view"),
        ("faults", {"kind": "earthquake"}, 409, "no fault"),
    ],
)
async def test_what_cannot_be_done_is_explained(
    page: Page, action: str, fields: Json, status: int, error: str
) -> None:
    assert error in (await page.does(action, **fields, status=status))["error"]


async def test_time_faults_and_reset_are_at_hand(slack: Workspace, page: Page, client: Client) -> None:
    before = slack.clock.now()
    assert (await page.does("clock", seconds=90))["now"] == before + 90
    await page.does("faults", kind="fail", method="auth.test", error="internal_error")
    await page.does("say", **REQUESTER, channel="C0GENERAL", text="one")
    await page.does("reset")
    assert (await client.auth_test())["ok"]
    assert slack.general.messages == []
    assert slack.requester.name == "requester"


async def _events(response: ClientResponse) -> AsyncIterator[Json]:
    fields: Json = {}
    async for raw in response.content:
        line = raw.decode().rstrip("\n")
        if not line and fields:
            yield fields
            fields = {}
        elif line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


async def test_the_feed_tells_changes_in_order_and_resumes_after_the_last_seen(
    slack: Workspace, page: Page, session: ClientSession
) -> None:
    url, token = f"{slack.url}/_control/feed", {"token": slack.control_token}
    async with asyncio.timeout(5):
        async with session.get(url, params=token) as response:
            assert response.content_type == "text/event-stream"
            await slack.requester.says("one")
            first = await anext(_events(response))
        await slack.requester.says("two")
        async with session.get(url, params=token, headers={"Last-Event-ID": first["id"]}) as response:
            events = _events(response)
            kinds = [(await anext(events))["event"] for _ in range(2)]
        assert first["event"] == "message"
        assert json.loads(first["data"])["channel"] == "C0GENERAL"
        assert "message" in kinds


async def test_a_page_that_was_away_too_long_is_told_to_reload(
    slack: Workspace, session: ClientSession
) -> None:
    for _ in range(6000):
        slack.nudge()
    query = {"token": slack.control_token, "after": "3"}
    async with asyncio.timeout(5), session.get(f"{slack.url}/_control/feed", params=query) as response:
        assert (await anext(_events(response)))["event"] == "reload"


# Safe.


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Playground-Token": ""},
        {"X-Playground-Token": "guess"},
        {"X-Playground-Token": "ünïcode"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
    ],
)
@pytest.mark.parametrize("path", ["reset", "state", "feed", "transcript"])
async def test_the_control_routes_need_token_origin_and_host(
    slack: Workspace, page: Page, session: ClientSession, headers: dict[str, str], path: str
) -> None:
    await slack.requester.says("still here")
    method = "POST" if path == "reset" else "GET"
    async with session.request(
        method, f"{slack.url}/_control/{path}", headers=page.headers | headers
    ) as response:
        assert response.status == 403
    assert len(slack.general.messages) == 1


async def test_the_web_api_answers_to_no_other_host_name(slack: Workspace, session: ClientSession) -> None:
    async with session.post(f"{slack.api_url}auth.test", headers={"Host": "slack.com"}) as response:
        assert response.status == 403


@pytest.mark.parametrize(
    "token", ["xoxb-1234567890-abc", "xapp-1-A0-123-abc", "xoxp-playground-1", "", "xoxb-playground-../x"]
)
async def test_tokens_that_look_real_are_refused_without_repeating_them(token: str) -> None:
    with pytest.raises(Unsafe) as refused:
        require_playground_token(token)
    assert not token or token not in str(refused.value)


@pytest.mark.parametrize(
    "settings", [{"bot_token": "xoxb-1-2-3"}, {"app_token": "xapp-1-2-3"}, {"host": "0.0.0.0"}]
)
async def test_a_workspace_cannot_be_opened_with_a_real_token_or_for_others(settings: Json) -> None:
    with pytest.raises(Unsafe):
        async with Workspace.open(**settings):
            pytest.fail("opened")


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("http://127.0.0.1:3000/slack/events", True),
        ("http://localhost:3000/", True),
        ("http://[::1]:3000/", True),
        ("https://slack.com/api/", False),
        ("http://slack.com/api/", False),
        ("http://127.0.0.1.nip.io/", False),
        ("http://169.254.169.254/", False),
        ("file:///etc/passwd", False),
    ],
)
def test_only_loopback_addresses_are_safe(url: str, safe: bool) -> None:
    if safe:
        assert require_loopback(url) == url
    else:
        with pytest.raises(Unsafe):
            require_loopback(url)


@pytest.mark.parametrize("missing", ["message.channels", "channels:history"])
async def test_an_event_needs_a_subscription_and_its_scope(missing: str) -> None:
    async with Workspace.open(manifest=MANIFEST.without(missing)) as slack:
        await slack.requester.mentions_bot("hi")
        assert "-> app_mention" in str(slack.transcript)
        assert "-> message" not in str(slack.transcript)


def test_the_manifest_asks_for_what_the_bot_needs() -> None:
    manifest = read_manifest()
    assert manifest.commands == {"/askfirst"}
    assert manifest.is_agent
    assert manifest.home_tab
    assert manifest.interactivity
    assert {"app_mention", "message.im", "app_home_opened", "agent_session_stopped"} <= manifest.events
    assert all(manifest.hears(event) for event in manifest.events)
    assert {"chat:write", "usergroups:read", "users:read", "im:write", "commands"} <= manifest.scopes
