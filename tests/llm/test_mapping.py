import sys
from types import FrameType
from typing import Any

import pytest

from bot.domain.decision import Expired
from bot.domain.ids import CallId, InterruptId, UserId
from bot.domain.tool import ResultStatus, ToolCall
from bot.domain.transcript import (
    CallBlock,
    DraftEdited,
    HumanDecision,
    Item,
    ModelTurn,
    OpaqueBlock,
    TextBlock,
)
from bot.llm.mapping import body, messages, own_names, wire_name
from tests.fakes.anthropic_api import problem
from tests.llm.build import AT, answer, entries, proposal, request, result, tool, tool_call, user


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(call_id: str, name: str = "read_file", **args: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": args}


def came_of(call_id: str, words: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": words}


def mapped(*items: Item) -> list[dict[str, Any]]:
    """Map, and check on the way that the API would accept it."""
    done = messages(entries(*items))
    assert problem({"model": "m", "max_tokens": 1, "messages": done}) is None
    return done


def test_results_of_a_turn_go_into_one_message_in_the_order_of_the_calls() -> None:
    assert mapped(
        user("compare"),
        proposal(tool_call("c1", args={"path": "a"}), tool_call("c2", args={"path": "b"}), text="Reading."),
        result("c2", "bb"),
        result("c1", "aa"),
    ) == [
        {"role": "user", "content": [text("compare")]},
        {"role": "assistant", "content": [text("Reading."), use("c1", path="a"), use("c2", path="b")]},
        {"role": "user", "content": [came_of("c1", "aa"), came_of("c2", "bb")]},
    ]


def test_what_people_wrote_meanwhile_comes_after_the_results() -> None:
    assert mapped(user("read"), proposal(tool_call("c1")), user("hurry"), result("c1", "aa"), user("please"))[
        -1
    ] == {"role": "user", "content": [came_of("c1", "aa"), text("hurry"), text("please")]}


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    assert mapped(user("go"), proposal(tool_call("c1"), tool_call("c2")), result("c2", "bb"))[-1] == {
        "role": "user",
        "content": [
            came_of("c1", "not executed: the run was stopped before this call ran"),
            came_of("c2", "bb"),
        ],
    }


def test_a_call_left_open_before_the_next_answer_is_closed_before_it() -> None:
    assert mapped(user("go"), proposal(tool_call("c1")), answer("Never mind."), user("ok")) == [
        {"role": "user", "content": [text("go")]},
        {"role": "assistant", "content": [use("c1")]},
        {
            "role": "user",
            "content": [came_of("c1", "not executed: the run was stopped before this call ran")],
        },
        {"role": "assistant", "content": [text("Never mind.")]},
        {"role": "user", "content": [text("ok")]},
    ]


@pytest.mark.parametrize(
    "items",
    [
        pytest.param((user("hi"), result("c9", "stray")), id="a result nobody asked for"),
        pytest.param(
            (
                user("hi"),
                HumanDecision(interrupt_id=InterruptId("r-1"), outcome=Expired(at=AT, on_timeout="deny")),
            ),
            id="a decision",
        ),
        pytest.param((user("hi"), ModelTurn(blocks=())), id="an empty turn"),
        pytest.param((user("hi"), answer("  \n")), id="a blank turn"),
        pytest.param(
            (user("hi"), ModelTurn(blocks=(OpaqueBlock(data={"type": "thinking"}),))), id="only thinking"
        ),
        pytest.param(
            (user("hi"), ModelTurn(blocks=(TextBlock(text="I ca"),), stop="refusal")), id="a refused turn"
        ),
        pytest.param((user("hi"), DraftEdited(by=UserId("U1"), text="words")), id="an edit of nothing"),
        pytest.param((user("  "), user("hi"), user("")), id="blank words"),
    ],
)
def test_what_the_model_need_not_see_is_left_out(items: tuple[Item, ...]) -> None:
    assert mapped(*items) == [{"role": "user", "content": [text("hi")]}]


def test_a_late_result_of_an_older_turn_does_not_answer_a_newer_one() -> None:
    done = mapped(
        user("a"), proposal(tool_call("c1")), result("c1", "one"), answer("x"), result("c1", "two"), user("b")
    )

    assert done[2] == {"role": "user", "content": [came_of("c1", "one")]}
    assert done[4] == {"role": "user", "content": [text("b")]}


def test_a_repeated_call_does_not_get_the_result_of_the_first() -> None:
    done = mapped(user("a"), proposal(tool_call("c1")), result("c1", "one"), proposal(tool_call("c1")))

    assert done[2]["content"] == [came_of("c1", "one")]
    assert done[4]["content"] == [came_of("call_1", "not executed: the run was stopped before this call ran")]


def test_several_words_in_a_row_become_one_message() -> None:
    assert mapped(user("one"), user("two")) == [{"role": "user", "content": [text("one"), text("two")]}]


def test_two_answers_in_a_row_become_one_message() -> None:
    assert mapped(user("a"), answer("one"), answer("two"), user("b"))[1] == {
        "role": "assistant",
        "content": [text("one"), text("two")],
    }


def test_the_conversation_begins_and_ends_with_the_user() -> None:
    assert mapped() == [{"role": "user", "content": [text("(no request)")]}]
    assert mapped(answer("Hello.")) == [
        {"role": "user", "content": [text("(no request)")]},
        {"role": "assistant", "content": [text("Hello.")]},
        {"role": "user", "content": [text("(please go on)")]},
    ]


def test_words_are_sent_plain_unless_several_people_speak() -> None:
    assert mapped(user("hi", "anna"), answer("Yes?"), user("go", "anna"))[2]["content"] == [text("go")]
    assert mapped(user("hi", "anna"), answer("Yes?"), user("stop", "bob")) == [
        {"role": "user", "content": [text("anna: hi")]},
        {"role": "assistant", "content": [text("Yes?")]},
        {"role": "user", "content": [text("bob: stop")]},
    ]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("ok", {"content": "the text"}),
        ("error", {"content": "the text", "is_error": True}),
        # Sent as errors, these would be tried again and again.
        ("denied", {"content": "[denied by the policy]\nthe text"}),
        ("declined", {"content": "[declined by a person]\nthe text"}),
        ("timed_out", {"content": "[timed out: nobody answered]\nthe text"}),
        ("cancelled", {"content": "[cancelled]\nthe text"}),
        ("unknown", {"content": "[outcome unknown]\nthe text"}),
    ],
)
def test_only_a_failure_is_sent_as_an_error(status: ResultStatus, expected: dict[str, Any]) -> None:
    done = mapped(user("go"), proposal(tool_call("c1")), result("c1", "the text", status))

    assert done[-1]["content"] == [{"type": "tool_result", "tool_use_id": "c1", **expected}]


