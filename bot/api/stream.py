"""Follows runs: stored facts from the database, text while it is written from this process.

A stream is a loop over the store with a cursor; what happens here only wakes it. So a slow client holds nothing
back but itself, nothing is queued for it, and a missed wake-up costs a second, never an event.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from bot.api.events import Cursor, Said, StreamEvent, rest_of, unseen
from bot.api.ports import Store
from bot.domain.ids import RunId
from bot.domain.run import FINAL, Thread
from bot.engine.ports import CallFinished, CallProgress, LiveEvent, Retrying, TextDelta

logger = logging.getLogger(__name__)

#: How long a change made by another process may stay unnoticed.
POLL_SECONDS = 1.0


@dataclass(slots=True)
class _Writing:
    """The text of a turn the model is writing now."""

    entry: int
    #: Which attempt; text of another attempt need not begin in the same way.
    attempt: int
    text: str = ""


class Subscription:
    """One stream's ear: something happened, and whether the store has to be read for it."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._stale = True

    def wake(self, *, stale: bool) -> None:
        self._stale = self._stale or stale
        self._event.set()

    @property
    def stale(self) -> bool:
        return self._stale

    def take(self) -> bool:
        """Whether the store has news; asked right before it is read, so that no later news is forgotten."""
        stale, self._stale = self._stale, False
        self._event.clear()
        return stale

    async def wait(self, seconds: float) -> bool:
        """Wait for something to happen; False if nothing did."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        return True


class HttpFront:
    """`engine.ports.Front` for runs that people follow over HTTP, from whichever front they come."""

    def __init__(self) -> None:
        self._listeners: dict[RunId, set[Subscription]] = {}
        self._writing: dict[RunId, _Writing] = {}
        self._attempts = 0
        self._closed = False

    async def show(self, thread: Thread, run_id: RunId, event: LiveEvent) -> None:
        del thread
        match event:
            case TextDelta(text=text, entry=entry):
                self._write(run_id, entry, text)
            case Retrying(void=True):
                self._writing.pop(run_id, None)
            case Retrying() | CallProgress():
                pass
            case CallFinished():
                self.changed(run_id)
            case _:
                # Whatever was written is stored by now.
                self._writing.pop(run_id, None)
                self.changed(run_id)

    def changed(self, run_id: RunId) -> None:
        """The store has something new about this run."""
        for listener in self._listeners.get(run_id, ()):
            listener.wake(stale=True)

    def close(self) -> None:
        """End every stream: this process stops, and clients go on elsewhere with what they have."""
        self._closed = True
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.wake(stale=False)

    @property
    def closed(self) -> bool:
        return self._closed

    def writing(self, run_id: RunId) -> _Writing | None:
        return self._writing.get(run_id)

    @contextmanager
    def listen(self, run_id: RunId) -> Generator[Subscription]:
        mine = Subscription()
        self._listeners.setdefault(run_id, set()).add(mine)
        try:
            yield mine
        finally:
            rest = self._listeners[run_id]
            rest.discard(mine)
            if not rest:
                del self._listeners[run_id]

    def _write(self, run_id: RunId, entry: int, text: str) -> None:
        writing = self._writing.get(run_id)
        fresh = writing is None or writing.entry != entry
        if writing is None or fresh:
            self._attempts += 1
            writing = self._writing[run_id] = _Writing(entry=entry, attempt=self._attempts)
        writing.text += text
        for listener in self._listeners.get(run_id, ()):
            # A new turn means that everything before it is stored.
            listener.wake(stale=fresh)


class Streams:
    """Turns a cursor into the events after it, for as long as there are any to come."""

    def __init__(self, store: Store, front: HttpFront, *, keep_alive: float = 15.0) -> None:
        self._store = store
        self._front = front
        self._keep_alive = keep_alive

    async def follow(
        self, cursor: Cursor, *, through_interrupts: bool = False
    ) -> AsyncGenerator[tuple[StreamEvent | None, Cursor]]:
        """Yield each event with its cursor, and None where nothing happened for a while.

        Ends when the run does, and when it waits for people, unless `through_interrupts`.
        Raises CheckpointNotFound if there is no such run.
        """
        attempt = 0
        with self._front.listen(cursor.run) as ear:
            while not self._front.closed:
                if ear.take():
                    head, entries, asked = await self._store.progress(cursor.run, cursor.entry)
                    for event, after in unseen(head, entries, asked, cursor):
                        cursor = after
                        if event is not None:
                            yield event, cursor
                    if head.state in FINAL or (head.state == "waiting" and not through_interrupts):
                        return
                said, cursor, attempt = self._written(ear, cursor, attempt)
                if said is not None:
                    yield said, cursor
                elif not await ear.wait(self._keep_alive):
                    yield None, cursor

    def _written(self, ear: Subscription, cursor: Cursor, attempt: int) -> tuple[Said | None, Cursor, int]:
        """What the model has written since; `attempt` is the one the cursor's text is from."""
        writing = self._front.writing(cursor.run)
        # If something was stored while we told, it comes first: text must not overtake it.
        if ear.stale or writing is None or writing.entry < cursor.entry:
            return None, cursor, attempt
        trusted = writing.attempt == attempt
        said, cursor = rest_of(writing.text, cursor, entry=writing.entry, trusted=trusted)
        return said, cursor, writing.attempt

    @asynccontextmanager
    async def watching(self, seconds: float = POLL_SECONDS) -> AsyncGenerator[None]:
        """Notice what other processes do, inside this block."""
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self._watch(seconds))
            try:
                yield
            finally:
                task.cancel()

    async def _watch(self, seconds: float) -> None:
        # Always, not only while somebody listens: a stream that begins between two looks must miss nothing.
        seq = -1
        while True:
            try:
                seq, runs = await self._store.touched_since(seq)
                for run_id in runs:
                    self._front.changed(run_id)
            except Exception:
                logger.exception("cannot look for changes; trying again in %s s", seconds)
            await asyncio.sleep(seconds)
