"""The only door to YAML: files in, policies out, every problem with its line and column.

PyYAML's own constructors are not used. They keep the last of two equal keys, read `22:00` as 1320, `no` as
false and `010` as 8. Here a file is composed to nodes and converted by us: only what JSON would call a
number, a boolean or null is one, everything else is text; unknown and repeated keys, aliases and tags are
errors.
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from bot.domain.canonical import digest
from bot.domain.errors import ConfigError
from bot.policy import schema
from bot.policy.cases import failures
from bot.policy.compile import Compiler
from bot.policy.compile_people import BadRule, Place
from bot.policy.model import Policy
from bot.policy.paths import Resolver
from bot.policy.paths_os import OsResolver

LARGEST = 512 * 1024
DEEPEST = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong, and where."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class PolicyProblems(ConfigError):
    """A policy file cannot be used; every problem found is listed."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, problems)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySet:
    """All policies of a bot. `default` governs every channel that no other names."""

    policies: Mapping[str, Policy]
    #: Stands for the whole set; changes when any file does.
    version: str
    #: The files it was read from, with their modification times, to notice a change.
    stamps: Mapping[str, float] = field(default_factory=dict[str, float])

    def for_channel(self, channel: str) -> Policy:
        """Return the policy of `channel`.

        Raises:
            ConfigError: no policy names it and there is none called `default`.
        """
        for policy in self.policies.values():
            if channel and channel in policy.channels:
                return policy
        found = self.policies.get("default")
        if found is None and len(self.policies) == 1:
            found = next(iter(self.policies.values()))
        if found is None:
            raise ConfigError(f"no policy governs the channel {channel!r}, and there is no default")
        return found


class _Loader(yaml.SafeLoader):
    """YAML 1.2 lets a question end in a question mark, also inside braces; PyYAML's scanner does not."""

    _in_plain = False

    def scan_plain(self) -> Any:
        self._in_plain = True
        try:
            return super().scan_plain()
        finally:
            self._in_plain = False

    def peek(self, index: int = 0) -> str:
        char = str(super().peek(index))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        return "x" if char == "?" and self._in_plain else char


class _Stop(Exception):
    def __init__(self, mark: yaml.Mark | None, message: str) -> None:
        self.mark, self.message = mark, message


@dataclass(slots=True)
class _Document:
    """One file as plain values, with the mark of every key and item."""

    file: str
    text: str
    value: Any = None
    marks: dict[Place, yaml.Mark] = field(default_factory=dict[Place, yaml.Mark])

    def problem(self, place: Place, message: str) -> Problem:
        mark = next(
            (self.marks[place[:n]] for n in range(len(place), -1, -1) if place[:n] in self.marks), None
        )
        return self.at(mark, message)

    def at(self, mark: yaml.Mark | None, message: str) -> Problem:
        return Problem(
            file=self.file,
            line=mark.line + 1 if mark else 1,
            column=mark.column + 1 if mark else 1,
            message=message,
        )

    def locate(self, place: Place) -> str:
        problem = self.problem(place, "")
        return f"{problem.file}:{problem.line}"

    def read(self) -> None:
        """Fill in value and marks.

        Raises:
            PolicyProblems: the text is not YAML as we allow it.
        """
        try:
            node = yaml.compose(self.text, Loader=_Loader)
            self.value = self._convert(node, (), 0) if node is not None else {}
        except yaml.MarkedYAMLError as error:
            message = " ".join(filter(None, (error.context, error.problem)))
            raise PolicyProblems([self.at(error.problem_mark, message)]) from error
        except yaml.YAMLError as error:
            raise PolicyProblems([self.at(None, str(error))]) from error
        except RecursionError as error:
            raise PolicyProblems([self.at(None, "nested too deeply")]) from error
        except _Stop as stop:
            raise PolicyProblems([self.at(stop.mark, stop.message)]) from stop

    def _convert(self, node: yaml.Node, place: Place, depth: int) -> Any:
        if depth > DEEPEST:
            raise _Stop(node.start_mark, f"nested deeper than {DEEPEST} levels")
        if place in self.marks and self.marks[place] is not node.start_mark and not place:
            raise _Stop(node.start_mark, "more than one document")
        self.marks.setdefault(place, node.start_mark)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place, depth)
        if isinstance(node, yaml.SequenceNode):
            return [
                self._convert(item, (*place, number), depth + 1) for number, item in enumerate(node.value)
            ]
        return _scalar(node)

    def _mapping(self, node: yaml.MappingNode, place: Place, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str) or key == "<<":
                raise _Stop(key_node.start_mark, "a key must be a plain word")
            if key in found:
                raise _Stop(key_node.start_mark, f"the key {key!r} appears twice")
            self.marks[(*place, key)] = key_node.start_mark
            found[key] = self._convert(value_node, (*place, key), depth + 1)
        return found


