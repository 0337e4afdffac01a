"""What an answered, expired or withdrawn interrupt means for its run. Pure."""

from dataclasses import replace

from bot.domain.canonical import JsonObject
from bot.domain.decision import (
    Approve,
    Cancel,
    Choose,
    Decided,
    Decision,
    Edit,
    Expired,
    Outcome,
    Reject,
    Respond,
    Withdrawn,
)
from bot.domain.ids import CallId, InterruptId, UserId
from bot.domain.interrupt import Asked, Interrupt
from bot.domain.tool import Planned, ToolCall
from bot.domain.transcript import DraftEdited, HumanDecision, UserText
from bot.domain.verdict import ApprovalTerms, Ask
from bot.engine import clarify, wording
from bot.engine.desk import Desk
from bot.engine.questions import WIDEN


def settled(desk: Desk, asked: Asked) -> None:
    interrupt, outcome = asked.interrupt, asked.outcome
    if outcome is None:
        return
    if isinstance(outcome, Withdrawn | Expired) and outcome.replaced_by:
        _follow(desk, interrupt, outcome.replaced_by)
        return
    desk.items.append(HumanDecision(interrupt_id=interrupt.id, outcome=outcome))
    if isinstance(outcome, Decided) and isinstance(outcome.decision.answer, Cancel):
        decision = outcome.decision
        desk.end("cancelled", wording.cancelled(decision.by, outcome.decision.answer.reason))
    elif isinstance(outcome, Expired) and outcome.on_timeout == "cancel_run":
        _time_out(desk, interrupt)
        desk.end("cancelled", wording.expired())
    elif interrupt.kind == "review":
        _reviewed(desk, interrupt, outcome)
    elif interrupt.kind == "clarification":
        _clarified(desk, interrupt, outcome)
    elif interrupt.call_id is not None:
        _call_decided(desk, interrupt, interrupt.call_id, outcome)


def _follow(desk: Desk, interrupt: Interrupt, successor: InterruptId) -> None:
    if interrupt.call_id is not None:
        desk.update(interrupt.call_id, interrupt=successor)


def _call_decided(desk: Desk, interrupt: Interrupt, call_id: CallId, outcome: Outcome) -> None:
    match outcome:
        case Decided(decision=Decision(answer=Reject(reason=reason), by=by)):
            desk.count_refusal(desk.planned(desk.call(call_id)))
            desk.close(call_id, "declined", wording.declined(by, reason))
        case Decided() if interrupt.kind == "recovery":
            _recovered(desk, call_id, outcome)
        case Decided() if interrupt.kind == "input":
            desk.update(call_id, status="ready", answer=_answer_data(interrupt, outcome.decision))
        case Decided():
            _approved(desk, interrupt, call_id, outcome)
        case Expired():
            _time_out(desk, interrupt)
        case Withdrawn(why=why):
            desk.close(call_id, "cancelled", f"Not executed: {why}.")


def _approved(desk: Desk, interrupt: Interrupt, call_id: CallId, outcome: Decided) -> None:
    planned = outcome.planned or interrupt.planned
    answer = outcome.decision.answer
    if isinstance(answer, Choose) and answer.option == WIDEN and planned and desk.head.scope:
        call = ToolCall(id=call_id, tool=planned.tool, args=planned.args)
        scope = clarify.widened(desk.head.scope, call)
        desk.head = replace(desk.head, scope=scope)
        desk.fact("scope", widened=scope.summary, by=outcome.decision.by)
        desk.post("contract", desk.head.run_id)
    changed = planned if planned and planned != desk.proposed(call_id) else None
    desk.update(
        call_id,
        status="ready",
        approved=True,
        planned=changed,
        verdict=outcome.verdict or _asked_under(interrupt),
        impact=outcome.impact if outcome.planned else interrupt.impact,
        digest=outcome.digest or interrupt.digest,
        notice=_notice(interrupt, outcome.decision, changed) if changed else "",
    )


def _asked_under(interrupt: Interrupt) -> Ask:
    """The verdict as the approver saw it: a later policy is compared with this, and may only be stricter."""
    terms = ApprovalTerms(approvers=interrupt.approvers, quorum=interrupt.quorum)
    return Ask(rules=interrupt.rules, reason=interrupt.reason, policy=interrupt.policy, terms=terms)


