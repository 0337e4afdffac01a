"""SQLite through aiosqlite: WAL, durable commits, one hop to its thread per transaction."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import aiosqlite

from bot.domain.errors import ConfigError
from bot.storage.statements import migrations, split_script, statements
from bot.storage.transactions import T, Transaction

#: How long a writer waits for another process; far more than any transaction of ours takes.
_BUSY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _Failed:
    """A transaction of a batch that was rolled back."""

    error: BaseException


_Waiting: TypeAlias = tuple[Transaction[Any], asyncio.Future[Any]]


class SqliteDatabase:
    """One connection that writes and one that reads, so that looking never waits behind writing.

    Transactions that are waiting when the writer becomes free share one commit. Each is still all or nothing:
    a failing one is rolled back to where it began, and nobody is told of success before the commit.
    """

    def __init__(self, writer: aiosqlite.Connection, reader: aiosqlite.Connection) -> None:
        self._writer = writer
        self._reader = reader
        self._sql = statements()
        self._waiting: list[_Waiting] = []
        self._writing = False

    async def write(self, transaction: Transaction[T]) -> T:
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((transaction, done))
        self._write_next()
        return await done

    def _write_next(self) -> None:
        """Hand everything that waits to the writer's thread, unless it is busy."""
        if self._writing or not self._waiting:
            return
        batch, self._waiting, self._writing = self._waiting, [], True
        work = [transaction for transaction, _ in batch]
        written = _hop(self._writer, self._run_writing, work)
        written.add_done_callback(lambda results: self._written(batch, results))

    def _written(self, batch: "list[_Waiting]", written: "asyncio.Future[list[Any]]") -> None:
        self._writing = False
        self._write_next()
        failure = written.exception()
        results: list[Any] = [_Failed(failure)] * len(batch) if failure else written.result()
        for (_, done), result in zip(batch, results, strict=True):
            if done.cancelled():
                continue
            if isinstance(result, _Failed):
                done.set_exception(result.error)
            else:
                done.set_result(result)

    async def read(self, transaction: Transaction[T]) -> T:
        return await _hop(self._reader, self._run_reading, transaction)

    async def shrink(self, pages: int) -> bool:
        return await _hop(self._writer, _vacuum, pages)

    def _run_writing(self, connection: sqlite3.Connection, batch: list[Transaction[Any]]) -> list[Any]:
        # IMMEDIATE takes the write lock first: what is read inside cannot change before the commit.
        connection.execute("BEGIN IMMEDIATE")
        try:
            results = [self._run_one(connection, transaction) for transaction in batch]
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        return results

    def _run_one(self, connection: sqlite3.Connection, transaction: Transaction[Any]) -> Any:
        connection.execute("SAVEPOINT one")
        try:
            result = self._drive(connection, transaction)
        except Exception as error:  # noqa: BLE001 - told to whoever asked for it
            connection.execute("ROLLBACK TO one")
            result = _Failed(error)
        connection.execute("RELEASE one")
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
            await _hop(writer, _migrate, path)
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


def _hop(
    connection: aiosqlite.Connection, work: Callable[..., Any], argument: object
) -> "asyncio.Future[Any]":
    """Do `work` in the connection's thread.

    aiosqlite offers only single statements, each a hop to its thread and back. A whole transaction in one hop
    halves the latency (see benchmarks), hence the two private names, used here and nowhere else.
    """
    raw: Any = connection
    done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    raw._tx.put_nowait((done, partial(work, raw._conn, argument)))  # noqa: SLF001
    return done


def _vacuum(connection: sqlite3.Connection, pages: int) -> bool:
    # Its rows must be fetched: each step of the statement gives back one page.
    connection.execute(f"PRAGMA incremental_vacuum({int(pages)})").fetchall()
    unused: int = connection.execute("PRAGMA freelist_count").fetchone()[0]
    if not unused:
        # The file itself is cut when the log has been written back; a reader in the way only postpones it.
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    return unused > 0


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
