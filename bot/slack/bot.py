"""What every listener works with, and the few things they all do."""

import logging
from dataclasses import dataclass
from typing import Any

from bot.domain.canonical import JsonObject
from bot.domain.ids import UserId
from bot.domain.person import Person
from bot.engine.ports import Clock
from bot.slack.errands import Errands
from bot.slack.people import SlackPeople
from bot.slack.ports import Office
from bot.slack.web import Identity, SlackFailed, Web

logger = logging.getLogger(__name__)

_NOT_THERE = {
    "user_not_in_channel",
    "not_in_channel",
    "channel_not_found",
    "is_archived",
    "channel_type_not_supported",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    office: Office
    web: Web
    people: SlackPeople
    me: Identity
    clock: Clock
    errands: Errands

    async def decider(self, user: UserId) -> Person:
        """Who decides: as Slack says now, since groups change."""
        return await self.people.person_now(user)

    def whisper(self, user: str, where: "Where", message: JsonObject) -> None:
        """Tell one person something, soon."""
        self.errands.start(self._whisper(user, where, message))

    async def _whisper(self, user: str, where: "Where", message: JsonObject) -> None:
        try:
            await self.web.call(
                "chat.postEphemeral",
                channel=where.channel,
                thread_ts=where.thread_ts,
                user=user,
                parse="none",
                link_names=False,
                **message,
            )
        except SlackFailed as failed:
            if failed.code not in _NOT_THERE and where.channel:
                raise
            # They clicked somewhere we cannot whisper, the Home tab for example.
            opened = await self.web.call("conversations.open", users=user)
            await self.web.call(
                "chat.postMessage", channel=opened["channel"]["id"], unfurl_links=False, **message
            )

    def open_modal(self, trigger: str, view: JsonObject) -> None:
        """Open a form: at once, since the trigger holds for three seconds."""
        self.errands.start(self._open(trigger, view))

    async def _open(self, trigger: str, view: JsonObject) -> None:
        await self.web.call("views.open", trigger_id=trigger, view=view)


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where somebody clicked."""

    channel: str
    thread_ts: str | None = None


def where_of(body: JsonObject) -> Where:
    container: dict[str, Any] = body.get("container", {})
    message: dict[str, Any] = body.get("message", {})
    channel = container.get("channel_id") or body.get("channel", {}).get("id", "")
    root = container.get("thread_ts") or message.get("thread_ts")
    return Where(channel=channel, thread_ts=root)


def user_of(body: JsonObject) -> UserId:
    """Who did it: only the id that Slack itself put there counts."""
    return UserId(body["user"]["id"])
