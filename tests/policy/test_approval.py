"""Approvals, grants, options and scope: bounded, bound to the bytes, and never broader than the yes."""
# ruff: noqa: E501 - tables, one row per line

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.errors import NotAllowed
from bot.domain.grant import Grant
from bot.domain.ids import GrantId, InterruptId, RunId, ThreadId, UserId
from bot.domain.interrupt import Interrupt
from bot.domain.person import Person
from bot.domain.scope import Clause, ScopeContract
from bot.domain.tool import Impact, Planned
from bot.domain.verdict import Allow, Approvers, Ask, Deny, OptionSpec
from bot.policy.binding import Approval, admits, authorise, binding_digest, tightened
from bot.policy.evaluate import decide
from bot.policy.grants import grant_covers, grant_from, stands
from bot.policy.options import narrowed, option_planned
from bot.policy.scope import exceeded
from tests.policy.build import NOW, call, context, judge, policy
from tests.policy.fakes import TableResolver

POLICY = policy(
    "default: ask\napproval: {by: UA}\nask: [{id: del, tool: delete_files}, {id: once, tool: move_files, irreversible: true}]"
)
PLANNED = Planned(tool="delete_files", args={"path": "/srv/a", "older_than_days": 30})
BOUND: dict[str, Any] = {
    "cwd": "/srv",
    "tool_fingerprint": "f",
    "impact": Impact(summary="", count=5),
    "policy_version": "v",
}


# Binding


@pytest.mark.parametrize(
    ("planned", "changed"),
    [
        (Planned(tool="x", args=PLANNED.args), {}),
        (Planned(tool="delete_files", args={**PLANNED.args, "path": "/srv/b"}), {}),
        (PLANNED, {"cwd": "/"}),
        (PLANNED, {"tool_fingerprint": "g"}),
        (PLANNED, {"impact": Impact(summary="", count=6)}),
        (PLANNED, {"impact": None}),
        (PLANNED, {"policy_version": "w"}),
    ],
)
def test_the_digest_changes_with_everything_a_person_looked_at(
    planned: Planned, changed: dict[str, Any]
) -> None:
    assert binding_digest(planned, **{**BOUND, **changed}) != binding_digest(PLANNED, **BOUND)


def test_the_digest_does_not_depend_on_the_order_of_arguments() -> None:
    turned = Planned(tool="delete_files", args=dict(reversed(PLANNED.args.items())))
    assert binding_digest(turned, **BOUND) == binding_digest(PLANNED, **BOUND)


ALICE, BOB = Person(id=UserId("UA")), Person(id=UserId("UB"), groups=frozenset({"S1"}))
GOOD = Approval(digest="d", by=(ALICE,), expires_at=NOW + timedelta(minutes=1), policy_version=POLICY.version)


def answer(approval: Approval, *, requester: str = "U_DEV", verdict: Any = None) -> str:
    asked = verdict or judge(POLICY, "delete_files", path="/srv/a")
    return authorise(approval, asked, digest="d", requester=UserId(requester), now=NOW).kind


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({}, "allow"),
        ({"digest": "e"}, "deny"),
        ({"used": True}, "deny"),
        ({"expires_at": NOW}, "deny"),
        ({"by": (BOB,)}, "deny"),
        ({"by": ()}, "deny"),
        ({"by": (replace(ALICE, standing="guest"),)}, "deny"),
        ({"policy_version": "old"}, "ask"),
    ],
)
def test_an_approval_is_worth_exactly_what_was_approved(change: dict[str, Any], kind: str) -> None:
    assert answer(replace(GOOD, **change)) == kind


def test_nobody_approves_their_own_request_and_a_newer_denial_wins() -> None:
    assert answer(GOOD, requester="UA") == "deny"
    assert answer(GOOD, verdict=Deny(rules=("x",), reason="", policy=POLICY.version)) == "deny"


def test_a_quorum_counts_different_people() -> None:
    asked = judge(policy("default: ask\napproval: {by: [UA, UB], quorum: 2}"), "delete_files", path="/srv/a")
    current = replace(GOOD, policy_version=asked.policy)
    assert answer(replace(current, by=(ALICE, ALICE)), verdict=asked) == "deny"
    assert answer(replace(current, by=(ALICE, BOB)), verdict=asked) == "allow"


