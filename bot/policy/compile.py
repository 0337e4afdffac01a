"""From a checked policy file to a policy that can be asked: everything becomes frozen values, once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

from bot.domain.run import AgentSpec, Breakpoint
from bot.domain.tool import Effects, ToolDefinition
from bot.domain.verdict import ApprovalTerms
from bot.policy.builtin_tools import BUILTIN_TOOLS, shape
from bot.policy.compile_people import BadRule, People, Place, not_looser
from bot.policy.compile_rules import Rules
from bot.policy.model import STRICTNESS, Block, Clarify, ClarifyField, ClarifyQuestion, Policy, PolicyTest
from bot.policy.operators import BadOperand, condition
from bot.policy.paths import Resolver, path_glob_among
from bot.policy.schema import ClarifyFile, PolicyFile, Review, ToolShape


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
        self.people = People(file.groups, parent.people.groups if parent else {})
        self.rules = Rules(file, resolver, locate, self.people)
        inherited: Block = parent.default if parent else "allow"
        self.default: Block = max(file.default, inherited, key=lambda each: STRICTNESS[each])
        base = parent.fallback if parent else ApprovalTerms()
        own = self.people.terms(file.approval, base, ("approval",)).terms
        self.fallback = not_looser(own, base) if parent else own

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
            by=self.people.approvers(file.by, ("clarify", "by")),
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
            layers=tuple(each.rules.layer(self.fallback, each.default) for each in chain),
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
            limits=tuple(limit for each in chain for limit in each.rules.limits()),
            groups=self.people.groups,
            tools={
                **BUILTIN_TOOLS,
                **{name: _tool(name, s) for each in chain for name, s in each.file.tools.items()},
            },
            protected=path_glob_among(self.resolver.resolve(p, "/") if p[:1] in "/~" else p for p in patterns)
            if patterns
            else lambda _: False,
            tests=self._policy_tests(),
            test_links=self.file.test_links,
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


def _ttl(chain: Sequence[Compiler]) -> timedelta | None:
    ttls = [each.file.agent.checkpoint.ttl for each in chain if each.file.agent.checkpoint]
    return min(ttls, default=None)


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
