"""One run on show: a stream that grows line by line with its tool calls, or else updates of a message."""

import asyncio
import logging
from collections.abc import Callable
from typing import Literal

from bot.domain.canonical import JsonObject
from bot.domain.ids import RunId
from bot.domain.literal import shortened, visible
from bot.domain.run import Thread
from bot.engine.ports import (
    CallFinished,
    CallProgress,
    CallStarted,
    InterruptsOpened,
    LiveEvent,
    Post,
    Retrying,
    RunEnded,
    TextDelta,
)
from bot.slack.address import ref_of
from bot.slack.ports import Records
from bot.slack.views.answer import safe_markdown, streamed
from bot.slack.views.tasks import Task, task_blocks, task_chunk
from bot.slack.web import SlackFailed, Web

logger = logging.getLogger(__name__)

#: Short answers are simply posted: Slack allows 20 stream starts a minute.
START_CHARACTERS = 240
#: Slack ends a stream after about five minutes, whatever happens in it.
ROTATE_SECONDS = 240.0
#: A stream's text is limited, too.
ROTATE_CHARACTERS = 10_000
#: Between two appends, and between two updates (50 a minute).
APPEND_SECONDS = 0.5
UPDATE_SECONDS = 1.5
#: A run that is over sooner shows no status.
STATUS_SECONDS = 0.3
#: A run that has shown nothing for so long needs no task here.
IDLE_SECONDS = 60.0


