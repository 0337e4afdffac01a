"""File name patterns, as shells write them. Pure.

A pattern without a slash is matched against the file's name, at any depth (`*.tmp`); one with a slash against
the path below the starting directory (`build/**/*.o`). `*` never crosses a slash, `**` does.
"""

import re
from collections.abc import Callable

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]/]*\]|.", re.DOTALL)
_FIXED = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def matcher(pattern: str) -> Callable[[str, str], bool]:
    """Return a test of (name, path below the start)."""
    if pattern in {"", "*", "**", "**/*"}:
        return lambda _name, _path: True
    matches = re.compile("".join(map(_translate, _TOKEN.findall(pattern))), re.DOTALL).fullmatch
    if "/" in pattern:
        return lambda _name, path: matches(path) is not None
    return lambda name, _path: matches(name) is not None


def _translate(token: str) -> str:
    if token in _FIXED:
        return _FIXED[token]
    if len(token) > 2 and token.startswith("["):
        inside = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        if inside.startswith("!"):
            return f"[^/{inside[1:]}]"
        return f"[{inside}]" if not inside.startswith("^") else f"[\\{inside}]"
    return re.escape(token)
