"""Whatever a transcript looks like, the API accepts what becomes of it."""

from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st

from bot.domain.decision import Expired
from bot.domain.ids import CallId, InterruptId, UserId
from bot.domain.tool import ResultStatus, ToolCall, ToolResult
from bot.domain.transcript import (
    CallBlock,
    DraftEdited,
    HumanDecision,
    Item,
    ModelTurn,
    OpaqueBlock,
    StopReason,
    TextBlock,
    UserText,
)
from bot.llm.mapping import body, wire_name
from tests.fakes.anthropic_api import problem
from tests.llm.build import AT, request, tool

# Few different ids, so that calls and results meet, repeat and miss each other often.
call_ids = st.sampled_from(["c1", "c2", "c3", "call", "call_1", "a b", ""]).map(CallId)
words = st.one_of(st.sampled_from(["", " ", "\n", "hello", "\ud800"]), st.text(max_size=5))
names = st.one_of(
    st.sampled_from(["read_file", "mcp:git/log", "mcp__git__log", "a.b", "", "x" * 200]), st.text(max_size=5)
)
signed = st.just({"type": "thinking", "thinking": "hm", "signature": "s"})

proposed = st.builds(
    ToolCall,
    id=call_ids,
    tool=names,
    args=st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    malformed=st.one_of(st.none(), words),
)
blocks = st.one_of(
    st.builds(TextBlock, text=words),
    st.builds(CallBlock, call=proposed),
    st.builds(OpaqueBlock, data=signed),
)
items: st.SearchStrategy[Item] = st.one_of(
    st.builds(UserText, author=st.sampled_from(["anna", "bob"]).map(UserId), text=words),
    st.builds(
        ModelTurn,
        blocks=st.lists(blocks, max_size=4).map(tuple),
        stop=st.sampled_from(get_args(StopReason)),
    ),
    st.builds(
        ToolResult,
        call_id=call_ids,
        status=st.sampled_from(get_args(ResultStatus)),
        text=words,
        notice=words,
    ),
    st.just(HumanDecision(interrupt_id=InterruptId("r-1"), outcome=Expired(at=AT, on_timeout="deny"))),
    st.builds(DraftEdited, by=st.just(UserId("U1")), text=words),
)


@given(transcript=st.lists(items, max_size=12), tools=st.lists(names, max_size=4, unique=True), system=words)
def test_every_conversation_becomes_a_request_the_api_accepts(
    transcript: list[Item], tools: list[str], system: str
) -> None:
    assert problem(body(request(*transcript, tools=[tool(name) for name in tools], system=system))) is None


@given(transcript=st.lists(items, max_size=12))
def test_every_call_is_answered_with_its_own_result_or_told_it_did_not_run(transcript: list[Item]) -> None:
    done: list[dict[str, Any]] = body(request(*transcript))["messages"]
    sent = [block for message in done for block in message["content"]]

    used = [block["id"] for block in sent if block["type"] == "tool_use"]
    answered = [block["tool_use_id"] for block in sent if block["type"] == "tool_result"]
    assert answered == used


@given(st.lists(names, unique=True, max_size=6))
def test_different_names_stay_different(some: list[str]) -> None:
    assert len({wire_name(name) for name in some}) == len(some)
