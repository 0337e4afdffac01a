"""Drives one claimed run until it ends or only people can help. Commits before every effect.

`machine` and `steps` decide; this file only carries out, one step at a time: it calls the model, runs tools,
and writes. Pure moves are collected and committed together right before the next effect.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from bot.domain.errors import ConfigError, GrantSpent, Upstream
from bot.domain.ids import CallId, InterruptId, WorkerId
from bot.domain.interrupt import Asked
from bot.domain.run import FINAL, CallState, Head
from bot.domain.tool import Planned, ToolCall, ToolResult
from bot.domain.transcript import DraftEdited, Entry, ModelTurn, UserText
from bot.domain.verdict import Deny
from bot.engine import clarify, steps
from bot.engine.assess import Assessor
from bot.engine.desk import Moved
from bot.engine.events import (
    Answered,
    Assessed,
    BreakpointHit,
    Broke,
    CancelAsked,
    Drifted,
    Event,
    Forbidden,
    GrantLapsed,
    Judged,
    Lost,
    Noted,
    Returned,
    ScopeChangeAsked,
    Settled,
    Started,
    StoppedHalfWay,
)
from bot.engine.judge import Judge, call_context, drift
from bot.engine.machine import advance
from bot.engine.ports import (
    CallFinished,
    CallProgress,
    CallStarted,
    CancelRequest,
    Change,
    Checkpoint,
    Clock,
    Front,
    InterruptsOpened,
    LiveEvent,
    Model,
    ModelRequest,
    Note,
    Progress,
    Retrying,
    RunEnded,
    Store,
    Suspended,
    TextDelta,
    Toolbox,
)
from bot.engine.prompt import system_prompt
from bot.engine.timers import TimeRules
from bot.policy.binding import tightened

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything a driver works with; the same for all runs of a process."""

    store: Store
    model: Model
    toolbox: Toolbox
    judge: Judge
    front: Front
    clock: Clock
    worker: WorkerId
    assessor: Assessor = field(default_factory=lambda: Assessor(None))
    #: How much larger a fresh preview may be than the approved one.
    drift_tolerance: float = 0.0
    #: What the operator set about business hours.
    time: TimeRules = TimeRules()


@dataclass(frozen=True, slots=True)
class Nudge:
    """Somebody answered: look at the interrupts again."""


#: What reaches a driver while it waits.
Happening: TypeAlias = Event | Nudge
#: parked: people must answer · again: they already did, claim it once more · ended: it is over.
Outcome = Literal["parked", "again", "ended"]


