"""find_files, read_file, write_file: one file at a time, or only looking."""

import difflib
import hashlib
import os
import stat
import tempfile
import threading
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from bot.domain.tool import READS, Effects, Impact
from bot.engine.ports import CallContext, Clock
from bot.tools.limits import capped
from bot.tools.tool import Arguments, Tool, ToolFailed, located, tool
from bot.tools.walk import Found, Selection, directory_of, in_thread
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
        selection = Selection(
            root=directory_of(located(args.path, context)),
            pattern=args.pattern,
            older_than_days=args.older_than_days,
            larger_than_bytes=args.larger_than_bytes,
            contains=args.contains,
            now=clock().timestamp(),
        )
        return await in_thread(lambda stop: _listing(selection, args.limit, stop))

    return find_files


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
        skipped = sum(1 for _ in islice(file, args.start_line - 1))
        lines = [_readable(line) for line in islice(file, args.max_lines)]
        more = bool(file.read(1))
    if not lines:
        return f"{path} is empty" if not skipped else f"{path} has only {many(skipped, 'line')}"
    text = "".join(lines)
    if not more:
        return text
    return f"{text.rstrip()}\n… more lines follow; go on with start_line={skipped + len(lines) + 1}"


def _readable(line: bytes) -> str:
    if len(line) <= LONGEST_LINE:
        return line.decode("utf-8", "replace")
    rest = f"… {len(line) - LONGEST_LINE:,} bytes of this line left out\n"
    return line[:LONGEST_LINE].decode("utf-8", "replace") + rest


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
    before = _content(path)
    after = _after(before, args)
    verb = "Create" if before is None else "Append to" if args.mode == "append" else "Replace"
    facts = {"size before": size(len(before))} if before is not None else {}
    if before is None and not path.parent.exists():
        facts["creates directory"] = str(path.parent)
    return Impact(
        summary=f"{verb} {path} ({size(len(after))}).{_undo(before, after)}",
        count=1,
        bytes=len(after),
        samples=(str(path),),
        reversible=before is None or after.startswith(before),
        fingerprint="absent" if before is None else hashlib.sha256(before).hexdigest(),
        facts=facts | {"size after": size(len(after))},
        detail=_diff(before, after, path),
    )


def _undo(before: bytes | None, after: bytes) -> str:
    if before == after:
        return " Nothing changes."
    return "" if before is None or after.startswith(before) else " The present content is not kept."


def _diff(before: bytes | None, after: bytes, path: Path) -> str:
    if max(len(before or b""), len(after)) > LARGEST_DIFF:
        return "Too large to show what changes."
    try:
        old, new = (before or b"").decode(), after.decode()
    except UnicodeDecodeError:
        return "Not text; what changes cannot be shown."
    names = ("/dev/null" if before is None else str(path), str(path))
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="")
    return capped("\n".join(lines), LONGEST_DIFF)


@tool(effects=_WRITES, paths=("path",), preview=_preview_write)
async def write_file(args: WriteFile, context: CallContext) -> str:
    """Write a text file. Replaces the whole content, appends to it, or creates a new file only."""
    path = located(args.path, context)
    return await in_thread(lambda _stop: _write(path, args))


def _write(path: Path, args: WriteFile) -> str:
    before = _content(path)
    after = _after(before, args)
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(target.stat().st_mode) if before is not None else 0o644
    _replace(target, after, mode)
    if before is None:
        return f"Created {path} with {size(len(after))}."
    return f"Wrote {path}: {size(len(before))} before, {size(len(after))} now."


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


def _content(path: Path) -> bytes | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise ToolFailed(f"{path} is not a regular file")
    return path.read_bytes()


def _after(before: bytes | None, args: WriteFile) -> bytes:
    if args.mode == "create" and before is not None:
        raise ToolFailed(f"{args.path} exists already; use mode replace or append to change it")
    content = args.content.encode()
    return (before or b"") + content if args.mode == "append" else content


def file_tools(clock: Clock) -> tuple[Tool[Any], ...]:
    return (find_files(clock), read_file, write_file)
