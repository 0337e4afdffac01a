"""Asks for values one by one, from a JSON schema. What was typed is turned into what the schema wants."""

import json
from typing import Any

from bot.cli.keyboard import Keyboard
from bot.domain.canonical import JsonObject
from bot.domain.errors import InvalidAnswer
from bot.domain.literal import visible


async def fill(keyboard: Keyboard, schema: JsonObject | None) -> Any:
    """Ask for an answer that fits `schema`; text if there is none."""
    if schema is None:
        return await keyboard.ask("   answer> ")
    if schema.get("type") != "object":
        return await _ask_value(keyboard, "answer", schema, missing=None)
    filled: JsonObject = {}
    for name, field in _properties(schema).items():
        value = await _ask_value(keyboard, name, field, missing=field.get("default"))
        if value is not None:
            filled[name] = value
    return filled


async def edit(
    keyboard: Keyboard, args: JsonObject, schema: JsonObject, editable: tuple[str, ...] | None
) -> JsonObject:
    """Ask for each argument anew; an empty line keeps it."""
    edited = dict(args)
    for name, field in _properties(schema).items():
        if editable is None or name in editable:
            value = await _ask_value(keyboard, name, field, missing=args.get(name, field.get("default")))
            if value is not None or name in args:
                edited[name] = value
    return {name: value for name, value in edited.items() if name in args or value != _default(schema, name)}


def parse(text: str, field: JsonObject) -> Any:
    """Turn what was typed into the type the schema wants.

    Raises:
        InvalidAnswer: it cannot be; says what is expected.
    """
    if "enum" in field:
        return _choice(text, field["enum"])
    kinds = field.get("type") or [each.get("type") for each in field.get("anyOf", [])]
    wanted = [kinds] if isinstance(kinds, str) else list(kinds)
    if "string" in wanted or not wanted:
        return text
    if "boolean" in wanted and text.lower() in {"y", "yes", "true", "n", "no", "false"}:
        return text.lower() in {"y", "yes", "true"}
    try:
        return json.loads(text)
    except ValueError:
        if "array" in wanted:
            return [parse(part.strip(), field.get("items", {})) for part in text.split(",")]
        raise InvalidAnswer(f"Expected {' or '.join(str(kind) for kind in wanted)}, not {text!r}.") from None


def _choice(text: str, choices: list[Any]) -> Any:
    if text.isdigit() and 1 <= int(text) <= len(choices) and text not in map(str, choices):
        return choices[int(text) - 1]
    for choice in choices:
        if text == str(choice):
            return choice
    raise InvalidAnswer(f"Choose one of: {', '.join(str(choice) for choice in choices)}.")


async def _ask_value(keyboard: Keyboard, name: str, field: JsonObject, *, missing: Any) -> Any:
    hint = f" ({'/'.join(str(choice) for choice in field['enum'])})" if "enum" in field else ""
    kept = f" [{visible(json.dumps(missing, ensure_ascii=False))}]" if missing is not None else ""
    label = visible(str(field.get("title") or name))
    while True:
        typed = await keyboard.ask(f"   {label}{hint}{kept}: ")
        if not typed.strip():
            return missing
        try:
            return parse(typed.strip(), field)
        except InvalidAnswer as problem:
            print(f"   {problem}")


def _properties(schema: JsonObject) -> dict[str, JsonObject]:
    return schema.get("properties", {})


def _default(schema: JsonObject, name: str) -> Any:
    return _properties(schema).get(name, {}).get("default")
