"""AG-UI over HTTP: RunAgentInput in, events out; and what clients ask before or after a run."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from ag_ui.core import (
    PROTOCOL_VERSION,
    AgentCapabilities,
    BaseEvent,
    CustomEvent,
    MessagesSnapshotEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateSnapshotEvent,
)
from ag_ui.core import Interrupt as WireInterrupt
from ag_ui.encoder import EventEncoder
from aiohttp import web
from pydantic import Field

from bot.api import agui, sse
from bot.api.agui_input import fields_of, tool_answers
from bot.api.agui_plan import Plan, Planner, Rejected, Waiting, client_calls, head_of, thread_of, waiting_for
from bot.api.bodies import Answered
from bot.api.calls import Call
from bot.api.chat import open_stream, send
from bot.api.events import Cursor, Ended
from bot.domain.canonical import JsonObject
from bot.domain.errors import BotError, CheckpointNotFound
from bot.domain.ids import RunId
from bot.domain.run import Head
from bot.engine.snapshot import next_steps

Capabilities = AgentCapabilities
_TOO_LONG = "The stream was open for too long; ask again to go on."


class OpenInterrupts(Answered):
    """What a thread waits for, as in the outcome of its last run."""

    threadId: str  # noqa: N815 - AG-UI's spelling
    interrupts: list[JsonObject] = Field(default_factory=list[JsonObject])
    pendingToolCallIds: list[str] = Field(default_factory=list[str])  # noqa: N815


async def run(call: Call) -> web.StreamResponse:
    """Run, resume or only look, as the input says."""
    sent: RunAgentInput = call.body
    with call.api.meter.stream(call.token.name):
        try:
            plan = await Planner(call, sent).plan()
        except Rejected as rejected:
            plan = rejected
        response = await open_stream(call.request, {"X-Session-Id": _header(thread_of(call, sent.thread_id))})
        encoder = EventEncoder()
        async with aclosing(_events(call, sent, plan)) as told:
            async for event in told:
                text = encoder.encode(event) if event is not None else sse.KEEP_ALIVE
                await send(response, text)
        await response.write_eof()
        return response


def _header(text: str) -> str:
    return "".join(char if "!" <= char <= "~" else "?" for char in text[:200])


async def _events(call: Call, sent: RunAgentInput, plan: Plan | Rejected) -> AsyncGenerator[BaseEvent | None]:
    """Everything one request is told; None is a keep-alive."""
    yield RunStartedEvent(thread_id=sent.thread_id, run_id=sent.run_id, protocol_version=PROTOCOL_VERSION)
    if isinstance(plan, Rejected):
        yield RunErrorEvent(message=str(plan), code=plan.code)
        return
    # Looked at between events, of which a keep-alive is one: a timeout around a generator would hit its reader.
    until = time.monotonic() + call.world.limits.stream_seconds
    for warning in plan.warnings:
        yield CustomEvent(name="askfirst.warning", value=warning)
    try:
        async with aclosing(_told(call, sent, plan.cursor)) as told:
            async for event in told:
                if time.monotonic() > until:
                    yield RunErrorEvent(message=_TOO_LONG, code="STREAM_TIMEOUT")
                    return
                yield event
    except BotError as error:
        yield RunErrorEvent(message=str(error), code="RUN_FAILED")


async def _told(call: Call, sent: RunAgentInput, cursor: Cursor) -> AsyncGenerator[BaseEvent | None]:
    head = await head_of(call, cursor.run)
    answered = (await client_calls(call, head)) & tool_answers(sent.messages).keys()
    narrator = agui.Narrator(cursor.run, answered_there=frozenset(answered))
    ended: Ended | None = None
    async with aclosing(call.api.streams.follow(cursor)) as stream:
        async for event, _ in stream:
            if event is None:
                yield None
                continue
            for each in narrator.tell(event):
                yield each
            ended = event if isinstance(event, Ended) else ended
    for each in narrator.stop():
        yield each
    async for each in _closing(call, sent, cursor, ended):
        yield each


async def _closing(
    call: Call, sent: RunAgentInput, began: Cursor, ended: Ended | None
) -> AsyncGenerator[BaseEvent]:
    """Snapshots, then how it ended. An interrupted run never ends as a success."""
    head, entries, _ = await call.world.store.progress(began.run, began.entry)
    waiting = await waiting_for(call, head)
    yield StateSnapshotEvent(snapshot=_state(sent.state, head, waiting))
    yield MessagesSnapshotEvent(messages=agui.messages(await _parts(call, head), sent.messages))
    if ended is not None and ended.state in {"failed", "quarantined"}:
        yield RunErrorEvent(message=ended.text, code="RUN_FAILED", usage=agui.usage_of(entries))
        return
    interrupts = _interrupts(call, head, waiting)
    if call.world.legacy_agui:
        for each in interrupts:
            yield CustomEvent(name="on_interrupt", value=each.model_dump_json(by_alias=True))
    yield RunFinishedEvent(
        thread_id=sent.thread_id,
        run_id=sent.run_id,
        outcome=_outcome(sent, interrupts, waiting, ended),
        usage=agui.usage_of(entries),
    )


def _outcome(
    sent: RunAgentInput, interrupts: list[WireInterrupt], waiting: Waiting, ended: Ended | None
) -> RunFinishedOutcome:
    if interrupts:
        return RunFinishedInterruptOutcome(interrupts=interrupts)
    if sent.protocol_version is None:
        # A client from before 1.0 (CopilotKit 1.74 has one) refuses what was added since.
        return RunFinishedSuccessOutcome()
    if ended is not None and ended.state == "cancelled":
        return RunFinishedCancelledOutcome()
    pending = _pending(waiting)
    return (
        RunFinishedSuccessOutcome(pending_tool_call_ids=pending) if pending else RunFinishedSuccessOutcome()
    )


def _interrupts(call: Call, head: Head, waiting: Waiting) -> list[WireInterrupt]:
    tools = {tool.name: tool for tool in call.world.policy.tools(head.agent)}
    return [
        agui.wire_interrupt(
            each.interrupt, tools.get(each.interrupt.planned.tool) if each.interrupt.planned else None
        )
        for each in waiting.questions
    ]


def _pending(waiting: Waiting) -> list[str]:
    return [each.interrupt.call_id for each in waiting.calls if each.interrupt.call_id]


def _state(given: Any, head: Head, waiting: Waiting) -> JsonObject:
    """The client's own state, untouched, and beside it where the run stands."""
    ours = {
        "runId": head.run_id,
        "state": head.state,
        "next": next_steps(head, waiting.questions),
        "openInterrupts": len(waiting.questions),
    }
    return {**fields_of(given), "askfirst": ours}


