"""Pieces of Block Kit, and Slack's limits. Text of agents, tools and people only ever becomes plain or rich text."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

from bot.domain.canonical import JsonObject
from bot.domain.literal import shortened, visible

Block: TypeAlias = JsonObject

#: Slack's limits.
BLOCKS_PER_MESSAGE = 50
BLOCKS_PER_VIEW = 100
TITLE = 24
BUTTON = 75
SECTION = 3000
HEADER = 150
CONFIRM = 300
INPUT = 3000
#: Undocumented, near 13,200 for all text of a message together; the rest is for our own words.
MESSAGE_TEXT = 11_000
MARKDOWN = 11_500


# ── Our own words, and text of others made literal ───────────────────────────────────────────────────────


def plain(text: str, limit: int = SECTION) -> JsonObject:
    """Text that Slack does not interpret: no markup, no mentions, no emoji codes."""
    return {"type": "plain_text", "text": shortened(visible(text), limit) or " ", "emoji": False}


def trusted(mrkdwn: str) -> JsonObject:
    """Markup of our own making. Nothing but ids, times and words of ours may be in it."""
    return {"type": "mrkdwn", "text": mrkdwn, "verbatim": True}


def words(text: str, *, bold: bool = False, italic: bool = False) -> JsonObject:
    """A piece of rich text, literal."""
    style = {name: True for name, on in (("bold", bold), ("italic", italic)) if on}
    piece: JsonObject = {"type": "text", "text": visible(text) or " "}
    return piece | {"style": style} if style else piece


def escaped(text: str) -> str:
    """Words of the operator's policy inside our markup; it may hold what would otherwise be markup."""
    return visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def person(user: str) -> str:
    return f"<@{user}>"


def group(name: str) -> str:
    return f"<!subteam^{name}>"


def when(moment: datetime) -> str:
    """A time that each reader sees in their own time zone."""
    shown = f"{moment:%Y-%m-%d %H:%M} UTC"
    return f"<!date^{int(moment.timestamp())}^{{date_short_pretty}} at {{time}}|{shown}>"


def value_text(value: Any) -> str:
    """An argument's value on one line, so that it cannot look like another argument."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return visible(text).replace("\n", "⏎").replace("\t", "⇥")


# ── Blocks ───────────────────────────────────────────────────────────────────────────────────────────────


def header(text: str) -> Block:
    return {"type": "header", "text": plain(text, HEADER)}


def section(text: str, accessory: JsonObject | None = None) -> Block:
    block: Block = {"type": "section", "text": plain(text)}
    return block | {"accessory": accessory} if accessory else block


def note(mrkdwn: str) -> Block:
    """A small line of our own words."""
    return {"type": "context", "elements": [trusted(mrkdwn)]}


def aside(text: str, limit: int = 500) -> Block:
    """A small line of somebody else's words."""
    return {"type": "context", "elements": [plain(text, limit)]}


def line(mrkdwn: str) -> Block:
    return {"type": "section", "text": trusted(mrkdwn)}


def rich(*pieces: JsonObject) -> Block:
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(pieces)}]}


def bullets(items: Iterable[Sequence[JsonObject]]) -> Block:
    sections = [{"type": "rich_text_section", "elements": list(item)} for item in items]
    return {
        "type": "rich_text",
        "elements": [{"type": "rich_text_list", "style": "bullet", "elements": sections}],
    }


def literal(text: str) -> Block:
    """Several lines exactly as they are, in a fixed-width font."""
    inner = {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": visible(text) or " "}]}
    return {"type": "rich_text", "elements": [inner]}


def button(
    label: str,
    action: str,
    value: str,
    *,
    style: Literal["primary", "danger"] | None = None,
    confirm: JsonObject | None = None,
) -> JsonObject:
    element: JsonObject = {
        "type": "button",
        "text": plain(label, BUTTON),
        "action_id": action,
        "value": value,
    }
    if style:
        element["style"] = style
    if confirm:
        element["confirm"] = confirm
    return element


def are_you_sure(title: str, text: str, yes: str) -> JsonObject:
    return {
        "title": plain(title, 100),
        "text": plain(text, CONFIRM),
        "confirm": plain(yes, 30),
        "deny": plain("Back", 30),
        "style": "danger",
    }


def choice(label: str, value: str, about: str = "") -> JsonObject:
    option: JsonObject = {"text": plain(label, 75), "value": value}
    return option | {"description": plain(about, 75)} if about else option


def select(placeholder: str, action: str, options: Sequence[JsonObject]) -> JsonObject:
    return {
        "type": "static_select",
        "action_id": action,
        "placeholder": plain(placeholder, 150),
        "options": list(options[:100]),
    }


def overflow(action: str, options: Sequence[JsonObject]) -> JsonObject:
    return {"type": "overflow", "action_id": action, "options": list(options[:5])}


def actions(block_id: str, *elements: JsonObject) -> Block:
    return {"type": "actions", "block_id": block_id, "elements": list(elements[:25])}


def modal(
    title: str,
    blocks: Sequence[Block],
    *,
    callback: str = "",
    about: str = "",
    submit: str = "",
    close: str = "Close",
) -> JsonObject:
    view: JsonObject = {
        "type": "modal",
        "title": plain(title, TITLE),
        "close": plain(close, TITLE),
        "blocks": list(blocks[:BLOCKS_PER_VIEW]),
    }
    if callback:
        view |= {"callback_id": callback, "private_metadata": about}
    if submit:
        view["submit"] = plain(submit, TITLE)
    return view


def in_pieces(text: str, size: int = 2800) -> list[str]:
    """Cut a long text into pieces that fit, without losing a character."""
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]
