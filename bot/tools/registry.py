"""The one gate all tools are behind: arguments checked, time and output limited, secrets masked.

Nothing a tool does reaches the engine as an exception. It may hang, flood, crash, raise `SystemExit` or be
cancelled from within: the answer is always a `ToolResult` the model can read. What it may not do is block the
event loop with synchronous code of its own; plain functions are therefore run in a thread.
"""

import asyncio
import dataclasses
import logging
import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from fnmatch import fnmatchcase
from typing import Protocol, TypeAlias

from bot.domain.canonical import JsonObject
from bot.domain.errors import ConfigError
from bot.domain.run import AgentSpec
from bot.domain.tool import Alternative, Impact, Planned, ToolDefinition, ToolResult
from bot.engine.ports import CallContext, Progress, Suspended, ToolEvent
from bot.tools.limits import DEFAULT, Capped, Limits, capped
from bot.tools.redact import Redactor
from bot.tools.tool import AnyTool, Chunk, Output, Suspend, ToolFailed

logger = logging.getLogger(__name__)

_Contained: TypeAlias = Chunk | Suspend


class ToolSource(Protocol):
    """Tools that come and go, such as those of MCP servers."""

    def tools(self) -> Mapping[str, AnyTool]: ...

    def missing(self, name: str) -> str | None:
        """Say why a tool that might be expected is not there; None if it is none of ours."""
        ...


class Registry:
    """All tools, as the engine's `Toolbox`."""

    def __init__(
        self,
        tools: Iterable[AnyTool],
        *,
        sources: Iterable[ToolSource] = (),
        redactor: Redactor | None = None,
        limits: Limits = DEFAULT,
    ) -> None:
        self._tools: dict[str, AnyTool] = {}
        for tool in tools:
            if tool.definition.name in self._tools:
                raise ConfigError(f"two tools are called {tool.definition.name!r}; rename or remove one")
            self._tools[tool.definition.name] = tool
        self._sources = tuple(sources)
        self._redactor = redactor or Redactor()
        self._limits = limits

    def definitions(self, agent: AgentSpec) -> tuple[ToolDefinition, ...]:
        tools = self._all()
        return tuple(tools[name].definition for name in sorted(tools) if _has(agent, name))

    def definition(self, name: str) -> ToolDefinition | None:
        found = self._find(name)
        return found.definition if found else None

    def invalid(self, planned: Planned) -> str | None:
        found = self._find(planned.tool)
        if found is None:
            reasons = (source.missing(planned.tool) for source in self._sources)
            return next(filter(None, reasons), f"there is no tool called {planned.tool!r}")
        return found.invalid(planned.args)

    def measures(self, tool: str) -> bool:
        found = self._find(tool)
        return found is not None and found.measures

    def masked(self, planned: Planned) -> Planned:
        return dataclasses.replace(planned, args=self._redactor.redact_json(planned.args))

    async def preview(self, planned: Planned, context: CallContext) -> Impact | None:
        found = self._find(planned.tool)
        if found is None or found.invalid(planned.args) is not None:
            return None
        try:
            async with asyncio.timeout(self._limits.preview_seconds):
                impact = await found.preview(planned.args, context)
        except TimeoutError:
            seconds = f"{self._limits.preview_seconds:g} s"
            return Impact(summary=f"Could not be measured: it took longer than {seconds}.")
        except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever a tool raises must not stop a run)
            return Impact(summary=f"Could not be measured: {self._redactor.redact(_reason(error))}")
        return _redacted(impact, self._redactor) if impact else None

    async def execute(self, planned: Planned, context: CallContext) -> AsyncGenerator[ToolEvent, None]:
        began = time.perf_counter()
        output = Capped(self._limits.output)
        stream = self._redactor.stream()
        room = self._limits.progress
        last: Output | None = None
        async with aclosing(self._contained(planned, context)) as chunks:
            async for chunk in chunks:
                match chunk:
                    case Suspend():
                        question = dataclasses.replace(
                            chunk.question, text=self._redactor.redact(chunk.question.text)
                        )
                        yield Suspended(question=question, state=chunk.state)
                        return
                    case Output():
                        last = chunk
                    case str():
                        text = stream.feed(chunk)
                        output.add(text)
                        if text and room > 0:
                            yield Progress(text=text[:room])
                            room -= len(text)
        rest = stream.finish()
        output.add(rest)
        if rest and room > 0:
            yield Progress(text=rest[:room])
        yield ToolResult(
            call_id=context.call_id,
            status=last.status if last else "ok",
            text=self._text(output, last),
            took_ms=round((time.perf_counter() - began) * 1000),
        )

    def _text(self, output: Capped, last: Output | None) -> str:
        if last is None:
            return output.text
        # Masked before it is cut: half a secret would not be recognised.
        conclusion = capped(self._redactor.redact(last.text), self._limits.output)
        return f"{output.text.rstrip()}\n{conclusion}".lstrip("\n") if last.after_stream else conclusion

    async def _contained(self, planned: Planned, context: CallContext) -> AsyncGenerator[_Contained, None]:
        """Run the tool; whatever goes wrong becomes its last chunk."""
        found = self._find(planned.tool)
        problem = self.invalid(planned)
        if found is None or problem is not None:
            yield Output(text=f"Not run: {problem}", status="error")
            return
        seconds = found.seconds or self._limits.seconds
        async with aclosing(self._bounded(found, planned.args, context, seconds)) as chunks:
            try:
                async for chunk in chunks:
                    yield chunk
            except Suspend as suspend:
                yield suspend
            except (Exception, SystemExit, asyncio.CancelledError) as error:
                if isinstance(error, asyncio.CancelledError) and _being_cancelled():
                    raise
                if not isinstance(error, ToolFailed | OSError):
                    logger.exception("tool failed", extra={"tool": planned.tool})
                yield Output(text=_reason(error), status="error", after_stream=True)

    @staticmethod
    async def _bounded(
        found: AnyTool, args: JsonObject, context: CallContext, seconds: float
    ) -> AsyncGenerator[Chunk, None]:
        # The limit is put around each step rather than around the loop: a timeout that is open across a
        # `yield` would cancel whoever consumes this generator instead of the tool.
        deadline = asyncio.get_running_loop().time() + seconds
        async with aclosing(found.run(args, context)) as chunks:
            while True:
                limit = asyncio.timeout_at(deadline)
                try:
                    async with limit:
                        chunk = await anext(chunks)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    if not limit.expired():
                        raise
                    what = f"{found.definition.name} was stopped after {seconds:g} s, its time limit"
                    raise ToolFailed(f"{what}. It may have done part of its work.") from None
                yield chunk

    def _find(self, name: str) -> AnyTool | None:
        return self._all().get(name)

    def _all(self) -> Mapping[str, AnyTool]:
        if not self._sources:
            return self._tools
        everything: dict[str, AnyTool] = {}
        for source in self._sources:
            everything.update(source.tools())
        # Our own last: no server can take the place of a built-in tool.
        return everything | self._tools


