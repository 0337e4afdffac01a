"""Characters a person cannot see, and so cannot approve."""

import re
import unicodedata

_PLAIN = re.compile(r"[ -~\n\t]*\Z")
#: Categories nobody can read: control, format (bidi, zero width, tags), private use, surrogates, unassigned,
#: line and paragraph separators, and every space that is not the ASCII one.
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp", "Zs"})
#: Letters and marks that draw nothing: Hangul fillers, the braille blank, joiners, variation selectors.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
#: So much nothing in a row only serves to push what follows off the card.
_PADDING = re.compile(r"[ \t]{100}|(?:[ \t]*\n){20}")


def hidden(text: str) -> str | None:
    """Return why `text` cannot be shown honestly, or None. Newline and tab are fine."""
    if not _PLAIN.match(text):
        for place, char in enumerate(text):
            if char not in "\n\t " and (unicodedata.category(char) in _UNSEEN or _BLANK.match(char)):
                name = unicodedata.name(char, "control character")
                return f"hidden character U+{ord(char):04X} ({name.lower()}) at position {place}"
    if match := _PADDING.search(text):
        return f"padding hides what follows position {match.start()}"
    return None
