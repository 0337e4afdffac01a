"""Forms that were sent. The person and the question are checked again: time passed since the form was opened."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from bot.domain.canonical import JsonObject
from bot.domain.decision import Answer, Approve, Choose, Edit, Reject, Remember, Respond
from bot.domain.errors import BotError, InvalidAnswer
from bot.domain.interrupt import Asked
from bot.slack.address import Shown, read_shown
from bot.slack.bot import Bot, user_of
from bot.slack.listeners.deciding import looked_up
from bot.slack.views import modals, names
from bot.slack.views.forms import BadInput, filled
from bot.slack.views.notices import refusal


class Sent:
    """One form: what it was about, and what was filled in."""

    def __init__(self, body: JsonObject) -> None:
        view: dict[str, Any] = body["view"]
        self.form: str = view.get("callback_id", "")
        self.about: Shown | None = read_shown(view.get("private_metadata", ""))
        self.state: JsonObject = view.get("state", {}).get("values", {})
        self.inputs: list[str] = [block["block_id"] for block in view["blocks"] if block["type"] == "input"]

    def value(self, block: str) -> str:
        held: JsonObject = self.state.get(block, {}).get(names.VALUE, {})
        picked: JsonObject = held.get("selected_option") or {}
        return str(picked.get("value") or held.get("value") or "")

    @property
    def reason(self) -> str:
        return self.value(names.REASON).strip()


async def on_submit(bot: Bot, body: JsonObject) -> JsonObject | None:
    """Record what a form says; return what Slack shall show instead of closing it."""
    sent = Sent(body)
    make = FORMS.get(sent.form)
    if make is None or sent.about is None:
        return _instead(modals.notice("Not counted", "I do not know this form (any more)."))
    try:
        asked = await looked_up(bot, sent.about)
        answer = await make(bot, sent, asked)
        person = await bot.decider(user_of(body))
        await bot.office.runner.decide(sent.about.interrupt, answer, person, via="slack")
    except BadInput as bad:
        return {"response_action": "errors", "errors": bad.errors}
    except InvalidAnswer as invalid:
        return _under_an_input(sent, str(invalid))
    except BotError as error:
        return _instead(_told(error))
    return None


def _under_an_input(sent: Sent, text: str) -> JsonObject:
    """What is wrong with an answer is said in the form, so that nothing typed is lost."""
    if not sent.inputs:
        return _instead(modals.notice("Not counted", text))
    place = names.REASON if names.REASON in sent.inputs and "reason" in text.lower() else sent.inputs[0]
    return {"response_action": "errors", "errors": {place: text[:1900]}}


def _told(error: BotError) -> JsonObject:
    return {**modals.notice("Not counted", ""), "blocks": refusal(error)["blocks"]}


def _instead(view: JsonObject) -> JsonObject:
    return {"response_action": "update", "view": view}


async def _approve(_bot: Bot, sent: Sent, _asked: Asked) -> Answer:
    option = sent.about.extra if sent.about else ""
    return Choose(option=option, reason=sent.reason) if option else Approve(reason=sent.reason)


async def _review(_bot: Bot, sent: Sent, _asked: Asked) -> Answer:
    which = sent.value(names.WHICH)
    if which and which != "proposed":
        return Choose(option=which, reason=sent.reason)
    return Approve(reason=sent.reason)


async def _reject(_bot: Bot, sent: Sent, _asked: Asked) -> Answer:
    return Reject(reason=sent.reason)


async def _edit(bot: Bot, sent: Sent, asked: Asked) -> Answer:
    planned = asked.interrupt.planned
    if planned is None:
        return Edit(text=sent.value(names.TEXT), reason=sent.reason)
    fields = modals.edit_fields(asked.interrupt, bot.office.toolbox.definition(planned.tool))
    shown_ = {field.name for field in fields}
    kept = {name: value for name, value in planned.args.items() if name not in shown_}
    given = filled(fields, sent.state)
    # A field that was left as it was before does not become an argument that was not there before.
    untouched = {
        field.name
        for field in fields
        if field.name not in planned.args and given.get(field.name) == field.initial
    }
    args = {name: value for name, value in given.items() if name not in untouched}
    return Edit(args={**kept, **args}, reason=sent.reason)


async def _answer(_bot: Bot, sent: Sent, asked: Asked) -> Answer:
    if option := sent.value(names.WHICH):
        return Choose(option=option)
    schema = asked.interrupt.response_schema
    values = filled(modals.answer_fields(asked.interrupt), sent.state)
    return Respond(data=values if schema and schema.get("type") == "object" else values.get("", ""))


async def _remember(_bot: Bot, sent: Sent, _asked: Asked) -> Answer:
    place = "channel" if sent.value(names.PLACE) == "channel" else "thread"
    lasts = timedelta(hours=int(sent.value(names.LASTS) or "1"))
    uses = int(sent.value(names.USES) or "1")
    return Approve(reason=sent.reason, remember=Remember(place=place, lasts=lasts, uses=uses))


Make = Callable[[Bot, Sent, Asked], Awaitable[Answer]]

FORMS: dict[str, Make] = {
    names.APPROVE_FORM: _approve,
    names.REVIEW_FORM: _review,
    names.REJECT_FORM: _reject,
    names.EDIT_FORM: _edit,
    names.ANSWER_FORM: _answer,
    names.REMEMBER_FORM: _remember,
}
