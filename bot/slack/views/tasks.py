"""Tool calls while they run, as Slack's task cards. Pure."""

from dataclasses import dataclass, replace
from typing import Literal

from bot.domain.canonical import JsonObject
from bot.domain.literal import shortened, visible
from bot.domain.tool import ToolResult
from bot.slack.views.text import Block

_DETAIL = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    id: str
    title: str
    status: Literal["in_progress", "complete", "error"] = "in_progress"
    #: The last line a long tool wrote.
    detail: str = ""
    output: str = ""

    def progressed(self, text: str) -> "Task":
        lines = text.strip().splitlines()
        return replace(self, detail=lines[-1]) if lines else self

    def finished(self, result: ToolResult) -> "Task":
        first = (result.text.strip().splitlines() or [""])[0]
        return replace(self, status="complete" if result.status == "ok" else "error", output=first)


def task_chunk(task: Task) -> JsonObject:
    chunk: JsonObject = {
        "type": "task_update",
        "id": task.id,
        "title": shortened(visible(task.title), 150),
        "status": task.status,
    }
    if task.status == "in_progress" and task.detail:
        chunk["details"] = _line(task.detail)
    if task.output:
        chunk["output"] = _line(task.output)
    return chunk


def task_blocks(tasks: list[Task]) -> list[Block]:
    return [
        {
            "type": "task_card",
            "task_id": task.id,
            "title": shortened(visible(task.title), 150),
            "status": task.status,
        }
        for task in tasks[-20:]
    ]


def _line(text: str) -> str:
    # Slack reads markup here, so what could be markup is taken out.
    plain = shortened(visible(text), _DETAIL).replace("<", "‹").replace(">", "›")
    return f"{plain}\n"
