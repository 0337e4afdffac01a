"""People can do what their Slack client lets them do, and the app hears exactly that."""
# pyright: reportUnknownMemberType=false, reportUntypedFunctionDecorator=false, reportUnusedFunction=false
# Bolt types its decorators only partly.

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import ClientSession
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.playground.errors import CannotDo, NeverHappened
from bot.playground.people import Person
from bot.playground.places import Post
from bot.playground.workspace import Workspace
from bot.playground.world import User
from tests.playground.support import (
    CARD,
    MANIFEST,
    Client,
    Connect,
    Json,
    actions,
    button,
    menu,
    new_client,
    plain,
    section,
)

pytestmark = pytest.mark.parametrize("transport", ["socket"], indirect=True)

CONFIRM = {"title": plain("Sure?"), "text": plain("Gone"), "confirm": plain("Yes"), "deny": plain("No")}
OVERFLOW = {
    "type": "overflow",
    "action_id": "more",
    "options": menu("", "", "Explain", "Stop")["options"],
}
RADIO = {"type": "radio_buttons", "action_id": "age", "options": menu("", "", "90 days", "1 year")["options"]}


class Heard:
    """What a Bolt app received by way of block actions."""

    def __init__(self) -> None:
        self.bodies: list[Json] = []

    @property
    def last(self) -> Json:
        return self.bodies[-1]


@pytest.fixture
async def heard(app: AsyncApp, connect: Connect) -> Heard:
    found = Heard()

    @app.action(re.compile(".*"))
    async def acted(ack: Callable[..., Awaitable[Any]], body: Json) -> None:
        found.bodies.append(body)
        await ack()

    @app.event("message")
    async def message() -> None:
        pass

    await connect(app)
    return found


async def posted(slack: Workspace, client: Client, *blocks: Json) -> Post:
    ts = (await client.chat_postMessage(channel=slack.general.id, text="x", blocks=list(blocks)))["ts"]
    return next(post for post in slack.general.messages if post.ts == ts)


async def test_a_click_tells_who_where_and_what(slack: Workspace, client: Client, heard: Heard) -> None:
    card = await posted(slack, client, *CARD)
    await slack.approver.clicks("Approve", in_=card)
    body = heard.last
    assert body["user"] == {
        "id": "U0APPROVER",
        "username": "approver",
        "name": "approver",
        "team_id": "T0PLAYGROUND",
    }
    assert (body["channel"], body["message"]["ts"]) == ({"id": "C0GENERAL", "name": "general"}, card.ts)
    assert body["container"]["message_ts"] == card.ts
    (action,) = body["actions"]
    assert (action["type"], action["action_id"], action["value"]) == ("button", "approve", "1")
    assert body["response_url"].startswith(slack.url)


async def test_a_stranger_is_recognised_by_team(slack: Workspace, client: Client, heard: Heard) -> None:
    await client.chat_postMessage(channel=slack.shared.id, text="x", blocks=CARD)
    await slack.stranger.clicks("Approve", in_=await slack.shared.card_with("Approve"))
    assert heard.last["user"]["team_id"] == "T0PARTNER"


async def test_a_button_that_is_gone_cannot_be_clicked_but_a_stale_client_can(
    slack: Workspace, client: Client, heard: Heard
) -> None:
    card = await posted(slack, client, *CARD)
    await client.chat_update(
        channel=card.channel, ts=card.ts, text="x", blocks=[actions(button("Undo", "undo"))]
    )
    with pytest.raises(CannotDo, match="nothing called 'Approve' here; one can use: 'Undo'"):
        await slack.approver.clicks("Approve", in_=card)
    assert heard.bodies == []
    assert (await slack.approver.clicks_stale("Approve", in_=card)).acked
    assert heard.last["actions"][0]["action_id"] == "approve"


async def test_a_deleted_card_can_only_be_clicked_by_a_stale_client(
    slack: Workspace, client: Client, heard: Heard
) -> None:
    card = await posted(slack, client, *CARD)
    await slack.requester.deletes(card)
    with pytest.raises(CannotDo, match="deleted"):
        await slack.approver.clicks("Approve", in_=card)
    assert (await slack.approver.clicks_stale("Approve", in_=card)).acked
    assert heard.last["message"]["ts"] == card.ts


