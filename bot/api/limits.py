"""How much one token may ask for: a bucket that fills with time, and a count of open streams."""

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from bot.api.ports import Limits
from bot.api.problems import TOO_MANY, ApiError


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Meter:
    """Counts requests and streams by token name. `seconds` is a monotonic clock."""

    def __init__(self, limits: Limits, seconds: Callable[[], float]) -> None:
        self._limits = limits
        self._seconds = seconds
        self._buckets: dict[str, _Bucket] = {}
        self._streams: Counter[str] = Counter()

    def take(self, name: str) -> None:
        """Count one request; raise ApiError if there were too many."""
        now, limits = self._seconds(), self._limits
        bucket = self._buckets.setdefault(name, _Bucket(left=float(limits.burst), at=now))
        filled = bucket.left + (now - bucket.at) * limits.per_minute / 60
        bucket.left, bucket.at = min(float(limits.burst), filled), now
        if bucket.left < 1:
            wait = (1 - bucket.left) * 60 / limits.per_minute
            raise ApiError(TOO_MANY, f"Try again in {wait:.1f} s.", retry_after=round(wait, 1))
        bucket.left -= 1

    @contextmanager
    def stream(self, name: str) -> Generator[None]:
        """Count one open stream while it is open."""
        if self._streams[name] >= self._limits.streams:
            raise ApiError(TOO_MANY, f"This token already has {self._limits.streams} open streams.")
        self._streams[name] += 1
        try:
            yield
        finally:
            self._streams[name] -= 1
