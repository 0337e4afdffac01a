"""JSON schema to input blocks, and what was filled in back to values of the right types. Pure.

What has no input of its own (objects, lists of other things) is typed as JSON. A value that is too long for an input is
left out of the form and stays as it is.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain.canonical import JsonObject
from bot.domain.literal import visible
from bot.slack.views.text import INPUT, Block, plain

#: Fields of a form; Slack takes 100 blocks.
MOST_FIELDS = 60
_BLOCK = "arg:"
_ACTION = "value"


class BadInput(ValueError):
    """What was typed does not fit a field."""

    def __init__(self, errors: dict[str, str]) -> None:
        self.errors = errors
        super().__init__("; ".join(errors.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One input: its name, its schema without the wrapping, and what it holds at first."""

    name: str
    schema: JsonObject
    required: bool = False
    initial: Any = None
    #: Whether the schema's title is the label: a question of its own, not just another spelling of the name.
    titled: bool = False

    @property
    def block_id(self) -> str:
        return f"{_BLOCK}{self.name}"[:255]

    @property
    def label(self) -> str:
        title = self.schema.get("title")
        return (
            visible(str(title))
            if title and (self.titled or not self.name)
            else visible(self.name or "Answer")
        )

    @property
    def hint(self) -> str:
        examples = ", ".join(str(each) for each in self.schema.get("examples", ())[:10])
        return str(self.schema.get("description") or (f"For example {examples}" if examples else ""))


def fields_of(
    schema: JsonObject | None,
    values: Mapping[str, Any],
    editable: Sequence[str] | None = None,
    *,
    titled: bool = False,
) -> list[Field]:
    """Return the inputs for an object's properties; one nameless input for any other schema."""
    if schema is None:
        return [Field(name="", schema={"type": "string"}, required=True)]
    if schema.get("type") != "object":
        return [Field(name="", schema=_resolved(schema, schema), required=True)]
    required = set(schema.get("required", []))
    found: list[Field] = []
    for name, wrapped in schema.get("properties", {}).items():
        if editable is not None and name not in editable:
            continue
        inner = _resolved(wrapped, schema)
        initial = values.get(name, inner.get("default"))
        must = name in required
        found.append(Field(name=name, schema=inner, required=must, initial=initial, titled=titled))
    return [field for field in found if _fits(field)][:MOST_FIELDS]


