"""An interrupt as plain text: what, why, impact, options, who and until when. Pure; colour is handed in."""

import json
import math
from datetime import datetime

from bot.cli.paint import Paint
from bot.domain.canonical import JsonObject
from bot.domain.decision import Decided, Expired, Withdrawn, describe
from bot.domain.interrupt import Asked, Interrupt
from bot.domain.literal import shortened, visible
from bot.domain.tool import Impact, Planned
from bot.engine.rights import names

_TITLES = {
    "approval": "Approval needed",
    "clarification": "Before I start",
    "input": "Question",
    "review": "Review",
    "recovery": "Did it happen?",
}
_LONGEST = 2000
_KEYS = {
    "approve": "y approve",
    "edit": "e edit",
    "reject": "r reject",
    "respond": "a answer",
    "cancel": "c cancel the run",
}


def lines_of(asked: Asked, paint: Paint, *, now: datetime) -> list[str]:
    """Return the card, line by line."""
    interrupt = asked.interrupt
    tool = f" · {visible(interrupt.planned.tool)}" if interrupt.planned else ""
    lines = [
        paint(f"── {_TITLES[interrupt.kind]}{tool} ", "bold", "yellow") + paint(f"{interrupt.id}", "dim")
    ]
    if interrupt.impact:
        lines += _impact(interrupt.impact, paint)
    if interrupt.previous_impact:
        lines.append(f"   was        {visible(interrupt.previous_impact.summary)}")
    rules = f"  ({', '.join(interrupt.rules)})" if interrupt.rules else ""
    lines.append(f"   why        {visible(interrupt.reason)}{paint(rules, 'dim')}")
    if interrupt.shown:
        lines += _arguments(interrupt.shown)
    if interrupt.subject:
        lines += _subject(interrupt.subject)
    for number, option in enumerate(interrupt.options, 1):
        consequence = f"  {paint(visible(option.consequence), 'dim')}" if option.consequence else ""
        lines.append(f"   {paint(str(number), 'bold')}          {visible(option.label)}{consequence}")
    if interrupt.said and interrupt.kind == "approval":
        lines.append(paint(f"   The agent says: “{shortened(visible(interrupt.said), 300)}”", "dim"))
    lines.append(paint(f"   {_terms(asked, now)}", "dim"))
    return lines


def keys(interrupt: Interrupt) -> str:
    """Name the answers that can be given, for the prompt."""
    offered = [_KEYS[verb] for verb in interrupt.verbs if verb in _KEYS]
    if interrupt.options:
        offered.insert(0, "1" if len(interrupt.options) == 1 else f"1-{len(interrupt.options)}")
    return " · ".join([*offered, "? explain", "q quit, answer later"])


def outcome_line(asked: Asked, paint: Paint) -> str:
    """Say in one line how a settled interrupt ended."""
    match asked.outcome:
        case None:
            return paint("open", "yellow")
        case Decided(decision=decision) as outcome:
            reason = getattr(decision.answer, "reason", "")
            why = f": “{shortened(visible(reason), 200)}”" if reason else ""
            good = decision.answer.verb not in {"reject", "cancel"}
            mark = paint("✔", "green") if good else paint("✖", "red")
            with_ = f" with {', '.join(outcome.others)}" if outcome.others else ""
            return f"{mark} {describe(outcome)} by {decision.by}{with_} at {decision.at:%H:%M}{why}"
        case Expired(at=at):
            return f"{paint('⌛', 'yellow')} expired at {at:%H:%M}, not run"
        case Withdrawn(why=why, at=at):
            return f"{paint('∅', 'dim')} withdrawn at {at:%H:%M}: {why}"


def _impact(impact: Impact, paint: Paint) -> list[str]:
    undo = " Cannot be undone." if impact.reversible is False and "undone" not in impact.summary else ""
    lines = [f"   what       {paint(visible(impact.summary), 'bold')}{paint(undo, 'red')}"]
    lines += [f"              {name}: {visible(value)}" for name, value in impact.facts.items()]
    lines += [f"              {visible(sample)}" for sample in impact.samples]
    if impact.detail:
        lines += [f"     {line}" for line in shortened(visible(impact.detail), _LONGEST).splitlines()]
    return lines


def _arguments(planned: Planned) -> list[str]:
    width = max((len(name) for name in planned.args), default=0)
    shown = [f"{name:<{width}}  {_value(value)}" for name, value in planned.args.items()]
    return [f"   {'arguments' if not place else '':<10} {line}" for place, line in enumerate(shown)]


def _value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # A value that goes over several lines is shown as one, so that it cannot look like another argument.
    return shortened(visible(text).replace("\n", "⏎"), _LONGEST)


def _subject(subject: JsonObject) -> list[str]:
    lines: list[str] = []
    for label, key in (("understood", "understood"), ("touches", "touches"), ("assuming", "assumptions")):
        if subject.get(key):
            value = subject[key]
            shown = value if isinstance(value, str) else ", ".join(map(str, value))
            lines.append(f"   {label:<10} {shortened(visible(shown), 300)}")
    lines += [
        f"   question   {visible(field['question'])}  [{field['default']}]"
        for field in subject.get("fields", [])
    ]
    if subject.get("text"):
        text = shortened(visible(str(subject["text"])), _LONGEST)
        lines += ["   draft", *(f"     {line}" for line in text.splitlines())]
    for call in subject.get("calls", []):
        lines.append(f"   call       {call['id']}  {visible(str(call['tool']))}  {_value(call['args'])}")
    return lines


def _terms(asked: Asked, now: datetime) -> str:
    interrupt = asked.interrupt
    minutes = max(0, math.ceil((interrupt.expires_at - now).total_seconds() / 60))
    left = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
    who = names((interrupt.approvers, *asked.escalated_to))
    votes = f" ({len(asked.votes)} of {interrupt.quorum})" if interrupt.quorum > 1 else ""
    return f"{interrupt.requester} asked · {who} decides{votes} · expires in {left} ({interrupt.expires_at:%H:%M} UTC)"
