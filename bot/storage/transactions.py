"""Every transaction of the store, without I/O: a generator yields queries and is sent their rows.

One text serves both engines: `sqlite.py` runs it inside SQLite's thread, one hop per transaction, and
`postgres.py` awaits each query. All that happens in one generator commits together or not at all.
"""

import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from bot.domain.audit import GENESIS, AuditFact, AuditRecord, body_text, chained
from bot.domain.decision import Decision, Outcome, Withdrawn
from bot.domain.errors import AlreadyResumed, CheckpointNotFound, Corrupt, GrantSpent, IdTaken, LostRace
from bot.domain.grant import Grant
from bot.domain.ids import GrantId, InterruptId, RunId, ThreadId, UserId, WorkerId
from bot.domain.interrupt import Asked, Interrupt
from bot.domain.run import FINAL, Head, RunState, Thread
from bot.domain.transcript import Entry, UserText
from bot.engine.ports import CancelRequest, Change, Checkpoint, Committed, Note, Post, SettleResult
from bot.engine.timers import timers_of
from bot.storage.codec import (
    CANCEL,
    DECISION,
    ESCALATED,
    FORMAT,
    GRANT,
    HEAD,
    INTERRUPT,
    ITEM,
    OUTCOME,
    micros,
    moment,
)

Row: TypeAlias = Sequence[Any]
Query: TypeAlias = tuple[str, tuple[Any, ...]]
T = TypeVar("T")
Transaction: TypeAlias = Generator[Query, list[Row], T]

#: Kept in columns of their own, so that the database can decide about them.
_COLUMNS = {"state", "version"}
#: People see at most this many of anything in one list.
PAGE = 1000


# ── Runs ─────────────────────────────────────────────────────────────────────────────────────────────────


def create(change: Change, worker: WorkerId | None, request_key: str | None) -> Transaction[RunId]:
    head, at = change.head, micros(change.head.created_at)
    body = HEAD.write(head, leave_out=_COLUMNS)
    who = (worker, head.requester, request_key)
    row = (head.run_id, head.thread.id, head.state, head.version, *who, at, FORMAT, body)
    created = yield "insert_run", row
    if not created:
        known = (yield "run_by_request", (request_key,)) if request_key is not None else []
        if not known:
            raise IdTaken(head.run_id)
        return RunId(known[0][0])
    if head.base is not None:
        yield "insert_base", (head.run_id, head.base.run_id)
    yield from _append(change)
    return head.run_id


def claim(run_id: RunId, worker: WorkerId, now: datetime) -> Transaction[Checkpoint | Corrupt]:
    rows = yield "claim_run", (run_id, worker, micros(now))
    if not rows:
        known = yield "run", (run_id,)
        if not known:
            raise CheckpointNotFound(run_id)
        if known[0][1] == "quarantined":
            why = yield "quarantine_of", (run_id,)
            return Corrupt(f"run {run_id}", why[0][0] if why else "unknown")
        raise AlreadyResumed(run_id, known[0][1])
    *row, cancel, noted = rows[0]
    try:
        head = _head(row)
        transcript = yield from _transcript(head)
        asked = yield from asked_of(_references(head))
    except Corrupt as problem:
        # Returned, not raised: setting the run aside must be committed.
        yield "quarantine_run", (run_id, micros(now))
        yield "quarantine_row", ("run", run_id, micros(now), f"{problem.name}: {problem.why}")
        return problem
    asked_to_stop = CANCEL.read(cancel, FORMAT, run_id) if cancel else None
    return Checkpoint(head=head, transcript=transcript, asked=asked, cancel=asked_to_stop, noted=bool(noted))


