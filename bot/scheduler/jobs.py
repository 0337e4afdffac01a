"""Fits the sweep and the chores to the alarm: one line of wiring for everything that happens by itself.

waking = Waking(front)                        # before the engine: World(front=waking, …)
async with keeping_time(runner, store, clock, settings.chores, waking): ...
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Protocol

from bot.domain.ids import RunId
from bot.domain.run import Thread
from bot.engine.ports import Clock, Front, InterruptsOpened, LiveEvent
from bot.engine.timers import Swept, timers_of
from bot.scheduler.chores import Chores, ChoreStore, do_chores
from bot.scheduler.timer import Alarm


class Sweeps(Protocol):
    """The engine's runner, as far as time is concerned."""

    async def sweep(self) -> Swept: ...


class Waking:
    """A front that passes everything on, and sets the alarm for questions this process opens.

    Those of other processes, edited or snoozed ones are found by the slow sweep, long before they are due.
    """

    def __init__(self, front: Front) -> None:
        self._front = front
        self._wake: Callable[[datetime], None] | None = None

    def listen(self, wake: Callable[[datetime], None]) -> None:
        self._wake = wake

    async def show(self, thread: Thread, run_id: RunId, event: LiveEvent) -> None:
        if isinstance(event, InterruptsOpened) and self._wake is not None:
            self._wake(min(timers_of(interrupt)[0].due_at for interrupt in event.interrupts))
        await self._front.show(thread, run_id, event)


@asynccontextmanager
async def keeping_time(
    runner: Sweeps, store: ChoreStore, clock: Clock, chores: Chores, waking: Waking | None = None
) -> AsyncGenerator[Alarm]:
    """Remind, escalate, expire, post digests and clean up inside this block."""

    async def sweep() -> datetime | None:
        return (await runner.sweep()).next_due

    async def do() -> None:
        await do_chores(store, chores, clock)

    alarm = Alarm(sweep, do)
    if waking is not None:
        waking.listen(alarm.at)
    async with alarm.running():
        yield alarm
