"""The alarm clock: the one file that knows APScheduler. It holds no job per approval, only two or three in all.

One job is armed for the next due time that the database names, and armed again after each sweep. A slow one sweeps
in any case: it finds what other processes opened, and what became due while the clock jumped or the machine slept.
"""

# APScheduler 3 has no types: everything it returns is unknown to pyright.
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler

logger = logging.getLogger(__name__)

SAFETY = timedelta(seconds=30)
CHORES = timedelta(minutes=1)


class Alarm:
    """Calls `sweep` when its last answer said, at the latest every `safety`; and `chores` once in a while."""

    def __init__(
        self,
        sweep: Callable[[], Awaitable[datetime | None]],
        chores: Callable[[], Awaitable[None]],
        *,
        safety: timedelta = SAFETY,
        chores_every: timedelta = CHORES,
    ) -> None:
        self._sweep = sweep
        self._chores = chores
        self._safety = safety
        self._chores_every = chores_every
        self._armed: datetime | None = None
        #: Sweeps do not overlap in this process, and leaving waits for the one under way.
        self._busy = asyncio.Lock()
        self._idle = asyncio.Lock()
        self._scheduler = AsyncIOScheduler(
            timezone=UTC,
            # None: however late, it is run; late is for us to say. Several missed ones are one. Three, because a
            # sweep arms the next one before it counts as finished itself; `_busy` keeps them apart.
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 3},
        )

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["Alarm"]:
        """Sweep at once, and then whenever something is due, until the end of this block."""
        self._scheduler.add_job(self._swept, "interval", seconds=self._safety.total_seconds(), id="safety")
        self._scheduler.add_job(
            self._did_chores, "interval", seconds=self._chores_every.total_seconds(), id="chores"
        )
        self._scheduler.add_job(self._swept, "date", id="due")
        self._scheduler.start()
        try:
            yield self
        finally:
            self._scheduler.remove_all_jobs()
            async with self._busy, self._idle:
                self._scheduler.shutdown(wait=False)
            # The scheduler shuts down in a callback of the loop.
            await asyncio.sleep(0)

    def at(self, due: datetime | None) -> None:
        """Something is due then: be there, if nothing earlier is."""
        if due is None or not self._scheduler.running:
            return
        if self._armed is None or due < self._armed:
            self._armed = due
            self._scheduler.add_job(self._swept, "date", run_date=due, id="due", replace_existing=True)

    async def _swept(self) -> None:
        async with self._busy:
            # Whatever is armed from now on is armed for the next time.
            self._armed = None
            try:
                next_due = await self._sweep()
            except Exception:
                logger.exception("the sweep failed; it is tried again in %s", self._safety)
                return
        self.at(next_due)

    async def _did_chores(self) -> None:
        async with self._idle:
            try:
                await self._chores()
            except Exception:
                logger.exception("a chore failed; it is tried again in %s", self._chores_every)
