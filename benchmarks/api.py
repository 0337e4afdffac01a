"""Five hundred open streams over HTTP, each to its own client: nothing lost, nothing doubled, how fast."""

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import aiohttp

from bot.domain.transcript import ModelTurn, TextBlock
from bot.engine.ports import ModelEvent, ModelRequest, TextDelta
from tests.api.server import bench

STREAMS = 500
WORDS = 40


class Talker:
    """A model that says numbered words, all runs at the same pace, once everybody listens."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.everybody = asyncio.Event()
        self._asked = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        del request
        self._asked += 1
        if self._asked == STREAMS:
            self.everybody.set()
        await self.go.wait()
        words = [f"{number} " for number in range(WORDS)]
        for word in words:
            await asyncio.sleep(0.05)
            yield TextDelta(text=word)
        yield ModelTurn(blocks=(TextBlock(text="".join(words)),), model="talker")


async def _listen(http: aiohttp.ClientSession, url: str) -> tuple[str, list[str], list[str], float]:
    """Read one whole chat; return its text, the types and ids of its events, and when it ended."""
    text, types, ids = "", list[str](), list[str]()
    async with http.post(f"{url}/api/v1/chat", json={"message": "count"}) as response:
        async for raw in response.content:
            line = raw.decode().rstrip("\n")
            if line.startswith("id: "):
                ids.append(line)
            if line.startswith("data: "):
                event: dict[str, Any] = json.loads(line[6:])
                types.append(event["type"])
                text += event["text"] if event["type"] == "text" else ""
    return text, types, ids, time.perf_counter()


async def _client(url: str, token: str) -> None:
    """The other process: all clients, so that the server has a core of its own."""
    headers = {"Authorization": f"Bearer {token}"}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        connector=connector, headers=headers, timeout=aiohttp.ClientTimeout(None)
    ) as http:
        heard = await asyncio.gather(*(_listen(http, url) for _ in range(STREAMS)))
    whole = "".join(f"{number} " for number in range(WORDS))
    wrong = sum(
        text != whole or types[-1:] != ["done"] or len(set(ids)) != len(ids) for text, types, ids, _ in heard
    )
    events = sum(len(types) for _, types, _, _ in heard)
    print(
        json.dumps(
            {"wrong": wrong, "events": events, "spread": max(h[3] for h in heard) - min(h[3] for h in heard)}
        )
    )


async def measure() -> dict[str, float]:
    """Hold the streams and return what became of them."""
    model = Talker()
    with tempfile.TemporaryDirectory() as folder:
        async with bench(Path(folder) / "a.db", model) as api:
            token = await api.token()
            command = [sys.executable, "-m", "benchmarks.api", api.url, token]
            client = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
            async with asyncio.timeout(60):
                await model.everybody.wait()
            began, cpu = time.perf_counter(), time.process_time()
            model.go.set()
            out, _ = await client.communicate()
            seconds = time.perf_counter() - began
    told = json.loads(out)
    return {
        "streams": STREAMS,
        "wrong": told["wrong"],
        "events": told["events"],
        "seconds": seconds,
        # The talk itself takes this long; what is beyond it is the server's.
        "talk seconds": WORDS * 0.05,
        "cpu seconds": time.process_time() - cpu,
        "MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    figures = asyncio.run(measure())
    print("API: open SSE streams")
    for name, value in figures.items():
        print(f"  {name:<14} {value:>10.1f}")
    if figures["wrong"]:
        sys.exit("streams lost or doubled events")


if __name__ == "__main__":
    asyncio.run(_client(*sys.argv[1:]))
