"""The `read_only` profile: which commands, with which flags, only look.

Flags are listed, never excluded: what a grammar does not name (an abbreviation, a new option of a newer
version) is not in the profile and a person is asked. The table is in `profile_table.py`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["", "value", "optional", "path"]
#: paths: files and directories · text: anything else · pattern: text first, then paths.
Operands: TypeAlias = Literal["paths", "text", "pattern"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """What a command in the profile looks at."""

    paths: tuple[str, ...] = ()
    #: Whether it looks at the working directory when it is told nothing else.
    here: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NotInProfile:
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    flags: Mapping[str, Kind]
    operands: Operands = "paths"
    least: int = 0
    most: int = 1000
    #: Flags of which one must be there; without it the command does something else.
    needs: frozenset[str] = frozenset()
    #: `-5`, as head, tail and git log take it.
    digits: bool = False
    here: bool = False
    #: Flags that take the place of the pattern.
    pattern_flags: frozenset[str] = frozenset({"-e", "-f", "--regexp", "--file"})
    #: What every operand must look like.
    shape: re.Pattern[str] | None = None
    #: What no value or operand may look like.
    never: re.Pattern[str] | None = None
    #: What the values of certain flags must look like.
    values: Mapping[str, re.Pattern[str]] = field(default_factory=dict[str, re.Pattern[str]])


_FLAG = re.compile(r"(--?[A-Za-z0-9][\w-]*)(=path|=\?|=)?\Z")
_KINDS: dict[str | None, Kind] = {None: "", "=": "value", "=?": "optional", "=path": "path"}


def flags(text: str) -> dict[str, Kind]:
    """Read a list like `-alh -n= --color=? --file=path`; several short flags may share a dash."""
    found: dict[str, Kind] = {}
    for word in text.split():
        match = _FLAG.match(word)
        if match is None:
            raise ValueError(word)
        kind = _KINDS[match[2]]
        names = [match[1]] if match[1].startswith("--") else [f"-{letter}" for letter in match[1][1:]]
        found |= dict.fromkeys(names, kind)
    return found


def grammar(text: str = "", operands: Operands = "paths", **more: object) -> Grammar:
    return Grammar(flags=flags(text), operands=operands, **more)  # pyright: ignore[reportArgumentType]


_NUMERIC = re.compile(r"[-+]?\d+[a-zA-Z%]*\Z")


class _Stop(Exception):
    """Not in the profile, because of the message."""


class _Reader:
    """Reads the words after a command's name by its grammar."""

    def __init__(self, rules: Grammar) -> None:
        self.rules = rules
        self.paths: list[str] = []
        self.operands: list[str] = []
        self.seen: set[str] = set()

    def read(self, words: Sequence[str]) -> Reads:
        queue = list(reversed(words))
        while queue:
            word = queue.pop()
            if word == "--":
                self.operands += reversed(queue)
                break
            if word.startswith("--"):
                self.long(word, queue)
            elif len(word) > 1 and word[0] == "-" and not (self.rules.digits and word[1:].isdigit()):
                self.short(word, queue)
            elif word[:1] != "-" or word == "-":
                self.operands.append(word)
        return self.finish()

    def long(self, word: str, queue: list[str]) -> None:
        name, equals, value = word.partition("=")
        kind = self.rules.flags.get(name)
        if kind is None or (equals and kind == ""):
            raise _Stop(f"{name} is not among its listed flags")
        self.seen.add(name)
        if equals:
            self.take(name, kind, value)
        elif kind in {"value", "path"}:
            self.take(name, kind, _next(name, queue))

    def short(self, word: str, queue: list[str]) -> None:
        for place in range(1, len(word)):
            name, rest = f"-{word[place]}", word[place + 1 :]
            kind = self.rules.flags.get(name)
            if kind is None:
                raise _Stop(f"{name} is not among its listed flags")
            self.seen.add(name)
            if kind == "optional":
                return self.take(name, kind, rest)
            if kind:
                return self.take(name, kind, rest or _next(name, queue))
        return None

    def take(self, name: str, kind: Kind, value: str) -> None:
        if kind == "path":
            self.paths.append(value)
        wanted = self.rules.values.get(name)
        if wanted and not wanted.fullmatch(value):
            raise _Stop(f"{name} {value} is not a value it may have")
        self.refuse(value)

    def refuse(self, value: str) -> None:
        if self.rules.never and self.rules.never.search(value):
            raise _Stop(f"{value} is kept out")

    def finish(self) -> Reads:
        rules, operands = self.rules, self.operands
        if not rules.least <= len(operands) <= rules.most:
            raise _Stop("it has more or fewer operands than when it only reads")
        if rules.needs and not self.seen & rules.needs:
            raise _Stop(f"it only reads with {' or '.join(sorted(rules.needs))}")
        for operand in operands:
            self.refuse(operand)
            if rules.shape and not rules.shape.fullmatch(operand):
                raise _Stop(f"{operand!r} is not an operand it may have")
        if rules.operands == "pattern" and not (self.seen & rules.pattern_flags):
            operands = operands[1:]
        if rules.operands != "text":
            self.paths += [operand for operand in operands if operand != "-"]
        return Reads(paths=tuple(self.paths), here=rules.here and not operands)


def _next(name: str, queue: list[str]) -> str:
    if not queue:
        raise _Stop(f"{name} has no value")
    value = queue.pop()
    # Should the flag take no value after all, this word would be a flag we have not looked at.
    if value.startswith("-") and len(value) > 1 and not _NUMERIC.match(value):
        raise _Stop(f"the value of {name} looks like a flag")
    return value


Command: TypeAlias = Grammar | Callable[[Sequence[str]], "Reads | NotInProfile"]


def by_grammar(rules: Grammar, words: Sequence[str]) -> Reads | NotInProfile:
    try:
        return _Reader(rules).read(words)
    except _Stop as stop:
        return NotInProfile(reason=str(stop))


def subcommands(
    table: Mapping[str, Grammar], before: str = "", after: str = ""
) -> Callable[[Sequence[str]], Reads | NotInProfile]:
    """Return a reader of `name [before] subcommand [after]`: flags in front, and flags all of them take."""
    front, common = flags(before), flags(after)

    def read(words: Sequence[str]) -> Reads | NotInProfile:
        place = 0
        while place < len(words) and words[place].startswith("-"):
            if front.get(words[place].partition("=")[0]) is None:
                return NotInProfile(
                    reason=f"{words[place]} before the subcommand is not among its listed flags"
                )
            # Only flags without a separate value are listed in front, so that no subcommand hides behind one.
            place += 1
        rules = table.get(words[place]) if place < len(words) else None
        if rules is None:
            return NotInProfile(reason="its subcommand is not among those that only read")
        if not common:
            return by_grammar(rules, words[place + 1 :])
        return by_grammar(replace(rules, flags={**rules.flags, **common}), words[place + 1 :])

    return read
