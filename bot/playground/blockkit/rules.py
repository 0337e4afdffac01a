"""The words the Block Kit tables are written in. A rule looks at one value and reports problems."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.playground.shapes import Json, as_dict, as_list


@dataclass(frozen=True, slots=True)
class Problem:
    pointer: str
    message: str
    constraint: str
    expected: Any = None

    def sentence(self) -> str:
        return f"{self.message} [json-pointer:{self.pointer}]"

    def as_json(self) -> Json:
        """Return the form in which `blocks.validate` lists problems."""
        return {
            "code": "failed_constraint",
            "message": self.message,
            "pointer": self.pointer,
            "constraint": {"type": self.constraint, "expected": self.expected},
        }


@dataclass(slots=True)
class Report:
    problems: list[Problem] = field(default_factory=list[Problem])

    def add(self, pointer: str, message: str, constraint: str, expected: Any = None) -> None:
        self.problems.append(Problem(pointer, message, constraint, expected))


Rule = Callable[[object, str, Report], None]


def anything(_value: object, _pointer: str, _report: Report) -> None:
    pass


def boolean(value: object, pointer: str, report: Report) -> None:
    if not isinstance(value, bool):
        report.add(pointer, "must be a boolean", "type", "boolean")


def string(longest: int, *, shortest: int = 1) -> Rule:
    def rule(value: object, pointer: str, report: Report) -> None:
        if not isinstance(value, str):
            report.add(pointer, "must be a string", "type", "string")
        elif len(value) > longest:
            report.add(pointer, f"must be less than {longest + 1} characters", "max_length", longest)
        elif len(value) < shortest:
            report.add(pointer, f"must be more than {shortest - 1} characters", "min_length", shortest)

    return rule


def integer(lowest: float, highest: float) -> Rule:
    def rule(value: object, pointer: str, report: Report) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            report.add(pointer, "must be an integer", "type", "integer")
        elif not lowest <= value <= highest:
            report.add(pointer, f"must be between {lowest} and {highest}", "range", [lowest, highest])

    return rule


def one_of(*values: str) -> Rule:
    def rule(value: object, pointer: str, report: Report) -> None:
        if value not in values:
            report.add(pointer, f"must be a valid enum value: {', '.join(values)}", "enum", list(values))

    return rule


def text(longest: int, *kinds: str) -> Rule:
    """Return the rule for a text object; without kinds, plain_text or mrkdwn."""
    allowed = kinds or ("plain_text", "mrkdwn")
    length = string(longest)
    extras = {"plain_text": {"type", "text", "emoji"}, "mrkdwn": {"type", "text", "verbatim"}}

    def rule(value: object, pointer: str, report: Report) -> None:
        found = as_dict(value)
        if found is None:
            report.add(pointer, "must be an object", "type", "object")
        elif found.get("type") not in allowed:
            report.add(f"{pointer}/type", f"unsupported type: {found.get('type')}", "enum", list(allowed))
        elif "text" not in found:
            report.add(pointer, "missing required field: text", "required", "text")
        else:
            length(found["text"], f"{pointer}/text", report)
            for extra in found.keys() - extras[found["type"]]:
                report.add(pointer, f"invalid additional property: {extra}", "additional_property", extra)

    return rule


def plain(longest: int) -> Rule:
    return text(longest, "plain_text")


def items(rule: Rule, most: int, *, least: int = 1) -> Rule:
    def check(value: object, pointer: str, report: Report) -> None:
        found = as_list(value)
        if found is None:
            report.add(pointer, "must be an array", "type", "array")
            return
        if len(found) > most:
            report.add(pointer, f"no more than {most} items allowed", "max_items", most)
        if len(found) < least:
            report.add(pointer, f"no fewer than {least} items allowed", "min_items", least)
        for index, item in enumerate(found[:most]):
            rule(item, f"{pointer}/{index}", report)

    return check


@dataclass(frozen=True, slots=True)
class Shape:
    """An object with these fields and no others."""

    required: Mapping[str, Rule] = field(default_factory=dict[str, Rule])
    optional: Mapping[str, Rule] = field(default_factory=dict[str, Rule])
    #: At least one of these fields must be there.
    either: tuple[str, ...] = ()

    @property
    def fields(self) -> set[str]:
        return {*self.required, *self.optional}

    def __call__(self, value: object, pointer: str, report: Report) -> None:
        found = as_dict(value)
        if found is None:
            report.add(pointer, "must be an object", "type", "object")
            return
        self._check_presence(found, pointer, report)
        for name, part in found.items():
            rule = self.required.get(name) or self.optional.get(name)
            if rule is not None:
                if part is not None:
                    rule(part, f"{pointer}/{name}", report)
            elif name != "type":
                report.add(pointer, f"invalid additional property: {name}", "additional_property", name)

    def _check_presence(self, found: Json, pointer: str, report: Report) -> None:
        for name in self.required:
            if found.get(name) is None:
                report.add(pointer, f"missing required field: {name}", "required", name)
        if self.either and not any(found.get(name) for name in self.either):
            names = " or ".join(f"`{name}`" for name in self.either)
            report.add(pointer, f"must define either {names}", "required", list(self.either))


def typed(table: Mapping[str, Rule], *allowed: str) -> Rule:
    """Return the rule for an object whose `type` picks its shape from `table`, if `allowed` here."""
    names = allowed or tuple(table)

    def rule(value: object, pointer: str, report: Report) -> None:
        found = as_dict(value)
        if found is None:
            report.add(pointer, "must be an object", "type", "object")
        elif found.get("type") not in names:
            report.add(f"{pointer}/type", f"unsupported type: {found.get('type')}", "enum", list(names))
        else:
            table[found["type"]](found, pointer, report)

    return rule
