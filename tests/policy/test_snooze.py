"""Whether "not now" may move the expiry is the policy's word, and the strictest rule wins."""

from datetime import UTC, datetime

import pytest

from bot.domain.ids import CallId
from bot.domain.tool import ToolCall
from bot.domain.verdict import Ask
from bot.policy.builtin_tools import BUILTIN_TOOLS
from bot.policy.context import Context
from bot.policy.evaluate import decide
from bot.policy.files import load_texts

FILE = """
version: 1
name: default
default: ask
approval: {by: requester, requester_may_approve: true, expires: 15m, snooze: %s}
ask:
  - {id: strict, tool: execute, snooze: bounded}
"""


@pytest.mark.parametrize(
    ("word", "tool", "extends"),
    [("extend", "write_file", True), ("bounded", "write_file", False), ("extend", "execute", False)],
)
def test_a_snooze_extends_only_where_every_rule_lets_it(word: str, tool: str, extends: bool) -> None:
    policy = load_texts({"default.yaml": FILE % word}).for_channel("C1")
    call = ToolCall(id=CallId("c"), tool=tool, args={})
    verdict = decide(policy, call, Context(tool=BUILTIN_TOOLS[tool], now=datetime(2026, 11, 18, tzinfo=UTC)))
    assert isinstance(verdict, Ask)
    assert verdict.terms.snooze_extends is extends
