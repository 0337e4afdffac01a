"""The conditions of rules besides `when` and `unless`: commands, paths, hosts, effects, scope, time."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from typing import Literal
from zoneinfo import ZoneInfo

from bot.domain.tool import READS
from bot.policy import hosts, scope
from bot.policy.look import Look, path_words
from bot.policy.operators import Check, Operator
from bot.policy.outcome import Unclear
from bot.policy.paths import Resolver, lexical, path_glob, path_glob_among, text_glob
from bot.policy.profile import Reads
from bot.policy.profile_table import plain_name, read_only, without_harmless_wrappers
from bot.policy.shell import Proof, Reading
from bot.policy.shell.unwrap import base_name, starts

# Commands, as far as rules that restrict are concerned: any reading of the text will do.

_VERSION = re.compile(r"[-.]?[0-9][0-9.]*\Z")


def named(patterns: Iterable[tuple[str, tuple[str, ...]]]) -> Callable[[str], list[tuple[str, ...]]]:
    """Compile programs, each with the subcommands that must follow, to a lookup by the word that runs them.

    `mkfs` is also `mkfs.ext4`, `python` also `python3.11`, and a file name pattern may become any of them.
    """
    exact: dict[str, list[tuple[str, ...]]] = {}
    globs: list[tuple[Callable[[str], bool], tuple[str, ...]]] = []
    for program, rest in patterns:
        if "*" in program or "?" in program:
            globs.append((text_glob(program), rest))
        else:
            exact.setdefault(program, []).append(rest)

    def find(word: str) -> list[tuple[str, ...]]:
        name = base_name(word).casefold()
        found = [rest for key in _spellings(name) for rest in exact.get(key, ())]
        found += [rest for fits, rest in globs if fits(name)]
        if "*" in name or "?" in name or "[" in name:
            fits = text_glob(re.sub(r"\[[^]]*\]", "?", name))
            found += [rest for program, rests in exact.items() if fits(program) for rest in rests]
        return found

    return find


def _spellings(name: str) -> tuple[str, ...]:
    if name.isalpha():
        return (name,)
    return (name, name.partition(".")[0], _VERSION.sub("", name))


def runs(patterns: Iterable[str]) -> Callable[[Reading], bool]:
    """Compile `["sudo", "systemctl restart"]`: a program, and the subcommands that must follow it."""
    split = (pattern.casefold().split() for pattern in patterns)
    find = named((program, tuple(rest)) for program, *rest in split)

    def matches(reading: Reading) -> bool:
        words = reading.words
        return bool(words) and any(_follows(words, rest) for rest in find(words[0]))

    return matches


def _follows(words: Sequence[str], wanted: Sequence[str]) -> bool:
    if not wanted:
        return True
    # Where the first word stands that is no flag, and wherever it may stand if flags take values.
    first = next(
        (place for place, word in enumerate(words) if place and not word.startswith("-")), len(words)
    )
    return any(_is_prefix(words[place:], wanted) for place in {first, *starts(words)})


def _is_prefix(words: Sequence[str], wanted: Sequence[str]) -> bool:
    plain = [word.casefold() for word in words if not word.startswith("-")]
    return len(plain) >= len(wanted) and all(
        text_glob(pattern)(word) for pattern, word in zip(wanted, plain, strict=False)
    )


def command_check(patterns: Iterable[str], recursive_on: Sequence[str], resolver: Resolver) -> Check:
    matches = runs(patterns)
    if not recursive_on:
        return lambda look: any(map(matches, look.readings))
    roots = _roots(recursive_on, resolver)
    return lambda look: any(
        matches(reading) and _recursive(reading, roots, look) for reading in look.readings
    )


def command_found(patterns: Iterable[str]) -> Callable[[Look], str]:
    matches = runs(patterns)
    return lambda look: "runs " + " ".join(next((each.words for each in look.readings if matches(each)), ()))


def pipe_check(patterns: Iterable[str]) -> Check:
    find = named((pattern.casefold(), ()) for pattern in patterns)
    return lambda look: any(
        reading.piped and bool(reading.words) and bool(find(reading.words[0])) for reading in look.readings
    )


def _roots(recursive_on: Sequence[str], resolver: Resolver) -> frozenset[str]:
    return frozenset(
        (root if root in {".", "..", "~", "*"} else resolver.resolve(root, "/")).casefold()
        for root in recursive_on
    )


_RECURSIVE = re.compile(r"-[a-zA-Z]*[rR]|--r(?:e(?:c(?:u(?:r(?:s(?:i(?:v(?:e)?)?)?)?)?)?)?)?\Z")
_EVERYTHING = re.compile(r"/[*.?]*[*?][*.?]*\Z|/\.\Z")
_HOME = re.compile(r"(?:~[\w-]*|\$HOME|\$\{HOME[^}]*\})(?:/+|/\*)?\Z")


def _recursive(reading: Reading, roots: frozenset[str], look: Look) -> bool:
    if not any(_RECURSIVE.match(word) for word in reading.words[1:]):
        return False
    operands = [word for word in reading.words[1:] if not word.startswith("-") or "/" in word]
    return any(_is_root(operand, roots, look) for operand in operands)


def _is_root(operand: str, roots: frozenset[str], look: Look) -> bool:
    if _HOME.match(operand):
        return "~" in roots
    if re.fullmatch(r"[*.?]*[*?][*.?]*", operand):
        return "*" in roots or "." in roots
    trimmed = _EVERYTHING.sub("", operand) or "/" if operand.startswith("/") else _EVERYTHING.sub("", operand)
    for base in look.bases:
        found = {lexical(trimmed, base).casefold(), look.resolve(trimmed, base).casefold()}
        here, above = lexical(".", base).casefold(), lexical("..", base).casefold()
        if found & roots or ("." in roots and here in found) or (".." in roots and above in found):
            return True
    return False


# Paths and hosts


def touches_found(patterns: Sequence[str], resolver: Resolver) -> Callable[[Look], str]:
    fits = path_glob([resolver.resolve(p, "/") if p.startswith("~") else p for p in patterns], fold=True)
    return lambda look: (
        "touches " + next((path for path in sorted(look.touched) if fits(path)), "a protected path")
    )


def touches_check(patterns: Sequence[str], resolver: Resolver) -> Check:
    """Whether any path the call may touch fits, in any case. `~/x` is below this user's home."""
    expanded = [resolver.resolve(p, "/") if p.startswith("~") else p for p in patterns]
    fits = path_glob_among(expanded)
    literal = [base_name(p) for p in expanded if base_name(p) not in {"**", "*"} and "*" not in base_name(p)]

    def check(look: Look) -> bool:
        return fits(look.touched_lines) or _glob_reaches(look, literal)

    return check


