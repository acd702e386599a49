"""Times: texts of RFC 3339, and whole microseconds, in which simulated time is counted because sums
of floats would not be exact."""

from __future__ import annotations

from datetime import UTC, datetime

SECOND = 1_000_000


def parse_time(text: str) -> datetime:
    """Return a time in UTC, where a text without a zone is one already. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError as error:  # on the first or the last day that there is
        raise ValueError(str(error)) from None


def unix_seconds(text: str) -> float:
    """Return the seconds since 1970. Raises ValueError."""
    return parse_time(text).timestamp()


def readable_time(text: str | None) -> str:
    """Return the text, "" where it is not a time."""
    try:
        parse_time(text or "")
    except ValueError:
        return ""
    return text or ""
