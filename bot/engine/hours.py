"""When people are at work: reminders and escalations wait for it, the expiry never does. Pure."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SHAPE = re.compile(
    r"(?P<first>[a-z]{3})(-(?P<last>[a-z]{3}))? (?P<start>\d\d:\d\d)-(?P<end>\d\d:\d\d)( (?P<zone>\S+))?"
)
_MINUTES_OF_A_DAY = 24 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Hours:
    """The same hours on some days of the week, by the clock on the wall of one time zone."""

    #: 0 is Monday.
    days: frozenset[int]
    #: Minutes after midnight; `end` may be 24:00, and lies after `start`.
    start: int
    end: int
    zone: ZoneInfo

    def __post_init__(self) -> None:
        if not self.days or not 0 <= self.start < self.end <= _MINUTES_OF_A_DAY:
            raise ValueError("business hours need at least one day, and an end after their start")

    def open_at(self, moment: datetime) -> bool:
        local = moment.astimezone(self.zone)
        return local.weekday() in self.days and self.start <= local.hour * 60 + local.minute < self.end


def parse_hours(text: str) -> Hours:
    """Read `mon-fri 09:00-17:00 Europe/Berlin`; without a zone it is UTC.

    Raises:
        ValueError: it is not of that shape; says what is wrong.
    """
    days, _, rest = text.strip().partition(" ")
    found = _SHAPE.fullmatch(f"{days.lower()} {rest}")
    if found is None:
        raise ValueError(f"{text!r} is not of the shape 'mon-fri 09:00-17:00 Europe/Berlin'")
    first, last = found["first"], found["last"] or found["first"]
    if first not in _DAYS or last not in _DAYS:
        raise ValueError(f"days are {', '.join(_DAYS)}")
    return Hours(
        days=_from_to(_DAYS.index(first), _DAYS.index(last)),
        start=_minutes(found["start"]),
        end=_minutes(found["end"]),
        zone=parse_zone(found["zone"] or "UTC"),
    )


def next_open(moment: datetime, hours: Hours | None) -> datetime:
    """Return `moment` itself if people are at work then, else when they come in next. Without hours: always."""
    if hours is None or hours.open_at(moment):
        return moment
    local = moment.astimezone(hours.zone)
    # Eight days: today may be a working day whose hours are over, and only this weekday may be one.
    for ahead in range(8):
        day = local.date() + timedelta(days=ahead)
        opens = datetime.combine(day, time(hours.start // 60, hours.start % 60), hours.zone).astimezone(UTC)
        if day.weekday() in hours.days and opens > moment:
            return opens
    raise AssertionError("a week has every weekday")


def _from_to(first: int, last: int) -> frozenset[int]:
    """The days from one to another, over the end of the week if need be: `sat-mon` is three days."""
    return frozenset((first + step) % 7 for step in range((last - first) % 7 + 1))


def _minutes(text: str) -> int:
    hour, minute = int(text[:2]), int(text[3:])
    if minute > 59:
        raise ValueError(f"there is no time {text}")
    return hour * 60 + minute


def parse_zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"there is no time zone {name!r}") from error
