"""Short messages: refusals only the clicker sees, notices in the thread. Pure."""

from bot.domain.canonical import JsonObject
from bot.domain.errors import AlreadyDecided, AlreadyResumed, BotError, CheckpointNotFound
from bot.slack.views.text import escaped, line, person, section, when


def whisper(text: str) -> JsonObject:
    """A line for one person. It may quote the policy, so it is literal."""
    return {"text": "Askfirst has a word for you.", "blocks": [section(text)]}


def told(mrkdwn: str) -> JsonObject:
    """A line for one person, of ids and words of ours."""
    return {"text": "Askfirst has a word for you.", "blocks": [line(mrkdwn)]}


def refusal(error: BotError) -> JsonObject:
    """Say why a click did not count, and what can be done."""
    match error:
        case AlreadyDecided(what=what, by=by, at=at):
            by_whom = f" by {person(by)}" if by else ""
            moment = f" ({when(at)})" if at else ""
            return told(f"This was already {escaped(what)}{by_whom}{moment}. Your click was not counted.")
        case CheckpointNotFound(why=why) if "expired" in why:
            return whisper("This expired; nothing was run. Ask again in the thread if you still need it.")
        case CheckpointNotFound():
            return whisper("I do not know this question any more. Ask again in the thread.")
        case AlreadyResumed(state=state):
            return told(f"Too late: the run is {state}.")
        case _:
            return whisper(str(error))


CHANGED = "This changed meanwhile, so nothing was decided. Look at the card again."
KEPT = (
    "I keep that for the agent and it will read it next. It does not decide the open question: "
    "that takes the buttons on the card."
)
NOTED = "I keep that for the agent; it will read it with its next step."
TAKEN = "That answers the open question, thank you."
STRANGER = {
    "guest": "Guests cannot ask me to do things here. Ask a colleague who is a full member.",
    "stranger": "People from other organisations cannot ask me to do things. Ask a colleague of this workspace.",
    "deactivated": "This account is deactivated.",
    "bot": "I do not take requests from other apps.",
    "unknown": "I cannot check right now who you are, so I did not start. Try again in a minute.",
}


def fixed(kind: str, body: JsonObject) -> JsonObject:
    """A message with a content of its own (reminders and the like): text of ours, and people to tell.

    `body`: {"text": words, "mention": [user or group ids]}
    """
    mentions = " ".join(
        f"<!subteam^{name}>" if str(name).startswith("S") else person(str(name))
        for name in body.get("mention", [])
    )
    text = f"{mentions} {escaped(str(body.get('text', kind)))}".strip()
    return {"text": text, "blocks": [line(text)]}
