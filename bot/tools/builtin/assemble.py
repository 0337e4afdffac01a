"""All built-in tools, from the few things they need."""

from typing import Any

from bot.engine.ports import Clock
from bot.tools.builtin.ask import ask_tools
from bot.tools.builtin.delete import delete_files
from bot.tools.builtin.execute import ExecuteSettings, execute_tools
from bot.tools.builtin.files import file_tools
from bot.tools.builtin.http import HttpSettings, http_tools
from bot.tools.builtin.messages import Messenger, message_tools
from bot.tools.builtin.move import move_files, restore_files
from bot.tools.tool import Tool


def builtin_tools(
    *,
    clock: Clock,
    execute: ExecuteSettings | None = None,
    http: HttpSettings | None = None,
    messenger: Messenger | None = None,
    staging_directory: str | None = None,
) -> tuple[Tool[Any], ...]:
    """Return the tools every agent may have. Without a messenger there is no send_message."""
    return (
        *file_tools(clock),
        delete_files(clock, staging_directory),
        move_files(clock),
        restore_files(clock),
        *execute_tools(execute or ExecuteSettings()),
        *http_tools(http or HttpSettings()),
        *message_tools(messenger),
        *ask_tools(),
    )
