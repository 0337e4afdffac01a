"""The OpenAPI document is true: schemathesis calls everything it describes and finds nothing."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi import checks

from bot.api.openapi import document
from bot.api.routes import ROUTES
from bot.engine.ports import ModelEvent, ModelRequest
from bot.llm.scripted import call, say
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
    """A model that does one thing that is asked about in a thread, and then says hello for ever."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        text = str(request.transcript[0].item)
        yield call("mark", {"path": "/nowhere/x"}, id="c1") if "please" in text else say("Hello.")


@dataclass(frozen=True, kw_only=True)
class Served:
    url: str
    token: str
    #: Names of things that exist.
    known: dict[str, str]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """An API in a thread of its own, since schemathesis calls it without a loop."""
    ready, stop = threading.Event(), asyncio.Event()
    found: list[tuple[Served, asyncio.AbstractEventLoop]] = []
    path = tmp_path_factory.mktemp("openapi") / "a.db"

    async def serve() -> None:
        async with bench(path, Everlasting()) as api:
            asked = await api.chat("please")
            known = {
                "run_id": asked.headers["X-Run-Id"],
                "session_id": asked.headers["X-Session-Id"],
                "thread_id": asked.headers["X-Session-Id"],
                "interrupt_id": asked.only("interrupt")["interrupt_id"],
            }
            there = Served(url=api.url, token=await api.token(), known=known)
            found.append((there, asyncio.get_running_loop()))
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(20)
    yield found[0][0]
    found[0][1].call_soon_threadsafe(stop.set)
    thread.join()


def _operations() -> list[Any]:
    schema: Any = schemathesis.openapi.from_dict(document(ROUTES))
    return [found.ok() for found in schema.get_all_operations()]


_fits_its_schema: Any = vars(checks)["positive_data_acceptance"]


EXAMPLES = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("operation", _operations(), ids=lambda operation: operation.label)
def test_schemathesis_finds_nothing(operation: Any, served: Served) -> None:
    headers = {"Authorization": f"Bearer {served.token}"}

    @EXAMPLES
    @given(case=operation.as_strategy())
    def check(case: Any) -> None:
        case.validate_response(case.call(base_url=served.url, headers=headers, timeout=20), headers=headers)

    check()


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "operation", [each for each in _operations() if "{" in each.path], ids=lambda operation: operation.label
)
def test_schemathesis_finds_nothing_about_things_that_exist(operation: Any, served: Served) -> None:
    headers = {"Authorization": f"Bearer {served.token}"}

    @EXAMPLES
    @given(case=operation.as_strategy())
    def check(case: Any) -> None:
        case.path_parameters = {name: served.known[name] for name in case.path_parameters}
        # A stream that waits for people would wait for ever here.
        case.query.pop("wait", None)
        response = case.call(base_url=served.url, headers=headers, timeout=20)
        # An answer may fit its schema and still not the question that is open.
        case.validate_response(response, headers=headers, excluded_checks=[_fits_its_schema])

    check()
