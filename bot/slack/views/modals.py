"""The forms: reject, approve with a reason, review, edit, answer, remember, explain. Pure."""

from collections.abc import Sequence

from bot.domain.canonical import JsonObject
from bot.domain.interrupt import Asked, Interrupt
from bot.domain.literal import visible
from bot.domain.tool import ToolDefinition
from bot.slack.address import shown
from bot.slack.views import names
from bot.slack.views.arguments import brief, fits, whole
from bot.slack.views.forms import Field, fields_of, input_block
from bot.slack.views.people import deciders
from bot.slack.views.scope import understood
from bot.slack.views.text import (
    INPUT,
    Block,
    choice,
    in_pieces,
    literal,
    modal,
    note,
    plain,
    rich,
    section,
    when,
    words,
)

_EXPLANATION = 40


def reject(interrupt: Interrupt) -> JsonObject:
    blocks = [*_about(interrupt), _reason("Why not?", required=interrupt.reason_required)]
    what = "Skip" if interrupt.kind == "input" else "Reject"
    return _form(interrupt, names.REJECT_FORM, what, blocks, submit=what)


def approve(interrupt: Interrupt, option: str = "") -> JsonObject:
    """Asks for the reason that the policy wants with an approval."""
    chosen = interrupt.option(option)
    told = [section(f"You chose: {chosen.label}")] if chosen else []
    blocks = [*_about(interrupt), *told, _reason("Why is this right?", required=True)]
    return _form(interrupt, names.APPROVE_FORM, "Approve", blocks, submit="Approve", extra=option)


def review(asked: Asked, *, may_decide: bool) -> JsonObject:
    """Everything there is to see, before anything is approved."""
    interrupt = asked.interrupt
    tool = [rich(words(interrupt.planned.tool, bold=True))] if interrupt.planned else []
    impact = [rich(words(interrupt.impact.summary))] if interrupt.impact else []
    blocks = [*tool, *impact, section(f"Why ask: {interrupt.reason}"), *whole(interrupt)]
    has_answer = "approve" in interrupt.verbs or "choose" in interrupt.verbs
    can = may_decide and has_answer and fits(interrupt, hidden=True) != "nowhere"
    if not can:
        return modal("Full arguments", blocks)
    if interrupt.options:
        blocks.append(_which(interrupt))
    if interrupt.reason_required:
        blocks.append(_reason("Why is this right?", required=True))
    blocks.append(note(f"{deciders(asked)} decides · expires {when(interrupt.expires_at)}"))
    return _form(interrupt, names.REVIEW_FORM, "Review", blocks, submit="Approve")


def _which(interrupt: Interrupt, *, optional: bool = False) -> Block:
    approves = "approve" in interrupt.verbs
    options = [choice("As proposed", "proposed")] if approves else []
    options += [choice(each.label, each.id, each.consequence) for each in interrupt.options[:99]]
    kind = "radio_buttons" if len(options) <= 10 else "static_select"
    element: JsonObject = {"type": kind, "action_id": names.VALUE, "options": options}
    if approves:
        element["initial_option"] = options[0]
    label = plain("What to approve" if approves else "Your choice")
    block: Block = {"type": "input", "block_id": names.WHICH, "label": label, "element": element}
    return block | {"optional": True} if optional else block


def edit(interrupt: Interrupt, tool: ToolDefinition | None) -> JsonObject | None:
    """The arguments as a form; None if nothing of it can be edited in Slack."""
    if interrupt.planned is None:
        return _edit_draft(interrupt)
    fields = edit_fields(interrupt, tool)
    if not fields:
        return None
    kept = [name for name in interrupt.planned.args if name not in {field.name for field in fields}]
    blocks: list[Block] = [input_block(field) for field in fields]
    if kept:
        blocks.append(note("Stays as it is:"))
        blocks += [section(f"{visible(name)}") for name in kept[:20]]
    if interrupt.reason_required:
        blocks.append(_reason("Why?", required=True))
    blocks.append(note("The edited call is judged again by the policy before it runs."))
    return _form(interrupt, names.EDIT_FORM, "Edit", blocks, submit="Approve edited")


def edit_fields(interrupt: Interrupt, tool: ToolDefinition | None) -> list[Field]:
    if interrupt.planned is None or tool is None:
        return []
    return fields_of(tool.parameters, interrupt.planned.args, interrupt.editable)


