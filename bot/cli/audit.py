"""`askfirst audit`: check that nothing in the record was changed or cut out, and hand it to others."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from bot.cli import Commands
from bot.domain.audit import GENESIS, chained
from bot.settings import load_settings
from bot.storage.store import SqlStore
from bot.wiring import open_store


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "audit",
        help="verify or export the record of what was decided and done",
        description="The record of every verdict, click, decision and execution. Each line holds the hash of the one "
        "before, so that none can be changed or cut out unnoticed.",
    )
    parser.add_argument("--database", help="where it is kept (default: .askfirst/askfirst.db)")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    check = actions.add_parser("verify", help="check the hash chain from the first record to the last")
    check.add_argument(
        "--head", metavar="SEQ:HASH", help="a record noted earlier that must still be there, unchanged"
    )
    check.set_defaults(run=verify)
    export = actions.add_parser("export", help="write all records as JSON lines")
    export.add_argument("--output", type=Path, help="file to write (default: standard output)")
    export.set_defaults(run=export_records)


async def verify(options: argparse.Namespace) -> int:
    async with open_store(load_settings(database=options.database)) as store:
        return await _verify(store, options.head)


async def _verify(store: SqlStore, noted: str | None) -> int:
    previous, count, seen = GENESIS, 0, noted is None
    async for record, at, body in store.audit():
        count += 1
        fact = record.fact
        expected = chained(previous, seq=record.seq, kind=fact.kind, at_us=at, run_id=fact.run_id, body=body)
        if record.seq != count or record.hash != expected:
            print(f"BROKEN at record {count}: it, or one before it, was changed or removed.", file=sys.stderr)
            return 1
        seen = seen or noted == f"{record.seq}:{record.hash}"
        previous = record.hash
    if not seen:
        print(
            f"BROKEN: {noted} is not in the chain any more; its end was cut off or rewritten.",
            file=sys.stderr,
        )
        return 1
    print(f"{count} records, unbroken. Head {count}:{previous}")
    print("Keep this head somewhere else: with --head a later check also notices if the end was cut off.")
    return 0


async def export_records(options: argparse.Namespace) -> int:
    async with open_store(load_settings(database=options.database)) as store:
        if options.output is None:
            await _write(store, sys.stdout.write)
        else:
            with options.output.open("w", encoding="utf-8") as file:
                await _write(store, file.write)
    return 0


async def _write(store: SqlStore, write: Callable[[str], object]) -> None:
    async for record, _, _ in store.audit():
        fact = record.fact
        line = {
            "seq": record.seq,
            "at": fact.at.isoformat().replace("+00:00", "Z"),
            "kind": fact.kind,
            "run_id": fact.run_id,
            **fact.body,
            "hash": record.hash,
        }
        write(json.dumps(line, ensure_ascii=False) + "\n")
