"""The offline model with pretend results: it proposes the right calls and tells the truth about them."""

import json
from collections.abc import Sequence

import pytest

from bot.domain.tool import ResultStatus, ToolDefinition, ToolResult
from bot.domain.transcript import Item, ModelTurn
from bot.engine.ports import Model, TextDelta
from bot.llm.mapping import body
from bot.llm.offline import OfflineModel
from bot.llm.plans import SKILLS, Skill, recognised
from tests.fakes.anthropic_api import problem
from tests.llm.build import events_of, proposal, request, result, streamed, tool, tool_call, turn_of, user

NAMES = (
    "find_files",
    "read_file",
    "write_file",
    "execute",
    "ask_human",
    "delete_files",
    "move_files",
    "http_request",
    "send_message",
)
ALL = tuple(tool(name) for name in NAMES)


def without(*names: str) -> tuple[ToolDefinition, ...]:
    return tuple(each for each in ALL if each.name not in names)


def came(status: ResultStatus, text: str, notice: str = "") -> ToolResult:
    return result("", text, status, notice)


async def play(
    words: str, *rounds: Sequence[ToolResult], tools: Sequence[ToolDefinition] = ALL
) -> tuple[list[Item], ModelTurn]:
    """Let the model work on a request, one round of results after the other; return its last turn."""
    model: Model = OfflineModel()
    items: list[Item] = [user(words)]
    turn = await turn_of(model, request(*items, tools=tools))
    for results in rounds:
        items.append(turn)
        assert len(turn.calls) == len(results)
        items += [
            result(call.id, one.text, one.status, one.notice)
            for call, one in zip(turn.calls, results, strict=True)
        ]
        turn = await turn_of(model, request(*items, tools=tools))
    assert {call.tool for call in turn.calls} <= {each.name for each in tools}
    assert turn.text.startswith("(offline model) ")
    return items, turn


def planned(turn: ModelTurn) -> list[tuple[str, dict[str, object]]]:
    return [(call.tool, call.args) for call in turn.calls]


@pytest.mark.parametrize(
    ("words", "calls"),
    [
        ("list files", [("find_files", {"path": ".", "limit": 20})]),
        ("ls src", [("find_files", {"path": "src", "limit": 20})]),
        ("find *.log", [("find_files", {"path": ".", "pattern": "*.log"})]),
        ("find *.log in build", [("find_files", {"path": "build", "pattern": "*.log"})]),
        ("find files containing 'to do'", [("find_files", {"path": ".", "contains": "to do"})]),
        ("read notes.txt", [("read_file", {"path": "notes.txt"})]),
        ("@askfirst please read notes.txt.", [("read_file", {"path": "notes.txt"})]),
        ("<@U123> Show notes.txt!", [("read_file", {"path": "notes.txt"})]),
        ("write hello to greeting.txt", [("write_file", {"path": "greeting.txt", "content": "hello\n"})]),
        ('save "hi to all" into x', [("write_file", {"path": "x", "content": "hi to all\n"})]),
        ("run uname -a", [("execute", {"command": "uname -a"})]),
        ("run `ls .`", [("execute", {"command": "ls ."})]),
        (
            "run these: uname -a; date",
            [("execute", {"command": "uname -a"}), ("execute", {"command": "date"})],
        ),
        ("compare a.txt and b.txt", [("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"})]),
        (
            "check notes.txt and write seen to log.txt",
            [("read_file", {"path": "notes.txt"}), ("write_file", {"path": "log.txt", "content": "seen\n"})],
        ),
        (
            "check and write seen to log.txt",
            [
                ("find_files", {"path": ".", "limit": 20}),
                ("write_file", {"path": "log.txt", "content": "seen\n"}),
            ],
        ),
        ("restart api", [("execute", {"command": "systemctl restart api"})]),
        ("restart x;reboot", [("execute", {"command": "systemctl restart 'x;reboot'"})]),
        ("delete old logs", [("find_files", {"path": ".", "pattern": "*.log", "older_than_days": 30})]),
        (
            "clean up old test files in /srv/ci older than 2 weeks",
            [("find_files", {"path": "/srv/ci", "pattern": "*test*", "older_than_days": 14})],
        ),
        ("delete build/*.o", [("find_files", {"path": "build", "pattern": "*.o", "older_than_days": 0})]),
        ("delete everything", [("find_files", {"path": ".", "pattern": "*", "older_than_days": 0})]),
        # A guess would have to be wide, and what is wide gets deleted.
        ("delete my drafts", []),
        ("delete build/", []),
        ("move *.bak to archive", [("move_files", {"path": ".", "pattern": "*.bak", "to": "archive"})]),
        ("send a message to #ops saying hi", [("send_message", {"to": ["#ops"], "text": "hi"})]),
        ("fetch http://localhost/x?y", [("http_request", {"method": "GET", "url": "http://localhost/x?y"})]),
        ("make me a sandwich", []),
        ("", []),
    ],
)
async def test_a_request_becomes_calls(words: str, calls: list[tuple[str, dict[str, object]]]) -> None:
    _, turn = await play(words)

    assert planned(turn) == calls
    assert turn.stop == ("tools" if calls else "end")


