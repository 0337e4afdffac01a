"""What a command can reach: bubblewrap where it really works, else Landlock, else nothing and a warning.

Both give the same picture: the whole file system can be read except what is hidden (the home of the bot's
user, /run with its sockets, /tmp), only the working directory, configured directories and a private place can
be written, and there is no network unless the call was allowed to have it.

Where they differ, bubblewrap is stronger. It has process, network and mount namespaces: nothing outside can
be seen or signalled. Landlock has no namespaces: it refuses files and TCP, but not UDP, nor sockets in the
file system, and processes outside can be listed (though not inspected or, with ABI 6, signalled).

`py-landlock` was chosen over `sandlock` (the more active package): we need Landlock with network rules in a
process that we start and end ourselves. sandlock's `confine` refuses network rules, and its `Sandbox` is a
process manager with a 13 MB library; py-landlock is 600 lines that one can read, and we have.
"""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from bot.domain.canonical import JsonObject
from bot.domain.errors import ConfigError
from bot.tools.process.run import Command, ProcessLimits, stream
from bot.tools.threads import in_thread

Kind: TypeAlias = Literal["bwrap", "landlock", "none"]
Mode: TypeAlias = Literal["auto", "required", "bwrap", "landlock", "none"]

_ORDER: dict[Mode, tuple[Kind, ...]] = {
    "auto": ("bwrap", "landlock", "none"),
    "required": ("bwrap", "landlock"),
    "bwrap": ("bwrap",),
    "landlock": ("landlock",),
    "none": ("none",),
}
#: Programs in these are found; nothing of the bot's own PATH leaks in.
PATH = "/usr/local/bin:/usr/bin:/bin"
#: Never made writable only because a command starts there.
_SYSTEM = frozenset(
    {
        "/",
        "/bin",
        "/boot",
        "/dev",
        "/etc",
        "/home",
        "/lib",
        "/lib64",
        "/opt",
        "/proc",
        "/root",
        "/sbin",
        "/sys",
    }
    | {"/usr", "/var"}
)
_ABI_WITH_TCP = 4
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """Where commands run, and what they can reach."""

    kind: Kind = "none"
    #: Directories that may be written besides the working directory.
    writable: tuple[str, ...] = ()
    #: Paths inside hidden ones that may be read after all.
    readable: tuple[str, ...] = ()
    #: Paths that are not there for commands. A working directory inside one is.
    hidden: tuple[str, ...] = ()
    #: Version of the kernel's Landlock, where it is used.
    abi: int = 0

    @property
    def warning(self) -> str:
        """What the operator and the approver must know; empty if all is well."""
        if self.kind == "none":
            return "not sandboxed: the command can do whatever the bot's user can"
        if self.kind == "landlock" and self.abi < _ABI_WITH_TCP:
            return "landlock without network rules: this kernel cannot keep a command off the network"
        return ""

    def _writable(self, cwd: str, private: str) -> tuple[str, ...]:
        # Commands work where they start, but nobody means the whole system or somebody's home by that.
        too_much = cwd in _SYSTEM or cwd in self.hidden
        return (*self.writable, *(() if too_much else (cwd,)), private)

    async def confined(self, command: Command, *, private: str, network: bool) -> Command:
        """Return the command as it runs inside. `private` is a directory of its own that it may write."""
        return await in_thread(lambda _stop: self._confined(command, private, network))

    def _confined(self, command: Command, private: str, network: bool) -> Command:  # noqa: FBT001
        match self.kind:
            case "none":
                return command
            case "bwrap":
                return replace(command, argv=(*self._bwrap(command.cwd, private, network), *command.argv))
            case "landlock":
                return replace(command, landlock=self._landlock(command.cwd, private, network))

    def _bwrap(self, cwd: str, private: str, network: bool) -> Iterator[str]:  # noqa: FBT001
        yield from ("bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL")
        if network:
            yield "--share-net"
        yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
        # Later mounts cover earlier ones. Parents first, so that a secret inside the working directory is
        # hidden and a working directory inside a hidden home is there; at the same path, the last one counts.
        mounts = {path: _nothing_at(path) for path in ("/tmp", *self.hidden)}  # noqa: S108
        mounts |= {path: ("--ro-bind", path, path) for path in self.readable}
        mounts |= {path: ("--bind", path, path) for path in self._writable(cwd, private)}
        for path in sorted(mounts):
            yield from mounts[path]
        yield from ("--chdir", cwd, "--")

    def _landlock(self, cwd: str, private: str, network: bool) -> JsonObject:  # noqa: FBT001
        import py_landlock  # noqa: PLC0415 (Linux only, and only needed here)

        hidden = tuple(Path(path) for path in ("/tmp", *self.hidden))  # noqa: S108
        writable = self._writable(cwd, private)
        return {
            "site": str(Path(py_landlock.__file__).parent.parent),
            "read": [*_around("/", hidden), *self.readable],
            "list": list(writable),
            "write": [path for root in writable for path in _around(root, _inside(root, hidden))],
            "devices": list(_DEVICES),
            "network": network,
        }


