"""Which addresses belong to the public internet, and how a connection is held to those that were checked."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from aiohttp.abc import AbstractResolver, ResolveResult

from bot.tools.tool import ToolFailed

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve: TypeAlias = Callable[[str, int], Awaitable[tuple[Address, ...]]]

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
#: Not called private by the standard library, but not the public internet either.
_FURTHER = tuple(
    ipaddress.ip_network(network)
    for network in (
        *("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15"),
        *("64:ff9b:1::/48", "100::/64", "2001::/23", "fec0::/10"),
    )
)


async def resolve(host: str, port: int) -> tuple[Address, ...]:
    """Ask the system for all addresses of a host."""
    # getaddrinfo also reads 0x7f.1, 2130706433 and [::ffff:7f00:1] the way a connection would.
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ToolFailed(f"The host {host!r} has no address.") from error
    # A scope (fe80::1%eth0) says which link, and a link-local address is refused anyhow.
    names = [str(item[4][0]).partition("%")[0] for item in found]
    return tuple(ipaddress.ip_address(name) for name in dict.fromkeys(names))


def not_public(address: Address) -> str:
    """Say why an address is not one of the public internet; empty if it is."""
    inner = _embedded(address)
    if inner is not None:
        return not_public(inner)
    kinds = (
        (address.is_loopback, "this machine"),
        (address.is_link_local, "link-local, where cloud metadata lives"),
        (address.is_multicast, "multicast"),
        (address.is_unspecified, "unspecified"),
        (address.is_private or address.is_reserved or not address.is_global, "a private address"),
        (any(address in network for network in _FURTHER), "not a public address"),
    )
    return next((name for is_so, name in kinds if is_so), "")


def _embedded(address: Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address inside an IPv6 one: mapped, 6to4, Teredo or NAT64."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    teredo = address.teredo[1] if address.teredo else None
    nat64 = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None
    return address.ipv4_mapped or address.sixtofour or teredo or nat64


class Pinned(AbstractResolver):
    """Gives the connector the addresses that were checked, and never asks anybody again.

    A host that is an address itself does not come here: aiohttp connects to it as it is, as it was checked.
    """

    def __init__(self) -> None:
        self.addresses: tuple[Address, ...] = ()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=_family(address),
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self.addresses
            if family in {socket.AF_UNSPEC, _family(address)}
        ]

    async def close(self) -> None:
        pass


def _family(address: Address) -> socket.AddressFamily:
    return socket.AF_INET if address.version == 4 else socket.AF_INET6
