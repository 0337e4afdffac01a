"""All built-in tools, from the few things they need."""

from typing import Any

from bot.engine.ports import Clock
from bot.tools.builtin.ask import ask_tools
from bot.tools.builtin.bulk import bulk_tools
from bot.tools.builtin.execute import ExecuteSettings, execute_tools
from bot.tools.builtin.files import file_tools
from bot.tools.tool import Tool


def builtin_tools(
    *, clock: Clock, execute: ExecuteSettings | None = None, staging_directory: str | None = None
) -> tuple[Tool[Any], ...]:
    """Return the tools every agent may have."""
    return (
        *file_tools(clock),
        *bulk_tools(clock, staging_directory),
        *execute_tools(execute or ExecuteSettings()),
        *ask_tools(),
    )
