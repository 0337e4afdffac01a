"""A workspace for every test, and a real Bolt app in it, over either transport."""

from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import AsyncExitStack

import pytest
from aiohttp import ClientSession
from blockbuster import blockbuster_ctx
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.workspace import Workspace
from tests.playground.support import Client, Connect, Transport, connected


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bolt and the SDK read tokens and proxies from the environment; the SDK ignores NO_PROXY."""
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("BOT_TOKEN", "APP_TOKEN", "SIGNING_SECRET", "CLIENT_ID", "CLIENT_SECRET"):
        monkeypatch.delenv(f"SLACK_{name}", raising=False)


@pytest.fixture(autouse=True)
def no_blocking_calls() -> Iterator[None]:
    """Fail a test in which the workspace holds up the event loop, and with it every ack."""
    with blockbuster_ctx("bot.playground"):
        yield


@pytest.fixture
async def slack() -> AsyncGenerator[Workspace]:
    async with Workspace.open() as workspace:
        yield workspace


@pytest.fixture
async def session() -> AsyncGenerator[ClientSession]:
    async with ClientSession() as opened:
        yield opened


@pytest.fixture
def client(slack: Workspace, session: ClientSession) -> Client:
    """Slack's own client, not ours."""
    return AsyncWebClient(token=slack.bot_token, base_url=slack.api_url, session=session)


@pytest.fixture(params=["socket", "http"])
def transport(request: pytest.FixtureRequest) -> Transport:
    return request.param


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with a failed test what went back and forth."""
    report = yield
    slack = getattr(item, "funcargs", {}).get("slack")
    if report.failed and isinstance(slack, Workspace):
        report.sections.append(("Slack transcript", str(slack.transcript)))
    return report


@pytest.fixture
def app(slack: Workspace, client: Client) -> AsyncApp:
    return AsyncApp(client=client, signing_secret=slack.signing_secret)


@pytest.fixture
async def connect(slack: Workspace, transport: Transport) -> AsyncGenerator[Connect]:
    """Connect an app to the workspace: first over Socket Mode, then over signed HTTP."""
    async with AsyncExitStack() as stack:

        async def connect_app(app: AsyncApp) -> None:
            await stack.enter_async_context(connected(slack, app, transport))

        yield connect_app
