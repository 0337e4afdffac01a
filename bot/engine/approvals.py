"""Takes people's answers: authorised now, checked, recorded by compare-and-swap. Commits; runs nothing."""

from dataclasses import dataclass, replace
from datetime import datetime

from bot.domain.audit import AuditFact, AuditKind
from bot.domain.canonical import canonical
from bot.domain.decision import (
    Answer,
    Approve,
    Cancel,
    Choose,
    Decided,
    Decision,
    Edit,
    Expired,
    Outcome,
    Respond,
    Withdrawn,
    describe,
)
from bot.domain.errors import AlreadyDecided, CheckpointNotFound, InvalidAnswer, NotAllowed, Stale
from bot.domain.grant import Grant
from bot.domain.ids import CallId, GrantId, InterruptId, RunId, WorkerId
from bot.domain.interrupt import Asked, Interrupt
from bot.domain.person import Person
from bot.domain.run import Head
from bot.domain.tool import Planned, ToolCall
from bot.domain.verdict import Allow, Ask, Deny
from bot.engine import answers, clarify, expiry, questions
from bot.engine.events import Judgement
from bot.engine.judge import Judge
from bot.engine.ports import Checkpoint, Clock, Post, Store, Toolbox
from bot.engine.rights import objection
from bot.engine.timers import Snoozed, TimeRules
from bot.policy.grants import grant_from

