"""Who may answer an interrupt. Pure; asked at click time and again at submit time, never remembered."""

from dataclasses import replace

from bot.domain.interrupt import Asked
from bot.domain.person import Person
from bot.domain.verdict import Approvers
from bot.policy.binding import admits

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
    sets = (interrupt.approvers, *asked.escalated_to)
    if any(admits(approvers, person, interrupt.requester) for approvers in sets):
        return ""
    generous = (replace(approvers, requester_may_approve=True) for approvers in sets)
    if person.id == interrupt.requester and any(
        admits(each, person, interrupt.requester) for each in generous
    ):
        return "You asked for this yourself; someone else has to approve it."
    return f"Only {names(sets)} can decide this. I have not counted your click."


def names(sets: tuple[Approvers, ...]) -> str:
    """Name the approvers for people, as the policy calls them."""
    known = [approvers.label or ", ".join((*approvers.users, *approvers.groups)) for approvers in sets]
    return " or ".join(name for name in known if name) or "nobody"
