"""files.*: upload in three steps, as `files_upload_v2` does it."""

from bot.playground import timeline
from bot.playground.errors import SlackError, bad_arguments
from bot.playground.methods.call import Call, member_channel, missing, thread_root
from bot.playground.render import file_json
from bot.playground.shapes import Json, dicts
from bot.playground.world import BOT_USER, File, Message


def get_upload_url(call: Call) -> Json:
    length = call.args.number("length", 0)
    if length <= 0:
        raise bad_arguments("must be more than 0 [json-pointer:/length]")
    file = File(id=call.world.next_secret("F").upper(), name=call.args.text("filename"), length=length)
    call.world.files[file.id] = file
    return {"upload_url": f"{call.url}/upload/v1/{file.id}", "file_id": file.id}


def complete_upload(call: Call) -> Json:
    listed = dicts(call.args.array("files"))
    if not listed:
        raise missing("files")
    files = [_uploaded(call, str(entry.get("id"))) for entry in listed]
    message = _share(call) if "channel_id" in call.args else None
    for file, entry in zip(files, listed, strict=True):
        file.title, file.completed = entry.get("title"), True
    rendered = [file_json(file) for file in files]
    if message is not None:
        message.files = rendered
        timeline.post(call.world, message)
    return {"files": rendered}


def _share(call: Call) -> Message:
    channel = member_channel(call, "channel_id")
    return Message(
        channel=channel.id,
        ts=call.world.next_ts(),
        user=BOT_USER,
        by_bot=True,
        text=call.args.optional("initial_comment") or "",
        thread_ts=thread_root(call, channel),
    )


def _uploaded(call: Call, file_id: str) -> File:
    file = call.world.files.get(file_id)
    if file is None or file.content is None:
        raise SlackError("file_not_found")
    return file
