"""What a workspace consists of: people, places, messages, views. State and look-ups only, no rules and no IO.

Who may change it and what that sets off is in `timeline.py` (messages) and `methods/` (the Web API).
"""

import itertools
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from bot.playground.errors import SlackError
from bot.playground.shapes import Json

TEAM = "T0PLAYGROUND"
PARTNER_TEAM = "T0PARTNER"
BOT_USER = "U0ASKFIRST"
BOT_ID = "B0ASKFIRST"
APP_ID = "A0ASKFIRST"

#: An indicator set by `assistant.threads.setStatus` goes away by itself after two minutes.
STATUS_SECONDS = 120.0
#: Streams die after about five minutes, even while being appended to.
STREAM_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    id: str
    name: str
    real_name: str
    team: str = TEAM
    is_bot: bool = False
    deleted: bool = False
    is_restricted: bool = False
    is_ultra_restricted: bool = False
    is_stranger: bool = False


Kind = Literal["public", "private", "im"]


@dataclass(slots=True, kw_only=True)
class Channel:
    id: str
    name: str
    kind: Kind = "public"
    members: set[str] = field(default_factory=set[str])
    is_archived: bool = False
    is_ext_shared: bool = False
    #: The other side of a direct message.
    user: str | None = None


@dataclass(slots=True, kw_only=True)
class Usergroup:
    id: str
    handle: str
    name: str
    users: list[str]
    disabled: bool = False


@dataclass(slots=True, kw_only=True)
class Stream:
    started_at: float
    stopped: Literal["app", "user"] | None = None
    text: str = ""
    tasks: dict[str, Json] = field(default_factory=dict[str, Json])
    blocks: list[Json] = field(default_factory=list[Json])

    def is_open(self, now: float) -> bool:
        return self.stopped is None and now - self.started_at < STREAM_SECONDS


@dataclass(slots=True, kw_only=True)
class Message:
    channel: str
    ts: str
    user: str
    text: str = ""
    thread_ts: str | None = None
    blocks: list[Json] = field(default_factory=list[Json])
    attachments: list[Json] = field(default_factory=list[Json])
    metadata: Json | None = None
    files: list[Json] = field(default_factory=list[Json])
    reactions: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    client_msg_id: str | None = None
    edited_by: str | None = None
    edited_ts: str | None = None
    by_bot: bool = False
    #: Only this user sees it, only until a reload, and only a response URL can change it.
    ephemeral_to: str | None = None
    stream: Stream | None = None
    deleted: bool = False

    @property
    def root(self) -> str:
        return self.thread_ts or self.ts


@dataclass(slots=True, kw_only=True)
class View:
    id: str
    type: Literal["modal", "home"]
    user: str
    body: Json
    hash: str
    root: str
    previous: str | None = None
    #: What the app answered with `response_action: errors`: block id → text under the input.
    errors: dict[str, str] = field(default_factory=dict[str, str])
    #: Shown by the client when the app did not answer a submission, or answered nonsense.
    trouble: str | None = None
    closed: bool = False


@dataclass(slots=True, kw_only=True)
class Trigger:
    user: str
    expires_at: float
    used: bool = False
    #: The modal it was issued in, if any: only then may a view be pushed.
    view: str | None = None


@dataclass(slots=True, kw_only=True)
class ResponseUrl:
    channel: str
    user: str
    expires_at: float
    uses: int = 0
    #: The message whose button issued it; none for slash commands.
    message_ts: str | None = None
    thread_ts: str | None = None


@dataclass(slots=True, kw_only=True)
class Session:
    status: str
    title: str | None = None
    initiator: str | None = None


@dataclass(slots=True, kw_only=True)
class File:
    id: str
    name: str
    length: int
    title: str | None = None
    content: bytes | None = None
    completed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """An event before it is known whether the app subscribed to it."""

    subscription: str
    event: Json
    channel: Channel | None = None