_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\Z")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+\Z")
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None, "": None, "~": None}
_ALIAS = re.compile(r"^[^#'\"]*(?:[:\-\[,{]\s+|^)[&*][A-Za-z0-9_]+(?:\s|$)", re.MULTILINE)


def _scalar(node: yaml.Node) -> Any:
    text: str = node.value
    if not isinstance(node, yaml.ScalarNode) or node.style is not None:
        return text
    if text in _WORDS:
        # A lone `~` in a list of paths means the home directory, as people write it.
        return text if text == "~" else _WORDS[text]
    if _INTEGER.match(text):
        return int(text)
    return float(text) if _DECIMAL.match(text) else text


def _check_no_aliases(document: _Document) -> None:
    # Aliases make one line mean another one far away, and can blow a small file up; nobody reviews that.
    for token in yaml.scan(document.text, Loader=_Loader):
        if isinstance(token, yaml.AnchorToken | yaml.AliasToken | yaml.TagToken):
            raise PolicyProblems(
                [document.at(token.start_mark, "anchors, aliases and tags are not allowed; write it out")]
            )


def _document(file: str, text: str) -> _Document:
    document = _Document(file=file, text=text)
    if len(text.encode()) > LARGEST:
        raise PolicyProblems([document.problem((), f"larger than {LARGEST // 1024} kB")])
    with suppress(yaml.YAMLError):  # read() reports it with its place
        _check_no_aliases(document)
    document.read()
    return document


def _parse(document: _Document) -> schema.PolicyFile:
    if not isinstance(document.value, dict):
        raise PolicyProblems([document.problem((), "a policy is a mapping that starts with `version: 1`")])
    value: dict[str, Any] = dict(document.value)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    value.setdefault("name", Path(document.file).stem)
    try:
        return schema.PolicyFile.model_validate(value)
    except ValidationError as error:
        raise PolicyProblems([_explained(document, each) for each in error.errors()]) from error


def _explained(document: _Document, error: Any) -> Problem:
    place: Place = tuple(error["loc"])
    kind, name = error["type"], str(place[-1]) if place else ""
    if kind == "extra_forbidden":
        return document.problem(
            place, f"unknown key {name!r}{_meant(name, _known_keys(document.value, place))}"
        )
    if kind == "missing":
        return document.problem(place[:-1], f"{name!r} is missing")
    message = error["msg"].removeprefix("Value error, ")
    return document.problem(
        place, f"{name}: {message[0].lower()}{message[1:]}" if isinstance(place[-1], str) else message
    )


