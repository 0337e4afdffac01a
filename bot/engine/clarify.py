"""Clarifies the scope before any work, and makes limits of the answers. Pure: code builds them, never a model."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

from pydantic import TypeAdapter

from bot.domain.assessment import Assessment, ScopeField
from bot.domain.canonical import JsonObject
from bot.domain.errors import InvalidAnswer
from bot.domain.ids import CallId, InterruptId, UserId
from bot.domain.interrupt import Interrupt, Option
from bot.domain.run import Head
from bot.domain.scope import Clause, ScopeContract
from bot.domain.tool import ToolCall, ToolDefinition
from bot.policy.context import Context
from bot.policy.model import Clarify, ClarifyQuestion
from bot.policy.paths import text_glob
from bot.policy.scope import exceeded

#: More than this nobody answers.
MOST_QUESTIONS = 3
GO = "go"


def wanted(clarify: Clarify | None, assessment: Assessment, tools: Collection[ToolDefinition]) -> bool:
    """Whether people are asked before the work begins."""
    if clarify is None or _skipped(clarify, assessment, tools):
        return False
    return (clarify.ambiguous and assessment.ambiguous) or assessment.blast_radius in clarify.blast_radius


def _skipped(clarify: Clarify, assessment: Assessment, tools: Collection[ToolDefinition]) -> bool:
    """Every tool it will need has effects that need no clarification. No tool named means that nobody knows."""
    expected = [tool for tool in tools if tool.name in assessment.tools]
    if not expected or not clarify.skip_effects:
        return False
    return all(
        tool.trusted and getattr(tool.effects, effect) == value
        for tool in expected
        for effect, value in clarify.skip_effects.items()
    )


def fields(clarify: Clarify, assessment: Assessment) -> tuple[ScopeField, ...]:
    """The questions that matter: the policy's own for the tools expected first, then what the look brought up."""
    fixed = [
        field
        for question in clarify.questions
        if any(text_glob(pattern)(tool) for pattern in question.before for tool in assessment.tools)
        for field in _from_policy(question)
    ]
    named = {field.name for field in fixed}
    return tuple(
        [*fixed, *(field for field in assessment.fields if field.name not in named)][:MOST_QUESTIONS]
    )


def _from_policy(question: ClarifyQuestion) -> list[ScopeField]:
    made: list[ScopeField] = []
    for field in question.fields:
        limit = {key: spec for key, spec in question.contract.items() if f"${field.name}" in str(spec)}
        made.append(
            ScopeField(
                name=field.name,
                question=field.question,
                tools=question.before,
                limit=limit,
                suggestions=field.choices,
                default=field.default if field.default is not None else (field.choices or (None,))[0],
                must=field.constraints or None,
                lasts=int(question.lasts.total_seconds()),
            )
        )
    return made


# ── The question ─────────────────────────────────────────────────────────────────────────────────────────


def question(
    name: InterruptId,
    head: Head,
    clarify: Clarify,
    assessment: Assessment,
    asked: Sequence[ScopeField],
    *,
    now: datetime,
) -> Interrupt:
    """One compact card: what was understood, what it would touch, the questions, and their suggested answers."""
    defaults = {field.name: field.default for field in asked}
    complete = all(value is not None for value in defaults.values())
    go = Option(id=GO, label="Start with these limits", consequence=summary(asked, defaults) if asked else "")
    return Interrupt(
        id=name,
        run_id=head.run_id,
        thread_id=head.thread.id,
        channel=head.thread.channel,
        kind="clarification",
        reason="Before I start: this is not clear enough to begin, or could touch a lot.",
        requester=head.requester,
        approvers=clarify.by,
        opened_at=now,
        expires_at=now + min(clarify.expires, head.agent.patience),
        verbs=("choose", "respond", "cancel") if complete else ("respond", "cancel"),
        options=(go,) if complete else (),
        response_schema=_schema(asked),
        subject={
            "understood": assessment.understood,
            "touches": list(assessment.targets),
            "assumptions": list(assessment.assumptions),
            "blast_radius": assessment.blast_radius,
            "fields": [asdict(field) for field in asked],
        },
        on_timeout="cancel_run",
    )


def _schema(asked: Sequence[ScopeField]) -> JsonObject:
    properties: JsonObject = {field.name: _property(field) for field in asked}
    # Whoever wants to say it in other words may; it is read back to them before it counts.
    properties["in_other_words"] = {"type": "string", "title": "Or say it in your own words"}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _property(field: ScopeField) -> JsonObject:
    example = field.default if field.default is not None else (field.suggestions or ("",))[0]
    kind = "integer" if isinstance(example, int) and not isinstance(example, bool) else "string"
    made: JsonObject = {"type": kind, "title": field.question}
    if field.suggestions:
        made["examples"] = list(field.suggestions)
    if field.default is not None:
        made["default"] = field.default
    return made


