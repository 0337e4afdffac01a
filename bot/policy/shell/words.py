"""What a word becomes when quotes and escapes are taken away, and the spellings a text may be hidden in."""

import re
from collections.abc import Iterator


def listed(text: str) -> frozenset[str]:
    """Return the words of `text`: long lists of names stay readable without quotes and commas."""
    return frozenset(text.split())


_QUOTED = re.compile(
    r"""\$'((?:\\.|[^'\\])*)'?      # $'ansi'
      | \$?"((?:\\.|[^"\\])*)"?     # "double"
      | '([^']*)'?                  # 'single'
      | \\(.?)                      # an escape
      | ([^'"\\$]+|\$)              # anything else
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"\\([$`\"\\\n!])")


def unquote(text: str) -> str:
    """Return `text` as one word without its quotes; expansions stay as they are written."""
    if not any(char in text for char in "'\"\\"):
        return text
    return "".join(map(_bare, _QUOTED.finditer(text)))


def _bare(piece: re.Match[str]) -> str:
    ansi, double, single, escape, plain = piece.groups()
    if ansi is not None:
        return _ansi(ansi)
    if double is not None:
        return _ESCAPED.sub(lambda match: "" if match[1] == "\n" else match[1], double)
    if escape is not None:
        return "" if escape == "\n" else escape
    return single if single is not None else plain


#: The escapes of $'…' as bash reads them; an unknown one stays as it is written.
_ANSI_ESCAPE = re.compile(
    r"\\(?:(?P<letter>[abeEfnrtv\\'\"?])|(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9a-fA-F]{1,2})"
    r"|u(?P<short>[0-9a-fA-F]{1,4})|U(?P<long>[0-9a-fA-F]{1,8})|c(?P<control>.))",
    re.DOTALL,
)
_LETTERS = dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True))


def _ansi(text: str) -> str:
    return _ANSI_ESCAPE.sub(_unescaped, text)


def _unescaped(match: re.Match[str]) -> str:
    kind, value = match.lastgroup, match[match.lastgroup or 0]
    match kind:
        case "letter":
            return _LETTERS.get(value, value)
        case "octal":
            return chr(int(value, 8) & 0xFF)
        case "control":
            return chr(ord(value) & 0x1F)
        case _:
            code = int(value, 16)
            return chr(code) if code <= 0x10FFFF else value


_CONTINUED = re.compile(r"\\\r?\n")
_IFS = re.compile(r"\$\{?IFS[^}\s]*\}?|\$IFS\$?\d?")
_ANSI = re.compile(r"\$'((?:\\.|[^'\\])*)'")
_BRACES = re.compile(r"[{},]+")
_EXPANSION = re.compile(r"\$\{[^}]*\}|\$[A-Za-z_]\w*|\$[@*#?!$0-9-]|\$\(\)|``|\$\([^()]*\)|`[^`]*`")
_ASSIGNED = re.compile(r"(?:^|[\s;&|(])([A-Za-z_]\w*)=('[^']*'|\"[^\"]*\"|[^\s;&|'\"$`]+)")


def spellings(text: str) -> Iterator[str]:
    """Yield `text` and what it may turn into. Each is a guess; together they over-approximate."""
    yield text
    joined = text
    if "\\\n" in text or "\\\r\n" in text:
        joined = _CONTINUED.sub("", text)
        yield joined
        # bash joins the lines; a reader that keeps them apart must still see the second one
        yield text.replace("\\\n", "\n")
    if "\\" in joined:
        yield joined.replace("\\", "")
    if any(char in joined for char in "\r\v\f"):
        yield re.sub(r"[\r\v\f]", "\n", joined)
    if "$" in joined or "`" in joined:
        yield from _expanded(joined)
    if "{" in joined and ("," in joined or ".." in joined):
        yield _BRACES.sub(" ", joined)


def _expanded(text: str) -> Iterator[str]:
    if "IFS" in text:
        text = _IFS.sub(" ", text)
        yield text
    if "$'" in text:
        yield _ANSI.sub(lambda match: _ansi(match[1]), text)
    if assigned := {name: unquote(value) for name, value in _ASSIGNED.findall(text)}:
        yield re.sub(r"\$\{?(\w+)\}?", lambda match: assigned.get(match[1], match[0]), text)
    yield _EXPANSION.sub("", text)
