"""What servers offered last time, on disk, so that a server need not be started to know its tools.

Nothing depends on the file being right: before each call the server is asked again, and a tool that differs
from what was judged is not run.
"""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp.types import Tool
from pydantic import TypeAdapter, ValidationError

from bot.domain.canonical import digest
from bot.tools.mcp.config import ServerConfig

logger = logging.getLogger(__name__)

_TOOLS = TypeAdapter(list[Tool])


def recall(path: Path, servers: Mapping[str, ServerConfig]) -> dict[str, list[Tool]]:
    """Return the tools of those servers whose configuration is still the same."""
    try:
        stored: dict[str, Any] = json.loads(path.read_text())
        return {
            name: _TOOLS.validate_python(stored[name]["tools"])
            for name, config in servers.items()
            if name in stored and stored[name]["config"] == _identity(config)
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, ValidationError) as error:
        logger.warning("%s is not used: %s", path, type(error).__name__)
        return {}


def remember(path: Path, servers: Mapping[str, ServerConfig], tools: Mapping[str, list[Tool]]) -> None:
    stored = {
        name: {
            "config": _identity(servers[name]),
            "tools": _TOOLS.dump_python(found, mode="json", by_alias=True),
        }
        for name, found in tools.items()
        if found
    }
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(json.dumps(stored))
    beside.replace(path)


def _identity(config: ServerConfig) -> str:
    # A digest: variables and headers hold secrets.
    return digest(config.model_dump(mode="json"))
