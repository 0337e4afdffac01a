"""Every route: who may call it, what it takes and gives. The server and the OpenAPI document are made from this."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from aiohttp import web
from pydantic import BaseModel

from bot.api import agui_route, approvals, bodies, chat, ops, problems, runs
from bot.api.calls import Call
from bot.api.problems import Problem
from bot.domain.token import Scope

Answer: TypeAlias = web.StreamResponse | BaseModel
Handler: TypeAlias = Callable[[Call], Awaitable[Answer]]
Media = Literal["application/json", "text/event-stream", "text/plain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    method: Literal["GET", "POST", "PATCH"]
    path: str
    handler: Handler
    #: The scope a token needs.
    scope: Scope
    summary: str
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    gives: type[BaseModel] | None = None
    media: Media = "application/json"
    problems: tuple[Problem, ...] = ()
    #: Streams have a time limit of their own.
    streams: bool = False
    #: Further statuses that are no problems.
    also: tuple[int, ...] = ()


_ANSWERING = (
    problems.CHECKPOINT_NOT_FOUND,
    problems.ALREADY_RESUMED,
    problems.NOT_ALLOWED,
    problems.INVALID_ANSWER,
)
_FINDING = (problems.CHECKPOINT_NOT_FOUND, problems.CORRUPT)

ROUTES: tuple[Route, ...] = (
    Route(
        method="POST",
        path="/api/v1/chat",
        handler=chat.start,
        scope="ask",
        summary="Ask; the answer is a stream of text, tool_call, tool_result, interrupt, decision, done, error",
        body=bodies.ChatBody,
        media="text/event-stream",
        problems=(problems.CHECKPOINT_NOT_FOUND, problems.UNDER_WAY, problems.INVALID_ANSWER),
        streams=True,
        also=(204,),
    ),
    Route(
        method="POST",
        path="/api/v1/chat/resume",
        handler=chat.resume,
        scope="decide",
        summary="Answer an interrupt; the stream goes on from where the run asked",
        body=bodies.ResumeBody,
        media="text/event-stream",
        problems=(*_ANSWERING, problems.SEVERAL_OPEN),
        streams=True,
        also=(204,),
    ),
    Route(
        method="GET",
        path="/api/v1/chat/{session_id}/events",
        handler=chat.events,
        scope="ask",
        summary="Follow a session, or go on with a cut stream after Last-Event-ID",
        query=bodies.StreamQuery,
        media="text/event-stream",
        problems=(problems.CHECKPOINT_NOT_FOUND, problems.INVALID_ANSWER),
        streams=True,
        also=(204,),
    ),
    Route(
        method="GET",
        path="/api/v1/runs",
        handler=runs.listed,
        scope="ask",
        summary="Runs, newest first; one's own, or with the scope read all",
        query=bodies.RunsQuery,
        gives=bodies.RunList,
    ),
    Route(
        method="GET",
        path="/api/v1/runs/{run_id}",
        handler=runs.inspected,
        scope="ask",
        summary="What is next, values, metadata, transcript, interrupts",
        gives=bodies.RunOut,
        problems=_FINDING,
    ),
    Route(
        method="PATCH",
        path="/api/v1/runs/{run_id}",
        handler=runs.changed,
        scope="admin",
        summary="Change a run that waits, before it is resumed",
        body=bodies.ChangeBody,
        gives=bodies.RunOut,
        problems=(*_FINDING, problems.ALREADY_RESUMED, problems.LOST_RACE),
    ),
    Route(
        method="POST",
        path="/api/v1/runs/{run_id}/cancel",
        handler=runs.cancelled,
        scope="ask",
        summary="Stop a run; what it was about to do is not done",
        body=bodies.CancelRunBody,
        gives=bodies.RunRef,
        problems=(*_FINDING, problems.ALREADY_RESUMED),
    ),
    Route(
        method="POST",
        path="/api/v1/runs/{run_id}/fork",
        handler=runs.forked,
        scope="ask",
        summary="Go another way from an earlier point, in a session of its own",
        body=bodies.ForkBody,
        gives=bodies.RunRef,
        problems=(*_FINDING, problems.INVALID_ANSWER),
    ),
    Route(
        method="GET",
        path="/api/v1/approvals",
        handler=approvals.listed,
        scope="decide",
        summary="Open interrupts this person may answer or has asked for; with the scope read all",
        gives=bodies.ApprovalList,
    ),
    Route(
        method="GET",
        path="/api/v1/approvals/{interrupt_id}",
        handler=approvals.inspected,
        scope="decide",
        summary="One interrupt, and how it stands",
        gives=bodies.InterruptOut,
        problems=(problems.CHECKPOINT_NOT_FOUND,),
    ),
    Route(
        method="POST",
        path="/api/v1/approvals/{interrupt_id}/decision",
        handler=approvals.decided,
        scope="decide",
        summary="Decide an interrupt, from whichever front it comes; the run goes on",
        body=bodies.DecideBody,
        gives=bodies.DecisionOut,
        problems=_ANSWERING,
    ),
    Route(
        method="GET",
        path="/api/v1/approvals/{interrupt_id}/explain",
        handler=approvals.explained,
        scope="decide",
        summary="Why it is asked: every rule that was looked at",
        gives=bodies.ExplanationOut,
        problems=(problems.CHECKPOINT_NOT_FOUND, problems.NOT_FOUND),
    ),
    Route(
        method="POST",
        path="/api/v1/policy/explain",
        handler=approvals.explained_call,
        scope="ask",
        summary="What the policy says to a call, and why; nothing is run",
        body=bodies.ExplainBody,
        gives=bodies.ExplanationOut,
    ),
    Route(
        method="POST",
        path="/agui",
        handler=agui_route.run,
        scope="ask",
        summary="AG-UI 1.0: RunAgentInput in, events out",
        body=agui_route.RunAgentInput,
        media="text/event-stream",
        streams=True,
    ),
    Route(
        method="GET",
        path="/agui/capabilities",
        handler=agui_route.capabilities,
        scope="ask",
        summary="What this agent can do, as AG-UI AgentCapabilities",
        gives=agui_route.Capabilities,
    ),
    Route(
        method="GET",
        path="/agui/threads/{thread_id}/interrupts",
        handler=agui_route.interrupts,
        scope="ask",
        summary="Open interrupts of a thread, for clients that reconnect",
        gives=agui_route.OpenInterrupts,
        problems=(problems.CHECKPOINT_NOT_FOUND,),
    ),
    Route(
        method="GET",
        path="/readyz",
        handler=ops.ready,
        scope="read",
        summary="Whether the database, Slack and the scheduler answer",
        gives=bodies.Health,
        also=(503,),
    ),
    Route(
        method="GET",
        path="/metrics",
        handler=ops.metrics,
        scope="read",
        summary="Figures for Prometheus",
        media="text/plain",
    ),
)
