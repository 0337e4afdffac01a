"""What operators look at: health, readiness, metrics, logs, traces."""

import json
import logging
from pathlib import Path

import pytest

from bot.domain.errors import ConfigError
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


def test_no_endpoint_means_no_traces_and_a_missing_package_is_said() -> None:
    with tracing(None) as traces:
        assert traces is None
    try:
        import opentelemetry.sdk  # noqa: F401, PLC0415
    except ImportError:
        with pytest.raises(ConfigError), tracing("http://127.0.0.1:1"):
            pass
