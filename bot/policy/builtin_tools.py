"""The tools Askfirst brings along, as far as a policy needs to know them: names, arguments, effects."""

from bot.domain.canonical import JsonObject
from bot.domain.tool import READS, Effects, ToolDefinition

_CHANGES = Effects(read_only=False, destructive=True, idempotent=False, open_world=False)
_PUTS_BACK = Effects(read_only=False, destructive=False, idempotent=True, open_world=False)
_ANYTHING = Effects(read_only=False, destructive=True, idempotent=False, open_world=True)
_TALKS = Effects(read_only=False, destructive=False, idempotent=False, open_world=True)


def shape(args: dict[str, str]) -> JsonObject:
    """Return a JSON schema from argument names and their types (`any` for no type)."""
    properties = {name: {} if kind == "any" else {"type": kind} for name, kind in args.items()}
    return {"type": "object", "properties": properties}


def _tool(
    name: str,
    args: dict[str, str],
    effects: Effects = _CHANGES,
    *,
    paths: tuple[str, ...] = (),
    commands: tuple[str, ...] = (),
    urls: tuple[str, ...] = (),
) -> ToolDefinition:
    return ToolDefinition(
        name=name,
        description="",
        parameters=shape(args),
        effects=effects,
        paths=paths,
        commands=commands,
        urls=urls,
    )


_SELECTION = {
    "path": "string",
    "pattern": "string",
    "older_than_days": "number",
    "larger_than_bytes": "integer",
    "contains": "string",
}
# `count` is not measured by an argument here, but policies copied from elsewhere test with it.
_BULK = {**_SELECTION, "max_files": "integer", "count": "integer"}

BUILTIN_TOOLS: dict[str, ToolDefinition] = {
    tool.name: tool
    for tool in (
        _tool("find_files", {**_SELECTION, "limit": "integer"}, READS, paths=("path",)),
        _tool(
            "read_file",
            {"path": "string", "start_line": "integer", "max_lines": "integer"},
            READS,
            paths=("path",),
        ),
        _tool("write_file", {"path": "string", "content": "string", "mode": "string"}, paths=("path",)),
        _tool("move_files", {**_BULK, "to": "string"}, paths=("path", "to")),
        _tool("restore_files", {"batch": "string", "to": "string"}, _PUTS_BACK, paths=("batch", "to")),
        _tool("delete_files", _BULK, paths=("path",)),
        _tool(
            "execute",
            {"command": "string", "cwd": "string", "timeout": "number", "network": "boolean"},
            _ANYTHING,
            paths=("cwd",),
            commands=("command",),
        ),
        _tool(
            "http_request",
            {"url": "string", "method": "string", "headers": "object", "body": "any", "credential": "string"},
            _ANYTHING,
            urls=("url",),
        ),
        _tool("send_message", {"to": "array", "text": "string"}, _TALKS),
        _tool("ask_human", {"question": "string", "options": "array", "schema": "object"}, READS),
    )
}
