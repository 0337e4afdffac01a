"""What a whole message or view may be: number of blocks, unique ids, sums over all blocks."""

from collections.abc import Iterator
from typing import Literal

from bot.playground.blockkit.layout import BLOCKS, HOME, MESSAGE, MODAL
from bot.playground.blockkit.rules import (
    Problem,
    Report,
    Rule,
    Shape,
    anything,
    boolean,
    items,
    plain,
    string,
    typed,
)
from bot.playground.shapes import Json, as_dict, as_list, dicts

#: Undocumented; one reporter measured 13,172 to 13,297 characters.
ALL_TEXT = 13_200
ALL_MARKDOWN = 12_000
#: Slack refuses views of more than 250 kB.
VIEW_BYTES = 250_000

Surface = Literal["message", "modal", "home"]
_ALLOWED = {
    "message": items(typed(BLOCKS, *MESSAGE), 50, least=0),
    "modal": items(typed(BLOCKS, *MODAL), 100, least=0),
    "home": items(typed(BLOCKS, *HOME), 100, least=0),
}
_VIEW_FIELDS: dict[str, Rule] = {
    "blocks": anything,
    "private_metadata": string(3000, shortest=0),
    "callback_id": string(255, shortest=0),
    "external_id": string(255, shortest=0),
}
_VIEWS = {
    "modal": Shape(
        {"title": plain(24)},
        {
            **_VIEW_FIELDS,
            "submit": plain(24),
            "close": plain(24),
            "clear_on_close": boolean,
            "notify_on_close": boolean,
            "submit_disabled": boolean,
        },
    ),
    "home": Shape({}, _VIEW_FIELDS),
}


def check_blocks(blocks: list[object], surface: Surface, pointer: str = "/blocks") -> list[Problem]:
    report = Report()
    _ALLOWED[surface](blocks, pointer, report)
    _unique_ids(blocks, pointer, report)
    if surface == "message":
        _sums(blocks, pointer, report)
    return report.problems


def check_view(view: Json, pointer: str = "/view") -> list[Problem]:
    report = Report()
    kind = view.get("type")
    if kind not in ("modal", "home"):
        report.add(f"{pointer}/type", f"unsupported type: {kind}", "enum", list(_VIEWS))
        return report.problems
    _VIEWS[kind](view, pointer, report)
    blocks = as_list(view.get("blocks"))
    if blocks is None:
        report.add(pointer, "missing required field: blocks", "required", "blocks")
        return report.problems
    has_input = any(block.get("type") == "input" for block in dicts(blocks))
    if kind == "modal" and has_input and not view.get("submit"):
        report.add(pointer, "missing required field: submit", "required", "submit")
    return report.problems + check_blocks(blocks, kind, f"{pointer}/blocks")


def text_length(value: object) -> int:
    """Return how many characters of text all blocks hold together, which Slack limits as a whole."""
    total = 0
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if (found := as_dict(item)) is not None:
            inner = found.get("text")
            total += len(inner) if isinstance(inner, str) else 0
            stack.extend(found.values())
        elif (many := as_list(item)) is not None:
            stack.extend(many)
    return total


def interactive(block: Json) -> Iterator[Json]:
    """Yield the elements of a block that a person can use, also those inside containers and carousels."""
    for name in ("accessory", "element"):
        if (found := as_dict(block.get(name))) is not None:
            yield found
    for name in ("elements", "actions"):
        for element in dicts(block.get(name)):
            if element.get("type") == "card":
                yield from interactive(element)
            elif block.get("type") not in ("rich_text", "context"):
                yield element
    for child in dicts(block.get("child_blocks")):
        yield from interactive(child)


def _unique_ids(blocks: list[object], pointer: str, report: Report) -> None:
    seen: set[str] = set()
    for index, block in enumerate(dicts(blocks)):
        block_id = block.get("block_id")
        if isinstance(block_id, str) and block_id in seen:
            report.add(f"{pointer}/{index}/block_id", f"duplicate block_id: {block_id}", "unique", "block_id")
        seen.add(str(block_id))
        actions: set[str] = set()
        for element in interactive(block):
            action_id = element.get("action_id")
            if isinstance(action_id, str) and action_id in actions:
                message = f"duplicate action_id: {action_id}"
                report.add(f"{pointer}/{index}", message, "unique", "action_id")
            actions.add(str(action_id))


def _sums(blocks: list[object], pointer: str, report: Report) -> None:
    found = dicts(blocks)
    markdown = sum(len(str(block.get("text"))) for block in found if block.get("type") == "markdown")
    if markdown > ALL_MARKDOWN:
        message = f"markdown blocks must be less than {ALL_MARKDOWN + 1} characters together"
        report.add(pointer, message, "max_length", ALL_MARKDOWN)
    if sum(block.get("type") == "table" for block in found) > 1:
        report.add(pointer, "only_one_table_allowed", "max_items", 1)
    if sum(block.get("type") == "data_visualization" for block in found) > 2:
        report.add(pointer, "no more than 2 data_visualization blocks allowed", "max_items", 2)
