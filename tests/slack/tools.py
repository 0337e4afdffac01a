"""Small real tools that leave a mark in a file, so that a test can count what really ran."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from bot.domain.interrupt import Question
from bot.domain.tool import READS, Alternative, Impact, Planned
from bot.engine.ports import CallContext
from bot.tools.tool import Arguments, Suspend, tool


class Look(Arguments):
    what: str = "sky"


class Mark(Arguments):
    path: str
    text: str = "x"
    count: int = Field(default=1, ge=0, le=1000, description="How many lines")
    colour: Literal["red", "green"] | None = None


def _write(path: str, text: str, count: int) -> str:
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(f"{text}\n" * count)
    return f"{count} written"


@tool(effects=READS)
async def look(args: Look, context: CallContext) -> str:
    """Look at something."""
    return f"{args.what} is fine"


async def _measure(args: Mark, context: CallContext) -> Impact:
    fewer = Planned(tool="mark", args={"path": args.path, "text": args.text, "count": 1})
    measured = Impact(summary="Write 1 line.", count=1, reversible=False)
    less = Alternative(label="Only one", consequence="1 line instead", planned=fewer, impact=measured)
    alternatives = (less,) if args.count > 1 else ()
    return Impact(
        summary=f"Write {args.count} lines.", count=args.count, reversible=False, alternatives=alternatives
    )


@tool(preview=_measure)
async def mark(args: Mark, context: CallContext) -> str:
    """Write lines, and never twice for one approval."""
    return await asyncio.to_thread(_write, args.path, args.text, args.count)


class Wipe(Arguments):
    path: str


@tool()
async def wipe(args: Wipe, context: CallContext) -> str:
    """Leave one mark; two people must agree."""
    return await asyncio.to_thread(_write, args.path, "wiped", 1)


@tool()
async def jot(args: Wipe, context: CallContext) -> str:
    """Leave a mark; the requester may approve it."""
    return await asyncio.to_thread(_write, args.path, "jotted", 1)


@tool()
async def explainable(args: Wipe, context: CallContext) -> str:
    """Leave a mark; whoever approves must say why."""
    return await asyncio.to_thread(_write, args.path, "explained", 1)


@tool(effects=READS)
async def chatter(args: Look, context: CallContext) -> AsyncIterator[str]:
    """Say three words, one by one, then wait for the test."""
    for word in ("one\n", "two\n", "three\n"):
        yield word
    if args.what in GATES:
        await GATES[args.what].wait()


#: Set by tests that want a call to be under way.
GATES: dict[str, asyncio.Event] = {}


@tool(effects=READS)
async def hold(args: Look, context: CallContext) -> str:
    """Wait for the test."""
    await GATES[args.what].wait()
    return "released"


class AskForm(Arguments):
    question: str


FORM = {
    "type": "object",
    "required": ["folder", "days", "sure"],
    "properties": {
        "folder": {"type": "string"},
        "days": {"type": "integer", "minimum": 1},
        "share": {"type": "number"},
        "kind": {"type": "string", "enum": ["logs", "builds"]},
        "also": {"type": "array", "items": {"enum": ["tmp", "cache"]}},
        "until": {"type": "string", "format": "date"},
        "sure": {"type": "boolean"},
    },
    "additionalProperties": False,
}


@tool(effects=READS)
async def ask_form(args: AskForm, context: CallContext) -> str:
    """Ask a person with a form."""
    if context.resumed is None:
        raise Suspend(Question(text=args.question, schema=FORM), {})
    return str(sorted(context.resumed.answer["data"].items()))


TOOLS = (look, mark, wipe, jot, explainable, chatter, hold, ask_form)
