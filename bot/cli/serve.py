"""`askfirst serve`: the engine with its HTTP API, until it is told to stop."""

import argparse
import asyncio
import contextlib
import logging
import signal
from pathlib import Path

from bot.api.metrics import Metrics
from bot.api.stream import HttpFront
from bot.cli.policy import Subparsers
from bot.settings import load_settings
from bot.telemetry import set_up_logs, tracing
from bot.wiring import Engine, Fronts, open_api, open_engine

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 5.0


def add_parser(commands: Subparsers) -> None:
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
        await engine.runner.expire_due()
        await engine.supervisor.recover()
        address = await stack.enter_async_context(open_api(engine, front, metrics))
        print(f"Askfirst answers at {address} (POST /api/v1/chat, /agui; GET /openapi.json).", flush=True)
        async with asyncio.TaskGroup() as group:
            sweep = group.create_task(_sweep(engine))
            await _until_told_to_stop()
            sweep.cancel()
    return 0


async def _sweep(engine: Engine) -> None:
    """Expire what nobody answered in time; reminding and escalating are the scheduler's, not this command's."""
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        try:
            await engine.runner.expire_due()
        except Exception:
            logger.exception("sweep failed; it is tried again in %s s", SWEEP_SECONDS)


async def _until_told_to_stop() -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
