"""`askfirst playground`: a small Slack on this machine, with the bot in it."""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from bot.cli import Commands
from bot.cli.demo import fill_scratch
from bot.domain.errors import ConfigError
from bot.playground.demo import Demo

#: The last is any port that is free.
_PREFERRED = (*range(8080, 8090), 0)


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "playground",
        help="try everything in a small Slack on this machine",
        description="Start a local Slack workspace, the bot, and a folder of 847 demo files, and print one address "
        "to open. Nothing leaves this machine, unless ANTHROPIC_API_KEY is set: then a real model answers.",
    )
    parser.add_argument(
        "--port", type=_port, help="where to serve the page (default: a free one from 8080 on)"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.set_defaults(run=run)


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; give a number from 0 to 65535, 0 for any")
    return int(text)


async def run(options: argparse.Namespace) -> int:
    ports = (options.port,) if options.port is not None else _PREFERRED
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    with tempfile.TemporaryDirectory(prefix="askfirst-playground-", ignore_cleanup_errors=True) as folder:
        await _serve(Path(folder), ports, stop, browser=not options.no_browser)
    return 0


async def _serve(folder: Path, ports: Sequence[int], stop: asyncio.Event, *, browser: bool) -> None:
    print("Creating 847 demo files …", flush=True)
    await asyncio.to_thread(fill_scratch, folder / "files")
    print("Starting the local Slack and the bot …", flush=True)
    async with Demo().running(folder, ports=ports) as demo:
        await demo.ready()
        if demo.bot.state != "running":
            raise ConfigError(f"The bot did not start:\n{demo.bot.trouble}")
        print(f"\n   Open  {demo.address}\n\nCtrl-C stops everything and removes the demo files.", flush=True)
        if browser and _has_display():
            await asyncio.to_thread(webbrowser.open, demo.address)
        await stop.wait()
        print("\nStopping …", flush=True)


def _has_display() -> bool:
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
