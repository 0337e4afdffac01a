"""Short messages: refusals only the clicker sees, notices in the thread. Pure."""

from bot.domain.canonical import JsonObject
from bot.domain.errors import AlreadyDecided, AlreadyResumed, BotError, CheckpointNotFound
from bot.domain.literal import shortened, visible
from bot.slack.views import names
from bot.slack.views.people import who
from bot.slack.views.text import actions, button, escaped, line, person, rich, section, when, words


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


_HEADS = {
    "reminder": "A question waits for a decision.",
    "escalation": "A question waits, and more people can decide it now.",
    "expiry": "Nobody decided in time.",
    "digest": "What waits for a decision.",
}


def fixed(kind: str, body: JsonObject, *, shared: bool = False) -> JsonObject:
    """A message with a content of its own: reminders, escalations, expiries, digests (`engine.notices`).

    `mention` are the people and groups to tell. `text` may quote people and tools: it is literal, and others who read
    along in a shared channel see only what kind of message it is.
    """
    head = _HEADS.get(kind, "A word from Askfirst.")
    mentions = [_mention(str(name)) for name in body.get("mention", ())]
    pieces = [piece for mention in mentions for piece in (mention, words(" "))]
    said = head if shared else str(body.get("text") or head)
    blocks = [rich(*pieces, words(shortened(visible(said), 2500)))]
    if body.get("may_ask_again") and body.get("interrupt"):
        again = button("Ask again", names.AGAIN, str(body["interrupt"]))
        blocks.append(actions(f"af-again-{body['interrupt']}", again))
    return {"text": head, "blocks": blocks}


def _mention(name: str) -> JsonObject:
    return {"type": "usergroup", "usergroup_id": name} if name.startswith("S") else who(name)
