"""Asking: by mention, directly, by command; once, whatever Slack redelivers; with the thread as its memory."""

import asyncio

from bot.domain.transcript import UserText
from bot.engine.ports import ModelRequest
from bot.llm.scripted import ScriptedModel, call, say
from bot.playground.workspace import Workspace
from tests.slack.lab import Lab, eventually
from tests.slack.tools import GATES


def _texts(request: ModelRequest) -> list[str]:
    return [entry.item.text for entry in request.transcript if isinstance(entry.item, UserText)]


async def test_a_mention_is_answered_in_its_thread(lab: Lab, slack: Workspace) -> None:
    model = ScriptedModel([say("Hello **you**.")])
    async with lab.bot(model):
        asked = await slack.requester.mentions_bot("say hello &lt;b&gt; &amp; so")
        answer = await asked.thread.message_containing("Hello **you**.")
        assert answer.thread_ts == asked.ts
        # Without our name, and with what Slack escapes turned back.
        assert _texts(model.requests[0]) == ["say hello <b> & so"]


async def test_a_direct_message_is_a_request_without_a_mention(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([say("Here I am.")]):
        asked = await slack.requester.says("are you there?", in_=slack.requester.dm)
        await asked.thread.message_containing("Here I am.")


async def test_a_command_says_in_the_channel_what_was_asked_and_answers_under_it(
    lab: Lab, slack: Workspace
) -> None:
    async with lab.bot([say("Cleaned.")]):
        await slack.requester.runs("/askfirst clean up <!channel> please")
        root = await slack.general.message_containing("clean up <!channel> please")
        assert root.text == "<@U0REQUESTER> asked for something."
        await root.thread.message_containing("Cleaned.")
        await slack.requester.ephemeral_containing("On it.")


async def test_one_mention_makes_one_run_although_it_comes_as_two_events_and_again(
    lab: Lab, slack: Workspace
) -> None:
    model = ScriptedModel([say("Once.")])
    async with lab.bot(model) as running:
        slack.faults.duplicate(4)
        slack.faults.drop_acks(2)
        asked = await slack.requester.mentions_bot("only once")
        await asked.thread.message_containing("Once.")
        # Slack did not get the acks and delivers once more, in any of its ways.
        await slack.advance(4, settle=False)
        await slack.settle()
        await slack.advance(61)
        await slack.settle()
        assert len(await running.heads()) == 1
        assert len(model.requests) == 1
        assert [m.text for m in asked.thread.messages[1:]] == ["Done."]


async def test_a_later_mention_in_the_thread_continues_the_conversation(lab: Lab, slack: Workspace) -> None:
    model = ScriptedModel([say("It is blue."), say("Because of Rayleigh.")])
    async with lab.bot(model) as running:
        asked = await slack.requester.mentions_bot("what colour is the sky?")
        await asked.thread.message_containing("It is blue.")
        await slack.approver.mentions_bot("and why?", in_=asked.thread)
        await asked.thread.message_containing("Because of Rayleigh.")
        assert _texts(model.requests[1]) == ["what colour is the sky?", "and why?"]
        newest = await running.last()
        assert newest.requester == "U0APPROVER"


async def test_talk_among_people_in_a_finished_thread_is_none_of_our_business(
    lab: Lab, slack: Workspace
) -> None:
    model = ScriptedModel([say("Done here."), say("Yes.")])
    async with lab.bot(model) as running:
        asked = await slack.requester.mentions_bot("do it")
        await asked.thread.message_containing("Done here.")
        await slack.approver.replies("thanks!", to=asked)
        await slack.approver.says("something else entirely")
        await slack.requester.edits(asked, "<@U0BOT> do something else")
        await slack.settle()
        assert len(await running.heads()) == 1


async def test_what_is_written_while_it_works_is_kept_for_the_agent(lab: Lab, slack: Workspace) -> None:
    GATES["door"] = asyncio.Event()
    model = ScriptedModel([call("hold", {"what": "door"}), say("Noted.")])
    async with lab.bot(model):
        asked = await slack.requester.mentions_bot("wait at the door")
        await asked.thread.has_session("processing")
        await slack.requester.replies("and knock twice", to=asked)
        await slack.requester.ephemeral_containing("I keep that for the agent")
        GATES["door"].set()
        await asked.thread.message_containing("Noted.")
        assert _texts(model.requests[1]) == ["wait at the door", "and knock twice"]


async def test_the_thread_shows_that_it_works_waits_and_is_done(lab: Lab, slack: Workspace) -> None:
    GATES["door"] = asyncio.Event()
    script = [call("hold", {"what": "door"}), call("mark", {"path": str(lab.marks)}), say("Over.")]
    async with lab.bot(script):
        asked = await slack.requester.mentions_bot("work")
        await asked.thread.has_session("processing")
        await asked.thread.has_status("is running hold …")
        GATES["door"].set()
        card = await asked.thread.card_with("Approve")
        await asked.thread.has_session("suspended")
        await slack.approver.clicks("Approve", in_=card)
        await asked.thread.message_containing("Over.")
        await asked.thread.has_session("closed")


LONG = "\n".join(f"Line {number} of a long answer, with some words in it." for number in range(40))


async def test_a_long_answer_is_streamed_and_stands_there_once(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("look", {}), say(LONG)]):
        asked = await slack.requester.mentions_bot("tell me all")
        await slack.called("chat.stopStream")
        answer = await asked.thread.message_containing("Line 39 of a long answer")
        await answer.shows("for <@U0REQUESTER>")
        await slack.settle()
        assert len(slack.calls("chat.startStream")) == 1
        shown = [post for post in asked.thread.messages if "Line 0 of" in post.shown]
        assert [post.ts for post in shown] == [answer.ts]


