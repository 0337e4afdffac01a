"""`/askfirst`: a request, or one of a few words. What it answers, only the person sees."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.domain.canonical import JsonObject
from bot.domain.errors import BotError
from bot.domain.ids import InterruptId, UserId
from bot.domain.interrupt import Asked
from bot.domain.run import FINAL, Head
from bot.engine.rights import objection
from bot.policy.explain import render_text
from bot.slack.address import FRONT, Address, address_of
from bot.slack.bot import Bot
from bot.slack.listeners.actions import revoke
from bot.slack.listeners.home import gathered, waiting_for
from bot.slack.listeners.messages import ask
from bot.slack.listeners.stop import stop
from bot.slack.views.home import card_link, grant_block
from bot.slack.views.notices import STRANGER, refusal, whisper
from bot.slack.views.text import Block, escaped, line, literal, note, person, rich, section, when, words

HELP = """\
`/askfirst <request>` – ask for something; or mention me in a channel, or write to me directly
`/askfirst pending` – what waits for your decision, and what waits for others here
`/askfirst status` – your latest runs
`/askfirst why <id>` – why a card was asked: the whole policy explanation
`/askfirst cancel [run]` – stop your latest run in this channel, or the one you name
`/askfirst grants` – approvals that are remembered; `/askfirst revoke <grant>` ends one
`/askfirst help` – this"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    user: UserId
    team: str
    channel: str
    text: str
    #: The same for every delivery of this command.
    key: str

    @property
    def rest(self) -> str:
        return self.text.partition(" ")[2].strip()


def read_command(body: JsonObject) -> Command:
    return Command(
        user=UserId(body["user_id"]),
        team=body.get("team_id", ""),
        channel=body["channel_id"],
        text=str(body.get("text", "")).strip(),
        key=str(body.get("trigger_id", "")),
    )


async def on_command(bot: Bot, body: JsonObject) -> JsonObject:
    """Do it, and return what the person is shown."""
    command = read_command(body)
    word = command.text.partition(" ")[0].lower()
    alone = " " not in command.text or word in {"why", "cancel", "revoke"}
    handler = WORDS.get(word) if alone else None
    try:
        return await (handler or _request)(bot, command)
    except BotError as error:
        return _shown(refusal(error)["blocks"])


def _shown(blocks: list[Block]) -> JsonObject:
    return {"response_type": "ephemeral", "text": "Askfirst", "blocks": blocks}


async def _help(_bot: Bot, _command: Command) -> JsonObject:
    return _shown([line(HELP)])


async def _request(bot: Bot, command: Command) -> JsonObject:
    who = await bot.people.person(command.user)
    if who.standing != "member":
        return _shown(whisper(STRANGER[who.standing])["blocks"])
    bot.errands.start(_start(bot, command))
    return _shown([note("On it. I answer in a thread below.")])


async def _start(bot: Bot, command: Command) -> None:
    """Say in the channel what was asked, and answer under it."""
    known = await _posted_before(bot, command)
    ts = known or await _announce(bot, command)
    address = Address(team=command.team, channel=command.channel, ts=ts)
    await ask(bot, address, command.user, command.text, key=f"slack/command/{command.key}")


async def _announce(bot: Bot, command: Command) -> str:
    asked = {"type": "user", "user_id": command.user}
    posted = await bot.web.call(
        "chat.postMessage",
        channel=command.channel,
        text=f"{person(command.user)} asked for something.",
        blocks=[rich(asked, words(" asked: "), words(command.text))],
        metadata={"event_type": "askfirst_message", "event_payload": {"key": command.key}},
        parse="none",
        link_names=False,
        unfurl_links=False,
        unfurl_media=False,
    )
    return str(posted["ts"])


async def _posted_before(bot: Bot, command: Command) -> str | None:
    """After a crash the same command is handled again; its message may be there already."""
    page = await bot.web.read(
        "conversations.history", channel=command.channel, include_all_metadata=True, limit=50
    )
    for message in page["messages"]:
        if message.get("metadata", {}).get("event_payload", {}).get("key") == command.key:
            return str(message["ts"])
    return None


