"""One request as handlers see it: who calls, what they sent, and helpers all of them need."""

from dataclasses import dataclass
from typing import Any

from aiohttp import web

from bot.api.limits import Meter
from bot.api.metrics import Metrics
from bot.api.ports import World
from bot.api.problems import SCOPE_MISSING, ApiError
from bot.api.stream import Streams
from bot.domain.errors import CheckpointNotFound
from bot.domain.ids import RunId
from bot.domain.run import Head
from bot.domain.token import Token

#: The stream a request has begun to answer with, and the headers it must carry for its page.
STREAM = web.RequestKey("stream", web.StreamResponse)
CORS = web.RequestKey("cors", dict[str, str])
#: The name of the token it came with.
TOKEN = web.RequestKey("token", str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """What the handlers share."""

    world: World
    streams: Streams
    meter: Meter
    metrics: Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request that was let in."""

    api: Api
    request: web.Request
    token: Token
    #: The parsed body and query, of the types the route names.
    body: Any
    query: Any

    @property
    def world(self) -> World:
        return self.api.world

    def named(self, name: str) -> str:
        return self.request.match_info[name]

    def may_see(self, head: Head) -> None:
        """People see their own runs; `read` sees all. Others are told nothing of what exists."""
        if head.requester != self.token.person and not self.token.may("read"):
            raise CheckpointNotFound(head.run_id)

    async def run(self) -> Head:
        """The run the path names, if this token may see it."""
        run_id = RunId(self.named("run_id"))
        head = await self.world.store.head(run_id)
        if head is None:
            raise CheckpointNotFound(run_id)
        self.may_see(head)
        return head

    def own_or_admin(self, head: Head) -> None:
        if head.requester != self.token.person and not self.token.may("admin"):
            raise ApiError(SCOPE_MISSING, "Somebody else's run is changed only with the scope 'admin'.")
