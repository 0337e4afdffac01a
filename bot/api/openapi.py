"""The OpenAPI 3.1 document, generated from the table of routes and the models it names. Pure."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from bot.api import problems
from bot.api.bodies import Health, ProblemOut
from bot.api.problems import MEDIA_TYPE, Problem
from bot.domain.canonical import JsonObject

if TYPE_CHECKING:
    from bot.api.routes import Route

_REFS = "#/components/schemas/{model}"
_EVERYWHERE = (problems.UNAUTHENTICATED, problems.SCOPE_MISSING, problems.TOO_MANY, problems.WRONG_HOST)
_WITH_BODY = (problems.BAD_REQUEST, problems.TOO_LARGE, problems.MEDIA, problems.INVALID_REQUEST)


def document(routes: "Sequence[Route]", *, version: str = "1") -> JsonObject:
    """Return the document that describes `routes`."""
    names = _schemas(routes)
    paths: JsonObject = {"/healthz": {"get": _health()}}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, names[0])
    return {
        "openapi": "3.1.0",
        "info": {"title": "Askfirst", "version": version, "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": names[1],
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}],
    }


def _schemas(routes: "Sequence[Route]") -> tuple[dict[tuple[type[BaseModel], str], JsonObject], JsonObject]:
    wanted: list[tuple[type[BaseModel], Any]] = [(ProblemOut, "serialization"), (Health, "serialization")]
    for route in routes:
        wanted += [(model, "validation") for model in (route.body, route.query) if model]
        wanted += [(route.gives, "serialization")] if route.gives else []
    references, definitions = models_json_schema(list(dict.fromkeys(wanted)), ref_template=_REFS)
    for each in definitions["$defs"].values():
        _demand_tags(each)
    return references, definitions["$defs"]  # pyright: ignore[reportReturnType] - str is wider than the mode's literal


def _demand_tags(schema: JsonObject) -> None:
    """What tells the members of a union apart must be there, also where a model has a default for it."""
    tags = [name for name, each in schema.get("properties", {}).items() if "const" in each]
    if tags:
        schema["required"] = sorted({*schema.get("required", ()), *tags})


def _operation(route: "Route", names: dict[tuple[type[BaseModel], str], JsonObject]) -> JsonObject:
    operation: JsonObject = {
        "operationId": re.sub(r"\W+", "_", f"{route.method.lower()}{route.path}").strip("_"),
        "summary": route.summary,
        "description": f"Needs a token with the scope `{route.scope}`.",
        "parameters": [*_path_parameters(route.path), *_query_parameters(route.query)],
        "responses": _responses(route, names),
    }
    if route.streams:
        operation["parameters"].append(_LAST_EVENT)
    if route.body:
        content = {"application/json": {"schema": names[route.body, "validation"]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


#: A cursor, see `events.py`.
_EVENT_ID = r"^[a-z0-9]{1,40}(\.[0-9]{1,9}){3}\.[0-9a-f]{8}\.[0-9]{1,9}\.[az]$"
_LAST_EVENT: JsonObject = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "Go on after this event of a stream that was cut.",
    "schema": {"type": "string", "pattern": _EVENT_ID},
}


def _path_parameters(path: str) -> list[JsonObject]:
    schema = {"type": "string", "pattern": r"^[\w.:@-]{1,200}$"}
    return [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name in re.findall(r"{(\w+)}", path)
    ]


def _query_parameters(model: type[BaseModel] | None) -> list[JsonObject]:
    properties: JsonObject = model.model_json_schema()["properties"] if model else JsonObject()
    return [
        {"name": name, "in": "query", "required": False, "schema": _without_null(schema)}
        for name, schema in properties.items()
    ]


def _without_null(schema: JsonObject) -> JsonObject:
    """A query parameter is left out, never null."""
    kept = [part for part in schema.get("anyOf", []) if part != {"type": "null"}]
    rest = {name: value for name, value in schema.items() if name not in {"anyOf", "default"}}
    return {**rest, **kept[0]} if len(kept) == 1 else schema


def _responses(route: "Route", names: dict[tuple[type[BaseModel], str], JsonObject]) -> JsonObject:
    schema = names[route.gives, "serialization"] if route.gives else _PLAIN[route.media]
    responses: JsonObject = {"200": {"description": "Fine", "content": {route.media: {"schema": schema}}}}
    for status in route.also:
        content = {"content": {route.media: {"schema": schema}}} if status != 204 else {}
        responses[str(status)] = {"description": _ALSO[status], **content}
    extra = _WITH_BODY if route.body else (problems.INVALID_REQUEST,) if route.query else ()
    return responses | _problem_responses((*_EVERYWHERE, *extra, *route.problems))


_TEXT: JsonObject = {"type": "string"}
_PLAIN: dict[str, JsonObject] = {
    "text/plain": _TEXT,
    "application/json": {},
    # One event of the stream.
    "text/event-stream": {
        "type": "object",
        "properties": {
            "event": _TEXT,
            "id": _TEXT,
            "data": {**_TEXT, "contentMediaType": "application/json"},
        },
        "required": ["data"],
    },
}
_ALSO = {204: "The stream had ended; there is nothing more", 503: "Something is missing"}


def _problem_responses(kinds: Iterable[Problem]) -> JsonObject:
    """One response for each status, naming every kind of problem behind it."""
    by_status: dict[int, list[Problem]] = {}
    for kind in dict.fromkeys(kinds):
        by_status.setdefault(kind.status, []).append(kind)
    schema = {"$ref": _REFS.format(model=ProblemOut.__name__)}
    return {
        str(status): {
            "description": "; ".join(f"`{kind.type}`: {kind.title}" for kind in same),
            "content": {MEDIA_TYPE: {"schema": schema}},
        }
        for status, same in sorted(by_status.items())
    }


def _health() -> JsonObject:
    schema = {"$ref": _REFS.format(model=Health.__name__)}
    fine = {"description": "It is running", "content": {"application/json": {"schema": schema}}}
    wrong_host = _problem_responses([problems.WRONG_HOST])
    return {
        "operationId": "healthz",
        "summary": "Whether it runs; the only thing that is open to everybody",
        "security": [],
        "responses": {"200": fine, **wrong_host},
    }


_ABOUT = """\
Agents that ask before they act. A chat is a stream of events; when the agent needs a person, the stream says
`interrupt` and ends without `done`. The answer goes to `/api/v1/chat/resume`, or to any other face of the same
interrupt: whoever answers first wins, everybody else is told `already resumed`."""
