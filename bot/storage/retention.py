"""Removing what is over, in steps so small that no click waits for them. The audit log is never touched.

A run goes in one transaction: its head is removed and counted in the audit log, so that from then on nobody knows
it. Its rows follow in steps of their own; which runs still have some is itself a row, so that a crash in between
leaves nothing behind.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bot.domain.audit import AuditFact
from bot.domain.canonical import JsonObject
from bot.domain.ids import RunId
from bot.storage import transactions as tx
from bot.storage.codec import micros
from bot.storage.transactions import Transaction


def removable(before: datetime, limit: int) -> Transaction[tuple[RunId, ...]]:
    """Runs that ended before, and from which no kept run goes on; the oldest first."""
    rows = yield "removable_runs", (micros(before), limit)
    return tuple(RunId(row[0]) for row in rows)


def remove_runs(runs: Sequence[RunId], before: datetime, now: datetime) -> Transaction[tuple[RunId, ...]]:
    """Forget these runs, unless somebody went on from one meanwhile; return those that are gone."""
    gone: list[RunId] = []
    for run_id in runs:
        if (yield "remove_run", (run_id, micros(before))):
            yield "remove_base", (run_id,)
            yield "insert_leftover", (run_id,)
            gone.append(run_id)
    if gone:
        body: JsonObject = {"runs": len(gone), "ids": [str(run_id) for run_id in gone]}
        yield from tx.record((AuditFact(kind="retention", at=now, run_id=None, body=body),))
    return tuple(gone)


def remove_leftovers(limit: int) -> Transaction[bool]:
    """Remove some rows of a run that is gone; return whether there may be more."""
    rows = yield "leftovers", ()
    if not rows:
        return False
    run_id = rows[0][0]
    removed = yield "remove_entries", (run_id, limit)
    if len(removed) < limit:
        for statement in (
            "remove_votes",
            "remove_timers",
            "remove_interrupts",
            "remove_notes",
            "remove_posts",
        ):
            yield statement, (run_id,)
        yield "remove_leftover", (run_id,)
    return True


def forget(name: str, before: datetime, limit: int) -> Transaction[int]:
    """Remove some old uses, grants or posts; return how many."""
    rows = yield f"forget_{name}", (micros(before), limit)
    return len(rows)


def export(run_id: RunId) -> Transaction[JsonObject | None]:
    """Everything stored about a run, as it is stored."""
    heads = yield "run", (run_id,)
    if not heads:
        return None
    _, state, version, _owner, updated, format_version, head = heads[0]
    # Only the run's own entries: what it goes on from is archived as itself.
    entries = yield "all_entries", (run_id,)
    interrupts = yield "interrupts_of_run", (run_id,)
    return {
        "run": run_id,
        "format": format_version,
        "state": state,
        "version": version,
        "updated_at": updated,
        "head": json.loads(head),
        "entries": [{"seq": seq, "at": at, "item": json.loads(text)} for seq, at, _v, text in entries],
        "interrupts": [
            {"id": row[0], "interrupt": json.loads(row[4]), "outcome": _json(row[5])} for row in interrupts
        ],
    }


def _json(text: str | None) -> Any:
    return json.loads(text) if text else None
