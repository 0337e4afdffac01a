"""The chat: ask, and answer what it asks. The answer is a stream of events."""

import asyncio
from contextlib import aclosing

from aiohttp import web

from bot.api import sse
from bot.api.bodies import AnswerBody, ChatBody, ExactBody, StreamQuery
from bot.api.calls import CORS, STREAM, Call
from bot.api.events import (
    Asking,
    Cursor,
    Decided,
    Ended,
    Finished,
    Proposed,
    Said,
    StreamEvent,
    parse_cursor,
    resume_point,
)
from bot.api.problems import SCOPE_MISSING, SEVERAL_OPEN, UNDER_WAY, ApiError, problem_of
from bot.api.words import read_answer
from bot.domain.canonical import JsonObject
from bot.domain.decision import Answer, describe
from bot.domain.errors import AlreadyResumed, BotError, CheckpointNotFound
from bot.domain.ids import InterruptId, ThreadId
from bot.domain.interrupt import Asked
from bot.domain.run import FINAL, Base, Head, Thread
from bot.engine.runner import Request
from bot.engine.snapshot import interrupt_facts

STALLED_SECONDS = 60.0
_REASONS = {
    "approval": "need_approval",
    "clarification": "need_clarification",
    "input": "need_input",
    "review": "need_review",
    "recovery": "need_recovery",
}


async def start(call: Call) -> web.StreamResponse:
    """Start a run and stream it; with `Last-Event-ID`, go on with a stream that was cut."""
    body: ChatBody = call.body
    if last := call.request.headers.get("Last-Event-ID"):
        # Clients repeat the whole request when a stream breaks; that must not ask twice.
        return await _continue(call, parse_cursor(last), wait=body.wait)
    thread = ThreadId(body.session_id) if body.session_id else call.world.ids.thread()
    previous = await call.world.store.last_of_thread(thread)
    if previous is None and body.session_id:
        raise CheckpointNotFound(thread)
    if previous is not None:
        _may_go_on(call, previous)
    channel = previous.thread.channel if previous else call.token.channel
    key = call.request.headers.get("Idempotency-Key")
    run_id = await call.world.runner.ask(
        Request(
            thread=Thread(id=thread, front="http", channel=channel),
            requester=call.token.person,
            text=body.message,
            agent=call.world.policy.agent(channel),
            breakpoints=call.world.policy.breakpoints(channel),
            key=f"http/{call.token.person}/{key}" if key else None,
            base=Base(run_id=previous.run_id, cursor=previous.cursor) if previous else None,
        )
    )
    known = await call.world.store.head(run_id)
    session = known.thread.id if known else thread
    return await respond(call, session, Cursor(run=run_id), wait=body.wait)


def _may_go_on(call: Call, previous: Head) -> None:
    call.may_see(previous)
    call.own_or_admin(previous)
    if previous.thread.front != "http":
        raise ApiError(
            UNDER_WAY, "This conversation is held elsewhere; answer its interrupts, or start a new one."
        )
    if previous.state not in FINAL - {"quarantined"}:
        detail = f"Run {previous.run_id} is {previous.state}. Resume or cancel it first."
        raise ApiError(UNDER_WAY, detail, run_id=previous.run_id, state=previous.state)


async def resume(call: Call) -> web.StreamResponse:
    """Answer an interrupt and stream what follows, from the point where the run asked."""
    body = call.body.root
    if last := call.request.headers.get("Last-Event-ID"):
        return await _continue(call, parse_cursor(last), wait=body.wait)
    asked, answer = await _answered(call, body)
    interrupt = asked.interrupt
    head, entries, everything = await call.world.store.progress(interrupt.run_id, 0)
    if head.requester != call.token.person and not call.token.may("read"):
        # Whoever may decide need not see the rest of the run.
        raise ApiError(SCOPE_MISSING, "Decide it with POST /api/v1/approvals/…, or have the scope 'read'.")
    cursor = resume_point(interrupt.run_id, entries, everything, [interrupt.id])
    await call.world.runner.decide(interrupt.id, answer, call.token.holder, via="http")
    return await respond(call, interrupt.thread_id, cursor, wait=body.wait)


async def _answered(call: Call, body: AnswerBody | ExactBody) -> tuple[Asked, Answer]:
    match body:
        case AnswerBody():
            asked = await _only_open(call, ThreadId(body.session_id))
            return asked, read_answer(asked.interrupt, body.answer)
        case ExactBody():
            asked = await call.world.store.asked(InterruptId(body.interrupt_id))
            if asked is None:
                raise CheckpointNotFound(body.interrupt_id)
            return asked, body.decision.answer()


