"""Every Web API method the playground knows, with the scope it needs and how often it may be called."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bot.playground.errors import SlackError
from bot.playground.methods import agents, chat, conversations, files, people, streams, validate, views
from bot.playground.methods.call import Call
from bot.playground.shapes import Json

Caller = Literal["bot", "app", "anybody"]
#: Scopes that depend on the kind of conversation.
_BY_KIND = {"public": "channels", "private": "groups", "im": "im"}


@dataclass(frozen=True, slots=True)
class Method:
    run: Callable[[Call], Json]
    #: `*:read` means channels:read, groups:read or im:read, by the conversation asked about.
    scope: str | None = None
    #: Calls a minute; Slack promises at least this many.
    per_minute: int = 50
    caller: Caller = "bot"

    def needed_scope(self, call: Call) -> str | None:
        if self.scope is None or not self.scope.startswith("*"):
            return self.scope
        channel = call.world.channels.get(call.args.optional("channel") or "")
        return f"{_BY_KIND[channel.kind if channel else 'public']}{self.scope[1:]}"

    def check_scope(self, call: Call) -> None:
        needed = self.needed_scope(call)
        if needed is not None and needed not in call.manifest.scopes:
            raise SlackError("missing_scope", needed=needed, provided=",".join(sorted(call.manifest.scopes)))


def _open_connection(call: Call) -> Json:
    return {"url": call.new_socket()}


METHODS: dict[str, Method] = {
    "agents.sessions.rename": Method(agents.rename_session, "chat:write"),
    "agents.sessions.setStatus": Method(agents.set_session_status, "chat:write"),
    "apps.connections.open": Method(_open_connection, caller="app"),
    "assistant.threads.setStatus": Method(agents.set_thread_status, "chat:write", 600),
    "assistant.threads.setSuggestedPrompts": Method(agents.set_suggested_prompts, "assistant:write", 100),
    "assistant.threads.setTitle": Method(agents.set_title, "assistant:write", 100),
    "auth.test": Method(people.auth_test, None, 600),
    "blocks.validate": Method(validate.validate, None, 100, "anybody"),
    "bots.info": Method(people.bot_info, "users:read"),
    "chat.appendStream": Method(streams.append, "chat:write", 100),
    "chat.delete": Method(chat.delete, "chat:write"),
    "chat.getPermalink": Method(chat.get_permalink, None, 600),
    "chat.postEphemeral": Method(chat.post_ephemeral, "chat:write", 100),
    # Limited to one a second in each channel as well; see rates.py.
    "chat.postMessage": Method(chat.post_message, "chat:write", 600),
    "chat.startStream": Method(streams.start, "chat:write", 20),
    "chat.stopStream": Method(streams.stop, "chat:write", 20),
    "chat.update": Method(chat.update, "chat:write"),
    "conversations.history": Method(conversations.history, "*:history"),
    "conversations.info": Method(conversations.info, "*:read"),
    "conversations.join": Method(conversations.join, "channels:join"),
    "conversations.leave": Method(conversations.leave, "channels:write"),
    "conversations.list": Method(conversations.list_, "channels:read", 20),
    "conversations.members": Method(conversations.members, "*:read", 100),
    "conversations.open": Method(conversations.open_, "im:write"),
    "conversations.replies": Method(conversations.replies, "*:history"),
    "files.completeUploadExternal": Method(files.complete_upload, "files:write", 100),
    "files.getUploadURLExternal": Method(files.get_upload_url, "files:write", 100),
    "reactions.add": Method(conversations.add_reaction, "reactions:write"),
    "reactions.get": Method(conversations.get_reactions, "reactions:read"),
    "reactions.remove": Method(conversations.remove_reaction, "reactions:write", 20),
    "team.info": Method(people.team_info, "team:read"),
    "usergroups.list": Method(people.usergroups_list, "usergroups:read", 20),
    "usergroups.users.list": Method(people.usergroup_users, "usergroups:read", 20),
    "users.info": Method(people.user_info, "users:read", 100),
    "users.list": Method(people.users_list, "users:read", 20),
    "users.lookupByEmail": Method(people.user_by_email, "users:read.email"),
    "views.open": Method(views.open_, None, 100),
    "views.publish": Method(views.publish, None, 100),
    "views.push": Method(views.push, None, 100),
    "views.update": Method(views.update, None, 100),
}