def _notice(interrupt: Interrupt, decision: Decision, changed: Planned) -> str:
    """What the model is told about a call that is not the one it proposed."""
    option = interrupt.option(decision.answer.option) if isinstance(decision.answer, Choose) else None
    if option is not None:
        return wording.option_chosen(decision.by, option.label, changed)
    return wording.edited(decision.by, changed)


def _recovered(desk: Desk, call_id: CallId, outcome: Decided) -> None:
    answer = outcome.decision.answer
    match answer.option if isinstance(answer, Choose) else "":
        case "again":
            desk.update(call_id, status="ready", approved=True)
        case "happened":
            desk.close(call_id, "ok", wording.it_happened(outcome.decision.by))
        case _:
            desk.close(call_id, "unknown", wording.UNKNOWN_END)
            desk.end("cancelled", wording.cancelled(outcome.decision.by, ""))


def _time_out(desk: Desk, interrupt: Interrupt) -> None:
    if interrupt.call_id is not None:
        text = wording.question_timed_out() if interrupt.kind == "input" else wording.timed_out()
        desk.close(interrupt.call_id, "timed_out", text)
    else:
        desk.end("cancelled", wording.expired())


def _clarified(desk: Desk, interrupt: Interrupt, outcome: Outcome) -> None:
    desk.head = replace(desk.head, review=None)
    match outcome:
        case Decided(decision=decision):
            answer = decision.answer
            data: JsonObject = answer.data if isinstance(answer, Respond) else {}
            if words := data.get("in_other_words"):
                # Read back to the person before it counts: assessed again, with these words.
                desk.head = replace(desk.head, in_own_words=(interrupt.id, str(words)))
            else:
                _confirm(desk, interrupt, data, decision.by)
        case Expired() | Withdrawn():
            desk.end("cancelled", wording.expired())


def _confirm(desk: Desk, interrupt: Interrupt, data: JsonObject, by: UserId) -> None:
    fields = clarify.fields_of(interrupt)
    scope = None
    if fields:
        scope = clarify.contract(fields, clarify.answered(fields, data), by=by, now=desk.now)
        desk.fact("scope", confirmed=scope.summary, by=by, until=scope.expires_at.isoformat())
        desk.post("contract", desk.head.run_id)
    desk.head = replace(desk.head, phase=desk.next_phase(), scope=scope)


def _reviewed(desk: Desk, interrupt: Interrupt, outcome: Outcome) -> None:
    step = str((interrupt.subject or {}).get("step", ""))
    desk.head = replace(desk.head, review=None, passed=(*desk.head.passed, step))
    match outcome:
        case Decided(decision=Decision(answer=Reject(reason=reason), by=by)):
            _send_back(desk, by, reason)
        case Decided(decision=Decision(answer=Edit() as edit, by=by)):
            _edited_in_review(desk, edit, by)
        case Decided():
            _pass_answer(desk)
        case Expired():
            desk.end("cancelled", wording.expired())
        case Withdrawn(why=why):
            desk.end("cancelled", why)


def _pass_answer(desk: Desk) -> None:
    if desk.head.phase == "answer":
        desk.end("done", "")


def _edited_in_review(desk: Desk, edit: Edit, by: UserId) -> None:
    if edit.text is not None and desk.head.phase == "answer":
        desk.items.append(DraftEdited(by=by, text=edit.text))
    for call_id, args in (edit.args or {}).items():
        planned = replace(desk.planned(desk.call(CallId(call_id))), args=args)
        # Edited arguments are judged again, whoever edited them.
        desk.update(CallId(call_id), status="proposed", planned=planned, notice=wording.edited(by, planned))
    _pass_answer(desk)


def _send_back(desk: Desk, by: UserId, reason: str) -> None:
    for call in desk.head.calls:
        if call.status != "settled":
            desk.close(call.id, "declined", wording.declined(by, reason))
    desk.items.append(UserText(author=by, text=wording.changes_wanted(by, reason)))
    desk.head = replace(desk.head, phase="model", calls=())


def _answer_data(interrupt: Interrupt, decision: Decision) -> JsonObject:
    """What a tool gets that asked: the data, or the option that was chosen."""
    answer = decision.answer
    match answer:
        case Respond(data=data):
            return {"by": decision.by, "data": data}
        case Choose(option=chosen):
            option = interrupt.option(chosen)
            return {"by": decision.by, "data": option.label if option else chosen, "option": chosen}
        case Approve() | Edit() | Reject() | Cancel():
            return {"by": decision.by, "data": None}