async def _only_open(call: Call, session: ThreadId) -> Asked:
    """The one question a session waits for."""
    head = await call.world.store.last_of_thread(session)
    if head is None:
        raise CheckpointNotFound(session)
    call.may_see(head)
    waiting = await call.world.store.open_interrupts(head.run_id)
    match waiting:
        case ():
            raise AlreadyResumed(head.run_id, head.state)
        case (only,):
            return only
        case _:
            names = [each.interrupt.id for each in waiting]
            detail = f"Answer each by its interrupt_id: {', '.join(names)}."
            raise ApiError(SEVERAL_OPEN, detail, interrupts=names)


async def events(call: Call) -> web.StreamResponse:
    """Follow a session's newest run, or go on after `Last-Event-ID`."""
    query: StreamQuery = call.query
    session = ThreadId(call.named("session_id"))
    if last := call.request.headers.get("Last-Event-ID"):
        cursor = parse_cursor(last)
    else:
        head = await call.world.store.last_of_thread(session)
        if head is None:
            raise CheckpointNotFound(session)
        cursor = Cursor(run=head.run_id)
    return await _continue(call, cursor, wait=query.wait, session=session)


async def _continue(
    call: Call, cursor: Cursor, *, wait: bool, session: ThreadId | None = None
) -> web.StreamResponse:
    head = await call.world.store.head(cursor.run)
    if head is None or (session is not None and head.thread.id != session):
        raise CheckpointNotFound(cursor.run)
    call.may_see(head)
    if cursor.ended:
        # Tells an EventSource not to connect again.
        return web.Response(status=204, headers={"X-Session-Id": head.thread.id})
    return await respond(call, head.thread.id, cursor, wait=wait)


async def respond(call: Call, session: ThreadId, cursor: Cursor, *, wait: bool) -> web.StreamResponse:
    """Stream everything after `cursor` until the run ends or waits for people."""
    with call.api.meter.stream(call.token.name):
        response = await open_stream(call.request, {"X-Session-Id": session, "X-Run-Id": cursor.run})
        try:
            async with asyncio.timeout(call.world.limits.stream_seconds):
                await _tell(call, response, session, cursor, wait=wait)
        except TimeoutError:
            pass
        except BotError as error:
            code = problem_of(error).slug
            body = {"type": "error", "code": code, "message": str(error), "session_id": session}
            await send(response, sse.json_event(body))
        await response.write_eof()
        return response


async def _tell(
    call: Call, response: web.StreamResponse, session: ThreadId, cursor: Cursor, *, wait: bool
) -> None:
    async with aclosing(call.api.streams.follow(cursor, through_interrupts=wait)) as told:
        async for event, after in told:
            if event is None:
                await send(response, sse.KEEP_ALIVE)
            else:
                body = told_as(event) | {"session_id": session, "run_id": after.run}
                await send(response, sse.json_event(body, id=str(after)))


async def open_stream(request: web.Request, headers: dict[str, str]) -> web.StreamResponse:
    cors = request.get(CORS, {})
    quiet = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    response = web.StreamResponse(headers={**quiet, **cors, **headers})
    response.content_type = "text/event-stream"
    response.charset = "utf-8"
    await response.prepare(request)
    # Whatever fails from here on cannot become another response.
    request[STREAM] = response
    return response


async def send(response: web.StreamResponse, text: str) -> None:
    """Write to a client; one that reads nothing for so long has gone."""
    try:
        async with asyncio.timeout(STALLED_SECONDS):
            await response.write(text.encode("utf-8", "replace"))
    except TimeoutError as error:
        raise ConnectionResetError("the client reads nothing") from error


def told_as(event: StreamEvent) -> JsonObject:  # noqa: PLR0911 - a table
    """One event as clients of the chat read it."""
    match event:
        case Said(text=text, replaces=replaces):
            return {"type": "text", "text": text, **({"replace": True} if replaces else {})}
        case Proposed(call=call):
            return {"type": "tool_call", "id": call.id, "tool": call.tool, "args": call.args}
        case Finished(result=result):
            told = {"status": result.status, "text": result.text, "notice": result.notice}
            return {"type": "tool_result", "id": result.call_id, **told}
        case Asking(interrupt=interrupt):
            facts = interrupt_facts(Asked(interrupt=interrupt))
            head = {"type": "interrupt", "reason": _REASONS[interrupt.kind], "prompt": interrupt.reason}
            return head | {"interrupt_id": interrupt.id, "call_id": interrupt.call_id, "question": facts}
        case Decided(interrupt_id=name, outcome=outcome):
            by = outcome.decision.by if outcome.kind == "decided" else None
            return {"type": "decision", "interrupt_id": name, "outcome": describe(outcome), "by": by}
        case Ended(state="failed" | "quarantined" as state, text=text):
            return {"type": "error", "code": state, "message": text}
        case Ended(state=state, text=text):
            return {"type": "done", "state": state, "text": text}
