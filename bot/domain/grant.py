"""A remembered, bounded approval: this pattern, here, until then, at most n times; revocable."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from bot.domain.canonical import JsonObject
from bot.domain.ids import GrantId, InterruptId, UserId

GrantPlace = Literal["thread", "channel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    id: GrantId
    tool: str
    #: Constraints in the policy's operator language, all of which must hold: {"path": {"under": "/srv/a"}}.
    constraints: JsonObject
    place: GrantPlace
    #: The thread or channel it holds in.
    where: str
    granted_by: UserId
    granted_at: datetime
    expires_at: datetime
    #: The approval it came from; a grant never starts from anything else.
    interrupt_id: InterruptId
    #: The rules of the ask it answers; it never answers another rule's ask.
    rules: tuple[str, ...]
    #: Void as soon as one of these differs from what is in force.
    policy: str
    tool_fingerprint: str
    max_uses: int
    used: int = 0
    revoked_at: datetime | None = None