def _ignore_change(_kind: str, _data: Json) -> None:
    pass


def _ignore_event(_happened: Happened) -> None:
    pass


class World:
    """All state of one workspace. `changed` and `happened` tell whoever listens."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.changed: Callable[[str, Json], None] = _ignore_change
        self.happened: Callable[[Happened], None] = _ignore_event
        self._numbers = itertools.count(1)
        self._last_ts = 0
        self.reset()

    def reset(self) -> None:
        """Forget everything but who listens and which ids were given out."""
        self.users: dict[str, User] = {}
        self.channels: dict[str, Channel] = {}
        self.usergroups: dict[str, Usergroup] = {}
        self.messages: dict[str, dict[str, Message]] = {}
        self.ephemerals: dict[tuple[str, str], Message] = {}
        self.threads: dict[tuple[str, str], list[str]] = {}
        self.views: dict[str, View] = {}
        self.external_ids: dict[str, str] = {}
        self.modals: dict[str, list[View]] = {}
        self.homes: dict[str, View] = {}
        self.triggers: dict[str, Trigger] = {}
        self.response_urls: dict[str, ResponseUrl] = {}
        self.sessions: dict[tuple[str, str], Session] = {}
        self.statuses: dict[tuple[str, str], tuple[str, float]] = {}
        self.prompts: dict[tuple[str, str | None], list[Json]] = {}
        self.titles: dict[tuple[str, str], str] = {}
        self.files: dict[str, File] = {}
        #: What each person has typed or picked: (user, container) → block id → action id → state.
        self.inputs: dict[tuple[str, str], dict[str, dict[str, Json]]] = {}

    # Public ids are counted, so that two runs of a test read the same; what grants something is random.

    def next_id(self, prefix: str) -> str:
        return f"{prefix}{next(self._numbers):08d}"

    def next_secret(self, prefix: str) -> str:
        return f"{prefix}{secrets.token_hex(12)}"

    def next_ts(self) -> str:
        """Return a new message id: Slack's are timestamps, unique and increasing, also on a stopped clock."""
        self._last_ts = max(self._last_ts + 1, int(self.now() * 1_000_000))
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    # Look-ups that answer as the Web API does.

    def user(self, user_id: str) -> User:
        if user_id not in self.users:
            raise SlackError("user_not_found")
        return self.users[user_id]

    def channel(self, channel_id: str) -> Channel:
        """Find by id or `#name`. A private channel or a DM without the bot does not exist for it."""
        found = self.channels.get(channel_id) or next(
            (c for c in self.channels.values() if f"#{c.name}" == channel_id), None
        )
        if found is None or (found.kind != "public" and BOT_USER not in found.members):
            raise SlackError("channel_not_found")
        return found

    def message(self, channel_id: str, ts: str) -> Message:
        found = self.messages.get(channel_id, {}).get(ts)
        if found is None or found.deleted:
            raise SlackError("message_not_found")
        return found

    def thread(self, channel_id: str, root_ts: str) -> Iterator[Message]:
        """Yield the root, if it still exists, and its replies, oldest first."""
        everything = self.messages.get(channel_id, {})
        for ts in (root_ts, *self.threads.get((channel_id, root_ts), ())):
            if ts in everything and not everything[ts].deleted:
                yield everything[ts]

    def direct_message(self, user_id: str) -> Channel:
        channel_id = f"D{user_id[1:]}"
        if channel_id not in self.channels:
            self.channels[channel_id] = Channel(
                id=channel_id, name=channel_id.lower(), kind="im", members={BOT_USER, user_id}, user=user_id
            )
        return self.channels[channel_id]

    def status(self, channel_id: str, thread_ts: str) -> str:
        """Return the "… is thinking" line under a thread, gone two minutes after it was set."""
        text, since = self.statuses.get((channel_id, thread_ts), ("", 0.0))
        return text if self.now() - since < STATUS_SECONDS else ""
