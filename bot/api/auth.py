"""Who is calling: bearer tokens, looked up by their hash."""

import hmac
import secrets
from collections.abc import Iterable
from datetime import datetime

from bot.api.ports import Store
from bot.api.problems import SCOPE_MISSING, UNAUTHENTICATED, ApiError
from bot.domain.errors import ConfigError
from bot.domain.ids import UserId
from bot.domain.token import SCOPES, Scope, Token, hash_of

#: So that secret scanners and people recognise one.
PREFIX = "askf_"


def new_token(
    name: str,
    *,
    person: str,
    scopes: Iterable[str],
    now: datetime,
    groups: Iterable[str] = (),
    channel: str = "api",
) -> tuple[str, Token]:
    """Return a fresh secret, to be shown once, and what is kept of it."""
    wanted = frozenset(scopes)
    if not wanted or not wanted <= set(SCOPES):
        wrong = ", ".join(sorted(wanted - set(SCOPES))) or "none"
        raise ConfigError(f"Scopes are {', '.join(SCOPES)}; not {wrong}.")
    secret = PREFIX + secrets.token_urlsafe(32)
    token = Token(
        name=name,
        hash=hash_of(secret),
        person=UserId(person),
        scopes=frozenset(scope for scope in SCOPES if scope in wanted),
        groups=frozenset(groups),
        channel=channel,
        created_at=now,
    )
    return secret, token


async def authenticate(store: Store, header: str | None) -> Token:
    """Return the token of an `Authorization` header; raise ApiError if it is none of ours.

    The database finds it by its SHA-256, so how long that takes says nothing about the secret; the comparison
    here is in constant time all the same.
    """
    scheme, _, secret = (header or "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip().startswith(PREFIX):
        raise ApiError(
            UNAUTHENTICATED, "Send `Authorization: Bearer <token>`; `askfirst tokens create` makes one."
        )
    wanted = hash_of(secret.strip())
    token = await store.token_by_hash(wanted)
    if token is None or not hmac.compare_digest(token.hash, wanted):
        raise ApiError(UNAUTHENTICATED, "This token is not known here, or it was revoked.")
    return token


def require(token: Token, scope: Scope) -> None:
    if not token.may(scope):
        raise ApiError(SCOPE_MISSING, f"The token {token.name!r} lacks the scope {scope!r}.", scope=scope)
