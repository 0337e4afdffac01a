"""The raw floor: the least that any durable engine must write, straight to SQLite, one hop per transaction.

Start: the run, its request, the model's turn and the interrupt in one transaction. Resume: the answer by
compare-and-swap, `started`, then result and end. A turn of a long run: the model's turn, then the result.
"""

import json
import sqlite3
from pathlib import Path
from typing import Any

import aiosqlite

SCHEMA = """
CREATE TABLE runs (run_id TEXT PRIMARY KEY, state TEXT NOT NULL, head TEXT NOT NULL);
CREATE TABLE entries (run_id TEXT NOT NULL, seq INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (run_id, seq));
CREATE TABLE interrupts (interrupt_id TEXT PRIMARY KEY, run_id TEXT NOT NULL, status TEXT NOT NULL, body TEXT NOT NULL);
"""


async def connect(path: Path) -> aiosqlite.Connection:
    db = await aiosqlite.connect(path, isolation_level=None)
    await db.execute("PRAGMA journal_mode = WAL")
    await db.execute("PRAGMA synchronous = FULL")
    await db.executescript(SCHEMA)
    return db


async def write(db: aiosqlite.Connection, *statements: tuple[str, tuple[Any, ...]]) -> int:
    """Run all statements in one transaction and one hop; return how many rows the first one changed."""
    raw: Any = db

    def work(connection: sqlite3.Connection) -> int:
        connection.execute("BEGIN IMMEDIATE")
        changed = [connection.execute(sql, args).rowcount for sql, args in statements]
        connection.execute("COMMIT")
        return changed[0]

    return await raw._execute(work, raw._conn)


RUN = "INSERT INTO runs VALUES (?, ?, ?)"
ENTRY = "INSERT INTO entries VALUES (?, ?, ?)"
INTERRUPT = "INSERT INTO interrupts VALUES (?, ?, 'open', ?)"
SETTLE = (
    "UPDATE interrupts SET status = 'settled', body = body || ? WHERE interrupt_id = ? AND status = 'open'"
)
STATE = "UPDATE runs SET state = ?, head = ? WHERE run_id = ?"


async def start(db: aiosqlite.Connection, run: str, turn: str) -> None:
    request = json.dumps({"kind": "user", "text": "please"})
    await write(
        db,
        (RUN, (run, "waiting", "{}")),
        (ENTRY, (run, 0, request)),
        (ENTRY, (run, 1, turn)),
        (INTERRUPT, (f"{run}-1", run, turn)),
    )


async def resume(db: aiosqlite.Connection, run: str) -> None:
    won = await write(db, (SETTLE, ("approved by ann", f"{run}-1")))
    if not won:
        return
    await write(db, (STATE, ("running", '{"started": "c1"}', run)))
    result = json.dumps({"kind": "result", "text": "done"})
    answer = json.dumps({"kind": "model", "text": "Done."})
    await write(db, (ENTRY, (run, 2, result)), (ENTRY, (run, 3, answer)), (STATE, ("done", "{}", run)))


async def long_turn(db: aiosqlite.Connection, run: str, seq: int, turn: str, result: str) -> None:
    await write(db, (ENTRY, (run, seq, turn)), (STATE, ("running", '{"started": "c1"}', run)))
    await write(db, (ENTRY, (run, seq + 1, result)), (STATE, ("running", "{}", run)))


def main() -> None:
    print("benchmarks.floor is what benchmarks.engine measures against.")
