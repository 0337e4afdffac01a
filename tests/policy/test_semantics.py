"""The promises under *Semantics* in POLICY.md, one by one."""
# ruff: noqa: E501 - tables, one row per line

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.verdict import Ask, Deny
from bot.policy.evaluate import decide, limits_touched
from bot.policy.model import STRICTNESS
from tests.policy.build import call, context, judge, policy

TOOLS = "tools: {t: {args: {n: integer, s: string, path: string, url: string}, paths: [path], urls: [url]}}\n"


# 1. Strictest wins


@pytest.mark.parametrize(
    ("rules", "kind", "named"),
    [
        ("allow: [{id: a, tool: t}]\nask: [{id: b, tool: t}]\ndeny: [{id: c, tool: t}]", "deny", ("c",)),
        ("allow: [{id: a, tool: t}]\nask: [{id: b, tool: t}]", "ask", ("b",)),
        ("allow: [{id: a, tool: t}, {id: a2, tool: '*'}]", "allow", ("a", "a2")),
        ("ask: [{id: b, tool: t}, {id: b2, tool: '*'}]", "ask", ("b", "b2")),
        ("deny: [{id: c, tool: t}, {id: c2}]", "deny", ("c", "c2")),
        ("deny: [{id: c, tool: other}]", "ask", ("default",)),
    ],
)
def test_the_strictest_rule_wins_and_all_of_its_kind_are_named(
    rules: str, kind: str, named: tuple[str, ...]
) -> None:
    verdict = judge(policy(f"{TOOLS}default: ask\n{rules}"), "t", n=1)
    assert (verdict.kind, verdict.rules) == (kind, named)


@pytest.mark.parametrize("default", ["allow", "ask", "deny"])
def test_the_default_speaks_when_no_rule_does(default: str) -> None:
    verdict = judge(policy(f"{TOOLS}default: {default}"), "t", n=1)
    assert (verdict.kind, verdict.rules) == (default, ("default",))


RULES = [
    "{id: r%d, tool: t, when: {n: {gt: %d}}}",
    "{id: r%d, tool: t, when: {n: {lte: %d}}}",
    "{id: r%d, tool: t, unless: {n: {gte: %d}}}",
    "{id: r%d, tool: '*', when: {s: x}}",
    "{id: r%d, when: {missing: {gt: %d}}}",
    "{id: r%d, tool: other}",
]
# Each example loads files; on a busy machine that takes as long as it takes.
unhurried = settings(deadline=None, max_examples=60)
rule = st.tuples(st.sampled_from(["deny", "ask", "allow"]), st.sampled_from(RULES), st.integers(0, 9))
file = st.tuples(st.sampled_from(["allow", "ask", "deny"]), st.lists(rule, max_size=6))


def written(default: str, rules: list[tuple[str, str, int]], first: int = 0) -> str:
    blocks: dict[str, list[str]] = {"deny": [], "ask": [], "allow": []}
    for number, (block, pattern, limit) in enumerate(rules, first):
        values = (number, limit)[: pattern.count("%d")]
        blocks[block].append(pattern % values)
    body = "".join(f"{block}: [{', '.join(items)}]\n" for block, items in blocks.items())
    return f"{TOOLS}default: {default}\n{body}"


@unhurried
@given(made=file, n=st.integers(0, 9))
def test_adding_a_deny_or_ask_rule_never_loosens(made: tuple[str, list[Any]], n: int) -> None:
    default, rules = made
    before = judge(policy(written(default, rules)), "t", n=n, s="x")
    for block in ("deny", "ask"):
        after = judge(policy(written(default, [*rules, (block, RULES[0], 4)])), "t", n=n, s="x")
        if before.rules != ("default",) or block == "deny":
            assert STRICTNESS[after.kind] >= STRICTNESS[before.kind]


