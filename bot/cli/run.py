"""`askfirst run`: be in Slack until told to stop."""

import argparse
import asyncio
import signal
from pathlib import Path

from bot.cli import Commands
from bot.settings import load_settings
from bot.wiring import SlackBot, open_slack


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "run",
        help="run the bot in Slack",
        description="Run the bot in Slack: Socket Mode with SLACK_APP_TOKEN, HTTP with SLACK_SIGNING_SECRET.",
    )
    parser.add_argument("--dir", type=Path, dest="workdir", help="where the agent works (default: here)")
    parser.add_argument("--database", help="where to keep runs (default: .askfirst/askfirst.db)")
    parser.add_argument("--policies", type=Path, help="policy file or folder (default: policies)")
    parser.set_defaults(run=run)


async def run(options: argparse.Namespace) -> int:
    given = {"workdir": options.workdir, "database": options.database, "policies": options.policies}
    settings = load_settings(**given)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    async with open_slack(settings) as bot:
        print(_greeting(bot), flush=True)
        await stop.wait()
        print("Stopping. Nothing is lost; open questions are kept.", flush=True)
    return 0


def _greeting(bot: SlackBot) -> str:
    how = f"listening at {bot.address}" if bot.address else "connected by Socket Mode"
    agent = bot.engine.agent("")
    model = "the offline model (set ANTHROPIC_API_KEY)" if agent.model == "offline" else agent.model
    return f"Askfirst is in {bot.me.url}, {how}. It works in {agent.cwd} with {model}. Ctrl-C stops it."