def _edit_draft(interrupt: Interrupt) -> JsonObject | None:
    text = str((interrupt.subject or {}).get("text", ""))
    if not text or len(text) > INPUT:
        return None
    element = {
        "type": "plain_text_input",
        "action_id": names.VALUE,
        "multiline": True,
        "initial_value": text,
    }
    block: Block = {
        "type": "input",
        "block_id": names.TEXT,
        "label": plain("The text"),
        "element": element,
    }
    return _form(interrupt, names.EDIT_FORM, "Edit", [block], submit="Approve edited")


def answer(interrupt: Interrupt) -> JsonObject:
    """The question with its options, its form, or both."""
    blocks = [section(interrupt.reason), *understood(interrupt)]
    if "choose" in interrupt.verbs:
        blocks.append(_which(interrupt, optional="respond" in interrupt.verbs))
    if "respond" in interrupt.verbs:
        inputs = [input_block(field) for field in answer_fields(interrupt)]
        # Whoever picks an option need not fill in the form.
        blocks += [block | {"optional": True} for block in inputs] if "choose" in interrupt.verbs else inputs
    return _form(interrupt, names.ANSWER_FORM, "Answer", blocks, submit="Answer")


def answer_fields(interrupt: Interrupt) -> list[Field]:
    return fields_of(interrupt.response_schema, {}, titled=True)


def remember(interrupt: Interrupt) -> JsonObject:
    lasts = [choice("1 hour", "1"), choice("4 hours", "4"), choice("24 hours", "24")]
    places = [choice("In this thread only", "thread"), choice("In this channel", "channel")]
    blocks: list[Block] = [
        *_about(interrupt),
        section("The same call with the same arguments will then run without asking, within these bounds."),
        _radio(names.PLACE, "Where", places),
        _radio(names.LASTS, "For how long", lasts),
        {
            "type": "input",
            "block_id": names.USES,
            "label": plain("How often at most"),
            "element": {
                "type": "number_input",
                "action_id": names.VALUE,
                "is_decimal_allowed": False,
                "min_value": "1",
                "max_value": "100",
                "initial_value": "5",
            },
        },
    ]
    if interrupt.reason_required:
        blocks.append(_reason("Why is this right?", required=True))
    blocks.append(note("It can be revoked at any time: `/askfirst grants`, or in my Home tab."))
    return _form(interrupt, names.REMEMBER_FORM, "Approve and remember", blocks, submit="Approve")


def explanation(text: str) -> JsonObject:
    """The policy's whole explanation of one call."""
    pieces = in_pieces(text)
    blocks = [literal(piece) for piece in pieces[:_EXPLANATION]]
    if len(pieces) > _EXPLANATION:
        blocks.append(note("The rest is too long for Slack; `askfirst policy explain` shows it."))
    return modal("Why this is asked", blocks)


def notice(title: str, text: str) -> JsonObject:
    """Something to be read and closed."""
    return modal(title, [section(text)])


def _form(
    interrupt: Interrupt,
    callback: str,
    title: str,
    blocks: Sequence[Block],
    *,
    submit: str,
    extra: str = "",
) -> JsonObject:
    about = str(shown(interrupt, extra))
    return modal(title, blocks, callback=callback, about=about, submit=submit, close="Cancel")


def _about(interrupt: Interrupt) -> list[Block]:
    """What the form is about, again: a person should not have to remember."""
    if interrupt.planned is None:
        return [section(interrupt.reason)]
    blocks: list[Block] = [rich(words(interrupt.planned.tool, bold=True))]
    if interrupt.impact:
        blocks.append(rich(words(interrupt.impact.summary)))
    arguments = brief(interrupt.planned)
    return [*blocks, arguments] if arguments else blocks


def _reason(label: str, *, required: bool) -> Block:
    return {
        "type": "input",
        "block_id": names.REASON,
        "label": plain(label),
        "optional": not required,
        "element": {
            "type": "plain_text_input",
            "action_id": names.VALUE,
            "multiline": True,
            "max_length": 1000,
        },
    }


def _radio(block_id: str, label: str, options: list[JsonObject]) -> Block:
    element = {
        "type": "radio_buttons",
        "action_id": names.VALUE,
        "options": options,
        "initial_option": options[0],
    }
    return {"type": "input", "block_id": block_id, "label": plain(label), "element": element}
