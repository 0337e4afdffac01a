"""What fronts and commands call: ask, decide, cancel, fork, note. Each commits first and then hands over."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime

from bot.domain.audit import AuditFact
from bot.domain.canonical import JsonObject, digest
from bot.domain.decision import Answer
from bot.domain.errors import AlreadyResumed, CheckpointNotFound, IdTaken, InvalidAnswer, NotAllowed, Stale
from bot.domain.ids import GrantId, InterruptId, RunId, UserId
from bot.domain.person import Person
from bot.domain.run import FINAL, AgentSpec, Base, Breakpoint, CallState, Head, Phase, Thread
from bot.domain.tool import ToolResult
from bot.domain.transcript import Entry, ModelTurn, UserText
from bot.engine import again
from bot.engine.again import AskedAgain
from bot.engine.approvals import Approvals, Counted
from bot.engine.driver import World
from bot.engine.events import CancelAsked
from bot.engine.pace import Pace
from bot.engine.ports import CancelRequest, Change, Checkpoint, Ids
from bot.engine.supervisor import Supervisor
from bot.engine.timers import Snoozed, Swept
from bot.policy.binding import admits

#: Timers fired before their runs go on, so that a sweep of any length needs the same memory.
CHUNK = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What somebody wants done."""

    thread: Thread
    requester: UserId
    text: str
    agent: AgentSpec
    breakpoints: tuple[Breakpoint, ...] = ()
    #: The same key makes the same run, however often the request is delivered.
    key: str | None = None
    #: The run whose conversation this one continues.
    base: Base | None = None


