"""Modals and the Home tab: triggers, the stack of three, hashes, answers to submissions."""
# pyright: reportUnknownMemberType=false, reportUntypedFunctionDecorator=false, reportUnusedFunction=false
# Bolt types its decorators only partly.

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from slack_bolt.app.async_app import AsyncApp

from bot.playground.errors import CannotDo
from bot.playground.places import Sheet
from bot.playground.workspace import Workspace
from tests.playground.support import (
    Client,
    Connect,
    Json,
    actions,
    button,
    menu,
    modal,
    refusal,
    section,
    text_input,
)

pytestmark = pytest.mark.parametrize("transport", ["socket"], indirect=True)
CARD = [actions(button("Open", "open"))]


class Triggers:
    """An app that only collects triggers, so that the test can spend them."""

    def __init__(self, slack: Workspace, client: Client) -> None:
        self._slack = slack
        self._client = client
        self.submitted: Json | None = None
        self.closed: list[Json] = []
        self.answer: Json = {}

    async def take(self, sheet: Sheet | None = None) -> str:
        """Make the approver click, and return the trigger."""
        if sheet is not None:
            click = await self._slack.approver.clicks("More", in_=sheet)
        else:
            ts = (await self._client.chat_postMessage(channel=self._slack.general.id, text="x", blocks=CARD))[
                "ts"
            ]
            card = next(post for post in self._slack.general.messages if post.ts == ts)
            click = await self._slack.approver.clicks("Open", in_=card)
        assert click.delivery is not None
        return click.delivery.payload["trigger_id"]

    async def open(self, view: Json) -> Sheet:
        await self._client.views_open(trigger_id=await self.take(), view=view)
        return await self._slack.approver.modal()


@pytest.fixture
async def triggers(slack: Workspace, client: Client, app: AsyncApp, connect: Connect) -> Triggers:
    found = Triggers(slack, client)

    @app.action("open")
    async def opened(ack: Callable[..., Awaitable[Any]]) -> None:
        await ack()

    @app.action("more")
    async def more(ack: Callable[..., Awaitable[Any]]) -> None:
        await ack()

    @app.view("form")
    async def submitted(ack: Callable[..., Awaitable[Any]], body: Json) -> None:
        found.submitted = body
        await ack(**found.answer)

    @app.view_closed("form")
    async def closed(ack: Callable[..., Awaitable[Any]], body: Json) -> None:
        found.closed.append(body)
        await ack()

    @app.event("message")
    async def message() -> None:
        pass

    await connect(app)
    return found


def form(title: str = "Form", *blocks: Json, **more: Any) -> Json:
    return modal(title, *(blocks or [text_input("Reason", "reason")]), callback_id="form", **more)


WITH_MORE = [actions(button("More", "more"))]


async def test_a_trigger_works_once(triggers: Triggers, client: Client) -> None:
    trigger = await triggers.take()
    await client.views_open(trigger_id=trigger, view=form())
    again = client.views_open(trigger_id=trigger, view=form())
    assert (await refusal(again))["error"] == "exchanged_trigger_id"


async def test_a_trigger_works_for_three_seconds(
    slack: Workspace, triggers: Triggers, client: Client
) -> None:
    early, late = await triggers.take(), await triggers.take()
    await slack.advance(2.9)
    await client.views_open(trigger_id=early, view=form())
    await slack.advance(0.1)
    assert (await refusal(client.views_open(trigger_id=late, view=form())))["error"] == "expired_trigger_id"


async def test_a_bad_view_does_not_use_up_the_trigger(triggers: Triggers, client: Client) -> None:
    trigger = await triggers.take()
    answer = await refusal(client.views_open(trigger_id=trigger, view=form("x" * 25)))
    assert answer["error"] == "invalid_arguments"
    assert "[json-pointer:/view/title/text]" in answer["response_metadata"]["messages"][0]
    await client.views_open(trigger_id=trigger, view=form())


