"""find_files, read_file, write_file: one file at a time, or only looking."""

import difflib
import hashlib
import os
import stat
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal

from pydantic import Field

from bot.domain.tool import READS, Effects, Impact
from bot.engine.ports import CallContext, Clock
from bot.tools.limits import capped
from bot.tools.threads import in_thread
from bot.tools.tool import Arguments, Tool, ToolFailed, located, tool
from bot.tools.walk import Found, Selection, directory_of
from bot.tools.words import many, minute, size

#: A longer line of a file is shortened: it is not text that somebody reads.
LONGEST_LINE = 2000
#: Larger files are described, not compared.
LARGEST_DIFF = 1_000_000
LONGEST_DIFF = 12_000


class FindFiles(Arguments):
    path: str = Field(description="Directory to search, with everything below it")
    pattern: str = Field("*", description="*.tmp matches names at any depth; build/**/*.o matches paths")
    older_than_days: float = Field(0, ge=0, description="Only files last changed at least this long ago")
    larger_than_bytes: int = Field(0, ge=0, description="Only files of at least this size")
    contains: str = Field("", description="Only files that contain this exact text")
    limit: int = Field(100, ge=1, le=1000, description="How many files to list; all are counted")


def find_files(clock: Clock) -> Tool[FindFiles]:
    @tool(effects=READS, paths=("path",), seconds=120)
    async def find_files(args: FindFiles, context: CallContext) -> str:
        """Find files by name, age, size and content.

        The first line has the totals of all matches; then size, time of last change and path of each.
        """
        return await in_thread(lambda stop: _listing(_selected(args, context, clock), args.limit, stop))

    return find_files


def _selected(args: FindFiles, context: CallContext, clock: Clock) -> Selection:
    return Selection(
        root=directory_of(located(args.path, context)),
        pattern=args.pattern,
        older_than_days=args.older_than_days,
        larger_than_bytes=args.larger_than_bytes,
        contains=args.contains,
        now=clock().timestamp(),
    )


def _listing(selection: Selection, limit: int, stop: threading.Event) -> str:
    listed: list[Found] = []
    count = total = 0
    for found in selection.files(stop):
        count += 1
        total += found.size
        if count <= limit:
            listed.append(found)
    lines = [f"{many(count, 'file')}, {size(total)}, in {selection.root}"]
    lines += (f"{found.size:>12}  {minute(found.modified)}  {found.path}" for found in listed)
    if count > limit:
        lines.append(f"… {count - limit:,} more; narrow the search or raise limit")
    return "\n".join(lines)


class ReadFile(Arguments):
    path: str
    start_line: int = Field(1, ge=1, description="First line to read, counted from 1")
    max_lines: int = Field(1000, ge=1, le=10_000)


def _describe_read(path: Path, args: ReadFile) -> str:
    # Not blocking, since it may be a pipe nobody writes to; looked at only once it is open.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise ToolFailed(f"{path} is not a regular file")
    with os.fdopen(handle, "rb") as file:
        if b"\0" in file.read(8192):
            return f"{path} is a binary file of {size(status.st_size)}; its content is not shown"
        file.seek(0)
        content = _lines(file)
        skipped = sum(1 for _ in islice(content, args.start_line - 1))
        lines = list(islice(content, args.max_lines))
        more = bool(file.read(1))
    if not lines:
        return f"{path} is empty" if not skipped else f"{path} has only {many(skipped, 'line')}"
    text = "".join(lines)
    if not more:
        return text
    return f"{text.rstrip()}\n… more lines follow; go on with start_line={skipped + len(lines) + 1}"


def _lines(file: BinaryIO) -> Iterator[str]:
    """Yield the lines in bounded memory: a file may be one line of gigabytes."""
    while line := file.readline(LONGEST_LINE):
        left_out = 0
        while not line.endswith(b"\n") and (rest := file.readline(1 << 16)):
            left_out += len(rest)
            if rest.endswith(b"\n"):
                break
        text = line.decode("utf-8", "replace")
        yield f"{text}… {left_out:,} bytes of this line left out\n" if left_out else text


