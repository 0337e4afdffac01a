"""Who is still alive: a dead worker's runs are taken over at once on the same machine, else after a while."""

import os
import socket
from datetime import datetime, timedelta
from pathlib import Path

from bot.domain.ids import WorkerId, readable

#: A worker on another machine that was not seen for so long has lost its runs.
SILENCE = timedelta(seconds=30)


def this_worker(nonce: int) -> WorkerId:
    """Name this process so that others can tell whether it still runs."""
    return WorkerId(f"{socket.gethostname()}/{os.getpid()}/{_birth(os.getpid())}/{readable(nonce, 6)}")


def is_gone(worker: WorkerId, seen_at: datetime | None, now: datetime) -> bool:
    """Whether `worker` cannot come back to write: its process is dead, or it was silent for too long."""
    host, pid, birth, _nonce = worker.split("/")
    if host == socket.gethostname() and birth:
        return _birth(int(pid)) != birth
    return seen_at is None or now - seen_at > SILENCE


def _birth(pid: int) -> str:
    """When the process started, in clock ticks; empty if there is none or this is not Linux."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The second field is the command in parentheses and may contain spaces; the 22nd is the start time.
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]
