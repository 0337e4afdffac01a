"""A call's situation, and the gate that all tools are tested through."""

from pathlib import Path

import pytest

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
