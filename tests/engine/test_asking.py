"""What a run asks, what people answer, and what is executed."""

from pathlib import Path

import pytest

from bot.domain.decision import Approve, Cancel, Choose, Edit, Reject, Respond
from bot.domain.errors import AlreadyDecided, CheckpointNotFound, InvalidAnswer, NotAllowed
from bot.domain.ids import InterruptId
from bot.domain.run import AgentSpec
from bot.domain.tool import Planned
from bot.domain.transcript import HumanDecision, ModelTurn
from bot.domain.verdict import ApprovalTerms, Approvers
from bot.engine.ports import CallProgress, InterruptsOpened, RunEnded, TextDelta
from bot.llm.scripted import ScriptedModel, call, calls, say, tool_call
from tests.engine.lab import ANN, BOB, DEV, EVE, lab
from tests.engine.tools import marks
from tests.fakes.policies import TablePolicy


async def test_a_read_runs_at_once_and_the_answer_is_streamed(tmp_path: Path) -> None:
    async with lab(tmp_path / "a.db", [call("look", {"what": "disk"}), say("All good.")]) as bench:
        run = await bench.ask()
        assert (await bench.head(run)).state == "done"
        assert await bench.results(run) == [("ok", "disk is fine")]
        assert [event.text for event in bench.front.events if isinstance(event, TextDelta)] == ["All good."]
        assert bench.front.events[-1] == RunEnded(state="done", text="All good.")


