"""Server-sent events as text. Pure."""

from bot.domain.canonical import JsonObject, canonical

#: A comment: keeps proxies from closing a quiet connection.
KEEP_ALIVE = ": keep-alive\n\n"


def encode(data: str, *, event: str = "", id: str = "") -> str:  # noqa: A002 - the name of the field
    """Return one event. A line break inside `data` would end it early, so each line gets its own field."""
    lines = [f"event: {event}"] if event else []
    if id:
        lines.append(f"id: {id}")
    lines.extend(f"data: {line}" for line in data.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    return "\n".join(lines) + "\n\n"


def json_event(body: JsonObject, *, id: str = "") -> str:  # noqa: A002
    """Return an event named by its `type`. Canonical JSON is one line and has no raw line breaks."""
    return encode(_ascii_safe(canonical(body)), event=str(body["type"]), id=id)


def _ascii_safe(text: str) -> str:
    # A lone surrogate cannot be sent as UTF-8; readers of JSON understand the escape.
    return "".join(f"\\u{ord(char):04x}" if 0xD800 <= ord(char) <= 0xDFFF else char for char in text)