async def test_tool_calls_are_shown_as_tasks_with_the_progress_of_long_ones(
    lab: Lab, slack: Workspace
) -> None:
    GATES["slow"] = asyncio.Event()
    async with lab.bot([call("chatter", {"what": "slow"}), say("ok")]):
        asked = await slack.requester.mentions_bot("chat")
        started = (await slack.called("chat.startStream"))[0]
        (task,) = [chunk for chunk in started.args["chunks"] if chunk["type"] == "task_update"]
        assert (task["title"], task["status"], task["details"]) == ("chatter", "in_progress", "three\n")
        GATES["slow"].set()
        await asked.thread.message_containing("ok")


async def test_without_streams_the_answer_grows_by_updates_and_stands_there_once(
    lab: Lab, slack: Workspace
) -> None:
    slack.faults.fail("chat.startStream", "method_not_supported_for_channel_type", times=5)
    GATES["slow"] = asyncio.Event()
    async with lab.bot([call("chatter", {"what": "slow"}), say(LONG)]):
        asked = await slack.requester.mentions_bot("chat")
        work = await asked.thread.message_containing("still writing")
        assert any(block["type"] == "task_card" for block in work.blocks)
        GATES["slow"].set()
        await work.shows("Line 39 of a long answer")
        await work.shows("for <@U0REQUESTER>")
        shown = [post for post in asked.thread.messages if "Line 39 of" in post.shown]
        assert len(shown) == 1


async def test_the_stop_button_and_the_cancel_command_stop_a_run(lab: Lab, slack: Workspace) -> None:
    GATES["a"], GATES["b"] = asyncio.Event(), asyncio.Event()
    async with lab.bot([call("hold", {"what": "a"}), call("hold", {"what": "b"})]) as running:
        first = await slack.requester.mentions_bot("first")
        await first.thread.has_session("processing")
        await slack.approver.presses_stop(in_=first.thread)
        await first.thread.message_containing("Cancelled by U0APPROVER.")

        second = await slack.requester.mentions_bot("second")
        await second.thread.has_session("processing")
        await slack.requester.runs("/askfirst cancel")
        await slack.requester.ephemeral_containing("Stopping run")
        await second.thread.message_containing("Cancelled by U0REQUESTER.")

        async def over() -> bool:
            return [head.state for head in await running.heads()] == ["cancelled", "cancelled"]

        await eventually(over)
        await second.thread.has_session("closed")


async def test_guests_strangers_and_unknown_people_cannot_start_anything(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([say("never")]) as running:
        await slack.guest.mentions_bot("do it")
        await slack.guest.ephemeral_containing("Guests cannot ask me")
        await slack.stranger.mentions_bot("do it", in_=slack.shared)
        await slack.stranger.ephemeral_containing("People from other organisations")
        slack.faults.fail("users.info", "internal_error", times=3)
        await slack.requester.mentions_bot("do it")
        await slack.requester.ephemeral_containing("I cannot check right now who you are")
        assert await running.heads() == ()
