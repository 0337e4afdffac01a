"""How a run ended: the agent's answer, or why there is none.

The answer is the one place where the agent's Markdown is rendered. What could reach out of it is taken away first: tags
that mention people or hide a link's address, and images. Buttons cannot be written in it.
"""

import re

from bot.domain.canonical import JsonObject
from bot.domain.literal import shortened, visible
from bot.domain.run import Head
from bot.slack.views.people import who
from bot.slack.views.text import MARKDOWN, Block, note, person, rich, words

_LINK = re.compile(r"!?\[([^\]\n]{0,300})\]\(\s*([^)\s]{1,2000})[^)\n]{0,300}\)")
_STOPPED_BY = re.compile(r"(Cancelled by )([UW][A-Z0-9]{5,})\b(.*)", re.DOTALL)
_REFERENCE = re.compile(r"^(\s{0,3})\[([^\]\n]+)\]:\s*(\S+).*$", re.MULTILINE)


def safe_markdown(text: str) -> str:
    """Return the agent's Markdown without mentions, hidden links and images; every address is readable."""
    shown = visible(text)
    shown = _LINK.sub(lambda found: f"{found[1]} ({found[2]})", shown)
    shown = _REFERENCE.sub(lambda found: f"{found[1]}{found[2]}: {found[3]}", shown)
    return shown.replace("<", "&lt;").replace(">", "&gt;")


def is_cut(text: str) -> bool:
    """Whether the message shows less than the whole answer, so that a file should."""
    return len(safe_markdown(text)) > MARKDOWN


def answer(head: Head, text: str) -> JsonObject:
    """Return the message a run ends with."""
    if head.state == "done":
        more = [note("The whole answer is in the file below.")] if is_cut(text) else []
        return {"text": "Done.", "blocks": [*_markdown(text), *more, _trace(head)]}
    mark, word = {"failed": ("✖", "Failed"), "cancelled": ("■", "Stopped")}.get(
        head.state, ("✖", "Set aside")
    )
    pieces = [words(f"{mark} "), words(word, bold=True), words(": "), *_ending(head.ending or "see the log")]
    return {"text": f"{word}.", "blocks": [rich(*pieces), _trace(head)]}


def _ending(text: str) -> list[JsonObject]:
    """Why it ended. Who stopped it is named; whatever else stands there is literal."""
    by = _STOPPED_BY.match(text)
    return [words(by[1]), who(by[2]), words(by[3])] if by else [words(text)]


def streamed(text: str) -> list[Block]:
    """The answer so far, while it grows by updates."""
    return [*_markdown(text), note("still writing …")]


def _markdown(text: str) -> list[Block]:
    # Cut before it is made safe, so that the cut cannot split what makes it safe.
    safe = safe_markdown(text)
    if len(safe) > MARKDOWN:
        safe = shortened(safe, MARKDOWN)
    return (
        [{"type": "markdown", "text": safe}]
        if safe.strip()
        else [rich(words("Done; the agent had nothing to say."))]
    )


def _trace(head: Head) -> Block:
    return note(f"for {person(head.requester)} · run {head.run_id}")