def commit(change: Change, worker: WorkerId, now: datetime) -> Transaction[Committed]:
    head, at = change.head, micros(now)
    body = HEAD.write(head, leave_out=_COLUMNS)
    rows = yield "save_run", (head.run_id, head.version, worker, head.state, at, FORMAT, body)
    if not rows:
        raise LostRace(head.run_id)
    yield from _append(change)
    yield from _beside(change, now)
    if head.state in FINAL:
        yield from _withdraw_open(head.run_id, Withdrawn(at=now, why=f"the run is {head.state}"))
    woken = (yield "wake_run", (head.run_id, at)) if head.state == "waiting" else []
    cancel, noted = rows[0]
    asked_to_stop = CANCEL.read(cancel, FORMAT, head.run_id) if cancel else None
    return Committed(state="ready" if woken else head.state, cancel=asked_to_stop, noted=bool(noted))


def _beside(change: Change, now: datetime) -> Transaction[None]:
    """What a step uses up and what fronts are to show."""
    run_id, at = change.head.run_id, micros(now)
    if change.heeded:
        yield "forget_cancel", (run_id,)
    for note_id in change.notes_taken:
        yield "delete_note", (run_id, note_id)
    for grant_id in change.grants_used:
        if not (yield "use_grant", (grant_id, at)):
            raise GrantSpent(grant_id)
    for key in change.uses:
        yield "insert_use", (key, at, run_id)
    yield from touch(change.posts, now)


def load_head(run_id: RunId) -> Transaction[Head | None]:
    rows = yield "run", (run_id,)
    return _head(rows[0]) if rows else None


def list_heads(state: RunState | None, limit: int) -> Transaction[tuple[Head, ...]]:
    """Newest first. A run that does not decode is left out here; claiming it says why."""
    rows = yield ("list_runs_in", (limit, state)) if state else ("list_runs", (limit,))
    return tuple(head for row in rows if (head := head_or_none(row)))


def find_run(prefix: str) -> Transaction[tuple[RunId, ...]]:
    # Ids have neither of LIKE's signs, so a prefix that has one matches nothing.
    rows = yield "runs_like", (f"{prefix}%" if not set(prefix) & set("%_\\") else "",)
    return tuple(RunId(row[0]) for row in rows)


def last_of_thread(thread: ThreadId) -> Transaction[Head | None]:
    rows = yield "last_run_of_thread", (thread,)
    return _head(rows[0]) if rows else None


def transcript(run_id: RunId) -> Transaction[list[Entry]]:
    rows = yield "run", (run_id,)
    if not rows:
        raise CheckpointNotFound(run_id)
    return (yield from _transcript(_head(rows[0])))


def request_cancel(run_id: RunId, request: CancelRequest, now: datetime) -> Transaction[RunState]:
    known = yield "lock_run", (run_id,)
    if not known:
        raise CheckpointNotFound(run_id)
    rows = yield "cancel_run", (run_id, CANCEL.write(request), micros(now))
    if not rows:
        raise AlreadyResumed(run_id, known[0][1])
    why = "the run was cancelled" if request.what == "cancel" else "the scope is being changed"
    yield from _withdraw_open(run_id, Withdrawn(at=now, why=why, by=request.by))
    return rows[0][0]


def cancels(worker: WorkerId) -> Transaction[dict[RunId, CancelRequest]]:
    rows = yield "cancels_of", (worker,)
    return {RunId(run_id): CANCEL.read(text, FORMAT, run_id) for run_id, text in rows}


def state_counts() -> Transaction[dict[str, int]]:
    rows = yield "state_counts", ()
    return {row[0]: row[1] for row in rows}


# ── Workers ──────────────────────────────────────────────────────────────────────────────────────────────


def heartbeat(worker: WorkerId, now: datetime) -> Transaction[None]:
    yield "beat", (worker, micros(now))


def forget_worker(worker: WorkerId, now: datetime) -> Transaction[None]:
    """Leave in good order: what this worker still owns is ready for another."""
    yield "release_runs_of", (worker, micros(now))
    yield "forget_worker", (worker,)


def release(run_id: RunId, worker: WorkerId, now: datetime) -> Transaction[None]:
    yield "release_run", (run_id, worker, micros(now))


