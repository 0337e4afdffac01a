"""Numbers as people read them. Pure."""

from datetime import UTC, datetime

_UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB")


def size(count: int) -> str:
    """Write a number of bytes with one decimal at most; 0.8 GB rather than 800 MB, as people speak."""
    value, unit = float(count), 0
    while value >= 500 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    if unit == 0:
        return many(count, "byte")
    number = f"{value:.1f}".removesuffix(".0") if value < 100 else f"{value:.0f}"
    return f"{number} {_UNITS[unit]}"


def many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def day(timestamp: float) -> str:
    return f"{datetime.fromtimestamp(timestamp, UTC):%Y-%m-%d}"


def minute(timestamp: float) -> str:
    return f"{datetime.fromtimestamp(timestamp, UTC):%Y-%m-%d %H:%M}"
