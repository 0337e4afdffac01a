"""Runs calls with known right answers: the `tests` inside a file, and case files from elsewhere."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bot.domain.canonical import JsonObject
from bot.domain.ids import CallId, ThreadId, UserId
from bot.domain.scope import Clause, ScopeContract
from bot.domain.tool import Impact, ToolCall, ToolDefinition
from bot.domain.verdict import Verdict
from bot.policy.context import Context
from bot.policy.evaluate import decide
from bot.policy.model import Policy, PolicyTest
from bot.policy.paths import LinkTable, text_glob

#: Tests without a time of their own happen here.
_NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


def failures(policy: Policy) -> Iterator[tuple[int, str]]:
    """Yield number and explanation of every test in the file that does not come out as its author expects."""
    for number, test in enumerate(policy.tests):
        verdict = judged(policy, test)
        if verdict.kind != test.expect:
            yield (
                number,
                f"expected {test.expect}, got {verdict.kind} by {', '.join(verdict.rules)}: {verdict.reason}",
            )
        elif test.rule is not None and test.rule not in verdict.rules:
            yield number, f"expected rule {test.rule} to speak, but it was {', '.join(verdict.rules)}"


def judged(policy: Policy, test: PolicyTest) -> Verdict:
    call = ToolCall(id=CallId("test"), tool=test.call, args=test.args)
    return decide(on_test_links(policy), call, situation(policy, test.call, test.context, test.impact))


def on_test_links(policy: Policy) -> Policy:
    """Return `policy` as it judges on the file system its tests describe, if they describe one."""
    return replace(policy, resolver=LinkTable(policy.test_links)) if policy.test_links else policy


def situation(policy: Policy, tool: str, given: JsonObject, impact: JsonObject | None = None) -> Context:
    """Return the context a test describes; what it leaves out is the ordinary."""
    definition = known_tool(policy, tool)
    return Context(
        tool=definition,
        now=_moment(given.get("now")),
        requester=UserId(str(given.get("requester", "U_TEST"))),
        thread=ThreadId(str(given.get("thread", "test"))),
        channel=str(given.get("channel", policy.channels[0] if policy.channels else "")),
        cwd=str(given.get("cwd") or (policy.agent.cwd if policy.agent else "") or "/srv/app"),
        environment=str(given.get("environment", given.get("env", policy.environment)) or ""),
        impact=None if impact is None else _impact(impact),
        scope=_contract(given.get("contract")),
        recent={str(name): int(count) for name, count in given.get("recent", {}).items()},
        pins=_pins(tool, definition, given),
        headless=bool(given.get("headless", False)) or given.get("interactive", True) is False,
    )


def known_tool(policy: Policy, name: str) -> ToolDefinition | None:
    """Return the definition of a tool, also one the file describes by a pattern like `mcp:github/*`."""
    if name in policy.tools:
        return policy.tools[name]
    for pattern, tool in policy.tools.items():
        if text_glob(pattern)(name):
            return ToolDefinition(
                name=name,
                description=tool.description,
                parameters=tool.parameters,
                effects=tool.effects,
                trusted=tool.trusted,
                paths=tool.paths,
                commands=tool.commands,
                urls=tool.urls,
            )
    return None


def _moment(value: Any) -> datetime:
    return _NOW if value is None else datetime.fromisoformat(str(value))


def _impact(given: JsonObject) -> Impact:
    facts = {
        name: str(value)
        for name, value in given.items()
        if name not in {"summary", "count", "bytes", "reversible"}
    }
    return Impact(
        summary=str(given.get("summary", "")),
        count=given.get("count"),
        bytes=given.get("bytes"),
        reversible=given.get("reversible"),
        facts=facts,
    )


def _pins(tool: str, definition: ToolDefinition | None, given: JsonObject) -> dict[str, str]:
    if definition is None:
        return {}
    # A case names made-up hashes; what counts is whether the pinned one is the one in force.
    changed = given.get("tool_hash") != given.get("pinned_hash", given.get("tool_hash"))
    return {tool: "another definition" if changed else definition.fingerprint}


def _contract(given: Any) -> ScopeContract | None:
    if not isinstance(given, dict):
        return None
    contract: JsonObject = given  # pyright: ignore[reportUnknownVariableType]
    tools = contract.get("tools")
    constraints: JsonObject = contract.get("constraints") or {
        key: value for key, value in contract.items() if key not in {"tools", "expires", "by"}
    }
    return ScopeContract(
        clauses=(Clause(tools=tuple(tools or ("*",)), constraints=constraints),),
        tools=None if tools is None else tuple(tools),
        confirmed_by=UserId(str(contract.get("by", "U_TEST"))),
        confirmed_at=datetime.min.replace(tzinfo=UTC),
        expires_at=_moment(contract["expires"])
        if "expires" in contract
        else datetime.max.replace(tzinfo=UTC),
    )