def release_orphans(
    worker: WorkerId, now: datetime, is_gone: Callable[[WorkerId, datetime | None], bool]
) -> Transaction[tuple[RunId, ...]]:
    for owner, seen_at in (yield "owners", ()):
        if owner != worker and is_gone(WorkerId(owner), moment(seen_at) if seen_at is not None else None):
            yield "release_runs_of", (owner, micros(now))
            yield "forget_worker", (owner,)
    rows = yield "ready_runs", ()
    return tuple(RunId(row[0]) for row in rows)


# ── Interrupts ───────────────────────────────────────────────────────────────────────────────────────────


def asked(interrupt_id: InterruptId) -> Transaction[Asked | None]:
    rows = yield "interrupt", (interrupt_id,)
    return (yield from _asked(rows[0])) if rows else None


def asked_of(interrupts: Sequence[InterruptId]) -> Transaction[dict[InterruptId, Asked]]:
    found: dict[InterruptId, Asked] = {}
    for interrupt_id in interrupts:
        known = yield from asked(interrupt_id)
        if known is not None:
            found[interrupt_id] = known
    return found


def vote(interrupt_id: InterruptId, decision: Decision, fact: AuditFact) -> Transaction[tuple[Decision, ...]]:
    rows = yield "interrupt", (interrupt_id,)
    if not rows or rows[0][2] != "open":
        return ()
    yield "insert_vote", (interrupt_id, decision.by, micros(decision.at), FORMAT, DECISION.write(decision))
    yield "touch_known_post", (f"card/{interrupt_id}", micros(decision.at))
    yield from record((fact,))
    return (yield from _votes(interrupt_id))


def settle(
    interrupt_id: InterruptId,
    outcome: Outcome,
    facts: Sequence[AuditFact],
    *,
    successor: Interrupt | None,
    claim_for: WorkerId | None,
    posts: Sequence[Post],
    grant: Grant | None,
) -> Transaction[SettleResult]:
    rows = yield "interrupt", (interrupt_id,)
    if not rows:
        raise CheckpointNotFound(interrupt_id)
    run_id, now = RunId(rows[0][1]), outcome.decision.at if outcome.kind == "decided" else outcome.at
    yield "lock_run", (run_id,)
    won = yield "settle_interrupt", (interrupt_id, micros(now), OUTCOME.write(outcome))
    if not won:
        return SettleResult(won=False, asked=(yield from _known(interrupt_id)))
    yield "disarm_timers", (interrupt_id,)
    if successor is not None:
        yield from _open(successor)
    if grant is not None:
        yield from _remember(grant)
    yield from record(facts)
    yield "touch_known_post", (f"card/{interrupt_id}", micros(now))
    yield from touch(posts, now)
    woken = yield "wake_run", (run_id, micros(now))
    checkpoint = (yield from claim(run_id, claim_for, now)) if woken and claim_for else None
    return SettleResult(
        won=True,
        asked=(yield from _known(interrupt_id)),
        run_ready=bool(woken),
        checkpoint=None if isinstance(checkpoint, Corrupt) else checkpoint,
    )


def _known(interrupt_id: InterruptId) -> Transaction[Asked]:
    found = yield from asked(interrupt_id)
    if found is None:
        raise CheckpointNotFound(interrupt_id)
    return found


def open_interrupts(run_id: RunId | None) -> Transaction[tuple[Asked, ...]]:
    rows = yield ("open_interrupts_of_run", (run_id,)) if run_id else ("open_interrupts", (PAGE,))
    return (yield from all_asked(rows))


def interrupts_of_run(run_id: RunId) -> Transaction[tuple[Asked, ...]]:
    rows = yield "interrupts_of_run", (run_id,)
    return (yield from all_asked(rows))


# ── Posts ────────────────────────────────────────────────────────────────────────────────────────────────


