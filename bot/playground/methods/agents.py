"""assistant.threads.* and agents.sessions.*: what the bot shows about the state of its work."""

from bot.playground.errors import SlackError, bad_arguments
from bot.playground.methods.call import Call, member_channel
from bot.playground.shapes import Json, dicts
from bot.playground.world import BOT_USER, Channel, Session

_STATUSES = ("active", "processing", "suspended", "closed")


def set_thread_status(call: Call) -> Json:
    channel = call.world.channel(call.args.text("channel_id"))
    thread_ts = _thread(call, channel)
    if "status" not in call.args:
        raise bad_arguments("missing required field: status")
    if len(call.args.array("loading_messages") or ()) > 10:
        raise bad_arguments("no more than 10 items allowed [json-pointer:/loading_messages]")
    call.world.statuses[channel.id, thread_ts] = (call.args.optional("status") or "", call.world.now())
    call.world.changed("status", {"channel": channel.id, "thread_ts": thread_ts})
    return {}


def set_title(call: Call) -> Json:
    channel = call.world.channel(call.args.text("channel_id"))
    call.world.titles[channel.id, _thread(call, channel)] = call.args.text("title")
    call.world.changed("title", {"channel": channel.id})
    return {}


def set_suggested_prompts(call: Call) -> Json:
    channel = call.world.channel(call.args.text("channel_id"))
    prompts = dicts(call.args.array("prompts"))
    if not 1 <= len(prompts) <= 4 or not all(p.get("title") and p.get("message") for p in prompts):
        raise bad_arguments("must be 1 to 4 prompts with title and message [json-pointer:/prompts]")
    call.world.prompts[channel.id, call.args.optional("thread_ts")] = prompts
    call.world.changed("prompts", {"channel": channel.id})
    return {}


def set_session_status(call: Call) -> Json:
    channel = member_channel(call, "channel_id")
    if "thread_ts" not in call.args:
        raise SlackError("thread_ts_required")
    thread_ts = _thread(call, channel)
    session = change_status(call, channel.id, thread_ts, call.args.text("status"))
    answer: Json = {"status": session.status, "agent_status": session.status, "title": session.title}
    if session.status == "processing" and "agent_session_stopped" not in call.manifest.events:
        warning = "missing_agent_session_stopped_event_subscription"
        answer |= {"warning": warning, "response_metadata": {"warnings": [warning]}}
    return answer


def rename_session(call: Call) -> Json:
    channel = call.world.channel(call.args.text("channel_id"))
    session = call.world.sessions.get((channel.id, _thread(call, channel)))
    if session is None:
        raise SlackError("session_not_found")
    session.title = _title(call)
    call.world.changed("session", {"channel": channel.id})
    return {"title": session.title}


def check_status(call: Call, status: str) -> None:
    if status not in _STATUSES:
        raise SlackError("invalid_status")
    if not call.manifest.is_agent:
        raise SlackError("feature_disabled")


def change_status(call: Call, channel_id: str, thread_ts: str, status: str) -> Session:
    check_status(call, status)
    session = call.world.sessions.get((channel_id, thread_ts))
    if session is None:
        initiator = call.args.optional("initiator_user_id")
        if initiator is not None:
            call.world.user(initiator)
        session = Session(status=status, title=_title(call), initiator=initiator)
        call.world.sessions[channel_id, thread_ts] = session
    session.status = status
    call.world.changed("session", {"channel": channel_id, "thread_ts": thread_ts, "status": status})
    return session


def _title(call: Call) -> str | None:
    title = call.args.optional("title")
    if title is not None and len(title) > 200:
        raise bad_arguments("must be less than 201 characters [json-pointer:/title]")
    return title


def _thread(call: Call, channel: Channel) -> str:
    thread_ts = call.args.text("thread_ts")
    if BOT_USER not in channel.members:
        raise SlackError("not_authorized")
    if thread_ts not in call.world.messages.get(channel.id, {}):
        raise SlackError("invalid_thread_ts")
    return thread_ts
