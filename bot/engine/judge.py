"""Checks, measures and judges a call before anything is decided about it."""

from collections.abc import Iterable
from dataclasses import replace

from bot.domain.canonical import digest
from bot.domain.ids import CallId
from bot.domain.interrupt import Option
from bot.domain.run import CallState, Head
from bot.domain.tool import Impact, Planned, ToolCall, ToolDefinition
from bot.domain.verdict import Ask, Deny, OptionSpec, Verdict
from bot.engine import wording
from bot.engine.events import Judgement
from bot.engine.ports import CallContext, Clock, Policies, Resumed, Toolbox
from bot.policy.context import Context


def binding(
    planned: Planned, *, cwd: str, tool: ToolDefinition | None, impact: Impact | None, policy: str
) -> str:
    """The digest an approval is bound to: if any of these changes, it is another question."""
    measured = [impact.count, impact.bytes, impact.reversible, impact.fingerprint] if impact else None
    return digest([planned.tool, planned.args, cwd, tool.fingerprint if tool else None, measured, policy])


def call_context(head: Head, call_id: CallId, state: CallState | None = None) -> CallContext:
    resumed = None
    if state is not None and state.saved is not None and state.answer is not None:
        resumed = Resumed(state=state.saved, answer=state.answer)
    return CallContext(
        run_id=head.run_id,
        call_id=call_id,
        thread=head.thread,
        requester=head.requester,
        cwd=head.agent.cwd,
        idempotency_key=f"{head.run_id}/{call_id}",
        resumed=resumed,
        approved=state.approved if state else False,
    )


class Judge:
    """Asks the tools what a call would do, and the policy whether it may."""

    def __init__(self, toolbox: Toolbox, policies: Policies, clock: Clock) -> None:
        self._toolbox = toolbox
        self._policies = policies
        self._clock = clock

    async def judge(self, head: Head, call: ToolCall, planned: Planned) -> Judgement:
        if call.malformed is not None:
            return Judgement(call_id=call.id, planned=planned, verdict=None, invalid=wording.malformed())
        known = self._definition(head, planned.tool)
        problem = self._toolbox.invalid(planned) if known else None
        if problem:
            return Judgement(call_id=call.id, planned=planned, verdict=None, invalid=wording.invalid(problem))
        impact = await self._toolbox.preview(planned, call_context(head, call.id)) if known else None
        verdict = self.verdict(head, call.id, planned, impact)
        options = await self._options(head, call.id, planned, impact, verdict)
        return Judgement(
            call_id=call.id,
            planned=planned,
            verdict=verdict,
            impact=impact,
            digest=self.binding(head, planned, impact, verdict.policy),
            options=options,
        )

    def verdict(self, head: Head, call_id: CallId, planned: Planned, impact: Impact | None) -> Verdict:
        policy = self._policies.for_channel(head.thread.channel)
        call = ToolCall(id=call_id, tool=planned.tool, args=planned.args)
        context = Context(
            tool=self._definition(head, planned.tool),
            now=self._clock(),
            requester=head.requester,
            thread=head.thread.id,
            channel=head.thread.channel,
            cwd=head.agent.cwd or "/",
            environment=head.agent.environment,
            impact=impact,
            scope=head.scope,
        )
        return policy.decide(call, context)

    def binding(self, head: Head, planned: Planned, impact: Impact | None, policy: str) -> str:
        tool = self._toolbox.definition(planned.tool)
        return binding(planned, cwd=head.agent.cwd, tool=tool, impact=impact, policy=policy)

    def _definition(self, head: Head, name: str) -> ToolDefinition | None:
        """Only what this agent was given counts as known."""
        return next((tool for tool in self._toolbox.definitions(head.agent) if tool.name == name), None)

    async def _options(
        self, head: Head, call_id: CallId, planned: Planned, impact: Impact | None, verdict: Verdict
    ) -> tuple[Option, ...]:
        """Everything that may be chosen instead, measured; what the policy would deny is not offered."""
        if not isinstance(verdict, Ask):
            return ()
        offered: list[Option] = [
            Option(
                id="",
                label=other.label,
                consequence=other.consequence,
                planned=other.planned,
                impact=other.impact,
            )
            for other in (impact.alternatives if impact else ())
        ]
        for spec in verdict.terms.options:
            option = await self._from_policy(head, call_id, planned, spec)
            if option is not None:
                offered.append(option)
        allowed = [option for option in offered if self._may_be_offered(head, call_id, option)]
        return _numbered(allowed, planned)

    def _may_be_offered(self, head: Head, call_id: CallId, option: Option) -> bool:
        if option.planned is None or self._toolbox.invalid(option.planned):
            return False
        return not isinstance(self.verdict(head, call_id, option.planned, option.impact), Deny)

    async def _from_policy(
        self, head: Head, call_id: CallId, planned: Planned, spec: OptionSpec
    ) -> Option | None:
        args = {**planned.args, **spec.args}
        instead = Planned(tool=spec.use or planned.tool, args=args)
        if self._toolbox.invalid(instead):
            return None
        impact = await self._toolbox.preview(instead, call_context(head, call_id))
        consequence = impact.summary if impact else "Not measured."
        return Option(id="", label=spec.label, consequence=consequence, planned=instead, impact=impact)


def _numbered(options: Iterable[Option], planned: Planned) -> tuple[Option, ...]:
    """Give each distinct option a short id; one that changes nothing is no option."""
    seen = {planned.digest}
    kept: list[Option] = []
    for option in options:
        key = option.planned.digest if option.planned else option.label
        if key not in seen:
            seen.add(key)
            kept.append(replace(option, id=f"o{len(kept) + 1}"))
    return tuple(kept)


def drift(approved: Impact | None, fresh: Impact | None, *, tolerance: float) -> str:
    """Say what changed for the worse since `approved` was shown; empty if it is still the same thing.

    Fewer targets than approved are fine. More than `tolerance` more, other content or something that became
    irreversible is another question.
    """
    if approved is None or fresh is None:
        return "" if approved is fresh else "It could be measured then, but not now."
    if approved.fingerprint and fresh.fingerprint != approved.fingerprint:
        return "What it touches has changed since you were asked."
    if approved.reversible and not fresh.reversible:
        return "It could be undone when you were asked, and cannot be now."
    for name, then, now in (
        ("items", approved.count, fresh.count),
        ("bytes", approved.bytes, fresh.bytes),
    ):
        if then is not None and now is not None and now > then * (1 + tolerance):
            return f"Changed since you were asked: {then:,} → {now:,} {name}."
    return ""
