"""http_request: one request to a public address, checked where it is connected to.

A name is resolved once; every address it has must be public, and the connection goes to exactly those
addresses. So a name that answers differently the second time (DNS rebinding) gains nothing. Redirects are
followed here, one by one, through the same check. Credentials are named by the model and filled in at the
last moment; they go only to the hosts they are for and are dropped when a redirect leads elsewhere.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urljoin, urlsplit

import aiohttp
from pydantic import Field

from bot.domain.tool import Effects, Impact
from bot.engine.ports import CallContext
from bot.tools.address import Address, Pinned, Resolve, not_public, resolve
from bot.tools.tool import Arguments, Output, Tool, ToolFailed, tool
from bot.tools.words import size

MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: Shown to the model; the rest (cookies, caching, policies) is noise to it.
_SHOWN = ("Content-Type", "Location", "Retry-After", "ETag", "Last-Modified", "Link", "WWW-Authenticate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A secret the model can use but never sees."""

    #: The header it goes into.
    header: str = "Authorization"
    #: What is put there, for example `Bearer …`.
    value: str = field(repr=False)
    #: The only hosts it is sent to; `.example.com` also means those below it.
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    credentials: Mapping[str, Credential] = field(default_factory=dict[str, Credential])
    #: `host` or `host:port` that may have a private address: services the operator means to be reached.
    private_hosts: frozenset[str] = frozenset()
    seconds: float = 30
    #: Of the answer, in bytes; what is beyond is not read.
    largest: int = 1_000_000
    resolve: Resolve = resolve

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return what the redactor must know: each value, and its part after a scheme such as Bearer."""
        values = [credential.value for credential in self.credentials.values()]
        return tuple(form for value in values for form in dict.fromkeys((value, value.split()[-1])))


class HttpRequest(Arguments):
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] = "GET"
    url: str = Field(description="http or https; only public addresses are reached")
    headers: dict[str, str] = Field(default_factory=dict[str, str])
    body: str | None = None
    credential: str | None = Field(None, description="Name of a configured credential to send with it")


def http_request(settings: HttpSettings) -> Tool[HttpRequest]:
    async def preview(args: HttpRequest, _context: CallContext) -> Impact:
        target = _target(args.url, settings)
        addresses = await _addresses(target, settings)
        facts = {"host": target.host, "addresses": ", ".join(map(str, addresses))}
        if args.body is not None:
            facts["body"] = size(len(args.body.encode()))
        if args.credential:
            facts["credential"] = f"{args.credential}, sent in {_credential(args, settings, target).header}"
        return Impact(
            summary=f"{args.method} {args.url}",
            bytes=len((args.body or "").encode()),
            reversible=True if args.method in {"GET", "HEAD", "OPTIONS"} else None,
            facts=facts,
        )

    @tool(effects=Effects(), urls=("url",), seconds=settings.seconds + 5, preview=preview)
    async def http_request(args: HttpRequest, context: CallContext) -> Output:
        """Send one HTTP request and return status, important headers and body.

        Private, local and metadata addresses are not reached. Secrets are sent only as a named credential.
        """
        pinned = Pinned()
        try:
            # A fresh session: no cookies, no proxies, and no connection that was checked for another call.
            async with aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=settings.seconds),
                connector=aiohttp.TCPConnector(resolver=pinned, use_dns_cache=False, force_close=True),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
            ) as session:
                async with asyncio.timeout(settings.seconds):
                    return await _follow(session, pinned, args, context, settings)
        except TimeoutError as error:
            raise ToolFailed(f"No complete answer within {settings.seconds:g} s.") from error
        except aiohttp.ClientError as error:
            raise ToolFailed(f"The request failed: {type(error).__name__}: {error}") from error

    return http_request


async def _follow(
    session: aiohttp.ClientSession,
    pinned: Pinned,
    args: HttpRequest,
    context: CallContext,
    settings: HttpSettings,
) -> Output:
    sending = _first(args, context, settings)
    for _ in range(MOST_REDIRECTS + 1):
        pinned.addresses = await _addresses(sending.target, settings)
        async with session.request(
            sending.method,
            sending.target.url,
            headers=sending.headers,
            data=sending.body,
            allow_redirects=False,
        ) as answer:
            location = answer.headers.get("Location")
            if answer.status not in _REDIRECTS or location is None:
                return await _told(answer, sending.target, settings)
        further = _target(urljoin(sending.target.url, location), settings)
        sending = _redirected(sending, answer.status, further)
    raise ToolFailed(f"More than {MOST_REDIRECTS} redirects.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sending:
    method: str
    target: "_Target"
    headers: Mapping[str, str]
    body: str | None


def _first(args: HttpRequest, context: CallContext, settings: HttpSettings) -> _Sending:
    target = _target(args.url, settings)
    headers = _checked_headers(args)
    if args.method not in {"GET", "HEAD", "OPTIONS"}:
        headers["Idempotency-Key"] = context.idempotency_key
    if args.credential:
        credential = _credential(args, settings, target)
        headers[credential.header] = credential.value
    return _Sending(method=args.method, target=target, headers=headers, body=args.body)


def _redirected(sent: _Sending, status: int, target: "_Target") -> _Sending:
    """Return what is sent next, as browsers do it."""
    headers = sent.headers
    if target.origin != sent.target.origin:
        # Whatever was meant for one place is not told to another: of all headers, only these are harmless.
        headers = {name: value for name, value in headers.items() if name.lower() in _HARMLESS}
    if status == 303 or (status in {301, 302} and sent.method == "POST"):
        return _Sending(method="GET", target=target, headers=headers, body=None)
    return _Sending(method=sent.method, target=target, headers=headers, body=sent.body)


async def _told(answer: aiohttp.ClientResponse, target: "_Target", settings: HttpSettings) -> Output:
    # Bounded twice: what is read, and (by aiohttp) what one compressed block may become.
    body = bytearray()
    async for block in answer.content.iter_chunked(65_536):
        body += block
        if len(body) > settings.largest:
            break
    lines = [f"HTTP {answer.status} {answer.reason or ''}".rstrip(), f"URL: {target.url}"]
    lines += (f"{name}: {answer.headers[name]}" for name in _SHOWN if name in answer.headers)
    return Output(
        text="\n".join(lines) + "\n\n" + _text(bytes(body), answer, settings),
        status="ok" if answer.status < 400 else "error",
    )


def _text(body: bytes, answer: aiohttp.ClientResponse, settings: HttpSettings) -> str:
    if b"\0" in body[:8192]:
        return f"(binary, {size(len(body))}, not shown)"
    try:
        text = body[: settings.largest].decode(answer.charset or "utf-8", "replace")
    except LookupError:  # a charset nobody knows
        text = body[: settings.largest].decode("utf-8", "replace")
    return (
        text
        if len(body) <= settings.largest
        else f"{text}\n… only the first {size(settings.largest)} were read"
    )


# ── Where it may go ──────────────────────────────────────────────────────────────────────────────────────

#: Headers that say nothing about a person or a place.
_HARMLESS = frozenset({"accept", "accept-language", "content-type", "user-agent"})
#: The client's own business; a caller who sets them could make two ends disagree about where a message ends.
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    url: str
    scheme: str
    host: str
    port: int
    #: Whether the operator named it as one that may be private.
    exempt: bool

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port


def _target(url: str, settings: HttpSettings) -> _Target:
    if any(character <= " " or character in "\\\x7f" for character in url):
        raise ToolFailed("The URL contains a blank, a backslash or a control character.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ToolFailed(f"The URL cannot be read: {error}") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ToolFailed("Only http and https URLs with a host are requested.")
    if "@" in parts.netloc:
        raise ToolFailed("The URL contains a user name; use a named credential instead.")
    host = parts.hostname.rstrip(".").lower()
    port = port or (443 if parts.scheme == "https" else 80)
    exempt = bool({host, f"{host}:{port}"} & settings.private_hosts)
    return _Target(url=url, scheme=parts.scheme, host=host, port=port, exempt=exempt)


async def _addresses(target: _Target, settings: HttpSettings) -> tuple[Address, ...]:
    """Resolve the target and check every address it has."""
    addresses = await settings.resolve(target.host, target.port)
    if not target.exempt:
        for address in addresses:
            reason = not_public(address)
            if reason:
                raise ToolFailed(f"{target.host} is not reached: {address} is {reason}.")
    return addresses


# ── What it may carry ────────────────────────────────────────────────────────────────────────────────────


def _checked_headers(args: HttpRequest) -> dict[str, str]:
    for name, value in args.headers.items():
        if name.lower() in _OURS or not name.isascii() or any(c in "\r\n\0" for c in name + value):
            raise ToolFailed(f"The header {name!r} cannot be set.")
    return dict(args.headers)


def _credential(args: HttpRequest, settings: HttpSettings, target: _Target) -> Credential:
    found = settings.credentials.get(args.credential or "")
    if found is None:
        names = ", ".join(sorted(settings.credentials)) or "none"
        raise ToolFailed(f"There is no credential {args.credential!r}; there is: {names}.")
    if not _meant_for(found, target.host):
        raise ToolFailed(f"The credential {args.credential!r} is not for {target.host}.")
    if target.scheme != "https" and not target.exempt:
        raise ToolFailed("Credentials are only sent over https.")
    return found


def _meant_for(credential: Credential, host: str) -> bool:
    return any(host == name or (name.startswith(".") and host.endswith(name)) for name in credential.hosts)


def http_tools(settings: HttpSettings) -> tuple[Tool[Any], ...]:
    return (http_request(settings),)
