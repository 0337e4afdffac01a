"""Checks, measures and judges a call before anything is decided about it."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from bot.domain.grant import Grant
from bot.domain.ids import CallId
from bot.domain.interrupt import Option
from bot.domain.run import CallState, Head
from bot.domain.tool import Impact, Planned, ToolCall, ToolDefinition
from bot.domain.verdict import Ask, Deny, OptionSpec, Verdict
from bot.engine import wording
from bot.engine.events import Judgement
from bot.engine.ports import CallContext, Clock, People, Policies, Resumed, Store, Toolbox
from bot.engine.questions import WIDEN
from bot.policy.binding import admits, binding_digest
from bot.policy.context import Context
from bot.policy.model import LimitUse
from bot.policy.options import option_planned
from bot.policy.paths_os import OsResolver
from bot.policy.scope import exceeded


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
        client_tools=head.agent.client_tools,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A verdict, and the counters it rests on."""

    verdict: Verdict
    limits: tuple[LimitUse, ...] = ()


@dataclass(slots=True)
class _Session:
    """Uses promised to earlier calls of the same turn, which the store does not know of yet."""

    promised: Counter[str] = field(default_factory=Counter[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Asks the tools what a call would do, and the policy whether it may."""

    toolbox: Toolbox
    policies: Policies
    store: Store
    clock: Clock
    #: Checks that whoever gave a grant could still give it; without it, grants are not used.
    people: People | None = None

    async def judge_all(self, head: Head, calls: Sequence[tuple[ToolCall, Planned]]) -> tuple[Judgement, ...]:
        """Judge the calls of one turn: measured side by side, judged one after the other, so that they
        cannot together exceed a limit that each of them respects.
        """
        impacts = await asyncio.gather(*(self._measured(head, call.id, planned) for call, planned in calls))
        session = _Session()
        return tuple(
            [
                await self._judge(head, call, planned, impact, session)
                for (call, planned), impact in zip(calls, impacts, strict=True)
            ]
        )

    async def judge(self, head: Head, call: ToolCall, planned: Planned) -> Judgement:
        (judgement,) = await self.judge_all(head, [(call, planned)])
        return judgement

    async def ruling(
        self,
        head: Head,
        call_id: CallId,
        planned: Planned,
        impact: Impact | None,
        session: _Session | None = None,
    ) -> Ruling:
        """Return the policy's word on a call, with limits counted and grants considered."""
        policy = self.policies.for_channel(head.thread.channel)
        call = ToolCall(id=call_id, tool=planned.tool, args=planned.args)
        context = self.context(head, planned, impact)
        limits = policy.limits_touched(call, context)
        if limits:
            context = replace(context, recent=await self._recent(limits, session or _Session()))
        verdict = policy.decide(call, context)
        if isinstance(verdict, Ask) and verdict.terms.grantable and self.people is not None:
            grants = await self._grants(head, planned.tool, verdict)
            if grants:
                verdict = policy.decide(call, replace(context, grants=grants))
        if isinstance(verdict, Ask) and (outside := self._outside(head, call, context)):
            verdict = replace(verdict, reason=f"{'; '.join(outside)}. {verdict.reason}")
        return Ruling(verdict=verdict, limits=limits)

    def _outside(self, head: Head, call: ToolCall, context: Context) -> tuple[str, ...]:
        """The clauses of the confirmed scope that this call breaks, in words."""
        return exceeded(head.scope, call, context, OsResolver()) if head.scope else ()

    def context(self, head: Head, planned: Planned, impact: Impact | None) -> Context:
        """The situation a call is judged in."""
        return Context(
            tool=self._definition(head, planned.tool),
            now=self.clock(),
            requester=head.requester,
            thread=head.thread.id,
            channel=head.thread.channel,
            cwd=head.agent.cwd or "/",
            environment=head.agent.environment,
            impact=impact,
            scope=head.scope,
        )

    def binding(self, head: Head, planned: Planned, impact: Impact | None, policy: str) -> str:
        tool = self.toolbox.definition(planned.tool)
        fingerprint = tool.fingerprint if tool else ""
        return binding_digest(
            planned, cwd=head.agent.cwd, tool_fingerprint=fingerprint, impact=impact, policy_version=policy
        )

    # ------------------------------------------------------------------------------------------------------

    async def _measured(self, head: Head, call_id: CallId, planned: Planned) -> Impact | None:
        if self._definition(head, planned.tool) is None or self.toolbox.invalid(planned):
            return None
        if not self.toolbox.measures(planned.tool):
            return None
        return await self.toolbox.preview(planned, call_context(head, call_id))

    async def _judge(
        self, head: Head, call: ToolCall, planned: Planned, impact: Impact | None, session: _Session
    ) -> Judgement:
        if call.malformed is not None:
            return Judgement(call_id=call.id, planned=planned, verdict=None, invalid=wording.malformed())
        known = self._definition(head, planned.tool)
        problem = self.toolbox.invalid(planned) if known else None
        if problem:
            return Judgement(call_id=call.id, planned=planned, verdict=None, invalid=wording.invalid(problem))
        ruling = await self.ruling(head, call.id, planned, impact, session)
        verdict = ruling.verdict
        uses = {
            kind: tuple(use.key for use in ruling.limits if use.counts == kind) for kind in ("calls", "asks")
        }
        if not isinstance(verdict, Deny):
            session.promised.update(uses["calls"])
        if isinstance(verdict, Ask):
            session.promised.update(uses["asks"])
        masked = self.toolbox.masked(planned)
        return Judgement(
            call_id=call.id,
            planned=planned,
            verdict=verdict,
            impact=impact,
            masked=masked if masked != planned else None,
            digest=self.binding(head, planned, impact, verdict.policy),
            options=await self._options(head, call.id, planned, impact, verdict),
            uses_if_run=uses["calls"],
            uses_if_asked=uses["asks"],
        )

    async def _recent(self, limits: Sequence[LimitUse], session: _Session) -> dict[str, int]:
        now = self.clock()
        counts = await self.store.count_uses([(use.key, now - use.per) for use in limits])
        return {use.id: counts[use.key] + session.promised[use.key] for use in limits}

    async def _grants(self, head: Head, tool: str, ask: Ask) -> tuple[Grant, ...]:
        """Grants that hold here, given by people who could still give them."""
        found = await self.store.grants_for(head.thread, tool, self.clock())
        return tuple([grant for grant in found if await self._still_approver(grant, head, ask)])

    async def _still_approver(self, grant: Grant, head: Head, ask: Ask) -> bool:
        assert self.people is not None
        return admits(ask.terms.approvers, await self.people.person(grant.granted_by), head.requester)

    def _definition(self, head: Head, name: str) -> ToolDefinition | None:
        """Only what this agent was given counts as known."""
        known = self.toolbox.definition(name)
        if known is not None:
            return known if head.agent.has(name) else None
        return next((tool for tool in head.agent.client_tools if tool.name == name), None)

    async def _options(
        self, head: Head, call_id: CallId, planned: Planned, impact: Impact | None, verdict: Verdict
    ) -> tuple[Option, ...]:
        """Everything that may be chosen instead, measured; what the policy would deny is not offered."""
        if not isinstance(verdict, Ask):
            return ()
        offered = [
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
        kept = [each for each in offered if await self._may_be_offered(head, call_id, each)]
        options = _numbered(kept, planned)
        call = ToolCall(id=call_id, tool=planned.tool, args=planned.args)
        if self._outside(head, call, self.context(head, planned, impact)):
            said = "Calls like this one are inside the scope from now on."
            options = (*options, Option(id=WIDEN, label="Widen the scope", consequence=said))
        return options

    async def _may_be_offered(self, head: Head, call_id: CallId, option: Option) -> bool:
        if option.planned is None or self.toolbox.invalid(option.planned):
            return False
        ruling = await self.ruling(head, call_id, option.planned, option.impact)
        return not isinstance(ruling.verdict, Deny)

    async def _from_policy(
        self, head: Head, call_id: CallId, planned: Planned, spec: OptionSpec
    ) -> Option | None:
        instead = option_planned(spec, planned)
        if instead is None or self.toolbox.invalid(instead):
            return None
        impact = await self.toolbox.preview(instead, call_context(head, call_id))
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
