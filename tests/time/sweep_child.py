"""A process that sweeps and kills itself, as hard as `kill -9`, right before or after its n-th transaction.

python -m tests.time.sweep_child DATABASE MINUTES [before|after NUMBER]
"""

import asyncio
import os
import sys
from pathlib import Path

from bot.llm.scripted import ScriptedModel, say
from tests.engine.crash_child import crash_at
from tests.time.desk import desk, sweep


async def work(path: Path, minutes: float) -> None:
    async with desk(path, ScriptedModel([say("ok")] * 1000), worker=f"child{os.getpid()}") as bench:
        bench.clock.pass_(minutes=minutes)
        if len(sys.argv) > 3:
            crash_at(sys.argv[3], int(sys.argv[4]))
        swept = await sweep(bench)
        print(sum(swept.fired.values()))


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), float(sys.argv[2])))
