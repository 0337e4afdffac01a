"""Reads `sql/statements.sql`: a name between dashes, then one statement."""

import re
from functools import cache
from importlib import resources

_NAMED = re.compile(r"^-- (\w+) --$", re.MULTILINE)


@cache
def statements() -> dict[str, str]:
    """Return every statement by its name."""
    text = resources.files("bot.storage").joinpath("sql/statements.sql").read_text(encoding="utf-8")
    parts = _NAMED.split(text)
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return {name: _without_comments(body) for name, body in pairs}


def migrations() -> list[tuple[int, str]]:
    """Return every migration as (number, script), oldest first."""
    folder = resources.files("bot.storage").joinpath("sql/migrations")
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name
    )
    return [(int(file.name[:4]), file.read_text(encoding="utf-8")) for file in files]


def split_script(script: str) -> list[str]:
    """Split a migration into statements; none of ours has a semicolon inside."""
    return [part.strip() for part in _without_comments(script).split(";") if part.strip()]


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--")).strip()