@pytest.mark.parametrize(
    ("approvers", "person", "requester", "admitted"),
    [
        (Approvers(), ALICE, "", False),
        (Approvers(users=("UA",)), ALICE, "", True),
        (Approvers(groups=("S1",)), BOB, "", True),
        (Approvers(groups=("S1",)), ALICE, "", False),
        (Approvers(users=("UA",)), ALICE, "UA", False),
        (Approvers(users=("UA",), requester_may_approve=True), ALICE, "UA", True),
        (Approvers(requester=True, requester_may_approve=True), ALICE, "UA", True),
        (Approvers(requester=True, requester_may_approve=True), BOB, "UA", False),
        (Approvers(requester=True), ALICE, "UA", False),
        (Approvers(users=("UA", "UB"), all_of=(Approvers(groups=("S1",)),)), ALICE, "", False),
        (Approvers(users=("UA", "UB"), all_of=(Approvers(groups=("S1",)),)), BOB, "", True),
        (Approvers(users=("UA",)), replace(ALICE, standing="deactivated"), "", False),
    ],
)
def test_who_is_admitted(approvers: Approvers, person: Person, requester: str, admitted: bool) -> None:
    assert admits(approvers, person, UserId(requester)) is admitted


def test_a_newer_policy_may_only_tighten_a_stored_verdict() -> None:
    allow, deny = Allow(rules=(), reason="", policy="2"), Deny(rules=(), reason="", policy="2")
    stored = judge(POLICY, "delete_files", path="/srv/a")
    assert isinstance(stored, Ask)
    harder = replace(stored, policy="2", terms=replace(stored.terms, quorum=2))
    assert [tightened(stored, newest) for newest in (allow, deny, harder)] == [stored, deny, harder]
    assert tightened(harder, replace(stored, policy="3")) == harder
    assert tightened(allow, stored) == stored


# Grants


def interrupt(**more: Any) -> Interrupt:
    given: dict[str, Any] = {
        "id": InterruptId("r-1"),
        "run_id": RunId("r"),
        "thread_id": ThreadId("T1"),
        "kind": "approval",
        "reason": "",
        "requester": UserId("U_DEV"),
        "approvers": Approvers(users=("UA",)),
        "opened_at": NOW,
        "expires_at": NOW,
        "verbs": ("approve",),
        "planned": PLANNED,
        "rules": ("del",),
        "policy": POLICY.version,
        "grantable": True,
        "impact": Impact(summary="", count=5),
        **more,
    }
    return Interrupt(**given)


def grant(planned: Planned = PLANNED, asked: Interrupt | None = None, **more: Any) -> Grant:
    given: dict[str, Any] = {
        "id": GrantId("g1"),
        "by": UserId("UA"),
        "at": NOW,
        "place": "thread",
        "where": "T1",
        "ttl": timedelta(hours=1),
        "uses": 5,
        "tool": POLICY.tools[planned.tool],
        **more,
    }
    return grant_from(asked or interrupt(), planned, **given)


def with_grant(
    given: Grant, tool: str = "delete_files", governing: Any = POLICY, count: int = 5, **args: Any
) -> Any:
    impact = Impact(summary="", count=count)
    situation = context(governing, tool, grants=(given,), impact=impact)
    return decide(governing, call(tool, **(args or PLANNED.args)), situation)


def test_a_grant_turns_the_same_question_into_an_allow_that_names_it() -> None:
    verdict = with_grant(grant())
    assert (verdict.kind, verdict.rules) == ("allow", ("grant:g1", "del"))


