"""The exact arguments: short on the card, whole in a review. What cannot be shown whole cannot be approved here."""

from typing import Literal, TypeAlias

from bot.domain.interrupt import Interrupt
from bot.domain.literal import shortened, visible
from bot.domain.tool import Planned
from bot.slack.views.text import Block, in_pieces, literal, rich, value_text, words

#: On the card: one value, all of them, and the tool's own detail (a diff).
VALUE = 600
VALUES = 3000
DETAIL = 2000
#: In a review: Slack takes 100 blocks and 250 kB; some are ours.
REVIEW_BLOCKS = 80
REVIEW_TEXT = 150_000

#: card: nothing is left out there · review: it has to be opened to be seen · nowhere: it is too much for Slack.
Fits: TypeAlias = Literal["card", "review", "nowhere"]


def fits(interrupt: Interrupt, *, hidden: bool) -> Fits:
    """Where everything a person has to see can be seen. `hidden`: the card must not show arguments at all."""
    lines = [_line(name, value) for name, value in _args(interrupt)]
    short = all(len(line) <= VALUE for line in lines) and sum(map(len, lines)) <= VALUES
    if not hidden and short and len(_detail(interrupt)) <= DETAIL and not _long_subject(interrupt):
        return "card"
    blocks = whole(interrupt)
    size = sum(len(line) for line in lines) + len(_detail(interrupt))
    return "review" if len(blocks) <= REVIEW_BLOCKS and size <= REVIEW_TEXT else "nowhere"


def brief(planned: Planned) -> Block | None:
    """The arguments one a line, each shortened by itself: one value never pushes another out of sight."""
    width = max((len(name) for name in planned.args), default=0)
    lines = [
        f"{visible(name):<{width}}  {shortened(value_text(value), VALUE)}"
        for name, value in planned.args.items()
    ]
    room = max(VALUES // max(len(lines), 1), 40)
    if sum(map(len, lines)) > VALUES:
        lines = [shortened(line, room) for line in lines[: VALUES // 40]]
    return literal("\n".join(lines)) if lines else None


def whole(interrupt: Interrupt) -> list[Block]:
    """Everything, without leaving out a character."""
    blocks: list[Block] = []
    for name, value in _args(interrupt):
        pieces = in_pieces(value_text(value))
        blocks.append(rich(words(visible(name), bold=True)))
        blocks += [literal(piece) for piece in pieces]
    if detail := _detail(interrupt):
        blocks.append(rich(words("What it would change", bold=True)))
        blocks += [literal(piece) for piece in in_pieces(detail)]
    return blocks


def changed(before: Planned, after: Planned) -> list[str]:
    """What an edit or an option changes, a line each."""
    lines = [] if before.tool == after.tool else [f"tool  {visible(before.tool)} → {visible(after.tool)}"]
    for name in dict.fromkeys((*before.args, *after.args)):
        old, new = before.args.get(name, _ABSENT), after.args.get(name, _ABSENT)
        if old != new:
            lines.append(f"{visible(name)}  {_shown(old)} → {_shown(new)}")
    return lines


_ABSENT = object()


def _shown(value: object) -> str:
    return "(none)" if value is _ABSENT else shortened(value_text(value), 200)


def _args(interrupt: Interrupt) -> list[tuple[str, object]]:
    if interrupt.shown is not None:
        return list(interrupt.shown.args.items())
    subject = interrupt.subject or {}
    shown: list[tuple[str, object]] = [("draft", subject["text"])] if subject.get("text") else []
    return shown + [(f"{call['tool']} ({call['id']})", call["args"]) for call in subject.get("calls", [])]


def _long_subject(interrupt: Interrupt) -> bool:
    return interrupt.planned is None and sum(len(value_text(v)) for _, v in _args(interrupt)) > VALUES


def _line(name: str, value: object) -> str:
    return f"{name}  {value_text(value)}"


def _detail(interrupt: Interrupt) -> str:
    return visible(interrupt.impact.detail) if interrupt.impact else ""
