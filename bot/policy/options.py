"""Scoped options: what is executed if somebody chooses one. `narrow` may only tighten, and code does it."""

from typing import Any, cast

from bot.domain.canonical import JsonObject
from bot.domain.tool import Planned
from bot.domain.verdict import OptionSpec
from bot.policy.paths import deceiving, is_under, lexical


def option_planned(option: OptionSpec, planned: Planned) -> Planned | None:
    """Return what `option` would execute instead of `planned`; None if it cannot be applied to it.

    `use … with` keeps the arguments that were planned and sets its own; the policy judges the result like any
    other call, and a tool that has no such argument refuses it.
    """
    if option.use is not None:
        return Planned(tool=option.use, args={**planned.args, **option.args})
    args = narrowed(planned.args, option.narrow)
    return None if args is None else Planned(tool=planned.tool, args=args)


def narrowed(args: JsonObject, narrow: JsonObject) -> JsonObject | None:
    """Return `args` tightened by `narrow`, or None if that cannot be done or would not be a subset."""
    made = dict(args)
    for name, spec in narrow.items():
        limits: JsonObject = cast("JsonObject", spec) if isinstance(spec, dict) else {"eq": spec}
        for operator, limit in limits.items():
            tighten = _TIGHTEN.get(operator)
            if tighten is None:
                return None
            tightened = tighten(made.get(name), limit)
            if tightened is _IMPOSSIBLE:
                return None
            made[name] = tightened
    return made


_IMPOSSIBLE = object()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value  # noqa: PLR0124 - NaN


def _at_least(value: Any, limit: Any) -> Any:
    # A missing bound means no bound, so that any bound is a subset of it.
    if value is None:
        return limit
    return max(value, limit) if _is_number(value) else _IMPOSSIBLE


def _at_most(value: Any, limit: Any) -> Any:
    if value is None:
        return limit
    return min(value, limit) if _is_number(value) else _IMPOSSIBLE


def _exactly(value: Any, limit: Any) -> Any:
    return limit if value is None or (type(value) is type(limit) and value == limit) else _IMPOSSIBLE


def _one_of(value: Any, limit: Any) -> Any:
    return value if isinstance(limit, list) and value in limit else _IMPOSSIBLE


def _below(value: Any, limit: Any) -> Any:
    """Keep a path that is already inside; move one that contains the limit down to it; refuse any other."""
    if (
        not isinstance(value, str)
        or not isinstance(limit, str)
        or not value.startswith("/")
        or deceiving(value)
    ):
        return _IMPOSSIBLE
    path, base = lexical(value, "/"), lexical(limit, "/")
    if is_under(path, base):
        return value
    return base if is_under(base, path) else _IMPOSSIBLE


_TIGHTEN = {"gte": _at_least, "lte": _at_most, "eq": _exactly, "in": _one_of, "under": _below}