async def test_a_cancelled_confirm_dialog_sends_nothing(
    slack: Workspace, client: Client, heard: Heard
) -> None:
    card = await posted(slack, client, actions(button("Delete", "delete", confirm=CONFIRM)))
    click = await slack.approver.clicks("Delete", in_=card, confirm=False)
    assert click.cancelled
    assert heard.bodies == []
    assert (await slack.approver.clicks("Delete", in_=card)).acked


async def test_a_button_for_some_is_hidden_from_others(
    slack: Workspace, client: Client, heard: Heard
) -> None:
    for_approver = button("Approve", "approve", visible_to_user_ids=[slack.approver.id])
    card = await posted(slack, client, actions(for_approver, button("Explain", "explain")))
    assert card.buttons_for(slack.requester.id) == ["Explain"]
    with pytest.raises(CannotDo, match="one can use: 'Explain'"):
        await slack.requester.clicks("Approve", in_=card)
    assert (await slack.approver.clicks("Approve", in_=card)).acked


async def test_picks_are_sent_at_once_and_again_with_the_button(
    slack: Workspace, client: Client, heard: Heard
) -> None:
    folder = section(
        "Which folder?", block_id="folder", accessory=menu("Folder", "folder", "/srv/a", "/srv/b")
    )
    ask = actions(RADIO, button("Start", "start"), block_id="how")
    card = await posted(slack, client, folder, ask)
    await slack.requester.selects("/srv/b", from_="Folder", in_=card)
    assert heard.last["actions"][0]["selected_option"]["value"] == "/srv/b"
    await slack.requester.selects("1 year", from_="age", in_=card)
    await slack.approver.selects("90 days", from_="age", in_=card)
    await slack.requester.clicks("Start", in_=card)
    values = heard.last["state"]["values"]
    assert values["folder"]["folder"]["selected_option"]["value"] == "/srv/b"
    # What somebody else picked in the same message is theirs.
    assert values["how"]["age"]["selected_option"]["value"] == "1 year"
    assert "start" not in values["how"]


async def test_an_overflow_menu_sends_the_option(slack: Workspace, client: Client, heard: Heard) -> None:
    card = await posted(slack, client, section("x", accessory=OVERFLOW))
    await slack.approver.selects("Explain", from_="more", in_=card)
    assert heard.last["actions"][0]["selected_option"]["value"] == "explain"
    with pytest.raises(CannotDo, match="offers no 'Sing' but 'Explain', 'Stop'"):
        await slack.approver.selects("Sing", from_="more", in_=card)


async def test_a_menu_is_not_pressed_and_a_button_holds_nothing(
    slack: Workspace, client: Client, heard: Heard
) -> None:
    card = await posted(slack, client, actions(menu("Folder", "folder", "/srv"), button("Start", "start")))
    with pytest.raises(CannotDo, match="static_select, not a button"):
        await slack.approver.clicks("Folder", in_=card)
    with pytest.raises(CannotDo, match="not something to fill in"):
        await slack.approver.selects("/srv", from_="Start", in_=card)
    assert heard.bodies == []


async def test_nobody_uses_the_home_tab_of_another(slack: Workspace, client: Client, heard: Heard) -> None:
    view = {"type": "home", "blocks": [actions(button("Review", "review"))]}
    await client.views_publish(user_id=slack.approver.id, view=view)
    home = await slack.approver.home()
    with pytest.raises(CannotDo, match="not in front of requester"):
        await slack.requester.clicks("Review", in_=home)
    assert (await slack.approver.clicks("Review", in_=home)).acked
    assert heard.last["container"] == {"type": "view", "view_id": home.id}


async def test_two_buttons_of_one_name_need_the_exact_one(
    slack: Workspace, client: Client, heard: Heard
) -> None:
    card = await posted(
        slack,
        client,
        actions(button("View", "view"), block_id="one"),
        actions(button("View", "view"), block_id="two"),
    )
    with pytest.raises(CannotDo, match="2 things called 'View'"):
        await slack.approver.clicks("View", in_=card)
    await slack.approver.clicks("two/view", in_=card)
    assert heard.last["actions"][0]["block_id"] == "two"


