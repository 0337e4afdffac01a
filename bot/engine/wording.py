"""What the model is told, always the truth: what ran, what did not, who said so, and what to do about it."""

from bot.domain.canonical import canonical
from bot.domain.ids import UserId
from bot.domain.tool import Planned

STOPPED = "Not executed: the run was stopped before this call was made."
UNKNOWN_END = (
    "Unknown: the process died while this call was running, and nobody could say whether it finished."
)


def _because(reason: str) -> str:
    return f" because: {reason.strip()}" if reason.strip() else ", without giving a reason"


def declined(by: UserId, reason: str) -> str:
    told = f"Not executed: declined by {by}{_because(reason)}."
    return f"{told} Do not retry this call unless the user asks for it."


def declined_before() -> str:
    return (
        "Not executed: the same call was declined before in this run, so nobody was asked again. "
        "Do something else, or explain what you would need."
    )


def denied(reason: str) -> str:
    return f"Not executed: the policy forbids it. {reason} Do not retry it, and do not look for a way around."


def nobody_can_approve() -> str:
    return "Not executed: it needs an approval, but the policy names nobody who could give it."


def headless() -> str:
    return "Not executed: it needs an approval, and this agent runs without people to ask."


def timed_out() -> str:
    return "Not executed: nobody answered in time. This is not a rejection; the user may ask for it again."


def question_timed_out() -> str:
    return "No answer: nobody answered the question in time. Go on without it or say what is missing."


def invalid(problem: str) -> str:
    return f"Not executed: the arguments do not fit. {problem}"


def malformed() -> str:
    return "Not executed: the arguments were not a JSON object. Send them again as one."


def edited(by: UserId, planned: Planned) -> str:
    return (
        f"Note: {by} changed this call before it ran. Executed instead: {planned.tool} "
        f"with {canonical(planned.args)}. Do not repeat the original call."
    )


def option_chosen(by: UserId, label: str, planned: Planned) -> str:
    return (
        f"Note: {by} chose “{label}” instead of the proposed call. Executed: {planned.tool} "
        f"with {canonical(planned.args)}. Do not repeat the original call."
    )


def it_happened(by: UserId) -> str:
    return f"The process was restarted while this ran. {by} confirms that it did happen; its output is lost."


# ── For people: why a run ended ──────────────────────────────────────────────────────────────────────────

REFUSED = "The model refused to work on this request."
CUT_OFF = (
    "The answer was cut off: it reached the model's output limit. Nothing of the unfinished step was run."
)
DOUBLE_IDS = "The model proposed two calls with the same id, so none of them was run. Ask again."
TOO_LONG = "This conversation has become too long for the model. Start a new thread with what still matters."


def too_many_turns(turns: int) -> str:
    return (
        f"Stopped after {turns} turns without coming to an end. Ask again more narrowly, or raise max_turns."
    )


def kept_asking(tool: str) -> str:
    return f"Stopped: the agent kept proposing a call of {tool} that had been declined."


def cancelled(by: UserId, reason: str) -> str:
    return f"Cancelled by {by}." if not reason else f"Cancelled by {by}: {reason}"


def expired() -> str:
    return "Nobody decided in time, so nothing of it was run. The run is stopped."


def changes_wanted(by: UserId, reason: str) -> str:
    return f"{by} reviewed this and wants it changed{_because(reason)}."
