"""Case files: one JSON object per line, with the policy it is for and the verdict that is right."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bot.domain.canonical import JsonObject
from bot.domain.errors import ConfigError
from bot.domain.ids import CallId, UserId
from bot.domain.person import Person
from bot.domain.tool import Planned, ToolCall
from bot.domain.verdict import Allow, Ask, Deny, Verdict
from bot.policy.binding import Approval, Authorised, authorise
from bot.policy.cases import on_test_links, situation
from bot.policy.context import Context
from bot.policy.evaluate import decide
from bot.policy.model import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    id: str
    policy: str
    tool: str
    args: JsonObject
    expect: str
    also_ok: tuple[str, ...] = ()
    context: JsonObject = field(default_factory=JsonObject)
    impact: JsonObject | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    case: Case
    verdict: Verdict

    @property
    def passed(self) -> bool:
        return self.verdict.kind == self.case.expect or self.verdict.kind in self.case.also_ok


def read_cases(lines: Iterable[str], name: str) -> Iterator[Case]:
    """Yield the cases in `lines`.

    Raises:
        ConfigError: a line is not a case; the message says which.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            raw: Any = json.loads(line)
            yield Case(
                id=str(raw.get("id", number)),
                policy=raw["policy"],
                tool=raw["tool"],
                args=raw["args"],
                expect=raw["expect"],
                also_ok=tuple(raw.get("also_ok", ())),
                context=raw.get("context", {}),
                impact=raw.get("impact"),
                why=raw.get("why", ""),
            )
        except (ValueError, KeyError, AttributeError) as error:
            raise ConfigError(f"{name}:{number}: not a case: {error}") from error


def run_case(policies: Mapping[str, Policy], case: Case) -> Outcome:
    """Return the verdict of the case's policy, with an approval it presents taken into account."""
    policy = policies.get(case.policy)
    if policy is None:
        raise ConfigError(f"case {case.id}: there is no policy called {case.policy!r}")
    call = ToolCall(id=CallId(case.id), tool=case.tool, args=case.args)
    context = situation(policy, case.tool, case.context, case.impact)
    verdict = decide(on_test_links(policy), call, context)
    if "approval" in case.context and verdict.kind == "ask":
        verdict = _approved(case, verdict, context)
    return Outcome(case=case, verdict=verdict)


def _approved(case: Case, verdict: Ask, context: Context) -> Verdict:
    given: JsonObject = case.context["approval"]
    # Case files bind to tool and arguments only, with the first 16 digits; versions are made-up names.
    wanted = Planned(tool=case.tool, args=case.args).digest[:16]
    version = str(case.context.get("policy_version", ""))
    same_policy = str(given.get("policy_version", version)) == version
    by = given.get("by", ())
    people = tuple(Person(id=UserId(str(user))) for user in (by if isinstance(by, list) else [by]))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    approval = Approval(
        digest=str(given.get("hash", "")),
        by=people,
        expires_at=datetime.fromisoformat(str(given["expires"])),
        policy_version=verdict.policy if same_policy else "another version",
        used=bool(given.get("used", False)) or int(given.get("uses", 0)) > 0,
    )
    result = authorise(approval, verdict, digest=wanted, requester=context.requester, now=context.now)
    if isinstance(result, Authorised):
        return Allow(rules=("approval", *verdict.rules), reason="approved", policy=verdict.policy)
    if result.kind == "ask":
        return Ask(rules=verdict.rules, reason=result.reason, policy=verdict.policy, terms=verdict.terms)
    return Deny(rules=("approval", *verdict.rules), reason=result.reason, policy=verdict.policy)
