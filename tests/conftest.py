"""What every test may rely on: asyncio, and no secrets or proxies from the developer's own environment."""

import os

import pytest

_OURS = (
    "ASKFIRST_",
    "SLACK_",
    "ANTHROPIC_",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(_OURS):
            monkeypatch.delenv(name)
