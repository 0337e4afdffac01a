"""Make docs/approval-card.png: the demo as it is now, not as somebody remembers it.

.venv/bin/python scripts/screenshot.py [file]
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from playwright.async_api import Page, async_playwright, expect

from bot.cli.demo import fill_scratch
from bot.playground.demo import Demo

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
]


async def main(target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="askfirst-", ignore_cleanup_errors=True) as folder:
        await asyncio.to_thread(fill_scratch, Path(folder) / "files")
        async with Demo().running(Path(folder)) as demo, async_playwright() as playwright:
            await demo.ready()
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = await browser.new_page(
                viewport={"width": 1400, "height": 860},
                device_scale_factor=1.5,
                locale="en-GB",
                timezone_id="UTC",
            )
            await page.goto(demo.address)
            await _reach_the_card(page)
            target.parent.mkdir(parents=True, exist_ok=True)
            await page.screenshot(path=target)
            await browser.close()
    print(target)


async def _reach_the_card(page: Page) -> None:
    await page.get_by_role("button", name="The 847-file cleanup").click()
    thread = page.locator("#thread")
    await thread.get_by_role("button", name="Start with these limits").click()
    await expect(thread.get_by_role("button", name="Approve")).to_be_visible()
    await page.get_by_role("button", name="Ada Approver").click()
    await expect(page.locator("#side")).to_contain_text("bulk-delete")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/approval-card.png")))
