"""The store the engine sees: each method hands one transaction to a database."""

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Literal, Protocol

from bot.domain.audit import AuditFact, AuditRecord
from bot.domain.canonical import JsonObject
from bot.domain.decision import Decision, Outcome
from bot.domain.errors import Corrupt
from bot.domain.grant import Grant
from bot.domain.ids import GrantId, InterruptId, RunId, ThreadId, UserId, WorkerId
from bot.domain.interrupt import Asked, Interrupt
from bot.domain.run import Head, RunState, Thread
from bot.domain.token import Token
from bot.domain.transcript import Entry, UserText
from bot.engine.ports import (
    CancelRequest,
    CardFacts,
    Change,
    Checkpoint,
    Committed,
    Delivered,
    DuePost,
    Note,
    Post,
    SettleResult,
)
from bot.engine.timers import Snoozed, Swept, TimeRules
from bot.engine.waiting import Waiting
from bot.storage import api_rows, retention, timers
from bot.storage import outbox as box
from bot.storage import transactions as tx
from bot.storage.api_rows import Figures
from bot.storage.transactions import T, Transaction

_AUDIT_PAGE = 500


class Database(Protocol):
    """Runs a transaction's queries and commits them together."""

    async def write(self, transaction: Transaction[T]) -> T: ...

    async def read(self, transaction: Transaction[T]) -> T: ...

    async def shrink(self, pages: int) -> bool:
        """Give up to so many unused pages back to the file system; whether there are more. Cheap."""
        ...


