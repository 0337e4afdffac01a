"""Reading policy files: strict, with line and column; reloading keeps the last good one."""
# ruff: noqa: E501 - tables, one row per line

import os
from pathlib import Path

import pytest

from bot.domain.errors import ConfigError
from bot.policy.files import PolicyProblems, load, load_texts, reload
from bot.policy.lint import lint
from tests.policy.build import judge, policy
from tests.policy.fakes import TableResolver

ROOT = Path(__file__).parents[2]


def problems(text: str) -> list[str]:
    with pytest.raises(PolicyProblems) as caught:
        load_texts({"p.yaml": text}, resolver=TableResolver())
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("version: 1\ndefault: ask\nalow: []", "p.yaml:3:1: unknown key 'alow'; did you mean 'allow'?"),
        ("version: 1\ndefault: ask\nask:\n  - {id: a, aprovers: x}", "p.yaml:4:13: unknown key 'aprovers'"),
        ("version: 1\ndefault: ask\nask:\n  - {id: a, quorom: 2}", "p.yaml:4:13: unknown key 'quorom'; did you mean 'quorum'?"),
        ("version: 1\ndefault: ask\ndefault: deny", "p.yaml:3:1: the key 'default' appears twice"),
        ("version: 1\ndefault: no", "p.yaml:2:1: default: input should be 'allow', 'ask' or 'deny'"),
        ("version: 1", "p.yaml:1:1: 'default' is missing"),
        ("version: 2\ndefault: ask", "p.yaml:1:1: version: input should be 1"),
        ("version: 1\ndefault: ask\nx: &a 1", "p.yaml:3:4: anchors, aliases and tags are not allowed; write it out"),
        ("version: 1\ndefault: !!str ask", "p.yaml:2:10: anchors, aliases and tags are not allowed; write it out"),
        ("version: 1\ndefault: ask\n<<: {}", "p.yaml:3:1: a key must be a plain word"),
        ("version: 1\ndefault: [", "p.yaml:2:11: while parsing a flow node"),
        ("[]", "p.yaml:1:1: a policy is a mapping that starts with `version: 1`"),
        ("", "p.yaml:1:1: 'version' is missing"),
        ("version: 1\ndefault: ask\napproval: {by: oncal}", "p.yaml:3:12: nobody knows the approvers 'oncal'; define them under groups"),
        ("version: 1\ndefault: ask\napproval: {expires: 15}", "p.yaml:3:12: expires: a duration like 30s, 15m, 2h or 7d is expected"),
        ("version: 1\ndefault: ask\ndeny: [{id: a, when: {n: {gtt: 1}}}]", "p.yaml:3:8: rule 'a': there is no operator 'gtt'"),
        ("version: 1\ndefault: ask\ndeny: [{id: a, when: {n: {matches: '('}}}]", "p.yaml:3:8: rule 'a': not a regular expression"),
        ("version: 1\ndefault: ask\nallow: [{id: a, touches: [x]}]", "p.yaml:3:9: touches is a guess on the safe side"),
        ("version: 1\ndefault: ask\nextends: nope", "p.yaml:3:1: there is no policy called 'nope'"),
        ("version: 1\ndefault: ask\ndeny: [{id: a}, {id: a}]", "p.yaml:1:1: two rules are called 'a'"),
        ("version: 1\ndefault: ask\ntests:\n  - {call: execute, args: {command: ls}, expect: deny}", "p.yaml:4:5: expected deny, got ask by default"),
        ("version: 1\ndefault: ask\nfreeze: [{id: f, from: '2026-01-01', to: '2026-01-02T00:00Z'}]", "p.yaml:3:18: from: say in which time zone"),
        ("version: 1\ndefault: ask\n" + "x: " + "[" * 40, "p.yaml:3:44: while parsing a flow node"),
    ],
)  # fmt: skip
def test_a_broken_file_is_refused_with_line_and_column(text: str, problem: str) -> None:
    assert any(found.startswith(problem) for found in problems(text)), problems(text)


def test_scalars_stay_what_was_written() -> None:
    governing = policy(
        "default: ask\nallow: [{id: a, tool: t, when: {s: {in: [no, 010, 22:00, yes, 0x1F, 1e3, ~]}, n: {eq: 8}}}]\n"
        "tools: {t: {args: {s: string, n: number}}}"
    )
    for text in ("no", "010", "22:00", "yes", "0x1F", "1e3", "~"):
        assert judge(governing, "t", s=text, n=8).kind == "allow"
    assert judge(governing, "t", s="False", n=8).kind == "ask"