def _glob_reaches(look: Look, names: Sequence[str]) -> bool:
    """Whether a file name pattern in a command (`/etc/shad*`) may become one of `names`."""
    for reading in look.readings:
        for word in (*reading.words[1:], *reading.redirects):
            if "*" in word or "?" in word or "[" in word:
                last = re.sub(r"\[[^]]*\]", "?", base_name(word)).casefold()
                # A bare star says nothing about which file is meant; the command is not provable anyway.
                if last.strip("*?.") and any(text_glob(last)(name.casefold()) for name in names):
                    return True
    return False


def any_path(test: Operator) -> Check:
    """For rules that restrict: some path of the call fits."""

    def check(look: Look) -> bool:
        words = (
            part
            for reading in look.readings
            for word in (*reading.words[1:], *reading.redirects)
            for part in path_words(word)
        )
        return any(test(value, look) for value in (*look.path_values(), *words))

    return check


def all_paths(test: Operator) -> Check:
    """For rules that let through: every path argument certainly fits, and there is one."""

    def check(look: Look) -> bool:
        values = [*look.path_values()]
        if not values:
            raise Unclear("the call names no path")
        return all(test(value, look) for value in values)

    return check


def hosts_check(patterns: Sequence[str], *, restricting: bool) -> Check:
    matches = hosts.host_matcher(patterns)

    def check(look: Look) -> bool:
        urls = [*look.url_values()]
        if restricting:
            urls += [w for reading in look.readings for w in reading.words if "://" in w]
            return any(matches(hosts.parse(url)) for url in urls)
        return bool(urls) and all(matches(hosts.parse(url)) for url in urls)

    return check


# What an allow rule covers of a shell text


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """Which proved commands an allow rule covers, one bit each; nothing of a text that is not proved."""

    profile: bool
    prefixes: tuple[tuple[str, ...], ...] = ()
    paths: Operator | None = None

    def __call__(self, look: Look) -> int:
        found, place = 0, 0
        for _, proof in look.proofs:
            if not isinstance(proof, Proof):
                return 0
            for simple in proof.commands:
                found |= self._covers(simple.argv, look) << place
                place += 1
        return found

    def _covers(self, argv: tuple[str, ...], look: Look) -> bool:
        reads = read_only(argv) if self.profile else None
        if not isinstance(reads, Reads):
            reads = self._by_name(argv)
        return reads is not None and self._inside(reads, look)

    def _by_name(self, argv: tuple[str, ...]) -> Reads | None:
        inner = without_harmless_wrappers(argv)
        name = plain_name(inner[0]) if inner else None
        if name is None or not any((name, *inner[1:])[: len(prefix)] == prefix for prefix in self.prefixes):
            return None
        # Without a grammar every word may be a path.
        return Reads(paths=tuple(part for word in inner[1:] for part in path_words(word)), here=True)

    def _inside(self, reads: Reads, look: Look) -> bool:
        paths = self.paths
        if paths is None:
            return True
        looked_at = (*reads.paths, *((".",) if reads.here else ()))
        try:
            return all(path == "/dev/null" or paths(path, look) for path in looked_at)
        except Unclear:
            return False


# The situation


def effects_check(wanted: Mapping[str, bool], *, restricting: bool) -> Check:
    def check(look: Look) -> bool:
        # A shell may do anything, but a command proved to only read is not destructive, and a rule that asks
        # about destructive calls does not mean it. To *allow* it takes a rule about commands and their paths.
        effects = READS if restricting and look.only_reads else look.effects
        return all(getattr(effects, name) is value for name, value in wanted.items())

    return check


def environment_check(wanted: Sequence[str], own: str) -> Check:
    def check(look: Look) -> bool:
        environment = look.context.environment or own
        if not environment:
            raise Unclear("nobody said which environment this is")
        return environment in wanted

    return check


def requester_check(users: frozenset[str]) -> Check:
    def check(look: Look) -> bool:
        if not look.context.requester:
            raise Unclear("nobody said who asks")
        return look.context.requester in users

    return check


def scope_check(wanted: Literal["confirmed", "exceeded"]) -> Check:
    if wanted == "confirmed":
        return scope.confirmed
    return lambda look: bool(scope.broken(look))


def hours_check(start: time, end: time, days: frozenset[int], zone: ZoneInfo) -> Check:
    """Compile a daily window; one that goes over midnight belongs to the day it starts on."""

    def check(look: Look) -> bool:
        local = look.context.now.astimezone(zone)
        now = local.time().replace(tzinfo=None)
        if start < end:
            return local.weekday() in days and start <= now < end
        return (now >= start and local.weekday() in days) or (now < end and (local.weekday() - 1) % 7 in days)

    return check


def window_check(start: datetime, end: datetime) -> Check:
    return lambda look: start <= look.context.now < end
