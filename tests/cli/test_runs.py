"""Looking into runs from the command line, and answering them from there."""

import json
import sqlite3
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal


@pytest.fixture
def waiting(terminal: Terminal) -> str:
    """A run that waits for the approval of write_file."""
    terminal.types("write hello to greeting.txt", "q")
    return terminal.only_run()


def written(terminal: Terminal) -> bool:
    return (terminal.folder / "greeting.txt").exists()


def test_the_list_says_what_each_run_waits_for(terminal: Terminal, waiting: str) -> None:
    assert f"answer {waiting}-1: approval of write_file" in terminal.runs("list")
    assert terminal.runs("list", "--state", "done") == "No runs here yet. `askfirst chat` starts one.\n"
    assert json.loads(terminal.runs("list", "--json"))[0]["state"] == "waiting"


def test_show_has_next_values_metadata_transcript_verdicts_and_interrupts(
    terminal: Terminal, waiting: str
) -> None:
    facts = json.loads(terminal.runs("show", waiting[:4], "--json"))
    assert facts["next"] == [f"answer {waiting}-1: approval of write_file"]
    assert facts["metadata"]["requester"] == "dev"
    assert [entry["kind"] for entry in facts["transcript"]] == ["user", "model"]
    assert [verdict["verdict"] for verdict in facts["verdicts"]] == ["ask"]
    assert facts["interrupts"][0]["planned"]["args"] == {"content": "hello\n", "path": "greeting.txt"}
    text = terminal.runs("show", waiting)
    for word in ("next", "values", "metadata", "transcript", "verdicts", "interrupts"):
        assert f"\n{word}\n" in text


def test_resume_answers_in_dialogue(terminal: Terminal, waiting: str) -> None:
    shown = terminal.types("y", command=("runs", "resume", waiting))
    assert written(terminal)
    assert f"Run {waiting} is done." in shown


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (("--approve",), "hello\n"),
        (("--edit", '{"path": "greeting.txt", "content": "edited"}'), "edited"),
        (("--reject", "not now"), None),
        (("--cancel",), None),
    ],
    ids=["approve", "edit", "reject", "cancel"],
)
def test_resume_takes_an_answer_from_the_command_line(
    terminal: Terminal, waiting: str, answer: tuple[str, ...], text: str | None
) -> None:
    terminal.runs("resume", waiting, *answer)
    assert terminal.code == 0
    assert (Path("greeting.txt").read_text(encoding="utf-8") if written(terminal) else None) == text


def test_a_bad_answer_consumes_nothing(terminal: Terminal, waiting: str) -> None:
    terminal.runs("resume", waiting, "--edit", '{"path": 7}')
    assert (terminal.code, "do not fit" in terminal.errors) == (1, True)
    terminal.runs("resume", waiting, "--edit", "{not json")
    assert (terminal.code, "--edit wants JSON" in terminal.errors) == (2, True)
    terminal.runs("resume", waiting, "--option", "o9")
    assert terminal.code == 1
    terminal.runs("resume", waiting, "--approve")
    assert written(terminal)


def test_a_finished_run_is_already_resumed_and_an_unknown_one_not_found(
    terminal: Terminal, waiting: str
) -> None:
    terminal.runs("resume", waiting, "--approve")
    terminal.runs("resume", waiting)
    assert (terminal.code, terminal.errors) == (1, f"askfirst: already resumed: run {waiting} is done\n")
    terminal.runs("resume", "zzzz")
    assert (terminal.code, terminal.errors) == (1, "askfirst: checkpoint not found: zzzz (unknown)\n")


def test_cancel_stops_a_waiting_run(terminal: Terminal, waiting: str) -> None:
    shown = terminal.runs("cancel", waiting, "--reason", "changed my mind")
    assert f"Run {waiting} is cancelled." in shown
    assert not written(terminal)


def test_a_fork_asks_again_from_an_earlier_point(terminal: Terminal, waiting: str) -> None:
    terminal.runs("resume", waiting, "--reject", "no")
    shown = terminal.runs("fork", waiting, "--at", "2")
    fork = shown.split()[1]
    assert f"answer {fork}-1: approval of write_file" in shown
    terminal.runs("resume", fork, "--approve")
    assert written(terminal)


def test_the_audit_verifies_and_exports(terminal: Terminal, waiting: str) -> None:
    terminal.runs("resume", waiting, "--approve")
    shown = terminal.audit("verify")
    assert "unbroken" in shown
    kinds = [json.loads(line)["kind"] for line in terminal.audit("export").splitlines()]
    assert kinds == [
        "request",
        "verdict",
        "interrupt",
        "decision",
        "execution_started",
        "execution_finished",
        "run_finished",
    ]


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE audit SET body = replace(body, 'ask', 'allow') WHERE kind = 'verdict'",
        "DELETE FROM audit WHERE kind = 'decision'",
        "UPDATE audit SET at = at + 1 WHERE seq = 1",
    ],
)
def test_a_changed_or_removed_record_breaks_the_chain(
    terminal: Terminal, waiting: str, tampering: str
) -> None:
    terminal.runs("resume", waiting, "--approve")
    with sqlite3.connect(".askfirst/askfirst.db") as raw:
        raw.execute(tampering)
    raw.close()
    terminal.audit("verify")
    assert (terminal.code, "BROKEN at record" in terminal.errors) == (1, True)


def test_a_noted_head_shows_that_the_end_was_cut_off(terminal: Terminal, waiting: str) -> None:
    head = terminal.audit("verify").split("Head ")[1].split()[0]
    with sqlite3.connect(".askfirst/askfirst.db") as raw:
        raw.execute("DELETE FROM audit WHERE seq = (SELECT MAX(seq) FROM audit)")
    raw.close()
    terminal.audit("verify")
    assert terminal.code == 0
    terminal.audit("verify", "--head", head)
    assert (terminal.code, "cut off" in terminal.errors) == (1, True)


def test_help_of_every_command_reads_well(terminal: Terminal) -> None:
    for command in (
        ("--help",),
        ("chat", "--help"),
        ("runs", "--help"),
        ("runs", "resume", "--help"),
        ("audit", "--help"),
    ):
        with pytest.raises(SystemExit) as end:
            terminal.types(command=command)
        assert end.value.code == 0
        assert "usage: askfirst" in terminal.capture.readouterr().out


def test_a_policy_can_be_replayed_on_what_really_happened(terminal: Terminal, waiting: str) -> None:
    terminal.runs("resume", waiting, "--approve")
    stricter = Path("stricter.yaml")
    policy = Path("policies/default.yaml").read_text(encoding="utf-8")
    stricter.write_text(policy + "deny:\n  - {id: no-writes, tool: write_file}\n", encoding="utf-8")
    shown = terminal.types(command=("policy", "replay", str(stricter)))
    assert "newly denied" in shown.lower()
    assert "write_file" in shown
