"""How a card ends: who decided what and when, what was changed, and the receipt."""

from dataclasses import dataclass
from datetime import datetime

from bot.domain.canonical import JsonObject
from bot.domain.decision import (
    Approve,
    Cancel,
    Choose,
    Decided,
    Decision,
    Edit,
    Expired,
    Outcome,
    Reject,
    Respond,
    Withdrawn,
)
from bot.domain.interrupt import Asked, Interrupt
from bot.domain.literal import shortened, visible
from bot.domain.tool import ToolResult
from bot.slack.views.arguments import changed
from bot.slack.views.people import who
from bot.slack.views.text import Block, literal, note, rich, value_text, words

_RESULT = 800


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """What is known of the time after the decision."""

    #: What came of the call, once it ran.
    result: ToolResult | None = None
    #: How many other questions of the run are open.
    left: int = 0
    #: The run is over.
    over: bool = False
    #: Others read along: arguments and results are not shown.
    shared: bool = False


def ending(asked: Asked, after: After) -> list[Block]:
    """Return what stands where the buttons were."""
    outcome = asked.outcome
    match outcome:
        case None:
            return []
        case Decided():
            interrupt = asked.interrupt
            return [
                *_decided(interrupt, outcome),
                *_change(interrupt, outcome, after),
                *_later(asked, outcome, after),
            ]
        case Expired():
            return [
                rich(words("⌛ "), words("Expired", bold=True), words(", not run: nobody decided in time."))
            ]
        case Withdrawn(replaced_by=None, why=why):
            return [rich(words(f"∅ Not needed any more: {visible(why)}."))]
        case Withdrawn(by=None, why=why):
            return [rich(words(f"⟳ {visible(why)} Asking again below."))]
        case Withdrawn(by=by):
            edited = words("Edited", bold=True)
            return [rich(words("✎ "), edited, words(" by "), who(str(by)), words("; asking again below."))]


def settled_at(outcome: Outcome) -> datetime:
    return outcome.decision.at if isinstance(outcome, Decided) else outcome.at


def _decided(interrupt: Interrupt, outcome: Decided) -> list[Block]:
    decision = outcome.decision
    mark, what = _verb(decision)
    pieces = [words(f"{mark} "), words(what, bold=True), words(" by "), who(decision.by)]
    for other in outcome.others:
        pieces += [words(" with "), who(other)]
    if extra := _extra(interrupt, decision):
        pieces.append(words(f": {extra}"))
    return [rich(*pieces)]


def _verb(decision: Decision) -> tuple[str, str]:  # noqa: PLR0911 - a table
    match decision.answer:
        case Approve(remember=None):
            return "✔", "Approved"
        case Approve():
            return "✔", "Approved and remembered"
        case Choose():
            return "✔", "Decided"
        case Edit():
            return "✎", "Edited and approved"
        case Reject():
            return "✖", "Rejected"
        case Respond():
            return "✔", "Answered"
        case Cancel():
            return "■", "Run stopped"


def _extra(interrupt: Interrupt, decision: Decision) -> str:
    answer = decision.answer
    match answer:
        case Choose(option=chosen, reason=reason):
            option = interrupt.option(chosen)
            label = visible(option.label) if option else chosen
            if option and option.consequence and interrupt.kind == "clarification":
                label = f"{label}: {visible(option.consequence)}"
            return f"{label}. {_quoted(reason)}" if reason else label
        case Respond(data=data):
            return shortened(value_text(data), 600)
        case Approve(reason=reason) | Edit(reason=reason) | Reject(reason=reason) | Cancel(reason=reason):
            return _quoted(reason)


def _quoted(reason: str) -> str:
    return f"“{shortened(visible(reason), 600)}”" if reason.strip() else ""


def _change(interrupt: Interrupt, outcome: Decided, after: After) -> list[Block]:
    if outcome.planned is None or interrupt.planned is None or after.shared:
        return []
    lines = changed(interrupt.planned, outcome.planned)
    blocks = [literal("\n".join(lines))] if lines else []
    if outcome.impact:
        blocks.append(rich(words(shortened(visible(outcome.impact.summary), 600))))
    return blocks


def _later(asked: Asked, outcome: Decided, after: After) -> list[Block]:
    if isinstance(outcome.decision.answer, Reject | Cancel):
        return _still_open(after.left)
    if after.result is not None:
        return _receipt(asked, after.result, shared=after.shared)
    if after.left or after.over or asked.interrupt.call_id is None:
        return _still_open(after.left)
    return [rich(words("⏳ Going on …" if asked.interrupt.kind == "input" else "⏳ Running now …"))]


def _still_open(left: int) -> list[Block]:
    if not left:
        return []
    questions = "1 more question is" if left == 1 else f"{left} more questions are"
    return [note(f"{questions} open in this thread; the run goes on after the last.")]


_ENDINGS = {"ok": "Done", "error": "Failed"}


def _receipt(asked: Asked, result: ToolResult, *, shared: bool) -> list[Block]:
    if asked.interrupt.kind in {"input", "clarification"} and result.status == "ok":
        return []
    took = f" in {result.took_ms / 1000:.1f} s" if result.took_ms is not None else ""
    ending_ = _ENDINGS.get(result.status)
    first: list[JsonObject] = [words(f"{ending_}{took}." if ending_ else "Not run.", bold=True)]
    text = visible(result.text).strip()
    if shared or not text:
        return [rich(*first)]
    if len(text) <= 200 and "\n" not in text:
        return [rich(*first, words(f" {text}"))]
    return [rich(*first), literal(shortened(text, _RESULT))]
