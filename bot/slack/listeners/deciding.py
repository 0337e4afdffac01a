"""The one way from a click or a form to a decision: looked up, compared with what was shown, authorised, recorded."""

from bot.domain.audit import AuditFact
from bot.domain.decision import Answer
from bot.domain.errors import CheckpointNotFound, InvalidAnswer, NotAllowed
from bot.domain.ids import UserId
from bot.domain.interrupt import Asked
from bot.engine.approvals import Counted, too_late
from bot.engine.rights import objection
from bot.slack.address import Shown, shown
from bot.slack.bot import Bot
from bot.slack.views.notices import CHANGED


async def looked_up(bot: Bot, about: Shown) -> Asked:
    """Return the interrupt somebody sees.

    Raises:
        CheckpointNotFound: nobody knows it.
        InvalidAnswer: what they see is not what there is.
    """
    asked = await bot.office.store.asked(about.interrupt)
    if asked is None:
        raise CheckpointNotFound(about.interrupt)
    if shown(asked.interrupt).digest != about.digest:
        raise InvalidAnswer(CHANGED)
    return asked


async def decide(bot: Bot, about: Shown, answer: Answer, user: UserId) -> Counted:
    """Record an answer.

    Raises:
        Refused, Stale: why it does not count, for the person to read.
    """
    await looked_up(bot, about)
    person = await bot.decider(user)
    return await bot.office.runner.decide(about.interrupt, answer, person, via="slack")


async def may_open(bot: Bot, about: Shown, user: UserId) -> Asked:
    """Return an open interrupt for somebody who may decide it: a form they cannot use is not shown to them.

    Raises:
        Refused, Stale
    """
    asked = await looked_up(bot, about)
    if asked.outcome is not None:
        raise too_late(asked)
    if problem := objection(await bot.decider(user), asked):
        # Recorded like every click that does not count.
        body = {"id": about.interrupt, "by": user, "why": problem}
        fact = AuditFact(kind="click_refused", at=bot.clock(), run_id=asked.interrupt.run_id, body=body)
        await bot.office.store.record([fact])
        raise NotAllowed(problem)
    return asked


async def may_look(bot: Bot, about: Shown, user: UserId) -> Asked:
    """Return an interrupt for somebody of the workspace: strangers and guests do not see arguments.

    Raises:
        NotAllowed, Stale, InvalidAnswer
    """
    asked = await looked_up(bot, about)
    person = await bot.people.person(user)
    if person.standing != "member" and user != asked.interrupt.requester:
        raise NotAllowed("Only members of this workspace can look at this.")
    return asked
