"""blocks.validate: ask whether blocks, a view or a message would be accepted, without sending them."""

from bot.playground.blockkit.rules import Problem
from bot.playground.blockkit.surfaces import check_blocks, check_view
from bot.playground.errors import SlackError
from bot.playground.methods.call import Call
from bot.playground.shapes import Json, as_list


def validate(call: Call) -> Json:
    given = [name for name in ("blocks", "view", "message") if name in call.args]
    if len(given) != 1:
        message = "must provide exactly one of `blocks`, `view`, or `message`"
        raise SlackError("invalid_arguments", response_metadata={"messages": [message]})
    if problems := _problems(call, given[0]):
        raise SlackError(f"invalid_{given[0]}", errors=[problem.as_json() for problem in problems])
    return {}


def _problems(call: Call, what: str) -> list[Problem]:
    if what == "blocks":
        return check_blocks(call.args.array("blocks") or [], "message", "")
    body = call.args.mapping(what) or {}
    if what == "view":
        return check_view(body, "")
    return check_blocks(as_list(body.get("blocks")) or [], "message")
