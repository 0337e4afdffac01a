"""Paths are compared as what they lead to, never as text."""

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from bot.policy.regex import escape, whole, within


class Resolver(Protocol):
    """The file system, as far as a verdict needs it."""

    def resolve(self, path: str, cwd: str) -> str:
        """Return the absolute path `path` leads to from `cwd`: `~`, `..` and symbolic links are gone."""
        ...


class Unresolved:
    """A resolver without a file system: `..` is taken away, links are not known."""

    def resolve(self, path: str, cwd: str) -> str:
        return lexical(path, cwd)


class LinkTable:
    """A file system that consists of a few links, for tests that describe one."""

    def __init__(self, links: Mapping[str, str], home: str = "/home/bot") -> None:
        self.links = links
        self.home = home

    def resolve(self, path: str, cwd: str) -> str:
        if path == "~" or path.startswith("~/"):
            path = self.home + path[1:]
        parts = [*reversed((path if path.startswith("/") else f"{cwd}/{path}").split("/"))]
        done: list[str] = []
        for _ in range(4096):  # links may lead in a circle
            if not parts:
                break
            part = parts.pop()
            if part == "..":
                done = done[:-1]
            elif part not in {"", "."}:
                done = self._step(done, part, parts)
        return "/" + "/".join(done)

    def _step(self, done: list[str], part: str, parts: list[str]) -> list[str]:
        target = self.links.get("/".join(("", *done, part)))
        if target is None:
            return [*done, part]
        parts += reversed(target.split("/"))
        return [] if target.startswith("/") else done


def lexical(path: str, cwd: str) -> str:
    """Return `path` from `cwd` without `.`, `..` and doubled slashes, by its text alone."""
    if path[:1] == "/" and "/." not in path and "//" not in path and path[-1] != "/":
        return path  # as most paths are written
    joined = posixpath.normpath(posixpath.join("/", cwd, path))
    return "/" + joined.lstrip("/")


#: Spellings that one program decodes and another does not; such a path is never compared with confidence.
_DECEIVING = re.compile(r"%(?:2e|2f|5c|00)|\x00", re.IGNORECASE)


def deceiving(path: str) -> bool:
    return bool(_DECEIVING.search(path))


def is_under(path: str, base: str) -> bool:
    """Whether a resolved `path` is `base` or inside of it, on component boundaries."""
    return path == base or path.startswith(base if base.endswith("/") else base + "/")


def path_glob(patterns: Iterable[str], *, fold: bool) -> Callable[[str], bool]:
    """Compile `patterns` to one test. `**` crosses directories, `*` and `?` do not; `dir/**` is also `dir`.

    A pattern that does not start with `/` or `**` holds at any depth.
    """
    source = "|".join(_regex(pattern) for pattern in patterns)
    return whole(source, fold=fold)


def path_glob_among(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Compile `patterns` to a test that a list of paths, one per line, holds one that fits, in any case."""
    source = "|".join(_regex(pattern) for pattern in patterns)
    return within(f"(?m)^(?:{source})$", fold=True)


_GLOB = re.compile(
    r"(?P<deep>\*\*/)|(?P<rest>/\*\*\Z)|(?P<many>\*\*)|(?P<star>\*)|(?P<one>\?)|(?P<text>[^*?/]+|/)"
)
_BECOMES = {"deep": "(?:.*/)?", "rest": "(?:/.*)?", "many": ".*", "star": r"[^/\n]*", "one": r"[^/\n]"}


def _regex(pattern: str) -> str:
    anchored = pattern if pattern.startswith(("/", "**")) else f"**/{pattern}"
    anchored = "/" + anchored if anchored.startswith("**") else anchored
    parts = (_BECOMES.get(m.lastgroup or "") or escape(m[0]) for m in _GLOB.finditer(anchored))
    return f"(?:{''.join(parts)})"


def text_glob(pattern: str) -> Callable[[str], bool]:
    """Compile a glob over plain text, matched whole: `*` is anything, `?` one character."""
    if not any(sign in pattern for sign in "*?"):
        return pattern.__eq__
    return whole("(?s)" + "".join({"*": ".*", "?": "."}.get(char) or escape(char) for char in pattern))