async def find_sandbox(
    mode: Mode = "auto",
    *,
    writable: Iterable[str] = (),
    readable: Iterable[str] = (),
    hidden: Iterable[str] = (),
) -> Sandbox:
    """Return the strongest sandbox that works here, found out by using it.

    Raises:
        ConfigError: the mode names one that does not work here.
    """
    problems: list[str] = []
    paths = await in_thread(
        lambda _stop: {
            "writable": _existing(writable),
            "readable": _existing(readable),
            "hidden": _existing((str(Path.home()), "/run", *hidden)),
        }
    )
    for kind in _ORDER[mode]:
        abi = await in_thread(lambda _stop: _landlock_abi()) if kind == "landlock" else 0
        sandbox = Sandbox(kind=kind, abi=abi, **paths)
        problem = await _problem(sandbox)
        if problem is None:
            return sandbox
        problems.append(f"{kind}: {problem}")
    raise ConfigError(
        f"no sandbox works here ({'; '.join(problems)}); set another mode or install bubblewrap"
    )


async def _problem(sandbox: Sandbox) -> str | None:
    """Try it: inside, the private directory can be written and another one cannot."""
    if sandbox.kind == "none":
        return None
    if sandbox.kind == "bwrap" and not await in_thread(lambda _stop: shutil.which("bwrap", path=PATH)):
        return "bwrap is not installed"
    inside, outside = await in_thread(lambda _stop: (tempfile.mkdtemp(), tempfile.mkdtemp()))
    command = Command(
        argv=("/bin/sh", "-c", f"echo yes > {inside}/canary; echo no > {outside}/canary"),
        cwd=inside,
        environment={"PATH": PATH},
        limits=ProcessLimits(seconds=10),
    )
    output = ""
    try:
        async for event in stream(await sandbox.confined(command, private=inside, network=False)):
            output += event if isinstance(event, str) else ""
    except ImportError as error:
        output = str(error)
    worked, leaked = await in_thread(lambda _stop: (_take(inside), _take(outside)))
    if not worked:
        return output.strip().partition("\n")[0] or "it did not run"
    return "it does not confine" if leaked else None


def _landlock_abi() -> int:
    try:
        from py_landlock import Landlock, LandlockError  # noqa: PLC0415 (Linux only)
    except ImportError:
        return 0
    try:
        return int(Landlock().abi_version)
    except LandlockError:
        return 0


def _take(directory: str) -> bool:
    """Remove a directory and say whether a canary was in it."""
    there = (Path(directory) / "canary").exists()
    shutil.rmtree(directory)
    return there


def _around(root: str, hidden: tuple[Path, ...]) -> Iterator[str]:
    """Yield the fewest paths that together are everything at or below `root` but the hidden ones."""
    # Landlock only adds: a directory that is allowed is allowed with all that is in it. So next to a hidden
    # path only what exists now is allowed; nothing new can be made there.
    directory = Path(root)
    # A link is nothing of its own: what it leads to is allowed where it is, or is not.
    if directory in hidden or directory.is_symlink():
        return
    if not any(path.is_relative_to(directory) for path in hidden):
        yield root
        return
    for path in sorted(directory.iterdir()):
        yield from _around(str(path), hidden)


def _inside(root: str, hidden: tuple[Path, ...]) -> tuple[Path, ...]:
    return tuple(path for path in hidden if path.is_relative_to(root) and path != Path(root))


def _nothing_at(path: str) -> tuple[str, ...]:
    return ("--tmpfs", path) if Path(path).is_dir() else ("--ro-bind", "/dev/null", path)


def _existing(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(str(Path(path).resolve()) for path in paths if Path(path).exists())
