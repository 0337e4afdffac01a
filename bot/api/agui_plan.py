"""Decides what an AG-UI input asks for: a new run, answers to open questions, or only to see how things stand."""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from ag_ui.core import ResumeEntry, RunAgentInput

from bot.api import agui_input
from bot.api.auth import require
from bot.api.calls import Call
from bot.api.events import Cursor, resume_point
from bot.domain.canonical import canonical
from bot.domain.decision import Answer, Reject, Respond
from bot.domain.errors import BotError, CheckpointNotFound, InvalidAnswer, NotAllowed, Stale
from bot.domain.ids import InterruptId, RunId, ThreadId
from bot.domain.interrupt import Asked, Interrupt
from bot.domain.run import FINAL, Base, Head, Thread
from bot.domain.tool import ToolDefinition
from bot.domain.transcript import ModelTurn, UserText
from bot.engine.runner import Request

logger = logging.getLogger(__name__)


#: They are kept with the run and written with its every step.
MOST_TOOLS = 64_000


class Rejected(Exception):
    """The input cannot be taken; it becomes RUN_ERROR and nothing was consumed."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to stream."""

    cursor: Cursor
    #: Things the client should know, but need not act on.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What a thread waits for: questions to people, and calls of the client's own tools."""

    questions: tuple[Asked, ...] = ()
    calls: tuple[Asked, ...] = ()


def thread_of(call: Call, name: str) -> ThreadId:
    """Clients name their threads themselves, so each person has names of their own: nobody can take or guess
    the name of somebody else's thread, or of one in Slack.
    """
    return ThreadId(f"agui:{call.token.person}:{name}")


async def waiting_for(call: Call, head: Head) -> Waiting:
    if head.state in FINAL:
        return Waiting()
    asked = await call.world.store.open_interrupts(head.run_id)
    theirs = await client_calls(call, head)
    mine = tuple(each for each in asked if _is_client_call(each.interrupt, theirs))
    return Waiting(questions=tuple(each for each in asked if each not in mine), calls=mine)


async def client_calls(call: Call, head: Head) -> frozenset[str]:
    """Ids of calls that go to the client, as the model proposed them."""
    if not head.agent.client_tools:
        return frozenset()
    names = {tool.name for tool in head.agent.client_tools}
    _, entries, _ = await call.world.store.progress(head.run_id, 0)
    turns = (entry.item for entry in entries if isinstance(entry.item, ModelTurn))
    return frozenset(proposed.id for turn in turns for proposed in turn.calls if proposed.tool in names)


def _is_client_call(interrupt: Interrupt, theirs: frozenset[str]) -> bool:
    return interrupt.kind == "input" and interrupt.call_id in theirs


