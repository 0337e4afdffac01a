"""What time and scope have to say in the thread: expired questions, and the confirmed limits. Pure."""

from bot.domain.canonical import JsonObject
from bot.domain.run import Head
from bot.slack.views import names
from bot.slack.views.notices import fixed
from bot.slack.views.text import actions, button, note, person, section, when


def expiry(body: JsonObject) -> JsonObject:
    """Nobody decided: what was not done and, while it still helps, a way to ask again."""
    message = fixed("expiry", body)
    if body.get("may_ask_again"):
        interrupt = str(body["interrupt"])
        message["blocks"].append(
            actions(f"af-again-{interrupt}", button("Ask again", names.AGAIN, interrupt))
        )
    return message


def contract(head: Head) -> JsonObject | None:
    """The confirmed scope, as limits that hold until then."""
    scope = head.scope
    if scope is None:
        return None
    confirmed = f"Scope confirmed by {person(scope.confirmed_by)} · until {when(scope.expires_at)}"
    change = button("Change scope…", names.RESCOPE, head.run_id)
    return {
        "text": confirmed,
        "blocks": [section(f"Within these limits: {scope.summary}.", change), note(confirmed)],
    }
