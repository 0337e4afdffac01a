"""What policies believe of the built-in tools is what the tools are."""

from datetime import UTC, datetime

import pytest

from bot.domain.tool import ToolDefinition
from bot.policy.builtin_tools import BUILTIN_TOOLS
from bot.tools.builtin.assemble import builtin_tools


class Nowhere:
    """A messenger nobody uses: it is only there so that send_message exists."""

    async def recipients(self, to: str) -> int:
        return 0

    async def send(self, to: str, text: str, *, key: str) -> str:
        return ""


REAL = {
    tool.definition.name: tool.definition
    for tool in builtin_tools(clock=lambda: datetime(2026, 11, 18, tzinfo=UTC), messenger=Nowhere())
}


def test_policies_know_every_built_in_tool_and_no_other() -> None:
    assert sorted(BUILTIN_TOOLS) == sorted(REAL)


@pytest.mark.parametrize("name", sorted(REAL))
def test_policies_know_each_tool_as_it_is(name: str) -> None:
    def facts(tool: ToolDefinition) -> tuple[object, ...]:
        return tool.effects, sorted(tool.paths), sorted(tool.commands), sorted(tool.urls)

    assert facts(BUILTIN_TOOLS[name]) == facts(REAL[name])
    # Policies may know arguments of old, but must know all that there are.
    assert set(REAL[name].parameters["properties"]) <= set(BUILTIN_TOOLS[name].parameters["properties"])
