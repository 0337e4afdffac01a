"""What really happened, read from the database, for `askfirst policy replay` and `suggest`."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from bot.domain.decision import describe
from bot.domain.ids import CallId
from bot.domain.interrupt import Asked
from bot.domain.run import Head
from bot.domain.tool import ToolCall
from bot.domain.transcript import ModelTurn
from bot.policy.replay import PastCall
from bot.settings import load_settings
from bot.storage.store import SqlStore
from bot.wiring import open_store

#: Runs looked at, newest first; more would not change what a person concludes.
_MOST_RUNS = 5000


def from_database(since: datetime | None) -> Iterable[PastCall]:
    """Return every call that was judged, oldest first."""
    return asyncio.run(_read(since))


async def _read(since: datetime | None) -> list[PastCall]:
    found: list[PastCall] = []
    async with open_store(load_settings()) as store:
        for head in await store.heads(limit=_MOST_RUNS):
            if since is None or head.created_at >= since:
                found += await _calls_of(store, head)
    return sorted(found, key=lambda past: past.at)


async def _calls_of(store: SqlStore, head: Head) -> list[PastCall]:
    verdicts = {
        CallId(record.fact.body["call"]): record.fact
        for record in await store.audit_of(head.run_id)
        if record.fact.kind == "verdict"
    }
    asked = {each.interrupt.call_id: each for each in await store.interrupts_of(head.run_id)}
    proposed = [
        call
        for entry in await store.transcript(head.run_id)
        if isinstance(entry.item, ModelTurn)
        for call in entry.item.calls
        if call.id in verdicts
    ]
    return [
        _past(head, call, verdicts[call.id].at, verdicts[call.id].body, asked.get(call.id))
        for call in proposed
    ]


def _past(head: Head, call: ToolCall, at: datetime, verdict: dict[str, Any], asked: Asked | None) -> PastCall:
    outcome = asked.outcome if asked else None
    decided = outcome.decision.at if outcome and outcome.kind == "decided" else None
    return PastCall(
        at=at,
        channel=head.thread.channel,
        requester=head.requester,
        tool=call.tool,
        args=call.args,
        impact=asked.interrupt.impact if asked else None,
        verdict_then=verdict["verdict"],
        decision=describe(outcome) if outcome else "",
        cwd=head.agent.cwd or "/",
        seconds_to_decision=(decided - asked.interrupt.opened_at).total_seconds()
        if decided and asked
        else None,
    )
