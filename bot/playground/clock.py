"""Time that tests can move.

Whatever expires in the playground (acks, triggers, streams, response URLs, rate windows) asks this clock.
A stopped clock moves only by `advance`, so a test about a five minute limit takes a millisecond and a slow
machine never misses a deadline by accident. The page people play with uses a running one.
"""

import asyncio
import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(order=True, slots=True)
class Timer:
    due: float
    number: int
    callback: Callable[[], None] = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.cancelled = True


class Clock:
    def __init__(self, *, start: float | None = None, running: bool = False) -> None:
        self._offset = time.time() if start is None else start
        self._running = running
        self._origin = time.monotonic()
        self._timers: list[Timer] = []
        self._count = 0
        self._alarm: asyncio.TimerHandle | None = None

    def now(self) -> float:
        return self._offset + (time.monotonic() - self._origin if self._running else 0.0)

    def later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        self._count += 1
        timer = Timer(self.now() + seconds, self._count, callback)
        heapq.heappush(self._timers, timer)
        self._arm()
        return timer

    async def sleep(self, seconds: float) -> None:
        """Return once this clock, not the wall, has moved on by `seconds`."""
        if seconds > 0:
            woken = asyncio.Event()
            timer = self.later(seconds, woken.set)
            try:
                await woken.wait()
            finally:
                timer.cancel()

    def advance(self, seconds: float) -> None:
        """Move on and run what fell due, in order. The app gets no turn in between."""
        if seconds < 0:
            raise ValueError("time only moves forward")
        target = self.now() + seconds
        while (timer := self._next()) is not None and timer.due <= target:
            heapq.heappop(self._timers)
            self._offset += max(0.0, timer.due - self.now())
            timer.callback()
        self._offset += max(0.0, target - self.now())
        self._arm()

    def close(self) -> None:
        self._timers.clear()
        self._arm()

    def _next(self) -> Timer | None:
        # Most timers are ack deadlines that were met; without them the heap is as small as what is in flight.
        while self._timers and self._timers[0].cancelled:
            heapq.heappop(self._timers)
        return self._timers[0] if self._timers else None

    def _arm(self) -> None:
        if not self._running:
            return
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if (timer := self._next()) is not None:
            delay = max(0.0, timer.due - self.now())
            self._alarm = asyncio.get_running_loop().call_later(delay, self.advance, 0)
