"""Small real tools that leave a mark in a file, so that a test can count what really ran."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from pydantic import Field

from bot.domain.interrupt import Option, Question
from bot.domain.tool import READS, Alternative, Effects, Impact, Planned
from bot.engine.ports import CallContext
from bot.tools.tool import Arguments, Suspend, ToolFailed, tool

#: What happens right after `mark` has had its effect, for tests of what a crash leaves behind.
AFTER_MARK: list[Callable[[], None]] = []
IDEMPOTENT = Effects(read_only=False, destructive=False, idempotent=True, open_world=False)


class Look(Arguments):
    what: str = "sky"


class Mark(Arguments):
    """Where to write, what to write."""

    path: str
    text: str = "x"
    count: int = 1


def marks(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@tool(effects=READS)
async def look(args: Look, context: CallContext) -> str:
    """Look at something."""
    return f"{args.what} is fine"


async def _measure(args: Mark, context: CallContext) -> Impact:
    some = Planned(tool="mark", args={"path": args.path, "text": args.text, "count": 1})
    less = Alternative(
        label="Only one", consequence="1 line", planned=some, impact=Impact(summary="1", count=1)
    )
    alternatives = (less,) if args.count > 1 else ()
    return Impact(
        summary=f"{args.count} lines", count=args.count, reversible=False, alternatives=alternatives
    )


@tool(preview=_measure)
async def mark(args: Mark, context: CallContext) -> str:
    """Write a line, and never twice for one approval."""
    with Path(args.path).open("a", encoding="utf-8") as file:
        file.write(f"{args.text}\n" * args.count)
    for disaster in AFTER_MARK:
        disaster()
    return f"{args.count} written"


@tool(effects=IDEMPOTENT)
async def touch(args: Mark, context: CallContext) -> str:
    """Write a line; repeating it is as good as once."""
    with Path(args.path).open("a", encoding="utf-8") as file:
        file.write(f"{args.text}\n")
    return "touched"


class Grow(Arguments):
    path: str


async def _size(args: Grow, context: CallContext) -> Impact:
    count = len(marks(Path(args.path)))
    return Impact(summary=f"{count} lines", count=count, reversible=False)


@tool(preview=_size)
async def wipe(args: Grow, context: CallContext) -> str:
    """Remove all lines of a file."""
    Path(args.path).write_text("", encoding="utf-8")
    return "wiped"


class Ask(Arguments):
    question: str
    options: list[str] = Field(default_factory=list[str])
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")


@tool(effects=READS)
async def ask_somebody(args: Ask, context: CallContext) -> str:
    """Ask a person."""
    if context.resumed is None:
        options = tuple(Option(id=str(n), label=label) for n, label in enumerate(args.options))
        raise Suspend(
            Question(text=args.question, options=options, schema=args.schema_), {"seen": args.question}
        )
    return f"{context.resumed.state['seen']} -> {context.resumed.answer['data']}"


@tool(effects=READS)
async def chatter(args: Look, context: CallContext) -> AsyncIterator[str]:
    """Say three words, one by one."""
    for word in ("one ", "two ", "three"):
        yield word


@tool()
async def fail(args: Look, context: CallContext) -> str:
    """Fail."""
    raise ToolFailed("the disk is full")


#: Set by tests that want a call to be under way; waits until the event is set.
GATES: dict[str, asyncio.Event] = {}


@tool()
async def hold(args: Look, context: CallContext) -> str:
    """Wait for the test."""
    await GATES[args.what].wait()
    return "released"


TOOLS = (look, mark, touch, wipe, ask_somebody, chatter, fail, hold)
