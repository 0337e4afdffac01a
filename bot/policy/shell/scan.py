"""A rough reader that splits text at every operator. It may see too many commands: that is its purpose."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from bot.policy.shell.words import unquote


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One command the text might run."""

    words: tuple[str, ...]
    #: Whether it reads what another command writes.
    piped: bool = False
    #: Files it is redirected from or to, and here-strings.
    redirects: tuple[str, ...] = ()


_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\v\f]+)
      | (?P<inner>[<>]\(|\$\(\(?|`)
      | (?P<redirect>\d*(?:<<<|<<-?|&>>?|<>|>>|>\||>&|<&|>|<))
      | (?P<operator>\|\||&&|\|&|;;&?|;&|[|;&\n(){}])
      | (?P<quoted>\$?'(?:\\.|[^'\\])*'|'[^']*'|\$?"(?:\\.|[^"\\])*")
      | (?P<braced>\$\{[^{}\s]*\}|\{[^\s{}]*\})
      | (?P<escape>\\.)
      | (?P<plain>[^\s'"\\|;&(){}<>$`]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_INNER = re.compile(r"\$\(|`|<\(|>\(|\$\{")
_HEREDOC = re.compile(
    r"<<(-?)[ \t]*(['\"]?)([A-Za-z_]+)\2(?=[ \t\n;|&<>])([^\n]*\n)(.*?)^(\t*)\3$", re.DOTALL | re.MULTILINE
)


@dataclass(slots=True)
class _Line:
    found: list[Reading] = field(default_factory=list[Reading])
    words: list[str] = field(default_factory=list[str])
    redirects: list[str] = field(default_factory=list[str])
    word: str = ""
    piped: bool = False
    redirecting: bool = False

    def end_word(self) -> None:
        if self.word:
            (self.redirects if self.redirecting else self.words).append(unquote(self.word))
            self.redirecting = False
            self.word = ""

    def end(self, operator: str) -> None:
        self.end_word()
        if self.words or self.redirects:
            self.found.append(
                Reading(words=tuple(self.words), piped=self.piped, redirects=tuple(self.redirects))
            )
            self.piped = False
        self.words, self.redirects, self.redirecting = [], [], False
        # `| (bash)` and `| { bash; }` still read the pipe.
        self.piped = operator in {"|", "|&"} or (self.piped and operator in {"(", "{", "\n"})


def split(text: str) -> list[Reading]:
    line = _Line()
    for token in _TOKEN.finditer(text):
        match token.lastgroup:
            case "blank":
                line.end_word()
            case "operator":
                line.end(token[0])
            case "inner":
                # `bash <(curl …)` reads what curl writes, as a pipe does.
                line.piped = line.piped or token[0] == "<("
                line.end(token[0])
            case "redirect":
                line.end_word()
                line.redirecting = True
            case _:
                line.word += token[0]
    line.end("")
    return line.found


def inner_texts(text: str) -> Iterator[str]:
    """Yield what stands inside `$(…)`, backticks, `<(…)` and `${…}`, also within double quotes."""
    bare = text if "<<" in text or text.count("'") % 2 else _without_single_quotes(text)
    for match in _INNER.finditer(bare):
        yield _balanced(bare, match.end(), match[0])


def _without_single_quotes(text: str) -> str:
    # An apostrophe inside double quotes is a letter; only quotes outside of them hide their content.
    return re.sub(r"(\"(?:\\.|[^\"\\])*\")|\$?'[^']*'", lambda match: match[1] or " ", text)


def _balanced(text: str, start: int, opening: str) -> str:
    if opening == "`":
        end = text.find("`", start)
        return text[start : end if end >= 0 else len(text)]
    opened, closed = ("{", "}") if opening == "${" else ("(", ")")
    depth = 1
    for place in range(start, len(text)):
        depth += (text[place] == opened) - (text[place] == closed)
        if not depth:
            return text[start:place]
    return text[start:]


def without_heredocs(text: str) -> tuple[str, list[str]]:
    """Return `text` with the bodies of plain here-documents taken out, and those bodies.

    Only where nothing else in the text could make `<<` mean something else; otherwise the bodies stay in
    and are read as commands.
    """
    if "<<" not in text or any(sign in text for sign in ("((", "#", "\\", "[[")):
        return text, []
    bodies: list[str] = []

    def cut(match: re.Match[str]) -> str:
        # A quoted delimiter makes the body plain data; otherwise its expansions run.
        bodies.append(match[5])
        return match[4]

    return _HEREDOC.sub(cut, text), bodies
