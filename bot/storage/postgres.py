"""PostgreSQL through asyncpg, for several replicas on one database. The same transactions as on SQLite."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from bot.domain.errors import ConfigError
from bot.storage.statements import migrations, split_script, statements
from bot.storage.transactions import T, Transaction

#: Writers take turns, as on SQLite: each appends to one audit chain, so they would wait for each other anyway,
#: and with one lock taken first they can neither deadlock nor see half of another's work.
_LOCK = "SELECT pg_advisory_xact_lock(4927061830)"


class PostgresDatabase:
    """A pool of connections; each transaction runs on one of them."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._sql = statements()

    async def write(self, transaction: Transaction[T]) -> T:
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(_LOCK)
            return await self._drive(connection, transaction)

    async def read(self, transaction: Transaction[T]) -> T:
        # One snapshot for all queries of a look, as on SQLite.
        async with (
            self._pool.acquire() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            return await self._drive(connection, transaction)

    async def shrink(self, pages: int) -> bool:  # noqa: ARG002 - autovacuum does this on its own
        return False

    async def _drive(self, connection: Any, transaction: Transaction[T]) -> T:
        try:
            name, args = next(transaction)
            while True:
                rows = await connection.fetch(self._sql[name], *args)
                name, args = transaction.send([tuple(row.values()) for row in rows])
        except StopIteration as finished:
            return finished.value


@asynccontextmanager
async def open_postgres(url: str) -> AsyncGenerator[PostgresDatabase]:
    """Connect, create or migrate the schema, and close at the end.

    Raises:
        ConfigError: the server cannot be reached or used; the message says what to check.
    """
    try:
        # asyncpg is only partly typed; what comes out of it is checked by the contract tests.
        create_pool: Any = asyncpg.create_pool  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        pool = await create_pool(url, min_size=1, max_size=8)
    except (OSError, asyncpg.PostgresError) as error:
        raise ConfigError(f"PostgreSQL cannot be used: {error}. Check ASKFIRST_DATABASE.") from error
    async with pool:
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute(_LOCK)
            await _migrate(connection)
        yield PostgresDatabase(pool)


async def _migrate(connection: Any) -> None:
    await connection.execute("CREATE TABLE IF NOT EXISTS askfirst_schema (version INTEGER PRIMARY KEY)")
    current = await connection.fetchval("SELECT COALESCE(MAX(version), 0) FROM askfirst_schema")
    steps = migrations()
    if current > steps[-1][0]:
        raise ConfigError(f"The database was written by a newer Askfirst (schema {current}). Upgrade.")
    for number, script in steps:
        if number > current:
            for statement in split_script(script):
                # The one thing the two engines spell differently.
                await connection.execute(statement.replace("INTEGER PRIMARY KEY", "BIGINT PRIMARY KEY"))
            await connection.execute("INSERT INTO askfirst_schema VALUES ($1)", number)
