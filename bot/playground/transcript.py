"""What went back and forth, for the message of a failed test. Bounded, and without tokens."""

import json
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bot.playground.shapes import Json

KEPT = 4_000
_SHOWN = 60

#: `->` from Slack to the app, `<-` from the app to Slack, `--` what people and faults did.
Direction = Literal["->", "<-", "--"]


@dataclass(frozen=True, slots=True)
class Entry:
    at: float
    direction: Direction
    text: str


@dataclass(frozen=True, slots=True)
class ApiCall:
    method: str
    args: Json
    answer: Json

    @property
    def ok(self) -> bool:
        return self.answer.get("ok") is True


class Transcript:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._started = now()
        self.entries: deque[Entry] = deque(maxlen=KEPT)
        self.calls: deque[ApiCall] = deque(maxlen=KEPT)
        #: Calls of each method, also those no longer kept.
        self.counts: Counter[str] = Counter()

    def note(self, direction: Direction, text: str) -> None:
        self.entries.append(Entry(self._now(), direction, text))

    def called(self, method: str, args: Json, answer: Json) -> None:
        shown = {name: value for name, value in args.items() if name != "token"}
        self.calls.append(ApiCall(method, shown, answer))
        self.counts[method] += 1
        result = "ok" if answer.get("ok") else f"error {answer.get('error')}"
        self.note("<-", f"{method} {_short(shown)} = {result}")

    def __str__(self) -> str:
        recent = list(self.entries)[-_SHOWN:]
        lines = [f"{entry.at - self._started:9.3f}s {entry.direction} {entry.text}" for entry in recent]
        left_out = len(self.entries) - len(recent)
        head = [f"  … {left_out} earlier lines"] if left_out else []
        return "\n".join([*head, *lines]) or "  (nothing happened)"


def _short(args: Json) -> str:
    rendered = json.dumps(args, ensure_ascii=False, default=str)
    return rendered if len(rendered) <= 160 else f"{rendered[:159]}…"