def fields_of(interrupt: Interrupt) -> tuple[ScopeField, ...]:
    """The fields a clarification asked about, from its stored subject."""
    return _STORED.validate_python((interrupt.subject or {}).get("fields", []))


_STORED = TypeAdapter(tuple[ScopeField, ...])


# ── The contract ─────────────────────────────────────────────────────────────────────────────────────────


def answered(asked: Sequence[ScopeField], data: JsonObject) -> JsonObject:
    """The value of every field: as answered, or the default that was shown."""
    return {field.name: data.get(field.name, field.default) for field in asked}


def check(asked: Sequence[ScopeField], values: JsonObject, *, cwd: str, now: datetime) -> None:
    """Raise InvalidAnswer if a value is missing or is not what the policy lets people answer."""
    for field in asked:
        value = values.get(field.name)
        if value is None or value == "":
            raise InvalidAnswer(f"An answer is missing: {field.question}")
        if field.must and (problem := _objection(field, value, cwd=cwd, now=now)):
            raise InvalidAnswer(f"{field.question} {problem}")


def _objection(field: ScopeField, value: object, *, cwd: str, now: datetime) -> str:
    """What the answer itself breaks, judged by the same operators that judge calls."""
    shape = ToolDefinition(name="answer", description="", parameters={}, paths=(field.name,))
    limits = ScopeContract(
        clauses=(Clause(tools=("answer",), constraints={field.name: field.must}),),
        confirmed_by=UserId(""),
        confirmed_at=now,
        expires_at=now + timedelta(days=1),
    )
    call = ToolCall(id=CallId("answer"), tool="answer", args={field.name: value})
    return "; ".join(exceeded(limits, call, Context(tool=shape, now=now, cwd=cwd or "/")))


def contract(asked: Sequence[ScopeField], values: JsonObject, *, by: UserId, now: datetime) -> ScopeContract:
    """Make limits of the answers. Nothing but these values goes into it."""
    clauses = tuple(
        Clause(tools=field.tools, constraints=_filled(field.limit, values)) for field in asked if field.limit
    )
    lasts = min((field.lasts for field in asked), default=7200)
    return ScopeContract(
        clauses=clauses,
        confirmed_by=by,
        confirmed_at=now,
        expires_at=now + timedelta(seconds=lasts),
        summary=summary(asked, values),
    )


def _filled(limit: Any, values: JsonObject) -> Any:
    if isinstance(limit, dict):
        return {key: _filled(value, values) for key, value in limit.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(limit, str) and limit.startswith("$"):
        return values[limit[1:]]
    return limit


_WORDS = {"under": "under", "gte": "at least", "lte": "at most", "eq": "exactly", "in": "one of"}


def summary(asked: Sequence[ScopeField], values: JsonObject) -> str:
    """The limits in words, for the thread and the system prompt."""
    parts: list[str] = []
    for field in asked:
        for key, limit in _filled(field.limit, values).items():
            bounds: JsonObject = limit if isinstance(limit, dict) else {"eq": limit}  # pyright: ignore[reportUnknownVariableType]
            parts += [f"{key} {_WORDS.get(bound, bound)} {value}" for bound, value in bounds.items()]
    return ", ".join(parts)


def widened(scope: ScopeContract, call: ToolCall) -> ScopeContract:
    """The contract with just enough room for `call`: each limit on one of its arguments is moved out to it."""
    clauses = tuple(
        replace(
            clause, constraints={key: _loosened(key, spec, call) for key, spec in clause.constraints.items()}
        )
        if any(text_glob(pattern)(call.tool) for pattern in clause.tools)
        else clause
        for clause in scope.clauses
    )
    return replace(scope, clauses=clauses, summary=f"{scope.summary}; widened for {call.tool}")


def _loosened(key: str, spec: Any, call: ToolCall) -> Any:
    value = call.args.get(key)
    if not isinstance(spec, dict):
        return spec if value == spec else {"in": [spec, value]}
    if value is None:
        # The call does not set this limit at all, so there is none to hold it to.
        return {}
    limits: JsonObject = spec  # pyright: ignore[reportUnknownVariableType]
    return {bound: _moved_out(bound, limit, value) for bound, limit in limits.items()}


def _moved_out(bound: str, limit: Any, value: Any) -> Any:
    match bound:
        case "under" | "in":
            return [*_listed(limit), value]
        case "gte":
            return min(limit, value)
        case "lte":
            return max(limit, value)
        case _:
            return limit


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType]
