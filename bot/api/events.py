"""What a stream tells, derived from stored rows, and the cursor that says how much of it was told. Pure.

An event's id is the cursor *after* it: how many entries of the run were told, how much of the text of the next
model turn, how many interrupts. Nothing of it lives in this process, so a cut stream goes on after a restart,
in another process, or years later. Text is told while it is written; the cursor keeps a checksum of what was
told, and if the model was asked again meanwhile and says something else, the text is told anew as a whole.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from bot.domain.decision import Outcome
from bot.domain.errors import InvalidAnswer
from bot.domain.ids import InterruptId, RunId
from bot.domain.interrupt import Asked, Interrupt
from bot.domain.run import FINAL, Head
from bot.domain.tool import ToolCall, ToolResult
from bot.domain.transcript import DraftEdited, Entry, HumanDecision, ModelTurn, UserText


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    entry: int
    text: str
    #: What was told of this entry before is void; this is all of it.
    replaces: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    entry: int
    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    entry: int
    result: ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    interrupt: Interrupt


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    interrupt_id: InterruptId
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    state: Literal["done", "failed", "cancelled", "quarantined"]
    #: The answer, or why there is none.
    text: str


StreamEvent: TypeAlias = Said | Proposed | Finished | Asking | Decided | Ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    run: RunId
    #: Entries that were told completely.
    entry: int = 0
    #: Calls of entry number `entry` that were told.
    calls: int = 0
    #: Characters of the next model turn that were told, and their checksum.
    chars: int = 0
    mark: int = 0
    interrupts: int = 0
    ended: bool = False

    def __str__(self) -> str:
        place = f"{self.entry}.{self.calls}.{self.chars}.{self.mark:08x}.{self.interrupts}"
        return f"{self.run}.{place}.{'z' if self.ended else 'a'}"


def parse_cursor(text: str) -> Cursor:
    """Read a `Last-Event-ID`; raise InvalidAnswer if it is none of ours."""
    try:
        run, entry, calls, chars, mark, interrupts, ended = text.rsplit(".", 6)
        numbers = [int(part) for part in (entry, calls, chars, interrupts)]
        checksum = int(mark, 16)
    except ValueError as error:
        raise InvalidAnswer("This Last-Event-ID was not given out here.") from error
    if not run or min(*numbers, checksum) < 0 or ended not in {"a", "z"}:
        raise InvalidAnswer("This Last-Event-ID was not given out here.")
    return Cursor(
        run=RunId(run),
        entry=numbers[0],
        calls=numbers[1],
        chars=numbers[2],
        mark=checksum,
        interrupts=numbers[3],
        ended=ended == "z",
    )


def opened(asked: Sequence[Asked]) -> list[Asked]:
    """Interrupts in the order in which they were opened, which never changes."""
    return sorted(asked, key=lambda each: (each.interrupt.opened_at, _ordinal(each.interrupt.id)))


def _ordinal(name: InterruptId) -> tuple[int, str]:
    # `run-2` before `run-10`, and `run-2e`, which took its place, after it.
    tail = name.rpartition("-")[2]
    digits = tail.rstrip("e")
    return (int(digits) if digits.isdigit() else 0, tail)


def unseen(
    head: Head, entries: Sequence[Entry], asked: Sequence[Asked], cursor: Cursor
) -> Iterator[tuple[StreamEvent | None, Cursor]]:
    """Yield what comes after `cursor`, each with the cursor after it; None moves the cursor silently."""
    questions = [each.interrupt for each in opened(asked)]
    for entry in entries:
        if entry.seq < cursor.entry:
            continue
        if isinstance(entry.item, HumanDecision):
            # A question is always told before its answer.
            upto = _index(questions, entry.item.interrupt_id) + 1
            while cursor.interrupts < upto:
                question = questions[cursor.interrupts]
                cursor = replace(cursor, interrupts=cursor.interrupts + 1)
                yield Asking(interrupt=question), cursor
        for event, after in _of_entry(entry, cursor):
            cursor = after
            yield event, cursor
    while cursor.interrupts < len(questions):
        question = questions[cursor.interrupts]
        cursor = replace(cursor, interrupts=cursor.interrupts + 1)
        yield Asking(interrupt=question), cursor
    if head.state in FINAL and not cursor.ended:
        yield _ended(head, entries), replace(cursor, ended=True)


def _index(questions: Sequence[Interrupt], name: InterruptId) -> int:
    return next((place for place, question in enumerate(questions) if question.id == name), -1)


def _of_entry(entry: Entry, cursor: Cursor) -> Iterator[tuple[StreamEvent | None, Cursor]]:
    done = replace(cursor, entry=entry.seq + 1, calls=0, chars=0, mark=0)
    match entry.item:
        case UserText():
            # The asker knows it. Text that was told already belongs to the turn after it.
            yield None, replace(cursor, entry=entry.seq + 1)
        case ModelTurn() as turn:
            yield from _of_turn(entry.seq, turn, cursor)
            yield None, done
        case ToolResult() as result:
            yield Finished(entry=entry.seq, result=result), done
        case HumanDecision(interrupt_id=name, outcome=outcome):
            yield Decided(interrupt_id=name, outcome=outcome), done
        case DraftEdited(text=text):
            yield Said(entry=entry.seq, text=text, replaces=True), done


def _of_turn(seq: int, turn: ModelTurn, cursor: Cursor) -> Iterator[tuple[StreamEvent | None, Cursor]]:
    if cursor.calls == 0:
        said, cursor = rest_of(turn.text, cursor, entry=seq)
        if said is not None:
            yield said, cursor
    for number, call in enumerate(turn.calls[cursor.calls :], cursor.calls + 1):
        cursor = replace(cursor, entry=seq, calls=number)
        yield Proposed(entry=seq, call=call), cursor


def rest_of(text: str, cursor: Cursor, *, entry: int, trusted: bool = False) -> tuple[Said | None, Cursor]:
    """Return what of `text` was not told yet. `trusted` skips the check that it begins as it was told."""
    same = trusted or (cursor.chars <= len(text) and _mark(text[: cursor.chars]) == cursor.mark)
    fresh = text[cursor.chars :] if same else text
    if not fresh:
        return None, cursor
    mark = _mark(fresh, cursor.mark if same else 0)
    after = replace(cursor, chars=len(text), mark=mark)
    return Said(entry=entry, text=fresh, replaces=not same), after


def _mark(text: str, before: int = 0) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"), before)


def _ended(head: Head, entries: Sequence[Entry]) -> Ended:
    words = (
        entry.item.text for entry in reversed(entries) if isinstance(entry.item, ModelTurn | DraftEdited)
    )
    text = next(words, "") if head.state == "done" else head.ending
    return Ended(state=_final(head.state), text=text)


def _final(state: str) -> Literal["done", "failed", "cancelled", "quarantined"]:
    match state:
        case "done" | "failed" | "cancelled":
            return state
        case _:
            return "quarantined"


def resume_point(
    run: RunId, entries: Sequence[Entry], asked: Sequence[Asked], named: Sequence[InterruptId]
) -> Cursor:
    """Where a run stood when it asked `named`: everything before their first decision was told.

    `entries` are all of the run's own, from the first on.
    """
    names = set(named)
    decided = (
        entry.seq
        for entry in entries
        if isinstance(entry.item, HumanDecision) and entry.item.interrupt_id in names
    )
    entry = next(decided, None)
    if entry is None:
        return Cursor(run=run, entry=len(entries), interrupts=len(asked))
    # Siblings were asked in the same moment; what was asked later is news.
    latest = max(each.interrupt.opened_at for each in asked if each.interrupt.id in names)
    told = sum(each.interrupt.opened_at <= latest for each in asked)
    return Cursor(run=run, entry=entry, interrupts=told)
