"""delete_files, move_files, restore_files: many files at once, measured before they are touched.

The filter that was measured is the filter that is executed, in the same order, by the same walk. There is no
fingerprint in the impact: in a directory that is in use, files come and age by the minute, and a question
that is outdated as soon as it is asked would never be settled. Count and bytes are compared instead, with a
tolerance that is the engine's.
"""

import hashlib
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from bot.domain.canonical import JsonObject
from bot.domain.ids import readable
from bot.domain.tool import Alternative, Effects, Impact, Planned
from bot.engine.ports import CallContext, Clock
from bot.tools import staging
from bot.tools.staging import Receipt
from bot.tools.threads import in_thread
from bot.tools.tool import Arguments, Output, Tool, ToolFailed, located, tool
from bot.tools.walk import DAY, STAGING, Found, Selection, start_of
from bot.tools.words import day, many, size

YEAR = 365
_SAMPLES = 5
#: Never walked from, whatever the policy says: nobody means these.
_SYSTEM = "bin boot dev etc home lib lib64 opt proc root run sbin sys usr var"
_TOO_MUCH = frozenset({"/", *(f"/{name}" for name in _SYSTEM.split())})
_NO_FILES = ("/dev", "/proc", "/sys")


class BulkArguments(Arguments):
    path: str = Field(description="Directory, with everything below it; or one file")
    pattern: str = Field("*", description="*.tmp matches names at any depth; build/**/*.o matches paths")
    older_than_days: float = Field(0, ge=0, description="Only files last changed at least this long ago")
    max_files: int | None = Field(None, ge=1, description="Touch nothing if more files than this match")


class DeleteFiles(BulkArguments):
    pass


class MoveFiles(BulkArguments):
    to: str = Field(description="Directory in which a new batch is made; files keep their path in it")


class RestoreFiles(Arguments):
    batch: str = Field(description="The batch, as the move reported it")
    to: str | None = Field(None, description="Where the files came from; only needed for a staging elsewhere")


@dataclass(slots=True)
class Measured:
    """What a selection holds, in bounded memory."""

    count: int = 0
    bytes: int = 0
    oldest: float = float("inf")
    newest: float = float("-inf")
    samples: list[str] = field(default_factory=list[str])
    #: Of these, files that are at least a year old.
    old_count: int = 0
    old_bytes: int = 0

    def add(self, found: Found, year_ago: float) -> None:
        self.count += 1
        self.bytes += found.size
        self.oldest = min(self.oldest, found.modified)
        self.newest = max(self.newest, found.modified)
        if found.modified <= year_ago:
            self.old_count += 1
            self.old_bytes += found.size
        if len(self.samples) < _SAMPLES:
            self.samples.append(f"{found.path} ({size(found.size)}, {day(found.modified)})")

    @property
    def what(self) -> str:
        return f"{many(self.count, 'file')} ({size(self.bytes)})"

    @property
    def facts(self) -> dict[str, str]:
        return {"oldest": day(self.oldest), "newest": day(self.newest)} if self.count else {}

    def impact(self, summary: str, *, reversible: bool, alternatives: tuple[Alternative, ...] = ()) -> Impact:
        return Impact(
            summary=summary,
            count=self.count,
            bytes=self.bytes,
            samples=tuple(self.samples),
            reversible=reversible,
            facts=self.facts,
            alternatives=alternatives,
        )


def measure(selection: Selection, stop: threading.Event) -> Measured:
    measured = Measured()
    year_ago = selection.now - YEAR * DAY
    for found in selection.files(stop):
        measured.add(found, year_ago)
    return measured


def _selection(args: BulkArguments, context: CallContext, clock: Clock) -> Selection:
    root, only = start_of(located(args.path, context))
    if not only and (str(root) in _TOO_MUCH or str(root).startswith(tuple(f"{path}/" for path in _NO_FILES))):
        raise ToolFailed(f"{root} is too much: name a directory inside it")
    return Selection(
        root=root,
        only=only,
        pattern=args.pattern,
        older_than_days=args.older_than_days,
        now=clock().timestamp(),
    )


