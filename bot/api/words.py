"""A plain `answer` as a decision. Only an explicit yes is an approval; what is unclear is nothing. Pure."""

import json
import re

from bot.domain.decision import Answer, Approve, Choose, Reject, Respond
from bot.domain.errors import InvalidAnswer
from bot.domain.interrupt import Interrupt, Option

_YES = frozenset({"yes", "approve", "approved", "true"})
_NO = re.compile(
    r"(?:no|nope|reject|rejected|deny|denied|decline|false)\b[\s,.:;!–—-]*(.*)", re.IGNORECASE | re.DOTALL
)


def read_answer(interrupt: Interrupt, text: str) -> Answer:
    """Return what `text` means for `interrupt`.

    Raises:
        InvalidAnswer: it can be read in no way or in more than one; nothing was consumed.
    """
    if option := _option(interrupt, text):
        return Choose(option=option.id)
    if "approve" in interrupt.verbs:
        return _yes_or_no(text)
    if "respond" in interrupt.verbs:
        return Respond(data=_data(interrupt, text))
    offered = ", ".join(option.id for option in interrupt.options)
    raise InvalidAnswer(f"Answer with one of: {offered}.")


def _yes_or_no(text: str) -> Answer:
    if text.strip().rstrip(".!").lower() in _YES:
        return Approve()
    if no := _NO.fullmatch(text.strip()):
        return Reject(reason=no.group(1).strip()[:3000])
    raise InvalidAnswer(
        "Answer “yes”, or “no” with a reason, or an option. This was neither, so nothing was decided."
    )


def _option(interrupt: Interrupt, text: str) -> Option | None:
    wanted = text.strip().lower()
    if not wanted or "choose" not in interrupt.verbs:
        return None
    found = [option for option in interrupt.options if wanted in {option.id.lower(), option.label.lower()}]
    return found[0] if len(found) == 1 else None


def _data(interrupt: Interrupt, text: str) -> object:
    if interrupt.response_schema is None:
        return text
    try:
        return json.loads(text)
    except ValueError:
        # A form of a single text field may be answered by the text itself; the schema decides.
        return text
