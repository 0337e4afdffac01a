"""A real browser in front of a real workspace: what a person would see and click, nothing pretended."""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from aiohttp import ClientSession
from playwright.async_api import Browser, Page, async_playwright, expect
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.cli.demo import fill_scratch
from bot.playground.clock import Clock
from bot.playground.demo import Demo
from bot.playground.workspace import Workspace
from tests.page.screen import Screen
from tests.playground.support import Client, connected, sample_app

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
#: Headless, as root, and without a word to servers of others.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]

#: A bare workspace has no engine to look into; a refused act; the test that tries to put in markup.
_EXPECTED = ("404", "409", "requires 'TrustedHTML'")

#: As long as it takes on a machine that is busy with other things; a passing test waits for nothing.
PATIENCE_MS = 25_000
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True, scope="module")
def clean_environment() -> Iterator[None]:
    """Bolt and the SDK read tokens and proxies from the environment; the bot's child process inherits it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("SLACK_", "ASKFIRST_", "ANTHROPIC_")) or name.lower() in (
                "http_proxy",
                "https_proxy",
            ):
                patch.delenv(name)
        yield


@pytest.fixture(scope="module")
async def browser() -> AsyncGenerator[Browser]:
    if not Path(CHROMIUM).exists():
        reason = "needs Chromium: apt-get install chromium"
        # In CI a test that quietly does not run is worse than one that fails.
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        await browser.close()


@pytest.fixture
async def slack() -> AsyncGenerator[Workspace]:
    async with Workspace.open(clock=Clock(running=True)) as workspace:
        yield workspace


@pytest.fixture
async def client(slack: Workspace) -> AsyncGenerator[Client]:
    async with ClientSession() as session:
        yield AsyncWebClient(token=slack.bot_token, base_url=slack.api_url, session=session)


@pytest.fixture
async def sample(slack: Workspace, client: Client) -> AsyncGenerator[AsyncApp]:
    """A minimal approval bot that is not ours."""
    app = sample_app(AsyncApp(client=client, signing_secret=slack.signing_secret))
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(connected(slack, app, "socket"))
        yield app


@pytest.fixture
async def page(browser: Browser) -> AsyncGenerator[Page]:
    context = await browser.new_context(
        viewport={"width": 1440, "height": 900}, timezone_id="UTC", locale="en-GB"
    )
    page = await context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
    yield page
    await context.close()
    # Whatever a test looked at, the page itself must not have failed.
    assert [each for each in problems if not any(known in each for known in _EXPECTED)] == []


@pytest.fixture
async def screen(slack: Workspace, page: Page) -> Screen:
    screen = Screen(page, f"{slack.url}/#token={slack.control_token}")
    await screen.open()
    return screen


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncGenerator[Demo]:
    """The whole demo: the bot in a process of its own, on 847 files."""
    await asyncio.to_thread(fill_scratch, tmp_path / "files")
    async with Demo().running(tmp_path) as demo:
        await demo.ready()
        assert demo.bot.state == "running", demo.bot.trouble
        yield demo


@pytest.fixture
async def tour(demo: Demo, page: Page) -> Screen:
    screen = Screen(page, demo.address)
    await screen.open()
    return screen
