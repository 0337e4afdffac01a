"""The scope a person confirmed, enforced by code."""

from bot.domain.scope import Clause, ScopeContract
from bot.domain.tool import ToolCall
from bot.policy.context import Context
from bot.policy.look import Look
from bot.policy.operators import BadOperand, condition
from bot.policy.outcome import Unclear
from bot.policy.paths import Resolver, Unresolved, text_glob


def exceeded(
    contract: ScopeContract, call: ToolCall, context: Context, resolver: Resolver | None = None
) -> tuple[str, ...]:
    """Return, in words, every limit of `contract` that `call` breaks or cannot be shown to keep."""
    if context.tool is None:
        return (f"nobody knows the tool {call.tool}",)
    return _broken(contract, Look(call, context, context.tool, resolver or Unresolved()))


def broken(look: Look) -> tuple[str, ...]:
    """Return the broken limits of the contract in force; none if there is no contract."""
    contract = look.context.scope
    return () if contract is None else _broken(contract, look)


def confirmed(look: Look) -> bool:
    """Whether a contract speaks about this tool and the call keeps all of it."""
    contract = look.context.scope
    if contract is None:
        return False
    return any(_is_for(clause, look.call.tool) for clause in contract.clauses) and not _broken(contract, look)


def _broken(contract: ScopeContract, look: Look) -> tuple[str, ...]:
    if look.context.now >= contract.expires_at:
        return (f"the confirmed scope ended at {contract.expires_at:%Y-%m-%d %H:%M} UTC",)
    found: list[str] = []
    if contract.tools is not None and not any(text_glob(tool)(look.call.tool) for tool in contract.tools):
        found.append(f"{look.call.tool} is not among the confirmed tools")
    for clause in contract.clauses:
        if _is_for(clause, look.call.tool):
            found += (
                words
                for key, spec in clause.constraints.items()
                if (words := _why_not(key, spec, look)) is not None
            )
    return tuple(found)


def _is_for(clause: Clause, tool: str) -> bool:
    return any(text_glob(pattern)(tool) for pattern in clause.tools)


def _why_not(key: str, spec: object, look: Look) -> str | None:
    try:
        if condition(key, spec, restricting=False, resolver=look.resolver)(look):
            return None
        return f"{key} {look.value(key)} is outside {_limit(spec)}"
    except Unclear as unclear:
        return f"{key} must be {_limit(spec)}, but {unclear}"
    except BadOperand as bad:
        return f"the limit on {key} cannot be read: {bad}"


_WORDS = {
    "gte": "at least",
    "lte": "at most",
    "gt": "more than",
    "lt": "less than",
    "under": "",
    "eq": "",
    "in": "one of",
}


def _limit(spec: object) -> str:
    if not isinstance(spec, dict):
        return str(spec)
    limits = [f"{_WORDS.get(str(name), str(name))} {_plain(value)}".strip() for name, value in spec.items()]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return " and ".join(limits)


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)  # pyright: ignore[reportUnknownArgumentType]