async def _parts(call: Call, head: Head) -> list[agui.Part]:
    """The runs of a conversation, oldest first, each as far as the next one continues it."""
    parts: list[agui.Part] = []
    run_id: RunId | None = head.run_id
    cursor = head.cursor
    while run_id is not None:
        this, entries, _ = await call.world.store.progress(run_id, 0)
        parts.append(agui.Part(run=run_id, entries=entries[:cursor]))
        run_id, cursor = (this.base.run_id, this.base.cursor) if this.base else (None, 0)
    return parts[::-1]


async def interrupts(call: Call) -> OpenInterrupts:
    name = call.named("thread_id")
    head = await call.world.store.last_of_thread(thread_of(call, name))
    if head is None:
        raise CheckpointNotFound(name)
    waiting = await waiting_for(call, head)
    found = [each.model_dump(by_alias=True, mode="json") for each in _interrupts(call, head, waiting)]
    return OpenInterrupts(threadId=name, interrupts=found, pendingToolCallIds=_pending(waiting))


async def capabilities(call: Call) -> AgentCapabilities:
    tools = call.world.policy.tools(call.world.policy.agent(call.token.channel))
    return AgentCapabilities.model_validate(
        {
            "identity": {
                "name": "askfirst",
                "type": "askfirst",
                "description": "An agent that asks before it acts.",
            },
            "transport": {"streaming": True, "resumable": True},
            "tools": {
                "supported": True,
                "clientProvided": True,
                "items": [
                    {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
                    for tool in tools
                ],
            },
            "state": {"snapshots": True, "deltas": False, "persistentState": True},
            "humanInTheLoop": {
                "supported": True,
                "approvals": True,
                "interventions": True,
                "feedback": False,
                "interrupts": True,
                "approveWithEdits": True,
            },
        }
    )
