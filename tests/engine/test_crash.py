"""Killed with SIGKILL at each durable boundary and started again, a run goes on and nothing runs twice."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

#: How many commits the child makes; the last test shows that no boundary is missed.
COMMITS = 12


def child(folder: Path, *crash: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.engine.crash_child", str(folder), *crash]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(1, COMMITS + 1))
def test_killed_at_a_durable_boundary_the_run_goes_on_and_nothing_runs_twice(
    tmp_path: Path, when: str, number: int
) -> None:
    first = child(tmp_path, when, str(number))
    assert first.returncode == -signal.SIGKILL, first.stderr
    second = child(tmp_path)
    assert second.returncode == 0, second.stderr
    end = json.loads(second.stdout)
    assert end["state"] == "done"
    assert end["marked"] == 1
    assert end["results"] == ["ok", "ok", "ok"]
    assert end["asked"] in (["approval"], ["approval", "recovery"])


@pytest.mark.slow
def test_killed_right_after_the_side_effect_it_asks_and_does_not_run_again(tmp_path: Path) -> None:
    assert child(tmp_path, "in-tool").returncode == -signal.SIGKILL
    end = json.loads(child(tmp_path).stdout)
    assert end == {
        "state": "done",
        "marked": 1,
        "results": ["ok", "ok", "ok"],
        "asked": ["approval", "recovery"],
    }


@pytest.mark.slow
def test_without_a_crash_nobody_is_asked_to_recover(tmp_path: Path) -> None:
    end = json.loads(child(tmp_path).stdout)
    assert end == {"state": "done", "marked": 1, "results": ["ok", "ok", "ok"], "asked": ["approval"]}


@pytest.mark.slow
def test_a_call_that_may_have_run_becomes_a_question(tmp_path: Path) -> None:
    """At one boundary the process dies after the call was started: only there are people asked."""
    assert child(tmp_path, "after", str(COMMITS + 1)).returncode == 0, "the child commits more often now"
    recoveries = 0
    for number in range(1, COMMITS + 1):
        folder = tmp_path / str(number)
        folder.mkdir()
        child(folder, "after", str(number))
        recoveries += "recovery" in json.loads(child(folder).stdout)["asked"]
    assert recoveries == 1
