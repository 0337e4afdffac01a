"""One small check per rule of the semantics, as a program: exit code 0 if all hold. See test_mutations.py."""
# ruff: noqa: E501 - tables, one row per line

import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

# The package under test is the one in the working directory, which may be a mutant.
sys.path.insert(0, str(Path.cwd()))

from bot.domain.grant import Grant
from bot.domain.ids import CallId, GrantId, InterruptId, ThreadId, UserId
from bot.domain.person import Person
from bot.domain.scope import Clause, ScopeContract
from bot.domain.tool import ToolCall
from bot.domain.verdict import Approvers, Ask
from bot.policy.binding import Approval, admits, authorise
from bot.policy.cases import known_tool
from bot.policy.context import Context
from bot.policy.evaluate import decide
from bot.policy.files import PolicyProblems, load_texts
from bot.policy.model import Policy
from bot.policy.options import narrowed
from bot.policy.paths import lexical
from bot.policy.shell import NotProved, prove

NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
TOOLS = (
    "tools: {t: {args: {n: any, path: any}, paths: [path]}, "
    "m: {args: any, trusted: false, effects: {read_only: true, destructive: false}}}\n"
)


class Links:
    def resolve(self, path: str, cwd: str) -> str:
        if path == "/boom":
            raise OSError(path)
        return lexical(path, cwd).replace("/srv/link", "/etc")


def made(text: str, **others: str) -> Policy:
    texts = {"p.yaml": "version: 1\n" + TOOLS + text}
    texts |= {f"{name}.yaml": f"version: 1\n{TOOLS}{body}" for name, body in others.items()}
    return load_texts(texts, resolver=Links()).policies["p"]


def verdict(policy: Policy, name: str = "t", situation: dict[str, Any] | None = None, **args: Any) -> Any:
    given: dict[str, Any] = {
        "tool": known_tool(policy, name),
        "now": NOW,
        "cwd": "/srv/app",
        "thread": ThreadId("T"),
        **(situation or {}),
    }
    return decide(policy, ToolCall(id=CallId("c"), tool=name, args=args), Context(**given))


def kind(text: str, name: str = "t", situation: dict[str, Any] | None = None, **args: Any) -> str:
    return str(verdict(made(text), name, situation, **args).kind)


def refused(text: str) -> bool:
    try:
        made(text)
    except PolicyProblems:
        return True
    return False


