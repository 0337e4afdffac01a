"""Everything a text might run: all readers, all spellings, and what commands run in turn."""

from collections.abc import Iterator

from bot.policy.shell.lexer import Proof, prove
from bot.policy.shell.scan import Reading, inner_texts, split, without_heredocs
from bot.policy.shell.tree import parsed
from bot.policy.shell.unwrap import SHELLS, base_name, unwrapped
from bot.policy.shell.words import spellings

#: Enough for anything people write. What nests deeper is not read half: it is refused, because a rule that
#: denies must not be outrun by a long command (as happened to others at 50 subcommands).
DEEPEST = 12
MOST_READINGS = 2000
MOST_LETTERS = 40_000


class TooComplex(Exception):
    """The text holds more commands within commands than anybody could judge."""


def readings(text: str, proof: Proof | None = None) -> tuple[Reading, ...]:
    """Return every command `text` might run, commands behind wrappers included.

    A proved text is known exactly, and what was proved is what runs; no other reader is asked about it.
    """
    reader = _Reader()
    if proof is None:
        reader.text(text, 0)
    else:
        for reading in proved(proof):
            reader.add(reading, 0)
    return tuple(reader.found)


def proved(proof: Proof) -> Iterator[Reading]:
    for step in proof.steps:
        for place, simple in enumerate(step.pipeline):
            yield Reading(words=simple.argv, piped=place > 0)


class _Reader:
    """Collects readings. Each text is read once, and there is an end to it, whatever somebody has nested."""

    __slots__ = ("found", "letters", "texts")

    def __init__(self) -> None:
        self.found: dict[Reading, None] = {}
        self.texts: set[str] = set()
        self.letters = 0

    def add(self, reading: Reading, depth: int) -> None:
        if reading in self.found:
            return
        if depth > DEEPEST or len(self.found) >= MOST_READINGS:
            raise TooComplex("the command nests too many others to be judged")
        self.found[reading] = None
        for inner in unwrapped(reading):
            if isinstance(inner, Reading):
                self.add(inner, depth + 1)
            else:
                self.text(inner, depth + 1)

    def text(self, text: str, depth: int) -> None:
        if text in self.texts or not text.strip():
            return
        self.texts.add(text)
        self.letters += len(text)
        if depth > DEEPEST or self.letters > MOST_LETTERS:
            raise TooComplex("the command nests too many others to be judged")
        proof = prove(text)
        if isinstance(proof, Proof):
            for reading in proved(proof):
                self.add(reading, depth)
            return
        for spelling in dict.fromkeys(spellings(text)):
            self.spelling(spelling, depth)

    def spelling(self, text: str, depth: int) -> None:
        shown, bodies = without_heredocs(text)
        for reading in (*parsed(text), *split(shown)):
            self.add(reading, depth)
        feeds_a_shell = any(base_name(each.words[0]) in SHELLS for each in self.found if each.words)
        for body in bodies:
            if feeds_a_shell:
                self.text(body, depth + 1)
        for body in (shown, *bodies):
            for inner in inner_texts(body):
                self.text(inner, depth + 1)
