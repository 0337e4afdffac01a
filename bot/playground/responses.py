"""What the app answers outside the Web API: response URLs, and the payload of an ack."""

from bot.playground import timeline
from bot.playground.arguments import Arguments
from bot.playground.errors import SlackError
from bot.playground.methods.call import content
from bot.playground.methods.views import check_body, close_views, push_view, replace_view
from bot.playground.shapes import Json, as_dict
from bot.playground.world import BOT_USER, Message, ResponseUrl, View, World

RESPONSE_URL_USES = 5
RESPONSE_URL_SECONDS = 1800.0
TROUBLE = "We had some trouble connecting. Try again?"


def use_response_url(world: World, key: str, payload: Json) -> None:
    """Do what was posted to a response URL.

    Raises:
        SlackError: it is unknown, older than half an hour, used five times before, or the payload is bad.
    """
    target = world.response_urls.get(key)
    if target is None:
        raise SlackError("no_such_url", status=404)
    if world.now() >= target.expires_at:
        raise SlackError("expired_url", status=404)
    if target.uses >= RESPONSE_URL_USES:
        raise SlackError("used_url", status=404)
    target.uses += 1
    respond(world, target, payload)


def respond(world: World, target: ResponseUrl, payload: Json) -> None:
    args = Arguments(payload)
    original = _original(world, target)
    if args.flag("delete_original"):
        if original is None:
            raise SlackError("message_not_found", status=404)
        timeline.delete(world, original)
        return
    fields = content(args)
    if args.flag("replace_original"):
        if original is None:
            raise SlackError("message_not_found", status=404)
        timeline.edit(world, original, by=BOT_USER, **fields)
        return
    whisper = args.optional("response_type") != "in_channel"
    message = Message(
        channel=target.channel,
        ts=world.next_ts(),
        user=BOT_USER,
        by_bot=True,
        thread_ts=args.optional("thread_ts") or target.thread_ts,
        ephemeral_to=target.user if whisper else None,
        **fields,
    )
    timeline.post(world, message)


def answer_submission(world: World, view: View, answer: Json | None) -> None:
    """Do what the ack of a view_submission says.

    Raises:
        SlackError: Slack could not make sense of it; the person sees "trouble connecting".
    """
    stack = world.modals.get(view.user, [])
    match (answer or {}).get("response_action"):
        case None:
            close_views(world, view.user, [view])
        case "clear":
            close_views(world, view.user, stack)
        case "update":
            replace_view(world, view, check_body(_view_of(answer), "modal"))
        case "push":
            push_view(world, view.user, check_body(_view_of(answer), "modal"))
        case "errors":
            _show_errors(world, view, as_dict((answer or {}).get("errors")) or {})
        case other:
            raise SlackError(f"unknown response_action {other!r}")


def _show_errors(world: World, view: View, errors: Json) -> None:
    inputs = {block["block_id"] for block in view.body["blocks"] if block["type"] == "input"}
    if not errors or not errors.keys() <= inputs:
        raise SlackError(f"errors for {sorted(errors)}, but the input blocks are {sorted(inputs)}")
    view.errors = {block: str(text) for block, text in errors.items()}
    world.changed("view_errors", {"user": view.user, "view": view.id})


def _view_of(answer: Json | None) -> Json:
    view = as_dict((answer or {}).get("view"))
    if view is None:
        raise SlackError("response_action without a view")
    return view


def _original(world: World, target: ResponseUrl) -> Message | None:
    if target.message_ts is None:
        return None
    hidden = world.ephemerals.get((target.channel, target.message_ts))
    found = hidden or world.messages.get(target.channel, {}).get(target.message_ts)
    return None if found is None or found.deleted else found
