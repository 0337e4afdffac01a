"""What a block may hold: buttons, selects, inputs, options, confirm dialogs, the parts of rich text."""

from bot.playground.blockkit.rules import (
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

ID = string(255)
URL = string(3000)
_STYLE = one_of("primary", "danger")
_PLACEHOLDER = plain(150)

CONFIRM = Shape(
    {"title": plain(100), "text": text(300), "confirm": plain(30), "deny": plain(30)}, {"style": _STYLE}
)


def _option(label: Rule) -> Shape:
    return Shape({"text": label, "value": string(150)}, {"description": text(75), "url": URL})


# Only check boxes and radio buttons may show mrkdwn.
OPTION = _option(plain(75))
RICH_OPTION = _option(text(75))
OPTION_GROUP = Shape({"label": plain(75), "options": items(OPTION, 100)})

DISPATCH = Shape(
    {"trigger_actions_on": items(one_of("on_enter_pressed", "on_character_entered"), 2)},
)
SLACK_FILE = Shape({}, {"id": string(255), "url": URL}, either=("id", "url"))
_WORKFLOW = Shape({"trigger": anything})
_FEEDBACK = Shape({"text": plain(75), "value": string(2000)}, {"accessibility_label": string(75)})
_FILTER = Shape(
    {},
    {
        "include": items(one_of("im", "mpim", "private", "public"), 4),
        "exclude_bot_users": boolean,
        "exclude_external_shared_channels": boolean,
    },
)
_USERS = items(string(255), 10)

# `alt_text` is in the SDK's list of every interactive element, `focus_on_load` in that of every input.
_ACTION: dict[str, Rule] = {"action_id": ID, "alt_text": string(2000)}
_PICK: dict[str, Rule] = {
    **_ACTION,
    "confirm": CONFIRM,
    "focus_on_load": boolean,
    "placeholder": _PLACEHOLDER,
}
_MANY: dict[str, Rule] = {**_PICK, "max_selected_items": integer(1, 100)}
_TYPE: dict[str, Rule] = {
    **_PICK,
    "dispatch_action_config": DISPATCH,
    "initial_value": string(3000, shortest=0),
}
_CHOICES: dict[str, Rule] = {"options": items(OPTION, 100), "option_groups": items(OPTION_GROUP, 100)}

ELEMENTS: dict[str, Shape] = {
    "button": Shape(
        {"text": plain(75)},
        {
            **_ACTION,
            "url": URL,
            "value": string(2000),
            "style": _STYLE,
            "confirm": CONFIRM,
            "accessibility_label": string(75),
            "agent_prompt": string(4000),
            "agent_prompt_display": string(4000),
            "visible_to_user_ids": _USERS,
        },
    ),
    "overflow": Shape({"options": items(OPTION, 5)}, {**_ACTION, "confirm": CONFIRM}),
    "static_select": Shape(
        {}, {**_PICK, **_CHOICES, "initial_option": OPTION}, either=("options", "option_groups")
    ),
    "multi_static_select": Shape(
        {}, {**_MANY, **_CHOICES, "initial_options": items(OPTION, 100)}, either=("options", "option_groups")
    ),
    "external_select": Shape({}, {**_PICK, "min_query_length": integer(0, 3000), "initial_option": OPTION}),
    "multi_external_select": Shape(
        {}, {**_MANY, "min_query_length": integer(0, 3000), "initial_options": items(OPTION, 100)}
    ),
    "users_select": Shape({}, {**_PICK, "initial_user": ID}),
    "multi_users_select": Shape({}, {**_MANY, "initial_users": items(ID, 100)}),
    "channels_select": Shape({}, {**_PICK, "initial_channel": ID, "response_url_enabled": boolean}),
    "multi_channels_select": Shape({}, {**_MANY, "initial_channels": items(ID, 100)}),
    "conversations_select": Shape(
        {},
        {
            **_PICK,
            "initial_conversation": ID,
            "response_url_enabled": boolean,
            "default_to_current_conversation": boolean,
            "filter": _FILTER,
        },
    ),
    "multi_conversations_select": Shape(
        {},
        {
            **_MANY,
            "initial_conversations": items(ID, 100),
            "default_to_current_conversation": boolean,
            "filter": _FILTER,
        },
    ),
    "radio_buttons": Shape({"options": items(RICH_OPTION, 10)}, {**_PICK, "initial_option": RICH_OPTION}),
    "checkboxes": Shape(
        {"options": items(RICH_OPTION, 10)}, {**_PICK, "initial_options": items(RICH_OPTION, 10)}
    ),
    "datepicker": Shape({}, {**_PICK, "initial_date": string(10)}),
    "timepicker": Shape({}, {**_PICK, "initial_time": string(5), "timezone": string(255)}),
    "datetimepicker": Shape({}, {**_PICK, "initial_date_time": integer(0, 9_999_999_999)}),
    "plain_text_input": Shape(
        {},
        {
            **_TYPE,
            "multiline": boolean,
            "min_length": integer(0, 3000),
            "max_length": integer(1, 3000),
        },
    ),
    "email_text_input": Shape({}, _TYPE),
    "url_text_input": Shape({}, _TYPE),
    "number_input": Shape(
        {"is_decimal_allowed": boolean}, {**_TYPE, "min_value": string(255), "max_value": string(255)}
    ),
    "rich_text_input": Shape(
        {},
        {**_TYPE, "initial_value": anything, "min_lines": integer(1, 100), "max_lines": integer(1, 100)},
    ),
    "file_input": Shape({}, {**_PICK, "filetypes": items(string(255), 100), "max_files": integer(1, 10)}),
    "image": Shape(
        {"alt_text": string(2000)},
        {"image_url": URL, "slack_file": SLACK_FILE},
        either=("image_url", "slack_file"),
    ),
    "workflow_button": Shape(
        {"text": plain(75), "workflow": _WORKFLOW},
        {**_ACTION, "style": _STYLE, "accessibility_label": string(75)},
    ),
    "feedback_buttons": Shape({"positive_button": _FEEDBACK, "negative_button": _FEEDBACK}, _ACTION),
    "icon_button": Shape(
        {"icon": string(255), "text": plain(75)},
        {
            **_ACTION,
            "value": string(2000),
            "confirm": CONFIRM,
            "accessibility_label": string(75),
            "visible_to_user_ids": _USERS,
        },
    ),
    "url": Shape({"url": URL}, {"text": string(3000)}),
}

_SELECTS = (
    "static_select",
    "external_select",
    "users_select",
    "channels_select",
    "conversations_select",
)
_MULTI_SELECTS = tuple(f"multi_{name}" for name in _SELECTS)
_PICKERS = ("datepicker", "timepicker", "radio_buttons", "checkboxes")

#: Which elements may stand where.
IN_ACTIONS = ("button", "overflow", "workflow_button", "datetimepicker", *_SELECTS, *_PICKERS)
IN_SECTION = ("button", "overflow", "workflow_button", "image", *_SELECTS, *_MULTI_SELECTS, *_PICKERS)
IN_INPUT = (
    "plain_text_input",
    "email_text_input",
    "url_text_input",
    "number_input",
    "rich_text_input",
    "file_input",
    "datetimepicker",
    *_SELECTS,
    *_MULTI_SELECTS,
    *_PICKERS,
)

_INLINE_STYLE = Shape(
    {},
    dict.fromkeys(
        ("bold", "italic", "strike", "code", "underline", "highlight", "client_highlight", "unlink"), boolean
    ),
)
_STYLED: dict[str, Rule] = {"style": _INLINE_STYLE}
_INLINE: dict[str, Rule] = {
    "text": Shape({"text": string(1_000_000)}, _STYLED),
    "link": Shape({"url": URL}, {**_STYLED, "text": string(1_000_000), "unsafe": boolean}),
    "emoji": Shape({"name": string(255)}, {**_STYLED, "unicode": string(255), "skin_tone": anything}),
    "user": Shape({"user_id": ID}, _STYLED),
    "usergroup": Shape({"usergroup_id": ID}, _STYLED),
    "channel": Shape({"channel_id": ID}, _STYLED),
    "team": Shape({"team_id": ID}, _STYLED),
    "broadcast": Shape({"range": one_of("here", "channel", "everyone")}, _STYLED),
    "color": Shape({"value": string(255)}, _STYLED),
    "date": Shape(
        {"timestamp": integer(0, 1e12), "format": string(3000)},
        {**_STYLED, "url": URL, "fallback": string(3000)},
    ),
}
_INLINES = items(typed(_INLINE), 10_000, least=0)
_BORDER = integer(0, 1)
_SECTION: Rule = Shape({"elements": _INLINES})
RICH_TEXT: dict[str, Rule] = {
    "rich_text_section": _SECTION,
    "rich_text_preformatted": Shape({"elements": _INLINES}, {"border": _BORDER, "language": string(255)}),
    "rich_text_quote": Shape({"elements": _INLINES}, {"border": _BORDER}),
    "rich_text_list": Shape(
        {
            "elements": items(typed({"rich_text_section": _SECTION}), 10_000),
            "style": one_of("bullet", "ordered"),
        },
        {"indent": integer(0, 8), "offset": integer(0, 1e9), "border": _BORDER},
    ),
}
