"""Mutation check: break any single rule of the semantics, and the table below notices.

Each mutation edits the source of one module, loads it into a fresh copy of the package in another process, and
asks the table. A table that stays green under a mutation would not be guarding the rule.
"""
# ruff: noqa: E501 - tables, one row per line

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: What must hold, as a program that fails if it does not. It is run unchanged against every mutant.
TABLE = ROOT / "tests" / "policy" / "semantics_table.py"

#: module, the words that carry the rule, what a slip would make of them
MUTATIONS = [
    pytest.param("evaluate", "if found.deny:\n        return _deny(policy, found.deny)", "if False:\n        return _deny(policy, found.deny)", id="deny wins"),
    pytest.param("evaluate", "if not found.ask:\n        names", "if found.allow or not found.ask:\n        names", id="ask beats allow"),
    pytest.param("evaluate", "    found.spoke = True\n    terms = _ungrantable(rule.ask", "    return\n    terms = _ungrantable(rule.ask", id="an error asks"),
    pytest.param("evaluate", "        except Unclear:\n            continue\n", "        except Unclear:\n            pass\n", id="an error never allows"),
    pytest.param("evaluate", 'return Deny(rules=("builtin:error",)', 'return Allow(rules=("builtin:error",)', id="an exception denies"),
    pytest.param("evaluate", "if not found.spoke and not found.covers(look):\n            _default", "if layer is policy.layers[-1] and not found.spoke and not found.covers(look):\n            _default", id="extends only tightens"),
    pytest.param("evaluate", "return self.covered & everything == everything", "return self.covered & everything > 0", id="every command must be covered"),
    pytest.param("evaluate", "if not found.ask and (doubt := builtin.doubt(look)):", "if False and (doubt := builtin.doubt(look)):", id="not proved asks"),
    pytest.param("evaluate", "if look.context.headless or not policy.interrupts:", "if False:", id="headless denies"),
    pytest.param("evaluate", ">= limit.max", "> limit.max", id="limits are exact"),
    pytest.param("evaluate", "if mask and rule.pinned and", "if False and", id="pinned asks again"),
    pytest.param("evaluate", "if terms.grantable and (grant", "if (grant", id="irreversible is never remembered"),
    pytest.param("evaluate", "if own := builtin.protects(look, policy.protected):", "if own := None:", id="own policy is protected"),
    pytest.param("builtin", "        if name not in properties:", "        if False:", id="unknown argument denies"),
    pytest.param("builtin", "    return hidden(value)\n", "    return None\n", id="hidden characters deny"),
    pytest.param("builtin", "    if not isinstance(value, str):\n        return \"a command", "    if False:\n        return \"a command", id="a command is text"),
    pytest.param("builtin", "if tool is None or tool.name != call.tool", "if tool is not None and tool.name != call.tool", id="unknown tool denies"),
    pytest.param("operators", "if type(value) is int or (type(value) is float and math.isfinite(value)):", "if isinstance(value, int | float):", id="true is no number"),
    pytest.param("operators", "return any(test(item, look) for item in items) if restricting else all(", "return all(test(item, look) for item in items) if restricting else any(", id="any restricts, all allow"),
    pytest.param("paths", 'return path == base or path.startswith(base if base.endswith("/") else base + "/")', "return path.startswith(base)", id="/srvevil"),
    pytest.param("look", "return self.resolve(value, self.cwd)\n\n    def possible", "return lexical(value, self.cwd)\n\n    def possible", id="links are followed"),
    pytest.param("look", "self.cwd = self.resolve(named, context.cwd) if isinstance(named, str) else context.cwd", "self.cwd = context.cwd", id="cwd is the model's choice"),
    pytest.param("look", "return self.tool.effects if self.tool.trusted else Effects()", "return self.tool.effects", id="untrusted effects"),
    pytest.param("terms", "quorum=max(", "quorum=min(", id="largest quorum"),
    pytest.param("terms", "expires = min(", "expires = max(", id="shortest expiry"),
    pytest.param("binding", "if approval.used:", "if False:", id="single use"),
    pytest.param("binding", "if approval.digest != digest:", "if False:", id="bound to the bytes"),
    pytest.param("binding", "if now >= approval.expires_at:", "if now > approval.expires_at:", id="expiring"),
    pytest.param("binding", "if own and not approvers.requester_may_approve:", "if False:", id="four eyes"),
    pytest.param("binding", "    if not listed and not (own and approvers.requester):\n        return False", "    if not listed and not approvers.nobody and not (own and approvers.requester):\n        return False", id="unset approvers mean nobody"),
    pytest.param("grants", "and grant.policy == version", "", id="grants die with the policy"),
    pytest.param("grants", "and grant.used < grant.max_uses", "", id="grants are counted"),
    pytest.param("grants", "and grant.revoked_at is None", "", id="grants are revocable"),
    pytest.param("grants", "and set(rules) <= set(grant.rules)", "", id="grants answer their own rule"),
    pytest.param("shell/lexer", '"=" in value', "False", id="assignments are not proved"),
    pytest.param("shell/lexer", "value in RESERVED", "False", id="reserved words are not proved"),
    pytest.param("profile", 'raise _Stop(f"{name} is not among its listed flags")\n        self.seen.add(name)\n        if equals:', "return\n        self.seen.add(name)\n        if equals:", id="unlisted long flags"),
    pytest.param("options", "return max(value, limit) if", "return min(value, limit) if", id="narrow only tightens"),
    pytest.param("scope", "if look.context.now >= contract.expires_at:", "if False:", id="scope ends"),
    pytest.param("files", "if key in found:", "if False:", id="duplicate keys"),
    pytest.param("schema", 'extra="forbid", frozen=True, strict=True)\n\n\nclass Group', 'extra="ignore", frozen=True, strict=True)\n\n\nclass Group', id="unknown keys"),
]  # fmt: skip


def survives(directory: Path) -> bool:
    done = subprocess.run(
        [sys.executable, str(TABLE)], cwd=directory, capture_output=True, text=True, check=False, timeout=60
    )
    assert "Traceback" not in done.stderr or "AssertionError" in done.stderr, done.stderr[-800:]
    return done.returncode == 0


def copy(directory: Path) -> None:
    # Links are enough: only the mutated module is a file of its own.
    for source in (ROOT / "bot").rglob("*.py"):
        target = directory / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source)


def test_the_table_holds_for_the_code_as_it_is(tmp_path: Path) -> None:
    copy(tmp_path)
    assert survives(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("module", "words", "slip"), MUTATIONS)
def test_breaking_one_rule_is_noticed(tmp_path: Path, module: str, words: str, slip: str) -> None:
    copy(tmp_path)
    target = tmp_path / "bot" / "policy" / f"{module}.py"
    source = target.read_text(encoding="utf-8")
    assert source.count(words) == 1, f"{words!r} is {source.count(words)} times in {module}.py"
    target.unlink()
    target.write_text(source.replace(words, slip), encoding="utf-8")
    assert not survives(tmp_path)
