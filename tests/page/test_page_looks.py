"""The page on a phone, in the dark, and by keyboard alone."""

import pytest
from playwright.async_api import Browser, expect

from bot.playground.demo import Demo
from tests.page.screen import Screen

pytestmark = pytest.mark.slow

WIDE = "() => document.documentElement.scrollWidth - innerWidth"


async def test_it_can_be_used_on_a_phone(demo: Demo, browser: Browser) -> None:
    context = await browser.new_context(
        viewport={"width": 380, "height": 780}, has_touch=True, is_mobile=True
    )
    phone = Screen(await context.new_page(), demo.address)
    await phone.open()
    await phone.shot("phone-start")
    await phone.take("An edit")
    await expect(phone.button("Approve")).to_be_visible()
    assert await phone.page.evaluate(WIDE) <= 0
    await phone.shot("phone-card")
    await phone.page.get_by_role("button", name="Channels and people").click()
    await phone.shot("phone-people")
    await phone.become("Ada Approver")
    await expect(phone.page.get_by_role("navigation")).to_be_hidden()
    await phone.button("Reject…").click()
    await phone.modal.get_by_role("textbox").fill("not today")
    await phone.shot("phone-modal")
    await phone.modal.get_by_role("button", name="Reject").click()
    await phone.shows("not today")
    await phone.page.get_by_role("button", name="Underneath").click()
    await expect(phone.side).to_contain_text("unbroken")
    await phone.shot("phone-underneath")
    assert await phone.page.evaluate(WIDE) <= 0
    await context.close()


async def test_an_opened_menu_is_in_sight_at_the_end_of_a_thread(tour: Screen) -> None:
    await tour.page.set_viewport_size({"width": 1250, "height": 620})
    await tour.take("An edit")
    await tour.button("More actions").click()
    last = tour.thread.get_by_role("menuitem").last
    await expect(last).to_be_in_viewport(ratio=1)
    await tour.shot("menu")


async def test_it_is_readable_in_the_dark(demo: Demo, browser: Browser) -> None:
    context = await browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="dark")
    dark = Screen(await context.new_page(), demo.address)
    await dark.open()
    await dark.take("The 847-file cleanup")
    await dark.button("Start with these limits").click()
    await dark.shows("847 files")
    await dark.become("Ada Approver")
    await dark.shot("dark-card")
    ground = await dark.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(26, 29, 33)"
    await dark.button("Approve").click()
    await dark.shot("dark-confirm")
    await dark.confirm("Back")
    await expect(dark.button("Approve")).to_be_visible()
    await context.close()


async def test_a_request_can_be_made_and_approved_by_keyboard_alone(tour: Screen) -> None:
    keys = tour.page.keyboard
    await tour.conversation.get_by_role("textbox").focus()
    await keys.type("@askfirst write hello to keys.txt")
    await keys.press("Enter")
    await expect(tour.button("Approve")).to_be_visible()
    await tour.page.get_by_role("button", name="Ada Approver").focus()
    await keys.press("Enter")
    await expect(tour.page.locator("#acting")).to_contain_text("Ada Approver")
    # The focus stays on who was chosen, although the list was drawn anew.
    await expect(tour.page.get_by_role("button", name="Ada Approver")).to_be_focused()
    await tour.button("Approve").focus()
    await keys.press("Space")
    await tour.shows("Approved by @approver")
    heard = tour.page.locator("#live")
    await expect(heard).to_contain_text("Askfirst:")
