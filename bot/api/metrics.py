"""Figures for Prometheus: what happened in this process as it happens, how things stand when somebody scrapes."""

from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily

from bot.api.ports import Figures
from bot.domain.decision import describe
from bot.domain.interrupt import Asked, Interrupt
from bot.domain.run import FINAL, Thread
from bot.domain.transcript import ModelTurn
from bot.engine.ports import CallFinished, Change, LiveEvent

#: People take from seconds to days.
_DECISION_SECONDS = (5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600)
_TOOL_SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300)


def _rule(interrupt: Interrupt) -> str:
    return interrupt.rules[0] if interrupt.rules else ""


class Metrics:
    """One registry of its own, so that several engines can live in one process."""

    def __init__(self) -> None:
        mine = self._registry = CollectorRegistry()
        self._ended = Counter(
            "askfirst_runs_ended", "Runs that came to an end here", ["state"], registry=mine
        )
        self._opened = Counter(
            "askfirst_interrupts_opened", "Questions asked", ["kind", "rule"], registry=mine
        )
        self._settled = Counter(
            "askfirst_interrupts_settled", "Questions that ended", ["kind", "rule", "outcome"], registry=mine
        )
        self._waited = Histogram(
            "askfirst_decision_seconds",
            "From question to decision",
            ["kind"],
            buckets=_DECISION_SECONDS,
            registry=mine,
        )
        self._took = Histogram(
            "askfirst_tool_seconds",
            "How long tools ran",
            ["tool", "status"],
            buckets=_TOOL_SECONDS,
            registry=mine,
        )
        self._tokens = Counter("askfirst_model_tokens", "Tokens used", ["model", "kind"], registry=mine)
        self._requests = Counter(
            "askfirst_http_requests", "Requests answered", ["route", "method", "status"], registry=mine
        )

    # What happens -----------------------------------------------------------------------------------------

    def committed(self, change: Change) -> None:
        """A step of a run was stored."""
        for interrupt in change.opened:
            self._opened.labels(interrupt.kind, _rule(interrupt)).inc()
        for entry in change.entries:
            if isinstance(entry.item, ModelTurn):
                self._spent(entry.item)
        if change.head.state in FINAL:
            self._ended.labels(change.head.state).inc()

    def _spent(self, turn: ModelTurn) -> None:
        used = turn.usage
        kinds = {
            "input": used.input_tokens,
            "output": used.output_tokens,
            "cache_read": used.cache_read_tokens,
            "cache_write": used.cache_write_tokens,
        }
        for kind, count in kinds.items():
            self._tokens.labels(turn.model, kind).inc(count)

    def settled(self, asked: Asked) -> None:
        """A question ended."""
        outcome, interrupt = asked.outcome, asked.interrupt
        if outcome is None:
            return
        self._settled.labels(interrupt.kind, _rule(interrupt), describe(outcome)).inc()
        if outcome.kind == "decided":
            waited = (outcome.decision.at - interrupt.opened_at).total_seconds()
            self._waited.labels(interrupt.kind).observe(max(0.0, waited))

    async def show(self, thread: Thread, run_id: str, event: LiveEvent) -> None:
        """`engine.ports.Front`: tools report how long they took."""
        del thread, run_id
        if isinstance(event, CallFinished) and event.result.took_ms is not None:
            self._took.labels(event.planned.tool, event.result.status).observe(event.result.took_ms / 1000)

    def answered(self, route: str, method: str, status: int) -> None:
        self._requests.labels(route, method, str(status)).inc()

    # How things stand -------------------------------------------------------------------------------------

    def render(self, figures: Figures, now: datetime) -> bytes:
        """Everything as Prometheus reads it."""
        current = _Current(figures, now)
        self._registry.register(current)
        try:
            return generate_latest(self._registry)
        finally:
            self._registry.unregister(current)


class _Current:
    """Gauges that are read from the database, not counted here."""

    def __init__(self, figures: Figures, now: datetime) -> None:
        self._figures = figures
        self._now = now

    def collect(self) -> list[GaugeMetricFamily]:
        runs = GaugeMetricFamily("askfirst_runs", "Runs by state", labels=["state"])
        for state, count in self._figures.runs.items():
            runs.add_metric([state], count)
        waiting = GaugeMetricFamily("askfirst_interrupts_open", "Open questions", labels=["kind", "rule"])
        for (kind, rule), count in self._figures.open.items():
            waiting.add_metric([kind, rule], count)
        length = GaugeMetricFamily("askfirst_queue_length", "What waits in a queue", labels=["queue"])
        age = GaugeMetricFamily(
            "askfirst_queue_age_seconds", "Age of the oldest in a queue", labels=["queue"]
        )
        for queue, (count, oldest) in self._figures.queues.items():
            length.add_metric([queue], count)
            age.add_metric([queue], max(0.0, (self._now - oldest).total_seconds()) if oldest else 0.0)
        return [runs, waiting, length, age]