def test_a_notice_comes_before_the_text() -> None:
    done = mapped(
        user("go"), proposal(tool_call("c1")), result("c1", "312 deleted", notice="A person changed it.")
    )
    assert done[-1]["content"] == [came_of("c1", "A person changed it.\n312 deleted")]


def test_a_result_without_words_says_so() -> None:
    done = mapped(user("go"), proposal(tool_call("c1")), result("c1", ""))
    assert done[-1]["content"] == [came_of("c1", "(no output)")]


def test_a_malformed_call_goes_back_empty_with_its_error() -> None:
    broken = ToolCall(id=CallId("c1"), tool="read_file", args={"left": "over"}, malformed='{"path": ')

    assert mapped(user("go"), proposal(broken), result("c1", "not JSON", "error"))[1:] == [
        {"role": "assistant", "content": [use("c1")]},
        {"role": "user", "content": [{**came_of("c1", "not JSON"), "is_error": True}]},
    ]


def test_the_model_sees_its_answer_as_a_person_changed_it() -> None:
    done = mapped(
        user("write"),
        answer("Dear all, rubbish."),
        HumanDecision(interrupt_id=InterruptId("r-1"), outcome=Expired(at=AT, on_timeout="deny")),
        DraftEdited(by=UserId("U2"), text="Dear all."),
        user("thanks"),
    )

    assert done[1] == {"role": "assistant", "content": [text("Dear all.")]}


def test_what_only_the_vendor_understands_goes_back_unchanged_in_its_place() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s1gn"}
    turn = ModelTurn(
        blocks=(OpaqueBlock(data=thinking), TextBlock(text="Looking."), CallBlock(call=tool_call("c1")))
    )

    done = mapped(
        user("go"), turn, result("c1", "aa"), answer("Done."), DraftEdited(by=UserId("U1"), text="!")
    )

    assert done[1]["content"] == [thinking, text("Looking."), use("c1")]
    assert done[3]["content"] == [text("!")]