def _checked(selection: Selection, args: BulkArguments, stop: threading.Event) -> Measured:
    """Measure once more, now; refuse if it is more than the call allows."""
    measured = measure(selection, stop)
    if args.max_files is not None and measured.count > args.max_files:
        found = many(measured.count, "file")
        raise ToolFailed(f"Nothing was touched: {found} match, more than max_files {args.max_files}.")
    return measured


# ── Delete ───────────────────────────────────────────────────────────────────────────────────────────────


def delete_files(clock: Clock, staging_directory: str | None = None) -> Tool[DeleteFiles]:
    async def preview(args: DeleteFiles, context: CallContext) -> Impact:
        return await in_thread(lambda stop: _preview_delete(args, context, stop))

    def _preview_delete(args: DeleteFiles, context: CallContext, stop: threading.Event) -> Impact:
        selection = _selection(args, context, clock)
        found = measure(selection, stop)
        if not found.count:
            return Impact(
                summary=f"Nothing to delete: no file in {selection.root} matches.", count=0, bytes=0
            )
        aside = staging_directory or str(selection.root / STAGING)
        return found.impact(
            f"Delete {found.what} in {selection.root}. Cannot be undone.",
            reversible=False,
            alternatives=(*_only_old(found, args, selection), _staged(found, args, selection, aside)),
        )

    @tool(
        effects=Effects(destructive=True, idempotent=False, open_world=False),
        paths=("path",),
        seconds=600,
        preview=preview,
    )
    async def delete_files(args: DeleteFiles, context: CallContext) -> Output:
        """Delete files by directory, name pattern and age. Directories stay. There is no undo.

        Links are not followed and other file systems are not entered.
        """

        def work(stop: threading.Event) -> Receipt:
            selection = _selection(args, context, clock)
            if args.max_files is not None:
                _checked(selection, args, stop)
            return delete(selection, args.max_files, stop)

        receipt = await in_thread(work)
        return _told(receipt, f"{many(receipt.count, 'file')} deleted, {size(receipt.bytes)} freed")

    return delete_files


def delete(selection: Selection, most: int | None, stop: threading.Event) -> Receipt:
    receipt = Receipt()
    for found in selection.files(stop):
        if most is not None and receipt.count >= most:
            break  # more came in between
        try:
            os.unlink(found.name, dir_fd=found.directory)
        except OSError as error:
            receipt.failed(found, error)
        else:
            receipt.done(found)
    return receipt


def _only_old(found: Measured, args: DeleteFiles, selection: Selection) -> tuple[Alternative, ...]:
    if not 0 < found.old_count < found.count or args.older_than_days >= YEAR:
        return ()
    kept = found.count - found.old_count
    planned = Planned(tool="delete_files", args=_given(args) | {"older_than_days": YEAR})
    what = f"{many(found.old_count, 'file')} ({size(found.old_bytes)})"
    return (
        Alternative(
            label=f"Older than 1 year ({found.old_count:,})",
            consequence=f"{size(found.old_bytes)} removed, {many(kept, 'newer file')} kept",
            planned=planned,
            impact=Impact(
                summary=f"Delete {what} older than 1 year in {selection.root}. Cannot be undone.",
                count=found.old_count,
                bytes=found.old_bytes,
                reversible=False,
                facts={"oldest": day(found.oldest), "kept": many(kept, "newer file")},
            ),
        ),
    )


def _staged(found: Measured, args: DeleteFiles, selection: Selection, aside: str) -> Alternative:
    return Alternative(
        label=f"Move to staging ({found.count:,})",
        consequence=f"nothing removed, {size(found.bytes)} moved to {aside}, can be restored",
        planned=Planned(tool="move_files", args=_given(args) | {"to": aside}),
        impact=found.impact(_move_summary(found, selection, Path(aside)), reversible=True),
    )


def _given(args: BulkArguments) -> JsonObject:
    """Return the arguments that were given; what was left to its default stays so."""
    return args.model_dump(exclude_unset=True)


# ── Move aside and back ──────────────────────────────────────────────────────────────────────────────────


