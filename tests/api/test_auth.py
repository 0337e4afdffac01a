"""Nothing is open but health; a token does what its scopes say and its person may."""

import asyncio
import re
from pathlib import Path

import pytest

from bot.api.auth import new_token
from bot.api.ports import Access, Limits
from bot.api.routes import ROUTES
from bot.domain.errors import ConfigError
from bot.domain.token import SCOPES
from bot.llm.scripted import call, say
from bot.storage.sqlite import open_sqlite
from bot.storage.store import SqlStore
from tests.api.server import bench
from tests.engine.lab import NOON

#: With some name where a path wants one.
CALLS = [(route.method, re.sub(r"{\w+}", "x", route.path), route.scope) for route in ROUTES]
PATHS = [*((method, path) for method, path, _ in CALLS), ("GET", "/openapi.json")]


@pytest.mark.parametrize(("method", "path"), PATHS)
async def test_every_route_wants_a_token(tmp_path: Path, method: str, path: str) -> None:
    async with bench(tmp_path / "a.db") as api:
        for headers in ({}, {"Authorization": "Bearer askf_wrong"}, {"Authorization": "Basic YTpi"}):
            async with api.http.request(method, api.url + path, headers=headers, json={}) as response:
                assert response.status == 401
                assert response.headers["WWW-Authenticate"] == "Bearer"
                assert response.content_type == "application/problem+json"


@pytest.mark.parametrize(("method", "path", "scope"), CALLS)
async def test_a_token_without_the_scope_is_refused(
    tmp_path: Path, method: str, path: str, scope: str
) -> None:
    async with bench(tmp_path / "a.db") as api:
        others = ",".join(each for each in SCOPES if each != scope)
        reply = await api.call(method, path, {}, scopes=others)
        assert (reply.status, reply.body["scope"]) == (403, scope)


async def test_health_is_open_and_says_nothing_else(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db") as api, api.http.get(api.url + "/healthz") as response:
        assert (response.status, await response.json()) == (200, {"status": "ok"})


async def test_the_secret_is_not_kept_and_a_revoked_token_is_worth_nothing(tmp_path: Path) -> None:
    secret, token = new_token("ci", person="ann", scopes=["read"], now=NOON)
    async with open_sqlite(tmp_path / "a.db") as database:
        store = SqlStore(database, lambda owner, seen, now: True)
        assert await store.add_token(token)
        assert not await store.add_token(token)
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert secret.encode() not in stored
    async with bench(tmp_path / "a.db") as api:
        headers = {"Authorization": f"Bearer {secret}"}
        async with api.http.get(api.url + "/readyz", headers=headers) as response:
            assert response.status == 200
        await api.store.revoke_token("ci", NOON)
        async with api.http.get(api.url + "/readyz", headers=headers) as response:
            assert response.status == 401


def test_an_unknown_scope_is_refused() -> None:
    with pytest.raises(ConfigError):
        new_token("x", person="ann", scopes=["ask", "everything"], now=NOON)
    with pytest.raises(ConfigError):
        new_token("x", person="ann", scopes=[], now=NOON)


async def test_the_policy_says_who_may_decide_whatever_the_token_says(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", [call("mark", {"path": "/x"}), say("No.")]) as api:
        name = (await api.chat()).only("interrupt")["interrupt_id"]
        path = f"/api/v1/approvals/{name}/decision"
        refused = await api.call("POST", path, {"decision": {"verb": "approve"}}, person="eve")
        assert (refused.status, refused.body["type"]) == (403, "urn:askfirst:problem:not-allowed")
        assert "ann or bob" in refused.body["detail"]


async def test_another_host_name_is_refused_also_on_loopback(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db") as api:
        for host in ("evil.example", "evil.example:8787", "127.0.0.1.evil.example"):
            async with api.http.get(api.url + "/healthz", headers={"Host": host}) as response:
                assert response.status == 421
        for host in ("localhost", "LOCALHOST:1", "[::1]:8787"):
            async with api.http.get(api.url + "/healthz", headers={"Host": host}) as response:
                assert response.status == 200


async def test_cors_is_closed_but_for_origins_that_were_named(tmp_path: Path) -> None:
    access = Access(origins=frozenset({"https://ours.example"}))
    async with bench(tmp_path / "a.db", access=access) as api:
        for origin, allowed in (
            ("https://evil.example", None),
            ("https://ours.example", "https://ours.example"),
        ):
            asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
            async with api.http.options(api.url + "/agui", headers=asked) as response:
                assert response.headers.get("Access-Control-Allow-Origin") == allowed
            async with api.http.get(api.url + "/healthz", headers={"Origin": origin}) as response:
                assert response.headers.get("Access-Control-Allow-Origin") == allowed


async def test_too_many_requests_are_slowed_down(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", limits=Limits(per_minute=0.01, burst=2)) as api:
        statuses = [(await api.call("GET", "/api/v1/runs")).status for _ in range(3)]
        assert statuses == [200, 200, 429]
        assert (await api.call("GET", "/api/v1/runs", person="bob")).status == 200


async def test_a_body_that_is_too_large_or_not_json_is_refused(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db", limits=Limits(body_bytes=2000)) as api:
        large = await api.call("POST", "/api/v1/chat", {"message": "x" * 3000})
        assert large.status == 413
        headers = await api.headers("dev", "ask")
        async with api.http.post(api.url + "/api/v1/chat", data=b"message=x", headers=headers) as response:
            assert response.status == 415
        json = headers | {"Content-Type": "application/json"}
        async with api.http.post(api.url + "/api/v1/chat", data=b"{nope", headers=json) as response:
            assert response.status == 400
        typo = await api.call("POST", "/api/v1/chat", {"message": "x", "sesion_id": "y"})
        assert (typo.status, typo.body["errors"][0]["at"]) == (422, "sesion_id")


async def test_an_unknown_path_and_a_wrong_method_are_problems_too(tmp_path: Path) -> None:
    async with bench(tmp_path / "a.db") as api:
        assert (await api.call("GET", "/nope")).status == 404
        wrong = await api.call("GET", "/api/v1/chat")
        assert (wrong.status, wrong.headers["Allow"]) == (405, "POST")


async def test_open_streams_are_counted_by_token(tmp_path: Path) -> None:
    script = [call("mark", {"path": "/x"})]
    limits = Limits(per_minute=1e6, burst=1000, streams=1)
    async with bench(tmp_path / "a.db", script, limits=limits) as api:
        session = (await api.chat()).headers["X-Session-Id"]
        path = f"/api/v1/chat/{session}/events?wait=true"
        async with api.following(path) as stream:
            await anext(aiter(stream))
            assert (await api.call("GET", path)).status == 429


async def test_a_dropped_client_frees_its_stream(tmp_path: Path) -> None:
    limits = Limits(per_minute=1e6, burst=1000, streams=1, keep_alive_seconds=0.05)
    async with bench(tmp_path / "a.db", [call("mark", {"path": "/x"})], limits=limits) as api:
        session = (await api.chat()).headers["X-Session-Id"]
        path = f"/api/v1/chat/{session}/events?wait=true"
        async with api.following(path) as stream:
            await anext(aiter(stream))
        headers = await api.headers("dev", "ask,decide,read,admin")
        async with asyncio.timeout(20):
            while True:
                async with api.http.get(api.url + path, headers=headers) as again:
                    if again.status == 200:
                        return