async def test_a_whisper_is_seen_clicked_and_replaced_by_one_person(
    slack: Workspace, client: Client, heard: Heard
) -> None:
    await client.chat_postEphemeral(channel=slack.general.id, user=slack.guest.id, text="psst", blocks=CARD)
    whisper = await slack.guest.ephemeral_containing("psst")
    with pytest.raises(CannotDo, match="whispered"):
        await slack.approver.clicks("Approve", in_=whisper)
    await slack.guest.clicks("Approve", in_=whisper)
    assert heard.last["container"]["is_ephemeral"] is True
    assert "message" not in heard.last
    hook = AsyncWebhookClient(heard.last["response_url"])
    await hook.send_dict({"text": "noted", "replace_original": True, "blocks": []})
    assert [post.text for post in slack.guest.whispers] == ["noted"]
    await hook.send_dict({"delete_original": True})
    assert slack.guest.whispers == []


Deed = Callable[[Person, Workspace], Awaitable[Any]]
IMPOSSIBLE: list[tuple[str, Deed, str]] = [
    ("former", lambda person, slack: person.says("hi", in_=slack.general), "deactivated"),
    ("former", lambda person, _: person.opens_home(), "deactivated"),
    ("stranger", lambda person, slack: person.says("hi", in_=slack.general), "not in #general"),
    ("guest", lambda person, slack: person.says("hi", in_=slack.private), "not in #ops-private"),
    ("guest", lambda person, _: person.runs("/deploy now"), "not a command"),
    ("guest", lambda person, slack: person.presses_stop(in_=slack.general), "a stop button only in"),
    ("guest", lambda person, slack: person.runs("/askfirst", in_=slack.general.thread("1")), "in threads"),
]


@pytest.mark.parametrize(("who", "deed", "why"), IMPOSSIBLE, ids=[f"{row[0]} {row[2]}" for row in IMPOSSIBLE])
async def test_people_cannot_do_what_slack_would_not_let_them(
    slack: Workspace, heard: Heard, who: str, deed: Deed, why: str
) -> None:
    with pytest.raises(CannotDo, match=why):
        await deed(getattr(slack, who), slack)
    assert slack.general.messages == []


async def test_people_edit_only_their_own_words(slack: Workspace, heard: Heard) -> None:
    post = await slack.requester.says("frist")
    with pytest.raises(CannotDo):
        await slack.guest.edits(post, "second")
    assert (await slack.requester.edits(post, "first")).text == "first"


async def test_a_client_that_repeats_a_message_posts_it_once(slack: Workspace, heard: Heard) -> None:
    first = await slack.requester.says("hi", client_msg_id="c-1")
    again = await slack.requester.says("hi", client_msg_id="c-1")
    assert first == again
    assert len(slack.general.messages) == 1


async def test_people_and_groups_change(slack: Workspace, client: Client, heard: Heard) -> None:
    newcomer = slack.add_user(User(id="U0NEW", name="newcomer", real_name="Nell"))
    slack.change_group(newcomer)
    assert (await client.usergroups_users_list(usergroup="S0ONCALL"))["users"] == ["U0NEW"]
    slack.change_user(newcomer, deleted=True)
    assert (await client.users_info(user="U0NEW"))["user"]["deleted"] is True


async def test_feedback_buttons_send_the_side_that_was_pressed(
    slack: Workspace, client: Client, heard: Heard
) -> None:
    sides = {
        "positive_button": {"text": plain("Good"), "value": "up"},
        "negative_button": {"text": plain("Bad"), "value": "down"},
    }
    block = {
        "type": "context_actions",
        "elements": [{"type": "feedback_buttons", "action_id": "fb", **sides}],
    }
    card = await posted(slack, client, section("x"), block)
    assert card.buttons == ["Good", "Bad"]
    await slack.requester.clicks("Bad", in_=card)
    assert heard.last["actions"][0]["value"] == "down"


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        ("ten", "as a number"),
        ("1.5", "as a number"),
        ("0", "takes 1"),
        ("101", "takes 1"),
        (7, "people type text"),
    ],
)
async def test_a_number_field_takes_numbers_in_range(
    slack: Workspace, client: Client, heard: Heard, typed: Any, complaint: str
) -> None:
    element = {"type": "number_input", "action_id": "days", "is_decimal_allowed": False}
    element |= {"min_value": "1", "max_value": "100"}
    card = await posted(slack, client, {"type": "input", "label": plain("Days"), "element": element})
    with pytest.raises(CannotDo, match=complaint):
        await slack.requester.types(typed, into="Days", in_=card)
    await slack.requester.types("42", into="Days", in_=card)


