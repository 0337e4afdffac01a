"""The playground never touches the real Slack, and nothing on the network touches the playground."""

import ipaddress
import re
import secrets
from urllib.parse import urlsplit

from bot.playground.errors import Unsafe

_OURS = re.compile(r"x(oxb|app)-playground-[0-9a-z]+")


def new_token(kind: str) -> str:
    return f"{kind}-playground-{secrets.token_hex(12)}"


def require_playground_token(token: str) -> str:
    """Return `token` if it is one of ours.

    Raises:
        Unsafe: it could be a real one, which must never be typed into a toy.
    """
    if not _OURS.fullmatch(token):
        # Only the kind is named: the rest could be a secret.
        kind = token.split("-", maxsplit=1)[0][:5]
        raise Unsafe(f"this {kind!r} token looks real; the playground only takes tokens of its own")
    return token


def require_loopback(url: str) -> str:
    """Return `url` if it stays on this machine.

    Raises:
        Unsafe: it leads elsewhere, for example to slack.com.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "ws") or not is_loopback(parts.hostname or ""):
        raise Unsafe(
            f"{parts.scheme}://{parts.hostname} is not on this machine; the playground stays on loopback"
        )
    return url


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