@unhurried
@given(made=file, n=st.integers(0, 9), data=st.data())
def test_the_order_of_rules_never_matters(made: tuple[str, list[Any]], n: int, data: st.DataObject) -> None:
    default, rules = made
    numbered = list(enumerate(rules))
    shuffled = data.draw(st.permutations(numbered))

    def kind(order: list[Any]) -> str:
        return judge(policy(written(default, [each for _, each in order])), "t", n=n, s="x").kind

    assert kind(numbered) == kind(list(shuffled))


@unhurried
@given(parent=file, child=file, n=st.integers(0, 9))
def test_a_file_that_extends_another_only_tightens_it(parent: Any, child: Any, n: int) -> None:
    alone = judge(policy(written(*parent), name="base"), "t", n=n, s="x")
    text = written(*child, first=100).replace(TOOLS, "")
    extended = judge(policy(f"extends: base\n{text}", base=written(*parent)), "t", n=n, s="x")
    assert STRICTNESS[extended.kind] >= STRICTNESS[alone.kind]


def test_the_rules_of_the_extended_file_count_as_if_they_were_written_here() -> None:
    base = f"{TOOLS}default: ask\nallow: [{{id: base, tool: t}}]"
    child = policy("extends: base\ndefault: ask\ndeny: [{id: own, tool: t, when: {n: {gt: 5}}}]", base=base)
    assert (judge(child, "t", n=1).kind, judge(child, "t", n=6).kind) == ("allow", "deny")


# 2. Errors never loosen


@pytest.mark.parametrize(
    "bad", [{}, {"n": "80"}, {"n": True}, {"n": None}, {"n": float("nan")}, {"n": [1, "x"]}, {"n": {}}]
)
@pytest.mark.parametrize(("block", "kind"), [("deny", "ask"), ("ask", "ask"), ("allow", "ask")])
def test_a_missing_or_mistyped_value_asks_and_never_allows(
    bad: dict[str, Any], block: str, kind: str
) -> None:
    default = "allow" if block != "allow" else "ask"
    governing = policy(f"{TOOLS}default: {default}\n{block}: [{{id: r, tool: t, when: {{n: {{gt: 50}}}}}}]")
    assert judge(governing, "t", **bad).kind == kind


def test_an_unclear_exception_does_not_lift_a_deny() -> None:
    governing = policy(f"{TOOLS}default: allow\ndeny: [{{id: r, tool: t, unless: {{n: {{lt: 5}}}}}}]")
    assert [judge(governing, "t", n=n).kind for n in (1, 9)] == ["allow", "deny"]
    assert judge(governing, "t").kind == "ask"


def test_an_exception_inside_the_evaluator_is_a_denial() -> None:
    class Broken:
        def resolve(self, path: str, cwd: str) -> str:
            raise OSError(path, cwd)

    governing = replace(policy(f"{TOOLS}default: allow\ndeny: [{{id: r, touches: [x]}}]"), resolver=Broken())
    verdict = judge(governing, "t", path="/a")
    assert (verdict.kind, verdict.rules) == ("deny", ("builtin:error",))


@pytest.mark.parametrize(
    ("name", "args", "malformed", "rule"),
    [
        ("t", {"nope": 1}, None, "builtin:unknown-argument"),
        ("unknown", {}, None, "builtin:unknown-tool"),
        ("t", {}, "{not json", "builtin:malformed"),
        ("execute", {"command": ["ls"]}, None, "builtin:command"),
        ("execute", {"command": "ls \u202e"}, None, "builtin:command"),
        ("t", {"path": "/srv/\u200bx"}, None, "builtin:hidden"),
    ],
)
def test_calls_that_cannot_be_judged_are_denied(
    name: str, args: dict[str, Any], malformed: str | None, rule: str
) -> None:
    governing = policy(f"{TOOLS}default: allow")
    made = replace(call(name, **args), malformed=malformed)
    verdict = decide(governing, made, context(governing, name))
    assert (verdict.kind, verdict.rules) == ("deny", (rule,))


def test_arguments_of_the_wrong_type_are_asked_about_even_if_everything_is_allowed() -> None:
    assert judge(policy(f"{TOOLS}default: allow"), "t", n="1").rules == ("builtin:arguments",)


