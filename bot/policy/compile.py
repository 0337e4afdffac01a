"""From a checked policy file to a policy that can be asked: every rule becomes closures, once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.domain.run import AgentSpec, Breakpoint
from bot.domain.tool import Effects, ToolDefinition
from bot.domain.verdict import ApprovalTerms, Approvers, Escalation, OptionSpec, Verb
from bot.policy import conditions
from bot.policy.builtin_tools import BUILTIN_TOOLS, shape
from bot.policy.look import Look
from bot.policy.model import (
    STRICTNESS,
    Block,
    Clarify,
    ClarifyField,
    ClarifyQuestion,
    Layer,
    Limit,
    Policy,
    PolicyTest,
    Rule,
    RuleTerms,
    Test,
    spoken,
)
from bot.policy.operators import BadOperand, condition, under
from bot.policy.outcome import Unclear
from bot.policy.paths import Resolver, path_glob_among
from bot.policy.schema import (
    AllowRule,
    Approval,
    AskRule,
    ClarifyFile,
    EditOnly,
    Freeze,
    Hours,
    Instead,
    LimitFile,
    Narrowed,
    PolicyFile,
    Review,
    RuleFile,
    ToolShape,
)

#: Where a problem is: the keys and indices that lead to it.
Place = tuple[str | int, ...]


class BadRule(Exception):
    """The file is well formed, but says something that cannot be done."""

    def __init__(self, place: Place, why: str) -> None:
        self.place, self.why = place, why
        super().__init__(why)


class Compiler:
    """Compiles one file; what it extends was compiled before."""

    def __init__(
        self,
        file: PolicyFile,
        resolver: Resolver,
        locate: Callable[[Place], str],
        parent: "Compiler | None" = None,
    ) -> None:
        self.file = file
        self.resolver = resolver
        self.locate = locate
        self.parent = parent
        self.groups: dict[str, Approvers] = {**(parent.groups if parent else {}), **self._groups()}
        inherited = parent.default if parent else "allow"
        self.default: Block = max(file.default, inherited, key=lambda each: STRICTNESS[each])
        base = parent.fallback if parent else ApprovalTerms()
        own = self._terms(file.approval, base, ("approval",)).terms
        self.fallback = _not_looser(own, base) if parent else own

    # People

    def _groups(self) -> dict[str, Approvers]:
        made = {
            name: Approvers(users=tuple(group.users), groups=tuple(group.usergroup), label=name)
            for name, group in self.file.groups.items()
        }
        for name, group in made.items():
            inherited = self.parent.groups.get(name) if self.parent else None
            if name == "requester" or (inherited is not None and inherited != group):
                raise BadRule(("groups", name), f"the group {name!r} already means somebody else")
        return made

    def _approvers(self, names: Sequence[str], place: Place) -> Approvers:
        users: list[str] = []
        groups: list[str] = []
        for name in names:
            if name in self.groups:
                users += self.groups[name].users
                groups += self.groups[name].groups
            elif name[:1] in "UW" and name.isupper() and len(name) > 1:
                users.append(name)
            elif name != "requester":
                raise BadRule(place, f"nobody knows the approvers {name!r}; define them under groups")
        return Approvers(
            users=tuple(dict.fromkeys(users)),
            groups=tuple(dict.fromkeys(groups)),
            requester="requester" in names,
            requester_may_approve="requester" in names,
            label=", ".join(names),
        )

    def _terms(
        self, approval: Approval, base: ApprovalTerms, place: Place, *, grantable: bool = True
    ) -> RuleTerms:
        approvers = base.approvers if approval.by is None else self._approvers(approval.by, (*place, "by"))
        if approval.requester_may_approve is not None:
            approvers = replace(approvers, requester_may_approve=approval.requester_may_approve)
        elif approval.by is not None and base.approvers.requester_may_approve:
            approvers = replace(approvers, requester_may_approve=True)
        escalate = base.escalate
        if approval.escalate is not None:
            to = self._approvers(approval.escalate.to, (*place, "escalate", "to"))
            escalate = Escalation(
                after=approval.escalate.after,
                to=replace(to, requester_may_approve=approvers.requester_may_approve),
            )
        expires = approval.expires or base.expires
        terms = replace(
            base,
            approvers=approvers,
            quorum=approval.quorum or base.quorum,
            reason_required=base.reason_required
            if approval.reason is None
            else approval.reason == "required",
            expires=expires,
            remind=tuple(after for after in approval.remind or base.remind if after < expires),
            escalate=escalate if escalate and escalate.after < expires else None,
            on_timeout=approval.on_timeout or base.on_timeout,
            grantable=grantable,
        )
        return RuleTerms(terms=_with_options(terms, approval.options), named=approval.by is not None)

    # Rules

    def layer(self, fallback: ApprovalTerms) -> Layer:
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
            default=self.default,
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
            self._terms(rule.terms, fallback, place, grantable=not rule.irreversible)
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
            tests.append(Test(phrase=f"touches {_words(rule.touches)}", check=check, found=found))
        tests += self._about_paths(rule, restricting=restricting)
        if rule.hosts:
            check = conditions.hosts_check(rule.hosts, restricting=restricting)
            tests.append(Test(phrase=f"host is {_words(rule.hosts)}", check=check))
        for key, spec in (rule.when or {}).items():
            check = condition(key, spec, restricting=restricting, resolver=self.resolver)
            tests.append(Test(phrase=f"when {key} {_words(spec)}", check=check))
        if rule.unless:
            tests.append(self._unless(rule.unless, restricting=restricting))
        return tests

    def _situation(self, rule: RuleFile, place: Place, *, restricting: bool) -> list[Test]:
        tests: list[Test] = []
        if rule.effects:
            wanted = rule.effects.wanted
            tests.append(
                Test(
                    phrase=f"effects {_words(wanted)}",
                    check=conditions.effects_check(wanted, restricting=restricting),
                )
            )
        if rule.scope:
            tests.append(Test(phrase=f"scope is {rule.scope}", check=conditions.scope_check(rule.scope)))
        if rule.environment:
            check = conditions.environment_check(rule.environment, self.file.environment)
            tests.append(Test(phrase=f"environment is {_words(rule.environment)}", check=check))
        if rule.requester:
            users = frozenset(self._approvers(rule.requester, (*place, "requester")).users)
            tests.append(
                Test(phrase=f"asked by {_words(rule.requester)}", check=conditions.requester_check(users))
            )
        if rule.hours:
            tests.append(_hours(rule.hours, place))
        return tests

    def _about_commands(self, rule: RuleFile) -> list[Test]:
        tests: list[Test] = []
        if rule.command:
            check = conditions.command_check(rule.command, rule.recursive_on or (), self.resolver)
            target = f" recursively on {_words(rule.recursive_on)}" if rule.recursive_on else ""
            found = conditions.command_found(rule.command)
            tests.append(Test(phrase=f"runs {_words(rule.command)}{target}", check=check, found=found))
        if rule.pipe_into:
            tests.append(
                Test(
                    phrase=f"pipes into {_words(rule.pipe_into)}", check=conditions.pipe_check(rule.pipe_into)
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
        return [Test(phrase=f"paths under {_words(rule.paths.under)}", check=check)]

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

        return Test(phrase=f"unless {_words(unless)}", check=check)

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

    # The rest

    def limits(self) -> tuple[Limit, ...]:
        return tuple(self._limit(limit, ("limits", place)) for place, limit in enumerate(self.file.limits))

    def _limit(self, limit: LimitFile, place: Place) -> Limit:
        try:
            tests = tuple(
                Test(
                    phrase=f"when {key} {_words(spec)}",
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

    def clarify(self) -> Clarify | None:
        if self.file.clarify is None:
            return self.parent.clarify() if self.parent else None
        return self._clarify(self.file.clarify)

    def _clarify(self, file: ClarifyFile) -> Clarify:
        questions = tuple(
            ClarifyQuestion(
                before=tuple(each.before),
                fields=tuple(
                    ClarifyField(
                        name=name,
                        question=ask.question,
                        choices=tuple(ask.choices),
                        default=ask.default,
                        constraints=dict(ask.model_extra or {}),
                    )
                    for name, ask in each.ask.items()
                ),
                contract=each.contract,
                lasts=each.lasts,
                outside=each.outside,
            )
            for each in file.questions
        )
        self._check_clarify(questions)
        return Clarify(
            ambiguous=file.when.ambiguous,
            blast_radius=tuple(file.when.blast_radius),
            skip_effects=file.skip.effects.wanted,
            by=self._approvers(file.by, ("clarify", "by")),
            expires=file.expires,
            questions=questions,
        )

    def _check_clarify(self, questions: Sequence[ClarifyQuestion]) -> None:
        """Compile every constraint once, so that a typo is found on load and not in a conversation."""
        for number, question in enumerate(questions):
            place: Place = ("clarify", "questions", number)
            try:
                for each in question.fields:
                    if each.constraints:
                        condition(each.name, each.constraints, restricting=False, resolver=self.resolver)
            except BadOperand as bad:
                raise BadRule(place, str(bad)) from bad
            unknown = [
                name
                for name in _placeholders(question.contract)
                if name not in {f.name for f in question.fields}
            ]
            if unknown:
                raise BadRule((*place, "contract"), f"${unknown[0]} is not among the things asked")

    def policy(self, version: str, files: Sequence[str], protected: Sequence[str]) -> Policy:
        chain = self.chain()
        own = self.file.agent
        patterns = [*files, *protected, *(path for each in chain for path in each.file.protected)]
        return Policy(
            name=self.file.name,
            version=version,
            channels=tuple(self.file.channels),
            layers=tuple(each.layer(self.fallback) for each in chain),
            resolver=self.resolver,
            environment=self.file.environment,
            agent=AgentSpec(
                model=own.model
                or next((each.file.agent.model for each in reversed(chain) if each.file.agent.model), ""),
                instructions=own.instructions,
                tools=None if own.tools is None else tuple(own.tools),
                max_turns=own.max_turns,
                max_tokens=own.max_tokens,
                cwd=own.cwd,
                interrupts=all(each.file.agent.interrupts for each in chain),
                environment=self.file.environment,
            ),
            checkpoint_ttl=_ttl(chain),
            breakpoints=tuple(_breakpoint(review) for each in chain for review in each.file.review),
            clarify=self.clarify(),
            limits=tuple(limit for each in chain for limit in each.limits()),
            groups=self.groups,
            tools={
                **BUILTIN_TOOLS,
                **{name: _tool(name, s) for each in chain for name, s in each.file.tools.items()},
            },
            protected=path_glob_among(self.resolver.resolve(p, "/") if p[:1] in "/~" else p for p in patterns)
            if patterns
            else lambda _: False,
            tests=self._policy_tests(),
            files=tuple(files),
        )

    def chain(self) -> list["Compiler"]:
        return [*(self.parent.chain() if self.parent else []), self]

    def _policy_tests(self) -> tuple[PolicyTest, ...]:
        return tuple(
            PolicyTest(
                call=test.call,
                args=test.args,
                expect=test.expect,
                rule=test.rule,
                impact=test.impact,
                context=test.context,
                source=self.locate(("tests", place)),
            )
            for place, test in enumerate(self.file.tests)
        )


def _not_looser(own: ApprovalTerms, inherited: ApprovalTerms) -> ApprovalTerms:
    """Return the terms of a file that extends another: who decides may change, how strictly may only grow."""
    may_self = own.approvers.requester_may_approve and inherited.approvers.requester_may_approve
    return replace(
        own,
        approvers=replace(own.approvers, requester_may_approve=may_self),
        quorum=max(own.quorum, inherited.quorum),
        reason_required=own.reason_required or inherited.reason_required,
        expires=min(own.expires, inherited.expires),
    )


def _ttl(chain: Sequence[Compiler]) -> timedelta | None:
    ttls = [each.file.agent.checkpoint.ttl for each in chain if each.file.agent.checkpoint]
    return min(ttls, default=None)


def _with_options(terms: ApprovalTerms, options: list[Any] | None) -> ApprovalTerms:
    if options is None:
        return terms
    verbs: list[Verb] = []
    specs: list[OptionSpec] = []
    editable: tuple[str, ...] | None = None
    for option in options:
        match option:
            case Narrowed():
                specs.append(OptionSpec(label=option.label, narrow=option.narrow))
                verbs.append("choose")
            case Instead():
                specs.append(OptionSpec(label=option.label, use=option.use, args=option.with_))
                verbs.append("choose")
            case EditOnly():
                editable = tuple(option.edit)
                verbs.append("edit")
            case _:
                verbs.append(option)
    return replace(terms, verbs=tuple(dict.fromkeys(verbs)), options=tuple(specs), editable=editable)


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


def _breakpoint(review: Review) -> Breakpoint:
    when, step = ("before", review.before) if review.before is not None else ("after", review.after or "*")
    if step == "model":
        return Breakpoint(
            when=when,
            step="model",
            tools=tuple(review.tools if review.tools is not None else ("*",)),
            reason=review.reason,
        )
    tools = (
        tuple(review.tools)
        if review.tools is not None
        else ("*",)
        if step in {"*", "tools"}
        else (step or "*",)
    )
    return Breakpoint(when=when, step="tools", tools=tools, reason=review.reason)


def _tool(name: str, described: ToolShape) -> ToolDefinition:
    parameters = (
        {"type": "object", "additionalProperties": True} if described.args == "any" else shape(described.args)
    )
    return ToolDefinition(
        name=name,
        description="",
        parameters=parameters,
        effects=replace(Effects(), **described.effects.wanted),
        trusted=described.trusted,
        paths=tuple(described.paths),
        commands=tuple(described.commands),
        urls=tuple(described.urls),
    )


def _placeholders(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value.startswith("$"):
        yield value[1:]
    inner = cast("dict[str, Any]", value).values() if isinstance(value, dict) else value
    if isinstance(inner, Iterable) and not isinstance(inner, str):
        for each in cast("Iterable[Any]", inner):
            yield from _placeholders(each)


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


def _words(value: object) -> str:
    if isinstance(value, list):
        items = [str(item) for item in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        more = f" and {len(items) - _MOST_WORDS} more" if len(items) > _MOST_WORDS else ""
        return ", ".join(items[:_MOST_WORDS]) + more
    if isinstance(value, dict):
        spoken = (f"{_SPOKEN.get(str(name), str(name))} {_words(inner)}" for name, inner in value.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return " and ".join(spoken)
    return str(value).lower() if isinstance(value, bool) else str(value)
