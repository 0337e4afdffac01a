"""What a person does at the page, in their words."""

import os
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Locator, Page, expect

SHOTS = Path(os.environ.get("ASKFIRST_SHOTS") or "/tmp/askfirst-shots")


@dataclass(frozen=True, slots=True)
class Screen:
    page: Page
    address: str

    async def open(self) -> None:
        await self.page.goto(self.address)
        await expect(self.page.get_by_role("heading", name="#general", exact=True)).to_be_visible()

    async def become(self, name: str) -> None:
        await self.page.get_by_role("navigation").get_by_role("button", name=name).click()
        await expect(self.page.locator("#acting")).to_contain_text(name)

    async def go(self, channel: str) -> None:
        await self.page.get_by_role("navigation").get_by_role("button", name=channel).click()

    async def say(self, text: str) -> None:
        """Write in the channel; its thread opens."""
        box = self.conversation.get_by_role("textbox")
        await box.fill(text)
        await box.press("Enter")

    async def take(self, step: str) -> None:
        """Take one of the suggested requests."""
        await self.page.get_by_role("button", name=step, exact=True).click()
        await expect(self.thread).to_be_visible()

    async def confirm(self, answer: str) -> None:
        dialog = self.page.locator("dialog.confirm")
        await dialog.get_by_role("button", name=answer).click()
        await expect(dialog).to_have_count(0)

    async def approve_with_reason(self, name: str, reason: str) -> None:
        await self.become(name)
        await self.button("Approve").click()
        await self.modal.get_by_role("textbox").fill(reason)
        await self.shot("reason")
        await self.modal.get_by_role("button", name="Approve").click()
        await expect(self.modal).to_be_hidden()

    @property
    def conversation(self) -> Locator:
        return self.page.locator("#conversation")

    @property
    def thread(self) -> Locator:
        return self.page.locator("#thread")

    @property
    def side(self) -> Locator:
        return self.page.locator("#side")

    @property
    def modal(self) -> Locator:
        return self.page.locator("dialog#modal")

    def button(self, name: str) -> Locator:
        """The newest button of this name in the thread."""
        return self.thread.get_by_role("button", name=name, exact=True).last

    async def shows(self, text: str) -> None:
        """Wait until the thread says it."""
        await expect(self.thread).to_contain_text(text)

    async def shot(self, name: str) -> Path:
        SHOTS.mkdir(parents=True, exist_ok=True)
        path = SHOTS / f"{name}.png"
        await self.page.screenshot(path=path)
        return path
