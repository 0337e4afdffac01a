"""The state machine of a run: pure, complete, and the only way a `Head` changes.

`steps.pending` looks at a checkpoint and says what is to be done next. `advance` says what an event changes;
what it returns is what gets committed. Neither does any I/O, and time comes in as an argument.

A run moves through phases. `model`: the model is to be called. `calls`: the turn's calls are judged, asked
about, run and settled, each on its own. `answer`: the final text is under review. `finish`: it is over.
A call moves proposed → (asking →) ready → started → settled; it moves back only to be asked about again.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from bot.domain.canonical import JsonObject
from bot.domain.ids import CallId, GrantId
from bot.domain.run import CallState, Head
from bot.domain.tool import ToolCall, ToolResult
from bot.domain.transcript import ModelTurn
from bot.domain.verdict import Allow, Ask, Deny
from bot.engine import clarify, outcomes, questions, wording
from bot.engine.desk import Desk, Moved
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
    Judgement,
    Lost,
    Noted,
    Returned,
    ScopeChangeAsked,
    Settled,
    Started,
    StoppedHalfWay,
)

#: The same call declined so often ends the run.
MOST_REFUSALS = 3


def advance(head: Head, event: Event, *, turn: ModelTurn | None, now: datetime) -> Moved:  # noqa: C901, PLR0912 - a table
    """Return what `head` becomes. `turn` is the model's last one, if there was any."""
    desk = Desk(head, turn, now)
    match event:
        case Answered():
            _answered(desk, event.turn)
        case Judged():
            for judgement in event.judgements:
                _judged(desk, judgement)
        case Started():
            _started(desk, event.calls)
        case Returned():
            _returned(desk, event.result)
        case StoppedHalfWay():
            _stopped_half_way(desk, event)
        case Settled():
            outcomes.settled(desk, event.asked)
        case Drifted():
            _drifted(desk, event)
        case Forbidden():
            desk.close(event.call_id, "denied", wording.denied(event.verdict.reason))
        case Lost():
            _lost(desk, event.calls)
        case GrantLapsed():
            for call_id in event.calls:
                desk.update(call_id, status="proposed", verdict=None)
        case BreakpointHit():
            _breakpoint_hit(desk, event)
        case Assessed():
            _assessed(desk, event)
        case Noted():
            desk.items.extend(event.texts)
        case ScopeChangeAsked():
            _scope_change_asked(desk, event)
        case CancelAsked():
            desk.end("cancelled", wording.cancelled(event.by, event.reason))
        case Broke():
            desk.end("failed", event.why)
    return desk.moved()


def _assessed(desk: Desk, event: Assessed) -> None:
    assessment = event.assessment
    body = {"ambiguous": assessment.ambiguous, "blast_radius": assessment.blast_radius, "by": assessment.by}
    desk.fact("scope", assessed=body, asks=event.fields is not None)
    desk.head = replace(desk.head, in_own_words=None, rescoping=False)
    if event.fields is None or event.clarify is None:
        desk.head = replace(desk.head, phase=desk.next_phase())
        return
    interrupt = clarify.question(
        desk.next_id(), desk.head, event.clarify, assessment, event.fields, now=desk.now
    )
    desk.open(interrupt)
    desk.head = replace(desk.head, review=interrupt.id)


def _scope_change_asked(desk: Desk, event: ScopeChangeAsked) -> None:
    for call in desk.head.calls:
        if call.status == "asking":
            # Its question was withdrawn; it is judged again under the new scope.
            desk.update(call.id, status="proposed", interrupt=None, verdict=None, approved=False)
    desk.fact("scope", change_asked_by=event.by)
    desk.head = replace(desk.head, phase="clarify", rescoping=True, review=None)


def _answered(desk: Desk, turn: ModelTurn) -> None:
    desk.items.append(turn)
    desk.turn = turn
    head = replace(desk.head, turns=desk.head.turns + 1, usage=desk.head.usage + turn.usage, passed=())
    desk.head = head
    if ending := _ENDINGS.get(turn.stop):
        desk.end("failed", ending)
    elif len({call.id for call in turn.calls}) < len(turn.calls):
        # Results are tied to calls by their id: with doubles nobody could say what ran.
        desk.end("failed", wording.DOUBLE_IDS)
    elif not turn.calls:
        reviewed = any(point.step == "model" and point.when == "after" for point in head.breakpoints)
        desk.head = replace(head, phase="answer" if reviewed else "finish")
        if not reviewed:
            desk.end("done", "")
    elif head.turns >= head.agent.max_turns:
        desk.end("failed", wording.too_many_turns(head.turns))
    else:
        calls = tuple(CallState(id=call.id) for call in turn.calls)
        desk.head = replace(head, phase="calls", calls=calls)


def _judged(desk: Desk, judgement: Judgement) -> None:
    if desk.over():
        return
    if judgement.verdict is None:
        desk.close(judgement.call_id, "error", judgement.invalid)
        return
    desk.fact("verdict", **_verdict_facts(judgement))
    match judgement.verdict:
        case Allow():
            desk.update(judgement.call_id, status="ready", **_measured(judgement))
        case Deny(reason=reason):
            desk.close(judgement.call_id, "denied", wording.denied(reason))
        case Ask() as ask:
            _ask(desk, judgement, ask)