def test_call_ids_the_api_would_refuse_are_replaced_on_both_sides() -> None:
    assert mapped(
        user("go"), proposal(tool_call("c1"), tool_call("c1"), tool_call("a b")), result("a b", "third")
    )[1:] == [
        {"role": "assistant", "content": [use("c1"), use("call_1"), use("call")]},
        {
            "role": "user",
            "content": [
                came_of("c1", "not executed: the run was stopped before this call ran"),
                came_of("call_1", "not executed: the run was stopped before this call ran"),
                came_of("call", "third"),
            ],
        },
    ]


def test_half_a_character_does_not_make_the_request_unsendable() -> None:
    done = mapped(user("go \ud800"), proposal(tool_call("c1")), result("c1", "\udcff"))

    assert done[0]["content"] == [text("go ?")]
    assert done[2]["content"] == [came_of("c1", "?")]


# ── The whole request ────────────────────────────────────────────────────────────────────────────────────

HERE = {"type": "ephemeral"}


def test_a_first_request_whole() -> None:
    asked = request(user("hi"), tools=[tool("mcp:git/log", path={"type": "string"})], system="Be calm.")

    assert body(asked) == {
        "model": "claude-test",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Be calm.", "cache_control": HERE}],
        "tools": [
            {
                "name": "mcp__git__log",
                "description": "The tool mcp:git/log.",
                "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
            }
        ],
        "messages": [{"role": "user", "content": [{**text("hi"), "cache_control": HERE}]}],
    }


def test_without_a_system_prompt_the_tools_end_the_cached_prefix() -> None:
    done = body(request(user("hi"), tools=[tool("a"), tool("b")], system=""))

    assert "system" not in done
    assert ["cache_control" in each for each in done["tools"]] == [False, True]


def marks(done: dict[str, Any]) -> list[tuple[int, int]]:
    return [
        (place, number)
        for place, message in enumerate(done["messages"])
        for number, block in enumerate(message["content"])
        if "cache_control" in block
    ]


def test_each_request_reads_from_the_cache_where_the_one_before_wrote() -> None:
    items: list[Item] = [user("go")]
    written = marks(body(request(*items)))
    assert written == [(0, 0)]
    for turn in range(5):
        calls = [tool_call(f"c{turn}-{number}") for number in range(30)]
        items += [proposal(*calls), *(result(call.id) for call in calls)]
        done = body(request(*items, tools=[tool("read_file")]))
        assert problem(done) is None
        assert marks(done)[0] == written[-1]
        written = marks(done)
    assert written == [(8, 29), (10, 29)]


def test_mapping_leaves_the_transcript_as_it_was() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    turn = ModelTurn(blocks=(OpaqueBlock(data=thinking), CallBlock(call=tool_call("c1", args={"a": 1}))))
    asked = request(user("go"), turn, result("c1"))

    assert body(asked) == body(asked)
    assert thinking == {"type": "thinking", "thinking": "hm", "signature": "s"}


def work(turns: int) -> int:
    """Return how many calls Python makes to map a conversation of four times as many entries."""
    items: list[Item] = []
    for n in range(turns):
        call = proposal(tool_call(f"c{n}"), text="Yes.")
        items += [user(f"do {n}"), call, result(f"c{n}", "x" * 500), answer("Done.")]
    asked = request(*items)
    calls = 0

    def count(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        body(asked)
    finally:
        sys.setprofile(before)
    return calls


def test_the_work_of_mapping_grows_with_the_conversation_not_with_its_square() -> None:
    # Counted, not timed: a busy machine must not fail it. 800 entries were measured to take 0.9 ms.
    assert work(turns=200) / work(turns=20) < 11


# ── Names ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("read_file", "read_file"),
        ("mcp:github/get_issue", "mcp__github__get_issue"),
        ("mcp:my_server/_x", "mcp__my_server___x"),
        # Names that look like ours, or could be split in two ways, are not trusted to be unambiguous.
        ("mcp__github__get_issue", "tool__mcp-github-get-issue__4dcb2169e907b07fbf50a8c6"),
        ("mcp:a_/b", "tool__mcp-a-b__3daec85e216d969f372686d6"),
        ("mcp:a__b/c", "tool__mcp-a-b-c__9747a7611f68851590301f0f"),
        ("files.read", "tool__files-read__601e4eb608f9175e1b03c438"),
        ("löschen", "tool__l-schen__2f6be48d8af2e0026140623d"),
        ("", "tool____e3b0c44298fc1c149afbf4c8"),
    ],
)
def test_names_the_api_would_refuse_are_spelled_differently(name: str, wire: str) -> None:
    assert wire_name(name) == wire
    assert own_names([tool(name)]) == {wire: name}
