"""What a policy says but probably does not mean: dead rules, unknown approvers, quorums out of reach."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from bot.domain.verdict import ApprovalTerms, Approvers
from bot.policy.model import STRICTNESS, Policy, Rule
from bot.policy.paths import text_glob
from bot.policy.shell.unwrap import INTERPRETERS, PLACED, TEXTUAL, WRAPPERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`warning`: almost certainly a mistake · `note`: worth knowing."""

    level: Literal["warning", "note"]
    message: str
    source: str = ""


def lint(policy: Policy) -> tuple[Finding, ...]:
    """Return everything worth saying about `policy`, warnings first."""
    found = [
        *_approvers(policy),
        *_shadowed(policy),
        *_helpless_children(policy),
        *_open_commands(policy),
        *_strangers(policy),
        *_unmentioned(policy),
        *_untested(policy),
    ]
    return tuple(sorted(found, key=lambda each: each.level != "warning"))


def _approvers(policy: Policy) -> Iterator[Finding]:
    for layer in policy.layers:
        for rule in layer.rules:
            if rule.ask:
                yield from _terms(rule.ask.terms, f"rule {rule.id}", rule.source)
        if layer.default == "ask" and layer is policy.layers[-1]:
            yield from _terms(layer.default_terms.terms, "approval", policy.files[-1] if policy.files else "")


def _terms(terms: ApprovalTerms, name: str, source: str) -> Iterator[Finding]:
    if terms.approvers.nobody:
        message = f"{name}: nobody may approve, so every such call waits until it expires; set `approval.by`"
        yield Finding(level="warning", message=message, source=source)
        return
    most = _most(terms.approvers)
    if most is not None and terms.quorum > most:
        message = f"{name}: {terms.quorum} people must agree, but at most {most} can"
        yield Finding(level="warning", message=message, source=source)


def _most(approvers: Approvers) -> int | None:
    """Return how many different people can agree at most; None if only Slack knows."""
    if approvers.groups:
        return None
    if approvers.requester:
        return len(approvers.users) + 1
    # The person who asks may be one of them, and then cannot count.
    return len(approvers.users) if approvers.requester_may_approve else max(len(approvers.users) - 1, 1)


def _shadowed(policy: Policy) -> Iterator[Finding]:
    # A file that refuses what the one it extends would ask about does so on purpose.
    for number, layer in enumerate(policy.layers):
        before = [rule for earlier in policy.layers[: number + 1] for rule in earlier.rules if not rule.tests]
        for rule in layer.rules:
            for other in before:
                if STRICTNESS[other.block] > STRICTNESS[rule.block] and _covers_tools(other, rule):
                    message = (
                        f"rule {rule.id} never decides: {other.id} ({other.block}, no conditions) comes first"
                    )
                    yield Finding(level="warning", message=message, source=rule.source)


def _covers_tools(wide: Rule, narrow: Rule) -> bool:
    return all(
        any(text_glob(pattern)(tool) or pattern == tool for pattern in wide.tools) for tool in narrow.tools
    )


def _helpless_children(policy: Policy) -> Iterator[Finding]:
    *parents, own = policy.layers
    for parent in parents:
        if parent.default == "allow":
            continue
        for rule in own.rules:
            if rule.block == "allow":
                message = (
                    f"rule {rule.id} has no effect: a file that extends another can only tighten it, "
                    f"and {parent.name} has the default {parent.default}"
                )
                yield Finding(level="warning", message=message, source=rule.source)


def _open_commands(policy: Policy) -> Iterator[Finding]:
    risky = WRAPPERS | PLACED | TEXTUAL | INTERPRETERS
    for rule in policy.rules:
        if rule.block != "allow":
            continue
        for name in rule.commands:
            if name.split()[0] in risky:
                message = f"rule {rule.id} allows {name!r}, which can run anything"
                yield Finding(level="warning", message=message, source=rule.source)


def _strangers(policy: Policy) -> Iterator[Finding]:
    for rule in policy.rules:
        for pattern in rule.tools:
            known = pattern.startswith("mcp:") or any(
                text_glob(pattern)(tool) or tool == pattern for tool in policy.tools
            )
            if not known:
                message = f"rule {rule.id} is about {pattern!r}, a tool this bot does not have"
                yield Finding(level="note", message=message, source=rule.source)


def _unmentioned(policy: Policy) -> Iterator[Finding]:
    offered = policy.agent.tools if policy.agent and policy.agent.tools is not None else ()
    default = max((layer.default for layer in policy.layers), key=lambda each: STRICTNESS[each])
    for tool in offered:
        if not any(rule.is_for(tool) or tool in rule.tools for rule in policy.rules if rule.tools != ("*",)):
            yield Finding(level="note", message=f"no rule mentions {tool}; the default ({default}) decides")


def _untested(policy: Policy) -> Iterator[Finding]:
    if not policy.tests:
        yield Finding(
            level="note",
            message="there are no tests; a few calls with their expected verdict keep edits safe",
        )