async def _pending(bot: Bot, command: Command) -> JsonObject:
    mine = await waiting_for(bot, command.user)
    ids = {asked.interrupt.id for asked in mine}
    here = [
        asked
        for asked in await bot.office.store.open_interrupts()
        if asked.interrupt.channel == command.channel and asked.interrupt.id not in ids
    ]
    it = await gathered(bot, command.user)
    blocks = [_open_line(asked, card_link(it, asked)) for asked in mine[:20]]
    blocks = [note("Waiting for you:"), *blocks] if blocks else [note("Nothing waits for you.")]
    if here:
        blocks.append(note("Waiting for others in this channel:"))
        blocks += [_open_line(asked, card_link(it, asked)) for asked in here[:20]]
    return _shown(blocks)


def _open_line(asked: Asked, link: str) -> Block:
    tool = f" `{escaped(asked.interrupt.planned.tool).replace('`', '')}`" if asked.interrupt.planned else ""
    return line(f"<{link}|{asked.interrupt.id}>{tool} · expires {when(asked.interrupt.expires_at)}")


async def _status(bot: Bot, command: Command) -> JsonObject:
    heads = await bot.office.store.runs_of(command.user)
    lines = [line(f"{_run_link(bot, head)} is *{head.state}* · {when(head.created_at)}") for head in heads]
    return _shown(lines or [note("You have not asked for anything yet.")])


def _run_link(bot: Bot, head: Head) -> str:
    if head.thread.front != FRONT:
        return head.run_id
    return f"<{address_of(head.thread.id).link(bot.me.url)}|{head.run_id}>"


async def _why(bot: Bot, command: Command) -> JsonObject:
    asked = await bot.office.store.asked(InterruptId(command.rest))
    if asked is None:
        return _shown([note("Which one? `/askfirst why <id>`; the id is at the foot of the card.")])
    who = await bot.people.person(command.user)
    if who.standing != "member" or (asked.interrupt.channel != command.channel and objection(who, asked)):
        return _shown([section("You can ask that in the channel of the card, or if you may decide it.")])
    head = await bot.office.store.head(asked.interrupt.run_id)
    explanation = bot.office.explain(head, asked.interrupt) if head else None
    text = render_text(explanation) if explanation else asked.interrupt.reason
    return _shown([literal(text[:9000])])


async def _cancel(bot: Bot, command: Command) -> JsonObject:
    head = await _which_run(bot, command)
    if head is None:
        return _shown([note("There is no run of yours to stop here. `/askfirst status` lists them.")])
    await stop(bot, head, command.user)
    return _shown([note(f"Stopping run {head.run_id}.")])


async def _which_run(bot: Bot, command: Command) -> Head | None:
    if command.rest:
        found = await bot.office.store.find(command.rest)
        return await bot.office.store.head(found[0]) if len(found) == 1 else None
    heads = await bot.office.store.runs_of(command.user)
    here = (head for head in heads if head.thread.channel == command.channel and head.state not in FINAL)
    return next(here, None)


async def _grants(bot: Bot, command: Command) -> JsonObject:
    grants = await bot.office.store.grants(bot.clock())
    seen = [grant for grant in grants if grant.granted_by == command.user or grant.where == command.channel]
    return _shown([grant_block(grant) for grant in seen[:20]] or [note("Nothing is remembered here.")])


async def _revoke(bot: Bot, command: Command) -> JsonObject:
    await revoke(bot, command.rest, command.user)
    return _shown([note("Revoked. The next such call is asked about again.")])


Handler = Callable[[Bot, Command], Awaitable[JsonObject]]

WORDS: dict[str, Handler] = {
    "": _help,
    "help": _help,
    "pending": _pending,
    "status": _status,
    "why": _why,
    "cancel": _cancel,
    "grants": _grants,
    "revoke": _revoke,
}
