"""The aiohttp application: lets requests in (host, token, scope, rate, body, time) and turns errors into problems."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from json import JSONDecodeError

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from pydantic import BaseModel, ValidationError

from bot.api import problems
from bot.api.auth import authenticate, require
from bot.api.calls import CORS, STREAM, TOKEN, Api, Call
from bot.api.limits import Meter
from bot.api.metrics import Metrics
from bot.api.openapi import document
from bot.api.ports import World
from bot.api.problems import ApiError, response_of
from bot.api.routes import ROUTES, Route
from bot.api.stream import HttpFront, Streams
from bot.domain.errors import BotError

logger = logging.getLogger(__name__)

_Plain = Callable[[web.Request], Awaitable[web.StreamResponse]]


def make_app(world: World, front: HttpFront, metrics: Metrics | None = None) -> web.Application:
    """Return the application; it watches for changes of other processes while it runs."""
    streams = Streams(world.store, front, keep_alive=world.limits.keep_alive_seconds)
    meter = Meter(world.limits, time.monotonic)
    api = Api(world=world, streams=streams, meter=meter, metrics=metrics or Metrics())
    app = web.Application(middlewares=[_outermost(api)], client_max_size=world.limits.body_bytes)
    for route in ROUTES:
        app.router.add_route(route.method, route.path, _guarded(api, route))
    app.router.add_get("/healthz", _alive)
    app.router.add_get("/openapi.json", _described(api))

    async def watching(_: web.Application) -> AsyncIterator[None]:
        async with streams.watching():
            yield

    async def closing(_: web.Application) -> None:
        front.close()

    app.cleanup_ctx.append(watching)
    app.on_shutdown.append(closing)
    return app


async def _alive(_: web.Request) -> web.Response:
    return web.json_response({"status": "ok"})


def _described(api: Api) -> _Plain:
    text = document(ROUTES)

    async def describe(request: web.Request) -> web.StreamResponse:
        await authenticate(api.world.store, request.headers.get("Authorization"))
        return web.json_response(text)

    return describe


def _outermost(api: Api) -> Middleware:
    @web.middleware
    async def handle(request: web.Request, handler: Handler) -> web.StreamResponse:
        allowed = request.headers.get("Origin", "") in api.world.access.origins
        headers = _cors(request) if allowed else {}
        if allowed:
            # Streams send their headers early, so they must be known before.
            request[CORS] = headers
        try:
            _check_host(api, request)
            preflight = request.method == "OPTIONS" and allowed
            answer = web.Response(status=204) if preflight else await handler(request)
        except Exception as error:  # noqa: BLE001 - the edge: everything becomes a problem
            answer = _cut(request, error) if STREAM in request else _problem(request, error)
        if not answer.prepared:
            answer.headers.update(headers)
        resource = request.match_info.route.resource
        route = resource.canonical if resource else ""
        api.metrics.answered(route, request.method, answer.status)
        _log(request, route, answer)
        return answer

    return handle


def _log(request: web.Request, route: str, answer: web.StreamResponse) -> None:
    # The route, not the path or the query: what people put there is theirs.
    about = {"method": request.method, "path": route, "status": answer.status, "token": request.get(TOKEN)}
    named = {"run": answer.headers.get("X-Run-Id") or request.match_info.get("run_id")}
    named["interrupt"] = request.match_info.get("interrupt_id")
    logger.info("request", extra={**about, **named})


def _cors(request: web.Request) -> dict[str, str]:
    return {
        "Access-Control-Allow-Origin": request.headers["Origin"],
        "Access-Control-Allow-Headers": "authorization, content-type, last-event-id, idempotency-key, accept",
        "Access-Control-Allow-Methods": "GET, POST, PATCH",
        "Access-Control-Expose-Headers": "x-session-id, x-run-id",
        "Vary": "Origin",
    }


def _check_host(api: Api, request: web.Request) -> None:
    """A page that rebinds its name to this machine still sends its own name."""
    host = request.host
    name = host.rpartition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    if name.lower() not in api.world.access.hosts:
        raise ApiError(problems.WRONG_HOST, "Set ASKFIRST_API_HOSTS to the names this API is reached by.")


def _cut(request: web.Request, error: Exception) -> web.StreamResponse:
    """A stream that fails half way is cut; the client goes on with its Last-Event-ID."""
    if not isinstance(error, ConnectionError):
        logger.error("stream failed", exc_info=error, extra={"path": request.path})
    if request.transport is not None:
        # Not `close`, which would wait for a client that reads nothing.
        request.transport.abort()
    return request[STREAM]


def _problem(request: web.Request, error: Exception) -> web.StreamResponse:  # noqa: PLR0911 - a table
    match error:
        case ApiError() | BotError():
            return response_of(error)
        case web.HTTPRequestEntityTooLarge():
            return response_of(ApiError(problems.TOO_LARGE, "Send less."))
        case web.HTTPMethodNotAllowed():
            allowed = sorted(error.allowed_methods)
            refused = ApiError(problems.METHOD_NOT_ALLOWED, f"Offered: {', '.join(allowed)}.")
            return response_of(refused, [("Allow", ", ".join(allowed))])
        case web.HTTPNotFound():
            return response_of(ApiError(problems.NOT_FOUND, "GET /openapi.json lists what there is."))
        case web.HTTPException():
            return response_of(ApiError(problems.BAD_REQUEST, error.reason))
        case TimeoutError():
            return response_of(ApiError(problems.TIMEOUT, "Try again."))
        case _:
            logger.error("request failed", exc_info=error, extra={"path": request.path})
            return response_of(ApiError(problems.INTERNAL, "It is in the log."))


def _guarded(api: Api, route: Route) -> _Plain:
    """The one gate before every handler."""

    async def handle(request: web.Request) -> web.StreamResponse:
        token = await authenticate(api.world.store, request.headers.get("Authorization"))
        request[TOKEN] = token.name
        require(token, route.scope)
        api.meter.take(token.name)
        async with asyncio.timeout(None if route.streams else api.world.limits.seconds):
            body = await _body(request, route.body) if route.body else None
            query = _query(request, route.query) if route.query else None
            call = Call(api=api, request=request, token=token, body=body, query=query)
            answer = await route.handler(call)
        if isinstance(answer, BaseModel):
            return web.json_response(text=answer.model_dump_json(by_alias=True))
        return answer

    return handle


async def _body(request: web.Request, model: type[BaseModel]) -> BaseModel:
    if request.content_type != "application/json":
        raise ApiError(problems.MEDIA, f"Not {request.content_type}.")
    try:
        async with asyncio.timeout(30):
            raw = await request.read()
        return model.model_validate_json(raw)
    except (JSONDecodeError, UnicodeDecodeError) as error:
        raise ApiError(problems.BAD_REQUEST, "The body is not JSON.") from error
    except ValidationError as error:
        raise _invalid(error) from error


def _query(request: web.Request, model: type[BaseModel]) -> BaseModel:
    doubled = [name for name in request.query if len(request.query.getall(name)) > 1]
    if doubled:
        raise ApiError(problems.INVALID_REQUEST, f"Given twice: {', '.join(sorted(set(doubled)))}.")
    try:
        return model.model_validate_strings(dict(request.query))
    except ValidationError as error:
        raise _invalid(error) from error


def _invalid(error: ValidationError) -> ApiError:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    if found and found[0]["type"] == "json_invalid":
        return ApiError(problems.BAD_REQUEST, "The body is not JSON.")
    wrong = [{"at": "/".join(str(part) for part in each["loc"]), "what": each["msg"]} for each in found]
    return ApiError(
        problems.INVALID_REQUEST, "; ".join(f"{each['at']}: {each['what']}" for each in wrong), errors=wrong
    )
