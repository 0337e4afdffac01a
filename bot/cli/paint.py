"""Colour on a terminal, plain text in a pipe."""

import os
import sys
from typing import Literal, TextIO

How = Literal["red", "yellow", "green", "dim", "bold"]
_CODES: dict[How, str] = {"red": "31;1", "yellow": "33;1", "green": "32;1", "dim": "2", "bold": "1"}
VERDICTS: dict[str, How] = {"deny": "red", "ask": "yellow", "allow": "green"}


def wanted(stream: TextIO | None = None) -> bool:
    """Whether to use colour: on a terminal, unless NO_COLOR is set (https://no-color.org)."""
    return (stream or sys.stdout).isatty() and not os.environ.get("NO_COLOR")


def paint(text: str, how: How, *, colour: bool | None = None) -> str:
    return f"\x1b[{_CODES[how]}m{text}\x1b[0m" if (wanted() if colour is None else colour) else text
