"""The model without a model: for demos, and for trying out policies without a key.

It understands a handful of requests (`plans.py`), uses real tools, and says in every turn that it is not a
real model. It never pretends: what it reports is what the results in the transcript say.
"""

import re
from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass, field

from bot.domain.ids import CallId
from bot.domain.tool import ToolCall, ToolResult
from bot.domain.transcript import CallBlock, Entry, ModelTurn, TextBlock, UserText
from bot.engine.ports import ModelEvent, ModelRequest, TextDelta
from bot.llm.mapping import NOT_RUN
from bot.llm.plans import SKILLS, Asked, Outcome, Plan, Step, recognised

LABEL = "(offline model)"


class OfflineModel:
    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        turn = answer(request)
        # Word by word, so that a front shows it the way it shows a real answer.
        for word in re.findall(r"\S+\s*|\s+", turn.text):
            yield TextDelta(text=word)
        yield turn


def answer(request: ModelRequest) -> ModelTurn:
    """Return the next turn of the conversation. The same conversation gets the same turn."""
    talk = _latest(request.transcript)
    tools = frozenset(tool.name for tool in request.tools)
    found = recognised(talk.request)
    if found is None:
        return _words(_help(tools))
    skill, words = found
    if missing := [name for name in skill.needs if name not in tools]:
        return _words(f"For this I would need a tool that this agent does not have: {', '.join(missing)}.")
    step = _replayed(skill.plan(Asked(words=words, tools=tools)), talk.rounds)
    return _words(step) if isinstance(step, str) else _proposal(step, place=len(request.transcript))


# ── Where the conversation stands ────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Talk:
    """The newest request, and the calls made for it so far, turn by turn, with what came of them."""

    request: str = ""
    turns: list[tuple[ToolCall, ...]] = field(default_factory=list[tuple[ToolCall, ...]])
    results: dict[CallId, ToolResult] = field(default_factory=dict[CallId, ToolResult])

    @property
    def rounds(self) -> list[list[Outcome]]:
        return [[_outcome(call, self.results.get(call.id)) for call in calls] for calls in self.turns]


def _latest(transcript: Sequence[Entry]) -> _Talk:
    talk = _Talk()
    for entry in transcript:
        match entry.item:
            case UserText(text=text) if text.strip():
                talk = _Talk(request=_plain(text))
            case ModelTurn(calls=calls) if calls:
                talk.turns.append(calls)
            case ToolResult() as result:
                talk.results.setdefault(result.call_id, result)
            case _:
                pass
    return talk


def _plain(text: str) -> str:
    """Leave out whom it is addressed to."""
    return re.sub(r"^\s*(?:<@\w+>|@\w+)[,:]?\s*", "", text)


def _outcome(call: ToolCall, result: ToolResult | None) -> Outcome:
    shown = next((str(call.args[name]) for name in _TELLING if call.args.get(name)), "")
    what = f"{call.tool} {shown}".strip()
    if result is None:
        return Outcome(what=what, status="cancelled", text=NOT_RUN)
    return Outcome(what=what, status=result.status, text=result.text, notice=result.notice)


#: The argument that says most about a call.
_TELLING = ("command", "question", "url", "pattern", "path", "to")


# ── The next turn ────────────────────────────────────────────────────────────────────────────────────────


def _replayed(plan: Plan, rounds: Sequence[Sequence[Outcome]]) -> Step | str:
    """Feed the plan everything that happened; return what it does next, or its answer."""
    try:
        step = next(plan)
        for outcomes in rounds:
            if len(outcomes) != len(step.calls):
                # Another model made these calls; this plan knows nothing of them.
                return "This request was begun by another model. Please ask again."
            step = plan.send(outcomes)
    except StopIteration as ended:
        return str(ended.value)
    return step


def _words(text: str) -> ModelTurn:
    return ModelTurn(blocks=(TextBlock(text=f"{LABEL} {text}"),), model="offline")


def _proposal(step: Step, *, place: int) -> ModelTurn:
    # Named by its place in the conversation: unique in it, and the same again after a restart.
    calls = (
        CallBlock(call=ToolCall(id=CallId(f"offline-{place}-{number}"), tool=each.tool, args=each.args))
        for number, each in enumerate(step.calls)
    )
    return ModelTurn(blocks=(TextBlock(text=f"{LABEL} {step.say}"), *calls), stop="tools", model="offline")


def _help(tools: Collection[str]) -> str:
    able = [skill.example for skill in SKILLS if skill.example and all(name in tools for name in skill.needs)]
    if not able:
        return "I am not a real model, and this agent has none of the tools I know how to use."
    examples = "\n".join(f"• {example}" for example in able)
    return f"I am not a real model and understand only a few requests. Try one of these:\n{examples}"
