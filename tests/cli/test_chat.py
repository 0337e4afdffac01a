"""Talking to the agent in the terminal, with the offline model and real tools."""

from pathlib import Path

from bot.cli.demo import fill_scratch
from tests.cli.terminal import Terminal


def test_a_read_is_answered_at_once_by_the_labelled_offline_model(terminal: Terminal) -> None:
    shown = terminal.types("read notes.txt", "/quit")
    assert "the offline model (set ANTHROPIC_API_KEY for a real one)" in shown
    assert "keep the March builds" in shown
    assert "decide>" not in shown


def test_an_approval_shows_what_why_impact_and_the_answers_and_then_runs(terminal: Terminal) -> None:
    shown = terminal.types("write hello to greeting.txt", "y", "/quit")
    assert "── Approval needed · write_file" in shown
    assert "Create" in shown
    assert "+hello" in shown
    assert "why        no rule allows this without asking  (default)" in shown
    assert "content  hello⏎" in shown
    assert "The agent says:" in shown
    assert "y approve · e edit · r reject · c cancel the run · ? explain · q quit, answer later" in shown
    assert (terminal.folder / "greeting.txt").read_text(encoding="utf-8") == "hello\n"


def test_a_rejection_with_a_reason_is_told_and_nothing_happens(terminal: Terminal) -> None:
    shown = terminal.types("write hello to greeting.txt", "r", "wrong day", "/quit")
    assert "declined by dev because: wrong day" in shown
    assert not (terminal.folder / "greeting.txt").exists()


def test_an_edit_is_what_runs(terminal: Terminal) -> None:
    terminal.types("write hello to greeting.txt", "e", "", "goodbye", "", "", "/quit")
    assert (terminal.folder / "greeting.txt").read_text(encoding="utf-8").strip() == "goodbye"


def test_an_unclear_key_decides_nothing(terminal: Terminal) -> None:
    shown = terminal.types("write hello to greeting.txt", "maybe", "", "yes please", "/quit")
    assert shown.count("I did not understand that; nothing was decided.") == 2
    assert (terminal.folder / "greeting.txt").exists()


def test_explain_shows_every_rule_that_was_looked_at(terminal: Terminal) -> None:
    shown = terminal.types("write hello to greeting.txt", "?", "q")
    assert "ASK  write_file" in shown
    assert "reads" in shown


def test_quitting_in_the_middle_keeps_the_question_for_the_next_start(terminal: Terminal) -> None:
    first = terminal.types("write hello to greeting.txt", "q")
    assert "1 open:" in first
    assert not (terminal.folder / "greeting.txt").exists()
    second = terminal.types("y", "/quit")
    assert "── Approval needed · write_file" in second
    assert (terminal.folder / "greeting.txt").exists()


def test_the_cleanup_of_847_files_offers_measured_options_and_does_what_was_chosen(
    terminal: Terminal,
) -> None:
    fill_scratch(terminal.folder)
    shown = terminal.types("clean up old test files", "1", "/quit")
    assert "Delete 847 files (2.3 GB)" in shown
    assert "Older than 1 year (312)" in shown
    assert "Move to staging (847)" in shown
    assert len(list((terminal.folder / "ci-artifacts").iterdir())) == 535


def test_a_question_with_options_is_answered_by_number(terminal: Terminal) -> None:
    shown = terminal.types("ask me something", "1", "/quit")
    assert "── Question" in shown


def test_a_conversation_goes_on_and_can_be_started_anew(terminal: Terminal) -> None:
    terminal.types("read notes.txt", "/new", "read notes.txt", "/runs", "/help", "/quit")
    heads = terminal.runs("list").splitlines()
    assert len(heads) == 2


def test_stepping_stops_at_every_step(terminal: Terminal) -> None:
    shown = terminal.types(
        "read notes.txt", "y", "y", "y", "y", "y", "y", "/quit", command=("chat", "--step")
    )
    assert shown.count("── Review") == 6


def test_a_broken_policy_is_refused_with_its_line(terminal: Terminal) -> None:
    (terminal.folder / "policies/default.yaml").write_text("version: 1\ndefalt: ask\n", encoding="utf-8")
    terminal.types("/quit")
    assert terminal.code == 2
    assert "default.yaml:2:1" in terminal.errors
    assert "did you mean" in terminal.errors.lower()


def test_a_key_that_is_no_key_says_which_variable_to_check(terminal: Terminal) -> None:
    terminal.patch.setenv("ANTHROPIC_API_KEY", "  ")
    terminal.types("/quit")
    assert terminal.code == 2
    assert "ANTHROPIC_API_KEY" in terminal.errors


def test_a_database_that_is_none_is_said_so(terminal: Terminal) -> None:
    Path("nonsense.db").write_text(
        "this is not a database, it is a text file of some length\n" * 20, encoding="utf-8"
    )
    terminal.types(command=("runs", "--database", "nonsense.db", "list"))
    assert terminal.code == 2
    assert "nonsense.db cannot be used" in terminal.errors
