"""The OpenAPI document is true: schemathesis calls everything it describes and finds nothing."""

import asyncio
import threading
from collections.abc import Generator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.core.transport import Response

from bot.api.openapi import document
from bot.api.routes import ROUTES
from bot.llm.scripted import say
from tests.api.server import bench


def test_every_route_is_described_with_its_problems() -> None:
    described = document(ROUTES)
    assert described["openapi"] == "3.1.0"
    for route in ROUTES:
        operation = described["paths"][route.path][route.method.lower()]
        assert {"200", "401", "403", "429"} <= operation["responses"].keys()
    resume = described["paths"]["/api/v1/chat/resume"]["post"]["responses"]
    assert "checkpoint-not-found" in resume["404"]["description"]
    assert "already-resumed" in resume["409"]["description"]


class Everlasting:
    """A model that always says hello, for as many runs as somebody starts."""

    def __init__(self) -> None:
        self._said = say("Hello.")

    async def stream(self, request: Any) -> Any:
        yield self._said


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[str, str]]:
    """An API in a thread of its own, since schemathesis calls it without a loop."""
    ready, stop = threading.Event(), asyncio.Event()
    found: list[Any] = []
    path = tmp_path_factory.mktemp("openapi") / "a.db"

    async def serve() -> None:
        async with bench(path, Everlasting()) as api:
            found.extend([api.url, await api.token(), asyncio.get_running_loop()])
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait(20)
    yield found[0], found[1]
    found[2].call_soon_threadsafe(stop.set)
    thread.join()


def _operations() -> list[Any]:
    schema = schemathesis.openapi.from_dict(document(ROUTES))
    return [found.ok() for found in schema.get_all_operations()]


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("operation", _operations(), ids=lambda operation: operation.label)
def test_schemathesis_finds_nothing(operation: Any, served: tuple[str, str]) -> None:
    url, token = served

    @settings(
        max_examples=25,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def check(case: Any) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        response: Response = case.call(base_url=url, headers=headers, timeout=20)
        case.validate_response(response, headers=headers)

    check()