class Driver:
    """The owner of one claimed run, its transcript and its running calls."""

    def __init__(self, world: World, checkpoint: Checkpoint) -> None:
        self._world = world
        self._head = checkpoint.head
        self._transcript: list[Entry] = checkpoint.transcript
        self._asked: dict[InterruptId, Asked] = checkpoint.asked
        self._turn = _last_turn(self._transcript)
        #: Moves that are not committed yet.
        self._unsaved: Moved | None = None
        self._noted = checkpoint.noted
        self._cancel = checkpoint.cancel
        self._heeded = False
        self._notes: tuple[Note, ...] = ()
        self._happenings: asyncio.Queue[Happening] = asyncio.Queue()
        self._running: dict[CallId, asyncio.Task[None]] = {}
        self._thinking: asyncio.Task[None] | None = None

    @property
    def head(self) -> Head:
        return self._head

    def tell(self, happening: Happening) -> None:
        """Let the run know of an answer or a request to stop; never waits."""
        self._happenings.put_nowait(happening)

    async def run(self) -> Outcome:
        """Go on until the run ends or parks.

        Raises:
            LostRace: another process took the run over; this one has let go of it.
        """
        self._heed(self._cancel)
        outcome: Outcome | None = None
        async with asyncio.TaskGroup() as group:
            try:
                while outcome is None:
                    outcome = await self._step(group)
            finally:
                self._stop_work()
        return outcome

    async def _step(self, group: asyncio.TaskGroup) -> Outcome | None:  # noqa: C901 - a table
        if self._thinking is not None:
            return await self._wait()
        settled = {name for name, asked in self._asked.items() if asked.outcome is not None}
        step = steps.pending(self._head, turn=self._turn, settled=settled, running=self._running.keys())
        match step:
            case steps.Assess():
                await self._assess()
            case steps.CallModel():
                await self._call_model(group)
            case steps.Judge():
                await self._judge(step.calls)
            case steps.Apply():
                await self._apply(step.interrupt)
            case steps.Begin():
                await self._begin(group, step.calls)
            case steps.Recover():
                await self._recover(group, step.calls)
            case steps.Review():
                self._advance(BreakpointHit(breakpoint=step.breakpoint, step=step.step))
            case steps.Await():
                return await self._wait()
            case steps.Park():
                return await self._park()
            case steps.Finish():
                return await self._finish()
        return None

    # Before any work ----------------------------------------------------------------------------------

    async def _assess(self) -> None:
        await self._flush()
        policy = self._world.judge.policies.for_channel(self._head.thread.channel)
        tools = self._world.toolbox.definitions(self._head.agent)
        text = next(
            (entry.item.text for entry in reversed(self._transcript) if isinstance(entry.item, UserText)), ""
        )
        assessment = await self._world.assessor.assess(text, self._transcript, tools)
        asked = self._head.rescoping or clarify.wanted(policy.clarify, assessment, tools)
        fields = clarify.fields(policy.clarify, assessment) if asked and policy.clarify else None
        if self._head.in_own_words and policy.clarify:
            # Their own words become suggestions for the same questions, to be confirmed by them.
            before, words = self._head.in_own_words
            fields = clarify.fields_of(self._asked[before].interrupt)
            values = await self._world.assessor.parse(words, fields)
            fields = tuple(replace(field, default=values.get(field.name, field.default)) for field in fields)
            assessment = replace(assessment, understood=words[:300])
        self._advance(Assessed(assessment=assessment, clarify=policy.clarify, fields=fields))

    # The model ----------------------------------------------------------------------------------------

    async def _call_model(self, group: asyncio.TaskGroup) -> None:
        await self._flush()
        if self._head.state in FINAL:
            return
        await self._take_notes()
        request = ModelRequest(
            agent=self._head.agent,
            system=system_prompt(self._head),
            transcript=self._transcript,
            tools=self._world.toolbox.definitions(self._head.agent),
        )
        self._thinking = group.create_task(self._think(request))

    async def _think(self, request: ModelRequest) -> None:
        try:
            async for event in self._world.model.stream(request):
                match event:
                    case ModelTurn():
                        self.tell(Answered(turn=event))
                    case TextDelta():
                        await self._show(replace(event, entry=self._head.cursor))
                    case Retrying():
                        await self._show(event)
        except (Upstream, ConfigError) as error:
            self.tell(Broke(why=str(error)))
        except Exception:
            logger.exception("the model adapter failed", extra={"run": self._head.run_id})
            self.tell(
                Broke(why="Something unexpected went wrong while talking to the model. It is in the log.")
            )

    # Calls --------------------------------------------------------------------------------------------

    async def _judge(self, calls: Sequence[CallId]) -> None:
        if any(self._world.toolbox.measures(self._planned(self._state(call)).tool) for call in calls):
            # The turn is durable before anything is measured: that may take long, and tokens cost money.
            await self._flush()
            if self._head.state in FINAL:
                return
        work = [(self._proposed(call), self._planned(self._state(call))) for call in calls]
        self._advance(Judged(judgements=await self._world.judge.judge_all(self._head, work)))

    async def _apply(self, interrupt: InterruptId) -> None:
        self._advance(Settled(asked=self._asked[interrupt]))
        missing = [name for name in _references(self._head) if name not in self._asked]
        if missing:
            self._asked |= await self._world.store.asked_of(missing)

    async def _begin(self, group: asyncio.TaskGroup, calls: Sequence[CallId]) -> None:
        ready = tuple([call for call in calls if await self._still_good(call)])
        if not ready:
            return
        before = self._head, self._unsaved
        self._advance(Started(calls=ready))
        try:
            await self._launch(group, ready)
        except GrantSpent:
            # Nothing was written. Somebody else used the grant up, or revoked it: judge the calls again.
            self._head, self._unsaved = before
            self._advance(GrantLapsed(calls=ready))

    async def _still_good(self, call_id: CallId) -> bool:
        """Whether an approved call is still what was approved; if not, say so to the run."""
        state = self._state(call_id)
        if not state.approved or state.saved is not None:
            return True
        planned = self._planned(state)
        fresh = await self._world.toolbox.preview(planned, call_context(self._head, call_id, state))
        now = (await self._world.judge.ruling(self._head, call_id, planned, fresh)).verdict
        newest = tightened(state.verdict, now) if state.verdict else now
        if isinstance(newest, Deny):
            self._advance(Forbidden(call_id=call_id, verdict=newest))
            return False
        why = drift(state.impact, fresh, tolerance=self._world.drift_tolerance) or self._redefined(
            state, planned
        )
        if not why and state.verdict and newest is not state.verdict:
            why = "The policy has become stricter since you were asked."
        if why:
            judgement = await self._world.judge.judge(self._head, self._proposed(call_id), planned)
            self._advance(Drifted(judgement=judgement, before=state.impact, why=why))
            return False
        return True

    def _redefined(self, state: CallState, planned: Planned) -> str:
        """The stored digest covers tool, arguments, directory and the tool's definition."""
        if state.verdict is None or not state.digest:
            return ""
        now = self._world.judge.binding(self._head, planned, state.impact, state.verdict.policy)
        return "" if now == state.digest else "The tool has changed since you were asked."

    async def _recover(self, group: asyncio.TaskGroup, calls: Sequence[CallId]) -> None:
        again = [call for call in calls if self._repeatable(call)]
        if again:
            self._advance(Started(calls=tuple(again)))
            await self._launch(group, again)
        unknown = tuple(call for call in calls if call not in again)
        if unknown:
            self._advance(Lost(calls=unknown))

    def _repeatable(self, call_id: CallId) -> bool:
        tool = self._world.toolbox.definition(self._planned(self._state(call_id)).tool)
        return tool is not None and tool.trusted and tool.effects.repeatable

    async def _launch(self, group: asyncio.TaskGroup, calls: Sequence[CallId]) -> None:
        states = {call: self._state(call) for call in calls}
        await self._flush()
        if self._head.state in FINAL:
            return
        for call_id, state in states.items():
            self._running[call_id] = group.create_task(self._execute(self._planned(state), state))

    async def _execute(self, planned: Planned, state: CallState) -> None:
        await self._show(CallStarted(call_id=state.id, planned=planned))
        context = call_context(self._head, state.id, state)
        # The toolbox never raises because of a tool; anything else that comes out of it ends this run only.
        async for event in self._world.toolbox.execute(planned, context):
            match event:
                case Progress(text=text):
                    await self._show(CallProgress(call_id=state.id, text=text))
                case Suspended(question=question, state=saved):
                    self.tell(StoppedHalfWay(call_id=state.id, question=question, state=saved))
                case ToolResult():
                    await self._show(CallFinished(planned=planned, result=event))
                    self.tell(Returned(result=event))

    # Waiting ------------------------------------------------------------------------------------------

    async def _wait(self) -> None:
        happening = await self._happenings.get()
        match happening:
            case Nudge():
                self._asked |= await self._world.store.asked_of(_references(self._head))
                return
            case Answered() | Broke():
                self._thinking = None
            case Returned(result=ToolResult(call_id=call_id)) | StoppedHalfWay(call_id=call_id):
                del self._running[call_id]
            case CancelAsked():
                self._stop_work()
            case _:
                pass
        self._advance(happening)
        if not isinstance(happening, Answered):
            # A result must not be lost to a crash while its siblings still run.
            await self._flush()

    async def _park(self) -> Outcome | None:
        self._head = replace(self._head, state="waiting")
        self._unsaved = self._unsaved or Moved(head=self._head)
        state = await self._flush()
        return "again" if state == "ready" else "parked"

    async def _finish(self) -> Outcome:
        await self._flush()
        state = self._head.state
        text = final_text(self._transcript) if state == "done" else self._head.ending
        if state in {"done", "failed", "cancelled"}:
            await self._show(RunEnded(state=state, text=text))  # pyright: ignore[reportArgumentType]
        return "ended"

    def _stop_work(self) -> None:
        for task in (*self._running.values(), *((self._thinking,) if self._thinking else ())):
            task.cancel()
        self._running.clear()
        self._thinking = None

    # Writing ------------------------------------------------------------------------------------------

    def _advance(self, event: Event) -> None:
        moved = advance(self._head, event, turn=self._turn, now=self._world.clock())
        start = self._head.cursor
        for place, item in enumerate(moved.items):
            self._transcript.append(Entry(seq=start + place, at=self._world.clock(), item=item))
            if isinstance(item, ModelTurn):
                self._turn = item
        for interrupt in moved.opened:
            self._asked[interrupt.id] = Asked(interrupt=interrupt)
        self._head = moved.head
        self._unsaved = self._unsaved.then(moved) if self._unsaved else moved

    async def _flush(self) -> str:
        """Commit what has piled up, if anything; take notice of a request to stop."""
        unsaved = self._unsaved
        if unsaved is None:
            return self._head.state
        entries = (
            tuple(self._transcript[len(self._transcript) - len(unsaved.items) :]) if unsaved.items else ()
        )
        change = Change(
            head=self._head,
            entries=entries,
            opened=unsaved.opened,
            facts=unsaved.facts,
            notes_taken=tuple(note.id for note in self._notes),
            posts=unsaved.posts,
            heeded=self._heeded,
            uses=unsaved.uses,
            grants_used=unsaved.grants_used,
        )
        committed = await self._world.store.commit(change, self._world.worker, self._world.clock())
        self._head = replace(self._head, version=self._head.version + 1)
        heeded, self._heeded = self._heeded, False
        self._unsaved, self._notes, self._noted = None, (), committed.noted
        if unsaved.opened:
            await self._show(InterruptsOpened(interrupts=unsaved.opened))
        self._heed(None if heeded else committed.cancel)
        return committed.state

    def _heed(self, cancel: CancelRequest | None) -> None:
        if cancel is None or self._head.state != "running":
            return
        if cancel.what == "cancel":
            self._stop_work()
            self._advance(CancelAsked(by=cancel.by, reason=cancel.reason))
        elif not (self._running or self._thinking):
            # Between two steps only; until then the request stays where it is.
            self._advance(ScopeChangeAsked(by=cancel.by))
            self._heeded = True

    async def _take_notes(self) -> None:
        if self._noted:
            self._notes = await self._world.store.notes(self._head.run_id)
            self._advance(Noted(texts=tuple(note.item for note in self._notes)))

    async def _show(self, event: LiveEvent) -> None:
        await self._world.front.show(self._head.thread, self._head.run_id, event)

    # Looking ------------------------------------------------------------------------------------------

    def _state(self, call_id: CallId) -> CallState:
        return next(call for call in self._head.calls if call.id == call_id)

    def _proposed(self, call_id: CallId) -> ToolCall:
        calls = self._turn.calls if self._turn else ()
        return next(call for call in calls if call.id == call_id)

    def _planned(self, state: CallState) -> Planned:
        if state.planned is not None:
            return state.planned
        call = self._proposed(state.id)
        return Planned(tool=call.tool, args=call.args)


def _last_turn(transcript: Sequence[Entry]) -> ModelTurn | None:
    return next((entry.item for entry in reversed(transcript) if isinstance(entry.item, ModelTurn)), None)


def _references(head: Head) -> list[InterruptId]:
    waiting = [call.interrupt for call in head.calls if call.interrupt and call.status == "asking"]
    return [*waiting, head.review] if head.review else waiting


def final_text(transcript: Sequence[Entry]) -> str:
    """The answer as it was posted: the model's last words, or what a reviewer made of them."""
    for entry in reversed(transcript):
        if isinstance(entry.item, DraftEdited | ModelTurn):
            return entry.item.text
    return ""
