"""The one door to RE2: linear time, whatever the pattern. No backtracking engine for a policy's words."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# google-re2 ships no types.

from collections.abc import Callable

import re2


class BadPattern(ValueError):
    """Not a regular expression RE2 can run."""


def whole(pattern: str, *, fold: bool = False) -> Callable[[str], bool]:
    """Return a test that all of a text matches `pattern`; `fold` ignores case.

    Raises:
        BadPattern: it does not compile.
    """
    options = re2.Options()
    options.case_sensitive = not fold
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise BadPattern(str(error)) from error
    return lambda text: compiled.fullmatch(text) is not None


def within(pattern: str, *, fold: bool = False) -> Callable[[str], bool]:
    """Return a test that some part of a text matches `pattern`."""
    options = re2.Options()
    options.case_sensitive = not fold
    compiled = re2.compile(pattern, options)
    return lambda text: compiled.search(text) is not None


def escape(text: str) -> str:
    return str(re2.escape(text))