async def test_words_are_streamed_one_by_one() -> None:
    events = await events_of(OfflineModel(), request(user("read notes.txt"), tools=ALL))

    assert events[:3] == [TextDelta(text="(offline "), TextDelta(text="model) "), TextDelta(text="I ")]
    assert streamed(events) == "(offline model) I read the file."


@pytest.mark.parametrize(
    ("came_of_it", "says"),
    [
        (came("ok", "Linux"), "execute uname -a:\nLinux"),
        (came("ok", ""), "execute uname -a: done."),
        (
            came(
                "declined", "Not executed: declined by U2 because: no. Do not retry this call unless asked."
            ),
            (
                "execute uname -a was declined, so I did not do it and will not try again unless you ask."
                " Not executed: declined by U2 because: no."
            ),
        ),
        (
            came("timed_out", "Not executed: nobody answered in time."),
            (
                "Nobody answered in time about this, so it was not done: execute uname -a."
                " Not executed: nobody answered in time."
            ),
        ),
        (
            came("denied", "Not executed: the policy forbids it. Do not retry it, and do not look around."),
            "execute uname -a is not allowed here, so I did not do it. Not executed: the policy forbids it.",
        ),
        (came("error", "exit code 1"), "execute uname -a did not work. exit code 1"),
        (came("cancelled", ""), "execute uname -a was cancelled."),
        (came("unknown", "It died."), "I do not know whether this happened: execute uname -a. It died."),
        (
            came(
                "ok", "Darwin", "Note: U2 changed this call before it ran. Do not repeat the original call."
            ),
            "Note: U2 changed this call before it ran.\nDarwin",
        ),
    ],
    ids=lambda value: value.status if isinstance(value, ToolResult) else "",
)
async def test_it_says_truthfully_what_came_of_a_call_and_does_not_retry(
    came_of_it: ToolResult, says: str
) -> None:
    _, turn = await play("run uname -a", [came_of_it])

    assert turn.text == f"(offline model) {says}"
    assert (turn.calls, turn.stop) == ((), "end")


async def test_each_of_several_calls_is_reported_by_itself() -> None:
    _, turn = await play("run these: a; b", [came("ok", "A"), came("declined", "Not executed.")])

    assert "execute a:\nA" in turn.text
    assert "execute b was declined" in turn.text


async def test_a_call_that_never_got_a_result_is_not_reported_as_done() -> None:
    first = proposal(tool_call("c1", "execute", {"command": "a"}))
    turn = await turn_of(OfflineModel(), request(user("run a"), first, tools=ALL))

    assert turn.text == (
        "(offline model) execute a was cancelled. not executed: the run was stopped before this call ran"
    )


async def test_comparing_tells_the_difference() -> None:
    _, same = await play("compare a and b", [came("ok", "x\n"), came("ok", "x\n")])
    _, differ = await play("compare a and b", [came("ok", "x\ny\n"), came("ok", "x\nz\n")])
    _, failed = await play("compare a and b", [came("ok", "x"), came("error", "no such file")])

    assert same.text == "(offline model) a and b have the same content."
    assert "-y\n+z" in differ.text
    assert failed.text == "(offline model) read_file b did not work. no such file"


# ── Deleting: look first, then let people choose ─────────────────────────────────────────────────────────

FOUND = came("ok", "3 files, 1 kB, in /srv\n  a.log\n  b.log\n  c.log")


async def test_deleting_looks_first_and_proposes_what_it_looked_for() -> None:
    _, turn = await play("delete old logs", [FOUND])
    assert planned(turn) == [
        ("delete_files", {"path": ".", "pattern": "*.log", "older_than_days": 30}),
    ]

    _, end = await play(
        "delete old logs", [FOUND], [came("ok", "2 files deleted", "Note: U2 chose “Only 2”.")]
    )
    assert end.text == "(offline model) Note: U2 chose “Only 2”.\n2 files deleted"


@pytest.mark.parametrize("nothing", ["0 files, 0 B, in /srv", "No files match."])
async def test_nothing_found_means_nothing_to_ask(nothing: str) -> None:
    _, turn = await play("delete old logs", [came("ok", nothing)])

    assert turn.text == (
        "(offline model) There is nothing to delete: no file matches *.log in . older than 30 days."
    )


@pytest.mark.parametrize(
    ("choice", "command"),
    [
        ("All of them", "find . -type f -name '*.log' -mtime +30 -print -delete"),
        ("Only those older than a year", "find . -type f -name '*.log' -mtime +365 -print -delete"),
    ],
)
async def test_without_a_tool_for_it_people_choose_and_a_command_is_proposed(
    choice: str, command: str
) -> None:
    tools = without("delete_files")
    _, asking = await play("delete old logs", [FOUND], tools=tools)
    assert planned(asking) == [
        (
            "ask_human",
            {
                "question": "Which may go: *.log in . older than 30 days?",
                "options": ["All of them", "Only those older than a year", "None of them"],
            },
        )
    ]

    _, turn = await play("delete old logs", [FOUND], [came("ok", choice)], tools=tools)
    assert planned(turn) == [("execute", {"command": command})]


