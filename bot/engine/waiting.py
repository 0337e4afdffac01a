"""What waits for people, for the daily digest and for `pending`: the same list, per channel or person. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeVar

from bot.domain.ids import RunId, ThreadId
from bot.domain.interrupt import Asked
from bot.domain.person import Person
from bot.domain.run import Thread
from bot.engine import notices
from bot.engine.notices import Digest
from bot.engine.ports import Post
from bot.engine.rights import objection

#: A list for people, not a dump.
MOST_ITEMS = 20

T = TypeVar("T")
Audience = Literal["channel", "person", "both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    asked: Asked
    #: The front that keeps its card; empty where nothing is kept.
    front: str = ""


def in_channel(waiting: Iterable[Waiting], channel: str, *, at: datetime, day: str = "") -> Digest:
    """What waits in one channel."""
    return _digest("channel", [each for each in waiting if each.asked.interrupt.channel == channel], at, day)


def for_person(waiting: Iterable[Waiting], person: Person, *, at: datetime, day: str = "") -> Digest:
    """What this person can decide now, by the very rule that is applied to their click."""
    return _digest("person", [each for each in waiting if not objection(person, each.asked)], at, day)


def digest_posts(
    waiting: Sequence[Waiting], audience: Audience, *, at: datetime, day: str
) -> tuple[Post, ...]:
    """One post for each channel in which something waits, or each person who is named as an approver.

    Members of user groups get theirs with the channel's: only the front knows who they are.
    """
    kept = [each for each in waiting if each.front]
    posts: list[Post] = []
    if audience != "person":
        for front, channel in _unique((each.front, each.asked.interrupt.channel) for each in kept):
            mine = [each for each in kept if each.front == front]
            posts.append(_post(front, channel, in_channel(mine, channel, at=at, day=day)))
    if audience != "channel":
        for front, user in _unique((each.front, user) for each in kept for user in _named(each.asked)):
            mine = [each for each in kept if each.front == front and user in _named(each.asked)]
            posts.append(_post(front, user, _digest("person", mine, at, day)))
    return tuple(posts)


def _named(asked: Asked) -> tuple[str, ...]:
    return tuple(_unique(user for named in notices.deciders(asked) for user in named.users))


def _unique(values: Iterable[T]) -> list[T]:
    return [value for value in dict.fromkeys(values) if value]


def _post(front: str, subject: str, digest: Digest) -> Post:
    # It is about no run; the subject says where it goes.
    where = Thread(id=ThreadId(subject), front=front, channel=subject, keeps_messages=True)
    key = f"digest/{digest.audience}/{subject}/{digest.day}"
    body = notices.body(digest)
    return Post(key=key, thread=where, run_id=RunId(""), kind="digest", subject=subject, body=body)


def _digest(audience: str, waiting: Sequence[Waiting], at: datetime, day: str) -> Digest:
    items = tuple(notices.about(each.asked) for each in waiting[:MOST_ITEMS])
    return Digest(
        audience=audience, day=day or f"{at:%Y-%m-%d}", at=notices.iso(at), items=items, total=len(waiting)
    )
