"""`askfirst serve`: the engine with its HTTP API, until it is told to stop."""

import argparse
import asyncio
import contextlib
import signal
from pathlib import Path

from bot.api.metrics import Metrics
from bot.api.stream import HttpFront
from bot.cli import Commands
from bot.settings import load_settings
from bot.telemetry import set_up_logs, tracing
from bot.wiring import Fronts, open_api, open_engine


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "serve",
        help="answer over HTTP: chat, runs, approvals, AG-UI",
        description="Listens on 127.0.0.1:8787 unless told otherwise. Make a token first: askfirst tokens create.",
    )
    parser.add_argument("--host", help="where to listen (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="where to listen (default: 8787)")
    parser.add_argument("--database", type=Path, help="where runs are kept (default: .askfirst/askfirst.db)")
    parser.set_defaults(run=serve)


async def serve(options: argparse.Namespace) -> int:
    settings = load_settings(database=options.database, api_host=options.host, api_port=options.port)
    set_up_logs(settings.log_format)
    front, metrics = HttpFront(), Metrics()
    async with contextlib.AsyncExitStack() as stack:
        traces = stack.enter_context(tracing(settings.otlp_endpoint))
        watching = [front, metrics, *([traces] if traces else [])]
        engine = await stack.enter_async_context(open_engine(settings, Fronts({}, watching=watching)))
        await engine.supervisor.recover()
        address = await stack.enter_async_context(open_api(engine, front, metrics))
        print(f"Askfirst answers at {address} (POST /api/v1/chat, /agui; GET /openapi.json).", flush=True)
        await _until_told_to_stop()
    return 0


async def _until_told_to_stop() -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
