"""Runs: list, inspect, change while they wait, cancel, fork."""

from dataclasses import replace

from bot.api.bodies import (
    CancelRunBody,
    ChangeBody,
    ForkBody,
    InterruptOut,
    RunBrief,
    RunList,
    RunOut,
    RunRef,
    RunsQuery,
)
from bot.api.calls import Call
from bot.domain.audit import AuditFact
from bot.domain.errors import CheckpointNotFound
from bot.domain.interrupt import Asked
from bot.domain.run import Breakpoint, Head
from bot.engine.snapshot import interrupt_facts, next_steps, snapshot


def interrupt_out(asked: Asked) -> InterruptOut:
    interrupt = asked.interrupt
    facts = interrupt_facts(asked)
    return InterruptOut(run_id=interrupt.run_id, session_id=interrupt.thread_id, **facts)


async def listed(call: Call) -> RunList:
    query: RunsQuery = call.query
    store = call.world.store
    if call.token.may("read"):
        heads = await store.heads(state=query.state, limit=query.limit)
    else:
        own = await store.heads_of(call.token.person, limit=500)
        heads = tuple(head for head in own if query.state in {None, head.state})[: query.limit]
    return RunList(runs=[_brief(head, await store.open_interrupts(head.run_id)) for head in heads])


def _brief(head: Head, waiting: tuple[Asked, ...]) -> RunBrief:
    return RunBrief(
        run_id=head.run_id,
        session_id=head.thread.id,
        state=head.state,
        front=head.thread.front,
        requester=head.requester,
        created_at=head.created_at.isoformat().replace("+00:00", "Z"),
        next=next_steps(head, waiting),
    )


async def inspected(call: Call) -> RunOut:
    return await _whole(call, await call.run())


async def _whole(call: Call, head: Head) -> RunOut:
    store = call.world.store
    asked = await store.interrupts_of(head.run_id)
    facts = snapshot(head, await store.transcript(head.run_id), asked)
    facts["values"]["labels"] = head.labels
    facts["values"]["max_turns"] = head.agent.max_turns
    facts["interrupts"] = [interrupt_out(each) for each in asked]
    return RunOut.model_validate(facts)


async def changed(call: Call) -> RunOut:
    """Change what a waiting run will go on with. What people were asked about stays as it is."""
    body: ChangeBody = call.body
    head = await call.run()
    what = sorted(body.model_fields_set - {"version"})
    about = {"by": call.token.person, "changed": what, "via": "http"}
    fact = AuditFact(kind="request", at=call.world.clock(), run_id=head.run_id, body=about)
    head = await call.world.store.change_waiting(
        head.run_id, lambda head: _applied(head, body), fact, body.version
    )
    if body.note is not None:
        await call.world.runner.note(head.run_id, call.token.person, body.note)
    return await _whole(call, head)


def _applied(head: Head, body: ChangeBody) -> Head:
    agent = head.agent
    if body.instructions is not None:
        agent = replace(agent, instructions=body.instructions)
    if body.max_turns is not None:
        agent = replace(agent, max_turns=body.max_turns)
    head = replace(head, agent=agent)
    if body.breakpoints is not None:
        points = (Breakpoint(**point.model_dump()) for point in body.breakpoints)
        head = replace(head, breakpoints=tuple(points))
    if body.labels is not None:
        head = replace(head, labels=dict(body.labels))
    return head


async def cancelled(call: Call) -> RunRef:
    body: CancelRunBody = call.body
    head = await call.run()
    call.own_or_admin(head)
    await call.world.runner.cancel(head.run_id, call.token.person, body.reason)
    return await _ref(call, head)


async def forked(call: Call) -> RunRef:
    body: ForkBody = call.body
    head = await call.run()
    thread = replace(head.thread, id=call.world.ids.thread(), front="http", address={}, keeps_messages=False)
    run_id = await call.world.runner.fork(head.run_id, at=body.at, by=call.token.person, thread=thread)
    fork = await call.world.store.head(run_id)
    if fork is None:
        raise CheckpointNotFound(run_id)
    return await _ref(call, fork)


async def _ref(call: Call, head: Head) -> RunRef:
    newest = await call.world.store.head(head.run_id) or head
    return RunRef(run_id=newest.run_id, session_id=newest.thread.id, state=newest.state)
