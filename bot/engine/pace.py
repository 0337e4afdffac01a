"""How a sweep goes easy on clicks: few timers in each transaction, and a rest after it, as the time allows."""

#: Seconds a timer may take on average, rests included: 1,000 of them stay within a second.
BUDGET = 0.0008
MOST = 16


class Pace:
    """A commit costs the same for one timer as for many, and how much depends on the disk: so it is measured.

    A sweep that is in time rests after each transaction: most clicks find nobody writing. Only one that falls
    behind its budget makes its transactions larger, and one that is well ahead makes them smaller again.
    """

    def __init__(self) -> None:
        self.batch: int = 4
        self._allowed = 0.0

    def begin(self) -> None:
        self._allowed = 0.0

    def rest(self, elapsed: float, took: float, fired: int) -> float:
        """Return for how long to leave the database to others.

        `elapsed` is how long the sweep has been going on; its last transaction fired so many and took so long.
        """
        share = fired * BUDGET
        self._allowed += share
        ahead = self._allowed - elapsed
        if ahead <= 0:
            self.batch = min(MOST, self.batch * 2)
        elif took < share / 4:
            self.batch = max(1, self.batch // 2)
        # Not more than this transaction's share, or the time saved by the first would all be spent at once.
        return max(0.0, min(ahead, share))
