"""The strict lexer: the only thing that may lead to running a command unasked.

It accepts a small subset of bash: plain words, quotes without expansion, `&& || ; |`, newlines, and
redirections to /dev/null or between stdout and stderr. Whatever else appears, even if harmless, is
`NotProved`. A grammar of all of bash would have to be right everywhere; this one only has to be right where
it says yes, and a fuzzer against the real bash checks that (tests/policy/test_fuzz_bash.py).
"""

import re
from dataclasses import dataclass
from shlex import quote

from bot.policy.characters import hidden
from bot.policy.shell.words import listed

LONGEST = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Simple:
    """One command: its exact words, and its redirections in order."""

    argv: tuple[str, ...]
    redirects: tuple[str, ...] = ()

    def render(self) -> str:
        return " ".join((*map(quote, self.argv), *self.redirects))


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One pipeline, and how it hangs on the one before it: `&&`, `||` or `;`."""

    joint: str
    pipeline: tuple[Simple, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Everything the text runs, word for word."""

    steps: tuple[Step, ...]

    @property
    def commands(self) -> tuple[Simple, ...]:
        return tuple(simple for step in self.steps for simple in step.pipeline)

    @property
    def argv(self) -> tuple[str, ...] | None:
        """The words of a single plain command, to be executed without a shell; None if it takes one."""
        if len(self.steps) != 1 or len(self.steps[0].pipeline) != 1 or self.steps[0].pipeline[0].redirects:
            return None
        return self.steps[0].pipeline[0].argv

    def render(self) -> str:
        """Return text for `bash --noprofile --norc -c` that runs exactly this, with every word quoted."""
        parts: list[str] = []
        for step in self.steps:
            pipeline = " | ".join(simple.render() for simple in step.pipeline)
            parts.append(f" {step.joint} {pipeline}" if step.joint else pipeline)
        return "".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotProved:
    reason: str
    position: int


# A tilde or hash inside a word is a letter to bash; at its start, or after `=` and `:`, it is not.
# The quantifiers are possessive: a word has one reading, and a long one must not be tried in all others.
_WORD = r"""(?:[A-Za-z0-9_@%+=:,./^\]-]++|(?<=[A-Za-z0-9_^/.-])[~\#]|\{\}
            |'[ -&(-~\n\t]*'|"[ \#%-\[\]-_a-~\n\t]*")++"""
_END = r"(?=[ \t\n;|&]|\Z)"
_TOKEN = re.compile(
    rf"""[ \t]*(?:
      (?P<redirect>(?:(?:[12]?|&)>>?|0?<)[ \t]*/dev/null{_END}|[12]?>&[12]{_END})
    | (?P<word>(?![0-9]+[<>])(?:!|{_WORD})(?=[ \t\n;|&<>]|\Z))
    | (?P<joint>&&|\|\||;(?![;&])|\|(?!&)|\n)
    )""",
    re.VERBOSE,
)
_PLAIN = re.compile(r"[^'\"]*\Z")
_PIECE = re.compile(r"'([^']*)'|\"([^\"]*)\"|([^'\"]+)")
_BLANKS = re.compile(r"[ \t]*\Z")

#: Words that mean something else where a command is expected.
RESERVED = listed(
    "if then else elif fi do done case esac while until for in function time select coproc ! { } [[ ]]"
)


class _Refused(Exception):
    """Carries a NotProved out of the builder."""

    def __init__(self, reason: str, position: int) -> None:
        self.why = NotProved(reason=reason, position=position)


class _Builder:
    """Collects tokens into steps; every rule of the subset's grammar is here."""

    __slots__ = ("argv", "joint", "pipeline", "redirects", "steps")

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.pipeline: list[Simple] = []
        self.argv: list[str] = []
        self.redirects: list[str] = []
        self.joint = ""

    def word(self, raw: str, position: int) -> None:
        value = raw if _PLAIN.match(raw) else "".join(a or b or c for a, b, c in _PIECE.findall(raw))
        if not self.argv and (value in RESERVED or not value or "=" in value or value[0] in "%~"):
            raise _Refused("an assignment, a reserved word or no name where a command is expected", position)
        self.argv.append(value)

    def operator(self, operator: str, position: int) -> None:
        if operator == "\n" and not self.argv and not self.redirects:
            return  # an empty line, or a line that goes on after an operator
        self.command(position)
        if operator != "|":
            self.close()
            self.joint = ";" if operator == "\n" else operator

    def command(self, position: int) -> None:
        if not self.argv:
            raise _Refused("an operator without a command", position)
        self.pipeline.append(Simple(argv=tuple(self.argv), redirects=tuple(self.redirects)))
        self.argv.clear()
        self.redirects.clear()

    def close(self) -> None:
        self.steps.append(Step(joint=self.joint if self.steps else "", pipeline=tuple(self.pipeline)))
        self.pipeline.clear()

    def finish(self, position: int) -> Proof:
        # `ls;` and a trailing newline are complete; `ls &&` and `ls |` are not.
        if self.argv or self.redirects or self.pipeline or self.joint in {"&&", "||"} or not self.steps:
            self.command(position)
            self.close()
        return Proof(steps=tuple(self.steps))


def prove(text: str) -> Proof | NotProved:
    """Return what `text` runs if it can be told for certain."""
    if len(text) > LONGEST:
        return NotProved(reason=f"longer than {LONGEST} characters", position=LONGEST)
    if not text.isascii():
        return NotProved(
            reason="a character outside ASCII", position=next(i for i, c in enumerate(text) if ord(c) > 127)
        )
    if why := hidden(text):
        return NotProved(reason=why, position=0)
    try:
        return _read(text)
    except _Refused as refused:
        return refused.why


def _read(text: str) -> Proof:
    builder, position = _Builder(), 0
    while not _BLANKS.match(text, position):
        token = _TOKEN.match(text, position)
        if token is None:
            raise _Refused(_reason(text, position), position)
        kind = token.lastgroup
        if kind == "word":
            builder.word(token["word"], position)
        elif kind == "joint":
            builder.operator(token["joint"], position)
        else:
            builder.redirects.append("".join(token["redirect"].split()))
        position = token.end()
    return builder.finish(position)


_REASONS = (
    ("$`", "an expansion: what it becomes is not known"),
    ("*?[", "a file name pattern: what it becomes is not known"),
    ("{}", "a brace: what it becomes is not known"),
    ("~", "a tilde: what it becomes is not known"),
    ("<>", "a redirection: it reads or writes a file"),
    ("&", "a command in the background"),
    ("()", "a subshell or function"),
    ("\\", "a backslash"),
    ("#", "a comment"),
    ("!", "an exclamation mark"),
    ("\"'", "a quote that is not closed, or an expansion inside quotes"),
)


def _reason(text: str, position: int) -> str:
    rest = text[position:].lstrip(" \t")
    # The word is read up to what stopped it, so that the reason names the culprit and not its first letter.
    stop = re.compile(_WORD, re.VERBOSE).match(text, position + len(text[position:]) - len(rest))
    culprit = text[stop.end()] if stop and stop.end() < len(text) else rest[:1]
    return next((why for chars, why in _REASONS if culprit in chars), f"the character {culprit!r}")
