"""Shows text from agents, tools and people literally: what could hide or reorder something becomes visible."""

import unicodedata

#: Categories that draw nothing, reorder, or mean nothing agreed on: control, format, surrogate, private, unassigned.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
#: Drawn as nothing although their category says otherwise.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_KEPT = frozenset("\n\t")
#: So many spaces in a row can push something out of sight.
_LONG_RUN = 20


def visible(text: str) -> str:
    r"""Return `text` with every hidden character written as its code point: `\u{202e}`."""
    if text.isascii() and text.isprintable():
        return _shortened_runs(text) if "  " in text else text
    return _shortened_runs("".join(_shown(character) for character in text))


def hides_something(text: str) -> bool:
    return any(_is_hidden(character) for character in text)


def shortened(text: str, limit: int) -> str:
    """Return at most `limit` characters, saying how many are left out; one value never hides another."""
    if len(text) <= limit:
        return text
    note = f"… (+{len(text) - limit:,} characters)"
    return text[: max(0, limit - len(note))] + note


def _is_hidden(character: str) -> bool:
    if character in _KEPT:
        return False
    # Any space but the ordinary one may be drawn as nothing, or as something else than it is.
    odd_space = character.isspace() and character != " "
    variation = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    return odd_space or variation or character in _BLANK or unicodedata.category(character) in _HIDDEN


def _shown(character: str) -> str:
    return f"\\u{{{ord(character):x}}}" if _is_hidden(character) else character


def _shortened_runs(text: str) -> str:
    run = " " * _LONG_RUN
    if run not in text:
        return text
    parts: list[str] = []
    for line in text.split("\n"):
        stripped = line.lstrip(" ")
        # Indentation is ordinary; a long gap inside a line is how things are hidden.
        parts.append(" " * (len(line) - len(stripped)) + stripped.replace(run, f"⟨{_LONG_RUN} spaces⟩"))
    return "\n".join(parts)
