"""A policy that is a table: tool name → allow, ask or deny. What is not in it asks."""

from dataclasses import dataclass, field
from datetime import timedelta

from bot.domain.run import Breakpoint
from bot.domain.tool import ToolCall
from bot.domain.verdict import Allow, ApprovalTerms, Approvers, Ask, Deny, Verdict
from bot.policy.context import Context
from bot.policy.model import Clarify, LimitUse

ANN_OR_BOB = Approvers(users=("ann", "bob"), requester_may_approve=True, label="ann or bob")
TERMS = ApprovalTerms(approvers=ANN_OR_BOB, expires=timedelta(minutes=15), on_timeout="deny")


@dataclass
class TablePolicy:
    """Serves as the policy of every channel; tests change it while runs wait."""

    verdicts: dict[str, str] = field(default_factory=dict[str, str])
    terms: ApprovalTerms = TERMS
    version: str = "v1"
    breakpoints: tuple[Breakpoint, ...] = ()
    clarify: Clarify | None = None
    #: Calls with these arguments are denied whatever the tool: the edited-to-forbidden case.
    forbidden: str = "forbidden"

    def for_channel(self, channel: str) -> "TablePolicy":
        return self

    def limits_touched(self, call: ToolCall, context: Context) -> tuple[LimitUse, ...]:
        return ()

    def decide(self, call: ToolCall, context: Context) -> Verdict:
        if context.tool is None:
            return Deny(rules=("unknown-tool",), reason=f"There is no tool {call.tool}.", policy=self.version)
        if self.forbidden in call.args.values():
            return Deny(rules=("forbidden",), reason="These arguments are forbidden.", policy=self.version)
        match self.verdicts.get(call.tool, "ask"):
            case "allow":
                return Allow(rules=("ok",), reason="", policy=self.version)
            case "deny":
                return Deny(rules=("no",), reason="Not here.", policy=self.version)
            case _:
                return Ask(
                    rules=("careful",), reason="It changes something.", policy=self.version, terms=self.terms
                )
