"""Ask over HTTP, answer over HTTP, and lose nothing in between."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from bot.domain.decision import Approve
from bot.domain.ids import RunId
from bot.domain.run import Breakpoint
from bot.llm.scripted import ScriptedModel, call, calls, say, tool_call
from tests.api.server import bench
from tests.engine.lab import ANN
from tests.engine.tools import marks
from tests.fakes.policies import TablePolicy


async def test_a_chat_streams_text_calls_results_and_done_and_names_its_session(tmp_path: Path) -> None:
    script = [call("look", {"what": "disk"}, text="Looking. "), say("All good.")]
    async with bench(tmp_path / "a.db", script) as api:
        reply = await api.chat("check the disk")
        assert reply.status == 200
        assert reply.types == ["text", "tool_call", "tool_result", "text", "done"]
        assert reply.only("tool_call")["args"] == {"what": "disk"}
        assert reply.only("tool_result")["text"] == "disk is fine"
        assert reply.only("done")["text"] == "All good."
        assert {each.data["session_id"] for each in reply.events} == {reply.headers["X-Session-Id"]}
        assert len({each.id for each in reply.events}) == 5


async def test_an_interrupt_ends_the_stream_without_done_and_resume_goes_on_from_there(
    tmp_path: Path,
) -> None:
    target = tmp_path / "marks"
    async with bench(
        tmp_path / "a.db", [call("mark", {"path": str(target)}, text="Hm."), say("Done.")]
    ) as api:
        asked = await api.chat()
        assert asked.types == ["text", "tool_call", "interrupt"]
        question = asked.only("interrupt")
        assert (question["reason"], question["prompt"]) == ("need_approval", "It changes something.")
        assert marks(target) == []
        resumed = await api.resume(session_id=asked.headers["X-Session-Id"], answer="yes")
        assert resumed.types == ["decision", "tool_result", "text", "done"]
        assert marks(target) == ["x"]


async def test_a_structured_decision_names_its_interrupt(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    script = [call("mark", {"path": str(target), "count": 3}), say("Done.")]
    async with bench(tmp_path / "a.db", script) as api:
        question = (await api.chat()).only("interrupt")
        edited = {"verb": "edit", "args": {"path": str(target), "text": "y"}}
        reply = await api.resume(interrupt_id=question["interrupt_id"], decision=edited)
        assert reply.types[-1] == "done"
        assert marks(target) == ["y"]


@pytest.mark.parametrize("answer", ["maybe", "yes but smaller", "", "sure, why not", "1"])
async def test_what_is_no_explicit_yes_approves_nothing_and_consumes_nothing(
    tmp_path: Path, answer: str
) -> None:
    target = tmp_path / "marks"
    async with bench(tmp_path / "a.db", [call("mark", {"path": str(target)}), say("Done.")]) as api:
        session = (await api.chat()).headers["X-Session-Id"]
        unclear = await api.resume(session_id=session, answer=answer)
        assert unclear.status == 422
        assert marks(target) == []
        again = await api.resume(session_id=session, answer="Yes")
        assert again.types[-1] == "done"
        assert marks(target) == ["x"]


async def test_no_with_a_reason_is_a_rejection_the_model_hears_of(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [call("mark", {"path": "/x"}), say("Then not.")]) as api:
        session = (await api.chat()).headers["X-Session-Id"]
        reply = await api.resume(session_id=session, answer="no, keep the March builds")
        assert "declined by ann because: keep the March builds" in reply.only("tool_result")["text"]


async def test_a_question_is_answered_with_text(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [call("ask_somebody", {"question": "Which?"}), say("Fine.")]) as api:
        asked = await api.chat()
        assert asked.only("interrupt")["reason"] == "need_input"
        session = asked.headers["X-Session-Id"]
        reply = await api.resume(session_id=session, answer="yes, the blue one", person="dev")
        assert reply.only("tool_result")["text"] == "Which? -> yes, the blue one"


async def test_already_resumed_and_checkpoint_not_found_are_told_apart(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [call("mark", {"path": str(tmp_path / "m")}), say("Done.")]) as api:
        asked = await api.chat()
        name, session = asked.only("interrupt")["interrupt_id"], asked.headers["X-Session-Id"]
        await api.resume(interrupt_id=name, decision={"verb": "approve"})
        late = await api.resume(interrupt_id=name, decision={"verb": "approve"}, person="bob")
        assert (late.status, late.body["type"]) == (409, "urn:askfirst:problem:already-resumed")
        assert (late.body["decided"], late.body["by"]) == ("approved", "ann")
        plain = await api.resume(session_id=session, answer="yes")
        assert (plain.status, plain.body["title"]) == (409, "already resumed")
        unknown = await api.resume(session_id="sess_abc123", answer="yes")
        assert (unknown.status, unknown.body["title"]) == (404, "checkpoint not found")
        assert unknown.headers["Content-Type"].startswith("application/problem+json")


async def test_an_expired_question_is_not_found_any_more(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [call("mark", {"path": "/x"}), say("Too late.")]) as api:
        session = (await api.chat()).headers["X-Session-Id"]
        api.clock.pass_(minutes=16)
        reply = await api.resume(session_id=session, answer="yes")
        assert (reply.status, reply.body["title"]) == (404, "checkpoint not found")
        rest = await api.call("GET", f"/api/v1/chat/{session}/events")
        assert rest.only("tool_result")["status"] == "timed_out"
        assert rest.types[-1] == "done"


async def test_several_open_questions_must_be_named(tmp_path: Path) -> None:
    one, two = (tool_call("mark", {"path": str(tmp_path / "m"), "text": name}) for name in "ab")
    async with bench(tmp_path / "a.db", [calls(one, two), say("Done.")]) as api:
        asked = await api.chat()
        names = [each.data["interrupt_id"] for each in asked.events if each.type == "interrupt"]
        reply = await api.resume(session_id=asked.headers["X-Session-Id"], answer="yes")
        assert (reply.status, reply.body["interrupts"]) == (409, names)
        first = await api.resume(interrupt_id=names[0], decision={"verb": "approve"})
        assert first.types == []
        second = await api.resume(interrupt_id=names[1], decision={"verb": "approve"})
        assert second.types[-1] == "done"
        assert sorted(marks(tmp_path / "m")) == ["a", "b"]


async def test_the_next_message_continues_the_conversation(tmp_path: Path) -> None:
    model = ScriptedModel([say("Hello."), say("Again.")])
    async with bench(tmp_path / "a.db", model) as api:
        session = (await api.chat("one")).headers["X-Session-Id"]
        await api.chat("two", session_id=session)
        assert len(model.requests[1].transcript) == 3
        stranger = await api.call(
            "POST", "/api/v1/chat", {"message": "x", "session_id": session}, person="eve", scopes="ask"
        )
        assert stranger.status == 404


async def test_a_cut_stream_goes_on_at_every_point_with_nothing_lost_and_nothing_doubled(
    tmp_path: Path,
) -> None:
    script = [
        calls(tool_call("look", {"what": "a"}), tool_call("look", {"what": "b"}), text="Both. "),
        call("mark", {"path": str(tmp_path / "m")}, text="Now. "),
        say("Done."),
    ]
    async with bench(tmp_path / "a.db", script) as api:
        asked = await api.chat()
        session = asked.headers["X-Session-Id"]
        rest = await api.resume(session_id=session, answer="yes")
        whole = [*asked.events, *rest.events]
        for place, event in enumerate(whole):
            tail = await api.call("GET", f"/api/v1/chat/{session}/events", Last_Event_ID=event.id)
            assert [each.data for each in tail.events] == [each.data for each in whole[place + 1 :]]
        ended = await api.call("GET", f"/api/v1/chat/{session}/events", Last_Event_ID=whole[-1].id)
        assert ended.status == 204
        again = await api.call(
            "POST", "/api/v1/chat", {"message": "please"}, Last_Event_ID=asked.events[0].id
        )
        assert again.types == [each.type for each in whole[1:]]
    async with bench(tmp_path / "a.db", worker="restarted") as api:
        for place, event in enumerate(whole):
            tail = await api.call("GET", f"/api/v1/chat/{session}/events", Last_Event_ID=event.id)
            assert [each.data for each in tail.events] == [each.data for each in whole[place + 1 :]]


async def test_an_open_stream_hears_of_a_decision_made_elsewhere(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [call("mark", {"path": str(tmp_path / "m")}), say("Done.")]) as api:
        asked = await api.chat()
        session, run_id = asked.headers["X-Session-Id"], RunId(asked.headers["X-Run-Id"])
        path = f"/api/v1/chat/{session}/events?wait=true"
        async with api.following(path, last=asked.events[-1].id) as stream:
            (question,) = await api.store.open_interrupts(run_id)
            await api.runner.decide(question.interrupt.id, Approve(), ANN, via="slack")
            heard = [each async for each in stream]
        assert [each.type for each in heard] == ["decision", "tool_result", "text", "done"]
        assert heard[0].data["by"] == "ann"


async def test_the_same_request_delivered_twice_is_one_run(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [say("Hello.")]) as api:
        body = {"message": "once"}
        first = await api.call("POST", "/api/v1/chat", body, Idempotency_Key="k1")
        second = await api.call("POST", "/api/v1/chat", body, Idempotency_Key="k1")
        assert [each.id for each in first.events] == [each.id for each in second.events]
        assert first.headers["X-Session-Id"] == second.headers["X-Session-Id"]


async def test_a_message_while_the_run_waits_is_refused_and_says_which_run(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [call("mark", {"path": "/x"})]) as api:
        asked = await api.chat()
        again = await api.chat("and?", session_id=asked.headers["X-Session-Id"])
        assert (again.status, again.body["type"]) == (409, "urn:askfirst:problem:under-way")
        assert again.body["run_id"] == asked.headers["X-Run-Id"]


async def test_a_decider_without_read_decides_but_does_not_see_the_run(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [call("mark", {"path": str(tmp_path / "m")}), say("Done.")]) as api:
        name = (await api.chat()).only("interrupt")["interrupt_id"]
        body = {"interrupt_id": name, "decision": {"verb": "approve"}}
        refused = await api.call("POST", "/api/v1/chat/resume", body, person="ann", scopes="decide")
        assert refused.status == 403
        assert marks(tmp_path / "m") == []
        path = f"/api/v1/approvals/{name}/decision"
        decided = await api.call(
            "POST", path, {"decision": {"verb": "approve"}}, person="ann", scopes="decide"
        )
        assert decided.status == 200


async def test_a_quiet_stream_is_kept_alive(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [call("mark", {"path": "/x"})]) as api:
        session = (await api.chat()).headers["X-Session-Id"]
        headers = await api.headers("dev", "ask")
        url = f"{api.url}/api/v1/chat/{session}/events?wait=true"
        async with api.http.get(url, headers=headers) as response:
            async for line in response.content:
                if line == b": keep-alive\n":
                    break


async def test_a_stored_row_that_cannot_be_read_ends_the_stream_with_an_error(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [call("mark", {"path": "/x"})]) as api:
        session = (await api.chat()).headers["X-Session-Id"]
        with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as connection:
            connection.execute("UPDATE entries SET body = 'not json'")
            connection.commit()
        reply = await api.call("GET", f"/api/v1/chat/{session}/events")
        assert reply.only("error")["code"] == "corrupt"


async def test_a_run_that_fails_ends_with_an_error(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [say("", stop="refusal")]) as api:
        reply = await api.chat()
        assert (reply.types, reply.only("error")["code"]) == (["error"], "failed")


async def test_an_edited_draft_replaces_what_was_told(tmp_path: Path) -> None:
    policy = TablePolicy(breakpoints=(Breakpoint(when="after", step="model", tools=()),))
    async with bench(tmp_path / "a.db", [say("A draft.")], policy=policy) as api:
        asked = await api.chat()
        name = asked.only("interrupt")["interrupt_id"]
        edit = {"verb": "edit", "text": "The final text."}
        reply = await api.resume(interrupt_id=name, decision=edit, person="dev")
        assert (reply.only("text")["replace"], reply.only("done")["text"]) == (True, "The final text.")
