"""What fronts and commands call: ask, decide, cancel, fork, note. Each commits first and then hands over."""

from dataclasses import dataclass

from bot.domain.audit import AuditFact
from bot.domain.canonical import digest
from bot.domain.decision import Answer
from bot.domain.errors import AlreadyResumed, CheckpointNotFound, InvalidAnswer, Stale
from bot.domain.ids import InterruptId, RunId, UserId
from bot.domain.person import Person
from bot.domain.run import AgentSpec, Base, Breakpoint, CallState, Head, Phase, Thread
from bot.domain.tool import ToolResult
from bot.domain.transcript import Entry, ModelTurn, UserText
from bot.engine.approvals import Approvals, Counted
from bot.engine.driver import World
from bot.engine.events import CancelAsked
from bot.engine.ports import CancelRequest, Change, Checkpoint, Ids
from bot.engine.supervisor import Supervisor


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

    async def ask(self, request: Request) -> RunId:
        """Start a run for a request; the same request twice is one run."""
        world, now = self._world, self._world.clock()
        text = UserText(author=request.requester, text=request.text)
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
        )
        body = {"by": request.requester, "thread": request.thread.id, "text": digest(request.text)[:16]}
        fact = AuditFact(kind="request", at=now, run_id=head.run_id, body=body)
        own = [Entry(seq=0, at=now, item=text)]
        change = Change(head=head, entries=tuple(own), facts=(fact,))
        run_id = await world.store.create(change, worker=world.worker, request_key=request.key)
        if run_id == head.run_id:
            before = await world.store.transcript(run_id) if request.base else own
            self._supervisor.start(run_id, Checkpoint(head=head, transcript=before))
        return run_id

    async def decide(
        self, interrupt: InterruptId, answer: Answer, person: Person, *, via: str = ""
    ) -> Counted:
        """Record an answer and, if it was the last one missing, let the run go on. Raises as `Approvals`."""
        try:
            counted = await self._approvals.decide(interrupt, answer, person, via=via)
        except CheckpointNotFound:
            # A click that came too late may be what settled the question; its run must not wait for the sweep.
            asked = await self._world.store.asked(interrupt)
            if asked is not None:
                self._supervisor.start(asked.interrupt.run_id)
            raise
        self._went_on(counted)
        return counted

    async def rehearse(self, interrupt: InterruptId, answer: Answer, person: Person) -> None:
        """Raise what `decide` would raise, and settle nothing."""
        await self._approvals.rehearse(interrupt, answer, person)

    async def expire_due(self) -> int:
        """Settle what nobody answered in time; return how many."""
        expired = 0
        for asked in await self._world.store.due_interrupts(self._world.clock()):
            try:
                self._went_on(await self._approvals.expire(asked))
                expired += 1
            except Stale:
                continue
        return expired

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
        body = {"by": by, "fork_of": run_id, "at": at}
        fact = AuditFact(kind="request", at=now, run_id=fork.run_id, body=body)
        await world.store.create(Change(head=fork, facts=(fact,)), worker=world.worker, request_key=None)
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
