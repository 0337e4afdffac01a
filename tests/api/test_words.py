"""What plain answers mean, as a table; and server-sent events, read back."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.api import sse
from bot.api.words import read_answer
from bot.domain.decision import Answer, Approve, Choose, Reject, Respond
from bot.domain.errors import InvalidAnswer
from bot.domain.ids import InterruptId, RunId, ThreadId
from bot.domain.interrupt import Interrupt, Option
from bot.domain.verdict import Verb
from bot.engine.questions import RECOVERY, REQUESTER
from tests.engine.lab import DEV, NOON


def question(
    *verbs: Verb, options: tuple[Option, ...] = (), schema: dict[str, object] | None = None
) -> Interrupt:
    return Interrupt(
        id=InterruptId("r-1"),
        run_id=RunId("r"),
        thread_id=ThreadId("t"),
        kind="approval",
        reason="?",
        requester=DEV.id,
        approvers=REQUESTER,
        opened_at=NOON,
        expires_at=NOON + timedelta(hours=1),
        verbs=verbs,
        options=options,
        response_schema=schema,
    )


OLD = Option(id="o1", label="Only old ones")
APPROVAL = question("approve", "edit", "reject", "cancel", "choose", options=(OLD,))
INPUT = question("respond", "reject", "cancel")
FORM = question("respond", "reject", "cancel", schema={"type": "object"})
CHOICE = question("choose", "cancel", options=RECOVERY)


@pytest.mark.parametrize(
    ("asked", "said", "means"),
    [
        pytest.param(APPROVAL, "yes", Approve(), id="yes approves"),
        pytest.param(APPROVAL, " APPROVE. ", Approve(), id="however it is written"),
        pytest.param(APPROVAL, "true", Approve(), id="also as JSON says it"),
        pytest.param(APPROVAL, "no", Reject(), id="no rejects"),
        pytest.param(APPROVAL, "No: wrong host", Reject(reason="wrong host"), id="with its reason"),
        pytest.param(APPROVAL, "o1", Choose(option="o1"), id="an option by its id"),
        pytest.param(APPROVAL, "only old ones", Choose(option="o1"), id="or by its label"),
        pytest.param(INPUT, "yes", Respond(data="yes"), id="a question gets the words themselves"),
        pytest.param(FORM, '{"a": 1}', Respond(data={"a": 1}), id="a form gets JSON"),
        pytest.param(FORM, "plain", Respond(data="plain"), id="or text, which its schema judges"),
        pytest.param(CHOICE, "again", Choose(option="again"), id="a choice"),
    ],
)
def test_a_plain_answer_means(asked: Interrupt, said: str, means: Answer) -> None:
    assert read_answer(asked, said) == means


@pytest.mark.parametrize(
    "said", ["", "ok", "yes please", "yes, but only old", "nobody", "y", "1", "o2", "не"]
)
def test_what_is_unclear_is_neither_yes_nor_no(said: str) -> None:
    with pytest.raises(InvalidAnswer):
        read_answer(APPROVAL, said)


def test_a_choice_wants_one_of_its_options() -> None:
    with pytest.raises(InvalidAnswer, match="happened, again, stop"):
        read_answer(CHOICE, "yes")


@given(st.text())
def test_only_explicit_words_ever_approve(said: str) -> None:
    try:
        answer = read_answer(APPROVAL, said)
    except InvalidAnswer:
        return
    if isinstance(answer, Approve):
        assert said.strip().rstrip(".!").lower() in {"yes", "approve", "approved", "true"}


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.sampled_from(["text", "done"]))
def test_an_event_is_read_back_as_it_was_written(data: str, name: str) -> None:
    lines = sse.encode(data, event=name, id="r.1").split("\n")
    assert lines[-2:] == ["", ""]
    read = "\n".join(line.removeprefix("data: ") for line in lines if line.startswith("data: "))
    assert read == data.replace("\r\n", "\n").replace("\r", "\n")
    assert lines[:2] == [f"event: {name}", "id: r.1"]


def test_what_utf8_cannot_say_is_escaped() -> None:
    event = sse.json_event({"type": "text", "text": "a\ud800b\u2028"})
    event.encode("utf-8")
    assert "\\ud800" in event