def test_a_question_may_end_in_a_question_mark_inside_braces() -> None:
    governing = policy(
        "default: ask\nclarify: {questions: [{before: t, ask: {path: {question: Which one?, under: /srv}},"
        " contract: {path: {under: $path}}}]}"
    )
    assert governing.clarify is not None
    assert governing.clarify.questions[0].fields[0].question == "Which one?"


def test_the_policies_in_the_repository_are_right_and_raise_no_warning() -> None:
    policies = load(ROOT / "policies").policies
    assert set(policies) == {"default", "production", "read-only"}
    for each in policies.values():
        assert [found.message for found in lint(each) if found.level == "warning"] == []
        assert len(each.tests) >= 5


def test_the_channel_chooses_the_policy() -> None:
    policies = load(ROOT / "policies")
    assert [policies.for_channel(channel).name for channel in ("C0PROD", "C0LOOK", "C9", "")] == [
        "production",
        "read-only",
        "default",
        "default",
    ]


def test_without_a_default_a_foreign_channel_is_an_error() -> None:
    texts = {f"{name}.yaml": f"version: 1\ndefault: ask\nchannels: [{name.upper()}]" for name in ("a", "b")}
    with pytest.raises(ConfigError, match="no policy governs the channel 'X'"):
        load_texts(texts).for_channel("X")


def test_files_that_extend_each_other_are_refused() -> None:
    with pytest.raises(PolicyProblems, match="in a circle"):
        load_texts(
            {
                "a.yaml": "version: 1\ndefault: ask\nextends: b",
                "b.yaml": "version: 1\ndefault: ask\nextends: a",
            }
        )


def test_a_changed_parent_changes_the_version_of_the_child() -> None:
    def version(parent: str) -> str:
        return policy("extends: base\ndefault: ask", base=f"default: ask\ndescription: {parent}").version

    assert version("one") != version("two")
    assert version("one") == version("one")


def test_reload_swaps_a_good_file_in_and_refuses_a_broken_one(tmp_path: Path) -> None:
    file = tmp_path / "default.yaml"
    file.write_text("version: 1\ndefault: ask", encoding="utf-8")
    first = load(tmp_path)
    assert reload(first, tmp_path) is first

    file.write_text("version: 1\ndefault: deny", encoding="utf-8")
    os.utime(file, (1, 1))
    second = reload(first, tmp_path)
    assert (second.for_channel("").layers[0].default, first.for_channel("").layers[0].default) == (
        "deny",
        "ask",
    )

    file.write_text("version: 1\ndefault: alow", encoding="utf-8")
    os.utime(file, (2, 2))
    with pytest.raises(PolicyProblems, match=r"default\.yaml:2:1"):
        reload(second, tmp_path)


def test_the_policys_own_files_are_protected_wherever_they_are(tmp_path: Path) -> None:
    file = tmp_path / "default.yaml"
    file.write_text("version: 1\ndefault: allow", encoding="utf-8")
    governing = load(tmp_path).for_channel("")
    assert judge(governing, "write_file", path=str(file), content="x").rules == ("builtin:own-policy",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("default: ask", "approval: nobody may approve"),
        (
            "default: allow\ngroups: {g: {users: [UA, UB]}}\nask: [{id: a, by: g, quorum: 2}]",
            "rule a: 2 people must agree, but at most 1 can",
        ),
        (
            "default: allow\ndeny: [{id: d, tool: t}]\nallow: [{id: a, tool: t}]",
            "rule a never decides: d (deny, no conditions) comes first",
        ),
        (
            "default: allow\nallow: [{id: a, tool: execute, command: [bash]}]",
            "rule a allows 'bash', which can run anything",
        ),
    ],
)
def test_lint_points_out_what_is_probably_not_meant(text: str, message: str) -> None:
    assert any(found.level == "warning" and found.message.startswith(message) for found in lint(policy(text)))


def test_lint_says_when_an_allow_rule_of_a_child_is_dead() -> None:
    child = policy(
        "extends: base\ndefault: ask\napproval: {by: requester}\nallow: [{id: a, tool: t}]",
        base="default: ask",
    )
    assert any("rule a has no effect" in found.message for found in lint(child))
