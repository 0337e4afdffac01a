"""The card of an interrupt: what, why, impact, options, who and until when; then who decided, and what came of it."""

from dataclasses import dataclass

from bot.domain.canonical import JsonObject
from bot.domain.interrupt import Asked, Interrupt, Option
from bot.domain.literal import hides_something, shortened, visible
from bot.domain.tool import Impact
from bot.slack.address import Shown, shown
from bot.slack.views import names
from bot.slack.views.arguments import DETAIL, Fits, brief, fits
from bot.slack.views.outcome import After, ending, settled_at
from bot.slack.views.people import deciders
from bot.slack.views.scope import understood
from bot.slack.views.text import (
    Block,
    actions,
    are_you_sure,
    aside,
    bullets,
    button,
    choice,
    header,
    literal,
    note,
    overflow,
    person,
    rich,
    section,
    select,
    value_text,
    when,
    words,
)

_TITLES = {
    "approval": "Approval needed",
    "clarification": "Before I start",
    "input": "Question",
    "review": "Review",
    "recovery": "Did it happen?",
}
_SETTLED = {
    "approval": "Approval",
    "clarification": "Clarification",
    "input": "Question",
    "review": "Review",
    "recovery": "Recovery",
}
#: These are answered; in a shared channel only the form shows what is asked.
_QUESTIONS = {"input", "clarification"}
#: More options than this become a menu.
_BUTTONS = 4
_SAID = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Everything a card is rendered from."""

    asked: Asked
    #: What is known once it is settled.
    after: After = After()
    #: Others read along in this channel: arguments are shown only to those who may decide.
    shared: bool = False
    #: Grows with every update, so that Slack forgets what was picked in the version before.
    revision: int = 1


def card(it: Card) -> JsonObject:
    """Return the message: its text for notifications, and its blocks."""
    interrupt = it.asked.interrupt
    is_open = it.asked.outcome is None
    title = (_TITLES if is_open else _SETTLED)[interrupt.kind]
    tool = f" · {interrupt.planned.tool}" if interrupt.planned else ""
    blocks = [header(f"{title}{tool}"), *_what(it), *_why(it)]
    blocks += _hidden(it) if it.shared else _details(it)
    if is_open:
        blocks += [*_said(interrupt), *_buttons(it), _terms(it)]
    else:
        blocks += [*ending(it.asked, it.after), _trace(it)]
    return {"text": f"{title} ({interrupt.id}), asked by {person(interrupt.requester)}", "blocks": blocks}


# ── What and why ─────────────────────────────────────────────────────────────────────────────────────────


def _what(it: Card) -> list[Block]:
    impact = it.asked.interrupt.impact
    if impact is None or it.shared:
        return []
    pieces = [words(shortened(visible(impact.summary), 1000), bold=True)]
    if impact.reversible is False and "undone" not in impact.summary:
        pieces.append(words(" Cannot be undone."))
    blocks = [rich(*pieces)]
    before = it.asked.interrupt.previous_impact
    if before is not None:
        blocks.append(
            rich(words("Changed since you were asked. It was: ", italic=True), words(before.summary))
        )
    return blocks


def _why(it: Card) -> list[Block]:
    interrupt = it.asked.interrupt
    if interrupt.kind == "input" and it.shared:
        return []
    rules = f"  ({', '.join(interrupt.rules)})" if interrupt.rules else ""
    label = "Why ask: " if interrupt.kind == "approval" else ""
    explain = None
    if interrupt.kind == "approval" and it.asked.outcome is None:
        explain = button("Explain", names.EXPLAIN, str(shown(interrupt)))
    return [section(f"{label}{shortened(visible(interrupt.reason), 2500)}{rules}", explain)]


def _hidden(it: Card) -> list[Block]:
    what = "question is" if it.asked.interrupt.kind in _QUESTIONS else "arguments are"
    return [note(f"This channel is shared with another organisation, so the {what} not shown here.")]


def _details(it: Card) -> list[Block]:
    interrupt = it.asked.interrupt
    blocks: list[Block] = []
    if interrupt.impact:
        blocks += _measured(interrupt.impact)
    if interrupt.planned and (arguments := brief(interrupt.planned)):
        blocks.append(arguments)
    if interrupt.kind == "clarification":
        blocks += understood(interrupt)
    elif interrupt.subject:
        blocks += _subject(interrupt.subject)
    blocks += _options(interrupt.options) if it.asked.outcome is None else []
    if _has_hidden_characters(interrupt):
        blocks.append(
            note(":warning: Something in this is made of invisible characters; they are written out.")
        )
    return blocks


def _measured(impact: Impact) -> list[Block]:
    lines = [f"{visible(name)}: {value_text(value)}" for name, value in impact.facts.items()]
    lines += [value_text(sample) for sample in impact.samples]
    blocks = [aside("\n".join(shortened(each, 200) for each in lines[:12]), 1500)] if lines else []
    if impact.detail:
        blocks.append(literal(shortened(visible(impact.detail), DETAIL)))
    return blocks


def _subject(subject: JsonObject) -> list[Block]:
    blocks = [literal(shortened(visible(str(subject["text"])), 2500))] if subject.get("text") else []
    for call in subject.get("calls", [])[:10]:
        blocks.append(rich(words(str(call["tool"]), bold=True), words(f"  {call['id']}")))
        blocks.append(literal(shortened(value_text(call["args"]), 600)))
    return blocks


def _options(options: tuple[Option, ...]) -> list[Block]:
    told = [option for option in options if option.consequence]
    if not told:
        return []
    return [
        bullets([words(option.label, bold=True), words(f"  {option.consequence}")] for option in told[:10])
    ]


def _said(interrupt: Interrupt) -> list[Block]:
    if not interrupt.said or interrupt.kind != "approval":
        return []
    return [aside(f"The agent says: “{shortened(visible(interrupt.said), _SAID)}”")]


def _has_hidden_characters(interrupt: Interrupt) -> bool:
    args = interrupt.planned.args if interrupt.planned else {}
    return any(hides_something(_raw(value)) for value in args.values())


def _raw(value: object) -> str:
    return value if isinstance(value, str) else str(value)


# ── Answers ──────────────────────────────────────────────────────────────────────────────────────────────


def _buttons(it: Card) -> list[Block]:
    interrupt = it.asked.interrupt
    about = shown(interrupt)
    where = fits(interrupt, hidden=it.shared)
    if where == "nowhere":
        return [
            note(
                "This is too large to be shown in Slack, so it cannot be approved here. "
                f"Use `askfirst runs resume {interrupt.run_id}`."
            ),
            actions(_block_id(it), *_refusing(interrupt, about)),
        ]
    if interrupt.kind in _QUESTIONS and it.shared:
        offered = [button("Answer…", names.ANSWER, str(about), style="primary")]
    else:
        offered = _deciding(interrupt, about) if where == "card" else [_review(about)]
    elements = [*offered, *_refusing(interrupt, about), *_more(it, about, where)]
    return [actions(_block_id(it), *elements)] if elements else []


def _block_id(it: Card) -> str:
    return f"af-{it.asked.interrupt.id}-{it.revision}"


def _review(about: Shown) -> JsonObject:
    return button("Review…", names.REVIEW, str(about), style="primary")


def _deciding(interrupt: Interrupt, about: Shown) -> list[JsonObject]:
    elements: list[JsonObject] = []
    if "approve" in interrupt.verbs:
        elements.append(approve_button(interrupt, about))
    if "choose" in interrupt.verbs:
        elements += _option_buttons(interrupt, about)
    if "respond" in interrupt.verbs:
        elements.append(button("Answer…", names.ANSWER, str(about), style="primary"))
    if "edit" in interrupt.verbs:
        elements.append(button("Edit…", names.EDIT, str(about)))
    return elements


def approve_button(interrupt: Interrupt, about: Shown) -> JsonObject:
    impact = interrupt.impact
    confirm = None
    if impact is not None and impact.reversible is False:
        confirm = are_you_sure("Are you sure?", _for_good(impact), "Approve")
    return button("Approve", names.APPROVE, str(about), style="primary", confirm=confirm)


def _for_good(impact: Impact) -> str:
    return impact.summary if "undone" in impact.summary else f"{impact.summary} This cannot be undone."


def _option_buttons(interrupt: Interrupt, about: Shown) -> list[JsonObject]:
    if len(interrupt.options) <= _BUTTONS:
        return [
            button(option.label, f"{names.OPTION}{option.id}", str(about), confirm=_final(option))
            for option in interrupt.options
        ]
    options = [choice(option.label, str(shown(interrupt, option.id))[:150]) for option in interrupt.options]
    return [select("Choose…", names.CHOOSE, options)]


def _final(option: Option) -> JsonObject | None:
    if option.impact is None or option.impact.reversible is not False:
        return None
    return are_you_sure("Are you sure?", _for_good(option.impact), "Approve")


def _refusing(interrupt: Interrupt, about: Shown) -> list[JsonObject]:
    label = "Skip…" if interrupt.kind == "input" else "Reject…"
    if "reject" not in interrupt.verbs:
        return []
    return [button(label, names.REJECT, str(about), style="danger")]


def _more(it: Card, about: Shown, where: Fits) -> list[JsonObject]:
    interrupt = it.asked.interrupt
    entries: list[JsonObject] = []
    can_remember = interrupt.grantable and interrupt.kind == "approval" and "approve" in interrupt.verbs
    if can_remember and where == "card":
        entries.append(choice("Approve and remember…", f"{names.REMEMBER} {about}"))
    if interrupt.planned and not it.shared:
        entries.append(choice("View full arguments", f"{names.FULL} {about}"))
    entries.append(choice("Remind me in an hour", f"{names.LATER} {about}"))
    if "cancel" in interrupt.verbs:
        entries.append(choice("Stop the run", f"{names.STOP} {about}"))
    return [overflow(names.MORE, entries)]


# ── Who and until when ───────────────────────────────────────────────────────────────────────────────────


def _terms(it: Card) -> Block:
    asked, interrupt = it.asked, it.asked.interrupt
    needed = f" ({len(asked.votes)} of {interrupt.quorum})" if interrupt.quorum > 1 else ""
    agreed = f" · agreed so far: {', '.join(person(vote.by) for vote in asked.votes)}" if asked.votes else ""
    verb = "answers" if interrupt.kind == "input" else "decides"
    return note(
        f"{person(interrupt.requester)} asked · {deciders(asked)} {verb}{needed}{agreed}"
        f" · expires {when(interrupt.expires_at)} · {interrupt.id}"
    )


def _trace(it: Card) -> Block:
    outcome = it.asked.outcome
    ended = f" · settled {when(settled_at(outcome))}" if outcome else ""
    return note(f"{person(it.asked.interrupt.requester)} asked{ended} · {it.asked.interrupt.id}")
