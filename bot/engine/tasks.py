"""Tasks that somebody waits for."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def task_group() -> AsyncGenerator[asyncio.TaskGroup]:
    """A TaskGroup whose block may fail on its own: its error comes out as it is, not wrapped in a group."""
    failure: Exception | None = None
    async with asyncio.TaskGroup() as group:
        try:
            yield group
        except Exception as error:  # noqa: BLE001 - raised again below
            failure = error
    if failure is not None:
        raise failure


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
    """Let `work` go on for as long as the block lasts."""
    async with task_group() as group:
        task = group.create_task(work)
        try:
            yield
        finally:
            task.cancel()
