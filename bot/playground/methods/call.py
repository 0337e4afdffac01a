"""One call of a Web API method, and the checks that several methods share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.playground.arguments import Arguments
from bot.playground.blockkit.rules import Problem
from bot.playground.blockkit.surfaces import ALL_TEXT, check_blocks, text_length
from bot.playground.errors import SlackError, bad_arguments
from bot.playground.manifest import Manifest
from bot.playground.shapes import Json, as_dict, as_list, dicts
from bot.playground.world import BOT_USER, Channel, Message, World

#: `text` is cut at this length, as Slack does; an update longer than `UPDATE_TEXT` is refused.
LONGEST_TEXT = 40_000
UPDATE_TEXT = 4_000
MARKDOWN_TEXT = 12_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    world: World
    manifest: Manifest
    args: Arguments
    #: Where this server answers, for links and uploads.
    url: str
    #: Issues the address of a new socket.
    new_socket: Callable[[], str]


def member_channel(call: Call, name: str = "channel") -> Channel:
    """Return the channel to write to: it exists, is not archived, and the bot is in it."""
    channel = call.world.channel(call.args.text(name))
    if channel.is_archived:
        raise SlackError("is_archived")
    if BOT_USER not in channel.members:
        raise SlackError("not_in_channel")
    return channel


def own_message(call: Call, channel: Channel, error: str) -> Message:
    message = call.world.message(channel.id, call.args.text("ts"))
    if not message.by_bot:
        raise SlackError(error)
    return message


def thread_root(call: Call, channel: Channel, name: str = "thread_ts") -> str | None:
    """Return the root of the thread to reply in; a reply to a reply lands in the same thread."""
    ts = call.args.optional(name)
    if ts is None:
        return None
    found = call.world.messages.get(channel.id, {}).get(ts)
    if found is None:
        raise SlackError("cannot_reply_to_message")
    return found.root


def blocks_of(args: Arguments) -> list[Json]:
    blocks: list[Any] = args.array("blocks", error="invalid_blocks_format") or []
    if problems := check_blocks(blocks, "message"):
        raise invalid("invalid_blocks", problems)
    if text_length(blocks) > ALL_TEXT:
        raise SlackError("msg_blocks_too_long")
    return blocks


def content(args: Arguments, *, longest: int | None = None) -> Json:
    """Return text, blocks, attachments and metadata of a message to store, checked."""
    text = args.optional("text") or ""
    markdown = args.optional("markdown_text") or ""
    if markdown and (text or "blocks" in args):
        raise SlackError("markdown_text_conflict")
    if len(markdown) > MARKDOWN_TEXT or (longest is not None and len(text) > longest):
        raise SlackError("msg_too_long")
    blocks = blocks_of(args)
    attachments = _attachments_of(args)
    if not (text or markdown or blocks or attachments):
        raise SlackError("no_text")
    return {
        "text": (text or markdown)[:LONGEST_TEXT],
        "blocks": [{"type": "markdown", "text": markdown}] if markdown else blocks,
        "attachments": attachments,
        "metadata": metadata_of(args),
    }


def _attachments_of(args: Arguments) -> list[Json]:
    attachments: list[Any] = args.array("attachments", error="invalid_attachments") or []
    if len(attachments) > 100:
        raise SlackError("too_many_attachments")
    found = dicts(attachments)
    if len(found) != len(attachments):
        raise SlackError("invalid_attachments")
    for index, attachment in enumerate(found):
        blocks: list[Any] = as_list(attachment.get("blocks")) or []
        if problems := check_blocks(blocks, "message", f"/attachments/{index}/blocks"):
            raise invalid("invalid_blocks", problems)
    return found


def metadata_of(args: Arguments) -> Json | None:
    metadata = args.mapping("metadata", error="invalid_metadata_format")
    if not metadata:
        return None
    if not isinstance(metadata.get("event_type"), str) or as_dict(metadata.get("event_payload")) is None:
        raise SlackError("invalid_metadata_format")
    return metadata


def invalid(code: str, problems: list[Problem]) -> SlackError:
    sentences = [problem.sentence() for problem in problems]
    messages = [f"[ERROR] {sentence}" for sentence in sentences]
    return SlackError(code, errors=sentences, response_metadata={"messages": messages})


def missing(name: str) -> SlackError:
    return bad_arguments(f"missing required field: {name}")
