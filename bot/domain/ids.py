"""Names of things. All are strings, told apart by the type checker."""

from typing import NewType

RunId = NewType("RunId", str)
ThreadId = NewType("ThreadId", str)
CallId = NewType("CallId", str)
InterruptId = NewType("InterruptId", str)
UserId = NewType("UserId", str)
GrantId = NewType("GrantId", str)
WorkerId = NewType("WorkerId", str)

#: Crockford's alphabet: no letter that reads like a digit, so that people can say an id aloud.
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def readable(number: int, length: int) -> str:
    """Write the low bits of `number` as `length` characters that survive being read aloud."""
    return "".join(_ALPHABET[(number >> (5 * place)) & 31] for place in reversed(range(length)))


def interrupt_id(run: RunId, ordinal: int) -> InterruptId:
    # Derived, not random: a replay after a crash must ask about the same interrupt.
    return InterruptId(f"{run}-{ordinal}")
