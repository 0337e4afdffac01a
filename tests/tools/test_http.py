"""HTTP requests to real servers on loopback, and every way we know to reach what must not be reached."""

import asyncio
import gzip
import ipaddress
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiohttp import web

from bot.engine.ports import CallContext
from bot.tools.address import Address, not_public
from bot.tools.builtin.http import Credential, HttpSettings, http_request
from bot.tools.redact import Redactor
from bot.tools.registry import Registry
from tests.tools.support import preview, run

TOKEN = "Bearer very-secret-token"
BOMB = gzip.compress(b"0" * 50_000_000)


@dataclass
class Site:
    """A server that remembers what it was asked."""

    port: int = 0
    seen: list[tuple[str, str, dict[str, str]]] = field(default_factory=list[tuple[str, str, dict[str, str]]])
    #: Where /go leads.
    further: str = ""
    hang: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.seen.append((request.method, request.path_qs, dict(request.headers)))
        if request.path == "/hang":
            await self.hang.wait()
        body = await request.text()
        answers = {
            "/go": {"status": 302, "headers": {"Location": self.further}},
            "/307": {"status": 307, "headers": {"Location": self.further}},
            "/loop": {"status": 302, "headers": {"Location": "/loop"}},
            "/big": {"body": b"x" * 5000},
            "/bomb": {"body": BOMB, "headers": {"Content-Encoding": "gzip"}},
            "/binary": {"body": b"\0\1\2"},
            "/echo": {"text": f"{body} {request.headers.get('Authorization')}"},
            "/gone": {"status": 410, "text": "no more"},
        }
        answer: dict[str, Any] = answers.get(
            request.path, {"text": "hello", "headers": {"Set-Cookie": "a=b"}}
        )
        return web.Response(**answer)


async def _serve() -> AsyncIterator[Site]:
    site = Site()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", site.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    site.port = runner.addresses[0][1]
    yield site
    site.hang.set()
    await runner.cleanup()


@pytest.fixture
async def site(anyio_backend: str) -> AsyncIterator[Site]:
    async for served in _serve():
        yield served


@pytest.fixture
async def other(anyio_backend: str) -> AsyncIterator[Site]:
    """Another server, which nobody has allowed."""
    async for served in _serve():
        yield served


def toolbox(site: Site, **settings: Any) -> Registry:
    credentials = {"deploy": Credential(value=TOKEN, hosts=("127.0.0.1",))}
    allowed = frozenset({f"127.0.0.1:{site.port}"})
    http = replace(HttpSettings(credentials=credentials, private_hosts=allowed, seconds=5), **settings)
    return Registry([http_request(http)], redactor=Redactor(http.secrets))


async def test_an_answer_has_status_headers_and_body(site: Site, context: CallContext) -> None:
    ran = await run(toolbox(site), context, "http_request", url=f"{site.url}/page?x=1")
    assert (ran.status, ran.text) == (
        "ok",
        f"HTTP 200 OK\nURL: {site.url}/page?x=1\nContent-Type: text/plain; charset=utf-8\n\nhello",
    )
    assert [(method, path) for method, path, _ in site.seen] == [("GET", "/page?x=1")]


async def test_a_failed_request_is_told_with_its_body(site: Site, context: CallContext) -> None:
    ran = await run(toolbox(site), context, "http_request", url=f"{site.url}/gone")
    assert ran.status == "error"
    assert ran.text.endswith("\n\nno more")


async def test_a_credential_is_sent_but_neither_given_by_nor_shown_to_the_model(
    site: Site, context: CallContext
) -> None:
    ran = await run(
        toolbox(site),
        context,
        "http_request",
        method="POST",
        url=f"{site.url}/echo",
        body="hi",
        credential="deploy",
    )
    assert site.seen[0][2]["Authorization"] == TOKEN
    assert site.seen[0][2]["Idempotency-Key"] == "run-1:call-1"
    assert "very-secret-token" not in ran.text
    assert ran.text.endswith("hi ‹secret:5943›")


