"""Approvals: what is open for this person, their decision, and why they are asked at all."""

from dataclasses import asdict

from bot.api.bodies import ApprovalList, DecideBody, DecisionOut, ExplainBody, ExplanationOut, InterruptOut
from bot.api.calls import Call
from bot.api.problems import NOT_FOUND, ApiError
from bot.api.runs import interrupt_out
from bot.domain.errors import CheckpointNotFound
from bot.domain.ids import InterruptId
from bot.domain.interrupt import Asked
from bot.engine.rights import objection
from bot.policy.explain import Explanation


async def listed(call: Call) -> ApprovalList:
    """Open questions this person could answer; with the scope `read`, all of them."""
    waiting = await call.world.store.open_interrupts()
    return ApprovalList(approvals=[interrupt_out(each) for each in waiting if _may_see(call, each)])


def _may_see(call: Call, asked: Asked) -> bool:
    mine = call.token.person == asked.interrupt.requester
    return call.token.may("read") or mine or not objection(call.token.holder, asked)


async def _found(call: Call) -> Asked:
    name = InterruptId(call.named("interrupt_id"))
    asked = await call.world.store.asked(name)
    if asked is None or not _may_see(call, asked):
        raise CheckpointNotFound(name)
    return asked


async def inspected(call: Call) -> InterruptOut:
    return interrupt_out(await _found(call))


async def decided(call: Call) -> DecisionOut:
    """Record a decision. The policy says who may; a refused one is recorded too."""
    body: DecideBody = call.body
    name = InterruptId(call.named("interrupt_id"))
    counted = await call.world.runner.decide(name, body.decision.answer(), call.token.holder, via="http")
    return DecisionOut(
        run_id=counted.run_id,
        interrupt=interrupt_out(counted.asked),
        votes=counted.votes,
        needed=counted.needed,
        replaced_by=counted.replaced_by,
    )


async def explained(call: Call) -> ExplanationOut:
    """Every rule that was looked at for the planned call, as the policy is now."""
    asked = await _found(call)
    head = await call.world.store.head(asked.interrupt.run_id)
    explanation = call.world.policy.explain(head, asked.interrupt) if head else None
    if explanation is None:
        raise ApiError(NOT_FOUND, "This question is not about a call, so no rule made it.")
    return _out(explanation)


async def explained_call(call: Call) -> ExplanationOut:
    """What the policy would say to a call, and why. Nothing is run and nobody is asked."""
    body: ExplainBody = call.body
    channel = call.token.channel if body.channel is None else body.channel
    return _out(call.world.policy.explain_call(body.tool, body.args, channel, call.token.person))


def _out(explanation: Explanation) -> ExplanationOut:
    verdict = explanation.verdict
    return ExplanationOut.model_validate(
        {
            "policy": explanation.policy,
            "version": explanation.version,
            "tool": explanation.tool,
            "args": explanation.args,
            "verdict": {"kind": verdict.kind, "rules": list(verdict.rules), "reason": verdict.reason},
            "heard": [asdict(heard) for heard in explanation.heard],
            "commands": [asdict(command) for command in explanation.commands],
            "refused": explanation.refused,
        }
    )
