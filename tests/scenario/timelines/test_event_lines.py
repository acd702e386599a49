"""Timelines as JSON lines."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from ksched_cli.scenario.timelines.event_lines import header, lines, number


def test_the_header_comes_first_then_the_events_by_time() -> None:
    events = [{"at": 2, "pod": "b"}, {"at": 1.5, "pod": "a"}, {"at": 2, "pod": "c"}]
    first, *others = [json.loads(line) for line in lines(header(), events)]
    assert first == {"apiVersion": "ksched/v1", "kind": "Timeline"}
    assert [event["pod"] for event in others] == ["a", "b", "c"]


def test_a_start_is_written_in_utc() -> None:
    start = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert header(start)["start"] == "2026-01-01T00:00:00Z"
    assert header(datetime(2026, 1, 1, tzinfo=UTC), {"t": {}})["templates"] == {"t": {}}


@pytest.mark.parametrize(("seconds", "text"), [(3.0, "3"), (0.5, "0.5"), (1 / 3, "0.333333")])
def test_times_have_no_more_digits_than_they_need(seconds: float, text: str) -> None:
    assert json.dumps(number(seconds)) == text
