"""An MCP server of protocol 2026-07-28, written with the SDK; stdio, or HTTP on the port given."""

import sys
from typing import Annotated

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("modern")


class Answer(BaseModel):
    days: int


def ask_days(ctx: Context) -> Elicit[Answer]:
    return Elicit("How many days?", Answer)


@server.tool()
def keep(name: str, answer: Annotated[Answer, Resolve(ask_days)]) -> str:
    """Keep a thing for some days."""
    return f"{name} kept for {answer.days} days"


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if len(sys.argv) > 1:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run("stdio")
