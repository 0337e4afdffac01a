"""conversations.* and reactions.*."""

from collections.abc import Iterable

from bot.playground import timeline
from bot.playground.errors import SlackError
from bot.playground.methods.call import Call, missing
from bot.playground.render import channel_json, message_json
from bot.playground.shapes import Json
from bot.playground.world import BOT_USER, Channel, Message

_TYPES = {"public_channel": "public", "private_channel": "private", "im": "im"}


def info(call: Call) -> Json:
    return {"channel": channel_json(call.world.channel(call.args.text("channel")))}


def list_(call: Call) -> Json:
    wanted = {_TYPES.get(name) for name in (call.args.optional("types") or "public_channel").split(",")}
    visible = [
        channel
        for channel in call.world.channels.values()
        if channel.kind in wanted and (channel.kind == "public" or BOT_USER in channel.members)
    ]
    if call.args.flag("exclude_archived"):
        visible = [channel for channel in visible if not channel.is_archived]
    return page(call, "channels", [channel_json(channel) for channel in visible])


def members(call: Call) -> Json:
    channel = call.world.channel(call.args.text("channel"))
    return page(call, "members", sorted(channel.members))


def open_(call: Call) -> Json:
    if channel_id := call.args.optional("channel"):
        return {"channel": _opened(call, call.world.channel(channel_id))}
    names = [name for name in (call.args.optional("users") or "").split(",") if name]
    if not names:
        raise SlackError("users_list_not_supplied")
    if len(names) > 1:
        raise SlackError("method_not_supported_for_channel_type")
    user = call.world.user(names[0])
    if user.deleted:
        raise SlackError("user_disabled")
    return {"channel": _opened(call, call.world.direct_message(user.id))}


def join(call: Call) -> Json:
    channel = call.world.channel(call.args.text("channel"))
    if channel.kind != "public":
        raise SlackError("method_not_supported_for_channel_type")
    if channel.is_archived:
        raise SlackError("is_archived")
    channel.members.add(BOT_USER)
    return {"channel": channel_json(channel)}


def leave(call: Call) -> Json:
    channel = call.world.channel(call.args.text("channel"))
    if channel.kind == "im":
        raise SlackError("method_not_supported_for_channel_type")
    channel.members.discard(BOT_USER)
    return {}


def history(call: Call) -> Json:
    channel = _readable(call)
    found = reversed(call.world.messages.get(channel.id, {}).values())
    roots = (message for message in found if message.thread_ts in (None, message.ts))
    return page(call, "messages", _between(call, roots))


def replies(call: Call) -> Json:
    channel = _readable(call)
    ts = call.args.text("ts")
    if ts not in call.world.messages.get(channel.id, {}):
        raise SlackError("thread_not_found")
    root = call.world.messages[channel.id][ts].root
    return page(call, "messages", _between(call, call.world.thread(channel.id, root)))


def add_reaction(call: Call) -> Json:
    message, name = _reactable(call)
    users = message.reactions.setdefault(name, [])
    if BOT_USER in users:
        raise SlackError("already_reacted")
    users.append(BOT_USER)
    timeline.react(call.world, message, BOT_USER, name, added=True)
    return {}


def remove_reaction(call: Call) -> Json:
    message, name = _reactable(call)
    if BOT_USER not in message.reactions.get(name, []):
        raise SlackError("no_reaction")
    message.reactions[name].remove(BOT_USER)
    if not message.reactions[name]:
        del message.reactions[name]
    timeline.react(call.world, message, BOT_USER, name, added=False)
    return {}


def get_reactions(call: Call) -> Json:
    message = _item(call)
    return {"type": "message", "channel": message.channel, "message": message_json(call.world, message)}


def page(call: Call, name: str, rows: list[Json] | list[str]) -> Json:
    """Return one page of rows with Slack's cursor."""
    cursor = call.args.optional("cursor") or "0"
    if not cursor.isdecimal():
        raise SlackError("invalid_cursor")
    start, size = int(cursor), min(call.args.number("limit", 100), 1000)
    if size < 1:
        raise SlackError("invalid_limit")
    after = start + size
    more = after < len(rows)
    return {
        name: rows[start:after],
        "has_more": more,
        "response_metadata": {"next_cursor": str(after) if more else ""},
    }


def _opened(call: Call, channel: Channel) -> Json:
    return channel_json(channel) if call.args.flag("return_im") else {"id": channel.id}


def _readable(call: Call) -> Channel:
    channel = call.world.channel(call.args.text("channel"))
    if BOT_USER not in channel.members:
        raise SlackError("not_in_channel")
    return channel


def _between(call: Call, messages: Iterable[Message]) -> list[Json]:
    oldest = _time(call, "oldest", "0")
    latest = _time(call, "latest", "inf")
    with_metadata = call.args.flag("include_all_metadata")
    shown: list[Json] = []
    for message in messages:
        if not message.deleted and oldest <= float(message.ts) <= latest:
            rendered = message_json(call.world, message)
            if not with_metadata:
                rendered.pop("metadata", None)
            shown.append(rendered)
    return shown


def _time(call: Call, name: str, default: str) -> float:
    try:
        return float(call.args.optional(name) or default)
    except ValueError:
        raise SlackError(f"invalid_ts_{name}") from None


def _item(call: Call) -> Message:
    if "channel" not in call.args or "timestamp" not in call.args:
        raise SlackError("no_item_specified")
    channel = call.world.channel(call.args.text("channel"))
    return call.world.message(channel.id, call.args.text("timestamp"))


def _reactable(call: Call) -> tuple[Message, str]:
    name = call.args.text("name").strip(":")
    if not name:
        raise missing("name")
    if not name.replace("_", "").replace("-", "").replace("+", "").isalnum():
        raise SlackError("invalid_name")
    return _item(call), name
