"""delete_files: many files at once, measured before they are touched, with the options people have.

The filter that was measured is the filter that is executed, in the same order, by the same walk. There is no
fingerprint in the impact: in a directory that is in use, files come and age by the minute, and a question
that is outdated as soon as it is asked would never be settled. Count and bytes are compared instead, with a
tolerance that is the engine's.
"""

import os
import threading
from pathlib import Path

from bot.domain.canonical import JsonObject
from bot.domain.tool import Alternative, Effects, Impact, Planned
from bot.engine.ports import CallContext, Clock
from bot.tools.builtin.measure import (
    YEAR,
    BulkArguments,
    Measured,
    checked,
    measure,
    move_summary,
    selected,
    told,
)
from bot.tools.staging import Receipt
from bot.tools.threads import in_thread
from bot.tools.tool import Output, Tool, tool
from bot.tools.walk import STAGING, Selection
from bot.tools.words import day, many, size


class DeleteFiles(BulkArguments):
    pass


def delete_files(clock: Clock, staging_directory: str | None = None) -> Tool[DeleteFiles]:
    async def preview(args: DeleteFiles, context: CallContext) -> Impact:
        return await in_thread(lambda stop: _preview_delete(args, context, stop))

    def _preview_delete(args: DeleteFiles, context: CallContext, stop: threading.Event) -> Impact:
        selection = selected(args, context, clock)
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
            selection = selected(args, context, clock)
            if args.max_files is not None:
                checked(selection, args, stop)
            return delete(selection, args.max_files, stop)

        receipt = await in_thread(work)
        return told(receipt, f"{many(receipt.count, 'file')} deleted, {size(receipt.bytes)} freed")

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
        impact=found.impact(move_summary(found, selection, Path(aside)), reversible=True),
    )


def _given(args: BulkArguments) -> JsonObject:
    """Return the arguments that were given; what was left to its default stays so."""
    return args.model_dump(exclude_unset=True)
