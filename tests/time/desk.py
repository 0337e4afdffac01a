"""A lab whose thread keeps messages, terms with a ladder of timers, and a look into the outbox."""

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bot.domain.ids import RunId, ThreadId
from bot.domain.run import AgentSpec, Thread
from bot.domain.verdict import ApprovalTerms, Approvers, Escalation, OnTimeout
from bot.engine.ports import Model
from bot.engine.timers import Swept, TimeRules
from bot.llm.scripted import Step
from bot.storage.sqlite import SqliteDatabase
from bot.storage.transactions import Row, Transaction
from tests.engine.lab import Clock, Lab, lab
from tests.fakes.policies import TablePolicy

SLACK = Thread(id=ThreadId("C1/1.0"), front="slack", channel="C1", keeps_messages=True)
ONCALL = Approvers(users=("ann",), groups=("S-oncall",), requester_may_approve=True, label="oncall")
STORAGE = Approvers(users=("eve",), groups=("S-storage",), label="storage")


def ladder(
    *,
    on_timeout: OnTimeout = "deny",
    expires: float = 15,
    remind: tuple[float, ...] = (5,),
    escalate: float | None = 10,
    snooze_extends: bool = False,
) -> ApprovalTerms:
    """Minutes after the question: remind, escalate to storage, expire."""
    return ApprovalTerms(
        approvers=ONCALL,
        expires=timedelta(minutes=expires),
        remind=tuple(timedelta(minutes=after) for after in remind),
        escalate=Escalation(after=timedelta(minutes=escalate), to=STORAGE) if escalate else None,
        on_timeout=on_timeout,
        snooze_extends=snooze_extends,
    )


@asynccontextmanager
async def desk(
    path: Path,
    script: Iterable[Step] | Model = (),
    *,
    terms: ApprovalTerms | None = None,
    clock: Clock | None = None,
    worker: str = "here",
    rules: TimeRules | None = None,
    patience: timedelta = timedelta(hours=24),
    thread: Thread = SLACK,
) -> AsyncGenerator[Lab]:
    policy = TablePolicy(verdicts={"look": "allow", "ask_somebody": "allow"}, terms=terms or ladder())
    async with lab(
        path,
        script,
        policy=policy,
        clock=clock,
        worker=worker,
        rules=rules,
        # Two processes live side by side here; nobody takes over from anybody.
        is_gone=lambda owner, seen, now: False,
    ) as bench:
        bench.thread = thread
        bench.agent = AgentSpec(model="scripted", cwd="/work", patience=patience)
        yield bench


async def sweep(bench: Lab) -> Swept:
    """Sweep, and wait until every run that could go on has."""
    swept = await bench.runner.sweep()
    await bench.supervisor.idle()
    return swept


def database(bench: Lab) -> SqliteDatabase:
    found: Any = bench.store
    return found._db


def _query(name: str, *args: Any) -> Transaction[list[Row]]:
    return (yield name, args)


async def query(bench: Lab, name: str, *args: Any) -> list[Row]:
    """Run one of the store's statements."""
    return await database(bench).write(_query(name, *args))


async def posts(bench: Lab, kind: str | None = None) -> list[dict[str, Any]]:
    """The bodies of the posts that are to be shown, oldest first, with their key and kind; cards left out."""
    rows = await query(bench, "due_posts", "slack", 2**62, 10_000)
    return [
        {"key": row[0], "kind": row[4], **json.loads(row[6])}
        for row in rows
        if row[6] and kind in {None, row[4]}
    ]


async def timeline(bench: Lab, run_id: RunId) -> list[tuple[str, bool]]:
    """What time did to a run, from the audit log: (kind, late)."""
    kinds = {"reminder", "escalation", "timeout"}
    records = await bench.store.audit_of(run_id)
    return [
        (record.fact.kind, bool(record.fact.body.get("late")))
        for record in records
        if record.fact.kind in kinds
    ]


def iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
