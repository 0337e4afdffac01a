"""What people type and pick: the state that Slack sends along, and what its client refuses to send. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bot.playground.blockkit.surfaces import interactive
from bot.playground.errors import CannotDo
from bot.playground.shapes import Json, as_list, dicts, text_of

#: Element type → (name of its value in `state`, name of its initial value).
STATE: dict[str, tuple[str, str]] = {
    "plain_text_input": ("value", "initial_value"),
    "email_text_input": ("value", "initial_value"),
    "url_text_input": ("value", "initial_value"),
    "number_input": ("value", "initial_value"),
    "rich_text_input": ("rich_text_value", "initial_value"),
    "file_input": ("files", ""),
    "static_select": ("selected_option", "initial_option"),
    "external_select": ("selected_option", "initial_option"),
    "radio_buttons": ("selected_option", "initial_option"),
    "multi_static_select": ("selected_options", "initial_options"),
    "multi_external_select": ("selected_options", "initial_options"),
    "checkboxes": ("selected_options", "initial_options"),
    "users_select": ("selected_user", "initial_user"),
    "multi_users_select": ("selected_users", "initial_users"),
    "channels_select": ("selected_channel", "initial_channel"),
    "multi_channels_select": ("selected_channels", "initial_channels"),
    "conversations_select": ("selected_conversation", "initial_conversation"),
    "multi_conversations_select": ("selected_conversations", "initial_conversations"),
    "datepicker": ("selected_date", "initial_date"),
    "timepicker": ("selected_time", "initial_time"),
    "datetimepicker": ("selected_date_time", "initial_date_time"),
}
_WITH_OPTIONS = {"static_select", "radio_buttons", "overflow", "multi_static_select", "checkboxes"}
_TYPED = {"plain_text_input", "email_text_input", "url_text_input", "number_input"}


@dataclass(frozen=True, slots=True)
class Control:
    """An element a person can use, where it stands."""

    block: Json
    element: Json

    @property
    def kind(self) -> str:
        return self.element["type"]

    @property
    def label(self) -> str:
        """What a person would call it: its text, the label above it, or the grey text in it."""
        label = text_of(self.element.get("text"))
        if self.block.get("type") == "input":
            label = text_of(self.block.get("label"))
        elif not label and self.kind != "overflow":
            label = text_of(self.element.get("placeholder"))
        return label

    def is_called(self, name: str) -> bool:
        """Whether `name` is its label, its action id, its block id, or `block id/action id` to be exact."""
        block_id, action_id = self.block.get("block_id"), self.element.get("action_id")
        return name in (self.label, action_id, block_id, f"{block_id}/{action_id}")

    def is_visible_to(self, user: str) -> bool:
        shown_to = as_list(self.element.get("visible_to_user_ids"))
        return shown_to is None or user in shown_to


def controls(blocks: list[Json]) -> Iterator[Control]:
    for block in blocks:
        for child in dicts(block.get("child_blocks")) or [block]:
            for element in interactive(child):
                if element["type"] == "feedback_buttons":
                    for side in ("positive_button", "negative_button"):
                        yield Control(child, {**element, **element[side], "type": "feedback_buttons"})
                elif element["type"] != "image":
                    yield Control(child, element)


def find(blocks: list[Json], name: str, user: str) -> Control:
    """Return the control called `name`, as `user` sees it.

    Raises:
        CannotDo: there is none, or more than one, so a person could not do it either.
    """
    seen = [control for control in controls(blocks) if control.is_visible_to(user)]
    found = [control for control in seen if control.is_called(name)]
    if len(found) == 1:
        return found[0]
    there = (
        ", ".join(repr(control.label or control.element.get("action_id")) for control in seen) or "nothing"
    )
    problem = f"{len(found)} things called {name!r}" if found else f"nothing called {name!r}"
    raise CannotDo(f"there is {problem} here; one can use: {there}")


def state_values(blocks: list[Json], typed: dict[str, dict[str, Json]]) -> dict[str, dict[str, Json]]:
    """Return `state.values`: what was typed or picked, and the initial values of everything else."""
    values: dict[str, dict[str, Json]] = {}
    for control in controls(blocks):
        if control.kind in STATE:
            block_id, action_id = control.block["block_id"], control.element["action_id"]
            state = typed.get(block_id, {}).get(action_id) or _initial(control.element)
            values.setdefault(block_id, {})[action_id] = state
    return values


def filled(control: Control, value: Any) -> Json:
    """Return the state of `control` after a person gave it `value`; options are given by label or value."""
    if control.kind not in STATE:
        raise CannotDo(f"{control.label!r} is a {control.kind}, not something to fill in")
    name, _ = STATE[control.kind]
    if control.kind in _WITH_OPTIONS and value is not None:
        many = name.endswith("s")
        if many and as_list(value) is None:
            raise CannotDo(f"{control.label!r} takes a list of options")
        picked = [option(control, wanted) for wanted in (value if many else [value])]
        value = picked if many else picked[0]
    state = {"type": control.kind, name: value}
    if problem := _typing_problem(control.element, state):
        raise CannotDo(f"{control.label!r}: {problem}")
    return state


def option(control: Control, wanted: str) -> Json:
    offered = dicts(control.element.get("options"))
    for group in dicts(control.element.get("option_groups")):
        offered += dicts(group.get("options"))
    for choice in offered:
        if wanted in (text_of(choice["text"]), choice.get("value")):
            return choice
    there = ", ".join(repr(text_of(choice["text"])) for choice in offered)
    raise CannotDo(f"{control.label!r} offers no {wanted!r} but {there}")


def unfilled(blocks: list[Json], values: dict[str, dict[str, Json]]) -> list[str]:
    """Return the labels of inputs the client insists on before it submits."""
    missing: list[str] = []
    for control in controls(blocks):
        if control.block.get("type") == "input" and not control.block.get("optional"):
            state = values[control.block["block_id"]][control.element["action_id"]]
            if not state[STATE[control.kind][0]]:
                missing.append(control.label)
    return missing


def _initial(element: Json) -> Json:
    name, initial = STATE[element["type"]]
    return {"type": element["type"], name: element.get(initial, list[Any]() if name.endswith("s") else None)}


def _typing_problem(element: Json, state: Json) -> str | None:
    value = state.get("value")
    if element["type"] not in _TYPED or value is None:
        return None
    if not isinstance(value, str):
        return f"people type text, not {type(value).__name__}"
    shortest, longest = element.get("min_length") or 0, element.get("max_length") or 3000
    if value and not shortest <= len(value) <= longest:
        return f"the client takes {shortest} to {longest} characters, not {len(value)}"
    return _number_problem(element, value) if element["type"] == "number_input" and value else None


def _number_problem(element: Json, value: str) -> str | None:
    try:
        number = float(value) if element.get("is_decimal_allowed") else int(value)
    except ValueError:
        return f"the client does not take {value!r} as a number"
    low, high = float(element.get("min_value") or "-inf"), float(element.get("max_value") or "inf")
    return None if low <= number <= high else f"the client takes {low} to {high}"
