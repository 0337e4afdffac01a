"""What happens to messages, and which events that sets off.

Every change of a conversation goes through here, whoever made it: the app by the Web API, a person by
their client. So the app hears of its own messages as in Slack, and nothing changes without an event.
"""

from typing import Any

from bot.playground.render import message_json
from bot.playground.shapes import Json, as_dict, dicts
from bot.playground.world import BOT_USER, TEAM, Channel, Happened, Message, World

_SUBSCRIPTION = {"public": "message.channels", "private": "message.groups", "im": "message.im"}
_CHANNEL_TYPE = {"public": "channel", "private": "group", "im": "im"}


def post(world: World, message: Message) -> Message:
    """Store a new message and tell everyone. Ephemeral ones set off no event and are in no history."""
    message.blocks = with_ids(world, message.blocks)
    if message.ephemeral_to is not None:
        world.ephemerals[message.channel, message.ts] = message
        world.changed(
            "ephemeral", {"channel": message.channel, "ts": message.ts, "user": message.ephemeral_to}
        )
        return message
    world.messages.setdefault(message.channel, {})[message.ts] = message
    if message.thread_ts is not None and message.thread_ts != message.ts:
        world.threads.setdefault((message.channel, message.thread_ts), []).append(message.ts)
    if message.by_bot:
        world.statuses.pop((message.channel, message.root), None)
    world.changed("message", {"channel": message.channel, "ts": message.ts})
    _announce(world, message)
    return message


def edit(world: World, message: Message, *, by: str, **changes: Any) -> None:
    """Change fields of `message` and tell everyone."""
    before = message_json(world, message)
    for name, value in changes.items():
        setattr(message, name, value)
    message.blocks = with_ids(world, message.blocks)
    message.edited_by, message.edited_ts = by, world.next_ts()
    world.changed("message_changed", {"channel": message.channel, "ts": message.ts})
    if message.ephemeral_to is None:
        after = {"message": message_json(world, message), "previous_message": before}
        _announce_change(world, message, "message_changed", after)


def delete(world: World, message: Message) -> None:
    if message.ephemeral_to is not None:
        del world.ephemerals[message.channel, message.ts]
    else:
        message.deleted = True
    world.changed("message_deleted", {"channel": message.channel, "ts": message.ts})
    if message.ephemeral_to is None:
        gone = {"deleted_ts": message.ts, "previous_message": message_json(world, message)}
        _announce_change(world, message, "message_deleted", gone)


def refresh(world: World, message: Message) -> None:
    """Show a message anew without an edit mark: reactions and streams."""
    world.changed("message_changed", {"channel": message.channel, "ts": message.ts})


def react(world: World, message: Message, user: str, name: str, *, added: bool) -> None:
    refresh(world, message)
    event: Json = {
        "type": "reaction_added" if added else "reaction_removed",
        "user": user,
        "reaction": name,
        "item": {"type": "message", "channel": message.channel, "ts": message.ts},
        "item_user": message.user,
        "event_ts": world.next_ts(),
    }
    _tell(world, world.channels[message.channel], event["type"], event)


def with_ids(world: World, blocks: list[Json]) -> list[Json]:
    """Return the blocks with the ids that Slack makes up where the app gave none."""
    return [_with_ids(world, block) for block in blocks]


def _with_ids(world: World, block: Json) -> Json:
    named = {"block_id": world.next_id("b"), **block}
    if named.get("type") not in ("rich_text", "context", "table", "data_table"):
        for key in ("elements", "actions"):
            if key in named:
                named[key] = [_with_action_id(world, element) for element in dicts(named[key])]
        for key in ("accessory", "element"):
            if (element := as_dict(named.get(key))) is not None:
                named[key] = _with_action_id(world, element)
        if "child_blocks" in named:
            named["child_blocks"] = with_ids(world, dicts(named["child_blocks"]))
    return named


def _with_action_id(world: World, element: Json) -> Json:
    if element.get("type") == "card":
        return _with_ids(world, element)
    return (
        element if element.get("type") in ("image", "url") else {"action_id": world.next_id("a"), **element}
    )


def _announce(world: World, message: Message) -> None:
    channel = world.channels[message.channel]
    event = message_json(world, message) | {
        "channel": channel.id,
        "channel_type": _CHANNEL_TYPE[channel.kind],
        "event_ts": message.ts,
    }
    author = world.users[message.user]
    if author.team != TEAM:
        event |= {"user_team": author.team, "source_team": author.team}
    _tell(world, channel, _SUBSCRIPTION[channel.kind], event)
    # In a direct message, mentioning the bot is just a message.
    if f"<@{BOT_USER}>" in message.text and channel.kind != "im" and not message.by_bot:
        mention = {name: value for name, value in event.items() if name != "channel_type"}
        _tell(world, channel, "app_mention", mention | {"type": "app_mention"})


def _announce_change(world: World, message: Message, subtype: str, fields: Json) -> None:
    channel = world.channels[message.channel]
    event: Json = {
        "type": "message",
        "subtype": subtype,
        "hidden": True,
        "channel": channel.id,
        "channel_type": _CHANNEL_TYPE[channel.kind],
        "ts": world.next_ts(),
        "event_ts": world.next_ts(),
        **fields,
    }
    _tell(world, channel, _SUBSCRIPTION[channel.kind], event)


def _tell(world: World, channel: Channel, subscription: str, event: Json) -> None:
    if BOT_USER in channel.members:
        world.happened(Happened(subscription=subscription, event=event, channel=channel))
