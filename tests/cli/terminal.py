"""A person at a terminal: types lines into a command and reads what it prints. Everything behind it is real."""

import io
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.cli.main import main


@dataclass
class Terminal:
    folder: Path
    capture: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch
    #: What the last command wrote to standard error.
    errors: str = ""
    code: int = 0

    def types(self, *lines: str, command: tuple[str, ...] = ("chat",)) -> str:
        """Run a command, type these lines into it, and return what it printed."""
        self.patch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        self.code = main(command)
        captured = self.capture.readouterr()
        self.errors = captured.err
        return captured.out

    def runs(self, *arguments: str) -> str:
        return self.types(command=("runs", *arguments))

    def audit(self, *arguments: str) -> str:
        return self.types(command=("audit", *arguments))

    def only_run(self) -> str:
        return self.runs("list").split()[0]
