"""Slack's stop button, and `/askfirst cancel`."""

from bot.domain.canonical import JsonObject
from bot.domain.errors import BotError, NotAllowed
from bot.domain.ids import UserId
from bot.domain.run import FINAL, Head
from bot.slack.address import Address
from bot.slack.bot import Bot, Where
from bot.slack.views.notices import refusal


async def on_stop(bot: Bot, body: JsonObject) -> None:
    event = body["event"]
    address = Address(team=body.get("team_id", ""), channel=event["channel"], ts=event["thread_ts"])
    user = UserId(event["user"])
    head = await bot.office.store.last_of_thread(address.thread_id)
    if head is None or head.state in FINAL:
        return
    try:
        await stop(bot, head, user)
    except BotError as error:
        bot.whisper(user, Where(channel=address.channel, thread_ts=address.ts), refusal(error))


async def stop(bot: Bot, head: Head, user: UserId) -> None:
    """Stop a run: whoever asked may, and every full member; stopping never does harm.

    Raises:
        NotAllowed, Stale
    """
    if user != head.requester and (await bot.people.person(user)).standing != "member":
        raise NotAllowed("Only members of this workspace can stop a run.")
    await bot.office.runner.cancel(head.run_id, user)
