"""JSON that strangers sent, narrowed without trusting it."""

from typing import Any, cast

Json = dict[str, Any]


def as_dict(value: object) -> Json | None:
    return cast("Json", value) if isinstance(value, dict) else None


def as_list(value: object) -> list[Any] | None:
    return cast("list[Any]", value) if isinstance(value, list) else None


def dicts(value: object) -> list[Json]:
    """Return the objects in a JSON array; nothing for anything else."""
    return [item for item in map(as_dict, as_list(value) or []) if item is not None]


def text_of(value: object) -> str:
    """Return the characters of a text object, or of a plain string."""
    if isinstance(value, str):
        return value
    found = (as_dict(value) or {}).get("text")
    return found if isinstance(found, str) else ""
