"""Builds the interrupts: what each kind of question says, offers, and whom it asks. Pure."""

from datetime import datetime

from bot.domain.canonical import JsonObject
from bot.domain.ids import InterruptId
from bot.domain.interrupt import Interrupt, Option
from bot.domain.run import CallState, Head
from bot.domain.tool import Planned
from bot.domain.verdict import Approvers, Ask, Verb
from bot.engine.events import BreakpointHit, Judgement, StoppedHalfWay

#: Questions that are not the policy's go to the person who asked.
REQUESTER = Approvers(requester=True, requester_may_approve=True, label="requester")

#: The option that moves the confirmed scope out to a call that exceeds it.
WIDEN = "widen"

#: The answers to "did it happen?" after a crash.
RECOVERY = (
    Option(
        id="happened", label="It happened", consequence="Go on as if it had finished; its output is lost."
    ),
    Option(id="again", label="Run it again", consequence="It runs once more, with the same arguments."),
    Option(id="stop", label="Stop here", consequence="Nothing more is run."),
)


def approval(
    name: InterruptId, head: Head, judgement: Judgement, ask: Ask, *, said: str, now: datetime
) -> Interrupt:
    """A call the policy wants to be asked about."""
    terms = ask.terms
    verbs: tuple[Verb, ...] = (
        (*terms.verbs, "choose", "cancel") if judgement.options else (*terms.verbs, "cancel")
    )
    return Interrupt(
        id=name,
        run_id=head.run_id,
        thread_id=head.thread.id,
        channel=head.thread.channel,
        kind="approval",
        reason=ask.reason,
        requester=head.requester,
        approvers=terms.approvers,
        opened_at=now,
        # No question outlives the run's patience.
        expires_at=now + min(terms.expires, head.agent.patience),
        verbs=verbs,
        call_id=judgement.call_id,
        planned=judgement.planned,
        masked=judgement.masked,
        impact=judgement.impact,
        options=judgement.options,
        rules=ask.rules,
        policy=ask.policy,
        quorum=terms.quorum,
        reason_required=terms.reason_required,
        editable=terms.editable,
        grantable=terms.grantable,
        on_timeout=terms.on_timeout,
        remind_at=tuple(now + after for after in terms.remind),
        escalate=terms.escalate,
        snooze_extends=terms.snooze_extends,
        said=said,
        digest=judgement.digest,
    )


def from_tool(name: InterruptId, head: Head, event: StoppedHalfWay, *, said: str, now: datetime) -> Interrupt:
    """A question a tool asks half way, `ask_human` among them."""
    question = event.question
    answers: tuple[Verb, ...] = ("choose",) if question.options and question.schema is None else ("respond",)
    if question.options and question.schema is not None:
        answers = ("choose", "respond")
    return Interrupt(
        id=name,
        run_id=head.run_id,
        thread_id=head.thread.id,
        channel=head.thread.channel,
        kind="input",
        reason=question.text,
        requester=head.requester,
        approvers=REQUESTER,
        opened_at=now,
        expires_at=now + head.agent.patience,
        verbs=(*answers, "reject", "cancel"),
        call_id=event.call_id,
        options=question.options,
        response_schema=question.schema,
        on_timeout="deny",
        said=said,
    )


def recovery(name: InterruptId, head: Head, call: CallState, planned: Planned, *, now: datetime) -> Interrupt:
    """A call that had started when the process died."""
    # Whoever could approve the call can say what became of it; else the person who asked.
    approvers = call.verdict.terms.approvers if isinstance(call.verdict, Ask) else REQUESTER
    return Interrupt(
        id=name,
        run_id=head.run_id,
        thread_id=head.thread.id,
        channel=head.thread.channel,
        kind="recovery",
        reason=f"I was restarted while {planned.tool} was running and cannot know whether it finished.",
        requester=head.requester,
        approvers=approvers,
        opened_at=now,
        expires_at=now + head.agent.patience,
        verbs=("choose", "cancel"),
        call_id=call.id,
        planned=planned,
        impact=call.impact,
        options=RECOVERY,
        digest=call.digest,
    )


def review(
    name: InterruptId, head: Head, event: BreakpointHit, subject: JsonObject, *, now: datetime
) -> Interrupt:
    """A breakpoint: a person looks before the run goes on."""
    return Interrupt(
        id=name,
        run_id=head.run_id,
        thread_id=head.thread.id,
        channel=head.thread.channel,
        kind="review",
        reason=event.breakpoint.reason or f"Breakpoint: {event.step.rsplit(' ', 1)[0]}",
        requester=head.requester,
        approvers=REQUESTER,
        opened_at=now,
        expires_at=now + head.agent.patience,
        verbs=("approve", "edit", "reject", "cancel"),
        subject=subject,
    )
