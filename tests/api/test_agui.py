"""AG-UI's rules, on the wire."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import ResumeEntry
from hypothesis import given
from hypothesis import strategies as st

from bot.api.agui_input import answer_of
from bot.domain.decision import Approve
from bot.domain.errors import InvalidAnswer
from bot.domain.ids import RunId
from bot.domain.interrupt import Interrupt
from bot.domain.run import Breakpoint
from bot.llm.scripted import ScriptedModel, call, calls, say, tool_call
from tests.api.server import Bench, Reply, bench
from tests.engine.lab import ANN, NOON
from tests.engine.tools import GATES, marks
from tests.fakes.policies import ANN_OR_BOB, TablePolicy


async def send(
    api: Bench, *texts: str, person: str = "ann", thread: str = "t1", run: str = "r1", **more: Any
) -> Reply:
    messages = [{"id": f"m{number}", "role": "user", "content": text} for number, text in enumerate(texts)]
    body = {"threadId": thread, "runId": run, "messages": messages, "protocolVersion": "1.0", **more}
    return await api.call("POST", "/agui", body, person=person)


def resolved(name: str, payload: Any) -> dict[str, Any]:
    return {"interruptId": name, "status": "resolved", "payload": payload}


def outcome(reply: Reply) -> Any:
    last = reply.events[-1].data
    return last["outcome"] if last["type"] == "RUN_FINISHED" else last["code"]


def names(reply: Reply) -> list[str]:
    return [each["id"] for each in outcome(reply)["interrupts"]]


def warnings(reply: Reply) -> list[str]:
    return [each.data["value"] for each in reply.events if each.data.get("name") == "askfirst.warning"]


def asks(tmp_path: Path) -> list[Any]:
    return [call("mark", {"path": str(tmp_path / "m")}), say("Done.")]


async def test_a_run_that_asks_ends_interrupted_after_its_snapshots(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", asks(tmp_path)) as api:
        asked = await send(api, "please")
        assert asked.types[-3:] == ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
        (interrupt,) = outcome(asked)["interrupts"]
        assert interrupt["toolCallId"] == "call-1-0"
        assert interrupt["expiresAt"] == "2026-11-18T12:15:00Z"
        assert interrupt["metadata"]["askfirst"]["approvers"] == "ann or bob"
        assert "null" not in str([each.data for each in asked.events])


@pytest.mark.parametrize(
    "payload", [None, "yes", True, {"approved": "true"}, {"approved": 1}, {}, {"approved": None}, [True]]
)
async def test_only_approved_true_approves(tmp_path: Path, payload: Any) -> None:
    async with bench(tmp_path / "a.db", asks(tmp_path)) as api:
        asked = await send(api, "please")
        entry = {"interruptId": names(asked)[0], "status": "resolved"}
        if payload is not None:
            entry["payload"] = payload
        reply = await send(api, run="r2", resume=[entry])
        assert outcome(reply) == {"type": "success"}
        assert marks(tmp_path / "m") == []


@given(
    payload=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["approved", "reason", "x"]), inner, max_size=3)
        ),
        max_leaves=6,
    )
)
def test_no_payload_without_an_explicit_yes_is_an_approval(payload: Any) -> None:
    interrupt = Interrupt(
        id="r-1",  # pyright: ignore[reportArgumentType]
        run_id=RunId("r"),
        thread_id="t",  # pyright: ignore[reportArgumentType]
        kind="approval",
        reason="",
        requester=ANN.id,
        approvers=ANN_OR_BOB,
        opened_at=NOON,
        expires_at=NOON,
        verbs=("approve", "edit", "reject", "cancel"),
    )
    entry = ResumeEntry(interrupt_id="r-1", status="resolved", payload=payload)
    said_yes = isinstance(payload, dict) and payload.get("approved") is True  # pyright: ignore[reportUnknownMemberType]
    answer = None
    with contextlib.suppress(InvalidAnswer):
        answer = answer_of(interrupt, entry)
    assert answer is None or isinstance(answer, Approve) is said_yes


async def test_a_resume_that_leaves_one_out_or_fits_one_badly_consumes_nothing(tmp_path: Path) -> None:
    one, two = (tool_call("mark", {"path": str(tmp_path / "m"), "text": name}) for name in "ab")
    async with bench(tmp_path / "a.db", [calls(one, two), say("Done.")]) as api:
        first, second = names(await send(api, "please"))
        yes = resolved(first, {"approved": True})
        partial = await send(api, run="r2", resume=[yes])
        assert (partial.types, outcome(partial)) == (["RUN_STARTED", "RUN_ERROR"], "INTERRUPTS_NOT_COVERED")
        for bad in (
            {"approved": True, "editedArgs": {"path": 1}},
            {"approved": True, "editedArgs": "x"},
            {"approved": True, "editedArgs": {"path": "forbidden"}},
            {"approved": True, "optionId": "o9"},
        ):
            refused = await send(api, run="r3", resume=[yes, resolved(second, bad)])
            assert outcome(refused) == "INTERRUPT_PAYLOAD_INVALID"
        assert len(await api.store.open_interrupts()) == 2
        assert marks(tmp_path / "m") == []
        fine = await send(api, run="r4", resume=[yes, resolved(second, {"approved": True})])
        assert outcome(fine) == {"type": "success"}
        assert sorted(marks(tmp_path / "m")) == ["a", "b"]


async def test_somebody_who_may_not_decide_consumes_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", asks(tmp_path)) as api:
        asked = await send(api, "please", person="dev")
        refused = await send(
            api, run="r2", person="dev", resume=[resolved(names(asked)[0], {"approved": True})]
        )
        assert outcome(refused) == "NOT_ALLOWED"
        facts = await api.store.audit_of((await api.store.heads())[0].run_id)
        assert facts[-1].fact.kind == "click_refused"
        assert len(await api.store.open_interrupts()) == 1
        # Somebody who may answers elsewhere; the client hears of it with its next look.
        await api.runner.decide(
            (await api.store.open_interrupts())[0].interrupt.id, Approve(), ANN, via="slack"
        )
        late = await send(
            api, run="r3", person="dev", resume=[resolved(names(asked)[0], {"approved": False})]
        )
        assert outcome(late) == {"type": "success"}
        assert [
            each.data["value"]["by"] for each in late.events if each.data.get("name") == "askfirst.decision"
        ] == ["ann"]
        assert marks(tmp_path / "m") == ["x"]


async def test_a_repeated_resume_is_safe_and_tells_the_same_again(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", asks(tmp_path)) as api:
        resume = [resolved(names(await send(api, "please"))[0], {"approved": True})]
        first = await send(api, run="r2", resume=resume)
        again = await send(api, run="r2", resume=resume)
        assert first.types == again.types
        assert marks(tmp_path / "m") == ["x"]


async def test_a_repeated_request_is_one_run(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", asks(tmp_path)) as api:
        first = await send(api, "please")
        again = await send(api, "please")
        assert outcome(first) == outcome(again)
        assert len(await api.store.heads()) == 1


async def test_an_unknown_interrupt_is_passed_over_with_a_warning(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", asks(tmp_path)) as api:
        name = names(await send(api, "please"))[0]
        reply = await send(
            api, run="r2", resume=[resolved(name, {"approved": True}), resolved("nobody", {"approved": True})]
        )
        assert outcome(reply) == {"type": "success"}
        assert warnings(reply) == ["There is no open interrupt nobody; it was passed over."]


async def test_a_message_while_interrupts_are_open_is_an_error(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", asks(tmp_path)) as api:
        asked = await send(api, "please")
        assert outcome(await send(api, "something else", run="r2")) == "INTERRUPTS_OPEN"
        found = await send(api, run="r3")
        assert outcome(found) == outcome(asked)
        listed = await api.call("GET", "/agui/threads/t1/interrupts", person="ann")
        assert [each["id"] for each in listed.body["interrupts"]] == names(asked)


async def test_an_expired_interrupt_is_not_resolved_but_may_be_cancelled(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", asks(tmp_path)) as api:
        name = names(await send(api, "please"))[0]
        api.clock.pass_(minutes=16)
        late = await send(api, run="r2", resume=[resolved(name, {"approved": True})])
        assert outcome(late) == "INTERRUPT_EXPIRED"
        reply = await send(api, run="r3", resume=[{"interruptId": name, "status": "cancelled"}])
        assert outcome(reply) == {"type": "success"}
        assert marks(tmp_path / "m") == []


async def test_input_is_the_payload_itself(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"cluster": {"type": "string"}}, "required": ["cluster"]}
    script = [call("ask_somebody", {"question": "Which?", "schema": schema}), say("Fine.")]
    async with bench(tmp_path / "a.db", script) as api:
        asked = await send(api, "please")
        (interrupt,) = outcome(asked)["interrupts"]
        assert (interrupt["reason"], interrupt["responseSchema"]) == ("input_required", schema)
        bad = await send(api, run="r2", resume=[resolved(interrupt["id"], {"cluster": 7})])
        assert outcome(bad) == "INTERRUPT_PAYLOAD_INVALID"
        good = await send(api, run="r3", resume=[resolved(interrupt["id"], {"cluster": "blue"})])
        assert outcome(good) == {"type": "success"}


async def test_the_same_thread_name_is_another_thread_for_another_person(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [say("Hello."), say("Again.")]) as api:
        await send(api, "mine")
        stranger = await send(api, "theirs", person="eve")
        assert [each["content"] for each in stranger.events[-2].data["messages"]] == ["theirs", "Again."]
        assert outcome(await send(api, person="bob", run="r9")) == "EMPTY_INPUT"


async def test_deciding_wants_the_scope(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", asks(tmp_path)) as api:
        name = names(await send(api, "please"))[0]
        body = {
            "threadId": "t1",
            "runId": "r2",
            "protocolVersion": "1.0",
            "messages": [],
            "resume": [resolved(name, {"approved": True})],
        }
        assert (await api.call("POST", "/agui", body, person="ann", scopes="ask")).status == 403


async def test_the_conversation_goes_on_and_the_client_keeps_its_message_ids(tmp_path: Path) -> None:
    model = ScriptedModel([say("Hello."), say("Again.")])
    async with bench(tmp_path / "a.db", model) as api:
        first = await send(api, "one", context=[{"description": "page", "value": "billing"}])
        said = first.events[-2].data["messages"]
        assert [(each["role"], each["id"]) for each in said] == [("user", "m0"), ("assistant", said[1]["id"])]
        assert "page: billing" in str(model.requests[0].transcript)
        messages = [*said, {"id": "later", "role": "user", "content": "two"}]
        body = {"threadId": "t1", "runId": "r2", "messages": messages}
        second = await api.call("POST", "/agui", body, person="ann")
        assert [each["id"] for each in second.events[-2].data["messages"]][:3] == [
            "m0",
            said[1]["id"],
            "later",
        ]
        assert len(model.requests[1].transcript) == 3


async def test_a_client_tool_cannot_take_the_name_of_ours_and_may_be_denied_by_the_policy(
    tmp_path: Path,
) -> None:
    tool: dict[str, Any] = {"name": "mark", "description": "mine", "parameters": {}}
    policy = TablePolicy(verdicts={"paint": "deny"})
    async with bench(tmp_path / "a.db", [call("paint", {}), say("No.")], policy=policy) as api:
        assert outcome(await send(api, "please", tools=[tool])) == "TOOL_NAME_TAKEN"
        denied = await send(api, "please", run="r2", tools=[{**tool, "name": "paint"}])
        assert outcome(denied) == {"type": "success"}
        results = [each.data for each in denied.events if each.type == "TOOL_CALL_RESULT"]
        assert "the policy forbids it" in results[0]["content"]


async def test_a_client_tool_is_answered_after_a_restart(tmp_path: Path) -> None:
    tool = {"name": "pick", "description": "Pick", "parameters": {"type": "object"}}
    async with bench(tmp_path / "a.db", [call("pick", {}, id="c1")], worker="one") as api:
        asked = await send(api, "please", tools=[tool])
        assert outcome(asked) == {"type": "success", "pendingToolCallIds": ["c1"]}
    model = ScriptedModel([say("Booked.")])
    async with bench(tmp_path / "a.db", model, worker="two") as api:
        body = {
            "threadId": "t1",
            "runId": "r2",
            "protocolVersion": "1.0",
            "messages": [
                {"id": "m0", "role": "user", "content": "please"},
                {"id": "t", "role": "tool", "toolCallId": "c1", "content": "Tuesday"},
            ],
        }
        reply = await api.call("POST", "/agui", body, person="ann")
        assert outcome(reply) == {"type": "success"}
        assert "Tuesday" in str(model.requests[0].transcript)


async def test_legacy_clients_are_heard_only_where_that_was_wanted(tmp_path: Path) -> None:
    command: dict[str, Any] = {"command": {"resume": '{"approved": true}', "interruptEvent": {}}}
    async with bench(tmp_path / "a.db", asks(tmp_path)) as api:
        asked = await send(api, "please")
        assert "on_interrupt" not in str([each.data for each in asked.events])
        ignored = await send(api, run="r2", forwardedProps=command)
        assert outcome(ignored)["type"] == "interrupt"
        assert marks(tmp_path / "m") == []
    async with bench(tmp_path / "b.db", asks(tmp_path), legacy=True) as api:
        asked = await send(api, "please")
        (event,) = [each.data for each in asked.events if each.data.get("name") == "on_interrupt"]
        assert names(asked)[0] in event["value"]
        resumed = await send(api, run="r2", forwardedProps=command)
        assert outcome(resumed) == {"type": "success"}
        assert marks(tmp_path / "m") == ["x"]


async def test_capabilities_say_that_people_are_asked(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db") as api:
        told = (await api.call("GET", "/agui/capabilities")).body
        assert told["humanInTheLoop"]["interrupts"] is True
        assert told["humanInTheLoop"]["approveWithEdits"] is True
        assert "mark" in {tool["name"] for tool in told["tools"]["items"]}


async def test_a_cancelled_run_ends_as_cancelled_and_a_failed_one_as_an_error(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [*asks(tmp_path)[:1], say("", stop="refusal")]) as api:
        asked = await send(api, "please")
        run = (await api.store.heads())[0].run_id
        await api.runner.cancel(run, ANN.id, "enough")
        late = await send(api, run="r2", resume=[resolved(names(asked)[0], {"approved": True})])
        assert outcome(late) == {"type": "cancelled"}
        older: dict[str, Any] = {"threadId": "t1", "runId": "r4", "messages": []}
        assert outcome(await api.call("POST", "/agui", older, person="ann")) == {"type": "success"}
        failed = await send(api, "again", run="r3", thread="t2")
        assert outcome(failed) == "RUN_FAILED"


async def test_a_review_is_a_confirmation_whose_text_may_be_edited(tmp_path: Path) -> None:
    policy = TablePolicy(breakpoints=(Breakpoint(when="after", step="model", tools=()),))
    async with bench(tmp_path / "a.db", [say("A draft.")], policy=policy) as api:
        asked = await send(api, "please")
        (interrupt,) = outcome(asked)["interrupts"]
        assert interrupt["reason"] == "confirmation"
        assert "editedText" in interrupt["responseSchema"]["properties"]
        done = await send(
            api, run="r2", resume=[resolved(interrupt["id"], {"approved": True, "editedText": "Final."})]
        )
        assert done.events[-2].data["messages"][-1]["content"] == "Final."


async def test_an_option_is_chosen_by_its_id(tmp_path: Path) -> None:
    script = [call("mark", {"path": str(tmp_path / "m"), "count": 3}), say("Done.")]
    async with bench(tmp_path / "a.db", script) as api:
        asked = await send(api, "please")
        (interrupt,) = outcome(asked)["interrupts"]
        (option,) = interrupt["responseSchema"]["properties"]["optionId"]["enum"]
        payload = {"approved": True, "optionId": option}
        both = {**payload, "editedArgs": {"path": "/x"}}
        refused = await send(api, run="r2", resume=[resolved(interrupt["id"], both)])
        assert outcome(refused) == "INTERRUPT_PAYLOAD_INVALID"
        await send(api, run="r3", resume=[resolved(interrupt["id"], payload)])
        assert marks(tmp_path / "m") == ["x"]


async def test_arguments_sent_back_unchanged_are_a_plain_yes(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", asks(tmp_path)) as api:
        (interrupt,) = outcome(await send(api, "please"))["interrupts"]
        args = interrupt["metadata"]["askfirst"]["planned"]["args"]
        payload = {"approved": True, "editedArgs": args}
        assert outcome(await send(api, run="r2", resume=[resolved(interrupt["id"], payload)])) == {
            "type": "success"
        }
        assert marks(tmp_path / "m") == ["x"]


async def test_something_else_instead_of_a_tool_answer_is_told_to_the_model(tmp_path: Path) -> None:
    tool = {"name": "pick", "description": "Pick", "parameters": {"type": "object"}}
    model = ScriptedModel([call("pick", {}, id="c1"), say("Never mind.")])
    async with bench(tmp_path / "a.db", model) as api:
        await send(api, "please", tools=[tool])
        reply = await send(api, "forget it", run="r2", tools=[tool])
        assert outcome(reply) == {"type": "success"}
        told = str(model.requests[1].transcript)
        assert "wrote something else instead" in told
        assert "forget it" in told


async def test_tools_that_are_too_large_are_refused(tmp_path: Path) -> None:
    tool = {"name": "pick", "description": "x" * 70_000, "parameters": {"type": "object"}}
    async with bench(tmp_path / "a.db", [say("no")]) as api:
        assert outcome(await send(api, "please", tools=[tool])) == "TOOLS_TOO_LARGE"
        small = {**tool, "description": "x"}
        assert outcome(await send(api, "please", tools=[small, small])) == "TOOL_NAME_TAKEN"


async def test_a_second_request_while_the_first_is_running_is_refused_and_a_look_follows_it(
    tmp_path: Path,
) -> None:
    GATES["agui"] = asyncio.Event()
    policy = TablePolicy(verdicts={"hold": "allow"})
    async with bench(tmp_path / "a.db", [call("hold", {"what": "agui"}), say("Done.")], policy=policy) as api:
        first = asyncio.ensure_future(send(api, "please"))  # noqa: TID251 - awaited below
        while not (heads := await api.store.heads()) or not heads[0].calls:
            await asyncio.sleep(0.01)
        assert outcome(await send(api, "and this", run="r2")) == "RUN_UNDER_WAY"
        look = asyncio.ensure_future(send(api, run="r3"))  # noqa: TID251 - awaited below
        GATES["agui"].set()
        assert outcome(await first) == {"type": "success"}
        assert [each for each in (await look).types if each == "TOOL_CALL_START"] == ["TOOL_CALL_START"]


async def test_a_rule_that_asks_about_a_client_tool_is_asked_before_the_client_is(tmp_path: Path) -> None:
    tool = {"name": "pick", "description": "Pick", "parameters": {"type": "object"}}
    policy = TablePolicy(verdicts={"pick": "ask"})
    async with bench(tmp_path / "a.db", [call("pick", {}, id="c1"), say("Fine.")], policy=policy) as api:
        asked = await send(api, "please", tools=[tool])
        approved = await send(
            api, run="r2", tools=[tool], resume=[resolved(names(asked)[0], {"approved": True})]
        )
        assert outcome(approved) == {"type": "success", "pendingToolCallIds": ["c1"]}
