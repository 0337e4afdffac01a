"""chat.*: post, change, delete, whisper, link."""

from bot.playground import timeline
from bot.playground.errors import SlackError
from bot.playground.methods.call import (
    UPDATE_TEXT,
    Call,
    content,
    member_channel,
    own_message,
    thread_root,
)
from bot.playground.render import message_json
from bot.playground.shapes import Json
from bot.playground.world import BOT_USER, Message


def post_message(call: Call) -> Json:
    # Slack opens the direct message when given a user; some clients show that as a notification only.
    target = call.args.text("channel")
    if target in call.world.users:
        call.args.values["channel"] = call.world.direct_message(target).id
    channel = member_channel(call)
    message = Message(
        channel=channel.id,
        ts=call.world.next_ts(),
        user=BOT_USER,
        by_bot=True,
        thread_ts=thread_root(call, channel),
        **content(call.args),
    )
    timeline.post(call.world, message)
    return {"channel": channel.id, "ts": message.ts, "message": message_json(call.world, message)}


def update(call: Call) -> Json:
    channel = call.world.channel(call.args.text("channel"))
    message = own_message(call, channel, "cant_update_message")
    if message.stream is not None and message.stream.is_open(call.world.now()):
        raise SlackError("streaming_state_conflict")
    changes = content(call.args, longest=UPDATE_TEXT)
    # What the call leaves out stays. Buttons too: only `blocks=[]` or other blocks take them away.
    for name in ("blocks", "attachments", "metadata"):
        if name not in call.args and "markdown_text" not in call.args:
            changes[name] = getattr(message, name)
    timeline.edit(call.world, message, by=BOT_USER, **changes)
    return {
        "channel": channel.id,
        "ts": message.ts,
        "text": message.text,
        "message": message_json(call.world, message),
    }


def delete(call: Call) -> Json:
    channel = call.world.channel(call.args.text("channel"))
    message = own_message(call, channel, "cant_delete_message")
    timeline.delete(call.world, message)
    return {"channel": channel.id, "ts": message.ts}


def post_ephemeral(call: Call) -> Json:
    channel = member_channel(call)
    user = call.args.text("user")
    if user not in channel.members:
        raise SlackError("user_not_in_channel")
    message = Message(
        channel=channel.id,
        ts=call.world.next_ts(),
        user=BOT_USER,
        by_bot=True,
        thread_ts=thread_root(call, channel),
        ephemeral_to=user,
        **content(call.args),
    )
    timeline.post(call.world, message)
    return {"message_ts": message.ts}


def get_permalink(call: Call) -> Json:
    channel = call.world.channel(call.args.text("channel"))
    message = call.world.message(channel.id, call.args.text("message_ts"))
    link = f"{call.url}/archives/{channel.id}/p{message.ts.replace('.', '')}"
    if message.thread_ts is not None:
        link += f"?thread_ts={message.thread_ts}&cid={channel.id}"
    return {"channel": channel.id, "permalink": link}
