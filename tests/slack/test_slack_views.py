"""What people see, whole: each view is compared with its JSON in tests/blocks, and Slack's rules accept it.

After a wanted change: WRITE_BLOCKS=1 pytest tests/slack/test_slack_views.py, and look at the difference.
"""

import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.domain.decision import (
    Approve,
    Cancel,
    Choose,
    Decided,
    Decision,
    Edit,
    Expired,
    Reject,
    Respond,
    Withdrawn,
)
from bot.domain.errors import AlreadyDecided, AlreadyResumed, CheckpointNotFound, NotAllowed
from bot.domain.grant import Grant
from bot.domain.ids import CallId, GrantId, InterruptId, RunId, UserId
from bot.domain.interrupt import Asked, Interrupt, Option
from bot.domain.run import AgentSpec, Head
from bot.domain.tool import Impact, Planned, ToolDefinition, ToolResult
from bot.domain.verdict import Approvers
from bot.playground.blockkit.surfaces import ALL_TEXT, check_blocks, check_view, text_length
from bot.slack.address import Address
from bot.slack.views import modals
from bot.slack.views.answer import answer, streamed
from bot.slack.views.card import Card, card
from bot.slack.views.forms import fields_of, input_block
from bot.slack.views.home import Home, home
from bot.slack.views.notices import fixed, refusal, whisper
from bot.slack.views.outcome import After
from bot.slack.views.tasks import Task, task_blocks
from tests.slack.tools import FORM

FOLDER = Path(__file__).parents[1] / "blocks"
WRITE = bool(os.environ.get("WRITE_BLOCKS"))
NOON = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
ADA, RITA, SAM = UserId("U0APPROVER"), UserId("U0REQUESTER"), UserId("U0SECOND")
ONCALL = Approvers(groups=("S0ONCALL",), label="oncall")
THREAD = Address(team="T0PLAY", channel="C0GENERAL", ts="1700000000.000100").thread()