class SqlStore:
    """`engine.ports.Store`, and what the command line wants to see, on any database."""

    def __init__(
        self, database: Database, is_gone: Callable[[WorkerId, datetime | None, datetime], bool]
    ) -> None:
        self._db = database
        self._is_gone = is_gone
        #: Called after a write that may have left something to be shown, by a front that keeps messages.
        self.posted: Callable[[], None] = lambda: None

    async def create(self, change: Change, *, worker: WorkerId | None, request_key: str | None) -> RunId:
        return await self._db.write(tx.create(change, worker, request_key))

    async def claim(self, run_id: RunId, worker: WorkerId, now: datetime) -> Checkpoint:
        found = await self._db.write(tx.claim(run_id, worker, now))
        if isinstance(found, Corrupt):
            raise found
        return found

    async def commit(self, change: Change, worker: WorkerId, now: datetime) -> Committed:
        committed = await self._db.write(tx.commit(change, worker, now))
        if change.posts:
            self.posted()
        return committed

    async def asked(self, interrupt_id: InterruptId) -> Asked | None:
        return await self._db.read(tx.asked(interrupt_id))

    async def asked_of(self, interrupts: Sequence[InterruptId]) -> dict[InterruptId, Asked]:
        return await self._db.read(tx.asked_of(interrupts))

    async def vote(
        self, interrupt_id: InterruptId, decision: Decision, fact: AuditFact
    ) -> tuple[Decision, ...]:
        votes = await self._db.write(tx.vote(interrupt_id, decision, fact))
        self.posted()
        return votes

    async def settle(
        self,
        interrupt_id: InterruptId,
        outcome: Outcome,
        facts: Sequence[AuditFact],
        *,
        successor: Interrupt | None = None,
        claim_for: WorkerId | None = None,
        posts: Sequence[Post] = (),
        grant: Grant | None = None,
    ) -> SettleResult:
        settled = await self._db.write(
            tx.settle(
                interrupt_id,
                outcome,
                facts,
                successor=successor,
                claim_for=claim_for,
                posts=posts,
                grant=grant,
            )
        )
        self.posted()
        return settled

    async def count_uses(self, keys: Sequence[tuple[str, datetime]]) -> dict[str, int]:
        return await self._db.read(tx.count_uses(keys)) if keys else {}

    async def grants_for(self, thread: Thread, tool: str, now: datetime) -> tuple[Grant, ...]:
        return await self._db.read(tx.grants_for(thread, tool, now))

    async def grants(self, now: datetime) -> tuple[Grant, ...]:
        """Return every remembered approval that still holds."""
        return await self._db.read(tx.list_grants(now))

    async def revoke(self, grant_id: GrantId, now: datetime, fact: AuditFact) -> bool:
        """End a grant; return whether there was one to end."""
        return await self._db.write(tx.revoke(grant_id, now, fact))

    async def record(self, facts: Sequence[AuditFact]) -> None:
        await self._db.write(tx.record(facts))

    async def note(self, run_id: RunId, item: UserText, at: datetime) -> None:
        await self._db.write(tx.note(run_id, item, at))

    async def notes(self, run_id: RunId) -> tuple[Note, ...]:
        return await self._db.read(tx.notes(run_id))

    async def request_cancel(self, run_id: RunId, request: CancelRequest, now: datetime) -> RunState:
        state = await self._db.write(tx.request_cancel(run_id, request, now))
        self.posted()
        return state

    async def cancels(self, worker: WorkerId) -> dict[RunId, CancelRequest]:
        return await self._db.read(tx.cancels(worker))

    async def release(self, run_id: RunId, worker: WorkerId, now: datetime) -> None:
        await self._db.write(tx.release(run_id, worker, now))

    async def heartbeat(self, worker: WorkerId, now: datetime) -> None:
        await self._db.write(tx.heartbeat(worker, now))

    async def forget_worker(self, worker: WorkerId, now: datetime) -> None:
        await self._db.write(tx.forget_worker(worker, now))

    async def release_orphans(self, worker: WorkerId, now: datetime) -> tuple[RunId, ...]:
        return await self._db.write(
            tx.release_orphans(worker, now, lambda owner, seen: self._is_gone(owner, seen, now))
        )

    async def head(self, run_id: RunId) -> Head | None:
        return await self._db.read(tx.load_head(run_id))

    async def heads(self, *, state: RunState | None = None, limit: int = 50) -> tuple[Head, ...]:
        return await self._db.read(tx.list_heads(state, limit))

    async def find(self, prefix: str) -> tuple[RunId, ...]:
        """Return up to three runs whose id begins so."""
        return await self._db.read(tx.find_run(prefix))

    async def last_of_thread(self, thread: ThreadId) -> Head | None:
        return await self._db.read(tx.last_of_thread(thread))

    async def transcript(self, run_id: RunId) -> list[Entry]:
        return await self._db.read(tx.transcript(run_id))

    async def open_interrupts(self, run_id: RunId | None = None) -> tuple[Asked, ...]:
        return await self._db.read(tx.open_interrupts(run_id))

    async def interrupts_of(self, run_id: RunId) -> tuple[Asked, ...]:
        return await self._db.read(tx.interrupts_of_run(run_id))

    async def state_counts(self) -> dict[str, int]:
        return await self._db.read(tx.state_counts())

    async def audit_of(self, run_id: RunId) -> list[AuditRecord]:
        return await self._db.read(tx.audit_of_run(run_id))

    async def audit(self) -> AsyncIterator[tuple[AuditRecord, int, str]]:
        """Yield every record with the exact time and text its hash was made of, oldest first."""
        after = 0
        while page := await self._db.read(tx.audit_page(after, _AUDIT_PAGE)):
            for line in page:
                yield line
            after = page[-1][0].seq

    # Time ---------------------------------------------------------------------------------------------

    async def fire_due(self, now: datetime, rules: TimeRules, *, limit: int) -> Swept:
        swept = await self._db.write(timers.fire_due(now, rules, limit))
        if swept.fired:
            self.posted()
        return swept

    async def fire_overdue(self, interrupt_id: InterruptId, now: datetime, rules: TimeRules) -> Swept:
        swept = await self._db.write(timers.fire_overdue(interrupt_id, now, rules))
        self.posted()
        return swept

    async def next_due(self) -> datetime | None:
        return await self._db.read(timers.next_due())

    async def snooze(
        self, interrupt: Interrupt, who: UserId, snoozed: Snoozed, fact: AuditFact
    ) -> Asked | None:
        asked = await self._db.write(timers.snooze(interrupt, who, snoozed, fact))
        self.posted()
        return asked

    async def ask_again(
        self, expired: Asked, successor: Interrupt, facts: Sequence[AuditFact], posts: Sequence[Post]
    ) -> bool:
        opened = await self._db.write(timers.ask_again(expired, successor, facts, posts))
        self.posted()
        return opened

    async def waiting(self, *, limit: int = tx.PAGE) -> tuple[tuple[Waiting, ...], int]:
        """Return what waits for people, the next to expire first, and how many wait in all."""
        return await self._db.read(timers.waiting(limit))

    async def claim_mark(self, name: str, at: datetime, posts: Sequence[Post] = ()) -> bool:
        """Whether nobody did yet what `name` stands for at `at`; this caller is to do it, or `posts` is it."""
        claimed = await self._db.write(timers.claim_mark(name, at, posts))
        if posts:
            self.posted()
        return claimed

    async def removable(self, before: datetime, *, limit: int) -> tuple[RunId, ...]:
        return await self._db.read(retention.removable(before, limit))

    async def export(self, run_id: RunId) -> JsonObject | None:
        return await self._db.read(retention.export(run_id))

    async def remove_runs(self, runs: Sequence[RunId], before: datetime, now: datetime) -> tuple[RunId, ...]:
        return await self._db.write(retention.remove_runs(runs, before, now))

    async def remove_leftovers(self, *, limit: int) -> bool:
        return await self._db.write(retention.remove_leftovers(limit))

    async def forget(self, name: Literal["uses", "grants", "posts"], before: datetime, *, limit: int) -> int:
        return await self._db.write(retention.forget(name, before, limit))

    async def shrink(self, *, pages: int) -> bool:
        return await self._db.shrink(pages)

    # What a front receives and shows -------------------------------------------------------------------

    async def receive(self, delivered: Delivered, worker: WorkerId, now: datetime) -> bool:
        """Keep a delivery; return whether this worker is to handle it."""
        return await self._db.write(box.receive(delivered, worker, now, self._gone(now)))

    async def left_behind(self, worker: WorkerId, now: datetime) -> tuple[Delivered, ...]:
        """Take over what dead workers had received and not finished."""
        return await self._db.write(box.left_behind(worker, self._gone(now)))

    async def handled(self, deliveries: Sequence[str], now: datetime) -> None:
        await self._db.write(box.handled(tuple(deliveries), now))

    async def forget_deliveries(self, before: datetime) -> None:
        await self._db.write(box.forget_deliveries(before))

    async def take_posts(
        self, front: str, worker: WorkerId, now: datetime, *, until: datetime, limit: int
    ) -> tuple[DuePost, ...]:
        """Hold what is due until then, so that nobody else posts it."""
        return await self._db.write(box.take_posts(front, worker, now, until, limit))

    async def next_post(self, front: str) -> datetime | None:
        """Return when something is due that nobody holds; None if everything is shown."""
        return await self._db.read(box.next_post(front))

    async def post_shown(self, key: str, revision: int, ref: str | None) -> None:
        await self._db.write(box.post_shown(key, revision, ref))

    async def post_failed(self, key: str, due: datetime, *, was_sent: bool) -> None:
        """Try again then. `was_sent`: it may have arrived although nobody said so."""
        await self._db.write(box.post_failed(key, due, was_sent=was_sent))

    async def post_lost(self, key: str, now: datetime) -> None:
        """Somebody deleted the message: show it anew."""
        await self._db.write(box.post_lost(key, now))
        self.posted()

    async def free_posts(self, worker: WorkerId, now: datetime) -> None:
        await self._db.write(box.free_posts(worker, self._gone(now)))

    async def adopt_post(self, post: Post, ref: str | None) -> None:
        """Say where the message is that will become this post."""
        await self._db.write(box.adopt_post(post, ref))

    async def want_posts(self, posts: Sequence[Post], now: datetime, facts: Sequence[AuditFact] = ()) -> None:
        await self._db.write(box.want_posts(tuple(posts), now, tuple(facts)))
        self.posted()

    async def post_by_ref(self, ref: str) -> tuple[str, str, str] | None:
        """Return key, subject and kind of the message at `ref`, if it is one of ours."""
        return await self._db.read(box.post_by_ref(ref))

    async def card_facts(self, interrupt_id: InterruptId) -> CardFacts | None:
        """Return all that a card shows, as of one moment."""
        return await self._db.read(box.card_facts(interrupt_id))

    async def card_refs(self, front: str, run_id: RunId) -> dict[str, str]:
        """Return where the cards of a run are, by interrupt."""
        return await self._db.read(box.card_refs(front, run_id))

    async def runs_of(self, requester: UserId, *, limit: int = 10) -> tuple[Head, ...]:
        return await self._db.read(box.runs_of(requester, limit))

    async def recently_settled(self, *, limit: int = 10) -> tuple[Asked, ...]:
        return await self._db.read(box.recently_settled(limit))

    def _gone(self, now: datetime) -> Callable[[WorkerId, datetime | None], bool]:
        return lambda owner, seen: self._is_gone(owner, seen, now)

    # The HTTP API ------------------------------------------------------------------------------------------

    async def add_token(self, token: Token) -> bool:
        """Keep a token; False if its name is taken."""
        return await self._db.write(api_rows.add_token(token))

    async def token_by_hash(self, hash_: str) -> Token | None:
        return await self._db.read(api_rows.token_by_hash(hash_))

    async def tokens_of(self, person: UserId) -> tuple[Token, ...]:
        return await self._db.read(api_rows.tokens_of(person))

    async def tokens(self) -> tuple[Token, ...]:
        return await self._db.read(api_rows.list_tokens())

    async def revoke_token(self, name: str, now: datetime) -> bool:
        return await self._db.write(api_rows.revoke_token(name, now))

    async def progress(self, run_id: RunId, entry: int) -> tuple[Head, list[Entry], tuple[Asked, ...]]:
        """Return the run, its own entries from `entry` on and all its interrupts; or raise CheckpointNotFound."""
        return await self._db.read(api_rows.progress(run_id, entry))

    async def runs_of_thread(self, thread: ThreadId) -> tuple[Head, ...]:
        return await self._db.read(api_rows.runs_of_thread(thread))

    async def heads_of(self, requester: UserId, *, limit: int = 50) -> tuple[Head, ...]:
        return await self._db.read(api_rows.heads_of(requester, limit))

    async def change_waiting(
        self, run_id: RunId, change: Callable[[Head], Head], fact: AuditFact, version: int | None
    ) -> Head:
        return await self._db.write(api_rows.change_waiting(run_id, change, fact, version))

    async def touched_since(self, seq: int) -> tuple[int, frozenset[RunId]]:
        return await self._db.read(api_rows.touched_since(seq))

    async def figures(self, now: datetime) -> Figures:
        return await self._db.read(api_rows.figures(now))
