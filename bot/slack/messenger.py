"""Where `send_message` writes: other channels and people, as plain words of the bot."""

from bot.domain.errors import Upstream
from bot.slack.views.text import rich, words
from bot.slack.web import SlackFailed, Web

_WHY = {
    "channel_not_found": "there is no such channel, or the bot does not see it",
    "user_not_found": "there is no such person",
    "not_in_channel": "the bot is not in that channel; invite it first",
    "is_archived": "that channel is archived",
}


class CannotSend(Upstream):
    """The message cannot go there; says why."""


class SlackMessenger:
    """`tools.builtin.messages.Messenger`."""

    def __init__(self, web: Web) -> None:
        self._web = web

    async def recipients(self, to: str) -> int:
        try:
            if _is_person(to):
                await self._web.read("users.info", user=to)
                return 1
            told = await self._web.read("conversations.info", channel=to)
            return int(told["channel"].get("num_members") or await self._count(to))
        except SlackFailed as failed:
            raise _cannot(to, failed) from failed

    async def send(self, to: str, text: str, *, key: str) -> str:
        """Post literally. What an attempt without an answer left behind is found again by its key."""
        try:
            channel = to
            if _is_person(to):
                channel = str((await self._web.call("conversations.open", users=to))["channel"]["id"])
            if (known := await self._sent(channel, key)) is not None:
                return known
            posted = await self._web.call(
                "chat.postMessage",
                channel=channel,
                text="A message from Askfirst.",
                blocks=[rich(words(piece)) for piece in _pieces(text)],
                metadata={"event_type": "askfirst_message", "event_payload": {"key": key}},
                parse="none",
                link_names=False,
                unfurl_links=False,
                unfurl_media=False,
            )
            return f"{posted['channel']}/{posted['ts']}"
        except SlackFailed as failed:
            raise _cannot(to, failed) from failed

    async def _count(self, channel: str) -> int:
        total, cursor = 0, None
        while True:
            page = await self._web.read("conversations.members", channel=channel, limit=200, cursor=cursor)
            total += len(page["members"])
            cursor = page.get("response_metadata", {}).get("next_cursor") or None
            if cursor is None:
                return total

    async def _sent(self, channel: str, key: str) -> str | None:
        page = await self._web.read(
            "conversations.history", channel=channel, include_all_metadata=True, limit=20
        )
        for message in page["messages"]:
            if message.get("metadata", {}).get("event_payload", {}).get("key") == key:
                return f"{channel}/{message['ts']}"
        return None


def _is_person(to: str) -> bool:
    return to.startswith(("U", "W"))


def _pieces(text: str) -> list[str]:
    return [text[start : start + 3000] for start in range(0, len(text), 3000)]


def _cannot(to: str, failed: SlackFailed) -> CannotSend:
    return CannotSend(f"{to}: {_WHY.get(failed.code, 'Slack did not take it')}")