def touch(posts: Sequence[Post], now: datetime) -> Transaction[None]:
    for post in posts:
        body = json.dumps(post.body) if post.body is not None else None
        about = (post.thread.front, post.thread.id, post.run_id, post.kind, post.subject)
        yield "touch_post", (post.key, *about, body, micros(now))


# ── Limits and grants ────────────────────────────────────────────────────────────────────────────────────


def count_uses(keys: Sequence[tuple[str, datetime]]) -> Transaction[dict[str, int]]:
    counts: dict[str, int] = {}
    for key, since in keys:
        rows = yield "count_uses", (key, micros(since))
        counts[key] = rows[0][0]
    return counts


def grants_for(thread: Thread, tool: str, now: datetime) -> Transaction[tuple[Grant, ...]]:
    rows = yield "grants_here", (f"thread/{thread.id}", f"channel/{thread.channel}", tool, micros(now))
    return tuple(_grant(row) for row in rows)


def list_grants(now: datetime) -> Transaction[tuple[Grant, ...]]:
    rows = yield "list_grants", (micros(now), PAGE)
    return tuple(_grant(row) for row in rows)


def revoke(grant_id: GrantId, now: datetime, fact: AuditFact) -> Transaction[bool]:
    rows = yield "revoke_grant", (grant_id, micros(now))
    if rows:
        yield from record((fact,))
    return bool(rows)


def _remember(grant: Grant) -> Transaction[None]:
    place, expires = f"{grant.place}/{grant.where}", micros(grant.expires_at)
    body = GRANT.write(grant, leave_out={"used", "revoked_at"})
    yield (
        "insert_grant",
        (grant.id, place, grant.tool, grant.granted_by, expires, grant.max_uses, FORMAT, body),
    )


def _grant(row: Row) -> Grant:
    used, revoked_at, format_version, text = row
    revoked = moment(revoked_at) if revoked_at is not None else None
    return replace(GRANT.read(text, format_version, "grant"), used=used, revoked_at=revoked)


# ── Notes ────────────────────────────────────────────────────────────────────────────────────────────────


def note(run_id: RunId, item: UserText, at: datetime) -> Transaction[None]:
    yield "insert_note", (run_id, micros(at), item.author, item.text)


def notes(run_id: RunId) -> Transaction[tuple[Note, ...]]:
    rows = yield "notes", (run_id,)
    return tuple(
        Note(id=note_id, item=UserText(author=UserId(author), text=text), at=moment(at))
        for note_id, at, author, text in rows
    )


# ── Audit ────────────────────────────────────────────────────────────────────────────────────────────────


def record(facts: Sequence[AuditFact]) -> Transaction[None]:
    if not facts:
        return
    last = yield "last_audit", ()
    seq, previous = last[0] if last else (0, GENESIS)
    for fact in facts:
        seq += 1
        at, body = micros(fact.at), body_text(fact)
        previous = chained(previous, seq=seq, kind=fact.kind, at_us=at, run_id=fact.run_id, body=body)
        yield "insert_audit", (seq, at, fact.kind, fact.run_id, body, previous)


def audit_page(after: int, limit: int) -> Transaction[list[tuple[AuditRecord, int, str]]]:
    """Return records with the exact time and text their hash was made of."""
    rows = yield "audit_after", (after, limit)
    return [_audit(row) for row in rows]


def audit_of_run(run_id: RunId) -> Transaction[list[AuditRecord]]:
    rows = yield "audit_of_run", (run_id,)
    return [_audit(row)[0] for row in rows]


# ── Rows ─────────────────────────────────────────────────────────────────────────────────────────────────


def _append(change: Change) -> Transaction[None]:
    run_id = change.head.run_id
    for entry in change.entries:
        yield "insert_entry", (run_id, entry.seq, micros(entry.at), FORMAT, ITEM.write(entry.item))
    for interrupt in change.opened:
        yield from _open(interrupt)
    yield from record(change.facts)