def _has(agent: AgentSpec, name: str) -> bool:
    return agent.tools is None or any(fnmatchcase(name, pattern) for pattern in agent.tools)


def _being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _reason(error: BaseException) -> str:
    """Say what went wrong in words; never a traceback."""
    match error:
        case ToolFailed():
            return str(error)
        case OSError(strerror=str(what), filename=str(where)):
            return f"{what}: {where}"
        case OSError(strerror=str(what)):
            return what
        case asyncio.CancelledError():
            return "The tool was cancelled from within."
        case _:
            return f"The tool failed with {type(error).__name__}: {error}"


def _redacted(impact: Impact, redactor: Redactor) -> Impact:
    return dataclasses.replace(
        impact,
        summary=redactor.redact(impact.summary),
        samples=tuple(redactor.redact(sample) for sample in impact.samples),
        facts={name: redactor.redact(fact) for name, fact in impact.facts.items()},
        detail=redactor.redact(impact.detail),
        alternatives=tuple(_redacted_option(option, redactor) for option in impact.alternatives),
    )


def _redacted_option(option: Alternative, redactor: Redactor) -> Alternative:
    # Not `planned`: it is what runs, and is masked by whoever shows it.
    return dataclasses.replace(
        option,
        label=redactor.redact(option.label),
        consequence=redactor.redact(option.consequence),
        impact=_redacted(option.impact, redactor) if option.impact else None,
    )
