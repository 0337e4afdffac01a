"""Finding files below a directory: bounded, in a fixed order, and never led astray by links.

Every step goes through the descriptor of the directory it is in (openat, fstatat, unlinkat), so that a
directory that is swapped for a symbolic link while we walk leads to an error and not elsewhere. Symbolic
links are neither followed nor counted, other file systems are not entered, only regular files are seen.
"""

import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from bot.tools.glob import matcher
from bot.tools.tool import ToolFailed

#: Where staged files are kept, below the directory they came from. Walks do not enter it.
STAGING = ".askfirst-staging"
DAY = 86_400

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Stopped(Exception):
    """Whoever asked is not waiting any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One file, named by the open directory it is in."""

    directory: int
    name: str
    #: Path below the start of the walk.
    path: str
    size: int
    modified: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which files are meant: the same for a preview and for what follows it."""

    root: Path
    pattern: str = "*"
    older_than_days: float = 0
    larger_than_bytes: int = 0
    #: Text that must occur in the file.
    contains: str = ""
    now: float
    #: The one file in `root` that is meant, if it was named itself.
    only: str = ""
    #: Device and inode of a directory that is left out: where files are being moved to.
    without: tuple[int, int] | None = None

    def files(self, stop: threading.Event | None = None) -> Iterator[Found]:
        """Yield the files in a fixed order. The descriptor of each is open until the next is asked for."""
        fits = self._fits(stop or threading.Event())
        with _Descent(self.root, self.only, self.without) as descent:
            for name, status in descent:
                if stop is not None and stop.is_set():
                    raise Stopped
                if stat.S_ISDIR(status.st_mode):
                    descent.enter(name, status)
                elif stat.S_ISREG(status.st_mode):
                    found = descent.found(name, status)
                    if fits(found):
                        yield found

    def leaving_out(self, directory: tuple[int, int]) -> "Selection":
        return replace(self, without=directory)

    def _fits(self, stop: threading.Event) -> Callable[[Found], bool]:
        named = matcher(self.pattern)
        before = self.now - self.older_than_days * DAY
        needle = self.contains.encode()

        def fits(found: Found) -> bool:
            return (
                named(found.name, found.path)
                and (not self.older_than_days or found.modified <= before)
                and found.size >= self.larger_than_bytes
                and (not needle or _contains(found, needle, stop))
            )

        return fits


@dataclass(slots=True)
class _Level:
    descriptor: int
    #: Path below the start, with a slash at its end.
    prefix: str
    #: What is yet to be visited, last first.
    names: list[str]


class _Descent:
    """Depth first through a tree, holding the descriptors from the root to the present directory."""

    def __init__(self, root: Path, only: str, without: tuple[int, int] | None) -> None:
        descriptor = os.open(root, _DIRECTORY)
        self._device = os.fstat(descriptor).st_dev
        self._without = without
        # A list and no recursion, since trees may be deep.
        self._levels = [_Level(descriptor, "", [only] if only else _names(descriptor))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._levels:
            os.close(self._levels.pop().descriptor)

    def __iter__(self) -> Iterator[tuple[str, os.stat_result]]:
        while self._levels:
            here = self._levels[-1]
            if not here.names:
                os.close(self._levels.pop().descriptor)
                continue
            name = here.names.pop()
            # A file that is gone since the directory was read is none.
            with suppress(FileNotFoundError):
                yield name, os.stat(name, dir_fd=here.descriptor, follow_symlinks=False)

    def enter(self, name: str, status: os.stat_result) -> None:
        """Go into a directory next, unless it is a place of ours, another file system or unreadable."""
        left_out = name == STAGING or (status.st_dev, status.st_ino) == self._without
        if left_out or status.st_dev != self._device:
            return
        here = self._levels[-1]
        with suppress(OSError):  # gone, not readable, or a link by now
            descriptor = os.open(name, _DIRECTORY, dir_fd=here.descriptor)
            self._levels.append(_Level(descriptor, f"{here.prefix}{name}/", _names(descriptor)))

    def found(self, name: str, status: os.stat_result) -> Found:
        here = self._levels[-1]
        return Found(
            directory=here.descriptor,
            name=name,
            path=here.prefix + name,
            size=status.st_size,
            modified=status.st_mtime,
        )


def directory_of(path: Path) -> Path:
    """Return the real directory that `path` names."""
    real = _real(path)
    if not real.is_dir():
        raise ToolFailed(f"{path} is not a directory")
    return real


def start_of(path: Path) -> tuple[Path, str]:
    """Return the real directory to walk and, if `path` names a file, that file's name in it."""
    real = _real(path)
    return (real, "") if real.is_dir() else (real.parent, real.name)


def _real(path: Path) -> Path:
    try:
        return path.resolve(strict=True)
    except RuntimeError as error:
        raise ToolFailed(f"{path} is a loop of symbolic links") from error


def _names(directory: int) -> list[str]:
    # Last first, since they are taken from the end. By name, so that the order is the same every time.
    return sorted(os.listdir(directory), reverse=True)


def _contains(found: Found, needle: bytes, stop: threading.Event) -> bool:
    try:
        handle = os.open(
            found.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=found.directory
        )
    except OSError:
        return False
    with os.fdopen(handle, "rb") as file:
        tail = b""
        while block := file.read(1 << 20):
            if stop.is_set():
                raise Stopped
            if needle in tail + block:
                return True
            tail = block[-len(needle) :]
    return False
