"""What the tests of the tools share."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot.domain.tool import Impact, Planned, ToolResult
from bot.engine.ports import CallContext, Progress, Suspended, Toolbox

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)


def clock() -> datetime:
    return NOW


@dataclass(frozen=True, slots=True)
class Ran:
    """One execution, as the engine saw it."""

    progress: str
    end: ToolResult | Suspended

    @property
    def text(self) -> str:
        assert isinstance(self.end, ToolResult), self.end
        return self.end.text

    @property
    def status(self) -> str:
        assert isinstance(self.end, ToolResult), self.end
        return self.end.status

    @property
    def suspended(self) -> Suspended:
        assert isinstance(self.end, Suspended), self.end
        return self.end


async def run(toolbox: Toolbox, context: CallContext, tool: str, **args: Any) -> Ran:
    """Execute one call and check that the stream ended as it must."""
    events = [event async for event in toolbox.execute(Planned(tool=tool, args=args), context)]
    *progress, end = events
    assert all(isinstance(event, Progress) for event in progress), events
    assert not isinstance(end, Progress), events
    return Ran("".join(event.text for event in progress if isinstance(event, Progress)), end)


async def preview(toolbox: Toolbox, context: CallContext, tool: str, **args: Any) -> Impact:
    impact = await toolbox.preview(Planned(tool=tool, args=args), context)
    assert impact is not None
    return impact


def make_file(path: Path, *, size: int = 0, text: str = "", days_old: float = 0) -> Path:
    """Make a file; `size` bytes of it are a hole that takes no space."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        file.write(text)
        if size:
            file.truncate(size)
    then = NOW.timestamp() - days_old * 86_400
    os.utime(path, (then, then))
    return path
