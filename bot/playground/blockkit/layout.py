"""Every block: what it must hold, what it may hold, and on which surface it may stand."""

from bot.playground.blockkit.elements import (
    ELEMENTS,
    ID,
    IN_ACTIONS,
    IN_INPUT,
    IN_SECTION,
    RICH_TEXT,
    SLACK_FILE,
    URL,
)
from bot.playground.blockkit.rules import (
    Report,
    Rule,
    Shape,
    anything,
    boolean,
    integer,
    items,
    one_of,
    plain,
    string,
    text,
    typed,
)
from bot.playground.shapes import as_dict

_BLOCK: dict[str, Rule] = {"block_id": ID}
_CELL: dict[str, Rule] = {
    "raw_text": Shape({"text": string(3000)}),
    "raw_number": Shape({"value": anything}, {"text": string(3000)}),
    "rich_text": Shape({"elements": items(typed(RICH_TEXT), 1000)}, _BLOCK),
}
_COLUMN = Shape({}, {"align": one_of("left", "center", "right"), "is_wrapped": boolean})
_IMAGE = typed(ELEMENTS, "image")
_CONTEXT_TEXT = text(3000)
_TASK_STATUS = one_of("pending", "in_progress", "complete", "error")


def _context_element(value: object, pointer: str, report: Report) -> None:
    kind = (as_dict(value) or {}).get("type")
    (_IMAGE if kind == "image" else _CONTEXT_TEXT)(value, pointer, report)


BLOCKS: dict[str, Shape] = {
    "actions": Shape({"elements": items(typed(ELEMENTS, *IN_ACTIONS), 25)}, _BLOCK),
    "alert": Shape(
        {"text": text(200)}, {**_BLOCK, "level": one_of("default", "info", "warning", "error", "success")}
    ),
    "card": Shape(
        {},
        {
            **_BLOCK,
            "title": text(150),
            "subtitle": text(150),
            "body": text(200),
            "subtext": text(200),
            "icon": _IMAGE,
            "hero_image": _IMAGE,
            "actions": items(typed(ELEMENTS, "button"), 3),
        },
        either=("hero_image", "title", "actions", "body"),
    ),
    "context": Shape({"elements": items(_context_element, 10)}, _BLOCK),
    "context_actions": Shape(
        {"elements": items(typed(ELEMENTS, "feedback_buttons", "icon_button"), 5)}, _BLOCK
    ),
    "data_table": Shape(
        {"rows": items(items(typed(_CELL), 20), 201, least=2)},
        {
            **_BLOCK,
            "caption": string(3000),
            "page_size": integer(1, 100),
            "row_header_column_index": integer(0, 19),
        },
    ),
    "data_visualization": Shape({"title": string(50), "chart": anything}, _BLOCK),
    "divider": Shape({}, _BLOCK),
    "file": Shape({"external_id": ID, "source": one_of("remote")}, _BLOCK),
    "header": Shape({"text": plain(150)}, {**_BLOCK, "level": integer(1, 4)}),
    "image": Shape(
        {"alt_text": string(2000)},
        {**_BLOCK, "image_url": URL, "slack_file": SLACK_FILE, "title": plain(2000)},
        either=("image_url", "slack_file"),
    ),
    "input": Shape(
        {"label": plain(2000), "element": typed(ELEMENTS, *IN_INPUT)},
        {**_BLOCK, "hint": plain(2000), "optional": boolean, "dispatch_action": boolean},
    ),
    "markdown": Shape({"text": string(12_000)}, _BLOCK),
    "rich_text": Shape({"elements": items(typed(RICH_TEXT), 1000)}, _BLOCK),
    "section": Shape(
        {},
        {
            **_BLOCK,
            "text": text(3000),
            "fields": items(text(2000), 10),
            "accessory": typed(ELEMENTS, *IN_SECTION),
            "expand": boolean,
        },
        either=("text", "fields"),
    ),
    "table": Shape(
        {"rows": items(items(typed(_CELL), 20), 100)}, {**_BLOCK, "column_settings": items(_COLUMN, 20)}
    ),
    "task_card": Shape(
        {"task_id": ID, "title": string(3000)},
        {
            **_BLOCK,
            "details": typed(_CELL, "rich_text"),
            "output": typed(_CELL, "rich_text"),
            "sources": items(typed(ELEMENTS, "url"), 50),
            "status": _TASK_STATUS,
        },
    ),
    "video": Shape(
        {"alt_text": string(2000), "title": plain(200), "thumbnail_url": URL, "video_url": URL},
        {
            **_BLOCK,
            "author_name": string(50),
            "description": plain(200),
            "provider_icon_url": string(2000),
            "provider_name": string(50),
            "title_url": string(2000),
        },
    ),
}
BLOCKS["carousel"] = Shape({"elements": items(typed(BLOCKS, "card"), 10)}, _BLOCK)
BLOCKS["plan"] = Shape({"title": string(3000)}, {**_BLOCK, "tasks": items(typed(BLOCKS, "task_card"), 50)})
BLOCKS["container"] = Shape(
    {"child_blocks": items(typed(BLOCKS), 10)},
    {
        **_BLOCK,
        "title": text(150),
        "rich_text_title": anything,
        "subtitle": text(150),
        "width": string(255),
        "icon": _IMAGE,
        "is_collapsible": boolean,
        "default_collapsed": boolean,
        "has_header_divider": boolean,
    },
    either=("title", "rich_text_title"),
)

_EVERYWHERE = (
    "actions",
    "alert",
    "card",
    "context",
    "divider",
    "header",
    "image",
    "input",
    "rich_text",
    "section",
)
#: `alert` is listed for messages by Slack's reference and left out by slackblocks; we accept it.
MODAL = (*_EVERYWHERE, "video")
HOME = (*MODAL, "carousel", "container", "data_table", "data_visualization", "table")
MESSAGE = tuple(BLOCKS)
