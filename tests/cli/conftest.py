import getpass
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal

POLICY = """
version: 1
name: default
default: ask
approval: {by: requester, requester_may_approve: true, expires: 15m}
allow:
  - {id: reads, tool: "*", effects: {read_only: true}}
"""


@pytest.fixture
def terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal in an empty folder with a small policy, used by `dev`."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies/default.yaml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("keep the March builds\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(getpass, "getuser", lambda: "dev")
    monkeypatch.setenv("ASKFIRST_SANDBOX", "none")
    return Terminal(folder=tmp_path, capture=capsys, patch=monkeypatch)
