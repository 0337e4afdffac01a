"""What is done once in a while, by one process: the daily digest, and the removal of what is over."""

import asyncio
import json
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Literal, Protocol
from zoneinfo import ZoneInfo

from bot.domain.canonical import JsonObject
from bot.domain.ids import RunId
from bot.engine.ports import Clock, Post
from bot.engine.waiting import Audience, Waiting, digest_posts

#: Small steps, each a transaction of its own: between any two of them a click gets its turn.
RUNS_AT_ONCE = 10
ROWS_AT_ONCE = 200
PAGES_AT_ONCE = 64
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestPlan:
    audience: Audience
    at: time
    zone: ZoneInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Chores:
    """What the operator wants; None means never."""

    digest: DigestPlan | None = None
    keep_runs: timedelta | None = timedelta(days=90)
    keep_uses: timedelta = timedelta(days=90)
    #: Runs are written here before they are removed.
    archive: Path | None = None


class ChoreStore(Protocol):
    """What the chores need of the store; each call is one small transaction."""

    async def claim_mark(self, name: str, at: datetime, posts: tuple[Post, ...] = ()) -> bool: ...
    async def waiting(self) -> tuple[tuple[Waiting, ...], int]: ...
    async def removable(self, before: datetime, *, limit: int) -> tuple[RunId, ...]: ...
    async def export(self, run_id: RunId) -> JsonObject | None: ...
    async def remove_runs(
        self, runs: tuple[RunId, ...], before: datetime, now: datetime
    ) -> tuple[RunId, ...]: ...
    async def remove_leftovers(self, *, limit: int) -> bool: ...
    async def forget(
        self, name: Literal["uses", "grants", "posts"], before: datetime, *, limit: int
    ) -> int: ...
    async def shrink(self, *, pages: int) -> bool: ...


async def do_chores(store: ChoreStore, chores: Chores, clock: Clock) -> None:
    """Do what is due; several processes may call it at once."""
    if chores.digest is not None:
        await post_digest(store, chores.digest, clock())
    now = clock()
    if await store.claim_mark("retention", now.replace(minute=0, second=0, microsecond=0)):
        await retain(store, chores, now)


async def post_digest(store: ChoreStore, plan: DigestPlan, now: datetime) -> bool:
    """Post today's digest if it is time and nobody did; return whether this call did."""
    local = now.astimezone(plan.zone)
    due = datetime.combine(local.date(), plan.at, plan.zone).astimezone(UTC)
    if now < due:
        return False
    waiting, _total = await store.waiting()
    posts = digest_posts(waiting, plan.audience, at=now, day=f"{local:%Y-%m-%d}")
    return await store.claim_mark("digest", due, posts)


async def retain(store: ChoreStore, chores: Chores, now: datetime) -> int:
    """Remove what was kept long enough, and give the space back; return how many runs are gone."""
    gone = 0
    # A process that died half way left some rows behind.
    await _sweep_up(store)
    if chores.keep_runs is not None:
        before = now - chores.keep_runs
        while runs := await store.removable(before, limit=RUNS_AT_ONCE):
            if chores.archive is not None:
                await _archive(store, runs, chores.archive / f"runs-{now:%Y-%m}.jsonl")
            gone += len(await store.remove_runs(runs, before, now))
            await _sweep_up(store)
        await _forget(store, "grants", before)
        await _forget(store, "posts", before)
    await _forget(store, "uses", now - chores.keep_uses)
    while await store.shrink(pages=PAGES_AT_ONCE):
        pass
    return gone


async def _sweep_up(store: ChoreStore) -> None:
    while await store.remove_leftovers(limit=ROWS_AT_ONCE):
        pass


async def _forget(store: ChoreStore, name: Literal["uses", "grants", "posts"], before: datetime) -> None:
    while await store.forget(name, before, limit=ROWS_AT_ONCE):
        pass


async def _archive(store: ChoreStore, runs: tuple[RunId, ...], file: Path) -> None:
    """Write first, then remove: a crash in between archives a run twice, never not at all."""
    for run_id in runs:
        record = await store.export(run_id)
        if record is not None:
            await asyncio.to_thread(_append, file, json.dumps(record, ensure_ascii=False))


def _append(file: Path, line: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as archive:
        archive.write(line + "\n")
