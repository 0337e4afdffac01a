"""Rules, freezes and limits of a policy file, compiled to closures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.domain.verdict import ApprovalTerms
from bot.policy import conditions
from bot.policy.compile_people import BadRule, People, Place
from bot.policy.look import Look
from bot.policy.model import Block, Layer, Limit, Rule, RuleTerms, Test, spoken
from bot.policy.operators import BadOperand, condition, under
from bot.policy.outcome import Unclear
from bot.policy.paths import Resolver
from bot.policy.schema import AllowRule, AskRule, Freeze, Hours, LimitFile, PolicyFile, RuleFile


class Rules:
    """Compiles the rules of one file."""

    def __init__(
        self, file: PolicyFile, resolver: Resolver, locate: Callable[[Place], str], people: People
    ) -> None:
        self.file = file
        self.resolver = resolver
        self.locate = locate
        self.people = people

    def layer(self, fallback: ApprovalTerms, default: Block) -> Layer:
        """Compile the rules; those that name no approvers use `fallback`, of the file that counts."""
        file = self.file
        blocks: Mapping[Block, Sequence[RuleFile]] = {"deny": file.deny, "ask": file.ask, "allow": file.allow}
        rules = [
            self._rule(block, rule, (block, place), fallback)
            for block, written in blocks.items()
            for place, rule in enumerate(written)
        ]
        rules += [
            self._freeze(freeze, ("freeze", place), fallback) for place, freeze in enumerate(file.freeze)
        ]
        seen: dict[str, str] = {}
        for rule in rules:
            if rule.id in seen:
                raise BadRule(
                    ("rules",), f"two rules are called {rule.id!r}: {seen[rule.id]} and {rule.source}"
                )
            seen[rule.id] = rule.source
        return Layer(
            name=file.name,
            default=default,
            rules=tuple(rules),
            default_terms=RuleTerms(terms=fallback, named=False),
        )

    def _rule(self, block: Block, rule: RuleFile, place: Place, fallback: ApprovalTerms) -> Rule:
        allowing = block == "allow"
        try:
            tests = self._tests(rule, place, restricting=not allowing)
            covers = self._covers(rule) if allowing else None
        except BadOperand as bad:
            raise BadRule(place, f"rule {rule.id!r}: {bad}") from bad
        ask = (
            self.people.terms(rule.terms, fallback, place, grantable=not rule.irreversible)
            if isinstance(rule, AskRule)
            else None
        )
        return Rule(
            id=rule.id,
            block=block,
            tools=tuple(rule.tool),
            tests=tuple(tests),
            speaks=spoken(tuple(tests)),
            covers=covers,
            pinned=isinstance(rule, AllowRule) and rule.pinned,
            reason=rule.reason,
            ask=ask,
            commands=tuple(rule.command or ()),
            source=self.locate(place),
        )

    def _covers(self, rule: RuleFile) -> Callable[[Look], int] | None:
        if not (rule.profile or rule.command):
            return None
        paths = under(rule.paths.under, restricting=False, resolver=self.resolver) if rule.paths else None
        prefixes = tuple(tuple(pattern.split()) for pattern in rule.command or ())
        return conditions.Cover(profile=rule.profile is not None, prefixes=prefixes, paths=paths)

    def _tests(self, rule: RuleFile, place: Place, *, restricting: bool) -> list[Test]:
        tests = self._situation(rule, place, restricting=restricting)
        tests += self._about_commands(rule) if restricting else []
        if rule.touches:
            check = conditions.touches_check(rule.touches, self.resolver)
            found = conditions.touches_found(rule.touches, self.resolver)
            tests.append(Test(phrase=f"touches {words(rule.touches)}", check=check, found=found))
        tests += self._about_paths(rule, restricting=restricting)
        if rule.hosts:
            check = conditions.hosts_check(rule.hosts, restricting=restricting)
            tests.append(Test(phrase=f"host is {words(rule.hosts)}", check=check))
        for key, spec in (rule.when or {}).items():
            check = condition(key, spec, restricting=restricting, resolver=self.resolver)
            tests.append(Test(phrase=f"when {key} {words(spec)}", check=check))
        if rule.unless:
            tests.append(self._unless(rule.unless, restricting=restricting))
        return tests

    def _situation(self, rule: RuleFile, place: Place, *, restricting: bool) -> list[Test]:
        tests: list[Test] = []
        if rule.effects:
            wanted = rule.effects.wanted
            tests.append(
                Test(
                    phrase=f"effects {words(wanted)}",
                    check=conditions.effects_check(wanted, restricting=restricting),
                )
            )
        if rule.scope:
            tests.append(Test(phrase=f"scope is {rule.scope}", check=conditions.scope_check(rule.scope)))
        if rule.environment:
            check = conditions.environment_check(rule.environment, self.file.environment)
            tests.append(Test(phrase=f"environment is {words(rule.environment)}", check=check))
        if rule.requester:
            users = frozenset(self.people.approvers(rule.requester, (*place, "requester")).users)
            tests.append(
                Test(phrase=f"asked by {words(rule.requester)}", check=conditions.requester_check(users))
            )
        if rule.hours:
            tests.append(_hours(rule.hours, place))
        return tests

    def _about_commands(self, rule: RuleFile) -> list[Test]:
        tests: list[Test] = []
        if rule.command:
            check = conditions.command_check(rule.command, rule.recursive_on or (), self.resolver)
            target = f" recursively on {words(rule.recursive_on)}" if rule.recursive_on else ""
            found = conditions.command_found(rule.command)
            tests.append(Test(phrase=f"runs {words(rule.command)}{target}", check=check, found=found))
        if rule.pipe_into:
            tests.append(
                Test(
                    phrase=f"pipes into {words(rule.pipe_into)}", check=conditions.pipe_check(rule.pipe_into)
                )
            )
        if rule.profile:
            # In a rule that restricts, the profile means: all of it only reads.
            covers = conditions.Cover(profile=True)
            tests.append(Test(phrase="profile read_only", check=lambda look: bool(covers(look))))
        return tests

    def _about_paths(self, rule: RuleFile, *, restricting: bool) -> list[Test]:
        if not rule.paths or (not restricting and (rule.profile or rule.command)):
            return []  # an allow rule about commands looks at the paths of each command it covers
        inside = under(rule.paths.under, restricting=restricting, resolver=self.resolver)
        check = conditions.any_path(inside) if restricting else conditions.all_paths(inside)
        return [Test(phrase=f"paths under {words(rule.paths.under)}", check=check)]

    def _unless(self, unless: Mapping[str, Any], *, restricting: bool) -> Test:
        # An exception of a rule that restricts lets through, so it must hold for certain; and vice versa.
        checks = [
            condition(key, spec, restricting=not restricting, resolver=self.resolver)
            for key, spec in unless.items()
        ]

        def check(look: Look) -> bool:
            unclear: Unclear | None = None
            for each in checks:
                try:
                    if not each(look):
                        return True
                except Unclear as error:
                    unclear = error
            if unclear:
                raise unclear
            return False

        return Test(phrase=f"unless {words(unless)}", check=check)

    def _freeze(self, freeze: Freeze, place: Place, fallback: ApprovalTerms) -> Rule:
        tests = [
            Test(
                phrase=f"between {freeze.start.isoformat()} and {freeze.end.isoformat()}",
                check=conditions.window_check(freeze.start, freeze.end),
            )
        ]
        if freeze.effects:
            tests.append(
                Test(
                    phrase="effects", check=conditions.effects_check(freeze.effects.wanted, restricting=True)
                )
            )
        return Rule(
            id=freeze.id,
            block=freeze.then,
            tools=tuple(freeze.tool),
            tests=tuple(tests),
            speaks=spoken(tuple(tests)),
            reason=freeze.reason or f"frozen until {freeze.end:%Y-%m-%d %H:%M %Z}",
            ask=RuleTerms(terms=replace(fallback, grantable=False), named=False)
            if freeze.then == "ask"
            else None,
            source=self.locate(place),
        )

    def limits(self) -> tuple[Limit, ...]:
        return tuple(self._limit(limit, ("limits", place)) for place, limit in enumerate(self.file.limits))

    def _limit(self, limit: LimitFile, place: Place) -> Limit:
        try:
            tests = tuple(
                Test(
                    phrase=f"when {key} {words(spec)}",
                    check=condition(key, spec, restricting=True, resolver=self.resolver),
                )
                for key, spec in (limit.when or {}).items()
            )
        except BadOperand as bad:
            raise BadRule(place, f"limit {limit.id!r}: {bad}") from bad
        return Limit(
            id=limit.id,
            tools=tuple(limit.tool),
            max=limit.max,
            per=limit.per,
            then=limit.then,
            counts="asks" if limit.verdict == "ask" else "calls",
            each=limit.each,
            tests=tests,
            source=self.locate(place),
        )


def _hours(hours: Hours, place: Place) -> Test:
    names = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    try:
        zone = ZoneInfo(hours.zone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise BadRule((*place, "hours", "zone"), f"there is no time zone {hours.zone!r}") from error
    days = frozenset(names.index(day) for day in hours.days)
    return Test(
        phrase=f"between {hours.start:%H:%M} and {hours.end:%H:%M} {hours.zone}",
        check=conditions.hours_check(hours.start, hours.end, days, zone),
    )


#: How operators read aloud.
_SPOKEN = {
    "gt": ">",
    "gte": "≥",
    "lt": "<",
    "lte": "≤",
    "eq": "is",
    "in": "is one of",
    "not_in": "is none of",
}
_MOST_WORDS = 6


def words(value: object) -> str:
    if isinstance(value, list):
        items = [str(item) for item in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        more = f" and {len(items) - _MOST_WORDS} more" if len(items) > _MOST_WORDS else ""
        return ", ".join(items[:_MOST_WORDS]) + more
    if isinstance(value, dict):
        spoken = (f"{_SPOKEN.get(str(name), str(name))} {words(inner)}" for name, inner in value.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return " and ".join(spoken)
    return str(value).lower() if isinstance(value, bool) else str(value)
