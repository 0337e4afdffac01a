"""A bearer token of the HTTP API: who holds it and what it may be used for. The secret itself is never kept."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from bot.domain.ids import UserId
from bot.domain.person import Person

#: ask: start runs and talk to them · decide: answer interrupts · read: look at every run · admin: change runs.
Scope = Literal["ask", "decide", "read", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What is stored: a name for people, the hash of the secret, and whom it stands for."""

    name: str
    #: SHA-256 of the secret; 32 random bytes need no salt and no slow hash.
    hash: str
    person: UserId
    scopes: frozenset[Scope]
    #: Groups the person is in, as the policy calls them.
    groups: frozenset[str] = frozenset()
    #: Policies are chosen by it, as by a Slack channel.
    channel: str = "api"
    created_at: datetime
    revoked_at: datetime | None = None

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes

    @property
    def holder(self) -> Person:
        return Person(id=self.person, groups=self.groups)


def hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
