"""Logs that machines can read, and OpenTelemetry traces where they are wanted. Neither holds secrets."""

import hashlib
import json
import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Literal

from bot.domain.errors import ConfigError
from bot.domain.ids import RunId
from bot.domain.run import Thread
from bot.engine.ports import CallFinished, CallStarted, InterruptsOpened, LiveEvent, RunEnded
from bot.tools.redact import Redactor

#: What log records carry besides their message; anything else in `extra` is left out.
_FIELDS = ("run", "interrupt", "tool", "path", "session", "check", "token", "method", "status")


class JsonLines(logging.Formatter):
    """One JSON object a line, with run and interrupt ids, secrets masked."""

    def __init__(self) -> None:
        super().__init__()
        self._redactor = Redactor()

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"at": at, "level": record.levelname, "logger": record.name}
        line["message"] = self._redactor.redact(record.getMessage())
        line |= {name: str(value) for name in _FIELDS if (value := record.__dict__.get(name)) is not None}
        if record.exc_info:
            line["error"] = self._redactor.redact(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


def set_up_logs(kind: Literal["text", "json"]) -> None:
    """Have every log record written as JSON, if that is wanted."""
    if kind == "json":
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(JsonLines())
        logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


class Traces:
    """`engine.ports.Front`: spans for tool calls, questions and ends. All of a run's are in one trace, whose id is
    made of the run's: whatever process goes on with it, days later, adds to the same one.
    """

    def __init__(self, tracer: Any, api: Any) -> None:
        self._tracer = tracer
        self._api = api
        self._calls: dict[str, Any] = {}

    async def show(self, thread: Thread, run_id: RunId, event: LiveEvent) -> None:
        match event:
            case CallStarted(call_id=call_id, planned=planned):
                self._calls[call_id] = self._begin(
                    run_id, f"tool {planned.tool}", call=call_id, front=thread.front
                )
            case CallFinished(result=result):
                span = self._calls.pop(result.call_id, None)
                if span is not None:
                    span.set_attribute("askfirst.status", result.status)
                    span.end()
            case InterruptsOpened(interrupts=interrupts):
                for interrupt in interrupts:
                    rules = ",".join(interrupt.rules)
                    self._begin(
                        run_id, f"interrupt {interrupt.kind}", interrupt=interrupt.id, rules=rules
                    ).end()
            case RunEnded(state=state):
                self._begin(run_id, "run ended", state=state).end()
            case _:
                pass

    def _begin(self, run_id: RunId, name: str, **about: str) -> Any:
        attributes = {f"askfirst.{key}": value for key, value in {"run": run_id, **about}.items()}
        return self._tracer.start_span(name, context=self._of_run(run_id), attributes=attributes)

    def _of_run(self, run_id: RunId) -> Any:
        name = hashlib.sha256(run_id.encode()).digest()
        parent = self._api.SpanContext(
            trace_id=int.from_bytes(name[:16]),
            span_id=int.from_bytes(name[16:24]),
            is_remote=True,
            trace_flags=self._api.TraceFlags(self._api.TraceFlags.SAMPLED),
        )
        return self._api.set_span_in_context(self._api.NonRecordingSpan(parent))


@contextmanager
def tracing(endpoint: str | None) -> Generator[Traces | None]:
    """Send traces to `endpoint` inside this block; nothing at all without one.

    Raises:
        ConfigError: traces are wanted but the packages for them are not installed.
    """
    if endpoint is None:
        yield None
        return
    provider, api = _provider(endpoint)
    try:
        yield Traces(provider.get_tracer("askfirst"), api)
    finally:
        provider.shutdown()


def _provider(endpoint: str) -> tuple[Any, Any]:
    # Imported here: an optional extra, and slow to load for those who do not want it.
    try:
        from opentelemetry import trace  # noqa: PLC0415
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as error:
        raise ConfigError("Traces need the extra: pip install 'askfirst[otel]'.") from error
    provider = TracerProvider(resource=Resource.create({"service.name": "askfirst"}))
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider, trace
