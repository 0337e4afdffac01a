"""Where a run ends, goes back, or asks again."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from bot.domain.decision import Approve, Choose, Edit, Reject
from bot.domain.errors import AlreadyResumed, CheckpointNotFound, InvalidAnswer, ModelUnavailable
from bot.domain.ids import CallId, RunId
from bot.domain.run import AgentSpec, Base, Breakpoint, Thread
from bot.domain.tool import ToolCall
from bot.domain.transcript import CallBlock, ModelTurn, Usage, UserText
from bot.engine.ports import CallStarted, InterruptsOpened, LiveEvent, ModelRequest, RunEnded
from bot.llm.scripted import ScriptedModel, call, calls, say, tool_call
from tests.engine.lab import ANN, DEV, lab
from tests.engine.tools import GATES, marks
from tests.fakes.policies import TablePolicy


@pytest.mark.parametrize(
    ("turn", "ending"),
    [
        pytest.param(say("", stop="refusal"), "The model refused to work on this request.", id="refusal"),
        pytest.param(say("half a", stop="max_tokens"), "The answer was cut off", id="max_tokens"),
        pytest.param(say("", stop="context_full"), "too long for the model", id="context full"),
        pytest.param(
            ModelUnavailable("The model is overloaded. Try again later."), "overloaded", id="overload"
        ),
    ],
)
async def test_a_model_that_cannot_go_on_ends_the_run_with_a_clear_message(
    tmp_path: Path, turn: ModelTurn, ending: str
) -> None:
    async with lab(tmp_path / "a.db", [turn]) as bench:
        run = await bench.ask()
        head = await bench.head(run)
        assert head.state == "failed"
        assert ending in head.ending
        last = bench.front.events[-1]
        assert isinstance(last, RunEnded)
        assert ending in last.text


async def test_calls_of_an_answer_that_was_cut_off_are_not_run(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    cut = ModelTurn(blocks=call("mark", {"path": str(target)}, id="c1").blocks, stop="max_tokens")
    async with lab(tmp_path / "a.db", [cut], policy=TablePolicy(verdicts={"mark": "allow"})) as bench:
        await bench.ask()
        assert marks(target) == []


async def test_an_endless_loop_ends_after_max_turns(tmp_path: Path) -> None:
    script = [call("look", {}) for _ in range(5)]
    async with lab(tmp_path / "a.db", script) as bench:
        run = await bench.ask(agent=AgentSpec(model="scripted", max_turns=5))
        head = await bench.head(run)
        assert (head.state, head.turns) == ("failed", 5)
        assert head.ending.startswith("Stopped after 5 turns")


@pytest.mark.parametrize(
    ("proposed", "status", "text"),
    [
        pytest.param(tool_call("nope", {}, id="c"), "denied", "There is no tool nope.", id="unknown tool"),
        pytest.param(
            tool_call("look", {"wat": 1}, id="c"), "error", "arguments do not fit", id="unknown argument"
        ),
        pytest.param(
            tool_call("look", {"what": 5}, id="c"), "error", "arguments do not fit", id="wrong type"
        ),
        pytest.param(
            ToolCall(id=CallId("c"), tool="look", args={}, malformed='{"what": '),
            "error",
            "were not a JSON object",
            id="not JSON",
        ),
        pytest.param(tool_call("fail", {}, id="c"), "error", "the disk is full", id="a tool that fails"),
    ],
)
async def test_what_cannot_run_becomes_a_result_the_model_can_read(
    tmp_path: Path, proposed: ToolCall, status: str, text: str
) -> None:
    policy = TablePolicy(verdicts={"look": "allow", "fail": "allow"})
    async with lab(tmp_path / "a.db", [calls(proposed), say("I see.")], policy=policy) as bench:
        run = await bench.ask()
        ((got, said),) = await bench.results(run)
        assert got == status
        assert text in said
        assert (await bench.head(run)).state == "done"


async def test_the_same_declined_call_is_not_asked_again_and_in_the_end_stops_the_run(tmp_path: Path) -> None:
    again = [call("mark", {"path": "p"}, id=f"c{n}") for n in range(3)]
    async with lab(tmp_path / "a.db", again) as bench:
        run = await bench.ask()
        await bench.decide(await bench.only(run), Reject(reason="no"))
        head = await bench.head(run)
        assert [status for status, _ in await bench.results(run)] == ["declined", "declined", "declined"]
        assert (head.state, head.ending) == (
            "failed",
            "Stopped: the agent kept proposing a call of mark that had been declined.",
        )
        assert head.asked == 1


async def test_usage_is_added_up_over_the_turns(tmp_path: Path) -> None:
    used = Usage(input_tokens=10, output_tokens=2, cache_read_tokens=5)
    first = ModelTurn(blocks=(CallBlock(call=tool_call("look", {}, id="c")),), stop="tools", usage=used)
    async with lab(tmp_path / "a.db", [first, ModelTurn(blocks=(), usage=used)]) as bench:
        run = await bench.ask()
        assert (await bench.head(run)).usage == Usage(input_tokens=20, output_tokens=4, cache_read_tokens=10)


async def test_when_the_world_drifted_since_the_approval_it_asks_again_and_shows_the_difference(
    tmp_path: Path,
) -> None:
    target = tmp_path / "lines"
    target.write_text("a\nb\n", encoding="utf-8")
    async with lab(tmp_path / "a.db", [call("wipe", {"path": str(target)}), say("ok")]) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        target.write_text("a\nb\nc\n", encoding="utf-8")
        await bench.decide(question, Approve())
        assert marks(target) == ["a", "b", "c"]
        again = await bench.only(run)
        assert again.id != question.id
        assert again.reason == "Changed since you were asked: 2 → 3 items. It changes something."
        assert (again.previous_impact, again.impact) == (question.impact, again.impact)
        assert again.impact is not None
        assert again.impact.count == 3
        await bench.decide(again, Approve())
        assert marks(target) == []


async def test_fewer_targets_than_approved_are_no_drift(tmp_path: Path) -> None:
    target = tmp_path / "lines"
    target.write_text("a\nb\n", encoding="utf-8")
    async with lab(tmp_path / "a.db", [call("wipe", {"path": str(target)}), say("ok")]) as bench:
        run = await bench.ask()
        target.write_text("a\n", encoding="utf-8")
        await bench.decide(await bench.only(run), Approve())
        assert marks(target) == []


async def test_a_policy_changed_while_waiting_may_forbid_what_was_approved(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    policy = TablePolicy()
    async with lab(
        tmp_path / "a.db", [call("mark", {"path": str(target)}), say("ok")], policy=policy
    ) as bench:
        run = await bench.ask()
        policy.verdicts["mark"] = "deny"
        await bench.decide(await bench.only(run), Approve())
        assert [status for status, _ in await bench.results(run)] == ["denied"]
        assert marks(target) == []


async def test_a_policy_changed_while_waiting_never_loosens(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    policy = TablePolicy()
    async with lab(
        tmp_path / "a.db", [call("mark", {"path": str(target)}), say("ok")], policy=policy
    ) as bench:
        run = await bench.ask()
        policy.verdicts["mark"] = "allow"
        policy.version = "v2"
        assert (await bench.head(run)).state == "waiting"
        await bench.decide(await bench.only(run), Reject())
        assert marks(target) == []


# ── Breakpoints ──────────────────────────────────────────────────────────────────────────────────────────


async def test_a_final_answer_can_be_reviewed_and_edited_before_it_is_posted(tmp_path: Path) -> None:
    point = Breakpoint(when="after", step="model", tools=(), reason="Check the answer")
    async with lab(tmp_path / "a.db", [call("look", {}), say("It is fine, mate.")]) as bench:
        run = await bench.ask(breakpoints=(point,))
        review = await bench.only(run)
        assert (review.kind, review.reason) == ("review", "Check the answer")
        assert review.subject == {"step": "after model 2", "calls": [], "text": "It is fine, mate."}
        await bench.decide(review, Edit(text="It is fine."), DEV)
        assert bench.front.events[-1] == RunEnded(state="done", text="It is fine.")


async def test_a_rejected_draft_goes_back_to_the_model_with_the_reason(tmp_path: Path) -> None:
    point = Breakpoint(when="after", step="model", tools=())
    model = ScriptedModel([say("Rude."), say("Polite.")])
    async with lab(tmp_path / "a.db", model) as bench:
        run = await bench.ask(breakpoints=(point,))
        await bench.decide(await bench.only(run), Reject(reason="be polite"), DEV)
        await bench.decide(await bench.only(run), Approve(), DEV)
        assert bench.front.events[-1] == RunEnded(state="done", text="Polite.")
        last = model.requests[-1].transcript[-1].item
        assert last == UserText(
            author=DEV.id, text="dev reviewed this and wants it changed because: be polite."
        )


async def test_arguments_edited_in_a_review_are_judged_again(tmp_path: Path) -> None:
    point = Breakpoint(when="before", step="tools")
    policy = TablePolicy(verdicts={"mark": "allow"})
    target = tmp_path / "marks"
    script = [call("mark", {"path": str(target)}, id="c1"), say("ok")]
    async with lab(tmp_path / "a.db", script, policy=policy) as bench:
        run = await bench.ask(breakpoints=(point,))
        review = await bench.only(run)
        with pytest.raises(InvalidAnswer, match="no call 'c9'"):
            await bench.decide(review, Edit(args={"c9": {}}), DEV)
        await bench.decide(review, Edit(args={"c1": {"path": str(target), "text": "forbidden"}}), DEV)
        assert [status for status, _ in await bench.results(run)] == ["denied"]
        assert marks(target) == []


async def test_stepping_stops_at_every_step(tmp_path: Path) -> None:
    every = (
        Breakpoint(when="before", step="model"),
        Breakpoint(when="after", step="model"),
        Breakpoint(when="before", step="tools"),
        Breakpoint(when="after", step="tools"),
    )
    async with lab(tmp_path / "a.db", [call("look", {}), say("ok")]) as bench:
        run = await bench.ask(breakpoints=every)
        stops: list[str] = []
        while waiting := await bench.open(run):
            stops.append(str((waiting[0].subject or {})["step"]))
            await bench.decide(waiting[0], Approve(), DEV)
        assert stops == [
            "before model 0",
            "after model 1",
            "before tools 1",
            "after tools 1",
            "before model 1",
            "after model 2",
        ]
        assert (await bench.head(run)).state == "done"


# ── Cancel, notes, continuing, forking ───────────────────────────────────────────────────────────────────


async def test_a_running_tool_is_stopped_when_its_run_is_cancelled(tmp_path: Path) -> None:
    GATES["cancelled"] = asyncio.Event()
    policy = TablePolicy(verdicts={"hold": "allow"})
    async with lab(tmp_path / "a.db", [call("hold", {"what": "cancelled"})], policy=policy) as bench:
        request = asyncio.get_running_loop().create_task(bench.ask())
        await bench.front.until(CallStarted)
        (head,) = await bench.store.heads()
        await bench.runner.cancel(head.run_id, DEV.id, "enough")
        run = await request
        head = await bench.head(run)
        assert (head.state, head.ending) == ("cancelled", "Cancelled by dev: enough")
        assert [status for status, _ in await bench.results(run)] == ["cancelled"]


async def test_cancelling_a_waiting_run_withdraws_its_question(tmp_path: Path) -> None:
    async with lab(tmp_path / "a.db", [call("mark", {"path": "p"})]) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        await bench.runner.cancel(run, DEV.id)
        await bench.supervisor.settled(run)
        assert (await bench.head(run)).state == "cancelled"
        with pytest.raises(Exception, match=r"was withdrawn by dev at"):
            await bench.decide(question, Approve())
        with pytest.raises(AlreadyResumed, match="already resumed: run here-run1 is cancelled"):
            await bench.runner.cancel(run, DEV.id)
        with pytest.raises(CheckpointNotFound):
            await bench.runner.cancel(RunId("nope"), DEV.id)


async def test_an_approved_sibling_starts_while_another_still_runs(tmp_path: Path) -> None:
    GATES["slow"] = asyncio.Event()
    target = tmp_path / "marks"
    policy = TablePolicy(verdicts={"hold": "allow"})
    both = calls(
        tool_call("hold", {"what": "slow"}, id="c1"), tool_call("mark", {"path": str(target)}, id="c2")
    )
    async with lab(tmp_path / "a.db", [both, say("ok")], policy=policy) as bench:
        request = asyncio.get_running_loop().create_task(bench.ask())
        await bench.front.until(CallStarted)
        (head,) = await bench.store.heads()
        await bench.runner.decide((await bench.only(head.run_id)).id, Approve(), ANN)
        await bench.front.until(CallStarted, 2)
        GATES["slow"].set()
        assert (await bench.head(await request)).state == "done"
        assert marks(target) == ["x"]


async def test_text_written_while_a_run_waits_reaches_the_agent_and_never_counts_as_approval(
    tmp_path: Path,
) -> None:
    model = ScriptedModel([call("mark", {"path": str(tmp_path / "m")}), say("ok")])
    async with lab(tmp_path / "a.db", model) as bench:
        run = await bench.ask()
        await bench.runner.note(run, ANN.id, "yes")
        assert (await bench.head(run)).state == "waiting"
        await bench.decide(await bench.only(run), Reject())
        assert model.requests[-1].transcript[-1].item == UserText(author=ANN.id, text="yes")
        assert await bench.store.notes(run) == ()


async def test_a_later_request_continues_the_conversation_without_copying_it(tmp_path: Path) -> None:
    model = ScriptedModel([say("First answer."), say("Second answer.")])
    async with lab(tmp_path / "a.db", model) as bench:
        first = await bench.ask("one")
        head = await bench.head(first)
        second = await bench.ask("two", base=Base(run_id=first, cursor=head.cursor))
        heard = [entry.item for entry in model.requests[-1].transcript]
        assert [getattr(item, "text", "") for item in heard] == ["one", "First answer.", "two"]
        assert (await bench.head(second)).cursor == 2


async def test_a_fork_goes_another_way_from_an_earlier_point(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    script = [call("mark", {"path": str(target)}, id="c1"), say("As you like."), say("Forked.")]
    async with lab(tmp_path / "a.db", script) as bench:
        run = await bench.ask()
        await bench.decide(await bench.only(run), Reject(reason="no"))
        with pytest.raises(InvalidAnswer, match="entries 1 to"):
            await bench.runner.fork(run, at=99, by=DEV.id)
        # Entries: request, model turn | decision, result, answer. Up to the turn, the call is open again.
        fork = await bench.runner.fork(run, at=2, by=DEV.id)
        await bench.supervisor.settled(fork)
        await bench.decide(await bench.only(fork), Approve())
        assert marks(target) == ["x"]
        assert (await bench.head(fork)).state == "done"
        assert [status for status, _ in await bench.results(run)] == ["declined"]


async def test_a_run_that_does_not_decode_is_set_aside_and_people_are_told(tmp_path: Path) -> None:
    async with lab(tmp_path / "a.db", [call("mark", {"path": "p"})]) as bench:
        run = await bench.ask()
        question = await bench.only(run)
    with sqlite3.connect(tmp_path / "a.db") as raw:
        raw.execute('UPDATE entries SET body = \'{"kind":"model","blocks":3}\' WHERE seq = 1')
    raw.close()
    async with lab(tmp_path / "a.db") as bench:
        await bench.decide(question, Approve())
        last = bench.front.events[-1]
        assert isinstance(last, RunEnded)
        assert last.state == "quarantined"
        assert "cannot be read and was set aside" in last.text
        assert (await bench.store.state_counts()) == {"quarantined": 1}


async def test_the_model_sees_the_rules_and_its_working_directory(tmp_path: Path) -> None:
    model = ScriptedModel([say("ok")])
    async with lab(tmp_path / "a.db", model) as bench:
        await bench.ask()
        seen: ModelRequest = model.requests[0]
        assert "Working directory: /work" in seen.system
        assert "declined" in seen.system


async def test_a_recovery_question_offers_three_ways(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    GATES["dead"] = asyncio.Event()
    policy = TablePolicy(verdicts={"hold": "allow"})
    async with lab(
        tmp_path / "a.db", [call("hold", {"what": "dead"}, id="c1")], policy=policy, worker="w1"
    ) as bench:
        request = asyncio.get_running_loop().create_task(bench.ask())
        await bench.front.until(CallStarted)
        request.cancel()
    async with lab(tmp_path / "a.db", [say("ok")], policy=policy, worker="w2") as bench:
        assert await bench.supervisor.recover() == 1
        await bench.supervisor.idle()
        (asked,) = await bench.store.open_interrupts()
        question = asked.interrupt
        assert question.kind == "recovery"
        assert (
            question.reason == "I was restarted while hold was running and cannot know whether it finished."
        )
        assert [option.label for option in question.options] == ["It happened", "Run it again", "Stop here"]
        GATES["dead"].set()
        await bench.decide(question, Choose(option="again"), DEV)
        assert (await bench.results(question.run_id)) == [("ok", "released")]
    assert marks(target) == []


async def test_an_answer_in_the_very_moment_the_question_appears_is_not_lost(tmp_path: Path) -> None:
    """The card is shown after the commit and before the driver has left: an eager person clicks right then."""
    target = tmp_path / "marks"
    async with lab(tmp_path / "a.db", [call("mark", {"path": str(target)}), say("ok")]) as bench:
        original = bench.front.show

        async def eager(thread: Thread, run_id: RunId, event: LiveEvent) -> None:
            await original(thread, run_id, event)
            if isinstance(event, InterruptsOpened):
                await bench.runner.decide(event.interrupts[0].id, Approve(), ANN)

        bench.front.show = eager
        run = await bench.ask()
        assert (await bench.head(run)).state == "done"
        assert marks(target) == ["x"]
