"""A workspace for every test, and the real bot in it, over either transport."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bot.playground.workspace import Workspace
from tests.contract.conftest import database, postgres_url, store
from tests.slack.lab import Lab, Transport
from tests.slack.tools import GATES

__all__ = ["database", "postgres_url", "store"]


@pytest.fixture(params=["socket", "http"])
def transport(request: pytest.FixtureRequest) -> Transport:
    return request.param


@pytest.fixture
async def slack() -> AsyncGenerator[Workspace]:
    async with Workspace.open() as workspace:
        yield workspace
    GATES.clear()


@pytest.fixture
def lab(slack: Workspace, tmp_path: Path, transport: Transport) -> Lab:
    return Lab(slack=slack, folder=tmp_path, transport=transport)
