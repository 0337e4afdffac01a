"""What a request would touch, before any work is done on it."""

from dataclasses import dataclass
from typing import Any, Literal

BlastRadius = Literal["low", "medium", "high"]
#: How an answer limits an argument.
Bound = Literal["under", "eq", "in", "gte", "lte"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeField:
    """One thing to ask, and the limit that code makes of the answer."""

    name: str
    question: str
    #: The tools whose calls are limited, and how: {"path": {"under": "$path"}}.
    tools: tuple[str, ...]
    limit: dict[str, Any]
    suggestions: tuple[Any, ...] = ()
    default: Any = None
    #: What the answer itself must satisfy: {"under": "/srv"}.
    must: dict[str, Any] | None = None
    #: Seconds the resulting limit holds.
    lasts: int = 7200


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """A quick look at a request. It never loosens anything; it only decides whether to ask first, and what."""

    #: What the request seems to mean, in one sentence.
    understood: str
    ambiguous: bool
    blast_radius: BlastRadius
    #: Tools it will probably need, and what they will probably touch.
    tools: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    fields: tuple[ScopeField, ...] = ()
    assumptions: tuple[str, ...] = ()
    by: Literal["model", "heuristic"] = "heuristic"
