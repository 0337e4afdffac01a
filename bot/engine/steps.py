"""What is next for a run. Looks only at its checkpoint, so going on after a crash is the everyday path."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeAlias

from bot.domain.ids import CallId, InterruptId
from bot.domain.run import Breakpoint, Head
from bot.domain.transcript import ModelTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class Assess:
    """Look at the request before any work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallModel:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    calls: tuple[CallId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Apply:
    """An interrupt was settled: take note of its outcome."""

    interrupt: InterruptId


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    calls: tuple[CallId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recover:
    calls: tuple[CallId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    breakpoint: Breakpoint
    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Await:
    """Calls are running in this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Park:
    """Only people can help now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    pass


Step: TypeAlias = Assess | CallModel | Judge | Apply | Begin | Recover | Review | Await | Park | Finish


def pending(
    head: Head,
    *,
    turn: ModelTurn | None,
    settled: AbstractSet[InterruptId],
    running: AbstractSet[CallId] = frozenset(),
) -> Step:
    """Return what is to be done next.

    `settled` are the interrupts of this head that have an outcome, `running` the calls this process runs.
    """
    if head.phase == "finish":
        return Finish()
    if head.review is not None:
        return Apply(interrupt=head.review) if head.review in settled else Park()
    if stop := _breakpoint(head, turn):
        return stop
    if head.phase == "clarify":
        return Assess()
    if head.phase == "model":
        return CallModel()
    return _next_of_calls(head, settled, running)


def _next_of_calls(head: Head, settled: AbstractSet[InterruptId], running: AbstractSet[CallId]) -> Step:
    if proposed := _ids(head, "proposed"):
        return Judge(calls=proposed)
    for call in head.calls:
        if call.status == "asking" and call.interrupt and call.interrupt in settled:
            return Apply(interrupt=call.interrupt)
    if lost := tuple(call for call in _ids(head, "started") if call not in running):
        return Recover(calls=lost)
    if ready := _ids(head, "ready"):
        return Begin(calls=ready)
    return Await() if running else Park()


def _ids(head: Head, status: str) -> tuple[CallId, ...]:
    return tuple(call.id for call in head.calls if call.status == status)


def _breakpoint(head: Head, turn: ModelTurn | None) -> Review | None:
    # What comes after a step comes before what comes before the next.
    for point in sorted(head.breakpoints, key=lambda point: point.when):
        step = _step_of(point, head, turn)
        if step and step not in head.passed:
            return Review(breakpoint=point, step=step)
    return None


def _step_of(point: Breakpoint, head: Head, turn: ModelTurn | None) -> str:
    """Name the step at which `point` stops this head, or nothing."""
    match head.phase, point.step, point.when:
        case "model", "model", "before":
            return f"before model {head.turns}"
        case "model", "tools", "after" if turn is not None and _names(turn, point):
            return f"after tools {head.turns}"
        case "answer", "model", "after":
            return f"after model {head.turns}"
        case "calls", "model", "after" if point.tools and _ids(head, "proposed"):
            return f"after model {head.turns}"
        case "calls", "tools", "before" if turn is not None and _ids(head, "ready") and _names(turn, point):
            return f"before tools {head.turns}"
        case _:
            return ""


def _names(turn: ModelTurn, point: Breakpoint) -> bool:
    return any(fnmatchcase(call.tool, pattern) for call in turn.calls for pattern in point.tools)
