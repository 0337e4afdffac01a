"""Files that are moved aside instead of deleted, and their way back.

A batch is a directory of its own, `<staging>/<batch>/…`, in which files keep their path; beside it,
`<staging>/<batch>.json` says where they came from. There is no list of files: the tree is the list, so a
crash in the middle of a move leaves nothing out.

A manifest could be forged by whoever can write beside a batch. So the place files go back to is never taken
from it alone: it follows from where the batch is, or the caller names it and it has to agree.
"""

import errno
import json
import os
import shutil
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from bot.tools.tool import ToolFailed
from bot.tools.walk import STAGING, Found, Selection

_VERSION = 1


@dataclass(slots=True)
class Receipt:
    """What was really done."""

    count: int = 0
    bytes: int = 0
    #: Files that were left alone because something else is in their place.
    kept: int = 0
    failures: list[str] = field(default_factory=list[str])

    def done(self, found: Found) -> None:
        self.count += 1
        self.bytes += found.size

    def failed(self, found: Found, error: OSError) -> None:
        self.failures.append(f"{found.path}: {error.strerror}")


def stage(selection: Selection, batch: Path, stop: threading.Event) -> Receipt:
    """Move the selected files into `batch`."""
    batch.mkdir(parents=True, exist_ok=True)
    status = batch.parent.stat()
    manifest = {"version": _VERSION, "root": str(selection.root)}
    _manifest_of(batch).write_text(json.dumps(manifest))
    receipt = Receipt()
    for found in selection.leaving_out((status.st_dev, status.st_ino)).files(stop):
        try:
            _move(found, batch / found.path)
        except OSError as error:
            receipt.failed(found, error)
        else:
            receipt.done(found)
    return receipt


def origin(batch: Path, to: Path | None) -> Path:
    """Return where the files of a batch go back to, checked against its manifest."""
    try:
        manifest: Any = json.loads(_manifest_of(batch).read_text())
    except (FileNotFoundError, ValueError) as error:
        raise ToolFailed(f"{batch} is not a batch of staged files") from error
    root = cast("dict[str, Any]", manifest).get("root") if isinstance(manifest, dict) else None
    expected = to or (batch.parent.parent if batch.parent.name == STAGING else None)
    if expected is None:
        raise ToolFailed(f"Say with `to` where the files go back to; {batch} says {root!r}")
    if str(expected) != root:
        raise ToolFailed(f"The files of {batch} came from {root!r}, not from {str(expected)!r}")
    return expected


def restore(selection: Selection, root: Path, stop: threading.Event) -> Receipt:
    """Move a batch back, and never over something that is there by now."""
    receipt = Receipt()
    for found in selection.files(stop):
        try:
            _move_back(found, root)
        except FileExistsError:
            receipt.kept += 1
        except OSError as error:
            receipt.failed(found, error)
        else:
            receipt.done(found)
    _remove_empty(selection.root)
    return receipt


def occupied(found: Found, root: Path) -> bool:
    return os.path.lexists(root / found.path)


def _move_back(found: Found, root: Path) -> None:
    target = root / found.path
    if not target.parent.resolve().is_relative_to(root):
        raise OSError(errno.ELOOP, "a symbolic link leads out of the directory")
    _move(found, target)


def _move(found: Found, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, "something is there already", str(target))
    try:
        os.rename(found.name, target, src_dir_fd=found.directory)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(found, target)


def _copy(found: Found, target: Path) -> None:
    """Move to another file system: complete there before it is removed here."""
    handle = os.open(found.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=found.directory)
    with os.fdopen(handle, "rb") as source:
        status = os.fstat(handle)
        try:
            with target.open("xb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
                os.fsync(copy.fileno())
            target.chmod(status.st_mode & 0o7777)
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        except BaseException:
            target.unlink(missing_ok=True)
            raise
    os.unlink(found.name, dir_fd=found.directory)


def _manifest_of(batch: Path) -> Path:
    return batch.with_name(f"{batch.name}.json")


def _remove_empty(batch: Path) -> None:
    for directory, _, _ in os.walk(batch, topdown=False):
        with suppress(OSError):  # not empty: something was kept or failed
            Path(directory).rmdir()
    if not batch.exists():
        _manifest_of(batch).unlink(missing_ok=True)
        with suppress(OSError):
            batch.parent.rmdir()