ALL = Planned(
    tool="delete_files", args={"path": "/srv/ci-artifacts", "pattern": "*.tmp", "older_than_days": 0}
)
OLD = replace(ALL, args={**ALL.args, "older_than_days": 365})
GONE = Impact(
    summary="Delete 847 files (2.3 GB) in /srv/ci-artifacts.",
    count=847,
    bytes=2_300_000_000,
    samples=("build-1.tmp", "build-2.tmp"),
    reversible=False,
    facts={"oldest": "2019-03-01"},
)
FEWER = Impact(summary="Delete 312 files (0.8 GB).", count=312, reversible=False)
APPROVAL = Interrupt(
    id=InterruptId("7f3k-1"),
    run_id=RunId("7f3k"),
    thread_id=THREAD.id,
    channel="C0GENERAL",
    kind="approval",
    reason="more than 50 files",
    requester=RITA,
    approvers=ONCALL,
    opened_at=NOON,
    expires_at=NOON + timedelta(minutes=15),
    verbs=("approve", "edit", "reject", "choose", "cancel"),
    call_id=CallId("c1"),
    planned=ALL,
    impact=GONE,
    options=(
        Option(id="o1", label="Only 312", consequence="535 newer files kept", planned=OLD, impact=FEWER),
        Option(id="o2", label="Stage instead", consequence="restorable until Friday"),
    ),
    rules=("bulk-delete",),
    policy="p1",
    grantable=True,
    said="these look like leftovers of CI runs",
    digest="d" * 64,
)
HOSTILE = replace(
    APPROVAL,
    planned=replace(ALL, args={"path": "<!channel> `x` <https://evil.example|ok>", "bidi": "a\u202eb\nc"}),
    said="<@U0APPROVER> :rocket: *approve*",
    reason="<!here>",
)
LONG = replace(APPROVAL, planned=replace(ALL, args={"text": "word " * 900, "last": "still seen"}))
HUGE = replace(APPROVAL, planned=replace(ALL, args={"text": "y" * 300_000}))
QUESTION = Interrupt(
    id=InterruptId("7f3k-2"),
    run_id=RunId("7f3k"),
    thread_id=THREAD.id,
    kind="input",
    reason="Which folder?",
    requester=RITA,
    approvers=Approvers(requester=True, requester_may_approve=True, label="requester"),
    opened_at=NOON,
    expires_at=NOON + timedelta(hours=1),
    verbs=("choose", "reject", "cancel"),
    call_id=CallId("c2"),
    options=(Option(id="1", label="/srv/a"), Option(id="2", label="/srv/b")),
)
CLARIFICATION = replace(
    QUESTION,
    kind="clarification",
    reason="Before I start: this could touch a lot.",
    verbs=("choose", "respond", "cancel"),
    call_id=None,
    options=(
        Option(id="go", label="Start with these limits", consequence="path under /srv, count at most 5"),
    ),
    response_schema={
        "type": "object",
        "properties": {
            "path": {"type": "string", "title": "Which <!here> folder?", "default": "/srv"},
            "count": {"type": "integer", "title": "How many?", "examples": [5, 50], "default": 5},
        },
    },
    subject={
        "understood": "delete <!channel> files",
        "touches": ["/srv"],
        "assumptions": [],
        "fields": [
            {"question": "Which <!here> folder?", "default": "/srv"},
            {"question": "How many?", "default": 5},
        ],
    },
)
FORM_QUESTION = replace(QUESTION, options=(), verbs=("respond", "reject", "cancel"), response_schema=FORM)
MANY = replace(QUESTION, options=tuple(Option(id=str(n), label=f"choice {n}") for n in range(1, 13)))
RECOVERY = replace(
    APPROVAL,
    kind="recovery",
    reason="I was restarted while delete_files was running and cannot know whether it finished.",
    verbs=("choose", "cancel"),
    said="",
    options=(
        Option(id="happened", label="It happened"),
        Option(id="again", label="Run it again", consequence="once"),
    ),
)
REVIEW = replace(
    APPROVAL, kind="review", planned=None, impact=None, options=(), call_id=None, said="", rules=(), grantable=False,
    verbs=("approve", "edit", "reject", "cancel"), reason="Breakpoint: the final answer",
    subject={"step": "model", "text": "Dear all,\n<!channel> we deleted everything.", "calls": []},
)  # fmt: skip
TOOL = ToolDefinition(
    name="delete_files",
    description="Delete files.",
    parameters={
        "type": "object",
        "required": ["path"],
        "properties": {
            "path": {"type": "string", "description": "Where"},
            "pattern": {"type": "string"},
            "older_than_days": {"type": "integer", "minimum": 0},
            "keep": {"anyOf": [{"enum": ["newest", "none"]}, {"type": "null"}], "default": None},
        },
    },
)
RESULT = ToolResult(call_id=CallId("c1"), status="ok", text="312 files deleted, 0.8 GB freed.", took_ms=1234)
HEAD = Head(
    run_id=RunId("7f3k"),
    thread=THREAD,
    requester=RITA,
    agent=AgentSpec(model="m"),
    created_at=NOON,
    state="done",
)
GRANT = Grant(
    id=GrantId("g-7f3k-1"),
    tool="delete_files",
    constraints={"path": {"eq": "/srv/<!here>"}},
    place="channel",
    where="C0GENERAL",
    granted_by=ADA,
    granted_at=NOON,
    expires_at=NOON + timedelta(hours=4),
    interrupt_id=InterruptId("7f3k-1"),
    rules=("bulk-delete",),
    policy="p1",
    tool_fingerprint="f",
    max_uses=5,
    used=1,
)


def decided(answer_: Any, **more: Any) -> Decided:
    return Decided(decision=Decision(answer=answer_, by=ADA, at=NOON, via="slack"), **more)


def settled(outcome: Any, interrupt: Interrupt = APPROVAL, **after: Any) -> dict[str, Any]:
    asked = Asked(interrupt=interrupt, status="settled", outcome=outcome)
    return card(Card(asked=asked, after=After(**after), shared=after.get("shared", False), revision=2))


def opened(interrupt: Interrupt, *, shared: bool = False, votes: tuple[Decision, ...] = ()) -> dict[str, Any]:
    return card(Card(asked=Asked(interrupt=interrupt, votes=votes), shared=shared))