class Runner:
    """The engine's front door."""

    def __init__(self, world: World, supervisor: Supervisor, approvals: Approvals, ids: Ids) -> None:
        self._world = world
        self._supervisor = supervisor
        self._approvals = approvals
        self._ids = ids
        self._pace = Pace()

    async def ask(self, request: Request) -> RunId:
        """Start a run for a request; the same request twice is one run."""
        world, now = self._world, self._world.clock()
        head = Head(
            run_id=self._ids.run(),
            thread=request.thread,
            requester=request.requester,
            agent=request.agent,
            created_at=now,
            # Born claimed by this worker: it is driven at once, and a crash leaves it to be recovered.
            state="running",
            cursor=1,
            breakpoints=request.breakpoints,
            base=request.base,
            phase="clarify" if self._clarifies(request) else "model",
        )
        own = [Entry(seq=0, at=now, item=UserText(author=request.requester, text=request.text))]
        body = {"by": request.requester, "thread": request.thread.id, "text": digest(request.text)[:16]}
        head, is_new = await self._create(head, tuple(own), body, request.key)
        if is_new:
            before = await world.store.transcript(head.run_id) if request.base else own
            self._supervisor.start(head.run_id, Checkpoint(head=head, transcript=before))
        return head.run_id

    def _clarifies(self, request: Request) -> bool:
        policy = self._world.judge.policies.for_channel(request.thread.channel)
        return policy.clarify is not None and request.agent.interrupts

    async def _create(
        self, head: Head, entries: tuple[Entry, ...], body: JsonObject, key: str | None
    ) -> tuple[Head, bool]:
        """Store a new run; return it as stored, and whether it is new."""
        fact = AuditFact(kind="request", at=head.created_at, run_id=head.run_id, body=body)
        change = Change(head=head, entries=entries, facts=(fact,))
        try:
            run_id = await self._world.store.create(change, worker=self._world.worker, request_key=key)
        except IdTaken:
            # Names are short so that people can say them; once in a very long while one is drawn twice.
            return await self._create(replace(head, run_id=self._ids.run()), entries, body, key)
        return replace(head, run_id=run_id), run_id == head.run_id

    async def decide(
        self, interrupt: InterruptId, answer: Answer, person: Person, *, via: str = ""
    ) -> Counted:
        """Record an answer and, if it was the last one missing, let the run go on. Raises as `Approvals`."""
        try:
            counted = await self._approvals.decide(interrupt, answer, person, via=via)
        except Stale:
            await self._wake(interrupt)
            raise
        self._went_on(counted)
        return counted

    async def sweep(self) -> Swept:
        """Fire every due timer: remind, escalate, expire, and let runs go on that have no question left."""
        done = Swept()
        while True:
            swept = await self._fire(CHUNK)
            # Only now: a thousand runs that go on at once would slow down the sweep they come from.
            for run_id in swept.ready:
                self._supervisor.start(run_id)
            for run_id in swept.changed:
                self._supervisor.nudge(run_id)
            done = done.then(replace(swept, ready=(), changed=()))
            if done.next_due is None or done.next_due > self._world.clock():
                return done

    async def _fire(self, most: int) -> Swept:
        """Fire due timers in small transactions until none is due, or about `most` were."""
        world, done, found = self._world, Swept(), 0
        clock = asyncio.get_running_loop().time
        start = clock()
        self._pace.begin()
        while found < most:
            now, began, batch = world.clock(), clock(), self._pace.batch
            swept = await world.store.fire_due(now, world.time, limit=batch)
            done, found = done.then(swept), found + batch
            if swept.next_due is None or swept.next_due > now:
                break
            fired = sum(swept.fired.values())
            await asyncio.sleep(self._pace.rest(clock() - start, clock() - began, fired))
        return done

    async def rehearse(self, interrupt: InterruptId, answer: Answer, person: Person) -> None:
        """Raise what `decide` would raise, and settle nothing."""
        await self._approvals.rehearse(interrupt, answer, person)

    async def expire_due(self) -> int:
        """Do what time wants done; return how many questions nobody answered in time."""
        return (await self.sweep()).expired

    async def snooze(self, interrupt: InterruptId, person: Person, until: datetime) -> Snoozed:
        """Not now: remind this person later. Raises as `Approvals`."""
        try:
            return await self._approvals.snooze(interrupt, person, until)
        except Stale:
            await self._wake(interrupt)
            raise

    async def ask_again(self, interrupt: InterruptId, person: Person) -> AskedAgain:
        """Put a question that expired once more, the way that still helps; see `again`."""
        asked = await self._world.store.asked(interrupt)
        if asked is None:
            raise CheckpointNotFound(interrupt)
        head = await self._known(asked.interrupt.run_id)
        again.check(asked, person)
        successor = await again.reopen(self._world, asked, head, person.id)
        if successor is not None:
            return AskedAgain(run_id=head.run_id, how="asked", interrupt=successor)
        if head.state not in FINAL:
            await self.note(head.run_id, person.id, again.wish(asked.interrupt, person.id))
            head = await self._known(head.run_id)
            if head.state not in FINAL:
                return AskedAgain(run_id=head.run_id, how="noted")
            # It ended in this very moment and will not read it.
        text, base = await again.request(self._world, asked.interrupt, head, person.id)
        request = Request(
            thread=head.thread,
            # Not whoever clicked: an approver who asks again must not become the one who may not approve.
            requester=head.requester,
            text=text,
            agent=head.agent,
            breakpoints=head.breakpoints,
            # However many of its questions expired, and however often it is clicked: one new run.
            key=f"again/{head.run_id}",
            base=base,
        )
        return AskedAgain(run_id=await self.ask(request), how="new_run")

    async def _wake(self, interrupt: InterruptId) -> None:
        """A click that came too late may have been the first to notice: the run must go on all the same."""
        asked = await self._world.store.asked(interrupt)
        head = await self._world.store.head(asked.interrupt.run_id) if asked else None
        if head is not None and head.state == "ready":
            self._supervisor.start(head.run_id)

    def _went_on(self, counted: Counted) -> None:
        if counted.run_ready:
            self._supervisor.start(counted.run_id, counted.checkpoint)
        else:
            self._supervisor.nudge(counted.run_id)

    async def resume(self, run_id: RunId) -> None:
        """Go on with a run that is ready but that nobody drives.

        Raises:
            CheckpointNotFound, AlreadyResumed
        """
        head = await self._known(run_id)
        if head.state != "ready":
            raise AlreadyResumed(run_id, head.state)
        self._supervisor.start(run_id)

    async def cancel(self, run_id: RunId, by: UserId, reason: str = "") -> None:
        """Stop a run wherever it is; whatever it was about to do is not done."""
        request = CancelRequest(by=by, reason=reason)
        state = await self._world.store.request_cancel(run_id, request, self._world.clock())
        if state == "ready":
            self._supervisor.start(run_id)
        else:
            self._supervisor.tell(run_id, CancelAsked(by=by, reason=reason))

    async def change_scope(self, run_id: RunId, person: Person) -> None:
        """Ask about the scope again before the run goes on; open questions are put anew under the new one.

        Raises:
            NotAllowed: the policy asks about no scope here, or lets somebody else confirm it.
        """
        head = await self._known(run_id)
        rules = self._world.judge.policies.for_channel(head.thread.channel).clarify
        if rules is None:
            raise NotAllowed(
                "The policy of this channel has no `clarify` block, so there is no scope to change."
            )
        if not admits(rules.by, person, head.requester):
            raise NotAllowed(f"Only {rules.by.label or 'the requester'} can change the scope of this run.")
        request = CancelRequest(by=person.id, what="rescope")
        state = await self._world.store.request_cancel(run_id, request, self._world.clock())
        if state == "ready":
            self._supervisor.start(run_id)

    async def revoke(self, grant: GrantId, by: UserId) -> bool:
        """End a remembered approval; return whether there was one to end."""
        now = self._world.clock()
        fact = AuditFact(kind="grant", at=now, run_id=None, body={"grant": grant, "revoked_by": by})
        return await self._world.store.revoke(grant, now, fact)

    async def note(self, run_id: RunId, author: UserId, text: str) -> None:
        """Keep what somebody wrote for the agent's next turn."""
        await self._world.store.note(run_id, UserText(author=author, text=text), self._world.clock())

    async def fork(self, run_id: RunId, *, at: int, by: UserId, thread: Thread | None = None) -> RunId:
        """Start another run from the first `at` entries of this one's own transcript. Nothing is copied."""
        head = await self._known(run_id)
        if not 0 < at <= head.cursor:
            raise InvalidAnswer(f"Run {run_id} has entries 1 to {head.cursor}; {at} is none of them.")
        world, now = self._world, self._world.clock()
        transcript = await world.store.transcript(run_id)
        kept = transcript[: len(transcript) - head.cursor + at]
        phase, calls = _where(kept)
        fork = Head(
            run_id=self._ids.run(),
            thread=thread or head.thread,
            requester=by,
            agent=head.agent,
            created_at=now,
            state="running",
            phase=phase,
            calls=calls,
            base=Base(run_id=run_id, cursor=at),
            scope=head.scope,
        )
        fork, _ = await self._create(fork, (), {"by": by, "fork_of": run_id, "at": at}, None)
        self._supervisor.start(fork.run_id, Checkpoint(head=fork, transcript=list(kept)))
        return fork.run_id

    async def _known(self, run_id: RunId) -> Head:
        head = await self._world.store.head(run_id)
        if head is None:
            raise CheckpointNotFound(run_id)
        return head


def _where(kept: list[Entry]) -> tuple[Phase, tuple[CallState, ...]]:
    """Where a run stands whose transcript ends so: open calls are judged anew, settled ones stay settled."""
    settled = {entry.item.call_id for entry in kept if isinstance(entry.item, ToolResult)}
    for entry in reversed(kept):
        if isinstance(entry.item, UserText):
            break
        if isinstance(entry.item, ModelTurn):
            calls = tuple(
                CallState(id=call.id, status="settled" if call.id in settled else "proposed")
                for call in entry.item.calls
            )
            if any(call.status == "proposed" for call in calls):
                return "calls", calls
            break
    return "model", ()
