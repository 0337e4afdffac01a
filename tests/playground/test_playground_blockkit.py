"""The Block Kit validator: our table against Slack's numbers, the SDK's models and slackblocks' limits."""
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# slackblocks publishes its table of limits, and the JSON of a block, only under private names.

import inspect
from typing import Any

import pytest
import slackblocks
from slack_sdk.models.blocks import Block, block_elements
from slack_sdk.models.blocks import blocks as sdk_blocks
from slackblocks import _limits as limits
from slackblocks._core import resolve

from bot.playground.blockkit.elements import CONFIRM, ELEMENTS, OPTION
from bot.playground.blockkit.layout import BLOCKS
from bot.playground.blockkit.rules import Report, Shape
from bot.playground.blockkit.surfaces import check_blocks, check_view
from tests.playground.support import actions, button, menu, modal, plain, section, text_input

Json = dict[str, Any]


def mrkdwn(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def confirm(**changes: Any) -> Json:
    fields = {"title": plain("Sure?"), "text": plain("Really"), "confirm": plain("Yes"), "deny": plain("No")}
    return fields | changes


def rich(*elements: Json) -> Json:
    return {"type": "rich_text", "elements": list(elements)}


GOOD: list[Json] = [
    section("hello", accessory=menu("Pick", "pick", "One")),
    {"type": "section", "fields": [mrkdwn("a"), plain("b")]},
    {"type": "header", "text": plain("Approval needed")},
    {"type": "divider", "block_id": "line"},
    {"type": "context", "elements": [mrkdwn("x"), {"type": "image", "image_url": "u", "alt_text": "a"}]},
    actions(button("Approve", "ok", style="primary", confirm=confirm(), visible_to_user_ids=["U1"])),
    {"type": "markdown", "text": "**hi**"},
    rich({"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "rm -rf"}], "border": 0}),
    rich({"type": "rich_text_section", "elements": [{"type": "user", "user_id": "U1"}]}),
    {
        "type": "container",
        "title": plain("Details"),
        "child_blocks": [section("inner")],
        "is_collapsible": True,
    },
    {"type": "alert", "text": plain("Careful"), "level": "warning"},
    {"type": "table", "rows": [[{"type": "raw_text", "text": "a"}]]},
    text_input("Why", "why", max_length=3000, multiline=True),
]


def test_blocks_that_slack_takes_pass() -> None:
    assert check_blocks(list(GOOD), "message") == []


BAD: list[tuple[Json, str, str]] = [
    ({"type": "shout"}, "/blocks/0/type", "unsupported type: shout"),
    ({"type": "section"}, "/blocks/0", "must define either `text` or `fields`"),
    (section(""), "/blocks/0/text/text", "must be more than 0 characters"),
    (section("x" * 3001), "/blocks/0/text/text", "must be less than 3001 characters"),
    ({"type": "section", "text": "bare"}, "/blocks/0/text", "must be an object"),
    (section("x", colour="red"), "/blocks/0", "invalid additional property: colour"),
    (
        {"type": "section", "fields": [plain("x")] * 11},
        "/blocks/0/fields",
        "no more than 10 items allowed",
    ),
    (
        {"type": "section", "fields": [plain("x" * 2001)]},
        "/blocks/0/fields/0/text",
        "must be less than 2001 characters",
    ),
    ({"type": "header", "text": plain("x" * 151)}, "/blocks/0/text/text", "must be less than 151 characters"),
    ({"type": "header", "text": mrkdwn("x")}, "/blocks/0/text/type", "unsupported type: mrkdwn"),
    ({"type": "header"}, "/blocks/0", "missing required field: text"),
    (
        {"type": "context", "elements": [plain("x")] * 11},
        "/blocks/0/elements",
        "no more than 10 items allowed",
    ),
    (actions(), "/blocks/0/elements", "no fewer than 1 items allowed"),
    (
        actions(button("x" * 76, "a")),
        "/blocks/0/elements/0/text/text",
        "must be less than 76 characters",
    ),
    (
        actions(button("x", "a", value="x" * 2001)),
        "/blocks/0/elements/0/value",
        "must be less than 2001 characters",
    ),
    (
        actions(button("x", "a" * 256)),
        "/blocks/0/elements/0/action_id",
        "must be less than 256 characters",
    ),
    (
        actions(button("x", "a", style="loud")),
        "/blocks/0/elements/0/style",
        "must be a valid enum value: primary, danger",
    ),
    (
        actions(button("x", "a", confirm=confirm(title=plain("x" * 101)))),
        "/blocks/0/elements/0/confirm/title/text",
        "must be less than 101 characters",
    ),
    (
        actions(button("x", "a", visible_to_user_ids=["U"] * 11)),
        "/blocks/0/elements/0/visible_to_user_ids",
        "no more than 10 items allowed",
    ),
    (actions(button("x", "same"), button("y", "same")), "/blocks/0", "duplicate action_id: same"),
    (
        actions({"type": "plain_text_input", "action_id": "a"}),
        "/blocks/0/elements/0/type",
        "unsupported type: plain_text_input",
    ),
    (
        actions({"type": "overflow", "action_id": "a", "options": menu("x", "a", *"abcdef")["options"]}),
        "/blocks/0/elements/0/options",
        "no more than 5 items allowed",
    ),
    (
        actions(menu("x", "a", *(str(n) for n in range(101)))),
        "/blocks/0/elements/0/options",
        "no more than 100 items allowed",
    ),
    (
        actions(menu("x", "a", "y" * 76)),
        "/blocks/0/elements/0/options/0/text/text",
        "must be less than 76 characters",
    ),
    (
        text_input("Why", "why", max_length=3001),
        "/blocks/0/element/max_length",
        "must be between 1 and 3000",
    ),
    (
        rich({"type": "rich_text_section", "elements": [{"type": "text", "text": ""}]}),
        "/blocks/0/elements/0/elements/0/text",
        "must be more than 0 characters",
    ),
    (
        {"type": "container", "title": plain("t"), "child_blocks": [section("x" * 3001)]},
        "/blocks/0/child_blocks/0/text/text",
        "must be less than 3001 characters",
    ),
    ({"type": "alert", "text": plain("x" * 201)}, "/blocks/0/text/text", "must be less than 201 characters"),
]


@pytest.mark.parametrize(("block", "pointer", "message"), BAD, ids=[f"{row[1]} {row[2]}" for row in BAD])
def test_a_block_that_slack_refuses_is_pointed_at(block: Json, pointer: str, message: str) -> None:
    assert [(p.pointer, p.message) for p in check_blocks([block], "message")] == [(pointer, message)]


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([section("x")] * 51, "no more than 50 items allowed"),
        ([section("x", block_id="b"), section("y", block_id="b")], "duplicate block_id: b"),
        (
            [{"type": "markdown", "text": "x" * 7000}] * 2,
            "markdown blocks must be less than 12001 characters together",
        ),
        ([{"type": "table", "rows": [[{"type": "raw_text", "text": "a"}]]}] * 2, "only_one_table_allowed"),
        (["not a block"], "must be an object"),
    ],
)
def test_a_message_is_judged_as_a_whole(blocks: list[Any], message: str) -> None:
    assert message in [problem.message for problem in check_blocks(blocks, "message")]


@pytest.mark.parametrize(
    ("view", "pointer", "message"),
    [
        (modal("x" * 25), "/view/title/text", "must be less than 25 characters"),
        (modal("x", *[section("y")] * 101), "/view/blocks", "no more than 100 items allowed"),
        (
            modal("x", private_metadata="x" * 3001),
            "/view/private_metadata",
            "must be less than 3001 characters",
        ),
        (
            modal("x", submit=None) | {"blocks": [text_input("a", "b")]},
            "/view",
            "missing required field: submit",
        ),
        (modal("x", {"type": "markdown", "text": "x"}), "/view/blocks/0/type", "unsupported type: markdown"),
        ({"type": "modal", "blocks": []}, "/view", "missing required field: title"),
        ({"type": "home"}, "/view", "missing required field: blocks"),
        ({"type": "home", "blocks": [], "title": plain("x")}, "/view", "invalid additional property: title"),
        ({"type": "window"}, "/view/type", "unsupported type: window"),
    ],
)
def test_a_view_that_slack_refuses_is_pointed_at(view: Json, pointer: str, message: str) -> None:
    assert [(p.pointer, p.message) for p in check_view(view)] == [(pointer, message)]


def test_a_hundred_blocks_fit_a_view_and_not_a_message() -> None:
    assert check_view(modal("x", *[section("y")] * 100)) == []
    assert check_blocks([section("y")] * 100, "message") != []


# Independent opinions.


def _models(module: Any, base: type) -> dict[str, Any]:
    found: list[Any] = [model for _, model in inspect.getmembers(module, inspect.isclass)]
    models = [model for model in found if issubclass(model, base)]
    return {model.type: model for model in models if isinstance(getattr(model, "type", None), str)}


_SDK_ELEMENTS = _models(block_elements, block_elements.InteractiveElement)
_SDK_BLOCKS = _models(sdk_blocks, Block)
#: Blocks of other products, which the bot has no use for.
_NOT_OURS = {"call", "auth_provider"}


@pytest.mark.parametrize("name", sorted(_SDK_ELEMENTS))
def test_every_field_of_an_sdk_element_is_known(name: str) -> None:
    known = ELEMENTS[name].fields | {"type"}
    assert set(_attributes(_SDK_ELEMENTS[name])) <= known


@pytest.mark.parametrize("name", sorted(_SDK_BLOCKS.keys() - _NOT_OURS))
def test_every_field_of_an_sdk_block_is_known(name: str) -> None:
    known = BLOCKS[name].fields | {"type"}
    assert set(_attributes(_SDK_BLOCKS[name])) <= known


def _attributes(model: Any) -> set[str]:
    # `attributes` is a property that needs no initialised instance.
    return model.__new__(model).attributes


@pytest.mark.parametrize(
    ("shape", "field", "longest"),
    [
        (ELEMENTS["button"], "value", limits.BUTTON_VALUE_MAX_LENGTH),
        (ELEMENTS["button"], "url", limits.BUTTON_URL_MAX_LENGTH),
        (ELEMENTS["button"], "action_id", limits.ACTION_ID_MAX_LENGTH),
        (ELEMENTS["button"], "agent_prompt", limits.BUTTON_AGENT_PROMPT_MAX_LENGTH),
        (OPTION, "value", limits.OPTION_VALUE_MAX_LENGTH),
        (BLOCKS["markdown"], "text", limits.MARKDOWN_TEXT_MAX_LENGTH),
        (BLOCKS["divider"], "block_id", limits.BLOCK_ID_MAX_LENGTH),
        (BLOCKS["image"], "alt_text", limits.IMAGE_ALT_TEXT_MAX_LENGTH),
    ],
)
def test_string_limits_agree_with_slackblocks(shape: Shape, field: str, longest: int) -> None:
    assert _problems(shape, field, "x" * longest) == 0
    assert _problems(shape, field, "x" * (longest + 1)) == 1


@pytest.mark.parametrize(
    ("shape", "field", "longest"),
    [
        (ELEMENTS["button"], "text", limits.BUTTON_TEXT_MAX_LENGTH),
        (ELEMENTS["static_select"], "placeholder", limits.SELECT_PLACEHOLDER_MAX_LENGTH),
        (OPTION, "text", limits.OPTION_TEXT_MAX_LENGTH),
        (OPTION, "description", limits.OPTION_DESCRIPTION_MAX_LENGTH),
        (CONFIRM, "title", limits.CONFIRMATION_TITLE_MAX_LENGTH),
        (CONFIRM, "text", limits.CONFIRMATION_TEXT_MAX_LENGTH),
        (CONFIRM, "confirm", limits.CONFIRMATION_CONFIRM_MAX_LENGTH),
        (CONFIRM, "deny", limits.CONFIRMATION_DENY_MAX_LENGTH),
        (BLOCKS["header"], "text", limits.HEADER_TEXT_MAX_LENGTH),
        (BLOCKS["section"], "text", limits.SECTION_TEXT_MAX_LENGTH),
        (BLOCKS["alert"], "text", limits.ALERT_TEXT_MAX_LENGTH),
        (BLOCKS["card"], "title", limits.CARD_TITLE_MAX_LENGTH),
        (BLOCKS["card"], "body", limits.CARD_BODY_MAX_LENGTH),
        (BLOCKS["container"], "title", limits.CONTAINER_TITLE_MAX_LENGTH),
        (BLOCKS["input"], "label", limits.INPUT_LABEL_MAX_LENGTH),
        (BLOCKS["input"], "hint", limits.INPUT_HINT_MAX_LENGTH),
    ],
)
def test_text_limits_agree_with_slackblocks(shape: Shape, field: str, longest: int) -> None:
    assert _problems(shape, field, plain("x" * longest)) == 0
    assert _problems(shape, field, plain("x" * (longest + 1))) == 1


def _problems(shape: Shape, field: str, value: object) -> int:
    report = Report()
    (shape.required.get(field) or shape.optional[field])(value, "", report)
    return len(report.problems)


def test_what_slackblocks_builds_is_accepted() -> None:
    built = [
        slackblocks.HeaderBlock("Approval needed"),
        slackblocks.SectionBlock("Delete 847 files", fields=["a", "b"]),
        slackblocks.ActionsBlock([slackblocks.Button("Approve", action_id="ok", style="primary")]),
        slackblocks.ContextBlock([slackblocks.Text("expires 14:50")]),
        slackblocks.DividerBlock(),
    ]
    assert check_blocks([resolve(block) for block in built], "message") == []
