"""What Block Kit looks like in the browser: above all, whose text may become what."""

import pytest
from playwright.async_api import Page, expect

from bot.playground.workspace import Workspace
from tests.page.screen import Screen
from tests.playground.support import Client, actions, button, menu, plain, section

HOSTILE = (
    '<img src=x onerror="document.title=1"> <!channel> <@U0APPROVER> *bold* \u202egnp.exe &lt;b&gt; :wave:'
)


async def test_plain_text_is_shown_letter_by_letter(slack: Workspace, client: Client, screen: Screen) -> None:
    await client.chat_postMessage(channel=slack.general.id, text="x", blocks=[section(HOSTILE)])
    shown = screen.conversation.locator("[data-block=section] .text")
    await expect(shown).to_have_text(HOSTILE)
    assert await shown.locator("*").count() == 0


async def test_rich_text_is_shown_letter_by_letter_too(
    slack: Workspace, client: Client, screen: Screen
) -> None:
    pieces = [
        {"type": "text", "text": HOSTILE, "style": {"bold": True}},
        {"type": "user", "user_id": "U0APPROVER"},
    ]
    block = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": pieces}]}
    await client.chat_postMessage(channel=slack.general.id, text="x", blocks=[block])
    shown = screen.conversation.locator("[data-block=rich_text]")
    await expect(shown.locator("strong")).to_have_text(HOSTILE)
    await expect(shown.locator(".mention")).to_have_text("@approver")


async def test_mrkdwn_is_read_and_what_is_escaped_in_it_is_not(
    slack: Workspace, client: Client, screen: Screen
) -> None:
    text = "*bold* _it_ `a<b` &lt;!here&gt; <@U0APPROVER> <!subteam^S0ONCALL> <https://example.com/x|there> snake_case"
    block = {"type": "section", "text": {"type": "mrkdwn", "text": text}}
    await client.chat_postMessage(channel=slack.general.id, text="x", blocks=[block])
    shown = screen.conversation.locator("[data-block=section] .text")
    await expect(shown).to_have_text("bold it a<b <!here> @approver @oncall there snake_case")
    await expect(shown.locator("strong")).to_have_text("bold")
    assert await shown.locator(".mention").all_text_contents() == ["@approver", "@oncall"]
    assert await shown.locator("a").get_attribute("href") == "https://example.com/x"


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "vbscript:x"])
async def test_only_addresses_of_the_web_become_links(
    slack: Workspace, client: Client, screen: Screen, address: str
) -> None:
    text = f"[click]({address}) and <b>this</b>"
    blocks = [
        {"type": "markdown", "text": text},
        {"type": "section", "text": {"type": "mrkdwn", "text": f"<{address}|go>"}},
    ]
    await client.chat_postMessage(channel=slack.general.id, text="x", blocks=blocks)
    await expect(screen.conversation.locator("[data-block=markdown]")).to_contain_text("and <b>this</b>")
    assert await screen.conversation.locator("article a").count() == 0


async def test_markdown_of_an_answer_is_drawn(slack: Workspace, client: Client, screen: Screen) -> None:
    text = "# Done\n\nIt **really** is:\n- one\n- `two`\n\n```\na < b\n```\n| a | b |\n|---|---|\n| 1 | 2 |"
    await client.chat_postMessage(
        channel=slack.general.id, text="x", blocks=[{"type": "markdown", "text": text}]
    )
    shown = screen.conversation.locator("[data-block=markdown]")
    await expect(shown.locator("h4")).to_have_text("Done")
    await expect(shown.locator("strong")).to_have_text("really")
    assert await shown.locator("li").all_text_contents() == ["one", "two"]
    await expect(shown.locator("pre")).to_have_text("a < b")
    assert await shown.locator("td").all_text_contents() == ["1", "2"]


async def test_an_unknown_block_is_a_visible_box(slack: Workspace, client: Client, screen: Screen) -> None:
    chart = {"type": "data_visualization", "title": "Files by age", "chart": {"type": "bar"}}
    await client.chat_postMessage(channel=slack.general.id, text="x", blocks=[chart])
    box = screen.conversation.locator("[data-block=data_visualization]")
    await expect(box).to_contain_text("A block of type “data_visualization”, which this page does not draw")


