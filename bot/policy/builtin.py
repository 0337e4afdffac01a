"""What holds for every policy, whatever its file says."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from bot.domain.tool import ToolCall, ToolDefinition
from bot.policy.characters import hidden
from bot.policy.context import Context
from bot.policy.look import Look
from bot.policy.shell import NotProved
from bot.policy.shell.lexer import LONGEST

#: Anything else in a name serves to look like another tool.
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,200}")


class Refusal(NamedTuple):
    rule: str
    reason: str


def refusal(call: ToolCall, context: Context) -> Refusal | None:
    """Return why no rule needs to be asked: the call is not one that anybody could judge."""
    if call.malformed is not None:
        return Refusal("builtin:malformed", "The arguments are not valid JSON.")
    tool = context.tool
    if tool is None or tool.name != call.tool or not _TOOL_NAME.fullmatch(call.tool) or ".." in call.tool:
        return Refusal("builtin:unknown-tool", f"There is no tool called {call.tool!r}.")
    if unknown := _unknown_argument(call, tool):
        return Refusal("builtin:unknown-argument", f"{call.tool} has no argument {unknown!r}.")
    for key in tool.commands:
        if key in call.args and (why := _bad_command(call.args[key])):
            return Refusal("builtin:command", f"{key}: {why}.")
    for key in (*tool.paths, *tool.urls):
        if why := _hidden_inside(call.args.get(key)):
            return Refusal("builtin:hidden", f"{key}: {why}.")
    return None


def _unknown_argument(call: ToolCall, tool: ToolDefinition) -> str | None:
    properties: Mapping[str, Any] = tool.parameters.get("properties") or {}
    for name in call.args:
        if name not in properties:
            # Only a schema that says so in so many words is open to further arguments.
            return None if tool.parameters.get("additionalProperties") is True else name
    return None


def _bad_command(value: Any) -> str | None:
    if not isinstance(value, str):
        return "a command is text, nothing else"
    if len(value) > LONGEST:
        return f"longer than {LONGEST} characters, too long to show in full"
    return hidden(value)


def _hidden_inside(value: Any) -> str | None:
    if isinstance(value, str):
        return None if value.isascii() and value.isprintable() else _unseen(value)
    if isinstance(value, list | tuple):
        return next((why for item in cast("list[Any]", value) if (why := _hidden_inside(item))), None)
    return None


def _unseen(value: str) -> str | None:
    return "a line break or tab" if "\n" in value or "\t" in value else hidden(value)


def protects(look: Look, is_protected: Callable[[str], bool]) -> Refusal | None:
    """Refuse a call that may write the policy or the bot's configuration: it could grant itself anything."""
    if look.effects.read_only or not is_protected(look.touched_lines):
        return None
    if look.only_reads:
        return None
    return Refusal("builtin:own-policy", "This would change the bot's own policy or configuration.")


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}


def doubt(look: Look) -> Refusal | None:
    """Return why a call that rules allow is asked about all the same."""
    for _, proof in look.proofs:
        if isinstance(proof, NotProved):
            return Refusal(
                "builtin:not-proved", f"What this command does cannot be told for certain: {proof.reason}."
            )
    if not look.tool.commands and not look.call.args:
        return None
    properties: Mapping[str, Any] = look.tool.parameters.get("properties") or {}
    for name, value in look.call.args.items():
        wanted = properties.get(name, {}).get("type")
        if isinstance(wanted, str) and not _is_a(value, wanted):
            return Refusal("builtin:arguments", f"{name} should be {wanted}, but is {value!r:.60}.")
    return None


def _is_a(value: Any, wanted: str) -> bool:
    types = _TYPES.get(wanted)
    # True is an int to Python, but not to anybody else.
    return types is None or (isinstance(value, types) and (bool in types or not isinstance(value, bool)))