@dataclass(slots=True)
class Planner:
    call: Call
    sent: RunAgentInput
    warnings: list[str] = field(default_factory=list[str])

    @property
    def _thread(self) -> ThreadId:
        return thread_of(self.call, self.sent.thread_id)

    async def plan(self) -> Plan:
        """Do what the input asks for.

        Raises:
            Rejected: it cannot be done; nothing was consumed.
        """
        head = await self.call.world.store.last_of_thread(self._thread)
        cursor = await (self._go_on(head) if head else self._ask(None))
        return Plan(cursor=cursor, warnings=tuple(self.warnings))

    async def _go_on(self, head: Head) -> Cursor:
        waiting = await waiting_for(self.call, head)
        resume = self._resume(waiting)
        if waiting.questions or waiting.calls:
            return await self._answer(head, waiting, resume)
        known = await self._known(head, resume or [])
        if known:
            # Decided already, here or on another face: tell what came of it.
            return await self._from(head.run_id, known)
        return await self._continue(head)

    async def _continue(self, head: Head) -> Cursor:
        text = agui_input.request_of(self.sent)
        if head.state in FINAL:
            return await self._ask(head) if text else await self._end_of(head)
        if text and not await self._is_repeat(head, text):
            raise Rejected("RUN_UNDER_WAY", f"Run {head.run_id} is {head.state}. Wait for it, or cancel it.")
        return Cursor(run=head.run_id)

    # Asking -----------------------------------------------------------------------------------------------

    async def _ask(self, previous: Head | None) -> Cursor:
        text = agui_input.request_of(self.sent)
        if not text:
            raise Rejected("EMPTY_INPUT", "There is no new user message, and nothing to resume.")
        world, token = self.call.world, self.call.token
        if previous is not None and previous.state == "quarantined":
            previous = None
        channel = previous.thread.channel if previous else token.channel
        agent = replace(world.policy.agent(channel), client_tools=self._client_tools(channel))
        run_id = await world.runner.ask(
            Request(
                thread=Thread(id=self._thread, front="http", channel=channel),
                requester=token.person,
                text=agui_input.with_context(text, self.sent),
                agent=agent,
                breakpoints=world.policy.breakpoints(channel),
                # A repeated delivery of the same run must not ask twice.
                key=f"agui/{token.person}/{self.sent.thread_id}/{self.sent.run_id}",
                base=Base(run_id=previous.run_id, cursor=previous.cursor) if previous else None,
            )
        )
        return Cursor(run=run_id)

    def _client_tools(self, channel: str) -> tuple[ToolDefinition, ...]:
        policy = self.call.world.policy
        ours = {tool.name for tool in policy.tools(policy.agent(channel))}
        tools = [agui_input.client_tool(tool) for tool in self.sent.tools or ()]
        if len(canonical([asdict(tool) for tool in tools])) > MOST_TOOLS:
            raise Rejected("TOOLS_TOO_LARGE", f"Tools may have {MOST_TOOLS} characters of JSON together.")
        taken = sorted({tool.name for tool in tools} & ours)
        if taken:
            raise Rejected(
                "TOOL_NAME_TAKEN", f"These names belong to tools of this agent: {', '.join(taken)}."
            )
        if len({tool.name for tool in tools}) < len(tools):
            raise Rejected("TOOL_NAME_TAKEN", "Two tools have the same name.")
        return tuple(tools)

    # Answering --------------------------------------------------------------------------------------------

    def _resume(self, waiting: Waiting) -> list[ResumeEntry] | None:
        if self.sent.resume is not None:
            return list(self.sent.resume)
        if not self.call.world.legacy_agui:
            return None
        found = agui_input.legacy_resume(self.sent, [each.interrupt for each in waiting.questions])
        if found is not None:
            logger.warning(
                "legacy resume through forwardedProps.command", extra={"session": self.sent.thread_id}
            )
        return found

    async def _answer(self, head: Head, waiting: Waiting, resume: list[ResumeEntry] | None) -> Cursor:
        text = agui_input.request_of(self.sent)
        new_text = bool(text) and not await self._is_repeat(head, text)
        answered = agui_input.tool_answers(self.sent.messages)
        mine = [each for each in waiting.calls if each.interrupt.call_id in answered]
        if resume is None and not mine and not (new_text and not waiting.questions):
            if new_text:
                names = ", ".join(each.interrupt.id for each in waiting.questions)
                raise Rejected("INTERRUPTS_OPEN", f"Open interrupts must be resumed first: {names}.")
            return await self._end_of(head)
        if waiting.questions:
            require(self.call.token, "decide")
        answers = self._covered(waiting, resume or [])
        answers |= self._from_client(waiting, answered, new_text=new_text)
        await self._decide(answers)
        if new_text:
            await self.call.world.runner.note(head.run_id, self.call.token.person, text)
        return await self._from(head.run_id, list(answers))

    def _covered(self, waiting: Waiting, resume: Sequence[ResumeEntry]) -> dict[InterruptId, Answer]:
        """An answer to every open question, or none at all."""
        given = {entry.interrupt_id: entry for entry in resume}
        if len(given) < len(resume):
            raise Rejected("INTERRUPT_PAYLOAD_INVALID", "An interrupt is answered twice.")
        missing = [each.interrupt.id for each in waiting.questions if each.interrupt.id not in given]
        if missing:
            raise Rejected(
                "INTERRUPTS_NOT_COVERED",
                f"Resume must cover every open interrupt; missing: {', '.join(missing)}.",
            )
        self._warn_of_unknown(
            set(given) - {each.interrupt.id for each in (*waiting.questions, *waiting.calls)}
        )
        answers: dict[InterruptId, Answer] = {}
        for each in waiting.questions:
            entry = given[each.interrupt.id]
            if entry.status == "resolved" and self.call.world.clock() >= each.interrupt.expires_at:
                raise Rejected(
                    "INTERRUPT_EXPIRED", f"{each.interrupt.id} has expired; it can only be cancelled."
                )
            try:
                answers[each.interrupt.id] = agui_input.answer_of(each.interrupt, entry)
            except InvalidAnswer as error:
                raise Rejected("INTERRUPT_PAYLOAD_INVALID", f"{each.interrupt.id}: {error}") from error
        return answers

    def _from_client(
        self, waiting: Waiting, answered: dict[str, str], *, new_text: bool
    ) -> dict[InterruptId, Answer]:
        answers: dict[InterruptId, Answer] = {}
        for each in waiting.calls:
            call_id = each.interrupt.call_id or ""
            if call_id in answered:
                answers[each.interrupt.id] = Respond(data=answered[call_id])
            elif new_text:
                answers[each.interrupt.id] = Reject(reason="The person wrote something else instead.")
            else:
                raise Rejected("TOOL_RESULTS_MISSING", f"The tool call {call_id} has no tool message yet.")
        return answers

    async def _decide(self, answers: dict[InterruptId, Answer]) -> None:
        """All of it is checked before any of it counts."""
        for name, answer in answers.items():
            await self._rehearse(name, answer)
        runner, person = self.call.world.runner, self.call.token.holder
        for name, answer in answers.items():
            try:
                await runner.decide(name, answer, person, via="agui")
            except Stale as late:
                # Somebody else was first, or the clock: their word counts, and the stream tells it.
                self.warnings.append(str(late))
            except BotError as error:
                raise Rejected("INTERRUPT_PAYLOAD_INVALID", f"{name}: {error}") from error

    async def _rehearse(self, name: InterruptId, answer: Answer) -> None:
        try:
            await self.call.world.runner.rehearse(name, answer, self.call.token.holder)
        except Stale:
            # Decided elsewhere in this moment, or expired and dismissed; neither is a mistake of the client.
            return
        except NotAllowed as error:
            raise Rejected("NOT_ALLOWED", f"{name}: {error}") from error
        except InvalidAnswer as error:
            raise Rejected("INTERRUPT_PAYLOAD_INVALID", f"{name}: {error}") from error

    # Where to begin ---------------------------------------------------------------------------------------

    async def _known(self, head: Head, resume: Sequence[ResumeEntry]) -> list[InterruptId]:
        of_run = {each.interrupt.id for each in await self.call.world.store.interrupts_of(head.run_id)}
        named = {InterruptId(entry.interrupt_id) for entry in resume}
        self._warn_of_unknown(named - of_run)
        return sorted(named & of_run)

    def _warn_of_unknown(self, names: "set[str] | set[InterruptId]") -> None:
        for name in sorted(names):
            logger.warning("resume names an unknown interrupt", extra={"interrupt": name})
            self.warnings.append(f"There is no open interrupt {name}; it was passed over.")

    async def _from(self, run_id: RunId, named: Sequence[InterruptId]) -> Cursor:
        _, entries, asked = await self.call.world.store.progress(run_id, 0)
        return resume_point(run_id, entries, asked, named)

    async def _end_of(self, head: Head) -> Cursor:
        _, _, asked = await self.call.world.store.progress(head.run_id, head.cursor)
        return Cursor(run=head.run_id, entry=head.cursor, interrupts=len(asked))

    async def _is_repeat(self, head: Head, text: str) -> bool:
        """Whether the person only said again what the run is already about."""
        _, entries, _ = await self.call.world.store.progress(head.run_id, 0)
        said = [entry.item.text for entry in entries if isinstance(entry.item, UserText)]
        return bool(said) and agui_input.with_context(text, self.sent) == said[0]


async def head_of(call: Call, run_id: RunId) -> Head:
    head = await call.world.store.head(run_id)
    if head is None:
        raise CheckpointNotFound(run_id)
    return head
