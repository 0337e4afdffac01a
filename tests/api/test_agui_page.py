"""A React page with CopilotKit's hooks, in headless Chromium, against the real API."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.api.ports import Access
from bot.llm.scripted import Step, call, say
from tests.api.node import installed, missing, node
from tests.api.server import bench
from tests.api.test_agui_client import ANN_ASKS, RealClock
from tests.engine.tools import marks

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


async def shown(tmp_path: Path, script: Iterable[Step], what: str) -> Any:
    """Build the page, open it, click through it, and return what it shows."""
    chromium = shutil.which("chromium")
    if chromium is None:
        missing("chromium")
    folder = installed("page")
    built = tmp_path / "built"
    built.mkdir()
    await node(folder, "build.mjs", str(built))
    static = web.Application()
    static.router.add_static("/", built)
    async with TestServer(static) as pages:
        origin = str(pages.make_url("")).rstrip("/")
        access = Access(origins=frozenset({origin}))
        async with bench(tmp_path / "a.db", script, policy=ANN_ASKS, clock=RealClock(), access=access) as api:
            secret = await api.token("ann")
            url = f"{origin}/index.html#url={api.url}&token={secret}&thread=1"
            return json.loads(await node(folder, "click.mjs", url, str(chromium), what))


async def test_a_page_with_use_interrupt_approves_a_tool_call(tmp_path: Path) -> None:
    target = tmp_path / "m"
    script = [call("mark", {"path": str(target)}, text="I will. "), say("Done.")]
    seen = await shown(tmp_path, script, "approve")
    assert seen["question"] == "mark: It changes something. (1 lines)"
    assert marks(target) == ["x"]
    assert [role for role, _ in seen["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert seen["messages"][-1][1] == "Done."


async def test_a_page_with_use_human_in_the_loop_answers_its_own_tool(tmp_path: Path) -> None:
    seen = await shown(tmp_path, [call("pick_slot", {}), say("Done.")], "pick")
    assert [role for role, _ in seen["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert seen["messages"][2][1] == "Tuesday"
