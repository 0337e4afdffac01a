"""What an AG-UI client sends, read as decisions and requests. Pure; nothing here is believed but the words."""

import contextlib
import json
from collections.abc import Sequence
from typing import Any, cast

from ag_ui.core import Message, ResumeEntry, RunAgentInput, Tool, ToolMessage, UserMessage

from bot.api.agui import CONTEXT, text_of
from bot.domain.canonical import JsonObject
from bot.domain.decision import Answer, Approve, Cancel, Choose, Edit, Reject, Respond
from bot.domain.errors import InvalidAnswer
from bot.domain.interrupt import Interrupt
from bot.domain.tool import ToolDefinition

DISMISSED = "The person dismissed the question without deciding."
NO_YES = "The answer did not say `approved: true`."


def fields_of(value: object) -> JsonObject:
    """The fields of an object; none of anything else."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def answer_of(interrupt: Interrupt, entry: ResumeEntry) -> Answer:
    """Return what a resume entry decides.

    Raises:
        InvalidAnswer: the payload does not fit; nothing is consumed.
    """
    if entry.status == "cancelled":
        return Reject(reason=DISMISSED) if "reject" in interrupt.verbs else Cancel(reason=DISMISSED)
    payload = entry.payload
    if "approve" in interrupt.verbs:
        return _approval(interrupt, payload)
    option = fields_of(payload).get("optionId")
    if "choose" in interrupt.verbs and isinstance(option, str):
        return Choose(option=option)
    if "respond" in interrupt.verbs:
        return Respond(data=payload)
    raise InvalidAnswer("The payload needs an optionId.")


def _approval(interrupt: Interrupt, payload: Any) -> Answer:
    fields = fields_of(payload)
    reason = fields.get("reason", "")
    if not isinstance(reason, str) or len(reason) > 3000:
        raise InvalidAnswer("reason must be a text of at most 3000 characters.")
    if fields.get("approved") is not True:
        # Anything but an explicit yes is a no.
        said_no = fields.get("approved") is False
        return Reject(reason=reason or ("" if said_no else NO_YES))
    option, args, text = (fields.get(name) for name in ("optionId", "editedArgs", "editedText"))
    if sum(value is not None for value in (option, args)) > 1:
        raise InvalidAnswer("Choose an option or edit the arguments, not both.")
    if option is not None:
        return Choose(option=str(option), reason=reason)
    if args is not None or text is not None:
        return _edit(interrupt, args, text, reason)
    return Approve(reason=reason)


def _edit(interrupt: Interrupt, args: Any, text: Any, reason: str) -> Answer:
    if args is not None and not isinstance(args, dict):
        raise InvalidAnswer("editedArgs must be an object with all arguments.")
    if text is not None and not isinstance(text, str):
        raise InvalidAnswer("editedText must be a text.")
    if text is None and interrupt.planned is not None and args == interrupt.planned.args:
        # A form that was sent back unchanged is a plain yes.
        return Approve(reason=reason)
    return Edit(args=cast("JsonObject | None", args), text=text, reason=reason)


def legacy_resume(sent: RunAgentInput, waiting: Sequence[Interrupt]) -> list[ResumeEntry] | None:
    """The answer of a client from before 1.0, which knows no ids: it means the one question that is open."""
    command = fields_of(fields_of(sent.forwarded_props).get("command"))
    if "resume" not in command:
        return None
    value = command["resume"]
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = json.loads(value)
    named = _legacy_name(command.get("interruptEvent"))
    meant = [each.id for each in waiting if named in {None, each.id}]
    return [ResumeEntry(interrupt_id=name, status="resolved", payload=value) for name in meant[:1]]


def _legacy_name(event: Any) -> str | None:
    if isinstance(event, str):
        try:
            event = json.loads(event)
        except ValueError:
            return None
    return fields_of(event).get("id")


def request_of(sent: RunAgentInput) -> str:
    """The words the person added: user messages after the last of any other kind."""
    added: list[str] = []
    for message in reversed(sent.messages):
        if not isinstance(message, UserMessage):
            break
        added.append(text_of(message))
    return "\n\n".join(text for text in reversed(added) if text.strip())


def with_context(text: str, sent: RunAgentInput) -> str:
    lines = [f"- {each.description}: {each.value}" for each in sent.context or ()]
    return text + CONTEXT + "\n".join(lines) if lines else text


def tool_answers(given: Sequence[Message]) -> dict[str, str]:
    """What the client's own tools answered: call id → content."""
    return {message.tool_call_id: text_of(message) for message in given if isinstance(message, ToolMessage)}


def client_tool(tool: Tool) -> ToolDefinition:
    """A tool of the client; nothing it says about itself is believed."""
    parameters = fields_of(tool.parameters) or {"type": "object", "properties": {}}
    return ToolDefinition(
        name=tool.name, description=tool.description, parameters=parameters, trusted=False, client=True
    )
