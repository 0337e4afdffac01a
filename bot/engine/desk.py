"""The working copy of a head while an event changes it, and what is written beside it. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bot.domain.audit import AuditFact, AuditKind
from bot.domain.ids import CallId, GrantId, InterruptId, interrupt_id
from bot.domain.interrupt import Interrupt
from bot.domain.run import FINAL, CallState, Head, Phase, Refusal, RunState
from bot.domain.tool import Planned, ResultStatus, ToolResult
from bot.domain.transcript import Item, ModelTurn
from bot.engine import wording
from bot.engine.ports import Post


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What became of a head, and what is to be committed with it."""

    head: Head
    items: tuple[Item, ...] = ()
    opened: tuple[Interrupt, ...] = ()
    facts: tuple[AuditFact, ...] = ()
    posts: tuple[Post, ...] = ()
    uses: tuple[str, ...] = ()
    grants_used: tuple[GrantId, ...] = ()

    def then(self, other: "Moved") -> "Moved":
        return Moved(
            head=other.head,
            items=self.items + other.items,
            opened=self.opened + other.opened,
            facts=self.facts + other.facts,
            posts=self.posts + other.posts,
            uses=self.uses + other.uses,
            grants_used=self.grants_used + other.grants_used,
        )


class Desk:
    """One head to change, and the items, interrupts and facts that go with it."""

    def __init__(self, head: Head, turn: ModelTurn | None, now: datetime) -> None:
        self.head: Head = head
        #: The model's last turn; what its calls propose is read from here.
        self.turn: ModelTurn | None = turn
        self.now: datetime = now
        self.items: list[Item] = []
        self.opened: list[Interrupt] = []
        self.facts: list[AuditFact] = []
        self.posts: list[Post] = []
        self.uses: list[str] = []
        self.grants_used: list[GrantId] = []

    def moved(self) -> Moved:
        return Moved(
            head=replace(self.head, cursor=self.head.cursor + len(self.items)),
            items=tuple(self.items),
            opened=tuple(self.opened),
            facts=tuple(self.facts),
            posts=tuple(self.posts),
            uses=tuple(self.uses),
            grants_used=tuple(self.grants_used),
        )

    def post(self, kind: str, subject: str) -> None:
        """Have the front show something, or show it again; fronts that keep no messages have nothing to do."""
        if self.head.thread.keeps_messages:
            key = f"{kind}/{subject}"
            run_id = self.head.run_id
            self.posts.append(
                Post(key=key, thread=self.head.thread, run_id=run_id, kind=kind, subject=subject)
            )

    def end(self, state: RunState, ending: str) -> None:
        if self.over():
            return
        for call in self.head.calls:
            if call.status == "started":
                self.close(
                    call.id, "cancelled", "Stopped while it was running; it may have done part of its work."
                )
            elif call.status != "settled":
                self.close(call.id, "cancelled", wording.STOPPED)
        self.head = replace(self.head, state=state, phase="finish", calls=(), review=None, ending=ending)
        self.fact("run_finished", state=state, turns=self.head.turns)
        self.post("answer", self.head.run_id)

    def next_phase(self) -> Phase:
        """Where the run goes on after its scope was clarified: with calls that are still open, or the model."""
        return "calls" if any(call.status != "settled" for call in self.head.calls) else "model"

    def over(self) -> bool:
        return self.head.state in FINAL

    def close(self, call_id: CallId, status: ResultStatus, text: str) -> None:
        """Give a call its result without having run it (now)."""
        self.settle(ToolResult(call_id=call_id, status=status, text=text))

    def settle(self, result: ToolResult) -> None:
        self.items.append(result)
        asked = self.call(result.call_id).interrupt
        if asked is not None:
            self.post("card", asked)
        # A settled call needs nothing but its name: its result is in the transcript, and heads stay small.
        calls = tuple(
            CallState(id=call.id, status="settled") if call.id == result.call_id else call
            for call in self.head.calls
        )
        over = all(call.status == "settled" for call in calls)
        phase = "model" if over and self.head.phase == "calls" else self.head.phase
        self.head = replace(self.head, calls=calls, phase=phase)

    def call(self, call_id: CallId) -> CallState:
        return next(call for call in self.head.calls if call.id == call_id)

    def update(self, call_id: CallId, **changes: Any) -> CallState:
        changed = replace(self.call(call_id), **changes)
        calls = tuple(changed if call.id == call_id else call for call in self.head.calls)
        self.head = replace(self.head, calls=calls)
        return changed

    def planned(self, call: CallState) -> Planned:
        return call.planned or self.proposed(call.id)

    def proposed(self, call_id: CallId) -> Planned:
        calls = self.turn.calls if self.turn else ()
        proposed = next(call for call in calls if call.id == call_id)
        return Planned(tool=proposed.tool, args=proposed.args)

    def times_refused(self, planned: Planned) -> int:
        return next((refusal.times for refusal in self.head.refusals if refusal.digest == planned.digest), 0)

    def count_refusal(self, planned: Planned) -> int:
        times = self.times_refused(planned) + 1
        others = tuple(refusal for refusal in self.head.refusals if refusal.digest != planned.digest)
        self.head = replace(self.head, refusals=(*others, Refusal(digest=planned.digest, times=times)))
        return times

    def next_id(self) -> InterruptId:
        self.head = replace(self.head, asked=self.head.asked + 1)
        return interrupt_id(self.head.run_id, self.head.asked)

    def open(self, interrupt: Interrupt) -> None:
        self.opened.append(interrupt)
        self.post("card", interrupt.id)
        what = {"rules": list(interrupt.rules)} if interrupt.rules else {}
        self.fact("interrupt", id=interrupt.id, ask=interrupt.kind, digest=interrupt.digest[:16], **what)

    def said(self) -> str:
        return self.turn.text.strip() if self.turn else ""

    def fact(self, kind: AuditKind, **body: Any) -> None:
        self.facts.append(AuditFact(kind=kind, at=self.now, run_id=self.head.run_id, body=body))
