"""Names of people and groups inside rich text and in lines of our own. Pure."""

from bot.domain.canonical import JsonObject
from bot.domain.ids import UserId
from bot.domain.interrupt import Asked
from bot.domain.verdict import Approvers
from bot.slack.views.text import escaped, group, person


def who(user: str) -> JsonObject:
    return {"type": "user", "user_id": user}


def deciders(asked: Asked) -> str:
    """Say who may decide, as mentions: they are the ones to be told."""
    interrupt = asked.interrupt
    sets = (interrupt.approvers, *asked.escalated_to)
    return " or ".join(_one(approvers, interrupt.requester) for approvers in sets) or "nobody"


def _one(approvers: Approvers, requester: UserId) -> str:
    mentions = [*(group(name) for name in approvers.groups), *(person(user) for user in approvers.users)]
    if approvers.requester and person(requester) not in mentions:
        mentions.append(person(requester))
    named = " or ".join(mentions) or escaped(approvers.label) or "nobody"
    for others in approvers.all_of:
        named += f", and {_one(others, requester)}"
    return named