def _meant(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


_MODELS: dict[str, type[BaseModel]] = {
    "deny": schema.DenyRule,
    "ask": schema.AskRule,
    "allow": schema.AllowRule,
    "approval": schema.Approval,
    "agent": schema.Agent,
    "limits": schema.LimitFile,
    "freeze": schema.Freeze,
    "review": schema.Review,
    "clarify": schema.ClarifyFile,
    "tests": schema.TestFile,
    "tools": schema.ToolShape,
    "groups": schema.Group,
}


def _known_keys(value: Any, place: Place) -> list[str]:
    del value
    model = _MODELS.get(str(place[0]), schema.PolicyFile) if len(place) > 1 else schema.PolicyFile
    return [each.alias or name for name, each in model.model_fields.items()]


# Loading


def load(
    *paths: str | Path,
    resolver: Resolver | None = None,
    protected: Sequence[str] = (),
    run_tests: bool = True,
) -> PolicySet:
    """Return the policies in `paths` (files, or directories of `*.yaml`), checked and with their tests run.

    Raises:
        PolicyProblems: any file is broken or a test inside fails; every problem is listed with its place.
    """
    files = _files(paths)
    texts = {str(path): path.read_text(encoding="utf-8") for path in files}
    stamps = {str(path): path.stat().st_mtime for path in files}
    found = load_texts(texts, resolver=resolver, protected=protected, run_tests=run_tests)
    return PolicySet(policies=found.policies, version=found.version, stamps=stamps)


def _files(paths: Sequence[str | Path]) -> list[Path]:
    found: list[Path] = []
    for path in map(Path, paths):
        found += sorted(path.glob("*.yaml")) if path.is_dir() else [path]
    missing = [path for path in found if not path.is_file()]
    if missing or not found:
        raise ConfigError(f"no policy file at {missing[0] if missing else ', '.join(map(str, paths))}")
    return found


def load_texts(
    texts: Mapping[str, str],
    *,
    resolver: Resolver | None = None,
    protected: Sequence[str] = (),
    run_tests: bool = True,
) -> PolicySet:
    """Return the policies in `texts` (file name → content)."""
    loading = _Loading(texts, resolver or OsResolver(), protected)
    policies = loading.policies()
    problems = loading.problems
    if not problems and run_tests:
        problems = [problem for name, policy in policies.items() for problem in loading.failed(name, policy)]
    if problems:
        raise PolicyProblems(problems)
    version = digest(sorted((name, policy.version) for name, policy in policies.items()))[:16]
    return PolicySet(policies=policies, version=version)


class _Loading:
    """One load: documents by the name other files extend them by."""

    def __init__(self, texts: Mapping[str, str], resolver: Resolver, protected: Sequence[str]) -> None:
        self.resolver = resolver
        self.protected = protected
        self.problems: list[Problem] = []
        self.documents: dict[str, _Document] = {}
        self.parsed: dict[str, schema.PolicyFile] = {}
        for file, text in texts.items():
            self._attempt(file, text)

    def _attempt(self, file: str, text: str) -> None:
        try:
            document = _document(file, text)
            parsed = _parse(document)
        except PolicyProblems as error:
            self.problems += error.problems
            return
        if parsed.name in self.documents:
            self.problems.append(document.problem(("name",), f"another file is called {parsed.name!r}, too"))
        self.documents[parsed.name], self.parsed[parsed.name] = document, parsed

    def policies(self) -> dict[str, Policy]:
        made: dict[str, Policy] = {}
        owners: dict[str, str] = {}
        for name, file in self.parsed.items():
            document = self.documents[name]
            try:
                made[name] = self._policy(name)
            except BadRule as bad:
                self.problems.append(document.problem(bad.place, bad.why))
            for place, channel in enumerate(file.channels):
                if owners.setdefault(channel, name) != name:
                    why = f"the channel {channel} is already governed by {owners[channel]!r}"
                    self.problems.append(document.problem(("channels", place), why))
        return made

    def _policy(self, name: str) -> Policy:
        chain = self._chain(name, ())
        compiler: Compiler | None = None
        for each in chain:
            compiler = Compiler(self.parsed[each], self.resolver, self.documents[each].locate, compiler)
        if compiler is None:
            raise BadRule((), "nothing to compile")
        files = [self.documents[each].file for each in chain]
        version = digest([self.documents[each].value for each in chain])[:16]
        return compiler.policy(version, files, self.protected)

    def _chain(self, name: str, seen: tuple[str, ...]) -> list[str]:
        parent = self.parsed[name].extends
        if parent is None:
            return [name]
        if parent == name or parent in seen:
            raise BadRule(("extends",), "the files extend each other in a circle")
        if parent not in self.parsed:
            raise BadRule(("extends",), f"there is no policy called {parent!r}{_meant(parent, self.parsed)}")
        return [*self._chain(parent, (*seen, name)), name]

    def failed(self, name: str, policy: Policy) -> list[Problem]:
        document = self.documents[name]
        return [document.problem(("tests", number), message) for number, message in failures(policy)]


def reload(
    current: PolicySet, *paths: str | Path, resolver: Resolver | None = None, protected: Sequence[str] = ()
) -> PolicySet:
    """Return what the files say now, or `current` itself if nothing changed.

    Raises:
        PolicyProblems: the new files are broken; the caller keeps `current` and says so.
    """
    files = _files(paths)
    if {str(path): path.stat().st_mtime for path in files} == dict(current.stamps):
        return current
    return load(*paths, resolver=resolver, protected=protected)
