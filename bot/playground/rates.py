"""Slack's rate limits, off unless a test or the page switches them on."""

from collections import defaultdict, deque
from collections.abc import Callable
from math import ceil

from bot.playground.errors import SlackError


class Rates:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.enforced = False
        self._recent: defaultdict[str, deque[float]] = defaultdict(deque)

    def check(self, method: str, per_minute: int, channel: str | None) -> None:
        """Count this call, or answer 429 with the seconds to wait. Refused calls do not count."""
        if not self.enforced:
            return
        windows = [(method, per_minute, 60.0)]
        if method == "chat.postMessage" and channel is not None:
            windows.append((f"{method} {channel}", 1, 1.0))
        now = self._now()
        for key, most, seconds in windows:
            recent = self._recent[key]
            while recent and now - recent[0] >= seconds:
                recent.popleft()
            if len(recent) >= most:
                wait = max(1, ceil(recent[0] + seconds - now))
                raise SlackError("ratelimited", status=429, headers={"Retry-After": str(wait)})
        for key, _, _ in windows:
            self._recent[key].append(now)
