"""The whole workspace as one JSON document, as one person sees it: what a page draws when it opens. Pure."""

from bot.playground.hub import Hub
from bot.playground.inputs import controls
from bot.playground.render import channel_json, message_json, user_json, usergroup_json, view_json
from bot.playground.shapes import Json
from bot.playground.world import Message, View

#: A page shows the end of a conversation; tests read the world itself.
_LAST = 200


def snapshot(hub: Hub, viewer: str | None) -> Json:
    """Return everything `viewer` sees; without one, everything but what was whispered."""
    world = hub.world
    channels = [c for c in world.channels.values() if viewer is None or viewer in c.members]
    return {
        "number": hub.feed.number,
        "now": world.now(),
        "viewer": viewer,
        "users": [user_json(user) for user in world.users.values()],
        "usergroups": [usergroup_json(group) for group in world.usergroups.values()],
        "channels": [channel_json(channel) for channel in channels],
        "messages": {channel.id: _messages(hub, channel.id, viewer) for channel in channels},
        "modals": [_view(view) for view in world.modals.get(viewer or "", [])],
        "home": _view(world.homes[viewer]) if viewer in world.homes else None,
        "sessions": [
            {"channel": channel, "thread_ts": ts, "status": session.status, "title": session.title}
            for (channel, ts), session in world.sessions.items()
        ],
        "statuses": [
            {"channel": channel, "thread_ts": ts, "status": world.status(channel, ts)}
            for channel, ts in world.statuses
            if world.status(channel, ts)
        ],
        "prompts": [
            {"channel": channel, "thread_ts": ts, "prompts": prompts}
            for (channel, ts), prompts in world.prompts.items()
        ],
        "unanswered": [delivery.label for delivery in hub.unanswered],
    }


def _messages(hub: Hub, channel: str, viewer: str | None) -> list[Json]:
    public = [m for m in hub.world.messages.get(channel, {}).values() if not m.deleted][-_LAST:]
    whispered = [
        m
        for m in hub.world.ephemerals.values()
        if m.channel == channel and viewer is not None and m.ephemeral_to == viewer
    ]
    found = sorted(public + whispered, key=lambda message: message.ts)
    return [_message(hub, message, viewer) for message in found]


def _message(hub: Hub, message: Message, viewer: str | None) -> Json:
    hidden = [
        f"{control.block['block_id']}/{control.element['action_id']}"
        for control in controls(message.blocks)
        if viewer is not None and not control.is_visible_to(viewer)
    ]
    is_ephemeral = message.ephemeral_to is not None
    return message_json(hub.world, message) | {"is_ephemeral": is_ephemeral, "hidden_controls": hidden}


def _view(view: View) -> Json:
    return view_json(view) | {"errors": view.errors, "trouble": view.trouble}
