"""Colour for terminals, and nothing for pipes."""

import os
import sys
from dataclasses import dataclass
from typing import TextIO

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}


@dataclass(frozen=True, slots=True)
class Paint:
    """Wraps text in colour codes, or leaves it as it is."""

    on: bool

    def __call__(self, text: str, *styles: str) -> str:
        if not self.on or not styles or not text:
            return text
        codes = ";".join(_CODES[style] for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"


def for_stream(stream: TextIO | None = None) -> Paint:
    """Colour only on a terminal, and never where NO_COLOR is set."""
    stream = stream or sys.stdout
    wanted = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return Paint(wanted and stream.isatty())