def test_what_is_not_proved_is_asked_about_even_if_everything_is_allowed() -> None:
    governing = policy("default: allow\nallow: [{id: all, tool: execute}]")
    assert judge(governing, "execute", command="make x").kind == "allow"
    assert judge(governing, "execute", command="make $x").rules == ("builtin:not-proved",)
    assert judge(policy("default: deny"), "execute", command="make $x").kind == "deny"


# Who decides


def ask(text: str, **args: Any) -> Ask:
    verdict = judge(policy(TOOLS + text), "t", **args)
    assert isinstance(verdict, Ask)
    return verdict


def test_unset_approvers_mean_nobody() -> None:
    assert ask("default: ask").terms.approvers.nobody


GROUPS = "groups: {one: {users: [UA, UB]}, two: {users: [UB, UC]}, s: {usergroup: S1}, s2: {usergroup: S2}}\n"


@pytest.mark.parametrize(
    ("rules", "users", "quorum"),
    [
        ("[{id: a, by: one}, {id: b, by: two}]", ("UB",), 1),
        ("[{id: a, by: one, quorum: 2}, {id: b}]", ("UA", "UB"), 2),
        ("[{id: a}, {id: b, quorum: 3}]", ("UC", "UD"), 3),
    ],
)
def test_several_rules_that_ask_become_the_strictest_question(
    rules: str, users: tuple[str, ...], quorum: int
) -> None:
    verdict = ask(f"default: allow\n{GROUPS}approval: {{by: [UC, UD]}}\nask: {rules}")
    assert (verdict.terms.approvers.users, verdict.terms.quorum) == (users, quorum)


def test_a_decider_must_suit_every_rule_that_names_a_slack_group() -> None:
    approvers = ask(f"default: allow\n{GROUPS}ask: [{{id: a, by: s}}, {{id: b, by: s2}}]").terms.approvers
    assert (approvers.groups, [other.groups for other in approvers.all_of]) == (("S1",), [("S2",)])


def test_the_shortest_time_and_the_common_answers_count() -> None:
    terms = ask(
        "default: allow\nask: [{id: a, by: UA, expires: 10m, remind: [5m, 9m], options: [approve, reject]},"
        "{id: b, by: UA, expires: 1h, options: [approve, edit], on_timeout: keep_waiting, irreversible: true}]"
    ).terms
    assert (terms.expires, terms.verbs, terms.on_timeout) == (
        timedelta(minutes=10),
        ("approve",),
        "cancel_run",
    )
    assert (terms.remind, terms.grantable) == ((timedelta(minutes=5), timedelta(minutes=9)), False)


def test_headless_means_that_an_ask_is_a_denial() -> None:
    assert judge(policy(f"{TOOLS}default: ask\nagent: {{interrupts: false}}"), "t", n=1).rules == (
        "builtin:headless",
    )


# Impact, effects, pins, time, limits


def test_rules_see_what_the_preview_measured() -> None:
    governing = policy(
        f"{TOOLS}default: allow\nask: [{{id: many, tool: t, when: {{impact.count: {{gt: 50}}}}}}]"
    )
    assert [judge(governing, "t", count=count).kind for count in (50, 51, None)] == ["allow", "ask", "ask"]


def test_the_effects_a_stranger_claims_are_not_believed() -> None:
    text = "default: ask\nallow: [{id: reads, effects: {read_only: true}}]\ntools:\n"
    shape = "{args: any, effects: {read_only: true, destructive: false}, trusted: %s}"
    trusted, strange = (policy(f"{text}  t: {shape % word}") for word in ("true", "false"))
    assert (judge(trusted, "t").kind, judge(strange, "t").kind) == ("allow", "ask")


@pytest.mark.parametrize(("pin", "kind"), [("same", "allow"), ("other", "ask"), ("none", "ask")])
def test_a_pinned_rule_asks_when_the_definition_is_not_the_approved_one(pin: str, kind: str) -> None:
    governing = policy(f"{TOOLS}default: deny\nallow: [{{id: a, tool: t, pinned: true}}]")
    tool = governing.tools["t"]
    pins = {"same": {"t": tool.fingerprint}, "other": {"t": "x"}, "none": {}}[pin]
    assert decide(governing, call("t"), context(governing, "t", pins=pins)).kind == kind