def _ask(desk: Desk, judgement: Judgement, ask: Ask) -> None:
    before = desk.times_refused(judgement.planned)
    if before:
        _refuse_again(desk, judgement)
    elif not desk.head.agent.interrupts:
        desk.close(judgement.call_id, "denied", wording.headless())
    elif ask.terms.approvers.nobody:
        desk.close(judgement.call_id, "denied", wording.nobody_can_approve())
    else:
        interrupt = questions.approval(
            desk.next_id(), desk.head, judgement, ask, said=desk.said(), now=desk.now
        )
        desk.open(interrupt)
        desk.uses.extend(judgement.uses_if_asked)
        measured = _measured(judgement)
        desk.update(judgement.call_id, status="asking", interrupt=interrupt.id, approved=False, **measured)


def _refuse_again(desk: Desk, judgement: Judgement) -> None:
    times = desk.count_refusal(judgement.planned)
    desk.close(judgement.call_id, "declined", wording.declined_before())
    if times >= MOST_REFUSALS:
        desk.end("failed", wording.kept_asking(judgement.planned.tool))


def _started(desk: Desk, calls: tuple[CallId, ...]) -> None:
    for call_id in calls:
        call = desk.update(call_id, status="started")
        planned = desk.planned(call)
        desk.uses.extend(call.uses)
        desk.grants_used.extend(_grants(call))
        desk.fact("execution_started", call=call_id, tool=planned.tool, args=planned.digest[:16])


def _returned(desk: Desk, result: ToolResult) -> None:
    call = desk.call(result.call_id)
    desk.fact("execution_finished", call=call.id, status=result.status, ms=result.took_ms)
    desk.settle(replace(result, notice=call.notice) if call.notice else result)


def _stopped_half_way(desk: Desk, event: StoppedHalfWay) -> None:
    if not desk.head.agent.interrupts:
        desk.close(event.call_id, "denied", wording.headless())
        return
    interrupt = questions.from_tool(desk.next_id(), desk.head, event, said=desk.said(), now=desk.now)
    desk.open(interrupt)
    desk.update(event.call_id, status="asking", interrupt=interrupt.id, saved=event.state, answer=None)


def _drifted(desk: Desk, event: Drifted) -> None:
    judgement = event.judgement
    ask = judgement.verdict
    if not isinstance(ask, Ask):
        # The policy lets it run unasked now, but a person was asked about something else: ask again.
        old = desk.call(judgement.call_id).verdict
        ask = old if isinstance(old, Ask) else Ask(rules=(), reason=event.why, policy="")
    again = replace(ask, reason=f"{event.why} {ask.reason}".strip())
    interrupt = questions.approval(
        desk.next_id(), desk.head, judgement, again, said=desk.said(), now=desk.now
    )
    desk.open(replace(interrupt, previous_impact=event.before))
    measured = _measured(judgement)
    desk.update(judgement.call_id, status="asking", interrupt=interrupt.id, approved=False, **measured)


def _lost(desk: Desk, calls: tuple[CallId, ...]) -> None:
    for call_id in calls:
        call = desk.call(call_id)
        interrupt = questions.recovery(desk.next_id(), desk.head, call, desk.planned(call), now=desk.now)
        desk.open(interrupt)
        desk.update(call_id, status="asking", interrupt=interrupt.id)


def _breakpoint_hit(desk: Desk, event: BreakpointHit) -> None:
    subject = _under_review(desk, event.step)
    interrupt = questions.review(desk.next_id(), desk.head, event, subject, now=desk.now)
    desk.open(interrupt)
    desk.head = replace(desk.head, review=interrupt.id)


def _under_review(desk: Desk, step: str) -> JsonObject:
    calls = [
        {"id": call.id, "tool": planned.tool, "args": planned.args}
        for call in desk.head.calls
        if call.status in {"proposed", "ready"} and (planned := desk.planned(call))
    ]
    draft = desk.turn.text if desk.turn and desk.head.phase in {"answer", "calls"} else ""
    return {"step": step, "calls": calls, "text": draft}


_ENDINGS = {"max_tokens": wording.CUT_OFF, "refusal": wording.REFUSED, "context_full": wording.TOO_LONG}


def proposed_calls(turn: ModelTurn | None) -> Mapping[CallId, ToolCall]:
    return {call.id: call for call in turn.calls} if turn else {}


def _measured(judgement: Judgement) -> dict[str, Any]:
    return {
        "verdict": judgement.verdict,
        "impact": judgement.impact,
        "digest": judgement.digest,
        "uses": judgement.uses_if_run,
    }


def _grants(call: CallState) -> list[GrantId]:
    """The remembered approvals a call relies on; the policy names them among the rules that spoke."""
    rules = call.verdict.rules if isinstance(call.verdict, Allow) else ()
    return [GrantId(rule.removeprefix("grant:")) for rule in rules if rule.startswith("grant:")]


def _verdict_facts(judgement: Judgement) -> dict[str, Any]:
    verdict = judgement.verdict
    assert verdict is not None
    return {
        "call": judgement.call_id,
        "tool": judgement.planned.tool,
        "args": judgement.planned.digest[:16],
        "verdict": verdict.kind,
        "rules": list(verdict.rules),
        "policy": verdict.policy,
    }