def _open(interrupt: Interrupt) -> Transaction[None]:
    """Store a question with its timers: a question nobody would be reminded of cannot exist."""
    opened, expires = micros(interrupt.opened_at), micros(interrupt.expires_at)
    body = INTERRUPT.write(interrupt)
    yield (
        "insert_interrupt",
        (
            interrupt.id,
            interrupt.run_id,
            interrupt.thread_id,
            opened,
            expires,
            FORMAT,
            body,
        ),
    )
    for timer in timers_of(interrupt):
        yield "arm_timer", (interrupt.id, timer.kind, timer.ordinal, micros(timer.due_at))


def _withdraw_open(run_id: RunId, outcome: Withdrawn) -> Transaction[None]:
    rows = yield "withdraw_open", (run_id, micros(outcome.at), OUTCOME.write(outcome))
    for row in rows:
        yield "disarm_timers", (row[0],)
        yield "touch_known_post", (f"card/{row[0]}", micros(outcome.at))


def _head(row: Row) -> Head:
    run_id, state, version, _owner, _updated, format_version, text = row
    return replace(HEAD.read(text, format_version, run_id), state=state, version=version)


def head_or_none(row: Row) -> Head | None:
    try:
        return _head(row)
    except Corrupt:
        return None


def _transcript(head: Head) -> Transaction[list[Entry]]:
    """Read a run's entries, and before them those of the runs it continues."""
    parts = [(head.run_id, head.cursor)]
    base = head.base
    while base is not None:
        parts.append((base.run_id, base.cursor))
        rows = yield "run", (base.run_id,)
        base = _head(rows[0]).base if rows else None
    entries: list[Entry] = []
    for run_id, cursor in reversed(parts):
        for seq, at, format_version, text in (yield "entries", (run_id, cursor)):
            item = ITEM.read(text, format_version, f"{run_id}/{seq}")
            entries.append(Entry(seq=seq, at=moment(at), item=item))
    return entries


def _references(head: Head) -> list[InterruptId]:
    found = [call.interrupt for call in head.calls if call.interrupt and call.status == "asking"]
    return [*found, head.review] if head.review else found


def _asked(row: Row) -> Transaction[Asked]:
    interrupt_id, _run, status, format_version, text, outcome, expires_at, escalated = row
    interrupt = INTERRUPT.read(text, format_version, interrupt_id)
    if (expires := moment(expires_at)) != interrupt.expires_at:
        # It was renewed or snoozed since it was asked; the column is what holds.
        interrupt = replace(interrupt, expires_at=expires)
    votes = (yield from _votes(interrupt_id)) if interrupt.quorum > 1 else ()
    ended = OUTCOME.read(outcome, format_version, interrupt_id) if outcome else None
    joined = ESCALATED.read(escalated, format_version, interrupt_id) if escalated else ()
    return Asked(interrupt=interrupt, status=status, votes=votes, outcome=ended, escalated_to=joined)


def all_asked(rows: list[Row]) -> Transaction[tuple[Asked, ...]]:
    found: list[Asked] = []
    for row in rows:
        found.append((yield from _asked(row)))  # noqa: PERF401 - a generator expression cannot delegate
    return tuple(found)


def _votes(interrupt_id: InterruptId) -> Transaction[tuple[Decision, ...]]:
    rows = yield "votes", (interrupt_id,)
    return tuple(DECISION.read(text, format_version, interrupt_id) for format_version, text in rows)


def _audit(row: Row) -> tuple[AuditRecord, int, str]:
    seq, at, kind, run_id, body, hash_ = row
    fact = AuditFact(kind=kind, at=moment(at), run_id=run_id, body=json.loads(body))
    return AuditRecord(seq=seq, fact=fact, hash=hash_), at, body


#: What the transactions in other modules are built from.
head_of, asked_from, open_interrupt, withdraw_open = _head, _asked, _open, _withdraw_open
