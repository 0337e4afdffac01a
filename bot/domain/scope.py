"""The confirmed limits of a request, enforced by code."""

from dataclasses import dataclass
from datetime import datetime

from bot.domain.canonical import JsonObject
from bot.domain.ids import UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One limit: for calls of `tools`, `constraints` in the policy's operator language must all hold."""

    tools: tuple[str, ...]
    constraints: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeContract:
    """Targets, most items, environments, tools and until when, as a person confirmed them."""

    clauses: tuple[Clause, ...]
    #: Tools that may be used at all; None means any.
    tools: tuple[str, ...] | None = None
    confirmed_by: UserId
    confirmed_at: datetime
    expires_at: datetime
    #: The limits in words, for the thread and the system prompt.
    summary: str = ""