async def test_a_credential_goes_only_where_it_is_meant_for(site: Site, context: CallContext) -> None:
    elsewhere = {"deploy": Credential(value=TOKEN, hosts=("api.example.com", ".internal.example.com"))}
    refused = await run(
        toolbox(site, credentials=elsewhere), context, "http_request", url=site.url, credential="deploy"
    )
    assert refused.text == "The credential 'deploy' is not for 127.0.0.1."
    unknown = await run(toolbox(site), context, "http_request", url=site.url, credential="admin")
    assert unknown.text == "There is no credential 'admin'; there is: deploy."
    assert site.seen == []


async def test_a_redirect_elsewhere_loses_the_credential(
    site: Site, other: Site, context: CallContext
) -> None:
    site.further = f"{other.url}/landed"
    both = frozenset({f"127.0.0.1:{site.port}", f"127.0.0.1:{other.port}"})
    box = toolbox(site, private_hosts=both)
    headers = {"X-Api-Key": "k", "Accept": "text/plain"}
    ran = await run(box, context, "http_request", url=f"{site.url}/go", credential="deploy", headers=headers)
    assert ran.status == "ok"
    first, second = site.seen[0][2], other.seen[0][2]
    assert (first["Authorization"], first["X-Api-Key"]) == (TOKEN, "k")
    assert "Authorization" not in second
    assert "X-Api-Key" not in second
    assert second["Accept"] == "text/plain"


async def test_a_post_that_is_redirected_becomes_a_get_unless_307(site: Site, context: CallContext) -> None:
    site.further = f"{site.url}/landed"
    await run(toolbox(site), context, "http_request", method="POST", url=f"{site.url}/go", body="x")
    await run(toolbox(site), context, "http_request", method="POST", url=f"{site.url}/307", body="x")
    methods = [(method, path) for method, path, _ in site.seen]
    assert methods == [("POST", "/go"), ("GET", "/landed"), ("POST", "/307"), ("POST", "/landed")]


async def test_redirects_end(site: Site, context: CallContext) -> None:
    assert (await run(toolbox(site), context, "http_request", url=f"{site.url}/loop")).text == (
        "More than 5 redirects."
    )


async def test_size_and_time_are_limited(site: Site, context: CallContext) -> None:
    big = await run(toolbox(site, largest=1000), context, "http_request", url=f"{site.url}/big")
    assert big.text.endswith("x\n… only the first 1 KB were read")
    assert big.text.count("x") < 1010
    bomb = await run(toolbox(site, largest=1000), context, "http_request", url=f"{site.url}/bomb")
    assert bomb.text.endswith("0\n… only the first 1 KB were read")
    slow = await run(toolbox(site, seconds=0.2), context, "http_request", url=f"{site.url}/hang")
    assert slow.text == "No complete answer within 0.2 s."
    binary = await run(toolbox(site), context, "http_request", url=f"{site.url}/binary")
    assert binary.text.endswith("(binary, 3 bytes, not shown)")


SSRF = [
    "http://127.0.0.1:{port}/",
    "http://localhost:{port}/",
    "http://LOCALHOST.:{port}/",
    "http://127.1:{port}/",
    "http://2130706433:{port}/",
    "http://0x7f000001:{port}/",
    "http://0177.0.0.1:{port}/",
    "http://0.0.0.0:{port}/",
    "http://[::1]:{port}/",
    "http://[::]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/",
    "http://[64:ff9b::127.0.0.1]:{port}/",
    "http://[2002:7f00:1::]:{port}/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://[fe80::1]/",
    "http://user@127.0.0.1:{port}/",
    "http://example.com@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\@example.com/",
    "http://127.0.0.1:{port}\r\nHost: x/",
    "file:///etc/passwd",
    "ftp://127.0.0.1/",
    "gopher://127.0.0.1:{port}/_x",
    "//127.0.0.1:{port}/",
    "http:///etc/passwd",
    "http://127.0.0.1:99999/",
]


