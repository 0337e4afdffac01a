"""Socket Mode: one-time addresses, at most ten sockets, each envelope to exactly one of them."""

import asyncio
import json
from collections import deque
from dataclasses import dataclass, field

from aiohttp import WSMsgType, web

from bot.playground.delivery import Courier, Delivery
from bot.playground.shapes import Json, as_dict
from bot.playground.transcript import Transcript
from bot.playground.world import APP_ID, World

MOST_SOCKETS = 10


@dataclass(slots=True, eq=False)
class Socket:
    number: int
    ws: web.WebSocketResponse
    request: web.Request
    outgoing: asyncio.Queue[Json | None] = field(default_factory=asyncio.Queue["Json | None"])
    #: Envelopes sent here and not acked yet, for those who ask for strict acks.
    carried: set[str] = field(default_factory=set[str])

    async def write(self) -> None:
        while (frame := await self.outgoing.get()) is not None:
            try:
                await self.ws.send_str(json.dumps(frame))
            except ConnectionError:
                return


class Sockets:
    timeout_reason = "timeout"

    def __init__(self, world: World, transcript: Transcript) -> None:
        self._world = world
        self._transcript = transcript
        self._tickets: set[str] = set()
        self._open: deque[Socket] = deque()
        #: How many were accepted so far.
        self.opened = 0
        self.courier: Courier | None = None

    @property
    def count(self) -> int:
        return len(self._open)

    def new_address(self, url: str) -> str:
        ticket = self._world.next_secret("")
        self._tickets.add(ticket)
        return f"{url.replace('http', 'ws', 1)}/link/?ticket={ticket}&app_id={APP_ID}"

    def carry(self, delivery: Delivery) -> bool:
        self._forget_closed()
        if not self._open:
            return False
        socket = self._open[0]
        self._open.rotate(-1)
        socket.carried.add(delivery.id)
        socket.outgoing.put_nowait(delivery.envelope())
        return True

    def disconnect(self, reason: str = "refresh_requested") -> None:
        """Ask every socket to go away, as Slack does every few hours: the app comes back on a new one."""
        for socket in self._open:
            socket.outgoing.put_nowait(
                {"type": "disconnect", "reason": reason, "debug_info": {"host": "playground"}}
            )
        self._transcript.note("->", f"disconnect ({reason})")

    def drop(self) -> None:
        """Cut every connection without a word."""
        for socket in self._open:
            if socket.request.transport is not None:
                socket.request.transport.abort()
        self._open.clear()
        self._transcript.note("--", "all sockets lost")
        self._changed()

    async def close(self) -> None:
        for socket in list(self._open):
            await socket.ws.close(code=1001)

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            raise web.HTTPUnauthorized(text="this address was used before or never issued")
        self._tickets.remove(ticket)
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        self._forget_closed()
        if len(self._open) >= MOST_SOCKETS:
            await ws.send_json({"type": "disconnect", "reason": "too_many_websockets"})
            await ws.close()
            return ws
        self.opened += 1
        socket = Socket(self.opened, ws, request)
        self._open.append(socket)
        await ws.send_json(self._hello())
        self._transcript.note("--", f"socket {socket.number} connected, {len(self._open)} open")
        self._changed()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(socket.write())
            try:
                await self._read(socket)
            finally:
                socket.outgoing.put_nowait(None)
                self._forget(socket)
        return ws

    async def _read(self, socket: Socket) -> None:
        async for frame in socket.ws:
            if frame.type is not WSMsgType.TEXT:
                continue
            try:
                ack = as_dict(json.loads(frame.data)) or {}
            except ValueError:
                ack = {}
            envelope_id = str(ack.get("envelope_id"))
            if self.courier is None:
                continue
            if self.courier.faults.strict_acks and envelope_id not in socket.carried:
                self._transcript.note("<-", f"ack of {envelope_id} on another socket, ignored")
                self._world.changed("ack_ignored", {"id": envelope_id})
                continue
            socket.carried.discard(envelope_id)
            self.courier.acked(envelope_id, as_dict(ack.get("payload")))

    def _hello(self) -> Json:
        return {
            "type": "hello",
            "num_connections": len(self._open),
            "connection_info": {"app_id": APP_ID},
            "debug_info": {"host": "playground", "approximate_connection_time": 18060},
        }

    def _forget_closed(self) -> None:
        for socket in [socket for socket in self._open if socket.ws.closed]:
            self._forget(socket)

    def _forget(self, socket: Socket) -> None:
        if socket in self._open:
            self._open.remove(socket)
            self._transcript.note("--", f"socket {socket.number} gone, {len(self._open)} open")
            self._changed()

    def _changed(self) -> None:
        self._world.changed("sockets", {"open": len(self._open)})
