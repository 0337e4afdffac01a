"""`askfirst tokens`: who may call the HTTP API, and for what. A token is shown once and never again."""

import argparse
from pathlib import Path

from bot.api.auth import new_token
from bot.cli import Commands
from bot.domain.errors import ConfigError
from bot.domain.token import SCOPES
from bot.settings import load_settings
from bot.wiring import open_store, utc_now


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser("tokens", help="create, list and revoke tokens of the HTTP API")
    parser.add_argument("--database", type=Path, help="where runs are kept (default: .askfirst/askfirst.db)")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="make a token; it is shown once")
    create.add_argument("name", help="how you will recognise it")
    create.add_argument("--person", required=True, help="whom it stands for, as policies call them (U0123)")
    create.add_argument(
        "--scopes", default="ask", help=f"comma-separated: {', '.join(SCOPES)} (default: ask)"
    )
    create.add_argument("--groups", default="", help="comma-separated groups the person is in")
    create.add_argument("--channel", default="api", help="the channel whose policy applies (default: api)")
    create.set_defaults(run=_create)
    actions.add_parser("list", help="all tokens, without their secrets").set_defaults(run=_list)
    revoke = actions.add_parser("revoke", help="end a token at once")
    revoke.add_argument("name")
    revoke.set_defaults(run=_revoke)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


async def _create(options: argparse.Namespace) -> int:
    secret, token = new_token(
        options.name,
        person=options.person,
        scopes=_parts(options.scopes),
        groups=_parts(options.groups),
        channel=options.channel,
        now=utc_now(),
    )
    async with open_store(load_settings(database=options.database)) as store:
        if not await store.add_token(token):
            raise ConfigError(f"There is a token called {options.name!r} already. Choose another name.")
    print(secret)
    return 0


async def _list(options: argparse.Namespace) -> int:
    async with open_store(load_settings(database=options.database)) as store:
        for token in await store.tokens():
            state = f"revoked {token.revoked_at:%Y-%m-%d}" if token.revoked_at else "in force"
            scopes = ",".join(sorted(token.scopes))
            print(f"{token.name:<20} {token.person:<14} {scopes:<22} {token.channel:<12} {state}")
    return 0


async def _revoke(options: argparse.Namespace) -> int:
    async with open_store(load_settings(database=options.database)) as store:
        if not await store.revoke_token(options.name, utc_now()):
            raise ConfigError(f"There is no token {options.name!r} in force.")
    print(f"Revoked {options.name}.")
    return 0
