"""The terminal as a front: shows text as it streams, tools as they run, and how runs end."""

import sys

from bot.cli.paint import How, Paint
from bot.domain.ids import RunId
from bot.domain.literal import shortened, visible
from bot.domain.run import Thread
from bot.domain.tool import Planned
from bot.engine.ports import (
    CallFinished,
    CallProgress,
    CallStarted,
    InterruptsOpened,
    LiveEvent,
    Retrying,
    RunEnded,
    TextDelta,
)

_SHOWN = 400
_MARKS: dict[str, tuple[str, How]] = {"ok": ("✔", "green"), "error": ("✖", "red")}


class Screen:
    """Prints what happens, line by line; text of the model as it comes."""

    def __init__(self, paint: Paint) -> None:
        self._paint = paint
        self._in_text = False

    async def show(self, thread: Thread, run_id: RunId, event: LiveEvent) -> None:  # noqa: ARG002, C901 - a table
        match event:
            case TextDelta(text=text):
                sys.stdout.write(visible(text))
                self._in_text = not text.endswith("\n")
            case Retrying(why=why, wait_seconds=wait):
                self._line(self._paint(f"   … {why}; trying again in {wait:.0f} s", "yellow"))
            case CallStarted(planned=planned):
                self._line(self._paint(f"   ▸ {_called(planned)}", "cyan"))
            case CallProgress(text=text):
                sys.stdout.write(self._paint(visible(text), "dim"))
                self._in_text = not text.endswith("\n")
            case CallFinished(result=result):
                mark, colour = _MARKS.get(result.status, ("•", "yellow"))
                took = f" ({result.took_ms} ms)" if result.took_ms is not None else ""
                first = visible(result.text).strip().split("\n", 1)[0]
                self._line(
                    f"   {self._paint(mark, colour)} {shortened(first, _SHOWN)}{self._paint(took, 'dim')}"
                )
            case InterruptsOpened():
                self._line("")
            case RunEnded(state="done"):
                self._line("")
            case RunEnded(text=text):
                self._line(self._paint(f"   {visible(text)}", "red"))
        sys.stdout.flush()

    def _line(self, text: str) -> None:
        if self._in_text:
            sys.stdout.write("\n")
            self._in_text = False
        if text:
            sys.stdout.write(f"{text}\n")


def _called(planned: Planned) -> str:
    args = ", ".join(f"{name}={visible(str(value))}" for name, value in planned.args.items())
    return shortened(f"{planned.tool}({args})".replace("\n", "⏎"), _SHOWN)
