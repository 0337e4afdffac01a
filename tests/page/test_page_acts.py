"""People at the page, a bot in the workspace: what one does, the others see."""

import pytest
from playwright.async_api import expect
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.async_app import AsyncAck

from bot.playground.workspace import Workspace
from tests.page.screen import Screen
from tests.playground.support import Client, Json, actions, button, plain, text_input

pytestmark = pytest.mark.usefixtures("sample")


async def test_a_request_opens_its_thread_and_another_person_approves(screen: Screen) -> None:
    await screen.say("@askfirst clean up old test files")
    await screen.shows("Delete 847 files")
    await screen.become("Ada Approver")
    await screen.button("Approve").click()
    await screen.shows("Approved by <@U0APPROVER>")
    await expect(screen.button("Approve")).to_have_count(0)


async def test_a_modal_keeps_what_was_typed_when_the_app_finds_an_error(screen: Screen) -> None:
    await screen.say("@askfirst clean up")
    await screen.button("Reject…").click()
    reason = screen.modal.get_by_role("textbox", name="Reason")
    await expect(reason).to_be_focused()
    await reason.fill("no")
    await screen.modal.get_by_role("button", name="Send").click()
    await expect(screen.modal.get_by_role("alert").filter(has_text="Say a little more")).to_be_visible()
    await expect(reason).to_have_value("no")
    await expect(reason).to_be_focused()
    await reason.fill("keep the March builds")
    await screen.modal.get_by_role("button", name="Send").click()
    await expect(screen.modal).to_be_hidden()
    await screen.shows("Rejected: keep the March builds")


async def test_a_modal_asks_for_what_is_missing_and_escape_closes_it(screen: Screen) -> None:
    await screen.say("@askfirst clean up")
    await screen.button("Reject…").click()
    await screen.modal.get_by_role("button", name="Send").click()
    await expect(screen.modal).to_contain_text("fill in 'Reason' first")
    await screen.page.keyboard.press("Escape")
    await expect(screen.modal).to_be_hidden()
    await expect(screen.button("Reject…")).to_be_visible()


async def test_a_confirm_dialog_comes_before_the_click(
    slack: Workspace, client: Client, screen: Screen
) -> None:
    confirm = {
        "title": plain("Are you sure?"),
        "text": plain("This cannot be undone."),
        "confirm": plain("Delete"),
        "deny": plain("Back"),
    }
    await client.chat_postMessage(
        channel=slack.general.id, text="x", blocks=[actions(button("Approve", "approve", confirm=confirm))]
    )
    dialog = screen.page.get_by_role("dialog", name="Are you sure?")

    await screen.conversation.get_by_role("button", name="Approve").click()
    await dialog.get_by_role("button", name="Back").click()
    await expect(dialog).to_have_count(0)
    assert slack.calls("chat.update") == []

    await screen.conversation.get_by_role("button", name="Approve").click()
    await dialog.get_by_role("button", name="Delete").click()
    await expect(screen.conversation).to_contain_text("Approved by")


async def test_a_slash_command_is_answered_where_only_one_person_sees_it(screen: Screen) -> None:
    await screen.say("/askfirst waiting")
    whisper = screen.conversation.locator("article.ephemeral")
    await expect(whisper).to_contain_text("You asked for waiting")
    await expect(whisper).to_contain_text("Only visible to you")
    await expect(screen.conversation).to_contain_text("and here is more")
    await whisper.get_by_role("button", name="Dismiss").click()
    await expect(whisper).to_have_count(0)
    await screen.become("Ada Approver")
    await expect(screen.conversation).to_contain_text("and here is more")
    await expect(whisper).to_have_count(0)


async def test_text_is_streamed_into_the_thread(slack: Workspace, client: Client, screen: Screen) -> None:
    await screen.say("just talking")
    root = slack.general.messages[-1]
    where = {
        "channel": root.channel,
        "thread_ts": root.ts,
        "recipient_user_id": "U0REQUESTER",
        "recipient_team_id": "T0PLAYGROUND",
    }
    stream = await client.chat_startStream(**where, markdown_text="**All** ")
    await screen.shows("writing …")
    await client.chat_appendStream(channel=root.channel, ts=stream["ts"], markdown_text="is well")
    await screen.shows("All is well")
    await client.chat_stopStream(channel=root.channel, ts=stream["ts"])
    await expect(screen.thread.get_by_text("writing …")).to_have_count(0)


