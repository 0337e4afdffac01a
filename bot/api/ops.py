"""For operators: is it alive, is it ready, how is it doing, and what does it offer."""

import asyncio
import logging

from aiohttp import web

from bot.api.bodies import Health
from bot.api.calls import Call
from bot.api.ports import Check, World

logger = logging.getLogger(__name__)

#: A check that takes longer has failed.
_SECONDS = 5.0


async def ready(call: Call) -> web.Response:
    """Ask everything a run depends on; 503 if anything is missing."""
    world = call.world
    checks: dict[str, Check] = {"database": lambda: _database(world), **world.checks}
    answers = await asyncio.gather(*(_asked(name, check) for name, check in checks.items()))
    found = dict(zip(checks, answers, strict=True))
    failing = any(found.values())
    health = Health(
        status="failing" if failing else "ok", checks={name: why or "ok" for name, why in found.items()}
    )
    return web.json_response(text=health.model_dump_json(), status=503 if failing else 200)


async def _asked(name: str, check: Check) -> str:
    try:
        async with asyncio.timeout(_SECONDS):
            return await check()
    except TimeoutError:
        return f"no answer within {_SECONDS:g} s"
    except Exception:
        # Vendor text may name hosts and paths; it belongs in the log.
        logger.exception("readiness check failed", extra={"check": name})
        return "failed; see the log"


async def _database(world: World) -> str:
    await world.store.touched_since(-1)
    return ""


async def metrics(call: Call) -> web.Response:
    now = call.world.clock()
    body = call.api.metrics.render(await call.world.store.figures(now), now)
    return web.Response(body=body, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})
