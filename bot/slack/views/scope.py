"""The scope a person confirmed, as limits in the thread. Pure."""

from bot.domain.canonical import JsonObject
from bot.domain.run import Head
from bot.slack.views import names
from bot.slack.views.text import button, note, person, section, when


def contract(head: Head, *, shared: bool = False) -> JsonObject | None:
    """Say what holds until when; others who read along in a shared channel see only that there is a limit."""
    scope = head.scope
    if scope is None:
        return None
    confirmed = f"Scope confirmed by {person(scope.confirmed_by)} · until {when(scope.expires_at)}"
    limits = "Within confirmed limits." if shared else f"Within these limits: {scope.summary}."
    change = button("Change scope…", names.RESCOPE, head.run_id)
    return {"text": confirmed, "blocks": [section(limits, change), note(confirmed)]}
