"""The Slack front with the workspace on loopback: the bot in a process of its own, Slack and the people in this one."""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.table import show, verdict
from bot.domain.transcript import ModelTurn, UserText
from bot.engine.ports import CallContext, ModelEvent, ModelRequest, TextDelta
from bot.llm.scripted import call, say
from bot.playground.clock import Clock
from bot.playground.places import Post
from bot.playground.workspace import Workspace
from bot.settings import load_settings
from bot.tools.tool import Arguments, tool
from bot.wiring import open_slack

WAITING = 1000
CLICKS = 1000
PER_SECOND = 200
ONE_BY_ONE = 200

POLICY = """
version: 1
name: bench
default: ask
groups: {oncall: {usergroup: S0ONCALL}}
approval: {by: oncall, expires: 10h, on_timeout: deny}
"""


# The bot ------------------------------------------------------------------------------------------------


class Note(Arguments):
    text: str = "x"


@tool()
async def jot(args: Note, context: CallContext) -> str:
    """Do nothing, with an approval."""
    return f"{args.text} jotted"


class Obliging:
    """Proposes one call, then is done."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        fresh = isinstance(request.transcript[-1].item, UserText)
        turn: ModelTurn = call("jot", {}, id=f"c{len(request.transcript)}") if fresh else say("Done.")
        if not fresh:
            yield TextDelta(text="Done.")
        yield turn


async def _bot(folder: str) -> None:
    place = Path(folder)
    settings = load_settings(
        database=place / "db", policies=place / "policy.yaml", workdir=place, sandbox="none"
    )
    async with open_slack(settings, model=Obliging(), tools=(jot,)):
        print("ready", flush=True)
        await asyncio.Event().wait()


# The measuring ------------------------------------------------------------------------------------------


@asynccontextmanager
async def _running(slack: Workspace, folder: Path) -> AsyncGenerator[int]:
    environment = {
        **os.environ,
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_API_URL": slack.api_url,
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.slack", str(folder), env=environment, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    await process.stdout.readline()
    try:
        yield process.pid
    finally:
        process.terminate()
        await process.wait()


async def _waiting(slack: Workspace, count: int) -> list[Post]:
    """Have so many threads wait for a decision."""
    place = slack.general
    for number in range(count):
        await slack.requester.mentions_bot(f"jot {number}", in_=place)
        if number % 20 == 19:
            await slack.settle()
            await asyncio.sleep(0.1)
    while len(cards := [post for post in place.messages if post.text.startswith("Approval needed")]) < count:  # noqa: ASYNC110 - the bot is another process
        await asyncio.sleep(0.2)
    return cards


async def _acks(slack: Workspace, cards: list[Post]) -> list[float]:
    """Click at a steady rate, whoever is how far; return how long each ack took."""
    people = [slack.approver, slack.second_approver]
    start = time.perf_counter()

    async def click(number: int, card: Post) -> float:
        due = start + number / PER_SECOND
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        began = time.perf_counter()
        await people[number % 2].clicks_stale("Approve", in_=card)
        return time.perf_counter() - began

    return list(await asyncio.gather(*(click(number, card) for number, card in enumerate(cards))))


async def _updates(slack: Workspace, cards: list[Post]) -> list[float]:
    took: list[float] = []
    for card in cards:
        began = time.perf_counter()
        await slack.approver.clicks_stale("Approve", in_=card, wait=False)
        while card.buttons:  # noqa: ASYNC110 - looked at every millisecond, as the eye would
            await asyncio.sleep(0.001)
        took.append(time.perf_counter() - began)
        await asyncio.sleep(0.01)
    return took


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _measure() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
        async with (
            Workspace.open(clock=Clock(running=True), patience=60) as slack,
            _running(slack, folder) as pid,
        ):
            await slack.connected(2)
            cards = await _waiting(slack, WAITING + ONE_BY_ONE)
            await asyncio.sleep(3)
            before = _cpu_seconds(pid)
            await asyncio.sleep(5)
            idle = (_cpu_seconds(pid) - before) / 5
            updates = sorted(await _updates(slack, cards[:ONE_BY_ONE]))
            await asyncio.sleep(2)
            acks = sorted(await _acks(slack, cards[ONE_BY_ONE : ONE_BY_ONE + CLICKS]))
            missed = len(slack.hub.unanswered)
    _report(acks, updates, idle, missed)


def _report(acks: list[float], updates: list[float], idle: float, missed: int) -> None:
    p50, p99 = acks[len(acks) // 2] * 1000, acks[int(len(acks) * 0.99)] * 1000
    update = updates[len(updates) // 2] * 1000
    show(
        "Slack front, workspace on loopback",
        ("what", "measured", "promise"),
        [
            (f"click → ack, p50 at {PER_SECOND}/s", f"{p50:.1f} ms", ""),
            (f"click → ack, p99 at {PER_SECOND}/s", f"{p99:.1f} ms", verdict(p99, 50)),
            ("clicks not acked in 3 s", missed, verdict(missed, 0)),
            ("click → card updated, p50", f"{update:.1f} ms", verdict(update, 60)),
            (f"CPU with {WAITING} threads waiting", f"{idle:.1%}", verdict(idle * 100, 1)),
        ],
    )


def main() -> None:
    asyncio.run(_measure())


if __name__ == "__main__":
    asyncio.run(_bot(sys.argv[1]))
