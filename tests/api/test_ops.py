"""What operators look at: health, readiness, metrics, logs, traces."""

import asyncio
import json
import logging
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.domain.ids import CallId, RunId, ThreadId
from bot.domain.run import Thread
from bot.domain.tool import Planned, ToolResult
from bot.engine.ports import CallFinished, CallStarted
from bot.llm.scripted import call, say
from bot.telemetry import JsonLines, tracing
from tests.api.server import bench


async def test_ready_says_what_is_missing(tmp_path: Path) -> None:
    async def fine() -> str:
        return ""

    async def down() -> str:
        return "not connected"

    async def broken() -> str:
        raise RuntimeError("secret host name")

    async with bench(tmp_path / "a.db", checks={"scheduler": fine}) as api:
        ready = await api.call("GET", "/readyz", scopes="read")
        assert (ready.status, ready.body["checks"]) == (200, {"database": "ok", "scheduler": "ok"})
    async with bench(tmp_path / "a.db", checks={"slack": down, "other": broken}) as api:
        ready = await api.call("GET", "/readyz", scopes="read")
        assert ready.status == 503
        assert ready.body["checks"] == {
            "database": "ok",
            "slack": "not connected",
            "other": "failed; see the log",
        }


async def test_metrics_count_runs_questions_decisions_tools_tokens_and_queues(tmp_path: Path) -> None:
    script = [call("mark", {"path": str(tmp_path / "m")}), say("Done."), call("mark", {"path": "/y"})]
    async with bench(tmp_path / "a.db", script) as api:
        session = (await api.chat()).headers["X-Session-Id"]
        api.clock.pass_(seconds=30)
        await api.resume(session_id=session, answer="yes")
        await api.chat()
        text = (await api.call("GET", "/metrics", scopes="read")).body
        for line in (
            'askfirst_runs{state="waiting"} 1.0',
            'askfirst_runs_ended_total{state="done"} 1.0',
            'askfirst_interrupts_opened_total{kind="approval",rule="careful"} 2.0',
            'askfirst_interrupts_settled_total{kind="approval",outcome="approved",rule="careful"} 1.0',
            'askfirst_interrupts_open{kind="approval",rule="careful"} 1.0',
            'askfirst_decision_seconds_sum{kind="approval"} 30.0',
            'askfirst_tool_seconds_count{status="ok",tool="mark"} 1.0',
            'askfirst_model_tokens_total{kind="input",model="scripted"} 0.0',
            'askfirst_queue_age_seconds{queue="ready_runs"} 0.0',
            'askfirst_http_requests_total{method="POST",route="/api/v1/chat",status="200"} 2.0',
        ):
            assert line in text


def test_a_log_line_names_the_run_and_masks_secrets() -> None:
    record = logging.LogRecord(
        "bot.engine", logging.INFO, "f", 1, "token xoxb-%s", ("123456789012-abcdefghijkl",), None
    )
    record.__dict__ |= {"run": "r1", "interrupt": "r1-1", "password": "never"}
    line = json.loads(JsonLines().format(record))
    assert (line["run"], line["interrupt"], line["level"]) == ("r1", "r1-1", "INFO")
    assert "abcdefghijkl" not in line["message"]
    assert "never" not in json.dumps(line)


async def test_traces_go_to_the_endpoint_that_was_set_and_nowhere_otherwise() -> None:
    with tracing(None) as traces:
        assert traces is None
    received: list[bytes] = []

    async def collect(request: web.Request) -> web.Response:
        received.append(await request.read())
        return web.Response()

    app = web.Application()
    app.router.add_post("/v1/traces", collect)
    async with TestServer(app) as collector:
        await asyncio.to_thread(_one_call, str(collector.make_url("")))
    assert b"tool look" in received[0]
    assert b"run-7" in received[0]


def _one_call(endpoint: str) -> None:
    planned = Planned(tool="look", args={})
    result = ToolResult(call_id=CallId("c1"), status="ok", text="secret answer", took_ms=1)
    thread = Thread(id=ThreadId("t"), front="http")
    with tracing(endpoint) as traces:
        assert traces is not None
        for event in (
            CallStarted(call_id=CallId("c1"), planned=planned),
            CallFinished(planned=planned, result=result),
        ):
            asyncio.run(traces.show(thread, RunId("run-7"), event))
