"""What went wrong at the model's service, as what to do about it: wait, stop, or tell the operator.

The vendor's own words are never passed on: they may quote the request, and nobody in a channel can use them.
They are not logged either; the request id is, with which the vendor can find the rest.
"""

import logging
from collections.abc import Mapping

import anthropic
import httpx2

from bot.domain.errors import BotError, ConfigError, ModelUnavailable

logger = logging.getLogger(__name__)


class Transient(Exception):
    """Trying again may help."""

    def __init__(self, why: str, *, retry_after: float | None = None) -> None:
        self.why, self.retry_after = why, retry_after
        super().__init__(why)


class ContextFull(Exception):
    """The conversation does not fit into the model any more; trying again cannot help."""


BROKE_OFF = "the model broke off its answer"

_RETRIED: Mapping[int, str] = {
    408: "the model did not answer in time",
    409: "the model is busy",
    429: "the model gets more requests than it allows",
    500: "the model had an internal error",
    502: "the model cannot be reached",
    503: "the model is unavailable",
    504: "the model did not answer in time",
    529: "the model is overloaded",
}
#: An error inside a stream comes with status 200; its type says which status it would have had.
_STATUS_OF: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def translate(error: Exception, *, model: str) -> Transient | ContextFull | BotError:
    """Return what to raise for an error of the SDK or of its HTTP client."""
    match error:
        case anthropic.APIStatusError():
            return _refused(error, model)
        case anthropic.APITimeoutError() | httpx2.TimeoutException():
            return Transient("the model did not answer in time")
        case anthropic.APIConnectionError():
            return Transient("the model cannot be reached")
        case _:
            return Transient(BROKE_OFF)


def _refused(error: anthropic.APIStatusError, model: str) -> Transient | ContextFull | BotError:
    status = error.status_code if error.status_code >= 400 else _STATUS_OF.get(error.type or "", 500)
    logger.warning(
        "the model's service answered with an error",
        extra={
            "status": status,
            "type": error.type,
            "code": error.error_code,
            "request_id": error.request_id,
        },
    )
    if _billing(error, status):
        return ModelUnavailable(
            "The account of the model's service has no credit left or has reached its spending limit."
            " An administrator must add credit or raise the limit; then ask again."
        )
    if status in _RETRIED or status > 500:
        return _later(error, _RETRIED.get(status, _RETRIED[500]))
    return _final(error, status, model)


def _later(error: anthropic.APIStatusError, why: str) -> Transient | BotError:
    if error.response.headers.get("x-should-retry") == "false":
        return ModelUnavailable(f"The model cannot answer: {why}. Please ask again later.")
    return Transient(why, retry_after=retry_after(error.response.headers))


def _final(error: anthropic.APIStatusError, status: int, model: str) -> ContextFull | BotError:
    if status == 413 or (status == 400 and _too_long(error)):
        return ContextFull()
    if advice := _for_operator(error, status, model):
        return ConfigError(advice)
    return ModelUnavailable(
        f"The model's service refused the request as invalid (status {status},"
        f" request {error.request_id or 'unknown'}). This is a fault of Askfirst, not yours:"
        " ask in a new thread, and show this message to whoever operates it."
    )


def _for_operator(error: anthropic.APIStatusError, status: int, model: str) -> str | None:
    match status:
        case 401:
            return "The model's service does not accept the key: check ANTHROPIC_API_KEY."
        case 403:
            return (
                f"The key in ANTHROPIC_API_KEY may not use the model {model!r}: check the key's permissions."
            )
        case 404 if error.type == "not_found_error":
            return f"The model {model!r} does not exist: check the name of the agent's model."
        case 404:
            return "There is no model service at this address: check ANTHROPIC_BASE_URL."
        case _:
            return None


def _billing(error: anthropic.APIStatusError, status: int) -> bool:
    return (
        status == 402
        or error.type == "billing_error"
        or error.error_code == "enforced_spend_limit_reached"
        # An empty account is an ordinary 400; only the wording tells.
        or "credit balance" in (error.api_message or "")
    )


def _too_long(error: anthropic.APIStatusError) -> bool:
    # The API has no code for this; if the wording changes, people get the message about an invalid request.
    message = error.api_message or ""
    return "prompt is too long" in message or "exceed context limit" in message


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds the service asks to wait. Dates are ignored: our own back-off will do for those."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    return None
