"""A store that says what was written, after it was. For streams and metrics; nothing depends on being told."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from bot.domain.audit import AuditFact
from bot.domain.decision import Outcome
from bot.domain.ids import InterruptId, RunId, WorkerId
from bot.domain.interrupt import Asked
from bot.domain.run import RunState
from bot.engine.ports import CancelRequest, Change, Committed, SettleResult
from bot.engine.timers import Swept, TimeRules
from bot.storage.store import SqlStore


def _nobody(_: Any) -> None:
    """Nobody listens."""


class AnnouncingStore(SqlStore):
    """`SqlStore`, with three ears."""

    #: Something about this run was written.
    on_run: Callable[[RunId], None] = staticmethod(_nobody)
    #: This step of a run was written.
    on_change: Callable[[Change], None] = staticmethod(_nobody)
    #: This interrupt ended, by whomever.
    on_settled: Callable[[Asked], None] = staticmethod(_nobody)

    async def create(self, change: Change, *, worker: WorkerId | None, request_key: str | None) -> RunId:
        run_id = await super().create(change, worker=worker, request_key=request_key)
        self.on_run(run_id)
        return run_id

    async def commit(self, change: Change, worker: WorkerId, now: datetime) -> Committed:
        committed = await super().commit(change, worker, now)
        self.on_change(change)
        self.on_run(change.head.run_id)
        return committed

    async def settle(
        self, interrupt_id: InterruptId, outcome: Outcome, facts: Sequence[AuditFact], **more: Any
    ) -> SettleResult:
        result = await super().settle(interrupt_id, outcome, facts, **more)
        if result.won:
            self.on_settled(result.asked)
        self.on_run(result.asked.interrupt.run_id)
        return result

    async def fire_due(self, now: datetime, rules: TimeRules, *, limit: int) -> Swept:
        swept = await super().fire_due(now, rules, limit=limit)
        for run_id in (*swept.ready, *swept.changed):
            self.on_run(run_id)
        return swept

    async def request_cancel(self, run_id: RunId, request: CancelRequest, now: datetime) -> RunState:
        state = await super().request_cancel(run_id, request, now)
        self.on_run(run_id)
        return state
