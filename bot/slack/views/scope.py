"""What a request was understood to mean before any work, and the limits a person confirmed. Pure."""

from typing import Any

from bot.domain.canonical import JsonObject
from bot.domain.interrupt import Interrupt
from bot.domain.literal import shortened, visible
from bot.domain.run import Head
from bot.slack.views import names
from bot.slack.views.text import Block, bullets, button, note, person, rich, section, when, words

_LABELS = (("understood", "I understood: "), ("touches", "It touches: "), ("assumptions", "Assuming: "))


def understood(interrupt: Interrupt) -> list[Block]:
    """What a clarification says: what was understood, and the questions with what is suggested."""
    subject = interrupt.subject or {}
    if interrupt.kind != "clarification":
        return []
    blocks: list[Block] = []
    for key, label in _LABELS:
        if said := subject.get(key):
            text = said if isinstance(said, str) else ", ".join(map(str, said))
            blocks.append(rich(words(label, bold=True), words(shortened(visible(text), 1000))))
    asked: list[JsonObject] = subject.get("fields", [])[:10]
    if asked:
        blocks.append(bullets(_question(field) for field in asked))
    return blocks


def _question(field: JsonObject) -> list[JsonObject]:
    default: Any = field.get("default")
    suggested = (
        [words(f"  {shortened(visible(str(default)), 200)}", bold=True)] if default is not None else []
    )
    return [words(shortened(visible(str(field.get("question", ""))), 300)), *suggested]


def contract(head: Head, *, shared: bool = False) -> JsonObject | None:
    """Say what holds until when; others who read along in a shared channel see only that there is a limit."""
    scope = head.scope
    if scope is None:
        return None
    confirmed = f"Scope confirmed by {person(scope.confirmed_by)} · until {when(scope.expires_at)}"
    limits = "Within confirmed limits." if shared else f"Within these limits: {scope.summary}."
    change = button("Change scope…", names.RESCOPE, head.run_id)
    return {"text": confirmed, "blocks": [section(limits, change), note(confirmed)]}
