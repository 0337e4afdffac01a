"""Everything that may go wrong, as a tree by who must act.

BotError
├── ConfigError          the operator must change a setting or a file
├── Refused              the person may not do this, or said something that does not fit
│   ├── NotAllowed
│   └── InvalidAnswer
├── Stale                the person was right, but too late
│   ├── AlreadyDecided
│   ├── AlreadyResumed
│   ├── CheckpointNotFound
│   ├── LostRace
│   ├── GrantSpent
│   └── IdTaken
├── Corrupt              a stored row does not decode; it was set aside
└── Upstream             somebody else's service failed; trying again may help
    └── ModelUnavailable

The message of each error is meant for the person it names. It never contains secrets or vendor text.
"""

from datetime import datetime

from bot.domain.ids import InterruptId, RunId, UserId


class BotError(Exception):
    """The base of all expected failures."""


class ConfigError(BotError):
    """The operator must change a setting or a file."""


class Refused(BotError):
    """The person may not do this, or what they said does not fit."""


class NotAllowed(Refused):
    """The policy does not let this person decide."""


class InvalidAnswer(Refused):
    """The answer does not fit the question; nothing was consumed, it can be answered again."""


class Stale(BotError):
    """The person was right, but too late."""


class AlreadyDecided(Stale):
    """Somebody else, or the clock, settled this interrupt first."""

    def __init__(self, interrupt: InterruptId, *, what: str, by: UserId | None, at: datetime | None) -> None:
        self.interrupt, self.what, self.by, self.at = interrupt, what, by, at
        who = f" by {by}" if by else ""
        when = f" at {at:%Y-%m-%d %H:%M:%S} UTC" if at else ""
        super().__init__(f"already resumed: {interrupt} was {what}{who}{when}")


class AlreadyResumed(Stale):
    """Each checkpoint is resumed once; this one was."""

    def __init__(self, run: RunId, state: str) -> None:
        self.run, self.state = run, state
        super().__init__(f"already resumed: run {run} is {state}")


class CheckpointNotFound(Stale):
    """No such checkpoint, or it has expired."""

    def __init__(self, name: str, why: str = "unknown") -> None:
        self.name, self.why = name, why
        super().__init__(f"checkpoint not found: {name} ({why})")


class LostRace(Stale):
    """Another process owns this run now; this one must let go of it."""

    def __init__(self, run: RunId) -> None:
        self.run = run
        super().__init__(f"another process took over run {run}")


class GrantSpent(Stale):
    """A remembered approval was used up, revoked or has expired in this very moment."""

    def __init__(self, grant: str) -> None:
        self.grant = grant
        super().__init__(f"the remembered approval {grant} does not hold any more")


class IdTaken(Stale):
    """A new run drew the name of another one; it must draw again."""

    def __init__(self, run: RunId) -> None:
        self.run = run
        super().__init__(f"there is already a run {run}")


class Corrupt(BotError):
    """A stored row does not decode; it was set aside and the rest goes on."""

    def __init__(self, name: str, why: str) -> None:
        self.name, self.why = name, why
        super().__init__(f"{name} cannot be read and was set aside: {why}")


class Upstream(BotError):
    """Somebody else's service failed; trying again may help."""


class ModelUnavailable(Upstream):
    """The model did not answer, also after several tries."""
