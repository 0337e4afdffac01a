"""How a tool is written: arguments as a pydantic model, a function that acts, one that measures.

A tool may be a plain function (it runs in a thread), a coroutine, or an async generator whose strings are
shown while it works. It fails by raising `ToolFailed`, and stops to ask a person by raising `Suspend`.
"""

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar, cast, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError

from bot.domain.canonical import JsonObject, canonical
from bot.domain.interrupt import Question
from bot.domain.tool import Effects, Impact, ToolDefinition
from bot.engine.ports import CallContext
from bot.tools.threads import in_thread


class Arguments(BaseModel):
    """Base of every tool's arguments: nothing unknown is let in and nothing is converted ("10" is not 10)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a tool says in the end."""

    text: str
    status: Literal["ok", "error"] = "ok"
    #: Whether the result begins with what was streamed before; else this replaces it.
    after_stream: bool = False


class ToolFailed(Exception):
    """The tool could not do it. The message is for the model and must make sense to it."""


class Suspend(Exception):
    """Stop here and ask a person; the tool is called again with `state` and the answer in `resumed`."""

    def __init__(self, question: Question, state: JsonObject | None = None) -> None:
        self.question, self.state = question, state or {}
        super().__init__(question.text)


Chunk: TypeAlias = str | Output
Chunks: TypeAlias = AsyncGenerator[Chunk, None]


class AnyTool(Protocol):
    """What the registry needs of a tool, wherever it comes from."""

    @property
    def definition(self) -> ToolDefinition: ...

    @property
    def seconds(self) -> float | None:
        """How long it may run; None means the registry's default."""
        ...

    @property
    def measures(self) -> bool:
        """Whether `preview` does any work."""
        ...

    def invalid(self, args: JsonObject) -> str | None: ...

    async def preview(self, args: JsonObject, context: CallContext) -> Impact | None: ...

    def run(self, args: JsonObject, context: CallContext) -> Chunks: ...


A = TypeVar("A", bound=Arguments)
Act: TypeAlias = Callable[[A, CallContext], Chunk | Awaitable[Chunk] | AsyncIterator[Chunk]]
Measure: TypeAlias = Callable[[A, CallContext], Awaitable[Impact | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[A]):
    """A tool of ours: what is known of it, and the functions behind it."""

    definition: ToolDefinition
    arguments: type[A]
    act: Act[A]
    measure: Measure[A] | None = None
    seconds: float | None = None

    @property
    def measures(self) -> bool:
        return self.measure is not None

    def parse(self, args: JsonObject) -> A:
        # As JSON, because that is what the model wrote: a list may become a tuple, but "10" never 10.
        return self.arguments.model_validate_json(canonical(args))

    def invalid(self, args: JsonObject) -> str | None:
        try:
            self.parse(args)
        except ValidationError as error:
            return "; ".join(_explain(problem) for problem in error.errors(include_url=False))
        except ValueError as error:
            return f"not JSON: {error}"
        return None

    async def preview(self, args: JsonObject, context: CallContext) -> Impact | None:
        return await self.measure(self.parse(args), context) if self.measure else None

    async def run(self, args: JsonObject, context: CallContext) -> Chunks:
        parsed = self.parse(args)
        if not (inspect.iscoroutinefunction(self.act) or inspect.isasyncgenfunction(self.act)):
            yield _concluded(cast("Chunk", await in_thread(lambda _stop: self.act(parsed, context))))
            return
        result = self.act(parsed, context)
        if not isinstance(result, AsyncIterator):
            yield _concluded(await cast("Awaitable[Chunk]", result))
            return
        chunks = cast("Chunks", result)
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            await chunks.aclose()


#: An unknown tool may do anything.
_CAREFUL = Effects()


def tool(
    *,
    name: str = "",
    effects: Effects = _CAREFUL,
    paths: tuple[str, ...] = (),
    commands: tuple[str, ...] = (),
    urls: tuple[str, ...] = (),
    seconds: float | None = None,
    preview: Measure[Any] | None = None,
) -> Callable[[Act[A]], Tool[A]]:
    """Make a tool of a function; its name and docstring are what the model reads."""

    def wrap(act: Act[A]) -> Tool[A]:
        arguments = _arguments_of(act)
        return Tool(
            definition=ToolDefinition(
                name=name or act.__name__,
                description=inspect.cleandoc(act.__doc__ or ""),
                parameters=_schema_of(arguments),
                effects=effects,
                paths=paths,
                commands=commands,
                urls=urls,
            ),
            arguments=arguments,
            act=act,
            measure=preview,
            seconds=seconds,
        )

    return wrap


def located(path: str, context: CallContext) -> Path:
    """Return the absolute path that `path` means for this call."""
    if path.startswith("~"):
        # Expanding it would act on a path that the policy has not seen.
        raise ToolFailed(f"{path!r}: '~' is not expanded here; give the full path")
    return Path(context.cwd or "/") / path


def _concluded(chunk: Chunk) -> Output:
    return chunk if isinstance(chunk, Output) else Output(text=chunk)


def _arguments_of(act: Act[A]) -> type[A]:
    first = next(iter(inspect.signature(act).parameters))
    return cast("type[A]", get_type_hints(act)[first])


def _schema_of(arguments: type[Arguments]) -> JsonObject:
    return cast("JsonObject", _without_titles(arguments.model_json_schema()))


def _without_titles(value: Any) -> Any:
    """Drop pydantic's titles: they repeat the names and cost tokens. A property called title stays."""
    if isinstance(value, list):
        return [_without_titles(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    items = cast("dict[str, Any]", value).items()
    return {
        key: _without_titles(item) for key, item in items if not (key == "title" and isinstance(item, str))
    }


def _explain(problem: Any) -> str:
    where = ".".join(str(part) for part in problem["loc"]) or "arguments"
    return f"{where}: {problem['msg']}"