@pytest.mark.parametrize(
    ("now", "kind"),
    [
        ("2026-11-18T21:59Z", "allow"),
        ("2026-11-18T22:00Z", "deny"),
        ("2026-11-19T05:59Z", "deny"),
        ("2026-11-19T06:00Z", "allow"),
    ],
)
def test_hours_may_go_over_midnight(now: str, kind: str) -> None:
    governing = policy(
        f'{TOOLS}default: allow\ndeny: [{{id: n, hours: {{from: "22:00", to: "06:00", days: [wed]}}}}]'
    )
    assert decide(governing, call("t"), context(governing, "t", now=datetime.fromisoformat(now))).kind == kind


LIMITS = """
limits:
  - {id: calls, tool: t, max: 2, per: 1h}
  - {id: prompts, verdict: ask, max: 3, per: 1h}
"""


@pytest.mark.parametrize(
    ("default", "recent", "kind", "rule"),
    [
        ("allow", {"calls": 1}, "allow", "default"),
        ("allow", {"calls": 2}, "deny", "calls"),
        ("ask", {"prompts": 2}, "ask", "default"),
        ("ask", {"prompts": 3}, "deny", "prompts"),
        ("allow", {"prompts": 3}, "allow", "default"),
    ],
)
def test_limits_count_what_the_store_says(default: str, recent: dict[str, int], kind: str, rule: str) -> None:
    governing = policy(f"{TOOLS}default: {default}{LIMITS}")
    verdict = decide(governing, call("t"), context(governing, "t", recent=recent))
    assert (verdict.kind, verdict.rules) == (kind, (rule,))


def test_the_engine_is_told_which_counters_a_call_uses() -> None:
    governing = policy(f"{TOOLS}default: ask{LIMITS}")
    used = limits_touched(governing, call("t"), context(governing, "t"))
    assert [(use.id, use.per, use.counts) for use in used] == [
        ("calls", timedelta(hours=1), "calls"),
        ("prompts", timedelta(hours=1), "asks"),
    ]


def test_the_policys_own_file_cannot_be_written_but_read() -> None:
    governing = policy("default: allow\nprotected: [/etc/askfirst/**]", name="/srv/policies/p")
    assert judge(governing, "write_file", path="/srv/policies/p.yaml", content="x").rules == (
        "builtin:own-policy",
    )
    assert judge(governing, "write_file", path="/etc/ASKFIRST/x", content="x").rules == (
        "builtin:own-policy",
    )
    assert judge(governing, "execute", command="cp x /srv/policies/p.yaml").rules == ("builtin:own-policy",)
    assert judge(governing, "read_file", path="/srv/policies/p.yaml").kind == "allow"
    assert judge(governing, "execute", command="cat /srv/policies/p.yaml").kind == "allow"


def test_every_verdict_names_the_version_of_the_policy() -> None:
    one, two = policy(f"{TOOLS}default: deny"), policy(f"{TOOLS}default: deny\ndescription: x")
    assert one.version != two.version
    assert judge(one, "t") == Deny(rules=("default",), reason="no rule allows this", policy=one.version)


def test_allow_rules_cover_the_commands_of_a_line_together() -> None:
    governing = policy(
        "default: ask\nallow: [{id: look, tool: execute, profile: read_only}, {id: mk, tool: execute, command: [make test]}]"
    )
    kinds = [
        judge(governing, "execute", command=text).kind
        for text in ("ls && make test | wc", "ls && make all", "make test -j2")
    ]
    assert kinds == ["allow", "ask", "allow"]


def test_effects_never_make_a_shell_command_allowed() -> None:
    governing = policy("default: ask\nallow: [{id: reads, effects: {read_only: true}}]")
    assert judge(governing, "execute", command="ls").kind == "ask"
