"""Who somebody is right now, as Slack says: looked up at the click, remembered for a minute, never guessed."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.domain.canonical import JsonObject
from bot.domain.ids import UserId
from bot.domain.person import Person, Standing
from bot.slack.web import SlackFailed, Web

#: How long an answer of Slack is believed.
FRESH_SECONDS = 60.0
#: A decision wants a newer answer than that, but not more often than this: usergroups.list allows 20 a minute.
REFRESH_SECONDS = 4.0
#: A person waits for the answer to their click.
PATIENCE_SECONDS = 2.0


@dataclass(slots=True)
class _Known:
    value: Standing
    at: float


@dataclass(slots=True)
class _Groups:
    members: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    at: float = float("-inf")


class SlackPeople:
    """`engine.ports.People` from users.info and usergroups.list. If Slack cannot say, nobody is anybody."""

    def __init__(self, web: Web, team: str, now: Callable[[], float] = time.monotonic) -> None:
        self._web = web
        self._team = team
        self._now = now
        self._standing: dict[str, _Known] = {}
        self._groups = _Groups()
        #: Many clicks at once make one question to Slack.
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def person(self, user: UserId) -> Person:
        return await self._person(user, FRESH_SECONDS)

    async def person_now(self, user: UserId) -> Person:
        """Ask Slack anew: somebody may have joined or left a group a moment ago.

        If Slack cannot say now, what it said within the last minute counts; else nobody is anybody.
        """
        fresh = await self._person(user, REFRESH_SECONDS)
        return fresh if fresh.standing != "unknown" else await self._person(user, FRESH_SECONDS)

    async def _person(self, user: UserId, age: float) -> Person:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                groups, standing = await asyncio.gather(
                    self._groups_of(user, age), self._standing_of(user, age)
                )
        except (SlackFailed, TimeoutError):
            return Person(id=user, standing="unknown")
        return Person(id=user, groups=groups, standing=standing)

    async def _standing_of(self, user: UserId, age: float) -> Standing:
        async with self._asking[user]:
            known = self._standing.get(user)
            if known is None or self._now() - known.at > age:
                told = await self._web.read("users.info", user=user)
                known = _Known(standing(told["user"], self._team), self._now())
                self._standing[user] = known
            return known.value

    async def _groups_of(self, user: UserId, age: float) -> frozenset[str]:
        async with self._asking[""]:
            if self._now() - self._groups.at > age:
                told = await self._web.read("usergroups.list", include_users=True)
                members = {group["id"]: frozenset(group.get("users", ())) for group in told["usergroups"]}
                self._groups = _Groups(members, self._now())
        return frozenset(name for name, users in self._groups.members.items() if user in users)


def standing(user: JsonObject, team: str) -> Standing:
    """Read what Slack says of a user; whatever is not clearly a full member is less."""
    if user.get("deleted"):
        return "deactivated"
    if user.get("is_bot") or user.get("id") == "USLACKBOT":
        return "bot"
    if user.get("is_stranger") or user.get("team_id") != team:
        return "stranger"
    if user.get("is_restricted") or user.get("is_ultra_restricted"):
        return "guest"
    return "unknown" if user.get("is_email_confirmed") is False else "member"


class Channels:
    """Whether others read along in a channel. If Slack cannot say, they do."""

    def __init__(self, web: Web, now: Callable[[], float] = time.monotonic) -> None:
        self._web = web
        self._now = now
        self._shared: dict[str, tuple[bool, float]] = {}

    async def is_shared(self, channel: str) -> bool:
        known = self._shared.get(channel)
        if known is not None and self._now() - known[1] < FRESH_SECONDS * 5:
            return known[0]
        try:
            told = (await self._web.read("conversations.info", channel=channel))["channel"]
        except SlackFailed:
            return True
        shared = bool(told.get("is_ext_shared") or told.get("is_pending_ext_shared"))
        self._shared[channel] = (shared, self._now())
        return shared
