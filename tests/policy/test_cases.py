"""All sample cases, through the command people use."""

import argparse
import json
from pathlib import Path

import pytest

from bot.cli.policy import add_parser
from bot.policy.casefile import Case, read_cases, run_case
from bot.policy.files import PolicySet
from tests.policy.conftest import HERE
from tests.policy.fakes import LINKS

CASES = list(read_cases((HERE / "cases.jsonl").read_text(encoding="utf-8").splitlines(), "cases.jsonl"))


def run(*words: str) -> int:
    parser = argparse.ArgumentParser(prog="askfirst")
    add_parser(parser.add_subparsers(required=True))
    args = parser.parse_args(["policy", *words])
    return args.run(args)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_sample_case(policies: PolicySet, case: Case) -> None:
    outcome = run_case(policies.policies, case)
    assert outcome.verdict.kind in {case.expect, *case.also_ok}, f"{case.why}; {outcome.verdict}"


def test_the_command_runs_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    for links in ((), ("--links", json.dumps(LINKS))):
        assert run("test", str(HERE / "policies"), "--cases", str(HERE / "cases.jsonl"), *links) == 0
        assert capsys.readouterr().out == "143 of 143 cases passed\n"


def test_a_case_that_fails_is_named_and_the_exit_code_is_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = {"id": "w", "policy": "ops-basic", "tool": "execute", "args": {"command": "ls"}, "expect": "deny"}
    (tmp_path / "w.jsonl").write_text(json.dumps(wrong), encoding="utf-8")
    assert run("test", str(HERE / "policies"), "--cases", str(tmp_path / "w.jsonl"), "--json") == 1
    failed = json.loads(capsys.readouterr().out)["failed"]
    assert [(each["id"], each["expect"], each["got"]) for each in failed] == [("w", "deny", "allow")]


@pytest.mark.parametrize(
    ("approval", "expect"),
    [
        pytest.param({"used": True}, "deny", id="a second use"),
        pytest.param({"hash": "0000000000000000"}, "deny", id="an approval of other arguments"),
        pytest.param({"by": "U_ONCALL2"}, "allow", id="another approver of the group"),
        pytest.param({"by": []}, "deny", id="nobody"),
    ],
)
def test_an_approval_counts_once_for_exactly_its_call(
    policies: PolicySet, approval: dict[str, object], expect: str
) -> None:
    good = {"hash": "1c384c3b5895a98a", "by": "U_ONCALL1", "expires": "2026-11-18T10:15:00Z"}
    case = Case(
        id="a",
        policy="runtime",
        tool="delete_files",
        args={"path": "/srv/archive/2019", "count": 10},
        context={"requester": "U_DEV", "now": "2026-11-18T10:05:00Z", "approval": {**good, **approval}},
        expect=expect,
    )
    assert run_case(policies.policies, case).verdict.kind == expect


@pytest.mark.parametrize(
    ("tool", "context", "expect"),
    [
        ("delete_files", {"recent": {"five-deletes": 5}}, "deny"),
        ("restart_service", {"now": "2026-12-20T00:00:00Z"}, "deny"),
        ("restart_service", {"now": "2027-01-02T23:59:59Z"}, "deny"),
        ("deploy", {"now": "2026-12-19T23:59:59Z"}, "ask"),
        ("deploy", {"headless": True}, "deny"),
    ],
)
def test_budgets_freezes_and_headless_runs(
    policies: PolicySet, tool: str, context: dict[str, object], expect: str
) -> None:
    args = {"path": "/srv/a", "count": 1} if tool == "delete_files" else {"service": "x"}
    case = Case(id="r", policy="runtime", tool=tool, args=args, context=context, expect=expect)
    assert run_case(policies.policies, case).verdict.kind == expect
