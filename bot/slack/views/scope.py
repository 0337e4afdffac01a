"""What a clarification says before any work: what was understood, what it would touch, what is assumed. Pure."""

from bot.domain.interrupt import Interrupt
from bot.domain.literal import shortened, visible
from bot.slack.views.text import Block, bullets, rich, words

_LABELS = (("touches", "It would touch"), ("assumptions", "I assume"))


def understood(interrupt: Interrupt) -> list[Block]:
    subject = interrupt.subject or {}
    if interrupt.kind != "clarification":
        return []
    blocks: list[Block] = []
    if subject.get("understood"):
        text = shortened(visible(str(subject["understood"])), 1000)
        blocks.append(rich(words("I understood: ", bold=True), words(text)))
    for key, label in _LABELS:
        listed = [shortened(visible(str(each)), 300) for each in subject.get(key, [])[:10]]
        if listed:
            blocks.append(rich(words(f"{label}: ", bold=True), words("; ".join(listed))))
    questions = subject.get("fields", [])[:10]
    if questions:
        blocks.append(bullets([words(str(field.get("question", "")))] for field in questions))
    return blocks