async def test_a_change_stops_the_run_until_it_is_approved_and_then_runs_once(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    script = [call("mark", {"path": str(target)}, text="I will write."), say("Done.")]
    async with lab(tmp_path / "a.db", script) as bench:
        run = await bench.ask()
        assert (await bench.head(run)).state == "waiting"
        assert marks(target) == []
        question = await bench.only(run)
        assert question.planned == Planned(tool="mark", args={"path": str(target)})
        assert (question.kind, question.reason, question.rules) == (
            "approval",
            "It changes something.",
            ("careful",),
        )
        assert question.impact is not None
        assert question.impact.summary == "1 lines"
        assert question.said == "I will write."
        await bench.decide(question, Approve())
        assert marks(target) == ["x"]
        assert (await bench.head(run)).state == "done"


async def test_the_answer_may_come_after_a_restart_into_another_process(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    async with lab(tmp_path / "a.db", [call("mark", {"path": str(target)})], worker="first") as bench:
        run = await bench.ask()
        question = await bench.only(run)
    async with lab(tmp_path / "a.db", [say("Done.")], worker="second") as bench:
        await bench.decide(question, Approve())
        assert (await bench.head(run)).state == "done"
    assert marks(target) == ["x"]


async def test_a_rejection_reaches_the_model_with_name_and_reason_and_nothing_runs(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    model = ScriptedModel([call("mark", {"path": str(target)}), say("Then not.")])
    async with lab(tmp_path / "a.db", model) as bench:
        run = await bench.ask()
        await bench.decide(await bench.only(run), Reject(reason="keep the March builds"))
        ((status, text),) = await bench.results(run)
        assert status == "declined"
        assert text == (
            "Not executed: declined by ann because: keep the March builds."
            " Do not retry this call unless the user asks for it."
        )
        assert marks(target) == []
    model.assert_consumed()


async def test_an_option_changes_what_is_executed_and_the_model_is_told(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    script = [call("mark", {"path": str(target), "count": 3}), say("ok")]
    async with lab(tmp_path / "a.db", script) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        assert [(option.id, option.label, option.consequence) for option in question.options] == [
            ("o1", "Only one", "1 line")
        ]
        await bench.decide(question, Choose(option="o1"))
        assert marks(target) == ["x"]
        items = await bench.items(run)
        result = next(item for item in items if item.kind == "result")
        assert result.notice.startswith("Note: ann chose “Only one” instead of the proposed call.")


async def test_an_edit_is_executed_instead_and_the_original_stays_in_the_transcript(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    async with lab(tmp_path / "a.db", [call("mark", {"path": str(target)}), say("ok")]) as bench:
        run = await bench.ask()
        await bench.decide(await bench.only(run), Edit(args={"path": str(target), "text": "edited"}))
        assert marks(target) == ["edited"]
        items = await bench.items(run)
        turn = next(item for item in items if isinstance(item, ModelTurn))
        assert turn.calls[0].args == {"path": str(target)}
        assert [item.notice[:38] for item in items if item.kind == "result"] == [
            "Note: ann changed this call before it "
        ]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(Edit(args={"path": "p", "text": 7}), "do not fit", id="an edit that does not validate"),
        pytest.param(
            Edit(args={"path": "p", "text": "forbidden"}),
            "policy forbids",
            id="an edit to forbidden arguments",
        ),
        pytest.param(Edit(args={"path": "p"}), "Nothing was changed", id="an edit that changes nothing"),
        pytest.param(Edit(), "needs the new arguments", id="an edit without arguments"),
        pytest.param(Choose(option="o9"), "cannot be answered", id="an option where none is offered"),
        pytest.param(Respond(data="yes"), "cannot be answered", id="text instead of a decision"),
    ],
)
async def test_an_answer_that_does_not_fit_consumes_nothing(
    tmp_path: Path, answer: Edit, message: str
) -> None:
    async with lab(tmp_path / "a.db", [call("mark", {"path": "p"}), say("ok")]) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        with pytest.raises(InvalidAnswer, match=message):
            await bench.decide(question, answer)
        assert await bench.only(run) == question
        await bench.decide(question, Reject())
        assert (await bench.head(run)).state == "done"


async def test_a_stranger_is_refused_told_who_can_and_recorded(tmp_path: Path) -> None:
    async with lab(tmp_path / "a.db", [call("mark", {"path": "p"})]) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        with pytest.raises(NotAllowed, match="Only ann or bob can decide this"):
            await bench.decide(question, Approve(), EVE)
        assert await bench.only(run) == question
        assert "click_refused" in await bench.facts(run)


async def test_four_eyes_refuses_the_requesters_own_click(tmp_path: Path) -> None:
    terms = ApprovalTerms(approvers=Approvers(users=("dev", "ann"), requester_may_approve=False))
    async with lab(
        tmp_path / "a.db", [call("mark", {"path": "p"})], policy=TablePolicy(terms=terms)
    ) as bench:
        run = await bench.ask()
        with pytest.raises(NotAllowed, match="You asked for this yourself"):
            await bench.decide(await bench.only(run), Approve(), DEV)


async def test_unset_approvers_mean_that_nobody_may_approve(tmp_path: Path) -> None:
    policy = TablePolicy(terms=ApprovalTerms(approvers=Approvers()))
    async with lab(tmp_path / "a.db", [call("mark", {"path": "p"}), say("ok")], policy=policy) as bench:
        run = await bench.ask()
        assert await bench.open(run) == []
        assert [status for status, _ in await bench.results(run)] == ["denied"]


async def test_a_quorum_of_two_needs_two_different_people(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    terms = ApprovalTerms(approvers=Approvers(users=("ann", "bob")), quorum=2)
    script = [call("mark", {"path": str(target)}), say("ok")]
    async with lab(tmp_path / "a.db", script, policy=TablePolicy(terms=terms)) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        first = await bench.decide(question, Approve(), ANN)
        assert (first.votes, first.needed) == (1, 2)
        again = await bench.decide(question, Approve(), ANN)
        assert (again.votes, again.needed) == (1, 2)
        assert marks(target) == []
        await bench.decide(question, Approve(), BOB)
        assert marks(target) == ["x"]
        (decision,) = [item for item in await bench.items(run) if isinstance(item, HumanDecision)]
        assert decision.outcome.kind == "decided"
        assert decision.outcome.others == ("ann",)


async def test_one_veto_ends_a_quorum(tmp_path: Path) -> None:
    terms = ApprovalTerms(approvers=Approvers(users=("ann", "bob")), quorum=2)
    async with lab(
        tmp_path / "a.db", [call("mark", {"path": "p"}), say("ok")], policy=TablePolicy(terms=terms)
    ) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        await bench.decide(question, Approve(), ANN)
        await bench.decide(question, Reject(reason="no"), BOB)
        assert [status for status, _ in await bench.results(run)] == ["declined"]


async def test_a_second_answer_is_told_who_decided_what_and_when(tmp_path: Path) -> None:
    async with lab(tmp_path / "a.db", [call("mark", {"path": str(tmp_path / "m")}), say("ok")]) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        await bench.decide(question, Approve(), ANN)
        with pytest.raises(AlreadyDecided) as late:
            await bench.decide(question, Reject(), BOB)
        assert (
            str(late.value)
            == f"already resumed: {question.id} was approved by ann at 2026-11-18 12:00:00 UTC"
        )


async def test_an_unknown_interrupt_is_a_checkpoint_not_found(tmp_path: Path) -> None:
    async with lab(tmp_path / "a.db") as bench:
        with pytest.raises(CheckpointNotFound, match="checkpoint not found: nope-1"):
            await bench.decide(InterruptId("nope-1"), Approve())


async def test_a_click_after_the_expiry_is_told_so_even_before_any_sweep(tmp_path: Path) -> None:
    async with lab(tmp_path / "a.db", [call("mark", {"path": "p"}), say("ok")]) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        bench.clock.pass_(minutes=15)
        with pytest.raises(CheckpointNotFound, match="it expired at 2026-11-18 12:15 UTC, nothing was run"):
            await bench.decide(question, Approve())
        assert marks(tmp_path / "p") == []


async def test_a_timeout_is_told_to_the_model_as_a_timeout_never_as_a_rejection(tmp_path: Path) -> None:
    async with lab(tmp_path / "a.db", [call("mark", {"path": "p"}), say("ok")]) as bench:
        run = await bench.ask()
        bench.clock.pass_(hours=1)
        assert await bench.runner.expire_due() == 1
        await bench.supervisor.settled(run)
        ((status, text),) = await bench.results(run)
        assert status == "timed_out"
        assert text.startswith("Not executed: nobody answered in time. This is not a rejection;")
        assert (await bench.head(run)).state == "done"


async def test_a_timeout_may_cancel_the_run(tmp_path: Path) -> None:
    policy = TablePolicy(terms=ApprovalTerms(approvers=Approvers(users=("ann",)), on_timeout="cancel_run"))
    async with lab(tmp_path / "a.db", [call("mark", {"path": "p"})], policy=policy) as bench:
        run = await bench.ask()
        bench.clock.pass_(hours=1)
        await bench.runner.expire_due()
        await bench.supervisor.settled(run)
        head = await bench.head(run)
        assert (head.state, head.ending) == (
            "cancelled",
            "Nobody decided in time, so nothing of it was run. The run is stopped.",
        )


async def test_several_interrupts_are_answered_by_id_in_any_order_while_allowed_siblings_run(
    tmp_path: Path,
) -> None:
    target = tmp_path / "marks"
    one = tool_call("mark", {"path": str(target), "text": "one"}, id="c1")
    two = tool_call("mark", {"path": str(target), "text": "two"}, id="c2")
    read = tool_call("look", {"what": "disk"}, id="c3")
    model = ScriptedModel([calls(one, two, read), say("ok")])
    async with lab(tmp_path / "a.db", model) as bench:
        run = await bench.ask()
        first, second = await bench.open(run)
        assert await bench.results(run) == [("ok", "disk is fine")]
        await bench.decide(second, Approve())
        assert (await bench.head(run)).state == "waiting"
        assert marks(target) == []
        await bench.decide(first, Reject(reason="not this"))
        assert marks(target) == ["two"]
        assert (await bench.head(run)).state == "done"
        assert sorted(status for status, _ in await bench.results(run)) == ["declined", "ok", "ok"]
    model.assert_consumed()


async def test_cancelling_at_a_question_stops_the_run_and_closes_its_siblings(tmp_path: Path) -> None:
    both = calls(tool_call("mark", {"path": "a"}, id="c1"), tool_call("mark", {"path": "b"}, id="c2"))
    async with lab(tmp_path / "a.db", [both]) as bench:
        run = await bench.ask()
        first, second = await bench.open(run)
        await bench.decide(first, Cancel(reason="wrong day"))
        await bench.runner.decide(second.id, Approve(), ANN)
        await bench.supervisor.settled(run)
        head = await bench.head(run)
        assert (head.state, head.ending) == ("cancelled", "Cancelled by ann: wrong day")
        assert [status for status, _ in await bench.results(run)] == ["cancelled", "cancelled"]


async def test_a_tool_that_stops_half_way_is_called_again_with_its_state_and_the_answer(
    tmp_path: Path,
) -> None:
    script = [call("ask_somebody", {"question": "Which one?"}), say("ok")]
    policy = TablePolicy(verdicts={"ask_somebody": "allow"})
    async with lab(tmp_path / "a.db", script, policy=policy, worker="first") as bench:
        run = await bench.ask()
        question = await bench.only(run)
        assert (question.kind, question.reason, question.verbs) == (
            "input",
            "Which one?",
            ("respond", "reject", "cancel"),
        )
    async with lab(tmp_path / "a.db", [say("ok")], policy=policy, worker="second") as bench:
        with pytest.raises(NotAllowed):
            await bench.decide(question, Respond(data="mine"), EVE)
        with pytest.raises(InvalidAnswer, match="must be some text"):
            await bench.decide(question, Respond(data=""), DEV)
        await bench.decide(question, Respond(data="the blue one"), DEV)
        assert await bench.results(run) == [("ok", "Which one? -> the blue one")]


async def test_an_answer_must_fit_the_schema_of_its_question(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}
    script = [call("ask_somebody", {"question": "How long?", "schema": schema}), say("ok")]
    async with lab(
        tmp_path / "a.db", script, policy=TablePolicy(verdicts={"ask_somebody": "allow"})
    ) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        for wrong in ({"days": "7"}, {}, None, False, 0, ""):
            with pytest.raises(InvalidAnswer, match="does not fit"):
                await bench.decide(question, Respond(data=wrong), DEV)
        await bench.decide(question, Respond(data={"days": 7}), DEV)
        assert await bench.results(run) == [("ok", "How long? -> {'days': 7}")]


async def test_an_option_of_a_question_is_its_answer(tmp_path: Path) -> None:
    script = [call("ask_somebody", {"question": "Which?", "options": ["red", "blue"]}), say("ok")]
    async with lab(
        tmp_path / "a.db", script, policy=TablePolicy(verdicts={"ask_somebody": "allow"})
    ) as bench:
        run = await bench.ask()
        await bench.decide(await bench.only(run), Choose(option="1"), DEV)
        assert await bench.results(run) == [("ok", "Which? -> blue")]


async def test_what_a_tool_says_is_shown_while_it_runs(tmp_path: Path) -> None:
    script = [call("chatter", {}), say("ok")]
    async with lab(tmp_path / "a.db", script, policy=TablePolicy(verdicts={"chatter": "allow"})) as bench:
        run = await bench.ask()
        shown = "".join(event.text for event in bench.front.events if isinstance(event, CallProgress))
        assert shown == "one two three"
        assert await bench.results(run) == [("ok", "one two three")]


async def test_cards_are_shown_only_after_their_interrupts_are_stored(tmp_path: Path) -> None:
    async with lab(tmp_path / "a.db", [call("mark", {"path": "p"})]) as bench:
        run = await bench.ask()
        (shown,) = [event for event in bench.front.events if isinstance(event, InterruptsOpened)]
        assert list(shown.interrupts) == await bench.open(run)


async def test_the_same_request_delivered_twice_is_one_run(tmp_path: Path) -> None:
    async with lab(tmp_path / "a.db", [say("once")]) as bench:
        assert await bench.ask(key="C1/17") == await bench.ask(key="C1/17")
        assert len(await bench.store.heads()) == 1


async def test_a_headless_agent_is_denied_whatever_would_ask(tmp_path: Path) -> None:
    async with lab(tmp_path / "a.db", [call("mark", {"path": "p"}), say("ok")]) as bench:
        run = await bench.ask(agent=AgentSpec(model="scripted", interrupts=False))
        assert [status for status, _ in await bench.results(run)] == ["denied"]
        assert await bench.open(run) == []


async def test_an_edit_that_needs_other_approvers_becomes_their_question(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    policy = TablePolicy()
    async with lab(
        tmp_path / "a.db", [call("mark", {"path": str(target)}), say("ok")], policy=policy
    ) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        policy.terms = ApprovalTerms(approvers=Approvers(users=("bob",), label="bob"))
        counted = await bench.decide(question, Edit(args={"path": str(target), "text": "more"}), ANN)
        assert counted.replaced_by is not None
        assert marks(target) == []
        successor = await bench.only(run)
        assert successor.planned == Planned(tool="mark", args={"path": str(target), "text": "more"})
        await bench.decide(successor, Approve(), BOB)
        assert marks(target) == ["more"]
        (result,) = [item for item in await bench.items(run) if item.kind == "result"]
        assert result.notice.startswith(
            "Note: bob changed this call before it ran. Executed instead: mark with"
        )