def _resolved(schema: JsonObject, root: JsonObject) -> JsonObject:
    """Follow a local reference and unwrap "this or nothing", as pydantic writes optional fields."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return _resolved({**root.get("$defs", {}).get(name, {}), **_without(schema, "$ref")}, root)
    kinds = [each for each in schema.get("anyOf", []) if each.get("type") != "null"]
    if len(kinds) == 1:
        return _resolved({**kinds[0], **_without(schema, "anyOf")}, root)
    return schema


def _without(schema: JsonObject, key: str) -> JsonObject:
    return {name: value for name, value in schema.items() if name != key}


def _fits(field: Field) -> bool:
    return field.initial is None or len(_typed(field)) <= INPUT


def _typed(field: Field) -> str:
    """The initial value as somebody would type it."""
    if isinstance(field.initial, str) and _kind(field.schema) != "json":
        return field.initial
    return json.dumps(field.initial, ensure_ascii=False)


def _kind(schema: JsonObject) -> str:
    if _choices(schema):
        return "choice"
    kind = schema.get("type")
    if kind == "string":
        return "date" if schema.get("format") == "date" else "text"
    if kind == "array" and _choices(schema.get("items", {})):
        return "choices"
    return {"integer": "number", "number": "number", "boolean": "yes_no"}.get(str(kind), "json")


def _choices(schema: JsonObject) -> list[Any]:
    listed = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    return listed if len(listed) <= 100 else []


# ── To blocks ────────────────────────────────────────────────────────────────────────────────────────────


def input_block(field: Field) -> Block:
    block: Block = {
        "type": "input",
        "block_id": field.block_id,
        "label": plain(field.label, 200),
        "element": _ELEMENTS[_kind(field.schema)](field) | {"action_id": _ACTION},
        # A field that must be there may still be empty: the tool's own check says whether that fits.
        "optional": not field.required or field.initial == "",
    }
    return block | {"hint": plain(field.hint, 500)} if field.hint else block


def _text(field: Field) -> JsonObject:
    longest = min(int(field.schema.get("maxLength", INPUT)), INPUT)
    initial = str(field.initial) if field.initial is not None else ""
    element: JsonObject = {
        "type": "plain_text_input",
        "multiline": field.name == "" or "\n" in initial or len(initial) > 100,
        "max_length": max(longest, len(initial), 1),
    }
    return element | {"initial_value": initial} if initial else element


def _json(field: Field) -> JsonObject:
    element: JsonObject = {"type": "plain_text_input", "multiline": True}
    return element if field.initial is None else element | {"initial_value": _typed(field)}


def _number(field: Field) -> JsonObject:
    schema = field.schema
    element: JsonObject = {"type": "number_input", "is_decimal_allowed": schema.get("type") == "number"}
    for theirs, ours in (("minimum", "min_value"), ("maximum", "max_value")):
        if theirs in schema:
            element[ours] = str(schema[theirs])
    return element if field.initial is None else element | {"initial_value": str(field.initial)}


def _yes_no(field: Field) -> JsonObject:
    options = [_option("Yes", value=True), _option("No", value=False)]
    element: JsonObject = {"type": "radio_buttons", "options": options}
    if isinstance(field.initial, bool):
        element["initial_option"] = options[0] if field.initial else options[1]
    return element


def _date(field: Field) -> JsonObject:
    element: JsonObject = {"type": "datepicker"}
    initial = field.initial if isinstance(field.initial, str) and len(field.initial) == 10 else None
    return element | {"initial_date": initial} if initial else element


def _choice(field: Field) -> JsonObject:
    options = [_option(str(value), value=place) for place, value in enumerate(_choices(field.schema))]
    element: JsonObject = {"type": "static_select", "options": options}
    if field.initial in _choices(field.schema):
        element["initial_option"] = options[_choices(field.schema).index(field.initial)]
    return element


def _several(field: Field) -> JsonObject:
    choices = _choices(field.schema["items"])
    options = [_option(str(value), value=place) for place, value in enumerate(choices)]
    element: JsonObject = {
        "type": "checkboxes" if len(options) <= 10 else "multi_static_select",
        "options": options,
    }
    chosen: Any = field.initial or ()
    initial = [options[place] for place, value in enumerate(choices) if value in chosen]
    return element | {"initial_options": initial} if initial else element


def _option(label: str, *, value: object) -> JsonObject:
    return {"text": plain(label, 75), "value": json.dumps(value)}


_ELEMENTS = {
    "text": _text,
    "json": _json,
    "number": _number,
    "yes_no": _yes_no,
    "date": _date,
    "choice": _choice,
    "choices": _several,
}


# ── And back ─────────────────────────────────────────────────────────────────────────────────────────────


def filled(fields: Sequence[Field], state: JsonObject) -> dict[str, Any]:
    """Return the values by name; what was left empty is left out.

    Raises:
        BadInput: says under which inputs what is wrong.
    """
    values: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for field in fields:
        try:
            value = _read(field, state.get(field.block_id, {}).get(_ACTION, {}))
        except ValueError as problem:
            errors[field.block_id] = str(problem)
            continue
        if value is not None:
            values[field.name] = value
    if errors:
        raise BadInput(errors)
    return values


def _read(field: Field, held: JsonObject) -> Any:  # noqa: PLR0911 - a table
    match _kind(field.schema):
        case "text":
            return _read_text(field, held.get("value"))
        case "number":
            return _read_number(field, held.get("value"))
        case "date":
            return held.get("selected_date")
        case "yes_no":
            return _picked(held.get("selected_option"))
        case "choice":
            place = _picked(held.get("selected_option"))
            return None if place is None else _choices(field.schema)[place]
        case "choices":
            picked: list[JsonObject] = held.get("selected_options") or []
            return [_choices(field.schema["items"])[_picked(option)] for option in picked]
        case _:
            return _read_json(held.get("value"))


def _read_text(field: Field, typed: str | None) -> str | None:
    # An emptied field that must be there is an empty text; one that need not be there is gone.
    return typed or ("" if field.required and field.name else None)


def _read_number(field: Field, typed: str | None) -> int | float | None:
    if not typed:
        return None
    try:
        return int(typed) if field.schema.get("type") == "integer" else float(typed)
    except ValueError:
        raise ValueError("This must be a number.") from None


def _read_json(typed: str | None) -> Any:
    if not typed or not typed.strip():
        return None
    try:
        return json.loads(typed)
    except ValueError as problem:
        raise ValueError(f"This must be JSON: {problem}") from None


def _picked(option: JsonObject | None) -> Any:
    return None if option is None else json.loads(option["value"])