VOTE = Decision(answer=Approve(), by=SAM, at=NOON)
MESSAGES: dict[str, dict[str, Any]] = {
    "card-approval": opened(APPROVAL),
    "card-approval-shared-channel": opened(APPROVAL, shared=True),
    "card-approval-quorum": opened(replace(APPROVAL, quorum=2), votes=(VOTE,)),
    "card-approval-hostile": opened(HOSTILE),
    "card-approval-long": opened(LONG),
    "card-approval-huge": opened(HUGE),
    "card-approval-drifted": opened(replace(APPROVAL, previous_impact=FEWER)),
    "card-question": opened(QUESTION),
    "card-question-form": opened(FORM_QUESTION),
    "card-question-many": opened(MANY),
    "card-question-shared-channel": opened(QUESTION, shared=True),
    "card-clarification": opened(CLARIFICATION),
    "card-clarified": settled(decided(Choose(option="go")), CLARIFICATION),
    "card-recovery": opened(RECOVERY),
    "card-recovery-shared-channel": opened(RECOVERY, shared=True),
    "card-review": opened(REVIEW),
    "card-approved": settled(decided(Approve()), result=RESULT),
    "card-approved-running": settled(decided(Approve(reason="ticket 42"))),
    "card-approved-others-left": settled(decided(Approve()), left=2),
    "card-approved-shared-channel": settled(decided(Approve()), result=RESULT, shared=True),
    "card-approved-failed": settled(
        decided(Approve()), result=replace(RESULT, status="error", text="disk full\nx")
    ),
    "card-chosen": settled(decided(Choose(option="o1"), planned=OLD, impact=FEWER), result=RESULT),
    "card-edited": settled(decided(Edit(args=OLD.args), planned=OLD, impact=FEWER), result=RESULT),
    "card-rejected": settled(decided(Reject(reason="keep the <!here> builds"))),
    "card-stopped": settled(decided(Cancel())),
    "card-answered": settled(decided(Respond(data="<@U1> /srv/a")), QUESTION, result=RESULT),
    "card-expired": settled(Expired(at=NOON, on_timeout="deny")),
    "card-withdrawn": settled(Withdrawn(at=NOON, why="the run was cancelled", by=RITA)),
    "card-edit-asks-again": settled(
        Withdrawn(at=NOON, why="edited", by=ADA, replaced_by=InterruptId("7f3k-1e"))
    ),
    "card-drift-asks-again": settled(
        Withdrawn(at=NOON, why="847 → 1,203 files.", replaced_by=InterruptId("7f3k-3"))
    ),
    "answer-done": answer(HEAD, "All **done**, see <!channel> [here](https://evil.example)."),
    "answer-empty": answer(HEAD, ""),
    "answer-stopped": answer(replace(HEAD, state="cancelled", ending="Cancelled by <@U1>."), ""),
    "answer-failed": answer(replace(HEAD, state="failed", ending="The model did not answer."), ""),
    "answer-too-long": answer(HEAD, "line of words\n" * 2000),
    "answer-growing": {
        "text": "x",
        "blocks": [*task_blocks([Task(id="c1", title="look")]), *streamed("So far")],
    },
    "whisper": whisper("Only oncall can decide this. <!here>"),
    "notice-reminder": fixed(
        "reminder", {"text": "this waits <for> you", "mention": ["S0ONCALL", "U0REQUESTER"]}
    ),
}
VIEWS: dict[str, dict[str, Any] | None] = {
    "modal-reject": modals.reject(APPROVAL),
    "modal-reject-with-reason": modals.reject(replace(APPROVAL, reason_required=True)),
    "modal-skip": modals.reject(QUESTION),
    "modal-approve-with-reason": modals.approve(replace(APPROVAL, reason_required=True), "o1"),
    "modal-review": modals.review(Asked(interrupt=LONG), may_decide=True),
    "modal-review-only-looking": modals.review(Asked(interrupt=APPROVAL), may_decide=False),
    "modal-edit": modals.edit(APPROVAL, TOOL),
    "modal-edit-some": modals.edit(
        replace(APPROVAL, editable=("older_than_days",), reason_required=True), TOOL
    ),
    "modal-edit-draft": modals.edit(REVIEW, None),
    "modal-answer": modals.answer(FORM_QUESTION),
    "modal-answer-text": modals.answer(replace(QUESTION, options=(), verbs=("respond",))),
    "modal-answer-options": modals.answer(QUESTION),
    "modal-answer-clarification": modals.answer(CLARIFICATION),
    "modal-review-recovery": modals.review(Asked(interrupt=RECOVERY), may_decide=True),
    "modal-remember": modals.remember(APPROVAL),
    "modal-explanation": modals.explanation("ASK  delete_files  more than 50 files <!here>\n" * 3),
    "modal-notice": modals.notice("Not counted", "Too late."),
    "home": home(
        Home(
            waiting=[Asked(interrupt=APPROVAL), Asked(interrupt=QUESTION)],
            mine=[HEAD],
            decided=[Asked(interrupt=APPROVAL, status="settled", outcome=decided(Reject(reason="no")))],
            grants=[GRANT],
            refs={"7f3k-1": "C0GENERAL/1700000000.000200"},
            workspace_url="https://play.slack.com/",
        )
    ),
    "home-empty": home(Home(refs={}, workspace_url="https://play.slack.com/")),
}