NO_RULES = TimeRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What became of an answer."""

    asked: Asked
    run_id: RunId
    #: All interrupts of the run are settled: somebody should claim it.
    run_ready: bool = False
    #: … and this worker has.
    checkpoint: Checkpoint | None = None
    #: For a quorum: how many have agreed so far, of how many.
    votes: int = 1
    needed: int = 1
    #: The edit needs approvers of its own: it is asked about under this id.
    replaced_by: InterruptId | None = None


class Approvals:
    """The one way to answer an interrupt, for every front."""

    def __init__(
        self,
        store: Store,
        toolbox: Toolbox,
        judge: Judge,
        clock: Clock,
        *,
        worker: WorkerId | None = None,
        rules: TimeRules = NO_RULES,
    ) -> None:
        self._store = store
        self._rules = rules
        #: Claims the run with the answer that was the last one missing.
        self._worker = worker
        self._toolbox = toolbox
        self._judge = judge
        self._clock = clock

    async def decide(
        self, interrupt_id: InterruptId, answer: Answer, person: Person, *, via: str = ""
    ) -> Counted:
        """Record an answer.

        Raises:
            CheckpointNotFound: nobody knows this interrupt.
            AlreadyDecided: somebody was first, or it expired; says who and when.
            NotAllowed: this person may not decide; says who can. The click is recorded.
            InvalidAnswer: it does not fit; nothing was consumed.
        """
        now = self._clock()
        asked = await self._may_decide(interrupt_id, person, now)
        answers.check(asked.interrupt, answer)
        if asked.interrupt.kind == "clarification":
            await self._check_scope(asked.interrupt, answer, now)
        decision = Decision(answer=answer, by=person.id, at=now, via=via)
        if isinstance(answer, Edit) and asked.interrupt.kind == "approval":
            return await self._edit(asked, answer, decision, person)
        planned = _chosen(asked.interrupt, answer)
        outcome = Decided(decision=decision)
        if planned is not None:
            outcome = await self._bound(asked.interrupt, outcome, planned)
        return await self._agree(asked, outcome, self._granted(asked.interrupt, outcome))

    async def _check_scope(self, interrupt: Interrupt, answer: Answer, now: datetime) -> None:
        """An answer must fit the policy's limits on answers, before it becomes a limit itself."""
        if isinstance(answer, Cancel) or (isinstance(answer, Respond) and answer.data.get("in_other_words")):
            return
        fields = clarify.fields_of(interrupt)
        values = clarify.answered(fields, answer.data if isinstance(answer, Respond) else {})
        head = await self._head(interrupt)
        clarify.check(fields, values, cwd=head.agent.cwd, now=now)

    async def rehearse(self, interrupt_id: InterruptId, answer: Answer, person: Person) -> None:
        """Raise what `decide` would raise, and settle nothing: for answers that count only together."""
        now = self._clock()
        asked = await self._store.asked(interrupt_id)
        if asked is None:
            raise CheckpointNotFound(interrupt_id)
        if asked.outcome is not None:
            raise too_late(asked)
        if now >= asked.interrupt.expires_at:
            raise CheckpointNotFound(interrupt_id, "it has expired")
        await self._admit(person, asked, now)
        answers.check(asked.interrupt, answer)
        if asked.interrupt.kind == "clarification":
            await self._check_scope(asked.interrupt, answer, now)
        if isinstance(answer, Edit) and asked.interrupt.kind == "approval":
            await self._judged(asked.interrupt, answer)
        elif (planned := _chosen(asked.interrupt, answer)) is not None:
            decision = Decision(answer=answer, by=person.id, at=now)
            await self._bound(asked.interrupt, Decided(decision=decision), planned)

    async def snooze(self, interrupt_id: InterruptId, person: Person, until: datetime) -> Snoozed:
        """Remind this person, who may decide but does not want to now; return when, and when it expires.

        Raises as `decide` does, except InvalidAnswer.
        """
        now = self._clock()
        asked = await self._may_decide(interrupt_id, person, now)
        snoozed = expiry.snoozed(asked.interrupt, await self._head(asked.interrupt), until, now)
        times = {"until": snoozed.remind_at.isoformat(), "expires": snoozed.expires_at.isoformat()}
        fact = _fact("reminder", asked, now, snoozed_by=person.id, **times)
        after = await self._store.snooze(asked.interrupt, person.id, snoozed, fact)
        if after is None or after.outcome is not None:
            raise too_late(after) if after else CheckpointNotFound(interrupt_id)
        return snoozed

    # ------------------------------------------------------------------------------------------------------

    async def _may_decide(self, interrupt_id: InterruptId, person: Person, now: datetime) -> Asked:
        asked = await self._open_or_raise(interrupt_id, now)
        await self._admit(person, asked, now)
        return asked

    async def _admit(self, person: Person, asked: Asked, now: datetime) -> None:
        """Raise NotAllowed for somebody who may not decide, and record that they tried."""
        if problem := objection(person, asked):
            await self._store.record([_fact("click_refused", asked, now, by=person.id, why=problem)])
            raise NotAllowed(problem)

    async def _open_or_raise(self, interrupt_id: InterruptId, now: datetime) -> Asked:
        asked = await self._store.asked(interrupt_id)
        if asked is None:
            raise CheckpointNotFound(interrupt_id)
        if asked.outcome is None and now >= asked.interrupt.expires_at:
            # The sweep has not come by yet; the click must not win because of that.
            await self._store.fire_overdue(interrupt_id, now, self._rules)
            asked = await self._store.asked(interrupt_id)
            if asked is None or (asked.outcome is None and now >= asked.interrupt.expires_at):
                raise CheckpointNotFound(interrupt_id, "it has expired, nothing was run")
        if asked.outcome is not None:
            raise too_late(asked)
        return asked

    def _granted(self, interrupt: Interrupt, outcome: Decided) -> Grant | None:
        """The grant somebody wants with their approval.

        Raises:
            NotAllowed: this cannot be remembered; says why. Nothing was consumed.
        """
        answer = outcome.decision.answer
        remember = answer.remember if isinstance(answer, Approve | Choose) else None
        approved = outcome.planned or interrupt.planned
        tool = self._toolbox.definition(approved.tool) if approved else None
        if remember is None or approved is None or tool is None:
            return None
        return grant_from(
            interrupt,
            approved,
            # Derived: one approval makes one grant.
            id=GrantId(f"g-{interrupt.id}"),
            by=outcome.decision.by,
            at=outcome.decision.at,
            place=remember.place,
            where=interrupt.thread_id if remember.place == "thread" else interrupt.channel,
            ttl=remember.lasts,
            uses=remember.uses,
            tool=tool,
        )

    async def _agree(self, asked: Asked, outcome: Decided, grant: Grant | None = None) -> Counted:
        """Settle at once, or count a vote where the policy wants several people to agree."""
        interrupt, decision = asked.interrupt, outcome.decision
        if interrupt.quorum > 1 and isinstance(decision.answer, Approve | Choose | Edit):
            fact = _fact("vote", asked, decision.at, by=decision.by, answer=decision.answer.verb)
            votes = await self._store.vote(interrupt.id, decision, fact)
            same = [vote for vote in votes if _same(vote.answer, decision.answer)]
            if len(same) < interrupt.quorum:
                return await self._voted(interrupt, len(same))
            others = tuple(vote.by for vote in same if vote.by != decision.by)
            outcome = replace(outcome, others=others)
        facts = [_decision_fact(asked, outcome)]
        if grant is not None:
            until = grant.expires_at.isoformat()
            body = {
                "grant": grant.id,
                "tool": grant.tool,
                "place": grant.place,
                "until": until,
                "uses": grant.max_uses,
            }
            facts.append(_fact("grant", asked, outcome.decision.at, by=outcome.decision.by, **body))
        return await self._settle(asked, outcome, facts, grant=grant)

    async def _voted(self, interrupt: Interrupt, votes: int) -> Counted:
        now = await self._store.asked(interrupt.id)
        if now is None or now.outcome is not None:
            raise too_late(now) if now else CheckpointNotFound(interrupt.id)
        return Counted(asked=now, run_id=interrupt.run_id, votes=votes, needed=interrupt.quorum)

    async def _settle(
        self,
        asked: Asked,
        outcome: Outcome,
        facts: list[AuditFact],
        *,
        successor: Interrupt | None = None,
        posts: tuple[Post, ...] = (),
        grant: Grant | None = None,
    ) -> Counted:
        result = await self._store.settle(
            asked.interrupt.id,
            outcome,
            facts,
            successor=successor,
            claim_for=self._worker,
            posts=posts,
            grant=grant,
        )
        if not result.won:
            raise too_late(result.asked)
        needed = asked.interrupt.quorum
        return Counted(
            asked=result.asked,
            run_id=asked.interrupt.run_id,
            run_ready=result.run_ready,
            checkpoint=result.checkpoint,
            votes=needed,
            needed=needed,
            replaced_by=successor.id if successor else None,
        )

    async def _bound(self, interrupt: Interrupt, outcome: Decided, planned: Planned) -> Decided:
        """Bind the decision to what the option executes, as it was measured for the card."""
        head = await self._head(interrupt)
        option = next((option for option in interrupt.options if option.planned == planned), None)
        impact = option.impact if option else None
        call_id = interrupt.call_id or CallId("")
        verdict = (await self._judge.ruling(head, call_id, planned, impact)).verdict
        if isinstance(verdict, Deny):
            raise InvalidAnswer(f"The policy forbids this option now: {verdict.reason}")
        digest = self._judge.binding(head, planned, impact, verdict.policy)
        return replace(outcome, planned=planned, impact=impact, verdict=verdict, digest=digest)

    async def _edit(self, asked: Asked, edit: Edit, decision: Decision, person: Person) -> Counted:
        """Judge the edited call from the top. It may be forbidden, fine, or need other approvers."""
        interrupt = asked.interrupt
        head, judgement = await self._judged(interrupt, edit)
        planned = judgement.planned
        if isinstance(judgement.verdict, Ask):
            ask = judgement.verdict
            again = questions.approval(
                InterruptId(f"{interrupt.id}e"), head, judgement, ask, said=interrupt.said, now=decision.at
            )
            alone = ask.terms.quorum <= 1 and not objection(person, Asked(interrupt=again))
            if not alone:
                return await self._replace(asked, again, decision)
        outcome = Decided(
            decision=decision,
            planned=planned,
            impact=judgement.impact,
            verdict=judgement.verdict,
            digest=judgement.digest,
        )
        return await self._settle(asked, outcome, [_decision_fact(asked, outcome)])

    async def _judged(self, interrupt: Interrupt, edit: Edit) -> tuple[Head, Judgement]:
        """Return what the policy says to the edited call; raise InvalidAnswer if it cannot be."""
        assert interrupt.planned is not None
        assert interrupt.call_id is not None
        planned = Planned(tool=interrupt.planned.tool, args=edit.args or {})
        if problem := self._toolbox.invalid(planned):
            raise InvalidAnswer(f"The edited arguments do not fit: {problem}")
        head = await self._head(interrupt)
        call = ToolCall(id=interrupt.call_id, tool=planned.tool, args=planned.args)
        judgement = await self._judge.judge(head, call, planned)
        match judgement.verdict:
            case None:
                raise InvalidAnswer(judgement.invalid)
            case Deny(reason=reason):
                raise InvalidAnswer(f"The policy forbids the edited call: {reason}")
            case Allow() | Ask():
                return head, judgement

    async def _replace(self, asked: Asked, successor: Interrupt, decision: Decision) -> Counted:
        """The editor may not approve this alone: the edited call is a question of its own."""
        outcome = Withdrawn(at=decision.at, why="edited", by=decision.by, replaced_by=successor.id)
        fact = _fact("decision", asked, decision.at, what="edited", by=decision.by, replaced_by=successor.id)
        thread = (await self._head(asked.interrupt)).thread
        card = Post(
            key=f"card/{successor.id}",
            thread=thread,
            run_id=successor.run_id,
            kind="card",
            subject=successor.id,
        )
        posts = (card,) if thread.keeps_messages else ()
        return await self._settle(asked, outcome, [fact], successor=successor, posts=posts)

    async def _head(self, interrupt: Interrupt) -> Head:
        head = await self._store.head(interrupt.run_id)
        if head is None:
            raise CheckpointNotFound(interrupt.run_id)
        return head


