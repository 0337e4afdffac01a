"""execute: shell commands. What was proved runs as proved; anything else only after a person said yes."""

import shlex
import shutil
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from pydantic import Field

from bot.domain.tool import Impact
from bot.engine.ports import CallContext
from bot.tools.process.run import Command, Exited, ProcessLimits, stream
from bot.tools.process.sandbox import PATH, Sandbox
from bot.tools.threads import in_thread
from bot.tools.tool import Arguments, Output, Tool, ToolFailed, located, tool
from bot.tools.walk import directory_of

#: argv to execute · canonical text for a shell · None: not proved.
Prover: TypeAlias = Callable[[str], Sequence[str] | str | None]
#: never: not even if asked for · approved: if people said yes to the call · allowed: as the policy decides.
Network: TypeAlias = Literal["never", "approved", "allowed"]

LONGEST = 900
_SHELL = ("bash", "--noprofile", "--norc", "-c")
#: Commands that are no programs: only a shell has them.
_BUILTINS = frozenset({"cd", "command", "export", "hash", "set", "type", "ulimit", "umask", "unset", "wait"})


def nothing_proved(_text: str) -> None:
    """Serve as the prover where there is none: every command needs a person's yes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteSettings:
    sandbox: Sandbox = Sandbox()
    prove: Prover = nothing_proved
    limits: ProcessLimits = ProcessLimits()
    network: Network = "approved"
    #: Directories searched for programs, after the system's.
    path: tuple[str, ...] = ()


class Execute(Arguments):
    command: str = Field(min_length=1, description="A shell command. No terminal; input is empty")
    cwd: str = Field(".", description="Directory to run it in")
    timeout: float = Field(60, gt=0, le=LONGEST, description="Seconds after which it is stopped")
    network: bool = Field(default=False, description="Whether it needs the network; off otherwise")


def execute(settings: ExecuteSettings) -> Tool[Execute]:
    async def preview(args: Execute, context: CallContext) -> Impact:
        argv = _argv(args, settings)
        cwd = await in_thread(lambda _stop: directory_of(located(args.cwd, context)))
        facts = {
            "directory": str(cwd),
            "runs as": shlex.join(argv) if argv else "shell text, not understood in full",
            "sandbox": settings.sandbox.warning or settings.sandbox.kind,
            "network": "on" if args.network else "off",
        }
        if settings.sandbox.kind == "none" and not args.network:
            facts["network"] = "not restricted"
        return Impact(summary=f"Run {args.command!r} in {cwd}.", facts=facts)

    # The limit of the gate is the outer one: `timeout` ends the command and keeps what it said.
    @tool(commands=("command",), paths=("cwd",), seconds=LONGEST + 30, preview=preview)
    async def execute(args: Execute, context: CallContext) -> AsyncIterator[str | Output]:
        """Run a shell command in a fresh process and return its output and exit code.

        Each call starts anew: no variables, functions or directory are kept from one to the next.
        """
        argv = _argv(args, settings)
        if argv is None and not context.approved:
            raise ToolFailed("Not run: a command that is not understood in full needs a person's approval.")
        _check_network(args, context, settings.network)
        cwd = await in_thread(lambda _stop: directory_of(located(args.cwd, context)))
        async with _private() as private:
            command = Command(
                argv=tuple(argv or (*_SHELL, args.command)),
                cwd=str(cwd),
                environment=environment(private, settings.path),
                limits=replace(settings.limits, seconds=args.timeout),
            )
            confined = await settings.sandbox.confined(command, private=private, network=args.network)
            ended = Exited(0)
            async with aclosing(stream(confined)) as events:
                async for event in events:
                    if isinstance(event, Exited):
                        ended = event
                    else:
                        yield event
        yield _conclusion(ended)

    return execute


def environment(private: str, path: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the same environment for every command. Nothing of the bot's own, which holds its secrets."""
    return {
        "PATH": ":".join((PATH, *path)),
        "HOME": private,
        "TMPDIR": private,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "SYSTEMD_PAGER": "",
        "GIT_TERMINAL_PROMPT": "0",
        # `git status` must not write the index, and so wait for or hold a lock.
        "GIT_OPTIONAL_LOCKS": "0",
    }


def _argv(args: Execute, settings: ExecuteSettings) -> Sequence[str] | None:
    """Return what was proved, ready to be executed."""
    match settings.prove(args.command):
        case None:
            return None
        case str(text):
            return (*_SHELL, text)
        case argv if argv[0] in _BUILTINS:
            # Every word quoted: to the shell it is these words and nothing else, as it was proved.
            return (*_SHELL, shlex.join(argv))
        case argv:
            return argv


def _check_network(args: Execute, context: CallContext, network: Network) -> None:
    if not args.network or network == "allowed":
        return
    if network == "never":
        raise ToolFailed("Not run: commands have no network here; use http_request.")
    if not context.approved:
        raise ToolFailed("Not run: a command with network needs a person's approval.")


def _conclusion(ended: Exited) -> Output:
    if ended.stopped:
        return Output(text=f"stopped: {ended.stopped}", status="error", after_stream=True)
    return Output(text=f"exit {ended.code}", status="ok" if ended.code == 0 else "error", after_stream=True)


@asynccontextmanager
async def _private() -> AsyncGenerator[str]:
    """Make a directory for one command and remove it afterwards, whatever it left there."""
    path = await in_thread(lambda _stop: tempfile.mkdtemp(prefix="askfirst-"))
    try:
        yield path
    finally:
        await in_thread(lambda _stop: shutil.rmtree(path, ignore_errors=True))


def execute_tools(settings: ExecuteSettings) -> tuple[Tool[Any], ...]:
    return (execute(settings),)
