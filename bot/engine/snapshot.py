"""A run as somebody inspecting it wants to see it: what is next, values, metadata, transcript. Pure."""

from collections.abc import Sequence
from datetime import datetime

from bot.domain.canonical import JsonObject
from bot.domain.decision import describe
from bot.domain.interrupt import Asked
from bot.domain.run import FINAL, Head
from bot.domain.tool import ToolResult
from bot.domain.transcript import DraftEdited, Entry, HumanDecision, Item, ModelTurn, UserText


def next_steps(head: Head, asked: Sequence[Asked]) -> list[str]:
    """Say what is to happen next; empty when it is over."""
    if head.state in FINAL:
        return []
    waiting = [each.interrupt for each in asked if each.status == "open"]
    if waiting:
        return [
            f"answer {each.id}: {each.kind}{f' of {each.planned.tool}' if each.planned else ''}"
            for each in waiting
        ]
    if head.phase == "model":
        return ["call the model"]
    return [f"{call.status}: {call.id}" for call in head.calls if call.status != "settled"] or ["finish"]


def snapshot(head: Head, transcript: Sequence[Entry], asked: Sequence[Asked]) -> JsonObject:
    """Everything there is to know about a run, as JSON."""
    return {
        "run_id": head.run_id,
        "state": head.state,
        "next": next_steps(head, asked),
        "values": {
            "answer": _answer(transcript) if head.state == "done" else "",
            "ending": head.ending,
            "calls": [{"id": call.id, "status": call.status} for call in head.calls],
            "usage": {
                "input_tokens": head.usage.input_tokens,
                "output_tokens": head.usage.output_tokens,
                "cache_read_tokens": head.usage.cache_read_tokens,
                "cache_write_tokens": head.usage.cache_write_tokens,
            },
        },
        "metadata": {
            "thread": head.thread.id,
            "front": head.thread.front,
            "channel": head.thread.channel,
            "requester": head.requester,
            "model": head.agent.model,
            "created_at": _iso(head.created_at),
            "turns": head.turns,
            "version": head.version,
            "continues": {"run_id": head.base.run_id, "entries": head.base.cursor} if head.base else None,
        },
        "transcript": [_entry(entry, number) for number, entry in enumerate(transcript, 1)],
        "interrupts": [interrupt_facts(each) for each in asked],
    }


def interrupt_facts(asked: Asked) -> JsonObject:
    """One interrupt as JSON: the question, and how it stands."""
    interrupt = asked.interrupt
    impact = interrupt.impact
    return {
        "id": interrupt.id,
        "kind": interrupt.kind,
        "status": asked.status,
        "outcome": describe(asked.outcome) if asked.outcome else None,
        "reason": interrupt.reason,
        "rules": list(interrupt.rules),
        "planned": {"tool": interrupt.shown.tool, "args": interrupt.shown.args} if interrupt.shown else None,
        "impact": {"summary": impact.summary, "count": impact.count, "bytes": impact.bytes}
        if impact
        else None,
        "options": [
            {"id": option.id, "label": option.label, "consequence": option.consequence}
            for option in interrupt.options
        ],
        "response_schema": interrupt.response_schema,
        "subject": interrupt.subject,
        "verbs": list(interrupt.verbs),
        "opened_at": _iso(interrupt.opened_at),
        "expires_at": _iso(interrupt.expires_at),
        "votes": len(asked.votes),
        "quorum": interrupt.quorum,
    }


def _entry(entry: Entry, number: int) -> JsonObject:
    return {"number": number, "at": _iso(entry.at), "kind": entry.item.kind, **_item(entry.item)}


def _item(item: Item) -> JsonObject:
    match item:
        case UserText(author=author, text=text):
            return {"author": author, "text": text}
        case ModelTurn():
            calls = [{"id": call.id, "tool": call.tool, "args": call.args} for call in item.calls]
            return {"text": item.text, "calls": calls, "stop": item.stop}
        case ToolResult():
            return {"call": item.call_id, "status": item.status, "text": item.text, "notice": item.notice}
        case HumanDecision(interrupt_id=name, outcome=outcome):
            by = outcome.decision.by if outcome.kind == "decided" else None
            return {"interrupt": name, "outcome": describe(outcome), "by": by}
        case DraftEdited(by=by, text=text):
            return {"by": by, "text": text}


def _answer(transcript: Sequence[Entry]) -> str:
    words = (
        entry.item.text for entry in reversed(transcript) if isinstance(entry.item, ModelTurn | DraftEdited)
    )
    return next(words, "")


def _iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
