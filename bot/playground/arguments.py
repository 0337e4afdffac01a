"""Arguments of a Web API call, in whichever of Slack's shapes they came: JSON body, form or query string."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from bot.playground.errors import SlackError, bad_arguments
from bot.playground.shapes import Json, as_dict, as_list

T = TypeVar("T")
_TRUE = {"1", "true", "True"}


class Arguments:
    def __init__(self, values: Json) -> None:
        # Slack treats an absent argument and null alike, and so do all methods below.
        self.values = {name: value for name, value in values.items() if value is not None}

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str) -> str:
        value = self.optional(name)
        if not value:
            raise bad_arguments(f"missing required field: {name}")
        return value

    def optional(self, name: str) -> str | None:
        value = self.values.get(name)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return str(value)
        raise bad_arguments(f"must be a string [json-pointer:/{name}]")

    def flag(self, name: str, *, default: bool = False) -> bool:
        value = self.values.get(name)
        if value is None:
            return default
        return value if isinstance(value, bool) else str(value) in _TRUE

    def number(self, name: str, default: int) -> int:
        try:
            return int(self.values.get(name) or default)
        except (TypeError, ValueError):
            raise bad_arguments(f"must be an integer [json-pointer:/{name}]") from None

    def array(self, name: str, *, error: str = "invalid_arguments") -> list[Any] | None:
        """Return a JSON array, real or encoded as a string."""
        value = self._decoded(name, error)
        return None if value is None else _narrowed(as_list(value), name, error)

    def mapping(self, name: str, *, error: str = "invalid_arguments") -> Json | None:
        """Return a JSON object, real or encoded as a string."""
        value = self._decoded(name, error)
        return None if value is None else _narrowed(as_dict(value), name, error)

    def _decoded(self, name: str, error: str) -> object:
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return cast("object", json.loads(value)) if value else None
        except ValueError:
            raise _malformed(name, error) from None


def _narrowed(value: T | None, name: str, error: str) -> T:
    if value is None:
        raise _malformed(name, error)
    return value


def _malformed(name: str, error: str) -> SlackError:
    return (
        bad_arguments(f"not valid JSON of the right type [json-pointer:/{name}]")
        if error == "invalid_arguments"
        else SlackError(error)
    )


def parse_body(content_type: str, body: str) -> Json:
    """Return the arguments in a JSON body. Forms are read by aiohttp."""
    if content_type != "application/json" or not body:
        return {}
    try:
        parsed = as_dict(cast("object", json.loads(body)))
    except ValueError:
        raise SlackError("invalid_json") from None
    if parsed is None:
        raise SlackError("json_not_object")
    return parsed


def merge(*sources: Mapping[str, Any]) -> Arguments:
    return Arguments({name: value for source in sources for name, value in source.items()})
