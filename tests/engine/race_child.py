"""One of several processes that answer the same question at the same moment: python -m … FOLDER PERSON INTERRUPT"""

import asyncio
import sys
from pathlib import Path

from bot.domain.decision import Approve
from bot.domain.errors import Stale
from bot.domain.ids import InterruptId, UserId
from bot.domain.person import Person
from bot.llm.scripted import say
from tests.engine.lab import lab


async def work(folder: Path, who: str, interrupt: InterruptId) -> None:
    async with lab(folder / "a.db", [say("ok")], worker=who, is_gone=lambda owner, seen, now: False) as bench:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        try:
            counted = await bench.runner.decide(interrupt, Approve(), Person(id=UserId(who)))
        except Stale as late:
            print(late)
        else:
            await bench.supervisor.settled(counted.run_id)
            print("won")


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), sys.argv[2], InterruptId(sys.argv[3])))
