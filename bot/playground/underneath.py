"""What the side panel shows: questions with the policy's reasons, timers, runs, the audit chain. It only reads."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from bot.domain.audit import GENESIS, AuditRecord, chained
from bot.domain.canonical import JsonObject, canonical
from bot.domain.interrupt import Asked
from bot.domain.literal import shortened, visible
from bot.domain.run import Head
from bot.domain.tool import ToolCall
from bot.engine.judge import Judge
from bot.engine.live_policies import LivePolicies
from bot.engine.ports import Clock
from bot.engine.snapshot import snapshot
from bot.engine.timers import timers_of
from bot.playground.shapes import as_list
from bot.policy.explain import explain
from bot.settings import Settings
from bot.storage.store import SqlStore
from bot.tools.builtin.assemble import builtin_tools
from bot.tools.registry import Registry
from bot.wiring import TokenPeople, open_store

_RUNS = 5
_TAIL = 25
_ENTRIES = 30


class Underneath:
    """Looks into the database that the bot's process writes."""

    def __init__(self, store: SqlStore, policies: LivePolicies, clock: Clock) -> None:
        self._store = store
        self._policies = policies
        self._clock = clock
        toolbox = Registry(builtin_tools(clock=clock))
        self._judge = Judge(
            toolbox=toolbox, policies=policies, store=store, clock=clock, people=TokenPeople(store)
        )

    async def facts(self) -> JsonObject:
        """Everything the panel shows, but for the process and the clock."""
        now = self._clock()
        waiting = [await self._question(asked, now) for asked in await self._store.open_interrupts()]
        due = [timer["due"] for question in waiting for timer in question["timers"]]
        runs = [await self._run(head) for head in await self._store.heads(limit=_RUNS)]
        return {
            "waiting": waiting,
            "next_due": min(due, default=None),
            "runs": runs,
            "audit": await self._audit(),
        }

    async def _question(self, asked: Asked, now: datetime) -> JsonObject:
        interrupt = asked.interrupt
        head = await self._store.head(interrupt.run_id)
        return {
            "id": interrupt.id,
            "kind": interrupt.kind,
            "tool": interrupt.planned.tool if interrupt.planned else "",
            "reason": shortened(visible(interrupt.reason), 300),
            "impact": shortened(visible(interrupt.impact.summary), 300) if interrupt.impact else "",
            "votes": len(asked.votes),
            "quorum": interrupt.quorum,
            "timers": [
                {"kind": timer.kind, "due": timer.due_at.timestamp()}
                for timer in timers_of(interrupt)
                if timer.due_at > now
            ],
            "verdict": self._verdict(head, asked) if head else None,
        }

    def _verdict(self, head: Head, asked: Asked) -> JsonObject | None:
        interrupt = asked.interrupt
        if interrupt.planned is None or interrupt.call_id is None:
            return None
        policy = self._policies.current.for_channel(head.thread.channel)
        call = ToolCall(id=interrupt.call_id, tool=interrupt.planned.tool, args=interrupt.planned.args)
        told = explain(policy, call, self._judge.context(head, interrupt.planned, interrupt.impact))
        return {
            "kind": told.verdict.kind,
            "rules": list(told.verdict.rules),
            "policy": told.policy,
            "heard": [
                {"rule": heard.rule, "block": heard.block, "said": heard.said, "why": heard.why}
                for heard in told.heard
                if heard.said != "elsewhere"
            ],
        }

    async def _run(self, head: Head) -> JsonObject:
        asked = await self._store.interrupts_of(head.run_id)
        seen = snapshot(head, await self._store.transcript(head.run_id), asked)
        verdicts = [
            record.fact.body for record in await self._store.audit_of(head.run_id) if _is_verdict(record)
        ]
        return {
            "id": head.run_id,
            "state": head.state,
            "next": seen["next"],
            "ending": head.ending,
            "version": head.version,
            "entries": len(seen["transcript"]),
            "verdicts": [
                {
                    "verdict": body["verdict"],
                    "tool": body.get("tool"),
                    "rule": ", ".join(body.get("rules", [])),
                }
                for body in verdicts
            ],
            "transcript": [_entry(entry) for entry in seen["transcript"][-_ENTRIES:]],
        }

    async def _audit(self) -> JsonObject:
        """Check the whole chain, every time: a demo is short, and a cached answer would notice nothing."""
        previous, count, broken = GENESIS, 0, None
        tail: list[AuditRecord] = []
        async for record, at, body in self._store.audit():
            count += 1
            fact = record.fact
            expected = chained(
                previous, seq=record.seq, kind=fact.kind, at_us=at, run_id=fact.run_id, body=body
            )
            if broken is None and (record.seq != count or record.hash != expected):
                broken = count
            previous = record.hash
            tail = [*tail[-_TAIL + 1 :], record]
        return {"count": count, "broken_at": broken, "tail": [_line(record) for record in reversed(tail)]}


def _is_verdict(record: AuditRecord) -> bool:
    return record.fact.kind == "verdict"


def _entry(entry: JsonObject) -> JsonObject:
    words = entry.get("text") or entry.get("outcome") or ", ".join(_names(entry.get("calls") or ()))
    return {"kind": entry["kind"], "words": shortened(visible(str(words)), 160)}


def _names(calls: Sequence[JsonObject]) -> list[str]:
    return [str(call["tool"]) for call in calls]


#: What people look for comes first; digests and long names are in the record itself.
_FIRST = ("verdict", "tool", "rules", "ask", "decision", "by", "outcome", "state", "status")
_LEFT_OUT = ("args", "call", "text", "thread", "policy", "assessed")


def _line(record: AuditRecord) -> JsonObject:
    body = record.fact.body
    names = [*(name for name in _FIRST if name in body), *(name for name in body if name not in _FIRST)]
    words = [f"{name} {_value(body[name])}" for name in names if name not in _LEFT_OUT and body[name]]
    return {
        "seq": record.seq,
        "kind": record.fact.kind.replace("_", " "),
        "words": shortened(" · ".join(words), 160),
        "hash": record.hash,
    }


def _value(value: object) -> str:
    if isinstance(value, str):
        return shortened(visible(value), 60)
    listed = as_list(value)
    return ", ".join(map(str, listed)) if listed is not None else shortened(canonical(value), 60)


@asynccontextmanager
async def open_underneath(settings: Settings, policies: Path, clock: Clock) -> AsyncGenerator[Underneath]:
    async with open_store(settings) as store:
        yield Underneath(store, LivePolicies((policies,)), clock)
