"""Times as texts."""

from datetime import UTC, datetime

import pytest

from ksched_cli.kube.time import parse_time, unix_seconds


@pytest.mark.parametrize(
    "text", ["2026-01-31T12:00:00Z", "2026-01-31T13:00:00+01:00", "2026-01-31T12:00:00"]
)
def test_times_are_in_utc(text: str) -> None:
    assert parse_time(text) == datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "today", "0001-01-01T00:00:00+01:00"])
def test_what_is_no_time_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_time(text)


def test_seconds_have_fractions() -> None:
    assert unix_seconds("1970-01-01T00:00:01.5Z") == 1.5
