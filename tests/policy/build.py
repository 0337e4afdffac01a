"""Small policies and calls for tests, in the words of the real schema."""

from datetime import UTC, datetime
from typing import Any

from bot.domain.ids import CallId, ThreadId, UserId
from bot.domain.tool import Impact, ToolCall
from bot.domain.verdict import Verdict
from bot.policy.cases import known_tool
from bot.policy.context import Context
from bot.policy.evaluate import decide
from bot.policy.files import load_texts
from bot.policy.model import Policy
from tests.policy.fakes import TableResolver

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)


def policy(text: str, name: str = "p", **others: str) -> Policy:
    """Return the policy in `text`; `version: 1` is added, `others` are files it may extend."""
    texts = {f"{name}.yaml": f"version: 1\n{text}"}
    texts |= {f"{other}.yaml": f"version: 1\n{body}" for other, body in others.items()}
    return load_texts(texts, resolver=TableResolver()).policies[name.rpartition("/")[2]]


def call(tool: str, **args: Any) -> ToolCall:
    return ToolCall(id=CallId("c1"), tool=tool, args=args)


def context(governing: Policy, tool: str, **more: Any) -> Context:
    given: dict[str, Any] = {
        "tool": known_tool(governing, tool),
        "now": NOW,
        "requester": UserId("U_DEV"),
        "thread": ThreadId("T1"),
        "channel": "C1",
        "cwd": "/srv/app",
        **more,
    }
    return Context(**given)


def judge(governing: Policy, tool: str, count: int | None = None, **args: Any) -> Verdict:
    impact = None if count is None else Impact(summary="", count=count)
    return decide(governing, call(tool, **args), context(governing, tool, impact=impact))
