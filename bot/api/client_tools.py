"""Tools that live in the client: the agent calls them, the person's own client answers.

Such a tool acts with the person's own hands, in their own browser, and only if their client answers the call. So
where no rule mentions it and the policy would ask by default, answering *is* the approval: that ask becomes an
allow, under the rule name `client-tool`. A rule that asks about the tool, or denies it, does so all the same, and so
does a default that denies. Their effects are never believed, their names never shadow a tool of ours, and their
answers are data like any other tool's.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from bot.domain.interrupt import Question
from bot.domain.run import AgentSpec, Breakpoint
from bot.domain.tool import Impact, Planned, ToolCall, ToolDefinition, ToolResult
from bot.domain.verdict import Allow, Ask, Verdict
from bot.engine.ports import CallContext, Policies, PolicyInForce, Suspended, Toolbox, ToolEvent
from bot.policy.context import Context
from bot.policy.model import Clarify, LimitUse

RULE = "client-tool"
#: How the policy calls the verdict on a call that no rule mentions.
DEFAULT = "default"
#: What a client answers: text, also an empty one.
_TEXT = {"type": "string"}


class ClientToolbox:
    """`engine.ports.Toolbox`: ours, and beside them those of the run's client."""

    def __init__(self, ours: Toolbox) -> None:
        self._ours = ours

    def definitions(self, agent: AgentSpec) -> tuple[ToolDefinition, ...]:
        ours = self._ours.definitions(agent)
        return (*ours, *(tool for tool in agent.client_tools if self._ours.definition(tool.name) is None))

    def definition(self, name: str) -> ToolDefinition | None:
        return self._ours.definition(name)

    def invalid(self, planned: Planned) -> str | None:
        # A name that is not ours is either the client's, which checks its own arguments, or known to nobody:
        # then the policy denies it, and `execute` would refuse it as well.
        return self._ours.invalid(planned) if self._ours.definition(planned.tool) else None

    def measures(self, tool: str) -> bool:
        return self._ours.measures(tool)

    def masked(self, planned: Planned) -> Planned:
        return self._ours.masked(planned)

    async def preview(self, planned: Planned, context: CallContext) -> Impact | None:
        return await self._ours.preview(planned, context)

    def execute(self, planned: Planned, context: CallContext) -> AsyncIterator[ToolEvent]:
        if self._ours.definition(planned.tool) is None and _theirs(planned, context):
            return _ask_client(planned, context)
        return self._ours.execute(planned, context)


def _theirs(planned: Planned, context: CallContext) -> bool:
    return any(tool.name == planned.tool for tool in context.client_tools)


async def _ask_client(planned: Planned, context: CallContext) -> AsyncIterator[ToolEvent]:
    if context.resumed is None:
        question = Question(text=f"{planned.tool} is to be done in your client.", schema=_TEXT)
        yield Suspended(question=question, state={"client_tool": planned.tool})
        return
    yield ToolResult(call_id=context.call_id, status="ok", text=str(context.resumed.answer["data"]))


@dataclass(frozen=True, slots=True)
class _InForce:
    inner: PolicyInForce

    @property
    def version(self) -> str:
        return self.inner.version

    @property
    def breakpoints(self) -> tuple[Breakpoint, ...]:
        return self.inner.breakpoints

    @property
    def clarify(self) -> Clarify | None:
        return self.inner.clarify

    def decide(self, call: ToolCall, context: Context) -> Verdict:
        verdict = self.inner.decide(call, context)
        theirs = context.tool is not None and context.tool.client
        if theirs and isinstance(verdict, Ask) and verdict.rules == (DEFAULT,):
            reason = "It runs in the asker's own client, which answers it."
            return Allow(rules=(RULE,), reason=reason, policy=verdict.policy)
        return verdict

    def limits_touched(self, call: ToolCall, context: Context) -> tuple[LimitUse, ...]:
        return self.inner.limits_touched(call, context)


class ClientPolicies:
    """`engine.ports.Policies` with the one rule about client tools."""

    def __init__(self, inner: Policies) -> None:
        self._inner = inner

    def for_channel(self, channel: str) -> PolicyInForce:
        return _InForce(self._inner.for_channel(channel))
