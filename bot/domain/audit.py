"""The record of everything: each hash covers the record before, so that no line can be changed or cut out."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from bot.domain.canonical import JsonObject, canonical
from bot.domain.ids import RunId

#: The hash "before" the first record.
GENESIS = "0" * 64

AuditKind = Literal[
    "request",
    "verdict",
    "interrupt",
    "vote",
    "click_refused",
    "decision",
    "timeout",
    "reminder",
    "escalation",
    "execution_started",
    "execution_finished",
    "grant",
    "scope",
    "run_finished",
    "policy_loaded",
    "retention",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFact:
    """Something to be recorded. It holds digests and ids, never secrets."""

    kind: AuditKind
    at: datetime
    run_id: RunId | None
    body: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """A fact with its place in the chain."""

    seq: int
    fact: AuditFact
    hash: str


def chained(previous: str, *, seq: int, kind: str, at_us: int, run_id: str | None, body: str) -> str:
    """Return the hash of a record. `body` is the canonical JSON exactly as it is stored."""
    line = f"{previous}\n{seq}\n{kind}\n{at_us}\n{run_id or ''}\n{body}"
    return hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()


def body_text(fact: AuditFact) -> str:
    return canonical(fact.body)
