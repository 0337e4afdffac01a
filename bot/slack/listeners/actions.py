"""Buttons and menus. Every click gets an answer: a changed card, a form, or a word to the clicker."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from bot.domain.canonical import JsonObject
from bot.domain.decision import Approve, Cancel, Choose
from bot.domain.errors import BotError, InvalidAnswer
from bot.domain.ids import GrantId, InterruptId, RunId, UserId
from bot.engine.rights import objection
from bot.policy.explain import render_text
from bot.slack.address import Shown, read_shown
from bot.slack.bot import Bot, Where, user_of, where_of
from bot.slack.listeners.deciding import decide, looked_up, may_look, may_open
from bot.slack.listeners.home import publish
from bot.slack.views import modals, names
from bot.slack.views.arguments import fits
from bot.slack.views.notices import refusal, told, whisper
from bot.slack.views.text import when

SNOOZE = timedelta(hours=1)


class Click:
    """One click: by whom, on what, where."""

    def __init__(self, body: JsonObject) -> None:
        self.action: dict[str, Any] = body["actions"][0]
        self.id: str = self.action["action_id"]
        self.user: UserId = user_of(body)
        self.where: Where = where_of(body)
        self.trigger: str = body.get("trigger_id", "")
        picked: JsonObject = self.action.get("selected_option") or {}
        self.value: str = self.action.get("value") or picked.get("value", "")


async def on_click(bot: Bot, body: JsonObject) -> None:
    click = Click(body)
    handler = _handler(click.id)
    try:
        if handler is None:
            bot.whisper(click.user, click.where, whisper("I do not know this button (any more)."))
        else:
            await handler(bot, click)
    except BotError as error:
        bot.whisper(click.user, click.where, refusal(error))


def _handler(action_id: str) -> "Handler | None":
    if action_id.startswith(names.OPTION):
        return _choose_option
    return _nothing if action_id.startswith(names.LINK) else HANDLERS.get(action_id)


def _about(click: Click) -> Shown:
    return _read(click.value)


def _read(value: str) -> Shown:
    about = read_shown(value)
    if about is None:
        raise BotError("I do not know this button (any more).")
    return about


async def _approve(bot: Bot, click: Click) -> None:
    await _agree(bot, click, _about(click), "")


async def _choose_option(bot: Bot, click: Click) -> None:
    await _agree(bot, click, _about(click), click.id.removeprefix(names.OPTION))


async def _choose(bot: Bot, click: Click) -> None:
    about = _about(click)
    await _agree(bot, click, about, about.extra)


async def _agree(bot: Bot, click: Click, about: Shown, option: str) -> None:
    asked = await looked_up(bot, about)
    if asked.interrupt.reason_required and asked.outcome is None:
        await may_open(bot, about, click.user)
        bot.open_modal(click.trigger, modals.approve(asked.interrupt, option))
        return
    if asked.interrupt.kind == "approval" and fits(asked.interrupt, hidden=False) != "card":
        # The card does not show all of it, so it has no such button; an old one may.
        raise InvalidAnswer("Look at all of it first: press Review on the card.")
    answer = Choose(option=option) if option else Approve()
    person = await bot.decider(click.user)
    await bot.office.runner.decide(about.interrupt, answer, person, via="slack")


async def _reject(bot: Bot, click: Click) -> None:
    asked = await may_open(bot, _about(click), click.user)
    bot.open_modal(click.trigger, modals.reject(asked.interrupt))


async def _edit(bot: Bot, click: Click) -> None:
    asked = await may_open(bot, _about(click), click.user)
    planned = asked.interrupt.planned
    tool = bot.office.toolbox.definition(planned.tool) if planned else None
    view = modals.edit(asked.interrupt, tool)
    if view is None:
        text = (
            f"This is too large to be edited in Slack. Use `askfirst runs resume {asked.interrupt.run_id}`."
        )
        view = modals.notice("Edit", text)
    bot.open_modal(click.trigger, view)


async def _answer(bot: Bot, click: Click) -> None:
    asked = await may_open(bot, _about(click), click.user)
    bot.open_modal(click.trigger, modals.answer(asked.interrupt))


async def _review(bot: Bot, click: Click) -> None:
    asked = await may_open(bot, _about(click), click.user)
    bot.open_modal(click.trigger, modals.review(asked, may_decide=True))


async def _explain(bot: Bot, click: Click) -> None:
    asked = await may_look(bot, _about(click), click.user)
    head = await bot.office.store.head(asked.interrupt.run_id)
    explanation = bot.office.explain(head, asked.interrupt) if head else None
    text = render_text(explanation) if explanation else asked.interrupt.reason
    bot.open_modal(click.trigger, modals.explanation(text))


async def _more(bot: Bot, click: Click) -> None:
    what, _, value = click.value.partition(" ")
    about = _read(value)
    match what:
        case names.REMEMBER:
            asked = await may_open(bot, about, click.user)
            bot.open_modal(click.trigger, modals.remember(asked.interrupt))
        case names.FULL:
            asked = await may_look(bot, about, click.user)
            person = await bot.people.person(click.user)
            can = asked.outcome is None and not objection(person, asked)
            can = can and fits(asked.interrupt, hidden=False) != "nowhere"
            bot.open_modal(click.trigger, modals.review(asked, may_decide=can))
        case names.STOP:
            await decide(bot, about, Cancel(), click.user)
        case names.LATER:
            await looked_up(bot, about)
            person = await bot.decider(click.user)
            snoozed = await bot.office.runner.snooze(about.interrupt, person, bot.clock() + SNOOZE)
            bot.whisper(click.user, click.where, told(f"I remind you {when(snoozed.remind_at)}."))
        case _:
            raise BotError("I do not know this entry (any more).")


async def _rescope(bot: Bot, click: Click) -> None:
    await bot.office.runner.change_scope(RunId(click.value), await bot.decider(click.user))
    bot.whisper(click.user, click.where, whisper("I ask about the scope again before I go on."))


async def _revoke(bot: Bot, click: Click) -> None:
    await revoke(bot, click.value, click.user)
    bot.whisper(click.user, click.where, whisper("Revoked. The next such call is asked about again."))
    bot.errands.start(publish(bot, click.user))


async def revoke(bot: Bot, grant_id: str, user: UserId) -> None:
    """End a grant: whoever gave it may, and whoever could decide what it answers.

    Raises:
        BotError: there is none, or it is not theirs.
    """
    grant = next((each for each in await bot.office.store.grants(bot.clock()) if each.id == grant_id), None)
    if grant is None:
        raise BotError("There is no such remembered approval (any more).")
    if grant.granted_by != user:
        asked = await bot.office.store.asked(grant.interrupt_id)
        if asked is None or objection(await bot.decider(user), asked):
            raise BotError("Only who gave it, or who could give it, can revoke it.")
    await bot.office.runner.revoke(GrantId(grant_id), user)


async def _again(bot: Bot, click: Click) -> None:
    person = await bot.decider(click.user)
    await bot.office.runner.ask_again(InterruptId(click.value), person)
    bot.whisper(click.user, click.where, whisper("Asked again."))


async def _nothing(_bot: Bot, _click: Click) -> None:
    """A link: Slack opened it already."""


Handler = Callable[[Bot, Click], Awaitable[None]]

HANDLERS: dict[str, Handler] = {
    names.APPROVE: _approve,
    names.CHOOSE: _choose,
    names.REJECT: _reject,
    names.EDIT: _edit,
    names.ANSWER: _answer,
    names.REVIEW: _review,
    names.EXPLAIN: _explain,
    names.MORE: _more,
    names.REVOKE: _revoke,
    names.AGAIN: _again,
    names.RESCOPE: _rescope,
}
