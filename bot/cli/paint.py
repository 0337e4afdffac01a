"""Colour on a terminal, plain text in a pipe."""

import os
import sys
from dataclasses import dataclass
from typing import Literal, TextIO

How = Literal["red", "yellow", "green", "cyan", "dim", "bold"]
_CODES: dict[How, str] = {"red": "31", "yellow": "33", "green": "32", "cyan": "36", "dim": "2", "bold": "1"}
VERDICTS: dict[str, How] = {"deny": "red", "ask": "yellow", "allow": "green"}


@dataclass(frozen=True, slots=True)
class Paint:
    """Wraps text in colour codes, or leaves it as it is."""

    on: bool

    def __call__(self, text: str, *how: How) -> str:
        if not self.on or not how or not text:
            return text
        return f"\x1b[{';'.join(_CODES[each] for each in how)}m{text}\x1b[0m"


def wanted(stream: TextIO | None = None) -> bool:
    """Whether to use colour: on a terminal, unless NO_COLOR is set (https://no-color.org)."""
    return (stream or sys.stdout).isatty() and not os.environ.get("NO_COLOR")


def for_stream(stream: TextIO | None = None) -> Paint:
    return Paint(wanted(stream))


def paint(text: str, how: How, *, colour: bool | None = None) -> str:
    return Paint(wanted() if colour is None else colour)(text, how)
