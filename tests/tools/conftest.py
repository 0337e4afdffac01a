"""A call's situation, and the gate that all tools are tested through."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from bot.domain.ids import CallId, RunId, ThreadId, UserId
from bot.domain.run import Thread
from bot.engine.ports import CallContext


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def context(tmp_path: Path) -> CallContext:
    return CallContext(
        run_id=RunId("run-1"),
        call_id=CallId("call-1"),
        thread=Thread(id=ThreadId("thread-1"), front="terminal"),
        requester=UserId("U1"),
        cwd=str(tmp_path),
        idempotency_key="run-1:call-1",
    )


@pytest.fixture(autouse=True)
def no_blocking_calls() -> Iterator[None]:
    """Fail a test in which a tool blocks the event loop. What is read at the start may."""
    with blockbuster_ctx("bot.tools", excluded_modules=["bot.tools.mcp.config", "bot.tools.plugins"]):
        yield
