"""SQLite through aiosqlite: WAL, durable commits, one hop to its thread per transaction."""

import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiosqlite

from bot.domain.errors import ConfigError
from bot.storage.statements import migrations, split_script, statements
from bot.storage.transactions import T, Transaction

#: How long a writer waits for another process; far more than any transaction of ours takes.
_BUSY_SECONDS = 30.0


class SqliteDatabase:
    """One connection that writes and one that reads, so that looking never waits behind writing."""

    def __init__(self, writer: aiosqlite.Connection, reader: aiosqlite.Connection) -> None:
        self._writer = writer
        self._reader = reader
        self._sql = statements()

    async def write(self, transaction: Transaction[T]) -> T:
        return await _in_its_thread(self._writer, self._run_writing, transaction)

    async def read(self, transaction: Transaction[T]) -> T:
        return await _in_its_thread(self._reader, self._run_reading, transaction)

    def _run_writing(self, connection: sqlite3.Connection, transaction: Transaction[T]) -> T:
        # IMMEDIATE takes the write lock first: what is read inside cannot change before the commit.
        connection.execute("BEGIN IMMEDIATE")
        try:
            result = self._drive(connection, transaction)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
        return result

    def _run_reading(self, connection: sqlite3.Connection, transaction: Transaction[T]) -> T:
        connection.execute("BEGIN")
        try:
            return self._drive(connection, transaction)
        finally:
            connection.execute("COMMIT")

    def _drive(self, connection: sqlite3.Connection, transaction: Transaction[T]) -> T:
        try:
            name, args = next(transaction)
            while True:
                rows = connection.execute(self._sql[name], _named(args)).fetchall()
                name, args = transaction.send(rows)
        except StopIteration as finished:
            return finished.value


@asynccontextmanager
async def open_sqlite(path: Path) -> AsyncGenerator[SqliteDatabase]:
    """Open the file, create or migrate it, and close it at the end.

    Raises:
        ConfigError: the file cannot be used; the message says why.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        async with _connect(path) as writer, _connect(path) as reader:
            await _in_its_thread(writer, _migrate, path)
            yield SqliteDatabase(writer, reader)
    except (sqlite3.DatabaseError, OSError) as error:
        raise ConfigError(f"The database {path} cannot be used: {error}. Set ASKFIRST_DATABASE.") from error


@asynccontextmanager
async def _connect(path: Path) -> AsyncGenerator[aiosqlite.Connection]:
    # isolation_level=None: we say BEGIN ourselves.
    async with aiosqlite.connect(path, timeout=_BUSY_SECONDS, isolation_level=None) as connection:
        # Before anything is written, or it has no effect; retention relies on it.
        await connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        await connection.execute("PRAGMA journal_mode = WAL")
        # FULL: a commit that returned survives a power cut. Everything here relies on that.
        await connection.execute("PRAGMA synchronous = FULL")
        yield connection


async def _in_its_thread(connection: aiosqlite.Connection, work: Any, argument: Any) -> Any:
    # aiosqlite offers only single statements, each a hop to its thread and back. A whole transaction in one
    # hop halves the latency (see benchmarks), hence the two private names, used here and nowhere else.
    raw: Any = connection
    return await raw._execute(work, raw._conn, argument)  # noqa: SLF001


def _named(args: tuple[Any, ...]) -> dict[str, Any]:
    """SQLite reads `$1` as a parameter named "1"."""
    return {_NUMBERS[place]: value for place, value in enumerate(args)}


_NUMBERS = [str(number) for number in range(1, 33)]


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        _apply_migrations(connection, path)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _apply_migrations(connection: sqlite3.Connection, path: Path) -> None:
    current: int = connection.execute("PRAGMA user_version").fetchone()[0]
    steps = migrations()
    if current > steps[-1][0]:
        raise ConfigError(f"The database {path} was written by a newer Askfirst (schema {current}). Upgrade.")
    for number, script in steps:
        if number > current:
            for statement in split_script(script):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
