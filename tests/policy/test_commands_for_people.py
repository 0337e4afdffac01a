"""`askfirst policy …`: what it prints and how it ends."""

import json
from pathlib import Path

import pytest

from bot.policy.explain import explain, render_text
from tests.policy.build import call, context, policy
from tests.policy.test_cases import run

GOOD = """\
version: 1
default: ask
approval: {by: oncall}
groups: {oncall: {usergroup: S0ONCALL}}
deny:
  - {id: never, tool: execute, command: [reboot], reason: Not from chat.}
allow:
  - {id: look, tool: execute, profile: read_only}
tests:
  - {call: execute, args: {command: "ls; reboot"}, expect: deny}
"""


@pytest.fixture
def good(tmp_path: Path) -> str:
    (tmp_path / "team.yaml").write_text(GOOD, encoding="utf-8")
    return str(tmp_path / "team.yaml")


def test_check_says_what_is_right(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", good) == 0
    out = capsys.readouterr().out
    assert out.startswith("✔ team ")
    assert "2 rules, 1 tests passed" in out
    assert "\x1b" not in out


def test_check_shows_the_line_that_is_wrong(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(good).write_text(GOOD.replace("deny:\n", "denny:\n", 1), encoding="utf-8")
    assert run("check", good) == 1
    out = capsys.readouterr().out
    assert f"✖ {good}:5:1  unknown key 'denny'; did you mean 'deny'?" in out
    assert "       5 | denny:\n         | ^" in out


def test_check_in_json_is_for_machines(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(good).write_text("version: 1\ndefault: x", encoding="utf-8")
    assert run("check", good, "--json") == 1
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert (problem["line"], problem["column"]) == (2, 1)


def test_a_missing_file_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "/nowhere.yaml") == 2
    assert "no policy file at /nowhere.yaml" in capsys.readouterr().err


def test_test_prints_every_test(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("test", good) == 0
    assert '✔ deny   execute {"command": "ls; reboot"}' in capsys.readouterr().out
    Path(good).write_text(GOOD.replace("expect: deny", "expect: allow"), encoding="utf-8")
    assert run("test", good) == 1
    assert "expected allow, got deny by never: Not from chat." in capsys.readouterr().out


def test_explain_names_every_rule_and_why(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain", good, "--tool", "execute", "--args", '{"command": "env reboot | cat $x"}') == 0
    out = capsys.readouterr().out
    assert out.startswith("DENY  execute  Not from chat.\n")
    assert "not proved     an expansion: what it becomes is not known" in out
    assert "● never                  runs reboot" in out
    assert "○ look                   the command is not proved" in out
    assert f"{good}:6" in out


def test_explain_in_json_holds_the_same(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain", good, "--tool", "execute", "--args", '{"command": "ls | tee x"}', "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"]["kind"] == "ask"
    assert found["commands"][0]["parts"][1]["not_read_only"] == "tee is not in the read_only profile"
    assert {each["rule"]: each["said"] for each in found["heard"]} == {"never": "silent", "look": "spoke"}


def test_explain_says_who_decides_and_when_nobody_can() -> None:
    for approval, words in (
        ("approval: {by: UA}", "decides        UA, not the person who asked; 1 must agree within 15m"),
        ("", "Nobody may approve"),
    ):
        governing = policy(f"default: ask\n{approval}")
        text = render_text(explain(governing, call("read_file", path="x"), context(governing, "read_file")))
        assert words in text


def test_explain_says_what_is_unclear_and_what_no_rule_was_asked_about() -> None:
    governing = policy("default: allow\ndeny: [{id: many, tool: delete_files, when: {count: {gt: 5}}}]")
    unclear = explain(governing, call("delete_files", path="x"), context(governing, "delete_files"))
    assert [(each.rule, each.said, each.why) for each in unclear.heard] == [
        ("many", "unclear", "count is missing")
    ]
    refused = explain(governing, call("delete_files", nope=1), context(governing, "delete_files"))
    assert "No rule was asked" in render_text(refused, colour=True)


def past(at: str, command: str, then: str = "ask", decision: str = "approved", **more: object) -> str:
    return json.dumps(
        {
            "at": at,
            "tool": "execute",
            "args": {"command": command},
            "verdict_then": then,
            "decision": decision,
            "requester": "UA",
            **more,
        }
    )


@pytest.fixture
def history(tmp_path: Path) -> str:
    lines = [past(f"2026-11-{day:02}T10:00:00+00:00", f"make test-{day}") for day in range(1, 4)]
    lines += [past(f"2026-11-{day:02}T11:00:00+00:00", "terraform plan") for day in range(1, 8)]
    lines += [
        past(
            f"2026-11-{day:02}T12:00:00+00:00",
            "systemctl reload nginx",
            decision="approved" if day != 3 else "rejected",
        )
        for day in range(1, 9)
    ]
    lines += [past(f"2026-11-{day:02}T13:00:00+00:00", "bash -c x") for day in range(1, 9)]
    lines += [
        past("2026-11-09T10:00:00+00:00", "reboot"),
        past("2026-11-09T11:00:00+00:00", "ls", uncertain=True),
    ]
    lines += [past("2026-11-09T12:00:00+00:00", "touch x", then="allow", decision="")]
    file = tmp_path / "history.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    return str(file)


def test_replay_says_what_would_come_out_differently(
    good: str, history: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("replay", good, "--history", history, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["total"], report["uncertain"]) == (29, 1)
    assert {(each["change"], each["args"]["command"]) for each in report["changes"]} == {
        ("newly denied", "reboot"),
        ("newly allowed", "ls"),
        ("newly asked", "touch x"),
    }
    assert run("replay", good, "--history", history, "--since", "1d") == 0
    assert "3 calls" not in capsys.readouterr().err


def test_suggest_offers_only_what_was_always_approved_and_cannot_run_anything_else(
    good: str, history: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("suggest", good, "--history", history, "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (
        found["yaml"]
        == 'allow:\n  - {id: often-approved-terraform-plan, tool: execute, command: ["terraform plan"]}'
    )
    assert (found["approvals"], found["saved"], found["wrong"]) == (7, 7, 0)
    assert run("suggest", good, "--history", history) == 0
    assert "it would have saved 7 questions" in capsys.readouterr().out


def test_history_is_needed_and_must_be_readable(
    good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("replay", good) == 2
    (tmp_path / "h.jsonl").write_text("{}", encoding="utf-8")
    assert run("replay", good, "--history", str(tmp_path / "h.jsonl")) == 2
    assert "h.jsonl:1: not a past call" in capsys.readouterr().err
