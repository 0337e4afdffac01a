"""Where a thread is in Slack, and what a button says it is about. Pure."""

import json
from dataclasses import dataclass

from bot.domain.canonical import digest
from bot.domain.ids import InterruptId, ThreadId
from bot.domain.interrupt import Interrupt
from bot.domain.run import Thread

FRONT = "slack"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A Slack thread: the message it hangs on."""

    team: str
    channel: str
    ts: str

    @property
    def thread_id(self) -> ThreadId:
        return ThreadId(f"{FRONT}/{self.team}/{self.channel}/{self.ts}")

    def thread(self) -> Thread:
        where = {"team": self.team, "channel": self.channel, "ts": self.ts}
        return Thread(
            id=self.thread_id, front=FRONT, channel=self.channel, address=where, keeps_messages=True
        )

    def link(self, workspace_url: str, ts: str | None = None) -> str:
        """Where a browser or the Slack client finds it."""
        message = ts or self.ts
        link = f"{workspace_url.rstrip('/')}/archives/{self.channel}/p{message.replace('.', '')}"
        return link if message == self.ts else f"{link}?thread_ts={self.ts}&cid={self.channel}"


def address_of(thread_id: str) -> Address:
    """Read an address back from the id of a thread of ours; a bare channel or person is a place, too."""
    if "/" not in thread_id:
        return Address(team="", channel=thread_id, ts="")
    _front, team, channel, ts = thread_id.split("/")
    return Address(team=team, channel=channel, ts=ts)


def ref_of(channel: str, ts: str) -> str:
    """Name a message."""
    return f"{channel}/{ts}"


def parts_of(ref: str) -> tuple[str, str]:
    channel, _, ts = ref.partition("/")
    return channel, ts


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a button or a form is about: the interrupt, and a digest of what was shown of it.

    It gives no authority: everything is looked up and checked again, and a digest that differs from the row's
    means that something else was shown than what would be decided.
    """

    interrupt: InterruptId
    digest: str
    extra: str = ""

    def __str__(self) -> str:
        parts = {"i": self.interrupt, "d": self.digest} | ({"x": self.extra} if self.extra else {})
        return json.dumps(parts, separators=(",", ":"))


def shown(interrupt: Interrupt, extra: str = "") -> Shown:
    what = [
        interrupt.id,
        interrupt.digest,
        interrupt.reason,
        None if interrupt.planned is None else [interrupt.planned.tool, interrupt.planned.args],
        [option.id for option in interrupt.options],
    ]
    return Shown(interrupt=interrupt.id, digest=digest(what)[:12], extra=extra)


def read_shown(value: str) -> Shown | None:
    """Read a button's value or a form's metadata; None if it is not one of ours."""
    try:
        parts = json.loads(value)
        return Shown(interrupt=InterruptId(parts["i"]), digest=parts["d"], extra=parts.get("x", ""))
    except (ValueError, KeyError, TypeError):
        return None
