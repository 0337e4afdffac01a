"""The demo's bot, as a process of its own that can really be killed.

It is `askfirst run` with a clock that the demo moves: each line on standard input is how many seconds the clock is
ahead, and its end means that the demo is gone. Line by line it answers on standard output.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

from bot.domain.errors import BotError
from bot.settings import load_settings
from bot.wiring import open_slack, utc_now

READY = "ready"
SWEPT = "swept"


class ShiftedClock:
    """The real time, and what was skipped."""

    def __init__(self, ahead: float) -> None:
        self.ahead = timedelta(seconds=ahead)

    def now(self) -> datetime:
        return utc_now() + self.ahead


async def _lines() -> AsyncIterator[str]:
    """Yield what the demo says, until it is gone."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line.decode()


async def run(ahead: float) -> None:
    settings = load_settings()
    clock = ShiftedClock(ahead)
    async with open_slack(settings, clock=clock.now) as bot:
        print(READY, flush=True)  # noqa: T201 - this is how it talks to the demo
        async for line in _lines():
            clock.ahead = timedelta(seconds=float(line))
            # The engine's alarm goes by the real time; what a skip made due is done now.
            await bot.engine.runner.sweep()
            print(SWEPT, flush=True)  # noqa: T201


def main() -> int:
    try:
        asyncio.run(run(float(sys.argv[1]) if len(sys.argv) > 1 else 0.0))
    except BotError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 2
    return 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
