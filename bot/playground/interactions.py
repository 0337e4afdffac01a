"""The payloads of clicks, submissions, commands and events, as Slack sends them. Pure."""

from typing import Any

from bot.playground.inputs import STATE, Control
from bot.playground.render import message_json, view_json
from bot.playground.shapes import Json, as_dict, dicts
from bot.playground.world import APP_ID, BOT_USER, TEAM, Channel, Happened, Message, User, View, World

#: The old verification token; every payload still has one.
_TOKEN = {"token": "playground-verification-token"}


def event_callback(world: World, happened: Happened) -> Json:
    channel = happened.channel
    return {
        **_TOKEN,
        "team_id": TEAM,
        "context_team_id": TEAM,
        "context_enterprise_id": None,
        "api_app_id": APP_ID,
        "event": happened.event,
        "type": "event_callback",
        "event_id": world.next_id("Ev"),
        "event_time": int(world.now()),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": TEAM,
                "user_id": BOT_USER,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": channel is not None and channel.is_ext_shared,
        "event_context": world.next_id("4-"),
    }


def message_action(
    world: World, user: User, message: Message, action: Json, *, trigger: str, url: str, state: Json
) -> Json:
    channel = world.channels[message.channel]
    container: Json = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": message.channel,
        "is_ephemeral": message.ephemeral_to is not None,
        **({"thread_ts": message.thread_ts} if message.thread_ts else {}),
    }
    payload = _interaction("block_actions", user, trigger) | {
        "container": container,
        "channel": {"id": channel.id, "name": _name(channel)},
        "state": {"values": state},
        "response_url": url,
        "actions": [action],
    }
    # Slack does not keep ephemeral messages, so it cannot send them back.
    if message.ephemeral_to is None:
        payload["message"] = message_json(world, message)
    return payload


def view_action(user: User, view: View, action: Json, *, trigger: str, state: Json) -> Json:
    return _interaction("block_actions", user, trigger) | {
        "container": {"type": "view", "view_id": view.id},
        "view": view_json(view, state),
        "actions": [action],
    }


def view_submission(user: User, view: View, *, trigger: str, state: Json) -> Json:
    return _interaction("view_submission", user, trigger) | {
        "view": view_json(view, state),
        "response_urls": [],
    }


def view_closed(user: User, view: View, *, state: Json, is_cleared: bool) -> Json:
    payload = _interaction("view_closed", user, "")
    del payload["trigger_id"]
    return payload | {"view": view_json(view, state), "is_cleared": is_cleared}


def slash_command(user: User, channel: Channel, command: str, text: str, *, trigger: str, url: str) -> Json:
    return {
        **_TOKEN,
        "team_id": TEAM,
        "team_domain": "playground",
        "channel_id": channel.id,
        "channel_name": _name(channel),
        "user_id": user.id,
        "user_name": user.name,
        "command": command,
        "text": text,
        "api_app_id": APP_ID,
        "is_enterprise_install": "false",
        "response_url": url,
        "trigger_id": trigger,
    }


def action_of(control: Control, state: Json | None, chosen: Json | None, action_ts: str) -> Json:
    """Return the entry of `actions`: what was used, and what it now holds."""
    element = control.element
    action: Json = {
        "type": control.kind,
        "action_id": element["action_id"],
        "block_id": control.block["block_id"],
        "action_ts": action_ts,
    }
    for name in ("text", "value", "style", "confirm", "placeholder", "url"):
        if name in element:
            action[name] = element[name]
    if chosen is not None:
        action["selected_option"] = chosen
    if state is not None:
        value_name, _ = STATE[control.kind]
        action[value_name] = state[value_name]
    return action


def _interaction(kind: str, user: User, trigger: str) -> dict[str, Any]:
    return {
        "type": kind,
        **_TOKEN,
        "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team},
        "team": {"id": TEAM, "domain": "playground"},
        "api_app_id": APP_ID,
        "enterprise": None,
        "is_enterprise_install": False,
        "trigger_id": trigger,
    }


def _name(channel: Channel) -> str:
    return "directmessage" if channel.kind == "im" else channel.name


def label_of(payload: Json) -> str:
    """Return a few words about a payload for the transcript."""
    event = as_dict(payload.get("event"))
    if event is not None:
        subtype = f".{event['subtype']}" if "subtype" in event else ""
        return f"{event['type']}{subtype} {payload['event_id']} {str(event.get('text', ''))[:60]!r}"
    if "command" in payload:
        return f"{payload['command']} {payload['text']!r} by {payload['user_name']}"
    used = " ".join(str(action.get("action_id")) for action in dicts(payload.get("actions")))
    return f"{payload['type']} {used} by {payload['user']['name']}"
