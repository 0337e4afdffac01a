"""Owns the tasks that drive runs, keeps this worker's claims alive, and takes over from dead workers."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from bot.domain.errors import BotError, LostRace, Stale
from bot.domain.ids import RunId
from bot.engine.driver import Driver, Happening, Nudge, World
from bot.engine.events import CancelAsked
from bot.engine.ports import Checkpoint, RunEnded
from bot.engine.tasks import task_group

logger = logging.getLogger(__name__)

#: Well below the silence after which another machine takes a worker's runs over.
BEAT_SECONDS = 5.0


class Supervisor:
    """Every driven run has its task here; one that fails does not cancel the others."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._drivers: dict[RunId, Driver] = {}
        self._tasks: dict[RunId, asyncio.Task[None]] = {}
        #: Runs to be started again when their driver has left, with the checkpoint if they were claimed.
        self._next: dict[RunId, Checkpoint | None] = {}
        self._group: asyncio.TaskGroup | None = None
        self._stopping = asyncio.Event()

    @asynccontextmanager
    async def running(self, *, beat_seconds: float = BEAT_SECONDS) -> AsyncGenerator["Supervisor"]:
        """Drive runs inside this block; at its end let go of them in good order."""
        async with task_group() as group:
            self._group = group
            await self._world.store.heartbeat(self._world.worker, self._world.clock())
            beat = group.create_task(self._beat(beat_seconds))
            try:
                yield self
            finally:
                self._stopping.set()
                beat.cancel()
                for task in self._tasks.values():
                    task.cancel()

    def start(self, run_id: RunId, checkpoint: Checkpoint | None = None) -> None:
        """Drive a run that is ready, or that was just claimed; if it is driven here already, nudge it.

        The driver may be past the point where a nudge helps: it has parked the run and is only about to leave.
        Somebody may answer in that moment, so it is started once more as soon as the driver is gone.
        """
        if run_id in self._tasks:
            self._next[run_id] = checkpoint or self._next.get(run_id)
            self.nudge(run_id)
            return
        if self._group is None or self._stopping.is_set():
            return
        task = self._group.create_task(self._contain(run_id, checkpoint), name=f"run {run_id}")
        self._tasks[run_id] = task
        task.add_done_callback(lambda _: self._forget(run_id))

    def nudge(self, run_id: RunId) -> None:
        """Somebody answered an interrupt of this run; if it is driven here, it should look."""
        if run_id in self._drivers:
            self._drivers[run_id].tell(Nudge())

    def tell(self, run_id: RunId, happening: Happening) -> None:
        if run_id in self._drivers:
            self._drivers[run_id].tell(happening)

    async def settled(self, run_id: RunId) -> None:
        """Wait until this process does not drive the run any more: it ended, parked or was lost."""
        while task := self._tasks.get(run_id):
            await asyncio.wait([task])

    async def idle(self) -> None:
        """Wait until nothing is driven here."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def recover(self) -> int:
        """Go on with every run that waits for a worker, those of dead workers included; return how many."""
        ready = await self._world.store.release_orphans(self._world.worker, self._world.clock())
        for run_id in ready:
            self.start(run_id)
        return len(ready)

    # ------------------------------------------------------------------------------------------------------

    async def _contain(self, run_id: RunId, checkpoint: Checkpoint | None) -> None:
        """Let one run fail without cancelling its siblings, as a bare TaskGroup would."""
        try:
            await self._drive(run_id, checkpoint)
        except* (LostRace, Stale) as lost:
            logger.info("run is not ours: %s", lost.exceptions[0], extra={"run": run_id})
        except* BotError as refused:
            await self._tell_people(run_id, str(refused.exceptions[0]))
        except* Exception:
            logger.exception("run failed", extra={"run": run_id})
            # Given back, so that it is tried again by the next sweep, here or elsewhere.
            await self._world.store.release(run_id, self._world.worker, self._world.clock())

    async def _drive(self, run_id: RunId, checkpoint: Checkpoint | None) -> None:
        world = self._world
        while True:
            if checkpoint is None:
                checkpoint = await world.store.claim(run_id, world.worker, world.clock())
            driver = Driver(world, checkpoint)
            self._drivers[run_id] = driver
            checkpoint = None
            if await driver.run() != "again":
                return

    async def _tell_people(self, run_id: RunId, text: str) -> None:
        head = await self._world.store.head(run_id)
        if head is not None:
            await self._world.front.show(head.thread, run_id, RunEnded(state="quarantined", text=text))

    def _forget(self, run_id: RunId) -> None:
        self._tasks.pop(run_id, None)
        self._drivers.pop(run_id, None)
        if run_id in self._next:
            self.start(run_id, self._next.pop(run_id))

    async def _beat(self, seconds: float) -> None:
        """Say that this worker lives, hear of cancelled runs, and take over from the dead."""
        while True:
            await asyncio.sleep(seconds)
            try:
                await self._tend()
            except Exception:
                logger.exception("heartbeat failed; it is tried again in %s s", seconds)

    async def _tend(self) -> None:
        world = self._world
        await world.store.heartbeat(world.worker, world.clock())
        for run_id, request in (await world.store.cancels(world.worker)).items():
            if request.what == "cancel":
                self.tell(run_id, CancelAsked(by=request.by, reason=request.reason))
        await self.recover()
