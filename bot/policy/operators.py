"""The words of `when` and `unless`, each compiled once to a closure.

Every operator exists in two temperaments. In a rule that restricts it matches if *anything* it may mean
matches, in any case and in any element of a list. In a rule (or exception) that lets through it matches only
if *everything* certainly does. A value that is missing or of the wrong type raises `Unclear`.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast

from bot.policy import hosts
from bot.policy.look import Look
from bot.policy.outcome import Unclear
from bot.policy.paths import Resolver, is_under, path_glob, text_glob
from bot.policy.regex import BadPattern, whole

Check: TypeAlias = Callable[[Look], bool]
#: A test of one value; the look is there for paths.
Operator: TypeAlias = Callable[[Any, Look], bool]


class BadOperand(ValueError):
    """The policy file asks for something an operator cannot do."""


def condition(key: str, spec: Any, *, restricting: bool, resolver: Resolver) -> Check:
    """Compile `{key: spec}`; a bare value means `eq`, a list `in`."""
    wanted = _operators(spec)
    if not wanted:
        raise BadOperand(f"{key} has no condition")
    presence = [_presence(key, name, wanted[name]) for name in ("present", "absent") if name in wanted]
    tests = [
        _operator(key, name, operand, restricting=restricting, resolver=resolver)
        for name, operand in wanted.items()
        if name not in {"present", "absent"}
    ]
    if len(tests) == 1 and not presence:
        return _single(key, tests[0], restricting=restricting)

    def check(look: Look) -> bool:
        if not all(test(look) for test in presence):
            return False
        return all(_quantified(test, look.value(key), look, restricting=restricting) for test in tests)

    return check


def _operators(spec: Any) -> dict[str, Any]:
    if isinstance(spec, dict):
        return cast("dict[str, Any]", spec)
    return {"in": spec} if isinstance(spec, list) else {"eq": spec}


def _single(key: str, test: Operator, *, restricting: bool) -> Check:
    if "." in key:
        return lambda look: _quantified(test, look.value(key), look, restricting=restricting)

    def check(look: Look) -> bool:
        # The commonest shape by far: one operator on a plain argument.
        try:
            value = look.call.args[key]
        except KeyError:
            raise Unclear(f"{key} is missing") from None
        if type(value) is list:
            return _quantified(test, value, look, restricting=restricting)
        return test(value, look)

    return check


def _quantified(test: Operator, value: Any, look: Look, *, restricting: bool) -> bool:
    if not isinstance(value, list) or getattr(test, "whole", False):
        return test(value, look)
    items = cast("list[Any]", value)
    if not items:
        raise Unclear("the list is empty")
    return any(test(item, look) for item in items) if restricting else all(test(item, look) for item in items)


def _presence(key: str, name: str, operand: Any) -> Check:
    if not isinstance(operand, bool):
        raise BadOperand(f"{name} takes true or false")
    wanted = operand if name == "present" else not operand
    return lambda look: look.has(key) is wanted


def _operator(key: str, name: str, operand: Any, *, restricting: bool, resolver: Resolver) -> Operator:
    if name == "under":
        return under(operand, restricting=restricting, resolver=resolver)
    if name not in _OPERATORS:
        raise BadOperand(f"there is no operator {name!r}")
    made = _OPERATORS[name](operand)
    if name not in {"eq", "in", "not_in", "glob", "matches"}:
        return made

    def on_paths(value: Any, look: Look) -> bool:
        if not look.is_path(key):
            return made(value, look)
        if name == "glob":
            glob = path_glob([str(operand)], fold=restricting)
            return any(map(glob, look.possible_paths(value))) if restricting else glob(look.exact_path(value))
        if restricting:
            return any(made(path, look) for path in (value, *look.possible_paths(value)))
        return made(look.exact_path(value), look)

    return on_paths


def _number(value: Any) -> float:
    # True is 1 to Python, and NaN is neither more nor less than anything.
    if type(value) is int or (type(value) is float and math.isfinite(value)):
        return value
    raise Unclear(f"{value!r} is not a number")


def _bound(operand: Any) -> float:
    if type(operand) not in {int, float}:
        raise BadOperand("a number is expected")
    return cast("float", operand)


# One closure each instead of one with a comparison inside: these are what most rules consist of.


def _gt(operand: Any) -> Operator:
    limit = _bound(operand)
    return lambda value, _: (value if type(value) is int else _number(value)) > limit


def _gte(operand: Any) -> Operator:
    limit = _bound(operand)
    return lambda value, _: (value if type(value) is int else _number(value)) >= limit


def _lt(operand: Any) -> Operator:
    limit = _bound(operand)
    return lambda value, _: (value if type(value) is int else _number(value)) < limit


def _lte(operand: Any) -> Operator:
    limit = _bound(operand)
    return lambda value, _: (value if type(value) is int else _number(value)) <= limit


def _same(value: Any, wanted: Any) -> bool:
    if type(value) is not type(wanted) and not ({type(value), type(wanted)} <= {int, float}):
        raise Unclear(f"{value!r} is of another type than {wanted!r}")
    return bool(value == wanted)


def _eq(operand: Any) -> Operator:
    return lambda value, _: _same(value, operand)


def _members(operand: Any) -> list[Any]:
    if not isinstance(operand, list) or not operand:
        raise BadOperand("a list is expected")
    return cast("list[Any]", operand)


def _contains(value: Any, members: Iterable[Any]) -> bool:
    unclear: Unclear | None = None
    for member in members:
        try:
            if _same(value, member):
                return True
        except Unclear as error:
            unclear = error
        else:
            unclear = None
    if unclear:
        raise unclear
    return False


def _in(operand: Any) -> Operator:
    members = _members(operand)
    return lambda value, _: _contains(value, members)


def _not_in(operand: Any) -> Operator:
    members = _members(operand)
    return lambda value, _: not _contains(value, members)


def _between(operand: Any) -> Operator:
    if not isinstance(operand, list) or len(cast("list[Any]", operand)) != 2:
        raise BadOperand("between takes [lowest, highest]")
    low, high = (_number(bound) for bound in cast("list[Any]", operand))
    return lambda value, _: low <= _number(value) <= high


def _texts(operand: Any) -> list[str]:
    found = cast("list[Any]", operand) if isinstance(operand, list) else [operand]
    if not found or not all(isinstance(item, str) for item in found):
        raise BadOperand("text, or a list of texts, is expected")
    return cast("list[str]", found)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Unclear(f"{value!r} is not text")
    return value


def _glob(operand: Any) -> Operator:
    tests = [text_glob(pattern) for pattern in _texts(operand)]
    return lambda value, _: any(test(_text(value)) for test in tests)


def _matches(operand: Any) -> Operator:
    try:
        tests = [whole(pattern) for pattern in _texts(operand)]
    except BadPattern as bad:
        raise BadOperand(f"not a regular expression: {bad}") from bad
    return lambda value, _: any(test(_text(value)) for test in tests)


def _host(operand: Any) -> Operator:
    matches = hosts.host_matcher(_texts(operand))
    return lambda value, _: matches(hosts.parse(value))


def _scheme(operand: Any) -> Operator:
    wanted = frozenset(scheme.lower() for scheme in _texts(operand))
    return lambda value, _: hosts.parse(value).scheme in wanted


def _flag(name: str, found: Callable[[Any], bool]) -> Callable[[Any], Operator]:
    def make(operand: Any) -> Operator:
        if not isinstance(operand, bool):
            raise BadOperand(f"{name} takes true or false")
        return lambda value, _: found(value) is operand

    return make


def _length(operand: Any) -> Operator:
    spec: Mapping[str, Any] = (
        cast("dict[str, Any]", operand) if isinstance(operand, dict) else {"eq": operand}
    )
    if not spec or not set(spec) <= {"eq", "gt", "gte", "lt", "lte", "between"}:
        raise BadOperand("length takes a number or a comparison")
    tests = [_OPERATORS[name](limit) for name, limit in spec.items()]

    def length(value: Any, look: Look) -> bool:
        if not isinstance(value, str | list | dict):
            raise Unclear(f"{value!r} has no length")
        size = len(cast("str", value))
        return all(test(size, look) for test in tests)

    length.whole = True  # pyright: ignore[reportFunctionMemberAccess]
    return length


_OPERATORS: dict[str, Callable[[Any], Operator]] = {
    "eq": _eq,
    "in": _in,
    "not_in": _not_in,
    "gt": _gt,
    "gte": _gte,
    "lt": _lt,
    "lte": _lte,
    "between": _between,
    "glob": _glob,
    "matches": _matches,
    "host": _host,
    "scheme": _scheme,
    "private_address": _flag("private_address", hosts.is_private),
    "userinfo": _flag("userinfo", lambda value: hosts.parse(value).userinfo),
    "length": _length,
}
NAMES = (*_OPERATORS, "under", "present", "absent")


def under(operand: Any, *, restricting: bool, resolver: Resolver) -> Operator:
    """Compile a test that a path is inside of one of some directories; `.` is the working directory."""
    named = _texts(operand)
    fixed = [resolver.resolve(base, "/") for base in named if base.startswith(("/", "~"))]
    relative = [base for base in named if not base.startswith(("/", "~"))]

    def bases(look: Look) -> list[str]:
        return [*fixed, *(look.resolve(base, look.context.cwd) for base in relative)]

    if not restricting:
        return lambda value, look: _inside(look.exact_path(value), bases(look) if relative else fixed)

    def anywhere(value: Any, look: Look) -> bool:
        folded = [base.casefold() for base in bases(look)]
        return any(_inside(path.casefold(), folded) for path in look.possible_paths(value))

    return anywhere


def _inside(path: str, bases: list[str]) -> bool:
    return any(is_under(path, base) for base in bases)