class Live:
    def __init__(
        self, web: Web, records: Records | None, thread: Thread, run_id: RunId, now: Callable[[], float]
    ) -> None:
        self.run_id = run_id
        self.stopped = asyncio.Event()
        self._web = web
        self._records = records
        self._thread = thread
        self._now = now
        self._queue: asyncio.Queue[LiveEvent | None] = asyncio.Queue()
        self._tasks: dict[str, Task] = {}
        self._changed: set[str] = set()
        self._text = ""
        self._sent = 0
        self._mode: Literal["stream", "updates", "none"] = "stream"
        self._ts: str | None = None
        self._since = 0.0
        self._flushed = float("-inf")
        #: What the status says, or would say.
        self._doing = "is working on it …"
        self._said = False
        #: Whether the last that happened is a question: then people work, not the run.
        self._waiting = False

    def put(self, event: LiveEvent) -> None:
        self._queue.put_nowait(event)

    def stop(self) -> None:
        self._queue.put_nowait(None)

    async def run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._patience()):
                    event = await self._queue.get()
            except TimeoutError:
                if not self._said and not self._waiting:
                    # What is done in a moment needs no status, and Slack has its limits.
                    await self._status(self._doing, "processing")
                    continue
                if not self._dirty() and self._ts is None:
                    return
                await self._flush()
                continue
            if event is None or not await self._take(event):
                await self._close(None)
                return

    # What happens ---------------------------------------------------------------------------------------

    async def _take(self, event: LiveEvent) -> bool:  # noqa: C901 - a table
        """Take notice of an event; False if there is nothing more to show for now."""
        self._waiting = isinstance(event, InterruptsOpened)
        match event:
            case TextDelta(text=text):
                self._text += text
            case CallStarted() | CallProgress() | CallFinished():
                await self._tool(event)
            case Retrying(void=void):
                if void:
                    self._text = self._text[: self._sent]
                await self._status("is waiting for the model …")
            case InterruptsOpened():
                # The cards come next, each a message of its own; what follows them is another message, too.
                had_a_message = self._ts is not None
                await self._close("suspended")
                if self._said:
                    await self._status("")
                    self._said = False
                if had_a_message:
                    await self._adopt(None)
                self._text, self._sent = "", 0
            case RunEnded():
                await self._close("closed")
                if self._said:
                    await self._status("")
                return False
        if self._worth_showing() and self._now() - self._flushed >= self._pace():
            await self._flush()
        return True

    async def _tool(self, event: CallStarted | CallProgress | CallFinished) -> None:
        match event:
            case CallStarted(call_id=call_id, planned=planned):
                self._tasks[call_id] = Task(id=call_id, title=planned.tool)
                self._changed.add(call_id)
                self._doing = f"is running {shortened(visible(planned.tool), 40)} …"
                if self._said:
                    await self._status(self._doing)
            case CallProgress(call_id=call_id, text=text):
                known = self._tasks.get(call_id)
                if known is not None:
                    self._tasks[call_id] = known.progressed(text)
                    self._changed.add(call_id)
            case CallFinished(result=result):
                known = self._tasks.get(result.call_id)
                if known is not None:
                    self._tasks[result.call_id] = known.finished(result)
                    self._changed.add(result.call_id)

    def _worth_showing(self) -> bool:
        if self._ts is not None:
            return self._dirty()
        # Calls that end at once need no message of their own; long ones show at the next tick.
        return len(self._text) >= START_CHARACTERS and self._mode != "none"

    def _dirty(self) -> bool:
        return bool(self._changed) or len(self._text) > self._sent

    def _pace(self) -> float:
        return APPEND_SECONDS if self._mode == "stream" else UPDATE_SECONDS

    def _patience(self) -> float:
        if not self._said:
            return STATUS_SECONDS
        return self._pace() if self._dirty() else IDLE_SECONDS

    # What is sent ---------------------------------------------------------------------------------------

    async def _flush(self) -> None:
        self._flushed = self._now()
        if self._mode == "stream" and self._ts is not None and self._too_old():
            await self._rotate()
        try:
            match self._mode:
                case "stream":
                    await self._stream()
                case "updates":
                    await self._update()
                case "none":
                    self._forget_changes()
        except SlackFailed as failed:
            logger.info("run %s is not shown live any more: %s", self.run_id, failed.code)
            self._mode = {"stream": "updates", "updates": "none", "none": "none"}[self._mode]  # type: ignore[assignment]
            if self._mode == "none":
                self._forget_changes()

    def _too_old(self) -> bool:
        return self._now() - self._since > ROTATE_SECONDS or self._sent > ROTATE_CHARACTERS

    async def _rotate(self) -> None:
        """Go on in another message: this one would soon be ended by Slack."""
        await self._stop_stream(None)
        self._ts = None
        self._text, self._sent = self._text[self._sent :], 0

    async def _stream(self) -> None:
        chunks = self._chunks(whole_lines=True)
        if not chunks:
            return
        if self._ts is None:
            # Counted from before the call: rather too early than too late.
            address, self._since = self._thread.address, self._now()
            started = await self._web.call(
                "chat.startStream",
                channel=self._thread.channel,
                thread_ts=address["ts"],
                recipient_user_id=address.get("user"),
                recipient_team_id=address.get("team"),
                task_display_mode="timeline",
                chunks=chunks,
            )
            self._ts = started["ts"]
            await self._adopt(self._ts)
        else:
            await self._web.call(
                "chat.appendStream", channel=self._thread.channel, ts=self._ts, chunks=chunks
            )
        self._forget_changes(self._complete())

    def _chunks(self, *, whole_lines: bool) -> list[JsonObject]:
        """What is new. Only whole lines: half a link cannot be made safe."""
        chunks = [task_chunk(self._tasks[name]) for name in self._tasks if name in self._changed]
        end = self._complete() if whole_lines else len(self._text)
        text = safe_markdown(self._text[self._sent : end])
        # Lines that end in one chunk must not be joined with the next.
        return [*chunks, {"type": "markdown_text", "text": text}] if text.strip() else chunks

    def _complete(self) -> int:
        """How far the text goes in whole lines; a single long line counts up to its last sentence."""
        end = self._text.rfind("\n") + 1
        if (
            end <= self._sent
            and len(self._text) - self._sent > START_CHARACTERS
            and "[" not in self._text[self._sent :]
        ):
            end = self._text.rfind(". ") + 2
        return max(end, self._sent) if end > 1 else self._sent

    def _forget_changes(self, sent: int | None = None) -> None:
        self._changed.clear()
        self._sent = len(self._text) if sent is None else sent

    async def _update(self) -> None:
        blocks = [*task_blocks(list(self._tasks.values())), *streamed(self._text)]
        plain: JsonObject = {"text": "Working on it.", "blocks": blocks, "parse": "none", "link_names": False}
        if self._ts is None:
            posted = await self._web.call(
                "chat.postMessage",
                channel=self._thread.channel,
                thread_ts=self._thread.address["ts"],
                unfurl_links=False,
                unfurl_media=False,
                **plain,
            )
            self._ts = posted["ts"]
            await self._adopt(self._ts)
        else:
            await self._web.call("chat.update", channel=self._thread.channel, ts=self._ts, **plain)
        self._forget_changes()

    async def _close(self, session: str | None) -> None:
        """End the message, if there is one. What is missing in it, the outbox shows."""
        if self._ts is not None:
            await self._stop_stream(session)
            self._ts = None
        elif session is not None:
            await self._session(session)

    async def _stop_stream(self, session: str | None) -> None:
        if self._mode != "stream":
            return
        try:
            await self._web.call(
                "chat.stopStream",
                channel=self._thread.channel,
                ts=self._ts,
                chunks=self._chunks(whole_lines=False) or None,
                session_status=session,
            )
        except SlackFailed as failed:
            # Slack ended it already, or somebody pressed stop.
            logger.info("the stream of run %s was over: %s", self.run_id, failed.code)
            if session is not None:
                await self._session(session)
        self._forget_changes()

    async def _adopt(self, ts: str | None) -> None:
        """Make this message the one the answer will stand in."""
        if self._records is not None:
            key = f"answer/{self.run_id}"
            post = Post(key=key, thread=self._thread, run_id=self.run_id, kind="answer", subject=self.run_id)
            await self._records.adopt_post(post, ref_of(self._thread.channel, ts) if ts else None)

    async def _status(self, words: str, session: str | None = None) -> None:
        self._said = True
        try:
            where = {"channel_id": self._thread.channel, "thread_ts": self._thread.address["ts"]}
            await self._web.call("assistant.threads.setStatus", **where, status=words)
        except SlackFailed as failed:
            logger.debug("no status: %s", failed.code)
        if session is not None:
            await self._session(session)

    async def _session(self, status: str) -> None:
        try:
            where = {"channel_id": self._thread.channel, "thread_ts": self._thread.address["ts"]}
            initiator = self._thread.address.get("user")
            await self._web.call(
                "agents.sessions.setStatus", **where, status=status, initiator_user_id=initiator
            )
        except SlackFailed as failed:
            logger.debug("no session status: %s", failed.code)
