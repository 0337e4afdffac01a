"""One call under the policy's eyes. Every fact is worked out at most once, and only if a rule wants it."""

import re
from collections.abc import Iterator
from typing import Any

from bot.domain.tool import Effects, ToolCall, ToolDefinition
from bot.policy.context import Context
from bot.policy.outcome import Unclear
from bot.policy.paths import Resolver, deceiving, lexical
from bot.policy.profile import Reads
from bot.policy.profile_table import read_only
from bot.policy.shell import NotProved, Proof, Reading, prove, readings
from bot.policy.shell.unwrap import base_name

#: Text longer than this is content, not the name of a file.
_LONGEST_PATH = 4096
_VALUE = re.compile(r"[=:@,]")
_MISSING = object()


class Look:
    __slots__ = (
        "_bases",
        "_only_reads",
        "_proofs",
        "_readings",
        "_resolved",
        "_touched",
        "_touched_lines",
        "call",
        "context",
        "cwd",
        "resolver",
        "tool",
    )

    def __init__(self, call: ToolCall, context: Context, tool: ToolDefinition, resolver: Resolver) -> None:
        self.call = call
        self.context = context
        self.tool = tool
        self.resolver = resolver
        self._resolved: dict[tuple[str, str], str] = {}
        self._proofs: tuple[tuple[str, Proof | NotProved], ...] | None = None
        self._readings: tuple[Reading, ...] | None = None
        self._touched: frozenset[str] | None = None
        self._touched_lines: str | None = None
        self._bases: tuple[str, ...] | None = None
        self._only_reads: bool | None = None
        # A working directory named in the call is the model's choice: everything is resolved against it.
        named = call.args.get("cwd") if tool.commands else None
        self.cwd = self.resolve(named, context.cwd) if isinstance(named, str) else context.cwd

    # Values

    def value(self, key: str) -> Any:
        """Return the argument or measured fact called `key`; raise `Unclear` if there is none."""
        found = self.find(key)
        if found is _MISSING:
            raise Unclear(f"{key} is missing")
        return found

    def has(self, key: str) -> bool:
        found = self.find(key)
        return found is not _MISSING and found is not None

    def find(self, key: str) -> Any:
        args = self.call.args
        if key in args:
            return args[key]
        if key.startswith("impact."):
            return self._measured(key[7:])
        value: Any = args
        for part in key.split("."):
            if not isinstance(value, dict) or part not in value:
                return _MISSING
            value = value[part]  # pyright: ignore[reportUnknownVariableType]
        return value  # pyright: ignore[reportUnknownVariableType]

    def _measured(self, name: str) -> Any:
        impact = self.context.impact
        if impact is None:
            return _MISSING
        if name in {"count", "bytes", "reversible"}:
            value = getattr(impact, name)
            return _MISSING if value is None else value
        return impact.facts.get(name, _MISSING)

    def is_path(self, key: str) -> bool:
        return key in self.tool.paths

    @property
    def effects(self) -> Effects:
        # What a stranger's server says about its tools is not evidence: assume the worst.
        return self.tool.effects if self.tool.trusted else Effects()

    # Paths

    def resolve(self, path: str, cwd: str) -> str:
        found = self._resolved.get((path, cwd))
        if found is None:
            found = self._resolved[path, cwd] = self.resolver.resolve(path, cwd)
        return found

    @property
    def touched_lines(self) -> str:
        """All of `touched`, one per line, so that one search settles it."""
        if self._touched_lines is None:
            self._touched_lines = "\n".join(path.replace("\n", "\x01") for path in self.touched)
        return self._touched_lines

    def exact_path(self, value: object) -> str:
        """Return what `value` certainly leads to; raise `Unclear` if that is in doubt."""
        if not isinstance(value, str) or not value:
            raise Unclear("the path is not text")
        if deceiving(value) or value.startswith("~"):
            raise Unclear(f"where {value!r} leads is not certain")
        return self.resolve(value, self.cwd)

    def possible_paths(self, value: object) -> tuple[str, ...]:
        """Return everything `value` may lead to."""
        if not isinstance(value, str) or not value:
            raise Unclear("the path is not text")
        if deceiving(value):
            raise Unclear(f"where {value!r} leads is not certain")
        return (lexical(value, self.cwd), self.resolve(value, self.cwd))

    def path_values(self) -> Iterator[str]:
        """Yield the text of every argument that holds a path."""
        for key in self.tool.paths:
            yield from _texts(self.call.args.get(key))

    def url_values(self) -> Iterator[str]:
        for key in self.tool.urls:
            yield from _texts(self.call.args.get(key))

    # Shell text

    @property
    def proofs(self) -> tuple[tuple[str, Proof | NotProved], ...]:
        if self._proofs is None:
            texts = (self.call.args.get(key) for key in self.tool.commands)
            self._proofs = tuple((text, prove(text)) for text in texts if isinstance(text, str))
        return self._proofs

    @property
    def readings(self) -> tuple[Reading, ...]:
        if self._readings is None:
            self._readings = tuple(
                reading
                for text, proof in self.proofs
                for reading in readings(text, proof if isinstance(proof, Proof) else None)
            )
        return self._readings

    @property
    def only_reads(self) -> bool:
        """Whether this runs commands, and all of them are proved and in the read_only profile."""
        if self._only_reads is None:
            self._only_reads = bool(self.proofs) and all(
                isinstance(proof, Proof)
                and all(isinstance(read_only(each.argv), Reads) for each in proof.commands)
                for _, proof in self.proofs
            )
        return self._only_reads

    @property
    def bases(self) -> tuple[str, ...]:
        """The directories relative words may start from: where the command starts, and every `cd` in it."""
        if self._bases is None and not self.tool.commands:
            self._bases = (self.cwd,)
        if self._bases is None:
            moved = [
                self.resolve(word, self.cwd)
                for reading in self.readings
                if reading.words and base_name(reading.words[0]) in {"cd", "pushd", "chdir"}
                for word in reading.words[1:2]
            ]
            # git -C, make -C, tar -C, env -C, --directory=…
            moved += [
                self.resolve(value, self.cwd)
                for reading in self.readings
                for flag, value in zip(reading.words, reading.words[1:], strict=False)
                if flag in {"-C", "--directory", "--chdir"}
            ]
            self._bases = (self.cwd, *moved)
        return self._bases

    @property
    def touched(self) -> frozenset[str]:
        """Every path the call may touch, by its text and resolved. Too many rather than too few."""
        if self._touched is None:
            found: set[str] = set()
            for value in self._touching():
                for base in self.bases:
                    found.add(lexical(value, base))
                    found.add(self.resolve(value, base))
            self._touched = frozenset(found)
        return self._touched

    def _touching(self) -> Iterator[str]:
        tool = self.tool
        yield from self.path_values()
        for url in self.url_values():
            if url.lower().startswith("file:"):
                yield "/" + url[5:].lstrip("/").removeprefix("localhost/")
        if not (tool.paths or tool.commands or tool.urls):
            # A tool that does not say which arguments are paths: any short text may be one.
            yield from (
                text for text in _texts(self.call.args) if len(text) <= _LONGEST_PATH and "\n" not in text
            )
        for reading in self.readings:
            for word in (*reading.words, *reading.redirects):
                yield from path_words(word)


def path_words(word: str) -> Iterator[str]:
    """Yield what in a word of a command may be a path: `x`, `--file=x`, `-fx`, `if=x`, `host:x`, `@x`."""
    if not word or len(word) > _LONGEST_PATH or "\x00" in word:
        return
    if not word.startswith("-"):
        yield word
    elif len(word) > 2 and word[1] != "-":
        yield word[2:]
    for match in _VALUE.finditer(word):
        if rest := word[match.end() :]:
            yield rest
    slash = word.find("/")
    if slash > 0:
        yield word[slash:]
    if " " in word or "\n" in word:
        # Text for another reader (awk, python -c): look at everything in it that is spelled like a path.
        yield from re.findall(r"[~./\w-]*/[\w./~*?-]+", word)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(inner)