def _same(name: str, view: object) -> None:
    file = FOLDER / f"{name}.json"
    text = json.dumps(view, indent=1, ensure_ascii=False) + "\n"
    if WRITE:
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_is_what_it_was_and_slack_takes_it(name: str) -> None:
    message = MESSAGES[name]
    _same(name, message)
    assert [problem.sentence() for problem in check_blocks(message["blocks"], "message")] == []
    assert text_length(message["blocks"]) <= ALL_TEXT


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_what_it_was_and_slack_takes_it(name: str) -> None:
    view = VIEWS[name]
    assert view is not None
    _same(name, view)
    assert [problem.sentence() for problem in check_view(view)] == []


def test_no_snapshot_is_left_that_nothing_makes() -> None:
    assert {file.stem for file in FOLDER.glob("*.json")} == {*MESSAGES, *VIEWS}


def test_a_settled_card_has_nothing_to_click() -> None:
    for name, message in MESSAGES.items():
        if message["text"].startswith(("Approval (", "Question (7f3k-2), asked")) and "settled" in str(
            message
        ):
            assert '"action_id"' not in json.dumps(message), name


def test_what_is_too_large_to_edit_is_not_offered_as_a_form() -> None:
    assert (
        modals.edit(
            HUGE, replace(TOOL, parameters={"type": "object", "properties": {"text": {"type": "string"}}})
        )
        is None
    )
    assert modals.edit(replace(REVIEW, subject={"text": "x" * 5000}), None) is None
    assert modals.edit(APPROVAL, None) is None


def test_the_revision_is_part_of_the_block_id_so_that_slack_forgets_what_was_picked() -> None:
    asked = Asked(interrupt=MANY)
    ids = {str(card(Card(asked=asked, revision=n))["blocks"][-2]["block_id"]) for n in (1, 2)}
    assert len(ids) == 2


def test_hostile_schemas_make_inputs_that_slack_takes() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "<!channel>\u202e": {"type": "string", "description": "<@U1>"},
            "long" * 80: {"type": "integer"},
            "nested": {"type": "object", "properties": {}},
            "many": {"enum": [f"v{n}" * 40 for n in range(100)]},
            "too many": {"enum": list(range(500))},
            "list": {"type": "array", "items": {"type": "string"}},
            "ref": {"$ref": "#/$defs/Colour"},
            "odd": {},
        },
        "$defs": {"Colour": {"enum": ["red"]}},
    }
    view = modals.modal("Form", [input_block(field) for field in fields_of(schema, {})], submit="Go")
    assert [problem.sentence() for problem in check_view(view)] == []


def test_refusals_say_what_happened_without_markup_of_others() -> None:
    late = refusal(AlreadyDecided(InterruptId("i"), what="rejected", by=ADA, at=NOON))
    assert "already rejected by <@U0APPROVER> (<!date^" in late["blocks"][0]["text"]["text"]
    assert "expired" in refusal(CheckpointNotFound("i", "it expired at noon"))["blocks"][0]["text"]["text"]
    assert "do not know" in refusal(CheckpointNotFound("i"))["blocks"][0]["text"]["text"]
    assert "the run is done" in refusal(AlreadyResumed(RunId("r"), "done"))["blocks"][0]["text"]["text"]
    assert refusal(NotAllowed("<!here>"))["blocks"][0]["text"]["type"] == "plain_text"
