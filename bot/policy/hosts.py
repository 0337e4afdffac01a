"""URLs and hosts: compared on label boundaries, addresses recognised in any notation."""

import ipaddress
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from bot.policy.outcome import Unclear

#: What different URL parsers read differently. Such a URL has no certain host.
_DISPUTED = re.compile(r"[\x00-\x20\x7f\\]|[^\x00-\x7f]")
_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
_PRIVATE_NAMES = (
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "lan",
    "home",
    "corp",
    "private",
    "ip6-localhost",
    "ip6-loopback",
    "home.arpa",
    "cluster.local",
    "svc",
    "localtest.me",
    "lvh.me",
)
#: Public names that resolve to the address written in them.
_MIRRORS = re.compile(
    r"(?:.*[.-])?((?:\d{1,3}[.-]){3}\d{1,3})\.(?:nip\.io|sslip\.io|xip\.io|traefik\.me|localtest\.me)"
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    scheme: str
    host: str
    port: int | None
    userinfo: bool


def parse(text: object) -> Url:
    """Return the parts of `text`; raise `Unclear` where parsers would disagree."""
    if not isinstance(text, str):
        raise Unclear("the URL is not text")
    try:
        parts = urlsplit(text.strip(" "))
        port = parts.port
    except ValueError as error:
        raise Unclear("the URL cannot be read") from error
    authority = parts.netloc
    host = (parts.hostname or "").rstrip(".").lower()
    if _DISPUTED.search(text) or authority.count("@") > 1 or "%" in authority.rpartition("@")[2]:
        # The scheme and the user info are still certain enough to refuse by; the host is not.
        host = "\x00"
    scheme = parts.scheme.lower()
    return Url(scheme=scheme, host=host, port=port or _DEFAULT_PORTS.get(scheme), userinfo="@" in authority)


def certain_host(url: Url) -> str:
    if not url.host or "\x00" in url.host:
        raise Unclear("the host of the URL is not certain")
    return url.host


def host_matcher(patterns: Iterable[str]) -> Callable[[Url], bool]:
    """Compile host names: `*.example.com` is any below it, a port other than the scheme's must be named."""
    wanted = [_pattern(pattern) for pattern in patterns]

    def matches(url: Url) -> bool:
        host = certain_host(url)
        return any(
            _named(host, name) and url.port == (port or _DEFAULT_PORTS.get(url.scheme))
            for name, port in wanted
        )

    return matches


def _pattern(pattern: str) -> tuple[str, int | None]:
    name, colon, port = pattern.rpartition(":")
    if colon and port.isdigit() and not name.endswith(":"):
        return name.lower().rstrip("."), int(port)
    return pattern.lower().rstrip("."), None


def _named(host: str, name: str) -> bool:
    return host.endswith(name[1:]) and len(host) > len(name) - 1 if name.startswith("*.") else host == name


def is_private(text: object) -> bool:
    """Whether a URL or host leads to this machine, this network or a cloud's metadata service."""
    if not isinstance(text, str):
        raise Unclear("the address is not text")
    host = _raw_host(text)
    if not host:
        raise Unclear("there is no host")
    address = _address(host)
    if address is not None:
        return not _public(address)
    if mirrored := _MIRRORS.fullmatch(host):
        inner = _address(mirrored[1].replace("-", "."))
        return inner is None or not _public(inner)
    if not host.isascii() or "\\" in text:
        raise Unclear("the host is not certain")
    return "." not in host or any(host == name or host.endswith("." + name) for name in _PRIVATE_NAMES)


def _raw_host(text: str) -> str:
    # Seen through percent signs and look-alike digits, because some client will.
    plain = unicodedata.normalize("NFKC", unquote(text)).replace("\u3002", ".").strip()
    if "://" in plain or plain.startswith("//"):
        authority = re.split(r"[/?#\\]", plain.split("//", 1)[1], maxsplit=1)[0]
    else:
        authority = re.split(r"[/?#\\]", plain, maxsplit=1)[0]
    authority = authority.rpartition("@")[2]
    if authority.startswith("["):
        return authority[1:].partition("]")[0].partition("%")[0].lower()
    if authority.count(":") > 1:
        return authority.partition("%")[0].lower()
    return authority.partition(":")[0].rstrip(".").lower()


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    if ":" in host:
        try:
            return ipaddress.IPv6Address(host)
        except ValueError:
            return None
    return _ipv4(host)


def _ipv4(host: str) -> ipaddress.IPv4Address | None:
    """Read an address as inet_aton does: one to four numbers, each decimal, octal or hexadecimal."""
    parts = host.split(".")
    numbers = [_number(part) for part in parts]
    if len(parts) > 4 or None in numbers:
        return None
    *front, last = (number for number in numbers if number is not None)
    if any(number > 255 for number in front) or last >= 256 ** (4 - len(front)):
        # Overflowing notations wrap around in some clients: better a wrong address than a wrong no.
        return ipaddress.IPv4Address("0.0.0.0")  # noqa: S104
    value = last
    for place, number in enumerate(front):
        value += number << (8 * (3 - place))
    return ipaddress.IPv4Address(value)


def _number(text: str) -> int | None:
    try:
        if text.startswith("0x"):
            return int(text[2:] or "0", 16)
        if len(text) > 1 and text.startswith("0"):
            return int(text, 8)
        return int(text) if text.isdigit() else None
    except ValueError:
        return None


def _public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        low = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64 or int(address) >> 32 == 0:
            inner = low
        if inner is not None:
            return _public(inner)
    return address.is_global and not address.is_multicast