async def test_three_views_fit_on_the_stack(slack: Workspace, triggers: Triggers, client: Client) -> None:
    sheet = await triggers.open(form("One", *WITH_MORE))
    for title in ("Two", "Three"):
        await client.views_push(trigger_id=await triggers.take(sheet), view=form(title, *WITH_MORE))
        sheet = await slack.approver.modal(title)
    full = client.views_push(trigger_id=await triggers.take(sheet), view=form("Four"))
    assert (await refusal(full))["error"] == "push_limit_reached"
    stack = slack.hub.world.modals[slack.approver.id]
    assert [view.root for view in stack] == [stack[0].id] * 3
    assert [view.previous for view in stack] == [None, stack[0].id, stack[1].id]


async def test_only_the_view_on_top_can_be_used(slack: Workspace, triggers: Triggers, client: Client) -> None:
    below = await triggers.open(form("Below", *WITH_MORE, text_input("Reason", "reason")))
    await client.views_push(trigger_id=await triggers.take(below), view=form("Above"))
    with pytest.raises(CannotDo, match="not in front"):
        await slack.approver.submits(below, {"Reason": "x"})
    await slack.approver.closes(await slack.approver.modal("Above"))
    assert (await slack.approver.modal()).title == "Below"


async def test_a_push_needs_an_open_modal(triggers: Triggers, client: Client) -> None:
    push = client.views_push(trigger_id=await triggers.take(), view=form())
    assert (await refusal(push))["error"] == "not_found"


async def test_a_view_is_updated_by_id_external_id_and_hash(triggers: Triggers, client: Client) -> None:
    sheet = await triggers.open(form("One", external_id="ap-1"))
    first_hash = sheet.view.hash
    answer = await client.views_update(external_id="ap-1", view=form("Two"), hash=first_hash)
    assert sheet.title == "Two"
    assert answer["view"]["hash"] != first_hash
    stale = client.views_update(view_id=sheet.id, view=form("Three"), hash=first_hash)
    assert (await refusal(stale))["error"] == "hash_conflict"
    taken = client.views_open(trigger_id=await triggers.take(), view=form(external_id="ap-1"))
    assert (await refusal(taken))["error"] == "duplicate_external_id"


async def test_a_closed_view_cannot_be_updated(slack: Workspace, triggers: Triggers, client: Client) -> None:
    sheet = await triggers.open(form())
    await slack.approver.closes(sheet)
    assert (await refusal(client.views_update(view_id=sheet.id, view=form())))["error"] == "not_found"
    assert triggers.closed == []


async def test_the_app_hears_of_a_closed_view_if_it_asked(slack: Workspace, triggers: Triggers) -> None:
    sheet = await triggers.open(form(notify_on_close=True))
    await slack.approver.closes(sheet)
    assert [(body["type"], body["is_cleared"]) for body in triggers.closed] == [("view_closed", False)]


async def test_a_submission_carries_what_was_filled_in(slack: Workspace, triggers: Triggers) -> None:
    pick = {"type": "input", "block_id": "env", "label": {"type": "plain_text", "text": "Where"}}
    boxes = menu("", "boxes", "Mail", "Page")["options"]
    sheet = await triggers.open(
        form(
            "Form",
            text_input("Reason", "reason", initial_value="because"),
            {**pick, "element": menu("Pick", "env", "Production", "Staging")},
            {
                **pick,
                "block_id": "tell",
                "label": {"type": "plain_text", "text": "Tell"},
                "optional": True,
                "element": {"type": "checkboxes", "action_id": "boxes", "options": boxes},
            },
            private_metadata="ap-1",
        )
    )
    assert sheet.value_of("Reason") == "because"
    await slack.approver.submits(sheet, {"Where": "Staging", "Tell": ["Mail", "Page"]})
    assert triggers.submitted is not None
    view = triggers.submitted["view"]
    values = view["state"]["values"]
    assert values["reason"]["text"] == {"type": "plain_text_input", "value": "because"}
    assert values["env"]["env"]["selected_option"]["value"] == "staging"
    assert [option["value"] for option in values["tell"]["boxes"]["selected_options"]] == ["mail", "page"]
    assert (view["private_metadata"], triggers.submitted["user"]["id"]) == ("ap-1", slack.approver.id)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({}, "fill in 'Reason'"),
        ({"Reason": "no"}, "3 to 10 characters"),
        ({"Reason": "x" * 11}, "3 to 10 characters"),
        ({"Cause": "x"}, "nothing called 'Cause'"),
    ],
)
async def test_the_client_does_not_send_what_it_can_refuse_itself(
    slack: Workspace, triggers: Triggers, values: dict[str, str], complaint: str
) -> None:
    sheet = await triggers.open(form("Form", text_input("Reason", "reason", min_length=3, max_length=10)))
    with pytest.raises(CannotDo, match=complaint):
        await slack.approver.submits(sheet, values)
    assert triggers.submitted is None