async def test_a_field_in_a_message_tells_the_app_only_if_it_asked(
    slack: Workspace, client: Client, heard: Heard
) -> None:
    field: Json = {"type": "input", "label": plain("Folder"), "element": menu("Pick", "folder", "/srv")}
    quiet = await posted(slack, client, field)
    assert (await slack.requester.selects("/srv", from_="Folder", in_=quiet)).cancelled
    loud = await posted(slack, client, field | {"dispatch_action": True})
    assert (await slack.requester.selects("/srv", from_="Folder", in_=loud)).acked
    assert len(heard.bodies) == 1


async def test_without_interactivity_nothing_can_be_clicked(transport: str) -> None:
    async with Workspace.open(manifest=replace(MANIFEST, interactivity=False)) as slack:
        card = await posted(slack, new_client(slack), *CARD)
        with pytest.raises(CannotDo, match="interactivity off"):
            await slack.approver.clicks("Approve", in_=card)


async def test_a_card_that_loses_its_buttons_or_goes_away_is_noticed(
    slack: Workspace, client: Client, heard: Heard
) -> None:
    card = await posted(slack, client, *CARD)
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(card.has_no_buttons())
        await client.chat_update(channel=card.channel, ts=card.ts, text="done", blocks=[])
        assert (await waiting).text == "done"
        gone = tasks.create_task(card.is_gone())
        await client.chat_delete(channel=card.channel, ts=card.ts)
        await gone


# Response URLs.


@pytest.fixture
async def response_url(slack: Workspace, client: Client, heard: Heard) -> str:
    await slack.approver.clicks("Approve", in_=await posted(slack, client, *CARD))
    return heard.last["response_url"]


async def test_a_response_url_works_five_times(slack: Workspace, response_url: str) -> None:
    hook = AsyncWebhookClient(response_url)
    statuses = [(await hook.send(text=str(n))).status_code for n in range(6)]
    assert statuses == [200] * 5 + [404]
    assert [post.text for post in slack.approver.whispers] == list("01234")


async def test_a_response_url_works_for_half_an_hour(slack: Workspace, response_url: str) -> None:
    hook = AsyncWebhookClient(response_url)
    await slack.advance(1799)
    assert (await hook.send(text="in time")).status_code == 200
    await slack.advance(1)
    late = await hook.send(text="late")
    assert (late.status_code, late.body) == (404, "expired_url")


async def test_a_response_url_replaces_the_card_or_speaks_to_all(slack: Workspace, response_url: str) -> None:
    hook = AsyncWebhookClient(response_url)
    await hook.send(text="for all", response_type="in_channel")
    await hook.send(text="Approved", replace_original=True, blocks=[])
    texts = [(post.text, post.buttons) for post in slack.general.messages]
    assert texts == [("Approved", []), ("for all", [])]


@pytest.mark.parametrize(
    ("payload", "status", "body"),
    [({}, 400, "no_text"), ({"blocks": [{"type": "nope"}]}, 400, "invalid_blocks")],
)
async def test_a_response_url_refuses_bad_content(
    session: ClientSession, response_url: str, payload: Json, status: int, body: str
) -> None:
    async with session.post(response_url, json=payload) as response:
        assert (response.status, await response.text()) == (status, body)


async def test_a_made_up_response_url_is_not_found(slack: Workspace, heard: Heard) -> None:
    answer = await AsyncWebhookClient(f"{slack.url}/actions/made-up").send(text="x")
    assert answer.status_code == 404


# Waiting.


async def test_a_wait_that_ends_in_vain_shows_the_transcript(slack: Workspace, heard: Heard) -> None:
    slack.hub.patience = 0.05
    await slack.requester.mentions_bot("hello")
    with pytest.raises(NeverHappened) as failure:
        await slack.general.card_with("Approve")
    message = str(failure.value)
    assert "a card with a button 'Approve'" in message
    assert "requester writes '<@U0ASKFIRST> hello' in #general" in message
    assert re.search(r"-> app_mention Ev\d+", message)


async def test_the_newest_card_is_found_and_older_ones_can_be_left_out(
    slack: Workspace, client: Client, heard: Heard
) -> None:
    old = await posted(slack, client, section("old"), *CARD[1:])
    assert (await slack.general.card_with("Approve")).ts == old.ts
    new = await posted(slack, client, section("new"), *CARD[1:])
    assert (await slack.general.card_with("Approve")).ts == new.ts
    assert (await slack.general.card_with("Approve", saying="old")).ts == old.ts
    slack.hub.patience = 0.05
    with pytest.raises(NeverHappened):
        await slack.general.card_with("Approve", after=new)
