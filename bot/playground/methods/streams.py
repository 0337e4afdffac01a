"""chat.startStream, appendStream, stopStream: a message that grows, for about five minutes."""

from typing import Any

from bot.playground import timeline
from bot.playground.blockkit.surfaces import check_blocks
from bot.playground.errors import SlackError
from bot.playground.methods.agents import change_status, check_status
from bot.playground.methods.call import (
    MARKDOWN_TEXT,
    Call,
    blocks_of,
    invalid,
    member_channel,
    metadata_of,
    own_message,
    thread_root,
)
from bot.playground.render import message_json
from bot.playground.shapes import Json, as_list, dicts
from bot.playground.world import BOT_USER, Message, Stream

_TASK_STATUS = {"pending", "in_progress", "complete", "error"}


def start(call: Call) -> Json:
    channel = member_channel(call)
    if channel.kind != "im":
        for name in ("recipient_user_id", "recipient_team_id"):
            if name not in call.args:
                raise SlackError(f"missing_{name}")
        call.world.user(call.args.text("recipient_user_id"))
    message = Message(
        channel=channel.id,
        ts=call.world.next_ts(),
        user=BOT_USER,
        by_bot=True,
        thread_ts=thread_root(call, channel),
        stream=Stream(started_at=call.world.now()),
    )
    _grow(call, message)
    timeline.post(call.world, message)
    return {"channel": channel.id, "ts": message.ts}


def append(call: Call) -> Json:
    message = _streaming(call)
    if not _grow(call, message):
        raise SlackError("no_text")
    timeline.refresh(call.world, message)
    return {"channel": message.channel, "ts": message.ts}


def stop(call: Call) -> Json:
    message = _streaming(call)
    last, metadata = blocks_of(call.args), metadata_of(call.args)
    if status := call.args.optional("session_status"):
        check_status(call, status)
    _grow(call, message)
    assert message.stream is not None  # `_streaming` saw it
    message.stream.stopped = "app"
    timeline.edit(
        call.world,
        message,
        by=BOT_USER,
        blocks=_shown(message.stream) + last,
        metadata=metadata or message.metadata,
    )
    if status:
        change_status(call, message.channel, message.root, status)
    return {"channel": message.channel, "ts": message.ts, "message": message_json(call.world, message)}


def _streaming(call: Call) -> Message:
    channel = call.world.channel(call.args.text("channel"))
    message = own_message(call, channel, "message_not_owned_by_app")
    if message.stream is not None and message.stream.stopped == "user":
        raise SlackError("stopped_by_user")
    if message.stream is None or not message.stream.is_open(call.world.now()):
        raise SlackError("message_not_in_streaming_state")
    return message


def _grow(call: Call, message: Message) -> bool:
    """Add what the call brings, all or nothing; say whether it brought anything."""
    assert message.stream is not None  # callers pass streaming messages only
    text = call.args.optional("markdown_text") or ""
    if len(text) > MARKDOWN_TEXT:
        raise SlackError("msg_too_long")
    chunks: list[Any] = call.args.array("chunks", error="invalid_chunks") or []
    found = dicts(chunks)
    if len(found) != len(chunks) or not all(_is_chunk(chunk) for chunk in found):
        raise SlackError("invalid_chunks")
    message.stream.text += text
    for chunk in found:
        _add(message.stream, chunk)
    message.text = message.stream.text
    message.blocks = timeline.with_ids(call.world, _shown(message.stream))
    return bool(text or found)


def _is_chunk(chunk: Json) -> bool:
    match chunk.get("type"):
        case "markdown_text":
            return isinstance(chunk.get("text"), str) and len(chunk["text"]) <= MARKDOWN_TEXT
        case "task_update":
            named = isinstance(chunk.get("id"), str) and isinstance(chunk.get("title"), str)
            return named and chunk.get("status", "pending") in _TASK_STATUS
        case "plan_update":
            return isinstance(chunk.get("title"), str)
        case "blocks":
            blocks = as_list(chunk.get("blocks"))
            if blocks is None:
                return False
            if problems := check_blocks(blocks, "message"):
                raise invalid("invalid_blocks", problems)
            return True
        case _:
            return False


def _add(stream: Stream, chunk: Json) -> None:
    match chunk["type"]:
        case "markdown_text":
            stream.text += chunk["text"]
        case "task_update":
            # Details and output are appended by Slack; title and status are replaced.
            known = stream.tasks.setdefault(chunk["id"], {})
            added = {name: known.get(name, "") + (chunk.get(name) or "") for name in ("details", "output")}
            known.update({**chunk, **added})
        case "blocks":
            stream.blocks.extend(dicts(chunk["blocks"]))
        case _:
            stream.tasks.setdefault("", {})["title"] = chunk["title"]


def _shown(stream: Stream) -> list[Json]:
    """Return the stream as the blocks a client would show."""
    text: list[Json] = [{"type": "markdown", "text": stream.text}] if stream.text else []
    tasks: list[Json] = [
        {"type": "task_card", "task_id": id_, "title": task["title"], "status": task.get("status", "pending")}
        for id_, task in stream.tasks.items()
        if id_
    ]
    return text + tasks + stream.blocks
