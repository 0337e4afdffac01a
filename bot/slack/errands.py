"""Work nobody waits for: a TaskGroup that owns it, so that nothing vanishes and one failure stops nothing else."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from bot.slack.web import SlackFailed

logger = logging.getLogger(__name__)


class Errands:
    """Listeners hand over here what may take a while: Bolt keeps no reference to what it starts."""

    def __init__(self) -> None:
        self._group: asyncio.TaskGroup | None = None
        self._going: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self, *, patience: float = 2.0) -> AsyncGenerator["Errands"]:
        """Run errands inside this block; at its end give those under way a moment, then stop them."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                yield self
            finally:
                self._group = None
                if self._going and patience:
                    await asyncio.wait(self._going, timeout=patience)
                for task in self._going:
                    task.cancel()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        if self._group is None:
            work.close()
            return
        task = self._group.create_task(_contained(work))
        self._going.add(task)
        task.add_done_callback(self._going.discard)


async def _contained(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except SlackFailed as failed:
        logger.warning("%s", failed)
    except Exception:
        logger.exception("an errand failed")