@tool(effects=READS, paths=("path",))
async def read_file(args: ReadFile, context: CallContext) -> str:
    """Read a text file, or some lines of it."""
    path = located(args.path, context)
    return await in_thread(lambda _stop: _describe_read(path, args))


class WriteFile(Arguments):
    path: str
    content: str
    mode: Literal["replace", "append", "create"] = Field(
        "replace", description="create refuses to touch a file that exists"
    )


_WRITES = Effects(read_only=False, destructive=True, idempotent=False, open_world=False)


async def _preview_write(args: WriteFile, context: CallContext) -> Impact:
    path = located(args.path, context)
    return await in_thread(lambda _stop: _measure_write(path, args))


def _measure_write(path: Path, args: WriteFile) -> Impact:
    before = _before(path, args)
    added = len(args.content.encode())
    after = (before.size if before and args.mode == "append" else 0) + added
    verb = "Create" if before is None else "Append to" if args.mode == "append" else "Replace"
    facts = {"size before": size(before.size)} if before else {}
    if before is None and not path.parent.exists():
        facts["creates directory"] = str(path.parent)
    # What was appended can be cut off again; what was replaced is gone.
    keeps = before is None or args.mode == "append"
    return Impact(
        summary=f"{verb} {path} ({size(after)}).{'' if keeps else ' The present content is not kept.'}",
        count=1,
        bytes=after,
        samples=(str(path),),
        reversible=keeps,
        fingerprint=before.fingerprint if before else "absent",
        facts=facts | {"size after": size(after)},
        detail=_diff(before, args, path),
    )


def _diff(before: "_Before | None", args: WriteFile, path: Path) -> str:
    if (before and before.content is None) or len(args.content) > LARGEST_DIFF:
        return "Too large to show what changes."
    try:
        old = before.content.decode() if before and before.content else ""
    except UnicodeDecodeError:
        return "Not text; what changes cannot be shown."
    new = old + args.content if args.mode == "append" else args.content
    names = (str(path) if before else "/dev/null", str(path))
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="")
    return capped("\n".join(lines), LONGEST_DIFF) or "Nothing changes."


@tool(effects=_WRITES, paths=("path",), preview=_preview_write)
async def write_file(args: WriteFile, context: CallContext) -> str:
    """Write a text file. Replaces the whole content, appends to it, or creates a new file only."""
    path = located(args.path, context)
    return await in_thread(lambda _stop: _write(path, args))


def _write(path: Path, args: WriteFile) -> str:
    before = _before(path, args)
    content = args.content.encode()
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    if before and args.mode == "append":
        with target.open("ab") as file:
            file.write(content)
        return f"Appended {size(len(content))} to {path}."
    _replace(target, content, before.mode if before else 0o644)
    if before is None:
        return f"Created {path} with {size(len(content))}."
    return f"Wrote {path}: {size(before.size)} before, {size(len(content))} now."


def _replace(target: Path, content: bytes, mode: int) -> None:
    # Beside the target and then renamed: readers see the old content or the new, never half of it.
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)  # noqa: PTH105 (the name came from mkstemp)
    except BaseException:
        os.unlink(name)  # noqa: PTH108
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """A file as it is now."""

    size: int
    mode: int
    fingerprint: str
    #: None if it is too large to be shown.
    content: bytes | None


def _before(path: Path, args: WriteFile) -> _Before | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise ToolFailed(f"{path} is not a regular file")
    if args.mode == "create":
        raise ToolFailed(f"{args.path} exists already; use mode replace or append to change it")
    content = path.read_bytes() if status.st_size <= LARGEST_DIFF else None
    # Of a large file not the content but its state: reading gigabytes for a preview helps nobody.
    state = f"{status.st_ino}:{status.st_size}:{status.st_mtime_ns}"
    return _Before(
        size=status.st_size,
        mode=stat.S_IMODE(status.st_mode),
        fingerprint=state if content is None else hashlib.sha256(content).hexdigest(),
        content=content,
    )


def file_tools(clock: Clock) -> tuple[Tool[Any], ...]:
    return (find_files(clock), read_file, write_file)
