"""The JSON in which Slack shows users, channels, messages, views and files. Pure."""

from bot.playground.shapes import Json
from bot.playground.world import (
    APP_ID,
    BOT_ID,
    BOT_USER,
    TEAM,
    Channel,
    File,
    Message,
    User,
    Usergroup,
    View,
    World,
)


def user_json(user: User, *, with_email: bool = True) -> Json:
    rendered: Json = {
        "id": user.id,
        "team_id": user.team,
        "name": user.name,
        "real_name": user.real_name,
        "deleted": user.deleted,
        "is_bot": user.is_bot,
        "is_app_user": False,
        "profile": {
            "real_name": user.real_name,
            "display_name": user.name,
            "team": user.team,
            **({"email": f"{user.name}@example.com"} if with_email and not user.is_bot else {}),
        },
    }
    if user.deleted:
        return rendered
    return rendered | {
        "is_admin": False,
        "is_owner": False,
        "is_restricted": user.is_restricted,
        "is_ultra_restricted": user.is_ultra_restricted,
        "is_email_confirmed": True,
        "tz": "Etc/UTC",
        "tz_offset": 0,
        # Slack sends this flag only about people of other workspaces.
        **({"is_stranger": True} if user.is_stranger else {}),
    }


def channel_json(channel: Channel) -> Json:
    if channel.kind == "im":
        return {
            "id": channel.id,
            "is_im": True,
            "user": channel.user,
            "is_archived": channel.is_archived,
            "is_open": True,
            "is_ext_shared": channel.is_ext_shared,
        }
    return {
        "id": channel.id,
        "name": channel.name,
        "is_channel": channel.kind == "public",
        "is_group": False,
        "is_im": False,
        "is_mpim": False,
        "is_private": channel.kind == "private",
        "is_archived": channel.is_archived,
        "is_general": channel.name == "general",
        "is_shared": channel.is_ext_shared,
        "is_ext_shared": channel.is_ext_shared,
        "is_org_shared": False,
        "is_member": BOT_USER in channel.members,
        "context_team_id": TEAM,
        "num_members": len(channel.members),
    }


def usergroup_json(group: Usergroup) -> Json:
    return {
        "id": group.id,
        "team_id": TEAM,
        "is_usergroup": True,
        "handle": group.handle,
        "name": group.name,
        "users": list(group.users),
        "user_count": len(group.users),
        "date_delete": 1 if group.disabled else 0,
    }


def message_json(world: World, message: Message) -> Json:
    rendered: Json = {"type": "message", "user": message.user, "text": message.text, "ts": message.ts}
    rendered |= _author(world, message)
    if message.thread_ts is not None:
        rendered["thread_ts"] = message.thread_ts
    if message.edited_ts is not None:
        rendered["edited"] = {"user": message.edited_by, "ts": message.edited_ts}
    if message.reactions:
        rendered["reactions"] = [
            {"name": name, "users": list(users), "count": len(users)}
            for name, users in message.reactions.items()
        ]
    for name in ("blocks", "attachments", "metadata", "files", "client_msg_id"):
        if value := getattr(message, name):
            rendered[name] = value
    if message.stream is not None:
        rendered["streaming_state"] = "in_progress" if message.stream.is_open(world.now()) else "completed"
    return rendered


def _author(world: World, message: Message) -> Json:
    if not message.by_bot:
        return {"team": world.users[message.user].team}
    profile = {"id": BOT_ID, "app_id": APP_ID, "name": "askfirst", "team_id": TEAM}
    return {"team": TEAM, "bot_id": BOT_ID, "app_id": APP_ID, "bot_profile": profile}


def view_json(view: View, state: Json | None = None) -> Json:
    rendered: Json = {
        "id": view.id,
        "team_id": TEAM,
        "type": view.type,
        "blocks": view.body.get("blocks", []),
        "private_metadata": view.body.get("private_metadata") or "",
        "callback_id": view.body.get("callback_id") or "",
        "external_id": view.body.get("external_id") or "",
        "state": {"values": state or {}},
        "hash": view.hash,
        "root_view_id": view.root,
        "previous_view_id": view.previous,
        "app_id": APP_ID,
        "app_installed_team_id": TEAM,
        "bot_id": BOT_ID,
    }
    if view.type == "modal":
        rendered |= {
            "title": view.body["title"],
            "close": view.body.get("close"),
            "submit": view.body.get("submit"),
            "clear_on_close": view.body.get("clear_on_close") is True,
            "notify_on_close": view.body.get("notify_on_close") is True,
        }
    return rendered


def file_json(file: File) -> Json:
    return {
        "id": file.id,
        "name": file.name,
        "title": file.title or file.name,
        "size": file.length,
        "mode": "hosted",
        "user": BOT_USER,
    }
