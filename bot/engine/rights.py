"""Who may answer an interrupt. Pure; asked at click time and again at submit time, never remembered."""

from bot.domain.interrupt import Asked
from bot.domain.person import Person
from bot.domain.verdict import Approvers

_STANDING = {
    "guest": "Guests cannot decide here.",
    "stranger": "People from other organisations cannot decide here.",
    "deactivated": "This account is deactivated.",
    "bot": "Bots cannot decide.",
    "unknown": "I cannot check right now who you are. Try again in a minute.",
}


def objection(person: Person, asked: Asked) -> str:
    """Say why this person may not decide; empty if they may."""
    if person.standing != "member":
        return _STANDING[person.standing]
    interrupt = asked.interrupt
    is_requester = person.id == interrupt.requester
    sets = (interrupt.approvers, *asked.escalated_to)
    if not any(_included(person, approvers, is_requester=is_requester) for approvers in sets):
        return f"Only {names(sets)} can decide this. I have not counted your click."
    if is_requester and not any(approvers.requester_may_approve for approvers in sets):
        return "You asked for this yourself; someone else has to approve it."
    return ""


def _included(person: Person, approvers: Approvers, *, is_requester: bool) -> bool:
    if is_requester and approvers.requester:
        return True
    return person.id in approvers.users or bool(person.groups.intersection(approvers.groups))


def names(sets: tuple[Approvers, ...]) -> str:
    """Name the approvers for people, as the policy calls them."""
    known = [approvers.label or ", ".join((*approvers.users, *approvers.groups)) for approvers in sets]
    return " or ".join(name for name in known if name) or "nobody"
