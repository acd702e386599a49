"""A timeline as JSON lines: the header, then an event per line, in order of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

Plain = dict[str, Any]
LONGEST = 1e11 - 1  # seconds, which is what a timeline may have

_encode = msgspec.json.Encoder().encode


def header(start: datetime | None = None, templates: Mapping[str, Plain] | None = None) -> Plain:
    """Return the first document of a timeline.

    start: what `at: 0` is, in whole seconds
    """
    document: Plain = {"apiVersion": "ksched/v1", "kind": "Timeline"}
    if start is not None:
        document["start"] = start.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if templates:
        document["templates"] = dict(templates)
    return document


def number(seconds: float) -> float | int:
    """Return a time rounded to the microsecond, as an int if it is whole."""
    rounded = round(seconds, 6)
    return int(rounded) if rounded == int(rounded) else rounded


def lines(head: Plain, events: Iterable[Plain]) -> Iterator[bytes]:
    """Yield the lines of a timeline, its events by time.

    events: in any order; those of one time stay in theirs
    """
    yield _encode(head) + b"\n"
    for event in sorted(events, key=lambda event: float(event["at"])):
        yield _encode(event) + b"\n"
