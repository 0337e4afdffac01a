"""Transactions of a front that keeps messages: what came in, and what has to be shown. As in `transactions.py`."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

from bot.domain.audit import AuditFact
from bot.domain.canonical import JsonObject
from bot.domain.ids import InterruptId, RunId, ThreadId, UserId, WorkerId
from bot.domain.interrupt import Asked
from bot.domain.run import Head
from bot.domain.tool import ToolResult
from bot.engine.ports import CardFacts, Delivered, DuePost, Post
from bot.storage.codec import ITEM, micros, moment
from bot.storage.transactions import Transaction, all_asked, asked, head_or_none, record, touch

IsGone: TypeAlias = Callable[[WorkerId, datetime | None], bool]


# ── What came in ─────────────────────────────────────────────────────────────────────────────────────────


def receive(delivered: Delivered, worker: WorkerId, now: datetime, is_gone: IsGone) -> Transaction[bool]:
    """Keep a delivery; return whether this worker is to handle it."""
    row = (delivered.id, delivered.kind, micros(now), worker, json.dumps(delivered.body))
    if (yield "insert_inbox", row):
        return True
    ((owner, done_at),) = yield "inbox", (delivered.id,)
    if done_at is not None or owner == worker:
        return False
    # It comes again because whoever had it did not ack. If they live, they will; if not, it is ours now.
    seen = {row[0]: row[1] for row in (yield "inbox_owners", ())}.get(owner)
    if not is_gone(WorkerId(owner), moment(seen) if seen is not None else None):
        return False
    return bool((yield "own_inbox_row", (delivered.id, owner, worker)))


def left_behind(worker: WorkerId, is_gone: IsGone) -> Transaction[tuple[Delivered, ...]]:
    """Take over what dead workers had received and not finished."""
    found: list[Delivered] = []
    for owner, seen_at in (yield "inbox_owners", ()):
        seen = moment(seen_at) if seen_at is not None else None
        if owner != worker and is_gone(WorkerId(owner), seen):
            rows = yield "own_inbox", (owner, worker)
            found += [Delivered(id=id_, kind=kind, body=json.loads(body)) for id_, kind, body in rows]
    return tuple(found)


def handled(deliveries: tuple[str, ...], now: datetime) -> Transaction[None]:
    for delivery in deliveries:
        yield "inbox_done", (delivery, micros(now))


def forget_deliveries(before: datetime) -> Transaction[None]:
    yield "forget_inbox", (micros(before),)


# ── What has to be shown ─────────────────────────────────────────────────────────────────────────────────


def take_posts(
    front: str, worker: WorkerId, now: datetime, until: datetime, limit: int
) -> Transaction[tuple[DuePost, ...]]:
    rows = yield "take_posts", (front, micros(now), worker, micros(until), limit)
    return tuple(
        DuePost(
            key=key,
            thread_id=ThreadId(thread_id),
            run_id=RunId(run_id),
            kind=kind,
            subject=subject,
            body=_body(body),
            revision=wanted,
            ref=ref,
            attempts=attempts,
            # An attempt without an answer may have reached Slack.
            maybe_sent=ref is None and takes > 1,
        )
        for key, thread_id, run_id, kind, subject, body, wanted, ref, attempts, takes in rows
    )


def _body(text: str | None) -> JsonObject | None:
    return json.loads(text) if text else None


def next_post(front: str) -> Transaction[datetime | None]:
    rows = yield "next_free_post", (front,)
    return moment(rows[0][0]) if rows and rows[0][0] is not None else None


def post_shown(key: str, revision: int, ref: str | None) -> Transaction[None]:
    yield "post_shown", (key, revision, ref)
    yield "free_post", (key, 1)


def post_failed(key: str, due: datetime, *, was_sent: bool) -> Transaction[None]:
    yield "post_failed", (key, micros(due))
    yield "free_post", (key, 0 if was_sent else 1)


def post_lost(key: str, now: datetime) -> Transaction[None]:
    yield "post_lost", (key, micros(now))
    yield "free_post", (key, 1)


def free_posts(worker: WorkerId, is_gone: IsGone) -> Transaction[None]:
    """Let go of what dead workers were about to post, and of what this one was."""
    for owner, seen_at in (yield "post_owners", ()):
        seen = moment(seen_at) if seen_at is not None else None
        if owner == worker or is_gone(WorkerId(owner), seen):
            yield "free_posts_of", (owner,)


def adopt_post(post: Post, ref: str | None) -> Transaction[None]:
    about = (post.thread.front, post.thread.id, post.run_id, post.kind, post.subject)
    yield "adopt_post", (post.key, *about, ref)


def post_by_ref(ref: str) -> Transaction[tuple[str, str, str] | None]:
    """Return key, subject and kind of the message at `ref`, if it is one of ours."""
    rows = yield "post_by_ref", (ref,)
    return (rows[0][0], rows[0][1], rows[0][2]) if rows else None


def card_facts(interrupt_id: InterruptId) -> Transaction[CardFacts | None]:
    found = yield from asked(interrupt_id)
    if found is None:
        return None
    if found.outcome is None:
        return CardFacts(asked=found, state="waiting", left=1)
    run_id = found.interrupt.run_id
    ((state, left),) = yield "run_and_open", (run_id,)
    result = None
    if found.interrupt.call_id is not None:
        # The transcript can be long; a result is near its end.
        for seq, format_version, text in (yield "latest_entries", (run_id, 200)):
            item = ITEM.read(text, format_version, f"{run_id}/{seq}") if '"result"' in text else None
            if isinstance(item, ToolResult) and item.call_id == found.interrupt.call_id:
                result = item
                break
    return CardFacts(asked=found, state=state, left=left, result=result)


def card_refs(front: str, run_id: RunId) -> Transaction[dict[str, str]]:
    rows = yield "refs_of", (front, run_id)
    return {subject: ref for subject, ref in rows if ref}


def want_posts(posts: tuple[Post, ...], now: datetime, facts: tuple[AuditFact, ...]) -> Transaction[None]:
    yield from touch(posts, now)
    yield from record(facts)


# ── What people look for ─────────────────────────────────────────────────────────────────────────────────


def runs_of(requester: UserId, limit: int) -> Transaction[tuple[Head, ...]]:
    rows = yield "runs_of_requester", (requester, limit)
    return tuple(head for row in rows if (head := head_or_none(row)))


def recently_settled(limit: int) -> Transaction[tuple[Asked, ...]]:
    rows = yield "recently_settled", (limit,)
    return (yield from all_asked(rows))
