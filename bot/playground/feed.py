"""Every change, numbered: tests wait on it, the page listens to it."""

import asyncio
from collections import deque
from dataclasses import dataclass

from bot.playground.shapes import Json

KEPT = 5_000


@dataclass(frozen=True, slots=True)
class Change:
    number: int
    kind: str
    data: Json


class Feed:
    def __init__(self) -> None:
        self._changes: deque[Change] = deque(maxlen=KEPT)
        self._next = asyncio.Event()
        self.number = 0
        self.closed = False

    def publish(self, kind: str, data: Json) -> None:
        self.number += 1
        self._changes.append(Change(self.number, kind, data))
        self._next.set()
        self._next = asyncio.Event()

    async def wait(self, after: int) -> None:
        """Return once something changed after change number `after`."""
        while self.number <= after and not self.closed:
            await self._next.wait()

    def close(self) -> None:
        self.closed = True
        self._next.set()

    def since(self, number: int) -> list[Change] | None:
        """Return what came after `number`, or nothing if some of that is no longer kept."""
        if self._changes and self._changes[0].number > number + 1:
            return None
        behind = self.number - number
        return [] if behind <= 0 else list(self._changes)[-behind:]