async def test_a_status_line_and_a_stop_button_while_the_agent_works(
    slack: Workspace, client: Client, screen: Screen
) -> None:
    await screen.say("just talking")
    root = slack.general.messages[-1]
    where = {"channel_id": root.channel, "thread_ts": root.ts}
    await client.assistant_threads_setStatus(**where, status="is thinking …")
    await expect(
        screen.thread.get_by_role("status").filter(has_text="Askfirst is thinking …")
    ).to_be_visible()
    await client.api_call("agents.sessions.setStatus", params={**where, "status": "processing"})
    await screen.button("Stop").click()


async def test_the_home_tab_shows_what_the_app_published(screen: Screen) -> None:
    await screen.go("Askfirst: Home")
    await expect(screen.conversation).to_contain_text("Nothing waits for you")


async def test_a_half_typed_reply_survives_what_others_write(slack: Workspace, screen: Screen) -> None:
    await screen.say("hello")
    box = screen.thread.get_by_role("textbox")
    await box.fill("half a sent")
    await slack.approver.replies("me too", to=slack.general.messages[-1])
    await screen.shows("me too")
    await expect(box).to_have_value("half a sent")
    await expect(box).to_be_focused()


async def test_forms_send_every_kind_of_value(
    slack: Workspace, client: Client, screen: Screen, sample: AsyncApp
) -> None:
    sent: list[Json] = []

    async def on_details(ack: AsyncAck, view: Json) -> None:
        sent.append(view["state"]["values"])
        await ack()
        slack.nudge()

    sample.view("details")(on_details)  # pyright: ignore[reportUnknownMemberType] - Bolt types it only partly
    options = [{"text": plain(name), "value": name.lower()} for name in ("Staging", "Production")]
    blocks = [
        text_input("Service", "service"),
        _input("where", "Where?", type="static_select", options=options),
        _input("which", "Which?", type="radio_buttons", options=options),
        _input("some", "Some?", type="checkboxes", options=options),
        _input("many", "How many?", type="number_input", is_decimal_allowed=False),
        _input("day", "When?", type="datepicker"),
    ]
    # Any click gives a trigger; the sample app opens its own modal with it, this test a larger one.
    await screen.say("@askfirst clean up")
    await screen.button("Reject…").click()
    small = await slack.requester.modal("Reject")
    view = {
        "type": "modal",
        "title": plain("Details"),
        "submit": plain("Send"),
        "callback_id": "details",
        "blocks": blocks,
    }
    await client.views_update(view_id=small.id, view=view)
    form = screen.modal
    await form.get_by_role("textbox", name="Service").fill("api")
    await form.get_by_role("combobox", name="Where?").select_option("Production")
    await form.get_by_role("radiogroup", name="Which?").get_by_role("radio", name="Staging").check()
    await form.get_by_role("group", name="Some?").get_by_role("checkbox", name="Production").check()
    await form.get_by_role("spinbutton", name="How many?").fill("30")
    await form.get_by_label("When?").fill("2026-11-20")
    await form.get_by_role("button", name="Send").click()
    await slack.until(lambda: sent, "the submission")
    values = {block: next(iter(state.values())) for block, state in sent[0].items()}
    assert values["service"]["value"] == "api"
    assert values["where"]["selected_option"]["value"] == "production"
    assert values["which"]["selected_option"]["value"] == "staging"
    assert [option["value"] for option in values["some"]["selected_options"]] == ["production"]
    assert values["many"]["value"] == "30"
    assert values["day"]["selected_date"] == "2026-11-20"


def _input(block_id: str, label: str, **element: object) -> Json:
    return {
        "type": "input",
        "block_id": block_id,
        "label": plain(label),
        "element": {"action_id": "v", **element},
    }
