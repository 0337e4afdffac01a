"""Streams that grow old, answers that are too long, and messages to others."""

import asyncio

import pytest

from bot.domain.ids import CallId, RunId
from bot.domain.tool import Planned, ToolResult
from bot.engine.ports import CallFinished, CallStarted, RunEnded, TextDelta
from bot.llm.scripted import call, say
from bot.playground.workspace import Workspace
from bot.slack.address import Address
from bot.slack.live import ROTATE_SECONDS, Live
from bot.slack.web import open_web
from tests.slack.lab import Lab

pytestmark = pytest.mark.parametrize("transport", ["socket"], indirect=True)


class Hands:
    """A clock in the test's hands."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_a_stream_is_rotated_before_slack_ends_it_and_no_word_is_lost(
    lab: Lab, slack: Workspace
) -> None:
    asked = await slack.requester.mentions_bot("talk for long")
    thread = Address(team="T0PLAYGROUND", channel=asked.channel, ts=asked.ts).thread()
    thread.address["user"] = "U0REQUESTER"
    hands = Hands()
    async with open_web(slack.bot_token, slack.api_url) as web, asyncio.TaskGroup() as tasks:
        live = Live(web, None, thread, RunId("r1"), hands)
        running = tasks.create_task(live.run())
        live.put(CallStarted(call_id=CallId("c1"), planned=Planned(tool="look", args={})))
        live.put(TextDelta(text="".join(f"early {n}\n" for n in range(60))))
        await slack.called("chat.startStream", times=1)
        hands.now += ROTATE_SECONDS + 1
        await slack.advance(ROTATE_SECONDS + 1)
        live.put(CallFinished(planned=Planned(tool="look", args={}), result=_ok("c1")))
        live.put(TextDelta(text="".join(f"late {n}\n" for n in range(60))))
        await slack.called("chat.startStream", times=2)
        hands.now += 400
        await slack.advance(400)
        # Slack has ended this one by itself; the outbox, which is not part of this test, shows the rest.
        live.put(TextDelta(text="".join(f"last {n}\n" for n in range(60))))
        live.put(RunEnded(state="done", text="x"))
        await running
    shown = "\n".join(post.shown for post in asked.thread.messages)
    for word in ("early 0", "early 59", "late 0", "late 59"):
        assert shown.count(f"{word}\n") >= 1, word
    assert len([post for post in asked.thread.messages if "early 59" in post.shown]) == 1
    assert len([post for post in asked.thread.messages if "late 59" in post.shown]) == 1


def _ok(call_id: str) -> ToolResult:
    return ToolResult(call_id=CallId(call_id), status="ok", text="fine", took_ms=1)


async def test_an_answer_that_does_not_fit_is_also_a_file(lab: Lab, slack: Workspace) -> None:
    text = "".join(f"Line {number} of a very long answer.\n" for number in range(1000))
    async with lab.bot([say(text)]):
        asked = await slack.requester.mentions_bot("write a book")
        answer = await asked.thread.message_containing("The whole answer is in the file below.")
        assert "characters)" in answer.shown
        await slack.called("files.completeUploadExternal")
        (file,) = slack.hub.world.files.values()
        assert file.content == text.encode()


async def test_a_message_to_others_is_measured_approved_and_literal(lab: Lab, slack: Workspace) -> None:
    args = {"to": ["C0PRIVATE", "U0SECOND"], "text": "<!channel> lunch?"}
    async with lab.bot([call("send_message", args), say("told them")]):
        asked = await slack.requester.mentions_bot("tell them")
        card = await asked.thread.card_with("Approve", saying="Send a message to 5 recipients")
        await slack.approver.clicks("Approve", in_=card)
        await asked.thread.message_containing("told them")
        for place in (slack.private, slack.second_approver.dm):
            (sent,) = place.messages
            assert sent.text == "A message from Askfirst."
            assert sent.blocks[0]["type"] == "rich_text"
            assert "<!channel> lunch?" in sent.shown


async def test_a_message_to_nowhere_says_so_to_the_model(lab: Lab, slack: Workspace) -> None:
    async with lab.bot(
        [call("send_message", {"to": ["C0NOWHERE"], "text": "hi"}), say("cannot be told")]
    ) as running:
        asked = await slack.requester.mentions_bot("tell them")
        card = await asked.thread.card_with("Approve")
        await slack.approver.clicks("Approve", in_=card)
        await asked.thread.message_containing("cannot be told")
        ((status, text),) = await running.results()
        assert status == "error"
        assert "there is no such channel" in text
