"""Values held against JSON schemas that strangers wrote: nothing is fetched, no pattern explodes."""

from typing import Any

import jsonschema_rs

from bot.domain.canonical import JsonObject
from bot.tools.tool import ToolFailed

Validator = jsonschema_rs.Validator


def validator(schema: JsonObject) -> Validator:
    """Return a validator, or say what is wrong with the schema.

    Raises:
        ToolFailed: it is not a valid schema, or refers to something outside of itself.
    """
    try:
        # Offline: a `$ref` must not make us read files or ask metadata services. The plain regex engine: it
        # is linear, whatever the pattern, and refuses look-around.
        return jsonschema_rs.validator_for(
            schema, offline=True, pattern_options=jsonschema_rs.RegexOptions(), validate_formats=True
        )
    except (jsonschema_rs.ValidationError, ValueError) as error:
        raise ToolFailed(f"not a valid JSON schema: {str(error).partition(chr(10))[0]}") from error


def misfit(against: Validator, value: Any) -> str | None:
    """Say what does not fit, and where; None if all does."""
    error = next(iter(against.iter_errors(value)), None)
    if error is None:
        return None
    where = ".".join(str(part) for part in error.instance_path)
    return f"{where}: {error.message}" if where else error.message
