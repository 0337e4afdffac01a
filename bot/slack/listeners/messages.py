"""What people write: a request, an answer to an open question, or a word for the agent."""

import re
from dataclasses import dataclass, replace

from bot.domain.canonical import JsonObject
from bot.domain.decision import Respond
from bot.domain.errors import BotError
from bot.domain.ids import InterruptId, UserId
from bot.domain.interrupt import Asked
from bot.domain.run import FINAL, Base, Head
from bot.engine.rights import objection
from bot.engine.runner import Request
from bot.slack.address import Address, ref_of
from bot.slack.bot import Bot, Where
from bot.slack.views.notices import KEPT, NOTED, STRANGER, refusal, whisper

#: A message with a file, or one that is also sent to the channel, is a message like any other.
_ORDINARY = {None, "", "file_share", "thread_broadcast"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message of a person."""

    user: UserId
    text: str
    ts: str
    address: Address
    in_thread: bool
    direct: bool

    @property
    def where(self) -> Where:
        return Where(channel=self.address.channel, thread_ts=self.address.ts)


def read_message(body: JsonObject, me: str) -> Said | None:
    """Return what somebody wrote; None for edits, deletions and the words of apps."""
    event = body["event"]
    if event.get("subtype") not in _ORDINARY or event.get("bot_id") or not event.get("user"):
        return None
    root = event.get("thread_ts")
    team, channel = str(body.get("team_id", "")), str(event["channel"])
    return Said(
        user=UserId(event["user"]),
        text=without_mention(str(event.get("text", "")), me),
        ts=event["ts"],
        address=Address(team=team, channel=channel, ts=root or event["ts"]),
        in_thread=bool(root),
        direct=event.get("channel_type") == "im",
    )


def without_mention(text: str, me: str) -> str:
    """Return the request: without our own name, with Slack's three entities turned back."""
    plain = re.sub(rf"<@{re.escape(me)}(\|[^>]*)?>", "", text).strip()
    return plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


async def on_mention(bot: Bot, body: JsonObject) -> None:
    said = read_message(body, bot.me.user)
    if said is not None:
        await hear(bot, said, addressed=True)


async def on_message(bot: Bot, body: JsonObject) -> None:
    event = body["event"]
    if event.get("subtype") == "message_deleted":
        await _deleted(bot, event)
        return
    said = read_message(body, bot.me.user)
    # In a channel, a message that mentions us comes a second time as such; that one counts.
    if said is None or (not said.direct and f"<@{bot.me.user}" in str(event.get("text", ""))):
        return
    await hear(bot, said, addressed=said.direct)


def is_relevant(body: JsonObject) -> bool:
    """Whether a message event can concern us at all; most of a channel does not."""
    event = body["event"]
    if event.get("subtype") == "message_deleted":
        before: JsonObject = event.get("previous_message") or {}
        return bool(before.get("bot_id"))
    if event.get("subtype") not in _ORDINARY or event.get("bot_id"):
        return False
    return event.get("channel_type") == "im" or bool(event.get("thread_ts"))


async def hear(bot: Bot, said: Said, *, addressed: bool) -> None:
    """Let it be an answer, a note or a request, in this order."""
    last = await bot.office.store.last_of_thread(said.address.thread_id)
    if last is None or last.state in FINAL:
        if addressed:
            await _request(bot, said, last)
        return
    try:
        if not await _answers(bot, said, last):
            await _note(bot, said, last)
    except BotError as error:
        bot.whisper(said.user, said.where, refusal(error))


async def _request(bot: Bot, said: Said, last: Head | None) -> None:
    person = await bot.people.person(said.user)
    if person.standing != "member":
        bot.whisper(said.user, said.where, whisper(STRANGER[person.standing]))
        return
    if not said.text:
        bot.whisper(said.user, said.where, whisper("Yes? Tell me what to do. `/askfirst help` shows more."))
        return
    bot.errands.start(_seen(bot, said))
    await ask(
        bot, said.address, said.user, said.text, key=f"slack/{said.address.channel}/{said.ts}", last=last
    )


async def _seen(bot: Bot, said: Said) -> None:
    """Show at once that the request arrived, also where a status is not shown."""
    await bot.web.call("reactions.add", channel=said.address.channel, timestamp=said.ts, name="eyes")


async def ask(
    bot: Bot, address: Address, user: UserId, text: str, *, key: str, last: Head | None = None
) -> None:
    """Start a run; the same key makes the same run, however often Slack delivers it."""
    thread = address.thread()
    thread = replace(thread, address={**thread.address, "user": user})
    request = Request(
        thread=thread,
        requester=user,
        text=text,
        agent=bot.office.agent(address.channel),
        breakpoints=bot.office.policies.for_channel(address.channel).breakpoints,
        key=key,
        base=_continued(last),
    )
    await bot.office.runner.ask(request)


def _continued(last: Head | None) -> Base | None:
    if last is None or last.state == "quarantined":
        return None
    return Base(run_id=last.run_id, cursor=last.cursor)


async def _answers(bot: Bot, said: Said, last: Head) -> bool:
    """Take it as the answer, if a question for text is open and this person was asked. Never as an approval."""
    open_ = [asked for asked in await bot.office.store.open_interrupts(last.run_id) if _takes_text(asked)]
    if len(open_) != 1:
        return False
    person = await bot.decider(said.user)
    if objection(person, open_[0]):
        return False
    await bot.office.runner.decide(open_[0].interrupt.id, Respond(data=said.text), person, via="slack")
    return True


def _takes_text(asked: Asked) -> bool:
    interrupt = asked.interrupt
    schema = interrupt.response_schema
    text = schema is None or schema.get("type") == "string"
    return interrupt.kind in {"input", "clarification"} and "respond" in interrupt.verbs and text


async def _note(bot: Bot, said: Said, last: Head) -> None:
    if not said.text:
        return
    person = await bot.people.person(said.user)
    if person.standing != "member" and said.user != last.requester:
        # What strangers write must not steer the agent.
        return
    await bot.office.runner.note(last.run_id, said.user, said.text)
    bot.whisper(said.user, said.where, whisper(KEPT if last.state == "waiting" else NOTED))


async def _deleted(bot: Bot, event: JsonObject) -> None:
    """Somebody deleted a message of ours: an open card comes back."""
    found = await bot.office.store.post_by_ref(ref_of(event["channel"], event["deleted_ts"]))
    if found is None or found[2] != "card":
        return
    key, subject, _kind = found
    asked = await bot.office.store.asked(InterruptId(subject))
    if asked is not None and asked.outcome is None:
        await bot.office.store.post_lost(key, bot.clock())