@pytest.mark.parametrize("url", SSRF)
async def test_what_is_not_public_is_not_reached(other: Site, context: CallContext, url: str) -> None:
    box = Registry([http_request(HttpSettings(seconds=5))])
    ran = await run(box, context, "http_request", url=url.format(port=other.port))
    assert ran.status == "error"
    assert ran.text.startswith(("The URL", "Only http", "The host")) or "is not reached" in ran.text, ran.text
    assert other.seen == []


@pytest.mark.parametrize("url", [url for url in SSRF if "\r" not in url and url != "http:///etc/passwd"])
async def test_nor_through_a_redirect(site: Site, other: Site, context: CallContext, url: str) -> None:
    site.further = url.format(port=other.port)
    ran = await run(toolbox(site), context, "http_request", url=f"{site.url}/go")
    assert ran.status == "error"
    assert len(site.seen) == 1
    assert other.seen == []


async def test_a_name_that_answers_differently_the_second_time_gains_nothing(
    other: Site, context: CallContext
) -> None:
    asked: list[str] = []

    async def rebind(host: str, port: int) -> tuple[Address, ...]:
        asked.append(host)
        # A public address at which nobody answers on this port, and then ours.
        return (ipaddress.ip_address("1.1.1.1" if len(asked) == 1 else "127.0.0.1"),)

    box = Registry([http_request(HttpSettings(seconds=0.5, resolve=rebind))])
    ran = await run(box, context, "http_request", url=f"http://rebind.example:{other.port}/")
    assert ran.status == "error"
    assert asked == ["rebind.example"]
    assert other.seen == []


async def test_one_private_address_among_public_ones_is_enough_to_refuse(context: CallContext) -> None:
    async def mixed(host: str, port: int) -> tuple[Address, ...]:
        return (ipaddress.ip_address("93.184.216.34"), ipaddress.ip_address("10.0.0.7"))

    box = Registry([http_request(HttpSettings(resolve=mixed))])
    ran = await run(box, context, "http_request", url="https://mixed.example/")
    assert ran.text == "mixed.example is not reached: 10.0.0.7 is a private address."


@pytest.mark.parametrize("header", ["Host", "Content-Length", "transfer-encoding", "X-A\r\nB"])
async def test_headers_that_would_change_the_message_are_refused(
    site: Site, context: CallContext, header: str
) -> None:
    ran = await run(toolbox(site), context, "http_request", url=site.url, headers={header: "1"})
    assert ran.text == f"The header {header!r} cannot be set."
    assert site.seen == []


async def test_the_preview_names_host_addresses_and_credential_but_not_its_value(
    site: Site, context: CallContext
) -> None:
    impact = await preview(
        toolbox(site), context, "http_request", method="PUT", url=site.url, body="12345", credential="deploy"
    )
    assert impact.summary == f"PUT {site.url}"
    assert impact.reversible is None
    assert impact.facts == {
        "host": "127.0.0.1",
        "addresses": "127.0.0.1",
        "body": "5 bytes",
        "credential": "deploy, sent in Authorization",
    }
    assert site.seen == []


async def test_a_refused_host_is_said_in_the_preview(context: CallContext) -> None:
    box = Registry([http_request(HttpSettings())])
    impact = await preview(box, context, "http_request", url="http://169.254.169.254/")
    assert impact.summary == (
        "Could not be measured: 169.254.169.254 is not reached: "
        "169.254.169.254 is link-local, where cloud metadata lives."
    )


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::1.1.1.1"])
def test_public_addresses_are_public(address: str) -> None:
    assert not_public(ipaddress.ip_address(address)) == ""


def test_a_credential_does_not_print_its_value() -> None:
    assert "very-secret" not in repr(Credential(value=TOKEN, hosts=()))
    settings = HttpSettings(credentials={"deploy": Credential(value=TOKEN, hosts=())})
    assert "very-secret" not in repr(settings)
    # Both forms, since the answer may show the token without its scheme.
    assert settings.secrets == (TOKEN, "very-secret-token")