def move_files(clock: Clock) -> Tool[MoveFiles]:
    async def preview(args: MoveFiles, context: CallContext) -> Impact:
        return await in_thread(lambda stop: _preview_move(args, context, stop))

    def _preview_move(args: MoveFiles, context: CallContext, stop: threading.Event) -> Impact:
        selection = _without_target(_selection(args, context, clock), located(args.to, context))
        found = measure(selection, stop)
        return found.impact(_move_summary(found, selection, located(args.to, context)), reversible=True)

    @tool(
        effects=Effects(destructive=True, idempotent=False, open_world=False),
        paths=("path", "to"),
        seconds=600,
        preview=preview,
    )
    async def move_files(args: MoveFiles, context: CallContext) -> Output:
        """Move files aside by directory, name pattern and age, into a batch that restore_files can undo."""

        def work(stop: threading.Event) -> Output:
            batch = located(args.to, context).resolve() / _batch_name(context)
            selection = _without_target(_selection(args, context, clock), batch.parent)
            if not _checked(selection, args, stop).count:
                return Output(text=f"Nothing was moved: no file in {selection.root} matches.")
            receipt = staging.stage(selection, batch, stop)
            told = f"{many(receipt.count, 'file')} ({size(receipt.bytes)}) moved to {batch}"
            return _told(receipt, told, f" Undo with restore_files, batch {str(batch)!r}.")

        return await in_thread(work)

    return move_files


def _without_target(selection: Selection, target: Path) -> Selection:
    if not target.exists():
        return selection
    status = target.stat()
    return selection.leaving_out((status.st_dev, status.st_ino))


def _move_summary(found: Measured, selection: Selection, to: Path) -> str:
    return f"Move {found.what} from {selection.root} to {to}. Can be restored."


def _batch_name(context: CallContext) -> str:
    # Derived, not random: the same call tried again goes on with the same batch.
    key = hashlib.sha256(context.idempotency_key.encode()).digest()
    return readable(int.from_bytes(key[:8]), 8)


def restore_files(clock: Clock) -> Tool[RestoreFiles]:
    def batch_of(args: RestoreFiles, context: CallContext) -> tuple[Selection, Path]:
        batch = located(args.batch, context).resolve()
        root = staging.origin(batch, located(args.to, context).resolve() if args.to else None)
        return Selection(root=batch, now=clock().timestamp()), root

    async def preview(args: RestoreFiles, context: CallContext) -> Impact:
        return await in_thread(lambda stop: _preview_restore(*batch_of(args, context), stop))

    @tool(
        effects=Effects(destructive=False, idempotent=True, open_world=False),
        paths=("batch", "to"),
        seconds=600,
        preview=preview,
    )
    async def restore_files(args: RestoreFiles, context: CallContext) -> Output:
        """Put staged files back where they came from. What is there by now is never overwritten."""
        receipt, root = await in_thread(lambda stop: _restore(*batch_of(args, context), stop))
        kept = (
            f", {receipt.kept:,} left in staging because something is in their place" if receipt.kept else ""
        )
        return _told(
            receipt, f"{many(receipt.count, 'file')} ({size(receipt.bytes)}) put back to {root}{kept}"
        )

    return restore_files


def _restore(selection: Selection, root: Path, stop: threading.Event) -> tuple[Receipt, Path]:
    return staging.restore(selection, root, stop), root


def _preview_restore(selection: Selection, root: Path, stop: threading.Event) -> Impact:
    measured = Measured()
    taken = 0
    for found in selection.files(stop):
        if staging.occupied(found, root):
            taken += 1
        else:
            measured.add(found, 0)
    left = f" {taken:,} stay in staging: something is in their place." if taken else ""
    return measured.impact(f"Put {measured.what} back to {root}.{left}", reversible=True)


def _told(receipt: Receipt, what: str, more: str = "") -> Output:
    """Write the receipt: what was done, what was not, and why."""
    failures = receipt.failures
    reasons = "".join(f"\n- {failure}" for failure in failures[:_SAMPLES])
    rest = f"\n- … {len(failures) - _SAMPLES:,} more" if len(failures) > _SAMPLES else ""
    return Output(
        text=f"{what}; {len(failures):,} failed.{more}{reasons}{rest}", status="error" if failures else "ok"
    )


def bulk_tools(clock: Clock, staging_directory: str | None = None) -> tuple[Tool[Any], ...]:
    return (delete_files(clock, staging_directory), move_files(clock), restore_files(clock))
