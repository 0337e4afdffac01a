"""One command: a fresh process with a fixed environment, no terminal, limits, and an end."""

import asyncio
import codecs
import json
import logging
import os
import sys
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from bot.domain.canonical import JsonObject
from bot.tools.tool import ToolFailed

logger = logging.getLogger(__name__)

T = TypeVar("T")

_SUPERVISE = str(Path(__file__).with_name("supervise.py"))
#: Output is passed on at most this often, so that a chatty command does not become hundreds of messages.
_PACE = 0.05
_BLOCK = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """What one command may use. Memory is per process: a limit for all of them needs cgroups."""

    seconds: float = 60
    cpu_seconds: int = 300
    memory: int = 4 * 1024**3
    file_size: int = 8 * 1024**3
    open_files: int = 1024
    #: Counts all processes of the bot's user, since the kernel counts so; root is exempt.
    processes: int = 4096
    #: A command that writes more is stopped.
    output: int = 50 * 1024**2
    #: How long it may take to end after SIGTERM.
    grace: float = 2

    def as_rlimits(self) -> dict[str, int]:
        # DATA and not AS: modern runtimes reserve address space by the gigabyte without using it.
        return {
            "RLIMIT_CPU": self.cpu_seconds,
            "RLIMIT_DATA": self.memory,
            "RLIMIT_FSIZE": self.file_size,
            "RLIMIT_NOFILE": self.open_files,
            "RLIMIT_NPROC": self.processes,
            "RLIMIT_CORE": 0,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    limits: ProcessLimits = field(default_factory=ProcessLimits)
    #: Rules for Landlock, applied by the supervisor; None where another sandbox, or none, is used.
    landlock: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Exited:
    code: int
    #: Why we ended it, if we did.
    stopped: str = ""


ProcessEvent: TypeAlias = str | Exited


async def stream(command: Command) -> AsyncGenerator[ProcessEvent, None]:
    """Yield the output as it comes and, last, how it ended. Closing it ends all that the command started."""
    process = await _start(command)
    deadline = asyncio.get_running_loop().time() + command.limits.seconds
    stopped = ""
    try:
        async with aclosing(_output(process, deadline, command.limits)) as blocks:
            async for block in blocks:
                yield block
        # It may have closed its output and still run.
        await _before(deadline, process.wait(), command.limits)
    except _Exceeded as limit:
        stopped = str(limit)
    finally:
        await _end(process, command.limits.grace)
    yield Exited(process.returncode or 0, stopped)


class _Exceeded(Exception):
    pass


async def _output(
    process: asyncio.subprocess.Process, deadline: float, limits: ProcessLimits
) -> AsyncGenerator[str, None]:
    assert process.stdout
    now = asyncio.get_running_loop().time
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    written, passed_on = 0, 0.0
    while block := await _before(deadline, process.stdout.read(_BLOCK), limits):
        written += len(block)
        if written > limits.output:
            raise _Exceeded(f"it wrote more than {limits.output // 1024**2} MB")
        # More may arrive meanwhile and is read with the next block.
        await asyncio.sleep(max(0, passed_on + _PACE - now()))
        passed_on = now()
        yield decoder.decode(block)
    yield decoder.decode(b"", final=True)


async def _before(deadline: float, step: Coroutine[Any, Any, T], limits: ProcessLimits) -> T:
    try:
        async with asyncio.timeout_at(deadline):
            return await step
    except TimeoutError:
        raise _Exceeded(f"it ran longer than {limits.seconds:g} s") from None


async def _start(command: Command) -> asyncio.subprocess.Process:
    limits = ",".join(f"{name}={value}" for name, value in command.limits.as_rlimits().items())
    rules = json.dumps(command.landlock) if command.landlock else ""
    how = (str(os.getpid()), str(command.limits.grace), limits, rules)
    try:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", _SUPERVISE, *how, *command.argv),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=command.cwd,
            env=dict(command.environment),
            start_new_session=True,
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ToolFailed(f"{command.cwd} is not a directory") from error
    except OSError as error:
        # E2BIG and the like: too long for a command line.
        raise ToolFailed(f"the command could not be started: {error.strerror}") from error


async def _end(process: asyncio.subprocess.Process, grace: float) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            # Also reads what is left: a pipe nobody reads keeps its transport open.
            async with asyncio.timeout(grace + 3):
                await process.communicate()
        except TimeoutError:
            logger.warning("a command does not end", extra={"pid": process.pid})
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
