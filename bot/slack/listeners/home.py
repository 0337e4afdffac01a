"""The Home tab, published whenever somebody opens it."""

from bot.domain.canonical import JsonObject
from bot.domain.decision import Decided
from bot.domain.ids import UserId
from bot.domain.interrupt import Asked
from bot.engine.rights import objection
from bot.slack.address import FRONT
from bot.slack.bot import Bot
from bot.slack.views.home import Home, home


async def on_home(bot: Bot, body: JsonObject) -> None:
    event = body["event"]
    if event.get("tab", "home") == "home":
        bot.errands.start(publish(bot, UserId(event["user"])))


async def publish(bot: Bot, user: UserId) -> None:
    await bot.web.call("views.publish", user_id=user, view=home(await gathered(bot, user)))


async def waiting_for(bot: Bot, user: UserId) -> list[Asked]:
    """What this person may decide right now, in Slack's threads."""
    person = await bot.people.person(user)
    return [
        asked
        for asked in await bot.office.store.open_interrupts()
        if asked.interrupt.thread_id.startswith(f"{FRONT}/") and not objection(person, asked)
    ]


async def gathered(bot: Bot, user: UserId) -> Home:
    store = bot.office.store
    waiting = await waiting_for(bot, user)
    refs: dict[str, str] = {}
    for run_id in dict.fromkeys(asked.interrupt.run_id for asked in waiting[:10]):
        refs |= await store.card_refs(FRONT, run_id)
    decided = [asked for asked in await store.recently_settled(limit=50) if _concerns(asked, user)]
    grants = [grant for grant in await store.grants(bot.clock()) if grant.granted_by == user]
    return Home(
        waiting=waiting,
        mine=await store.runs_of(user),
        decided=decided,
        grants=grants,
        refs=refs,
        workspace_url=bot.me.url,
    )


def _concerns(asked: Asked, user: UserId) -> bool:
    """A decision of theirs, or about what they asked for."""
    outcome = asked.outcome
    by = outcome.decision.by if isinstance(outcome, Decided) else None
    return user in (asked.interrupt.requester, by)