async def test_what_somebody_types_is_escaped_and_names_become_mentions(
    slack: Workspace, screen: Screen
) -> None:
    await screen.say("@approver is <b> a <!channel> & that?")
    shown = screen.conversation.locator("article .text")
    await expect(shown).to_have_text("@approver is <b> a <!channel> & that?")
    assert slack.general.messages[-1].text == "<@U0APPROVER> is &lt;b&gt; a &lt;!channel&gt; &amp; that?"


async def test_nothing_can_be_put_in_as_markup_even_by_the_page_itself(screen: Screen) -> None:
    refused = await screen.page.evaluate(
        "() => { try { document.body.innerHTML = '<i>x</i>'; return 'in'; } catch (error) { return error.name; } }"
    )
    assert refused == "TypeError"


async def test_a_button_that_is_for_others_is_not_shown(
    slack: Workspace, client: Client, screen: Screen
) -> None:
    blocks = [actions(button("Approve", "ok", visible_to_user_ids=["U0APPROVER"]), button("Explain", "why"))]
    await client.chat_postMessage(channel=slack.general.id, text="x", blocks=blocks)
    await expect(screen.conversation.get_by_role("button", name="Explain")).to_be_visible()
    await expect(screen.conversation.get_by_role("button", name="Approve")).to_have_count(0)
    await screen.become("Ada Approver")
    await expect(screen.conversation.get_by_role("button", name="Approve")).to_be_visible()


async def test_every_element_is_a_native_control_with_a_name(
    slack: Workspace, client: Client, screen: Screen
) -> None:
    radios = {
        "type": "radio_buttons",
        "action_id": "age",
        "options": [{"text": plain("90 days"), "value": "90"}, {"text": plain("1 year"), "value": "365"}],
    }
    more = {
        "type": "overflow",
        "action_id": "more",
        "options": [{"text": plain("Stop the run"), "value": "stop"}],
    }
    picked = {"type": "datepicker", "action_id": "day", "placeholder": plain("From when")}
    blocks = [actions(menu("Which folder", "folder", "One", "Two"), radios, picked, more)]
    await client.chat_postMessage(channel=slack.general.id, text="x", blocks=blocks)
    here = screen.conversation
    await expect(here.get_by_role("combobox", name="Which folder")).to_be_visible()
    await expect(here.get_by_role("radio", name="1 year")).to_be_visible()
    await expect(here.get_by_label("From when")).to_have_attribute("type", "date")
    await here.get_by_role("button", name="More actions").press("Enter")
    await expect(here.get_by_role("menuitem", name="Stop the run")).to_be_focused()
    await screen.page.keyboard.press("Escape")
    await expect(here.get_by_role("menuitem")).to_have_count(0)


async def test_a_click_that_nobody_takes_is_said_to_have_failed(
    slack: Workspace, client: Client, screen: Screen
) -> None:
    await client.chat_postMessage(
        channel=slack.general.id, text="x", blocks=[actions(button("Approve", "approve"))]
    )
    await screen.conversation.get_by_role("button", name="Approve").click()
    await expect(screen.page.get_by_role("alert").filter(has_text="did not respond")).to_be_visible()


async def test_without_the_token_the_page_says_what_to_do(slack: Workspace, page: Page) -> None:
    await page.goto(slack.url)
    await expect(page.get_by_role("heading", name="The address is not complete")).to_be_visible()


async def test_the_token_does_not_stay_in_the_address(slack: Workspace, screen: Screen) -> None:
    assert slack.control_token not in screen.page.url
    await screen.page.reload()
    await expect(screen.page.get_by_role("heading", name="#general", exact=True)).to_be_visible()


async def test_the_page_is_served_under_a_strict_policy_and_nothing_else_is(
    slack: Workspace, client: Client
) -> None:
    async with client.session.get(slack.url) as response:
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'none'; script-src 'self'" in policy
        assert "require-trusted-types-for 'script'" in policy
    async with client.session.get(f"{slack.url}/../pages.py") as response:
        assert response.status == 404
