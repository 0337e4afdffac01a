"""Runs and approvals over HTTP: look, change, stop, fork, decide, explain."""

from pathlib import Path

from bot.domain.decision import Approve
from bot.domain.ids import RunId, ThreadId
from bot.domain.run import AgentSpec, Thread
from bot.engine.runner import Request
from bot.llm.scripted import ScriptedModel, call, say
from tests.api.server import bench
from tests.engine.lab import ANN, DEV
from tests.engine.tools import marks


async def test_runs_are_listed_and_inspected(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [say("Hello."), call("mark", {"path": "/x"})]) as api:
        await api.chat("one")
        waiting = (await api.chat("two")).headers["X-Run-Id"]
        listed = (await api.call("GET", "/api/v1/runs")).body["runs"]
        assert [run["state"] for run in listed] == ["waiting", "done"] or len(listed) == 2
        only = (await api.call("GET", "/api/v1/runs?state=waiting&limit=5")).body["runs"]
        assert [run["run_id"] for run in only] == [waiting]
        run = (await api.call("GET", f"/api/v1/runs/{waiting}")).body
        assert run["next"] == [f"answer {waiting}-1: approval of mark"]
        assert [entry["kind"] for entry in run["transcript"]] == ["user", "model"]
        assert run["metadata"]["requester"] == "dev"
        assert run["interrupts"][0]["status"] == "open"


async def test_people_see_their_own_runs_and_readers_see_all(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [say("Hello.")]) as api:
        run = (await api.chat()).headers["X-Run-Id"]
        assert (await api.call("GET", f"/api/v1/runs/{run}", person="eve", scopes="ask")).status == 404
        assert (await api.call("GET", "/api/v1/runs", person="eve", scopes="ask")).body["runs"] == []
        assert (await api.call("GET", f"/api/v1/runs/{run}", person="eve", scopes="ask,read")).status == 200


async def test_a_waiting_run_is_changed_before_it_is_resumed(tmp_path: Path) -> None:
    model = ScriptedModel([call("mark", {"path": str(tmp_path / "m")}), say("Done.")])
    async with bench(tmp_path / "a.db", model) as api:
        asked = await api.chat()
        run, session = asked.headers["X-Run-Id"], asked.headers["X-Session-Id"]
        version = (await api.call("GET", f"/api/v1/runs/{run}")).body["metadata"]["version"]
        change = {
            "version": version,
            "note": "be brief",
            "instructions": "Rhyme.",
            "labels": {"ticket": "OPS-1"},
        }
        changed = await api.call("PATCH", f"/api/v1/runs/{run}", change)
        assert changed.body["values"]["labels"] == {"ticket": "OPS-1"}
        recorded = (await api.store.audit_of(RunId(run)))[-1].fact
        assert recorded.body == {"by": "dev", "changed": ["instructions", "labels", "note"], "via": "http"}
        stale = await api.call("PATCH", f"/api/v1/runs/{run}", change)
        assert (stale.status, stale.body["type"]) == (409, "urn:askfirst:problem:lost-race")
        await api.resume(session_id=session, answer="yes")
        assert "Rhyme." in model.requests[1].system
        assert "be brief" in str(model.requests[1].transcript)
        late = await api.call("PATCH", f"/api/v1/runs/{run}", {"note": "too late"})
        assert (late.status, late.body["type"]) == (409, "urn:askfirst:problem:already-resumed")


async def test_a_run_is_cancelled_once(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [call("mark", {"path": str(tmp_path / "m")})]) as api:
        asked = await api.chat()
        run, session = asked.headers["X-Run-Id"], asked.headers["X-Session-Id"]
        stopped = await api.call("POST", f"/api/v1/runs/{run}/cancel", {"reason": "wrong day"})
        assert stopped.status == 200
        rest = await api.call("GET", f"/api/v1/chat/{session}/events", Last_Event_ID=asked.events[-1].id)
        assert rest.only("done")["state"] == "cancelled"
        again = await api.call("POST", f"/api/v1/runs/{run}/cancel", {})
        assert again.status == 409
        assert marks(tmp_path / "m") == []


