"""Looks after the bot's process: starts it, moves its clock, kills it, and knows how it is."""

import asyncio
import logging
import os
import sys
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from bot.playground.bot_process import READY
from bot.playground.errors import CannotDo

logger = logging.getLogger(__name__)

State = Literal["starting", "running", "killed", "stopped"]
#: A process that was asked to end lets go of its runs first.
GRACE_SECONDS = 8.0
_KEPT_LINES = 15


class Child:
    def __init__(
        self, folder: Path, settings: Mapping[str, str], tasks: asyncio.TaskGroup, changed: Callable[[], None]
    ) -> None:
        self.state: State = "stopped"
        self.code: int | None = None
        #: Seconds its clock is ahead of the real one.
        self.ahead = 0.0
        self._folder = folder
        self._settings = settings
        self._tasks = tasks
        self._changed = changed
        self._process: asyncio.subprocess.Process | None = None
        self._ended = asyncio.Event()
        self._closing = False
        self._said: deque[str] = deque(maxlen=_KEPT_LINES)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def trouble(self) -> str:
        """The last it said before it ended by itself."""
        return "\n".join(self._said) if self.state == "stopped" and self.code else ""

    async def start(self) -> None:
        """Start it, unless it is there already."""
        if self.state in ("starting", "running"):
            raise CannotDo("the bot is running already")
        self._said.clear()
        self._ended = asyncio.Event()
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bot.playground.bot_process",
            str(self.ahead),
            cwd=self._folder,
            env=_environment() | dict(self._settings),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # Ctrl-C in the terminal is for the demo, which then ends this in good order.
            start_new_session=True,
        )
        self._now("starting")
        self._tasks.create_task(self._watch(self._process))

    async def kill(self) -> None:
        """Kill it with no chance to say goodbye, as a crash would."""
        process = self._alive()
        self._now("killed")
        process.kill()
        await self._ended.wait()

    async def move_clock(self, ahead: float) -> None:
        self.ahead = ahead
        if self.state in ("starting", "running"):
            stdin = self._alive().stdin
            assert stdin is not None  # it is a pipe
            stdin.write(f"{ahead}\n".encode())
            await stdin.drain()

    async def close(self) -> None:
        """End it in good order."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        self._closing = True
        assert process.stdin is not None  # it is a pipe
        process.stdin.close()
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                await self._ended.wait()
        except TimeoutError:
            process.kill()
            await self._ended.wait()

    def _alive(self) -> asyncio.subprocess.Process:
        if self._process is None or self.state not in ("starting", "running"):
            raise CannotDo("the bot is not running")
        return self._process

    def _now(self, state: State) -> None:
        self.state = state
        self._changed()

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        async with asyncio.TaskGroup() as readers:
            readers.create_task(self._read_output(process))
            readers.create_task(self._read_errors(process))
        self.code = await process.wait()
        if self.state != "killed":
            self._now("stopped")
        self._ended.set()

    async def _read_output(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None  # it is a pipe
        async for line in process.stdout:
            if line.decode().strip() == READY and self.state == "starting":
                self._now("running")
            else:
                self._changed()

    async def _read_errors(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None  # it is a pipe
        async for line in process.stderr:
            said = line.decode(errors="replace").rstrip()
            self._said.append(said)
            # Whoever stopped the demo is not interested in what it had to leave unfinished.
            logger.log(logging.DEBUG if self._closing else logging.WARNING, "%s", said)


def _environment() -> dict[str, str]:
    """Ours, without what could lead the bot to another Slack or another database than the demo's."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("SLACK_", "ASKFIRST_"))}
