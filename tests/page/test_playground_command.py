"""`askfirst playground` as somebody types it: one address, and nothing left behind."""

import asyncio
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession

from bot.cli.main import main

pytestmark = pytest.mark.slow


@asynccontextmanager
async def playground(*options: str, folder: Path) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bot", "playground", "--no-browser", *options),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        # Reads the rest, so that no pipe is left open.
        await process.communicate()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(30):
        async for line in process.stdout:
            if found := re.search(r"Open\s+(http://127\.0\.0\.1:\d+)/#token=(\S+)", line.decode()):
                return f"{found[1]} {found[2]}"
    raise AssertionError("no address was printed")


async def test_it_prints_one_address_and_ctrl_c_ends_everything(tmp_path: Path) -> None:
    async with playground(folder=tmp_path) as process, ClientSession() as session:
        url, token = (await _address(process)).split()
        async with session.get(f"{url}/_demo/underneath", headers={"X-Playground-Token": token}) as response:
            bot = (await response.json())["bot"]
        assert bot["state"] == "running"
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(15):
            assert await process.wait() == 0
        # The bot's own process is gone, too, and so are the demo files.
        with pytest.raises(ProcessLookupError):
            os.kill(bot["pid"], 0)
        assert list(tmp_path.iterdir()) == []


async def test_the_bot_ends_when_the_playground_was_killed(tmp_path: Path) -> None:
    async with playground(folder=tmp_path) as process, ClientSession() as session:
        url, token = (await _address(process)).split()
        async with session.get(f"{url}/_demo/underneath", headers={"X-Playground-Token": token}) as response:
            pid = (await response.json())["bot"]["pid"]
        process.kill()
        async with asyncio.timeout(20):
            while _is_alive(pid):
                await asyncio.sleep(0.05)


async def test_the_panel_needs_the_token_and_our_own_origin(tmp_path: Path) -> None:
    async with playground(folder=tmp_path) as process, ClientSession() as session:
        url, token = (await _address(process)).split()
        for headers in (
            {},
            {"X-Playground-Token": "guessed"},
            {"X-Playground-Token": token, "Origin": "https://evil.example"},
        ):
            for call in (
                session.get(f"{url}/_demo/underneath", headers=headers),
                session.post(f"{url}/_demo/kill", headers=headers),
            ):
                async with call as response:
                    assert response.status == 403


async def test_a_taken_port_is_an_error_that_names_the_way_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        async with playground("--port", str(port), folder=tmp_path) as process:
            _, told = await process.communicate()
    assert process.returncode == 2
    assert f"Port {port} is taken by another program. Name another with --port" in told.decode()


def _is_alive(pid: int) -> bool:
    """Whether it runs; one that ended and waits to be noticed does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("playground",),
        ("run",),
        ("chat",),
        ("runs",),
        ("runs", "resume"),
        ("policy",),
        ("policy", "check"),
        ("audit",),
    ],
    ids=" ".join,
)
def test_each_help_says_what_it_is_for(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    told = capsys.readouterr().out
    assert ended.value.code == 0
    # A sentence between the usage and the first list.
    usage, sentence, *_ = told.split("\n\n")
    assert usage.startswith("usage: askfirst")
    assert re.match(r"[A-Z][^:]+\w{3}", sentence), told


@pytest.mark.parametrize("port", ["http", "70000", "-1"])
def test_a_port_that_is_none_is_wrong_usage(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["playground", f"--port={port}"])
    assert ended.value.code == 2
    assert "is not a port; give a number" in capsys.readouterr().err
