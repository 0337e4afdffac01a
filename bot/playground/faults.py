"""What a test may break: answers, acks, the order of deliveries. A fault is used up when it strikes."""

from collections import defaultdict, deque
from dataclasses import dataclass

from bot.playground.errors import SlackError


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiFault:
    #: Answered instead of running the method.
    error: str | None = None
    status: int = 200
    retry_after: int | None = None
    #: Seconds of the playground's clock before the method runs.
    latency: float = 0.0
    #: Run the method, then reset the connection: stored here, failed there.
    reset: bool = False

    def strike(self) -> None:
        if self.error is not None:
            headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
            raise SlackError(self.error, status=self.status, headers=headers)


class Faults:
    def __init__(self) -> None:
        self._api: defaultdict[str, deque[ApiFault]] = defaultdict(deque)
        #: Seconds by which the timestamp of signed requests is wrong.
        self.clock_skew = 0.0
        #: Whether an ack counts only on the socket that carried the envelope. What Slack does is not known.
        self.strict_acks = False
        self._dropped_acks = 0
        self._duplicates = 0
        self._reordered = 0

    def fail(self, method: str, error: str, *, times: int = 1, status: int = 200) -> None:
        self._add(method, ApiFault(error=error, status=status), times)

    def ratelimit(self, method: str, *, retry_after: int = 1, times: int = 1) -> None:
        self._add(method, ApiFault(error="ratelimited", status=429, retry_after=retry_after), times)

    def slow(self, method: str, seconds: float, *, times: int = 1) -> None:
        """Answer only after the clock moved on by `seconds`."""
        self._add(method, ApiFault(latency=seconds), times)

    def reset_after(self, method: str, *, times: int = 1) -> None:
        """Do what was asked, then lose the connection instead of answering."""
        self._add(method, ApiFault(reset=True), times)

    def drop_acks(self, count: int = 1) -> None:
        self._dropped_acks += count

    def duplicate(self, count: int = 1) -> None:
        """Send the next deliveries twice."""
        self._duplicates += count

    def reorder(self, count: int = 2) -> None:
        """Hold the next `count` deliveries back and send them in reverse."""
        self._reordered = count

    def clear(self) -> None:
        self._api.clear()
        self.clock_skew, self.strict_acks = 0.0, False
        self._dropped_acks = self._duplicates = self._reordered = 0

    # Asked by the server and the courier.

    def take(self, method: str) -> ApiFault:
        waiting = self._api.get(method)
        return waiting.popleft() if waiting else _NONE

    def take_dropped_ack(self) -> bool:
        struck = self._dropped_acks > 0
        self._dropped_acks -= struck
        return struck

    def take_duplicate(self) -> bool:
        struck = self._duplicates > 0
        self._duplicates -= struck
        return struck

    def take_reordered(self) -> int:
        """Return how many deliveries still have to be held back, this one included."""
        remaining = self._reordered
        self._reordered = max(0, remaining - 1)
        return remaining

    def _add(self, method: str, fault: ApiFault, times: int) -> None:
        self._api[method].extend([fault] * times)


_NONE = ApiFault()
