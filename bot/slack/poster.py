"""The outbox: takes what has to be shown, renders it from its rows at that moment, and sends it.

One task per process takes; a lease in the row makes it one writer per message over all processes. What may have reached
Slack without an answer is looked for in the thread before it is posted again: each message carries its key.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta

from bot.domain.canonical import JsonObject
from bot.domain.ids import WorkerId
from bot.engine.ports import Clock, DuePost
from bot.slack.address import FRONT, Address, address_of, parts_of, ref_of
from bot.slack.ports import Records
from bot.slack.render import Renderer
from bot.slack.web import SlackFailed, Web

logger = logging.getLogger(__name__)

#: Longer than any call takes; a dead process's leases are freed at the next start anyway.
LEASE = timedelta(seconds=60)
#: How often to look for what other processes left to be shown.
POLL_SECONDS = 1.0
AT_ONCE = 8
#: One decision changes a card several times: decided, started, finished.
GATHER_SECONDS = 0.008
_LONGEST_WAIT = timedelta(minutes=5)
#: The message is not there any more, or nobody may change it.
_GONE = {"message_not_found", "cant_update_message", "edit_window_closed", "message_not_owned_by_app"}
#: The thread is not there any more: better in the channel than nowhere.
_NO_THREAD = {"thread_not_found", "cannot_reply_to_message", "invalid_thread_ts"}
#: Slack does not take our blocks. A plain message is better than none.
_NO_BLOCKS = {"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"}


class Poster:
    """The one writer of the messages that must be there."""

    def __init__(
        self, records: Records, web: Web, renderer: Renderer, *, worker: WorkerId, clock: Clock
    ) -> None:
        self._records = records
        self._web = web
        self._renderer = renderer
        self._worker = worker
        self._clock = clock
        self._poked = asyncio.Event()
        self._going: set[asyncio.Task[None]] = set()

    def poke(self) -> None:
        """Something may have to be shown; never waits."""
        self._poked.set()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["Poster"]:
        """Post inside this block; at its end finish what is under way and let go of the rest."""
        await self._records.free_posts(self._worker, self._clock())
        async with asyncio.TaskGroup() as group:
            loop = group.create_task(self._run(group))
            try:
                yield self
            finally:
                loop.cancel()
                if self._going:
                    await asyncio.wait(self._going, timeout=5)
                for task in self._going:
                    task.cancel()
        await self._records.free_posts(self._worker, self._clock())

    async def _run(self, group: asyncio.TaskGroup) -> None:
        while True:
            self._poked.clear()
            try:
                await self._take(group)
                wait = await self._until_next()
            except Exception:
                logger.exception("the outbox could not be read; trying again")
                wait = POLL_SECONDS
            try:
                async with asyncio.timeout(wait):
                    await self._poked.wait()
                # What is changed in the same moment is shown in one go.
                await asyncio.sleep(GATHER_SECONDS)
            except TimeoutError:
                continue

    async def _take(self, group: asyncio.TaskGroup) -> None:
        room = AT_ONCE - len(self._going)
        now = self._clock()
        if room <= 0:
            return
        for due in await self._records.take_posts(FRONT, self._worker, now, until=now + LEASE, limit=room):
            task = group.create_task(self._show(due), name=f"post {due.key}")
            self._going.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._going.discard(task)
        self.poke()

    async def _until_next(self) -> float:
        due = await self._records.next_post(FRONT)
        if due is None:
            return POLL_SECONDS
        seconds = (due - self._clock()).total_seconds()
        # Due now but not taken: it is under way here, or held elsewhere.
        return POLL_SECONDS if seconds <= 0 else min(seconds, POLL_SECONDS)

    # One message ----------------------------------------------------------------------------------------

    async def _show(self, due: DuePost) -> None:
        try:
            rendered = await self._renderer.render(due)
            ref = await self._send(due, rendered.message) if rendered.message else due.ref
            await self._records.post_shown(due.key, due.revision, ref)
            if rendered.file:
                where = address_of(due.thread_id)
                await self._web.upload(where.channel, where.ts, f"answer-{due.run_id}.md", rendered.file)
        except SlackFailed as failed:
            await self._failed(due, failed)
        except Exception:
            logger.exception("cannot show %s; trying again later", due.key)
            await self._records.post_failed(due.key, self._later(due), was_sent=due.maybe_sent)

    async def _send(self, due: DuePost, message: JsonObject) -> str:
        ref = due.ref or (await self._find(due) if due.maybe_sent else None)
        if ref is not None and await self._update(ref, message):
            return ref
        return await self._post(due, message)

    async def _update(self, ref: str, message: JsonObject) -> bool:
        """Change the message; False if it is gone and has to be posted anew."""
        channel, ts = parts_of(ref)
        try:
            await self._changed(channel, ts, message)
        except SlackFailed as failed:
            if failed.code in _GONE:
                return False
            if failed.code == "streaming_state_conflict":
                # A process died, or was slow, while it streamed this: end the stream and take over.
                await self._web.call("chat.stopStream", channel=channel, ts=ts)
                await self._changed(channel, ts, message)
                return True
            if failed.code in _NO_BLOCKS:
                logger.exception("Slack refuses the blocks of %s: %s", ref, failed.code)
                await self._changed(channel, ts, {"text": message["text"], "blocks": []})
                return True
            raise
        return True

    async def _changed(self, channel: str, ts: str, message: JsonObject) -> None:
        # Unlike postMessage, update would parse names and links by default.
        await self._web.call("chat.update", channel=channel, ts=ts, **message, parse="none", link_names=False)

    async def _post(self, due: DuePost, message: JsonObject) -> str:
        where = await self._place(due)
        try:
            return await self._posted(where, where.ts or None, due, message)
        except SlackFailed as failed:
            if failed.code in _NO_THREAD:
                return await self._posted(where, None, due, message)
            if failed.code in _NO_BLOCKS:
                logger.exception("Slack refuses the blocks of %s: %s", due.key, failed.code)
                plain: JsonObject = {"text": message["text"], "blocks": []}
                return await self._posted(where, where.ts or None, due, plain)
            raise

    async def _place(self, due: DuePost) -> Address:
        """Where to post. A message to a person goes to the conversation with them, not to their id."""
        where = address_of(due.thread_id)
        if not where.ts and where.channel.startswith(("U", "W")):
            opened = await self._web.call("conversations.open", users=where.channel)
            where = replace(where, channel=opened["channel"]["id"])
        return where

    async def _posted(self, where: Address, thread_ts: str | None, due: DuePost, message: JsonObject) -> str:
        answer = await self._web.call(
            "chat.postMessage",
            channel=where.channel,
            thread_ts=thread_ts,
            **message,
            metadata={"event_type": "askfirst_message", "event_payload": {"key": due.key}},
            parse="none",
            link_names=False,
            unfurl_links=False,
            unfurl_media=False,
        )
        return ref_of(answer["channel"], answer["ts"])

    async def _find(self, due: DuePost) -> str | None:
        """Look whether an attempt without an answer arrived after all."""
        where = await self._place(due)
        cursor: str | None = None
        while True:
            page = await self._web.read(
                "conversations.replies" if where.ts else "conversations.history",
                channel=where.channel,
                ts=where.ts or None,
                include_all_metadata=True,
                limit=200,
                cursor=cursor,
            )
            for message in reversed(page["messages"]):
                payload = message.get("metadata", {}).get("event_payload", {})
                if payload.get("key") == due.key:
                    return ref_of(where.channel, message["ts"])
            cursor = page.get("response_metadata", {}).get("next_cursor") or None
            if cursor is None:
                return None

    async def _failed(self, due: DuePost, failed: SlackFailed) -> None:
        later = self._later(due)
        if failed.retry_after is not None:
            later = self._clock() + timedelta(seconds=failed.retry_after)
        logger.warning("cannot show %s: %s; trying again at %s", due.key, failed.code, later)
        # What could not be looked for stays in doubt.
        in_doubt = failed.may_have_happened or due.maybe_sent
        await self._records.post_failed(due.key, later, was_sent=in_doubt)

    def _later(self, due: DuePost) -> datetime:
        wait = timedelta(milliseconds=200) * 4 ** min(due.attempts, 8)
        return self._clock() + min(wait, _LONGEST_WAIT)