@pytest.mark.parametrize(
    "change",
    [
        {"revoked_at": NOW},
        {"used": 5},
        {"expires_at": NOW},
        {"where": "T2"},
        {"place": "channel"},
        {"policy": "other"},
        {"tool_fingerprint": "other"},
        {"rules": ("another",)},
        {"tool": "move_files"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_grant_is_void_when_anything_it_rests_on_is_gone(change: dict[str, Any]) -> None:
    assert with_grant(replace(grant(), **change)).kind == "ask"


@pytest.mark.parametrize(
    "args",
    [
        {"path": "/srv/b", "older_than_days": 30},
        {"path": "/srv/a/../b", "older_than_days": 30},
        {"path": "/srv/a", "older_than_days": 29},
        {"path": "/srv/a"},
        {"path": "/srv/a", "older_than_days": 30, "pattern": "*"},
    ],
)
def test_a_grant_is_never_broader_than_the_approved_call(args: dict[str, Any]) -> None:
    assert with_grant(grant(), **args).kind == "ask"


def test_a_grant_does_not_cover_more_than_was_measured() -> None:
    assert [with_grant(grant(), count=count).kind for count in (5, 6)] == ["allow", "ask"]


@pytest.mark.parametrize(
    ("grantor", "stood"),
    [
        (ALICE, True),
        (BOB, False),
        (replace(ALICE, standing="deactivated"), False),
    ],
)
def test_a_grant_is_void_when_its_grantor_may_no_longer_approve(grantor: Person, stood: bool) -> None:
    assert stands(grant(), Approvers(users=("UA", "UB")), grantor) is stood
    assert not stands(grant(), Approvers(groups=("S1",)), ALICE)


def test_a_grant_never_answers_a_deny() -> None:
    strict = policy("default: ask\ndeny: [{id: d, tool: delete_files}]")
    assert with_grant(replace(grant(), policy=strict.version), governing=strict).kind == "deny"


def test_a_narrowed_option_is_remembered_as_narrowed() -> None:
    made = grant(narrow={"older_than_days": {"gte": 365}})
    assert [with_grant(made, path="/srv/a", older_than_days=days).kind for days in (364, 365, 400)] == [
        "ask",
        "allow",
        "allow",
    ]


@pytest.mark.parametrize(
    ("asked", "planned", "more"),
    [
        (interrupt(grantable=False), PLANNED, {}),
        (interrupt(kind="review"), PLANNED, {}),
        (interrupt(), PLANNED, {"ttl": timedelta(days=2)}),
        (interrupt(), PLANNED, {"ttl": timedelta(0)}),
        (interrupt(), PLANNED, {"uses": 0}),
        (interrupt(), Planned(tool="execute", args={"command": "sh -c x"}), {}),
        (interrupt(), Planned(tool="execute", args={"command": "python3.11 x.py"}), {}),
        (interrupt(), Planned(tool="execute", args={"command": "env make"}), {}),
        (interrupt(), Planned(tool="execute", args={"command": "make $x"}), {}),
    ],
)
def test_what_must_not_be_remembered_is_refused(
    asked: Interrupt, planned: Planned, more: dict[str, Any]
) -> None:
    with pytest.raises(NotAllowed):
        grant(planned, asked, **more)


def test_a_rule_marked_irreversible_is_asked_about_each_time() -> None:
    verdict = judge(POLICY, "move_files", path="/srv/a", to="/srv/b")
    assert isinstance(verdict, Ask)
    assert not verdict.terms.grantable
    assert not grant_covers(
        grant(), call("move_files"), context(POLICY, "move_files"), rules=("once",), policy=POLICY.version
    )


# Options


@pytest.mark.parametrize(
    ("args", "narrow", "result"),
    [
        ({"n": 10}, {"n": {"gte": 365}}, {"n": 365}),
        ({"n": 400}, {"n": {"gte": 365}}, {"n": 400}),
        ({}, {"n": {"gte": 365}}, {"n": 365}),
        ({"n": 80}, {"n": {"lte": 50}}, {"n": 50}),
        ({"n": "80"}, {"n": {"lte": 50}}, None),
        ({"n": True}, {"n": {"lte": 50}}, None),
        ({"p": "/srv"}, {"p": {"under": "/srv/a"}}, {"p": "/srv/a"}),
        ({"p": "/srv/a/b"}, {"p": {"under": "/srv/a"}}, {"p": "/srv/a/b"}),
        ({"p": "/etc"}, {"p": {"under": "/srv/a"}}, None),
        ({"p": "/srv/a/../b"}, {"p": {"under": "/srv/a"}}, None),
        ({"s": "x"}, {"s": {"in": ["x", "y"]}}, {"s": "x"}),
        ({"s": "z"}, {"s": {"in": ["x", "y"]}}, None),
        ({"s": "z"}, {"s": "x"}, None),
        ({"n": 1}, {"n": {"matches": "x"}}, None),
    ],
)
def test_narrow_only_tightens(
    args: dict[str, Any], narrow: dict[str, Any], result: dict[str, Any] | None
) -> None:
    assert narrowed(args, narrow) == result


@settings(deadline=None)
@given(n=st.integers(), low=st.integers(), high=st.integers())
def test_a_narrowed_number_is_always_within_the_old_bound_and_the_new_one(
    n: int, low: int, high: int
) -> None:
    assert (narrowed({"n": n}, {"n": {"gte": low}}) or {})["n"] >= max(n, low)
    assert (narrowed({"n": n}, {"n": {"lte": high}}) or {})["n"] <= min(n, high)


def test_another_tool_is_used_with_the_planned_arguments_and_its_own() -> None:
    option = OptionSpec(label="stage", use="move_files", args={"to": "/srv/staging"})
    assert option_planned(option, PLANNED) == Planned(
        tool="move_files", args={**PLANNED.args, "to": "/srv/staging"}
    )


# Scope


def contract(**more: Any) -> ScopeContract:
    given: dict[str, Any] = {
        "clauses": (
            Clause(
                tools=("delete_files",),
                constraints={"path": {"under": "/srv/archive"}, "older_than_days": {"gte": 365}},
            ),
        ),
        "tools": ("delete_files", "find_files"),
        "confirmed_by": UserId("U_DEV"),
        "confirmed_at": NOW,
        "expires_at": NOW + timedelta(hours=2),
        **more,
    }
    return ScopeContract(**given)


@pytest.mark.parametrize(
    ("tool", "args", "words"),
    [
        ("delete_files", {"path": "/srv/archive/x", "older_than_days": 400}, ()),
        (
            "delete_files",
            {"path": "/srv/db", "older_than_days": 400},
            ("path /srv/db is outside /srv/archive",),
        ),
        (
            "delete_files",
            {"path": "/srv/archive/link", "older_than_days": 400},
            ("path /srv/archive/link is outside /srv/archive",),
        ),
        (
            "delete_files",
            {"path": "/srv/archive", "older_than_days": 30},
            ("older_than_days 30 is outside at least 365",),
        ),
        (
            "delete_files",
            {"path": "/srv/archive"},
            ("older_than_days must be at least 365, but older_than_days is missing",),
        ),
        ("execute", {"command": "ls"}, ("execute is not among the confirmed tools",)),
        ("find_files", {"path": "/etc"}, ()),
    ],
)
def test_a_contract_names_every_limit_a_call_breaks(
    tool: str, args: dict[str, Any], words: tuple[str, ...]
) -> None:
    assert exceeded(contract(), call(tool, **args), context(POLICY, tool), TableResolver()) == words


SCOPED = policy(
    "default: deny\nask: [{id: out, scope: exceeded}]\nallow: [{id: in, tool: [delete_files, find_files], scope: confirmed}]"
)


@pytest.mark.parametrize(
    ("scope", "path", "kind"),
    [
        (contract(), "/srv/archive", "allow"),
        (contract(), "/srv/db", "ask"),
        (contract(expires_at=NOW), "/srv/archive", "ask"),
        (None, "/srv/archive", "deny"),
    ],
)
def test_rules_know_the_confirmed_scope(scope: ScopeContract | None, path: str, kind: str) -> None:
    made = call("delete_files", path=path, older_than_days=400)
    assert decide(SCOPED, made, context(SCOPED, "delete_files", scope=scope)).kind == kind


def test_a_contract_about_one_tool_confirms_no_other() -> None:
    assert (
        decide(SCOPED, call("find_files", path="/srv"), context(SCOPED, "find_files", scope=contract())).kind
        == "deny"
    )