@pytest.mark.parametrize(
    "reply", [came("ok", "None of them"), came("ok", "hm"), came("timed_out", "Nobody.")]
)
async def test_without_a_clear_yes_nothing_is_deleted(reply: ToolResult) -> None:
    _, turn = await play("delete old logs", [FOUND], [reply], tools=without("delete_files"))

    assert turn.calls == ()


async def test_without_any_way_to_delete_it_says_so() -> None:
    _, turn = await play("delete old logs", [FOUND], tools=without("delete_files", "execute"))

    assert turn.text.endswith("I have no tool to delete them.")


# ── Questions ────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_question_offers_answers_and_repeats_the_one_given() -> None:
    _, asking = await play("ask me something")
    assert asking.calls[0].tool == "ask_human"
    assert asking.calls[0].args["options"] == ["Now", "Tonight at 22:00", "Not this week"]

    _, turn = await play("ask me something", [came("ok", "Now")])
    assert turn.text == "(offline model) Noted: Now."
    _, silent = await play("ask me something", [came("timed_out", "No answer.")])
    assert silent.text.startswith("(offline model) Nobody answered in time about this")


async def test_a_form_is_asked_for_and_read() -> None:
    _, asking = await play("ask me for details")
    assert sorted(asking.calls[0].args["schema"]["properties"]) == [
        "announce",
        "environment",
        "minutes",
        "service",
    ]

    _, turn = await play("ask me for details", [came("ok", json.dumps({"service": "api", "minutes": 5}))])
    assert turn.text == "(offline model) This is what I understood:\nservice: api\nminutes: 5"
    _, plain = await play("ask me for details", [came("ok", "whenever")])
    assert plain.text == "(offline model) This is what I understood:\nwhenever"


# ── Knowing its limits ───────────────────────────────────────────────────────────────────────────────────


async def test_an_unknown_request_is_answered_with_what_can_be_asked() -> None:
    _, turn = await play("make me a sandwich", tools=[tool("read_file"), tool("execute")])

    assert turn.text == (
        "(offline model) I am not a real model and understand only a few requests. Try one of these:\n"
        "• compare a.txt and b.txt\n"
        "• read notes.txt\n"
        "• run these: uname -a; date\n"
        "• run uname -a\n"
        "• restart api"
    )


async def test_without_tools_it_says_so() -> None:
    _, turn = await play("help", tools=[])
    assert "none of the tools" in turn.text
    _, asked = await play("read notes.txt", tools=[])
    assert asked.text == (
        "(offline model) For this I would need a tool that this agent does not have: read_file."
    )


@pytest.mark.parametrize("skill", [each for each in SKILLS if each.example], ids=lambda each: each.example)
def test_every_example_is_understood_by_the_row_that_shows_it(skill: Skill) -> None:
    found = recognised(skill.example)
    assert found is not None
    assert found[0] is skill


@pytest.mark.parametrize("skill", [each for each in SKILLS if each.example], ids=lambda each: each.example)
async def test_every_example_comes_to_an_end_that_shows_its_results(skill: Skill) -> None:
    items: list[Item] = [user(skill.example)]
    turn = await turn_of(OfflineModel(), request(*items, tools=ALL))
    while turn.calls:
        # Different for each call, or two files would be the same.
        items += [turn, *(result(call.id, f"came of {call.id}") for call in turn.calls)]
        turn = await turn_of(OfflineModel(), request(*items, tools=ALL))

    assert "came of offline-" in turn.text


async def test_only_the_newest_request_counts() -> None:
    items, turn = await play("run uname -a", [came("declined", "Not executed.")])
    again = await turn_of(OfflineModel(), request(*items, turn, user("list files"), tools=ALL))

    assert planned(again) == [("find_files", {"path": ".", "limit": 20})]


async def test_calls_of_another_model_are_not_mistaken_for_its_own() -> None:
    foreign = proposal(tool_call("c1", "execute"), tool_call("c2", "execute"))
    turn = await turn_of(
        OfflineModel(), request(user("read a"), foreign, result("c1"), result("c2"), tools=ALL)
    )

    assert turn.text == "(offline model) This request was begun by another model. Please ask again."


async def test_a_wish_for_changes_is_answered_honestly() -> None:
    _, turn = await play("U2 reviewed this and wants it changed because: too long.")
    assert "(too long.), but the offline model cannot write anything new" in turn.text


async def test_the_same_conversation_gets_the_same_turn_and_calls_have_their_own_ids() -> None:
    items, first = await play("delete old logs", [FOUND])
    assert (await play("delete old logs", [FOUND]))[1] == first

    asked = request(*items, first, tools=ALL)
    assert problem(body(asked)) is None
    ids = [call.id for item in (*items, first) if isinstance(item, ModelTurn) for call in item.calls]
    assert ids == ["offline-1-0", "offline-3-0"]


async def test_long_output_is_shortened_and_says_so() -> None:
    _, turn = await play("read big.txt", [came("ok", "\n".join(str(n) for n in range(100)))])

    assert turn.text.endswith("\n24\n… and 75 more lines")
