"""How a sweep goes easy on clicks: few timers in each transaction, and a rest after it, as the time allows."""

#: Seconds a timer may take, the rest included: 1,000 of them stay within a second.
BUDGET = 0.0009
MOST = 32


class Pace:
    """A commit costs the same for one timer as for many, and how much depends on the disk: so it is measured.

    On a quick disk a transaction fires a timer or two; on a slow one, where a click takes long by itself, more.
    After each the sweep rests as long as it worked, if that keeps the budget: most clicks find nobody writing.
    """

    def __init__(self) -> None:
        self.batch: int = 4

    def rest(self, seconds: float, fired: int) -> float:
        """Take note of what a transaction took; return for how long to leave the database to others."""
        each = seconds / max(1, fired)
        if each > BUDGET / 2:
            self.batch = min(MOST, self.batch * 2)
        elif each < BUDGET / 4:
            self.batch = max(1, self.batch // 2)
        return min(seconds, max(0.0, fired * BUDGET - seconds))
