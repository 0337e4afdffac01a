"""Transactions of the HTTP API: tokens, what is new in a run, changes to a waiting one, figures for a scrape."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from bot.domain.audit import AuditFact
from bot.domain.errors import AlreadyResumed, CheckpointNotFound, LostRace
from bot.domain.ids import RunId, ThreadId, UserId
from bot.domain.interrupt import Asked
from bot.domain.run import Head
from bot.domain.token import Token
from bot.domain.transcript import Entry
from bot.storage.codec import HEAD, INTERRUPT, ITEM, micros, moment
from bot.storage.transactions import (
    PAGE,
    Row,
    Transaction,
    interrupts_of_run,
    load_head,
    record,
    state_counts,
)

#: How many records one look at the feed takes.
FEED = 5000


def add_token(token: Token) -> Transaction[bool]:
    scopes, groups = json.dumps(sorted(token.scopes)), json.dumps(sorted(token.groups))
    about = (token.person, scopes, groups, token.channel, micros(token.created_at))
    rows = yield "insert_token", (token.name, token.hash, *about)
    return bool(rows)


def token_by_hash(hash_: str) -> Transaction[Token | None]:
    rows = yield "token_by_hash", (hash_,)
    return _token(rows[0]) if rows else None


def tokens_of(person: UserId) -> Transaction[tuple[Token, ...]]:
    rows = yield "tokens_of", (person,)
    return tuple(_token(row) for row in rows)


def list_tokens() -> Transaction[tuple[Token, ...]]:
    rows = yield "list_tokens", ()
    return tuple(_token(row) for row in rows)


def revoke_token(name: str, now: datetime) -> Transaction[bool]:
    rows = yield "revoke_token", (name, micros(now))
    return bool(rows)


def _token(row: Row) -> Token:
    name, hash_, person, scopes, groups, channel, created_at, revoked_at = row
    return Token(
        name=name,
        hash=hash_,
        person=UserId(person),
        scopes=frozenset(json.loads(scopes)),
        groups=frozenset(json.loads(groups)),
        channel=channel,
        created_at=moment(created_at),
        revoked_at=moment(revoked_at) if revoked_at is not None else None,
    )


# ── Runs ─────────────────────────────────────────────────────────────────────────────────────────────────


def progress(run_id: RunId, entry: int) -> Transaction[tuple[Head, list[Entry], tuple[Asked, ...]]]:
    """Return the run, its own entries from `entry` on and all its interrupts, as they are at one moment."""
    head = yield from load_head(run_id)
    if head is None:
        raise CheckpointNotFound(run_id)
    rows = yield "entries_from", (run_id, entry, head.cursor)
    entries = [
        Entry(seq=seq, at=moment(at), item=ITEM.read(text, version, f"{run_id}/{seq}"))
        for seq, at, version, text in rows
    ]
    return head, entries, (yield from interrupts_of_run(run_id))


def runs_of_thread(thread: ThreadId) -> Transaction[tuple[Head, ...]]:
    rows = yield "runs_of_thread", (thread, PAGE)
    return tuple(_head(row) for row in rows)


def heads_of(requester: UserId, limit: int) -> Transaction[tuple[Head, ...]]:
    rows = yield "list_runs_of", (limit, requester)
    return tuple(_head(row) for row in rows)


def change_waiting(
    run_id: RunId, change: Callable[[Head], Head], fact: AuditFact, version: int | None
) -> Transaction[Head]:
    """Rewrite the head of a run that waits for people; nobody owns it, so the version alone decides."""
    yield "lock_run", (run_id,)
    head = yield from load_head(run_id)
    if head is None:
        raise CheckpointNotFound(run_id)
    if head.state != "waiting":
        raise AlreadyResumed(run_id, head.state)
    if version is not None and head.version != version:
        raise LostRace(run_id)
    body = HEAD.write(change(head), leave_out={"state", "version"})
    rows = yield "change_waiting_run", (run_id, head.version, body, micros(fact.at))
    if not rows:
        raise LostRace(run_id)
    yield from record((fact,))
    changed = yield from load_head(run_id)
    assert changed is not None
    return changed


def touched_since(seq: int) -> Transaction[tuple[int, frozenset[RunId]]]:
    """Return where the feed is now, and which runs changed since `seq`; a negative one means: only where."""
    if seq < 0:
        last = yield "last_audit", ()
        return (last[0][0] if last else 0), frozenset()
    rows = yield "runs_touched_since", (seq, FEED)
    runs = frozenset(RunId(row[1]) for row in rows if row[1])
    return (rows[-1][0] if rows else seq), runs


def _head(row: Row) -> Head:
    run_id, state, version, _owner, _updated, format_version, text = row
    return replace(HEAD.read(text, format_version, run_id), state=state, version=version)


# ── Figures ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How things stand, read at once when somebody scrapes."""

    runs: dict[str, int]
    #: Open interrupts by kind and rule.
    open: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    #: Name of a queue → how many wait, and since when the oldest does.
    queues: dict[str, tuple[int, datetime | None]] = field(
        default_factory=dict[str, tuple[int, datetime | None]]
    )


def figures(now: datetime) -> Transaction[Figures]:
    runs = yield from state_counts()
    waiting: Counter[tuple[str, str]] = Counter()
    for version, text, name in (yield "open_bodies", (PAGE,)):
        interrupt = INTERRUPT.read(text, version, name)
        waiting[interrupt.kind, interrupt.rules[0] if interrupt.rules else ""] += 1
    queues: dict[str, tuple[int, datetime | None]] = {}
    for front, count, oldest in (yield "oldest_post", ()):
        queues[f"outbox:{front}"] = count, moment(oldest)
    ready = (yield "oldest_ready", ())[0]
    timers = (yield "overdue_timers", (micros(now),))[0]
    for name, (count, oldest) in (("ready_runs", ready), ("timers", timers)):
        queues[name] = count, moment(oldest) if oldest is not None else None
    return Figures(runs=runs, open=dict(waiting), queues=queues)
