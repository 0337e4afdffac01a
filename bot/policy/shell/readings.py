"""Everything a text might run: all readers, all spellings, and what commands run in turn."""

from collections.abc import Iterator

from bot.policy.shell.lexer import Proof, prove
from bot.policy.shell.scan import Reading, inner_texts, split, without_heredocs
from bot.policy.shell.tree import parsed
from bot.policy.shell.unwrap import unwrapped
from bot.policy.shell.words import spellings

#: Deeper or wider than this nobody reads; the text is not provable and a person is asked anyway.
DEEPEST = 8
MOST = 600


def readings(text: str, proof: Proof | None = None) -> tuple[Reading, ...]:
    """Return every command `text` might run, commands behind wrappers included.

    A proved text is known exactly, and what was proved is what runs; no other reader is asked about it.
    """
    found: dict[Reading, None] = {}
    for reading in proved(proof) if proof else _all(text):
        _add(reading, found, 0)
    return tuple(found)


def proved(proof: Proof) -> Iterator[Reading]:
    for step in proof.steps:
        for place, simple in enumerate(step.pipeline):
            yield Reading(words=simple.argv, piped=place > 0)


def _add(reading: Reading, found: dict[Reading, None], depth: int) -> None:
    if reading in found or depth > DEEPEST or len(found) > MOST:
        return
    found[reading] = None
    for inner in unwrapped(reading):
        if isinstance(inner, Reading):
            _add(inner, found, depth + 1)
        elif inner.strip():
            _add_text(inner, found, depth + 1)


def _add_text(text: str, found: dict[Reading, None], depth: int) -> None:
    proof = prove(text)
    for reading in proved(proof) if isinstance(proof, Proof) else _all(text, depth):
        _add(reading, found, depth)


def _all(text: str, depth: int = 0) -> Iterator[Reading]:
    for spelling in dict.fromkeys(spellings(text)):
        yield from parsed(spelling)
        shown, bodies = without_heredocs(spelling)
        yield from split(shown)
        if depth > DEEPEST:
            continue
        for inner in (*inner_texts(shown), *(found for body in bodies for found in inner_texts(body))):
            yield from _all(inner, depth + 1)