def _chosen(interrupt: Interrupt, answer: Answer) -> Planned | None:
    option = interrupt.option(answer.option) if isinstance(answer, Choose) else None
    return option.planned if option else None


def _same(one: Answer, other: Answer) -> bool:
    """Whether two people agree to the same thing; their reasons may differ."""
    match one, other:
        case Choose(option=first), Choose(option=second):
            return first == second
        case Edit(args=first, text=said), Edit(args=second, text=repeated):
            return canonical([first, said]) == canonical([second, repeated])
        case _:
            return one.verb == other.verb


def too_late(asked: Asked) -> Stale:
    """Say how a settled interrupt ended, to somebody who comes after."""
    outcome = asked.outcome
    assert outcome is not None
    match outcome:
        case Decided(decision=decision):
            return AlreadyDecided(asked.interrupt.id, what=describe(outcome), by=decision.by, at=decision.at)
        case Withdrawn(by=by, at=at):
            return AlreadyDecided(asked.interrupt.id, what=describe(outcome), by=by, at=at)
        case Expired(at=at):
            why = f"it expired at {at:%Y-%m-%d %H:%M} UTC, nothing was run"
            return CheckpointNotFound(asked.interrupt.id, why)


def _decision_fact(asked: Asked, outcome: Decided) -> AuditFact:
    decision = outcome.decision
    extra: dict[str, object] = {"others": list(outcome.others)} if outcome.others else {}
    digest = outcome.digest or asked.interrupt.digest
    what = describe(outcome)
    return _fact(
        "decision",
        asked,
        decision.at,
        what=what,
        by=decision.by,
        via=decision.via,
        digest=digest[:16],
        **extra,
    )


def _fact(kind: AuditKind, asked: Asked, at: datetime, **body: object) -> AuditFact:
    run_id = asked.interrupt.run_id
    return AuditFact(kind=kind, at=at, run_id=run_id, body={"id": asked.interrupt.id, **body})
