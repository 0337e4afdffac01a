"""Blocking work off the event loop, one thread each.

Not `asyncio.to_thread`: its pool is small, shared with name resolution, and joined at exit. A few calls that
hang on a dead network disk would stop the whole bot, and then keep it from ending. These threads are daemons,
and there are only as many as there are calls under way.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[threading.Event], T]) -> T:
    """Run blocking work in a thread; if nobody waits for it any more, it is told to stop."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    stop = threading.Event()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # pyright: ignore[reportArgumentType] (None is T if there is no error)

    def run() -> None:
        result, error = None, None
        try:
            result = work(stop)
        except StopIteration as raised:
            error = RuntimeError(f"{raised!r} was raised")  # a future does not take it as it is
        except BaseException as raised:  # noqa: BLE001 (it is raised again, where the result is awaited)
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True).start()
    try:
        return await future
    finally:
        stop.set()
