"""AG-UI over HTTP."""

from ag_ui.core import RunAgentInput
from aiohttp import web

from bot.api.bodies import Answered
from bot.api.calls import Call


class Capabilities(Answered):
    pass


class OpenInterrupts(Answered):
    pass


async def run(call: Call) -> web.StreamResponse:
    raise NotImplementedError


async def capabilities(call: Call) -> Capabilities:
    return Capabilities()


async def interrupts(call: Call) -> OpenInterrupts:
    return OpenInterrupts()


__all__ = ["Capabilities", "OpenInterrupts", "RunAgentInput", "capabilities", "interrupts", "run"]
