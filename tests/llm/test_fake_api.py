"""The pretend API refuses what the real one refuses; otherwise it would hide our mistakes."""

from typing import Any

import pytest

from tests.fakes.anthropic_api import problem

HI: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
USE: dict[str, Any] = {"type": "tool_use", "id": "c1", "name": "read_file", "input": {}}
RESULT: dict[str, Any] = {"type": "tool_result", "tool_use_id": "c1", "content": "aa"}
MARK: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}


def said(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def told(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def sent(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 1, "messages": list(messages), **more}


@pytest.mark.parametrize(
    "body",
    [
        sent(HI),
        sent({"role": "user", "content": "hi"}, system="Be calm."),
        sent(HI, said(text("x"), USE), told(RESULT, text("and?"))),
        sent(HI, said({"type": "thinking", "thinking": "", "signature": "s"}, text("x")), HI),
    ],
)
def test_a_proper_request_is_let_in(body: dict[str, Any]) -> None:
    assert problem(body) is None


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (sent(), "at least one message"),
        (sent(said(text("x")), HI), "first message must use the user role"),
        (sent(HI, said(text("x"))), "prefill"),
        (sent(HI, HI), "roles must alternate"),
        (sent(HI, said(USE), HI), "without `tool_result` blocks: ['c1']"),
        (sent(HI, said(USE)), "prefill"),
        (sent(HI, said(text("x")), told(RESULT)), "unexpected `tool_use_id`"),
        (sent(HI, said(USE), told(RESULT, RESULT)), "single result"),
        (sent(HI, said(USE), told(text("x"), RESULT)), "must come first"),
        (sent(HI, said(USE, USE), told(RESULT)), "must be unique"),
        (sent(HI, said(USE), told(RESULT), said(USE), told(RESULT)), "must be unique"),
        (
            sent(HI, said(USE, {**USE, "id": "c2"}), told({**RESULT, "tool_use_id": "c2"}, RESULT)),
            "not in the order",
        ),
        (sent(HI, said({**USE, "name": "mcp:git/log"}), told(RESULT)), "tool_use.name"),
        (sent(HI, said({**USE, "id": "c 1"}), told({**RESULT, "tool_use_id": "c 1"})), "tool_use.id"),
        (sent(HI, said({**USE, "input": []}), told(RESULT)), "valid dictionary"),
        (sent(told(text(" "))), "non-whitespace"),
        (sent(HI, system=[text("")]), "non-whitespace"),
        (sent(told()), "non-empty"),
        (sent(told({"type": "redacted_thinking", "data": ""}, text("x"))), "not allowed for role user"),
        (sent(HI, said({"type": "thinking", "thinking": "", "signature": "s"}), HI), "cannot be `thinking`"),
        (sent(HI, said({"type": "thinking", "thinking": ""}, text("x")), HI), "signature"),
        (sent(told(*[{**text("x"), **MARK}] * 4), system=[{**text("x"), **MARK}]), "Found 5"),
        (sent(HI, tools=[{"name": "a.b", "input_schema": {"type": "object"}}]), "tools.0.custom.name"),
        (sent(HI, tools=[{"name": "a", "input_schema": {}}]), "input_schema.type"),
        (sent(HI, tools=[{"name": "a", "input_schema": {"type": "object"}}] * 2), "unique"),
        (sent(HI, tool_choice={"type": "tool", "name": "a"}), "not found in provided tools"),
        (sent(HI) | {"max_tokens": 0}, "max_tokens"),
        (sent(HI) | {"model": ""}, "model"),
    ],
)
def test_an_improper_request_is_refused(body: dict[str, Any], why: str) -> None:
    found = problem(body)
    assert found is not None
    assert why in found