GT = "when: {n: {gt: 5}}"
# Strictest wins, and a child only tightens
assert kind("default: allow\nallow: [{id: a}]\nask: [{id: b}]\ndeny: [{id: c}]", n=1) == "deny"
assert kind("default: allow\nallow: [{id: a}]\nask: [{id: b}]", n=1) == "ask"
assert (
    verdict(made("extends: base\ndefault: allow\nallow: [{id: a}]", base="default: ask"), n=1).kind == "ask"
)
# Errors never loosen
assert kind(f"default: allow\ndeny: [{{id: a, {GT}}}]") == "ask"
assert kind(f"default: allow\nask: [{{id: a, {GT}}}]", n="9") == "ask"
assert kind(f"default: ask\nallow: [{{id: a, {GT}}}]") == "ask"
assert kind("default: allow\nask: [{id: a, when: {n: {lt: 5}}}]", n=True) == "ask"
assert kind("default: ask\nallow: [{id: a, when: {n: {lt: 5}}}]", n=True) == "ask"
assert kind("default: allow\ndeny: [{id: a, touches: [x]}]", path="/boom") == "deny"
assert kind("default: allow", nope=1) == "deny"
assert verdict(made("default: allow"), "unknown").rules == ("builtin:unknown-tool",)
# any restricts, all allow
assert kind("default: allow\ndeny: [{id: a, when: {n: {gt: 5}}}]", n=[1, 9]) == "deny"
assert kind("default: ask\nallow: [{id: a, when: {n: {gt: 5}}}]", n=[1, 9]) == "ask"
# Commands
LOOK = "default: ask\nallow: [{id: a, tool: execute, profile: read_only, paths: {under: /srv}}]"
assert kind(LOOK, "execute", command="ls -la; cat /srv/x") == "allow"
assert kind(LOOK, "execute", command="ls; make") == "ask"
assert kind(LOOK, "execute", command="ls --no-such-flag") == "ask"
assert kind(LOOK, "execute", command="cat x", cwd="/etc") == "ask"
assert kind("default: allow", "execute", command="make $x") == "ask"
assert verdict(made("default: allow"), "execute", command="ls \u202e").rules == ("builtin:command",)
assert verdict(made("default: allow"), "execute", command=["ls"]).rules == ("builtin:command",)
assert isinstance(prove("A=b ls"), NotProved)
assert isinstance(prove("if ls"), NotProved)
# Paths, effects, pins
UNDER = "default: ask\nallow: [{id: a, tool: t, when: {path: {under: /srv}}}]"
assert kind(UNDER, path="/srv/a") == "allow"
assert kind(UNDER, path="/srvevil") == "ask"
assert kind(UNDER, path="/srv/link/x") == "ask"
assert kind("default: ask\nallow: [{id: a, effects: {read_only: true}}]", "m") == "ask"
assert (
    kind("default: deny\nallow: [{id: a, tool: t, pinned: true}]", situation={"pins": {"t": "other"}})
    == "ask"
)
assert kind("default: allow\nprotected: [/etc/bot/**]", "write_file", path="/etc/bot/x", content="") == "deny"
# Limits, headless
LIMIT = "default: allow\nlimits: [{id: l, tool: t, max: 2, per: 1h}]"
assert [kind(LIMIT, situation={"recent": {"l": n}}) for n in (1, 2)] == ["allow", "deny"]
assert kind("default: ask", situation={"headless": True}) == "deny"
# Who decides
TERMS = verdict(
    made("default: allow\nask: [{id: a, by: UA, quorum: 2, expires: 5m}, {id: b, by: UA, expires: 1h}]")
).terms
assert (TERMS.quorum, TERMS.expires) == (2, timedelta(minutes=5))
ALICE = Person(id=UserId("UA"))
assert not admits(Approvers(), ALICE, UserId(""))
assert not admits(Approvers(users=("UA",)), ALICE, UserId("UA"))
assert admits(Approvers(users=("UA",)), ALICE, UserId("UB"))
ASKED = verdict(made("default: ask\napproval: {by: UA}"))
GOOD = Approval(digest="d", by=(ALICE,), expires_at=NOW + timedelta(1), policy_version=ASKED.policy)


def answered(approval: Approval) -> str:
    return authorise(approval, ASKED, digest="d", requester=UserId("UB"), now=NOW).kind


assert answered(GOOD) == "allow"
assert [
    answered(bad)
    for bad in (replace(GOOD, used=True), replace(GOOD, digest="e"), replace(GOOD, expires_at=NOW))
] == ["deny"] * 3
# Grants
SOURCE = made("default: allow\nask: [{id: a, tool: t}]")
ONCE = made("default: allow\nask: [{id: a, tool: t, irreversible: true}]")


def granted(policy: Policy, /, **change: Any) -> str:
    tool = known_tool(policy, "t")
    assert tool is not None
    grant = Grant(
        id=GrantId("g"), tool="t", constraints={"n": {"eq": 1}}, place="thread", where="T", granted_by=UserId("UA"),
        granted_at=NOW, expires_at=NOW + timedelta(1), interrupt_id=InterruptId("i"), rules=("a",), policy=policy.version,
        tool_fingerprint=tool.fingerprint, max_uses=2,
    )  # fmt: skip
    return str(verdict(policy, "t", {"grants": (replace(grant, **change),)}, n=1).kind)


assert granted(SOURCE) == "allow"
assert granted(ONCE) == "ask"
assert [
    granted(SOURCE, **change)
    for change in ({"policy": "x"}, {"used": 2}, {"revoked_at": NOW}, {"rules": ("b",)})
] == ["ask"] * 4
# Options and scope
assert narrowed({"n": 10}, {"n": {"gte": 365}}) == {"n": 365}
ENDED = ScopeContract(
    clauses=(Clause(tools=("t",), constraints={"n": 1}),),
    tools=None,
    confirmed_by=UserId("U"),
    confirmed_at=NOW,
    expires_at=NOW,
)
assert kind("default: ask\nallow: [{id: a, scope: confirmed}]", situation={"scope": ENDED}, n=1) == "ask"
# Files
assert refused("default: ask\ndefault: deny")
assert refused("default: ask\ndenny: []")
assert isinstance(ASKED, Ask)
