"""Errors as problem+json (RFC 9457), translated in one place along the tree of `domain.errors`."""

from collections.abc import Iterable
from dataclasses import dataclass

from aiohttp import web

from bot.domain import errors
from bot.domain.canonical import JsonObject, canonical

MEDIA_TYPE = "application/problem+json"
PREFIX = "urn:askfirst:problem:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A kind of failure: what clients tell apart, and what people read."""

    status: int
    slug: str
    title: str

    @property
    def type(self) -> str:
        return PREFIX + self.slug


def _kind(status: int, slug: str, title: str) -> Problem:
    return Problem(status=status, slug=slug, title=title)


BAD_REQUEST = _kind(400, "bad-request", "The request cannot be read")
UNAUTHENTICATED = _kind(401, "unauthenticated", "A bearer token is needed")
SCOPE_MISSING = _kind(403, "scope-missing", "The token does not have this scope")
NOT_ALLOWED = _kind(403, "not-allowed", "The policy does not let this person do it")
NOT_FOUND = _kind(404, "not-found", "There is nothing here")
CHECKPOINT_NOT_FOUND = _kind(404, "checkpoint-not-found", "checkpoint not found")
METHOD_NOT_ALLOWED = _kind(405, "method-not-allowed", "This method is not offered here")
ALREADY_RESUMED = _kind(409, "already-resumed", "already resumed")
SEVERAL_OPEN = _kind(409, "several-interrupts", "Several interrupts are open; name one")
UNDER_WAY = _kind(409, "under-way", "The session's run is not over")
LOST_RACE = _kind(409, "lost-race", "Somebody else changed it first")
TOO_LARGE = _kind(413, "too-large", "The body is too large")
MEDIA = _kind(415, "unsupported-media-type", "The body must be application/json")
WRONG_HOST = _kind(421, "wrong-host", "This host name is not served here")
INVALID_REQUEST = _kind(422, "invalid-request", "The request does not fit its schema")
INVALID_ANSWER = _kind(422, "invalid-answer", "The answer does not fit the question")
TOO_MANY = _kind(429, "too-many-requests", "Slow down")
INTERNAL = _kind(500, "internal", "Something went wrong here")
CORRUPT = _kind(500, "corrupt", "A stored row cannot be read")
UPSTREAM = _kind(503, "upstream", "Somebody else's service failed")
TIMEOUT = _kind(503, "timeout", "It took too long")

#: From the most particular to the base; the first that fits is taken.
_TREE: tuple[tuple[type[errors.BotError], Problem], ...] = (
    (errors.NotAllowed, NOT_ALLOWED),
    (errors.InvalidAnswer, INVALID_ANSWER),
    (errors.Refused, NOT_ALLOWED),
    (errors.CheckpointNotFound, CHECKPOINT_NOT_FOUND),
    (errors.AlreadyDecided, ALREADY_RESUMED),
    (errors.AlreadyResumed, ALREADY_RESUMED),
    (errors.Stale, LOST_RACE),
    (errors.Corrupt, CORRUPT),
    (errors.Upstream, UPSTREAM),
    (errors.BotError, INTERNAL),
)


class ApiError(Exception):
    """A failure of the request itself, before it reached the engine."""

    def __init__(self, problem: Problem, detail: str, **extra: object) -> None:
        self.problem, self.detail, self.extra = problem, detail, extra
        super().__init__(detail)


def problem_of(error: ApiError | errors.BotError) -> Problem:
    if isinstance(error, ApiError):
        return error.problem
    return next(problem for kind, problem in _TREE if isinstance(error, kind))


def body_of(error: ApiError | errors.BotError) -> JsonObject:
    """What the client gets. Messages of the tree are meant for people and hold no secrets."""
    problem = problem_of(error)
    body: JsonObject = {"type": problem.type, "title": problem.title, "status": problem.status}
    body["detail"] = str(error)
    if isinstance(error, ApiError):
        body |= error.extra
    if isinstance(error, errors.AlreadyDecided):
        body |= {"decided": error.what, "by": error.by, "at": error.at.isoformat() if error.at else None}
    return body


def response_of(error: ApiError | errors.BotError, headers: Iterable[tuple[str, str]] = ()) -> web.Response:
    body = body_of(error)
    answer = web.Response(status=body["status"], text=canonical(body), content_type=MEDIA_TYPE)
    answer.headers.extend(headers)
    if body["status"] == UNAUTHENTICATED.status:
        answer.headers["WWW-Authenticate"] = "Bearer"
    return answer
