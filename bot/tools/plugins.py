"""Tools of other packages, found through the entry point group `askfirst.tools`."""

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from bot.domain.errors import ConfigError
from bot.tools.tool import Tool

GROUP = "askfirst.tools"


def plugin_tools() -> tuple[Tool[Any], ...]:
    """Load the tools of all installed packages, in the order of their names.

    Raises:
        ConfigError: a package cannot be loaded, or offers something that is no tool.
    """
    entries = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    return tuple(tool for entry in entries for tool in _load(entry))


def _load(entry: EntryPoint) -> Iterable[Tool[Any]]:
    where = f"the tools {entry.value!r}" + (f" of {entry.dist.name}" if entry.dist else "")
    try:
        loaded = entry.load()
    except Exception as error:
        raise ConfigError(f"{where} cannot be loaded: {type(error).__name__}: {error}") from error
    if isinstance(loaded, Tool):
        return (cast("Tool[Any]", loaded),)
    offered = cast("Iterable[object]", loaded if isinstance(loaded, list | tuple) else [loaded])
    tools = [cast("Tool[Any]", one) for one in offered if isinstance(one, Tool)]
    if len(tools) != len(list(offered)):
        raise ConfigError(f"{where} are neither a Tool nor a list of them")
    return tools