async def test_a_fork_goes_another_way_in_a_session_of_its_own(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [say("Hello."), say("Hi.")]) as api:
        first = await api.chat("greet me")
        run = first.headers["X-Run-Id"]
        fork = (await api.call("POST", f"/api/v1/runs/{run}/fork", {"at": 1})).body
        assert fork["session_id"] != first.headers["X-Session-Id"]
        told = await api.call("GET", f"/api/v1/chat/{fork['session_id']}/events")
        assert told.only("done")["text"] == "Hi."
        wrong = await api.call("POST", f"/api/v1/runs/{run}/fork", {"at": 99})
        assert wrong.status == 422


async def test_approvals_are_listed_for_those_who_may_decide(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [call("mark", {"path": str(tmp_path / "m")}), say("Done.")]) as api:
        name = (await api.chat()).only("interrupt")["interrupt_id"]
        for person, seen in (("ann", [name]), ("dev", [name]), ("eve", [])):
            listed = await api.call("GET", "/api/v1/approvals", person=person, scopes="decide")
            assert [each["id"] for each in listed.body["approvals"]] == seen
        path = f"/api/v1/approvals/{name}"
        decided = await api.call("POST", f"{path}/decision", {"decision": {"verb": "approve"}}, person="ann")
        assert decided.body["interrupt"]["outcome"] == "approved"
        settled = await api.call("GET", path, person="ann", scopes="decide")
        assert settled.body["status"] == "settled"
        run = (await api.call("GET", f"/api/v1/approvals/{name}/explain", person="ann")).body
        assert run["tool"] == "mark"


async def test_the_policy_explains_a_call(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db") as api:
        told = await api.call("POST", "/api/v1/policy/explain", {"tool": "mark", "args": {"path": "/x"}})
        assert told.body["verdict"] == {"kind": "deny", "rules": ["table"], "reason": "It is a table."}


async def test_a_question_raised_in_slack_is_answered_over_http_and_its_card_is_shown_again(
    tmp_path: Path,
) -> None:
    target = tmp_path / "m"
    async with bench(tmp_path / "a.db", [call("mark", {"path": str(target)}), say("Done.")]) as api:
        thread = Thread(id=ThreadId("C1:17.5"), front="slack", channel="C1", keeps_messages=True)
        agent = AgentSpec(model="scripted", cwd="/work")
        run = await api.runner.ask(Request(thread=thread, requester=DEV.id, text="please", agent=agent))
        await api.supervisor.settled(run)
        (question,) = await api.store.open_interrupts(run)
        before = await card(tmp_path / "a.db", question.interrupt.id)
        path = f"/api/v1/approvals/{question.interrupt.id}/decision"
        reply = await api.call("POST", path, {"decision": {"verb": "approve"}}, person="ann", scopes="decide")
        assert reply.status == 200
        await api.supervisor.settled(run)
        assert marks(target) == ["x"]
        asked = await api.store.asked(question.interrupt.id)
        assert asked is not None
        assert asked.outcome is not None
        assert asked.outcome.kind == "decided"
        assert asked.outcome.decision.via == "http"
        # What the Slack front reads to show the card again.
        assert await card(tmp_path / "a.db", question.interrupt.id) > before


async def test_a_question_asked_over_http_is_answered_elsewhere_and_the_late_answer_is_told_so(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path / "a.db", [call("mark", {"path": str(tmp_path / "m")}), say("Done.")]) as api:
        asked = await api.chat()
        (question,) = await api.store.open_interrupts(RunId(asked.headers["X-Run-Id"]))
        await api.runner.decide(question.interrupt.id, Approve(), ANN, via="slack")
        late = await api.resume(session_id=asked.headers["X-Session-Id"], answer="no", person="bob")
        assert (late.status, late.body["title"]) == (409, "already resumed")


async def card(database: Path, interrupt: str) -> int:
    """How often the card of an interrupt was wanted."""
    import sqlite3  # noqa: PLC0415

    with sqlite3.connect(database) as connection:
        rows = connection.execute(
            "SELECT wanted FROM outbox WHERE key = ?", (f"card/{interrupt}",)
        ).fetchall()
    connection.close()
    return rows[0][0]
