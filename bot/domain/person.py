"""Who somebody is at the moment they click."""

from dataclasses import dataclass
from typing import Literal

from bot.domain.ids import UserId

Standing = Literal["member", "guest", "stranger", "deactivated", "bot", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person as the front knows them right now; group membership is never remembered for long."""

    id: UserId
    groups: frozenset[str] = frozenset()
    standing: Standing = "member"
