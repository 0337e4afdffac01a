"""Shows runs as they happen: status, tool calls, and the answer as it is written. Nothing here must not be lost.

Each run that has something to show has a `Live` task with a queue. A driver only puts into the queue and goes on.
The final text is the outbox's business; a stream is adopted as its message, so that it is there exactly once.
"""

import asyncio
import logging
import time
from collections.abc import Callable

from bot.domain.ids import RunId
from bot.domain.run import Thread
from bot.engine.ports import LiveEvent
from bot.slack.address import FRONT
from bot.slack.errands import Errands
from bot.slack.live import Live
from bot.slack.ports import Records
from bot.slack.web import Web

logger = logging.getLogger(__name__)


class SlackFront:
    """`engine.ports.Front`: never raises, never waits."""

    def __init__(self, web: Web, errands: Errands, now: Callable[[], float] = time.monotonic) -> None:
        self._web = web
        self._errands = errands
        self._now = now
        self._live: dict[RunId, Live] = {}
        #: Set once the store is open; the engine needs a front before it has one.
        self.records: Records | None = None

    async def show(self, thread: Thread, run_id: RunId, event: LiveEvent) -> None:
        if thread.front != FRONT:
            # A run of another front, taken over from a process that died.
            return
        live = self._live.get(run_id)
        if live is None:
            live = Live(self._web, self.records, thread, run_id, self._now)
            self._live[run_id] = live
            self._errands.start(self._run(live))
        live.put(event)

    async def finish(self, run_id: RunId) -> None:
        """End what is being streamed for a run, if anything; wait for that, but not for ever."""
        live = self._live.get(run_id)
        if live is not None:
            live.stop()
            try:
                async with asyncio.timeout(5):
                    await live.stopped.wait()
            except TimeoutError:
                logger.warning("the stream of run %s did not end in time", run_id)

    async def _run(self, live: Live) -> None:
        try:
            await live.run()
        finally:
            live.stopped.set()
            if self._live.get(live.run_id) is live:
                del self._live[live.run_id]