@pytest.mark.parametrize(
    ("answer", "titles"),
    [
        ({}, ["Below"]),
        ({"response_action": "clear"}, []),
        ({"response_action": "update", "view": form("Updated")}, ["Below", "Updated"]),
        ({"response_action": "push", "view": form("Pushed")}, ["Below", "Form", "Pushed"]),
        ({"response_action": "errors", "errors": {"reason": "no"}}, ["Below", "Form"]),
    ],
)
async def test_the_answer_to_a_submission_moves_the_stack(
    slack: Workspace, triggers: Triggers, client: Client, answer: Json, titles: list[str]
) -> None:
    below = await triggers.open(form("Below", *WITH_MORE))
    await client.views_push(trigger_id=await triggers.take(below), view=form())
    triggers.answer = answer
    await slack.approver.submits(await slack.approver.modal("Form"), {"Reason": "x"})
    stack = slack.hub.world.modals[slack.approver.id]
    assert [Sheet(hub=slack.hub, view=view).title for view in stack] == titles
    assert not slack.hub.unanswered


@pytest.mark.parametrize(
    "answer",
    [
        {"response_action": "errors", "errors": {"no_such_block": "x"}},
        {"response_action": "update", "view": form("x" * 25)},
        {"response_action": "explode"},
    ],
)
async def test_an_answer_that_slack_cannot_use_shows_trouble_and_keeps_the_modal(
    slack: Workspace, triggers: Triggers, answer: Json
) -> None:
    sheet = await triggers.open(form())
    triggers.answer = answer
    await slack.approver.submits(sheet, {"Reason": "x"})
    assert sheet.trouble == "We had some trouble connecting. Try again?"
    assert not sheet.is_closed
    assert sheet.value_of("Reason") == "x"


async def test_what_was_typed_survives_an_update_only_under_the_same_block_id(
    slack: Workspace, triggers: Triggers, client: Client
) -> None:
    sheet = await triggers.open(form())
    await slack.approver.types("half a", into="Reason", in_=sheet)
    await client.views_update(view_id=sheet.id, view=form("Again"))
    assert sheet.value_of("Reason") == "half a"
    await client.views_update(view_id=sheet.id, view=form("Again", text_input("Reason", "fresh")))
    assert sheet.value_of("Reason") is None
    await client.views_update(view_id=sheet.id, view=form("Once more"))
    assert sheet.value_of("Reason") is None


async def test_the_home_tab_is_kept_for_each_person_and_guarded_by_its_hash(
    slack: Workspace, triggers: Triggers, client: Client
) -> None:
    home = {"type": "home", "blocks": [section("One")]}
    first = await client.views_publish(user_id=slack.approver.id, view=home)
    await client.views_publish(user_id=slack.guest.id, view=home | {"blocks": [section("Guest")]})
    assert (await slack.approver.home()).shown == "One"
    newer = home | {"blocks": [section("Two")]}
    await client.views_publish(user_id=slack.approver.id, view=newer, hash=first["view"]["hash"])
    stale = client.views_publish(user_id=slack.approver.id, view=home, hash=first["view"]["hash"])
    assert (await refusal(stale))["error"] == "hash_conflict"
    assert (await slack.approver.home()).shown == "Two"
