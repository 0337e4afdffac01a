"""move_files, restore_files: aside and back."""

import hashlib
import threading
from pathlib import Path

from pydantic import Field

from bot.domain.ids import readable
from bot.domain.tool import Effects, Impact
from bot.engine.ports import CallContext, Clock
from bot.tools import staging
from bot.tools.builtin.measure import BulkArguments, Measured, checked, measure, move_summary, selected, told
from bot.tools.staging import Receipt
from bot.tools.threads import in_thread
from bot.tools.tool import Arguments, Output, Tool, located, tool
from bot.tools.walk import Selection
from bot.tools.words import many, size


class MoveFiles(BulkArguments):
    to: str = Field(description="Directory in which a new batch is made; files keep their path in it")


class RestoreFiles(Arguments):
    batch: str = Field(description="The batch, as the move reported it")
    to: str | None = Field(None, description="Where the files came from; only needed for a staging elsewhere")


def move_files(clock: Clock) -> Tool[MoveFiles]:
    async def preview(args: MoveFiles, context: CallContext) -> Impact:
        return await in_thread(lambda stop: _preview_move(args, context, stop))

    def _preview_move(args: MoveFiles, context: CallContext, stop: threading.Event) -> Impact:
        selection = _without_target(selected(args, context, clock), located(args.to, context))
        found = measure(selection, stop)
        return found.impact(move_summary(found, selection, located(args.to, context)), reversible=True)

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
            selection = _without_target(selected(args, context, clock), batch.parent)
            if not checked(selection, args, stop).count:
                return Output(text=f"Nothing was moved: no file in {selection.root} matches.")
            receipt = staging.stage(selection, batch, stop)
            what = f"{many(receipt.count, 'file')} ({size(receipt.bytes)}) moved to {batch}"
            return told(receipt, what, f" Undo with restore_files, batch {str(batch)!r}.")

        return await in_thread(work)

    return move_files


def _without_target(selection: Selection, target: Path) -> Selection:
    if not target.exists():
        return selection
    status = target.stat()
    return selection.leaving_out((status.st_dev, status.st_ino))


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
        return told(
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
