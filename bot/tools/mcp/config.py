"""Reads a standard `.mcp.json`: which servers there are and how to reach them.

`${NAME}` and `${NAME:-default}` are filled in from the environment. Keys of other programs are ignored; the
only one of ours is `trusted`, and a typo in it leaves a server not trusted.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bot.domain.errors import ConfigError

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class ServerConfig(BaseModel):
    """One server: a command to start (stdio), or an address (streamable HTTP)."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    type: Literal["stdio", "http", "streamable-http", "streamableHttp"] | None = None
    command: str | None = None
    args: list[str] = Field(default_factory=list[str])
    env: dict[str, str] = Field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict[str, str], repr=False)
    #: Whether its annotations (read only, destructive …) may be believed.
    trusted: bool = False
    disabled: bool = False


class _File(BaseModel):
    mcpServers: dict[str, ServerConfig]  # noqa: N815 (the file's own spelling)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpConfig:
    servers: Mapping[str, ServerConfig]

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return what the redactor must know: everything that is given to servers as a variable or header."""
        configs = self.servers.values()
        values = [value for config in configs for value in (*config.env.values(), *config.headers.values())]
        return tuple(form for value in values if value for form in dict.fromkeys((value, value.split()[-1])))


def load(path: Path, environment: Mapping[str, str]) -> McpConfig:
    """Read the file.

    Raises:
        ConfigError: it cannot be read, or a server in it cannot be used; the message names the server.
    """
    try:
        raw: Any = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    try:
        file = _File.model_validate(_expanded(raw, environment, where=str(path)))
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        raise ConfigError(f"{path}: {'.'.join(map(str, problem['loc']))}: {problem['msg']}") from error
    for name, server in file.mcpServers.items():
        _check(f"{path}: server {name!r}", name, server)
    return McpConfig(
        servers={name: server for name, server in file.mcpServers.items() if not server.disabled}
    )


def _check(where: str, name: str, server: ServerConfig) -> None:
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{where}: a name has letters, digits, dots, dashes and underscores only")
    if (server.command is None) == (server.url is None):
        raise ConfigError(f"{where} needs either a command or a url")


def _expanded(value: Any, environment: Mapping[str, str], *, where: str) -> Any:
    match value:
        case str():
            return _VARIABLE.sub(lambda found: _filled(found, environment, where), value)
        case list():
            return [_expanded(item, environment, where=where) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case dict():
            return {
                key: _expanded(item, environment, where=f"{where}: {key}")
                for key, item in value.items()  # pyright: ignore[reportUnknownVariableType]
            }
        case _:
            return value


def _filled(found: re.Match[str], environment: Mapping[str, str], where: str) -> str:
    name, default = found[1], found[2]
    if name in environment:
        return environment[name]
    # The part after `:-` is an optional group, and only the pattern knows that it may be None.
    if found.start(2) < 0:
        raise ConfigError(f"{where}: the variable {name} is not set")
    return default
