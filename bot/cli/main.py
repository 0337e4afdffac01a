"""The table of commands, and what happens to their errors."""

import argparse
import asyncio
import inspect
import logging
import os
import sys
from collections.abc import Callable, Sequence

from bot.cli import Commands, audit, chat, doctor, playground, policy, run, runs, serve, tokens
from bot.cli.history import from_database
from bot.domain.errors import BotError, ConfigError

_COMMANDS: tuple[Callable[[Commands], None], ...] = (
    playground.add_parser,
    run.add_parser,
    doctor.add_parser,
    chat.add_parser,
    runs.add_parser,
    lambda commands: policy.add_parser(commands, from_database),
    audit.add_parser,
    serve.add_parser,
    tokens.add_parser,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 fine, 1 refused or failed, 2 wrong usage or settings."""
    options = _parser().parse_args(arguments)
    level = os.environ.get("ASKFIRST_LOG", "WARNING").upper()
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    try:
        result = options.run(options)
        return asyncio.run(result) if inspect.iscoroutine(result) else result
    except ConfigError as error:
        print(f"askfirst: {error}", file=sys.stderr)
        return 2
    except BotError as error:
        print(f"askfirst: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("\nInterrupted. Nothing is lost; open questions are kept.", file=sys.stderr)
        return 130


class _Help(argparse.HelpFormatter):
    """Keeps each command and its line together; argparse forgets that commands are indented."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._action_max_length = len("playground") + 4


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="askfirst",
        description="Agents that ask before they act. To see it, run: askfirst playground",
        epilog="askfirst COMMAND --help tells more about each. Settings come from the environment or .env; "
        ".env.example lists them.",
        formatter_class=_Help,
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in _COMMANDS:
        add(commands)
    return parser
