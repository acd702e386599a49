"""Weeks: pods by weekday and hour, with holidays, and a week like another one."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import InputError, UsageError
from ksched_cli.scenario.timelines.generate import (
    DAY,
    HOUR,
    WeeklyShape,
    fitted_weights,
    read_day,
    read_week,
    read_weights,
)

WORK = [1.0] * 5 + [0.0] * 2
OFFICE = [float(9 <= hour < 17) for hour in range(24)]
MONDAY = datetime.fromisoformat("2026-01-05T00:00:00+00:00")
Plain = dict[str, Any]


def cells(times: list[float]) -> set[tuple[int, int]]:
    """Days after the start, and hours."""
    return {(int(at // DAY), int(at % DAY // HOUR)) for at in times}


def test_pods_come_in_the_hours_of_their_days() -> None:
    times = WeeklyShape.of(WORK, OFFICE).arrivals(random.Random(1), 2000, 14 * DAY)
    assert (len(times), times) == (2000, sorted(times))
    days = {day for day in range(14) if day % 7 < 5}
    assert cells(times) == {(day, hour) for day in days for hour in range(9, 17)}


def test_weights_are_shares() -> None:
    shape = WeeklyShape.of([1, 1, 1, 1, 1, 1, 3], [1] * 24)
    counts = Counter(int(at // DAY) for at in shape.arrivals(random.Random(1), 9000, 7 * DAY))
    assert counts[6] / 9000 == pytest.approx(1 / 3, abs=0.02)
    assert counts[0] / 9000 == pytest.approx(1 / 9, abs=0.02)


def test_a_holiday_is_a_sunday() -> None:
    shape = WeeklyShape.of(WORK, OFFICE, frozenset({date(2026, 1, 6)}))
    assert {day for day, _ in cells(shape.arrivals(random.Random(1), 900, 7 * DAY))} == {0, 2, 3, 4}


def test_a_start_in_the_middle_of_a_week() -> None:
    saturday = datetime.fromisoformat("2026-01-10T08:00:00+00:00")
    times = WeeklyShape.of(WORK, OFFICE, start=saturday).arrivals(random.Random(1), 400, 3 * DAY)
    # Monday at nine is 49 hours later.
    assert 49 * HOUR <= times[0] < times[-1] < 57 * HOUR


def test_a_time_in_which_nobody_comes_is_an_error() -> None:
    with pytest.raises(UsageError, match="no pod can arrive"):
        WeeklyShape.of(WORK, OFFICE).arrivals(random.Random(1), 1, 5 * HOUR)


def test_a_fit_is_pods_an_hour_of_what_was_observed() -> None:
    """Ten days from Monday on: two Mondays, one Sunday. Four pods came at nine on each Monday, one
    at nine on the Sunday."""
    start = MONDAY.timestamp()
    mondays = [start + week * 7 * DAY + 9 * HOUR + n for week in (0, 1) for n in range(4)]
    times = [*mondays, start + 6 * DAY + 9 * HOUR]
    weights = fitted_weights(times, start, start + 10 * DAY - 1)
    assert {cell: weight for cell, weight in enumerate(weights) if weight} == {9: 4, 6 * 24 + 9: 1}


def test_days_that_were_not_observed_are_as_the_others() -> None:
    """Monday and Tuesday were: three pods at nine in all."""
    start = MONDAY.timestamp()
    times = [start + 9 * HOUR, start + 9 * HOUR + 1, start + DAY + 9 * HOUR]
    weights = fitted_weights(times, start, start + 2 * DAY - 1)
    assert [weights[day * 24 + 9] for day in range(7)] == [2, 1, 1.5, 1.5, 1.5, 1.5, 1.5]


def owned(name: str, owner: str, cpu: str) -> Plain:
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": owner}
    metadata = {"name": name, "ownerReferences": [{**reference, "controller": True}]}
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": metadata, "spec": {"containers": [container]}}


def week_file(folder: Path) -> Path:
    """300 pods of `day` at ten on workdays, and 100 of `night` at two on Sundays."""
    events = [
        {"at": DAY * (n % 5) + 10 * HOUR + n, "pod": owned(f"d{n}", "day", "1"), "runsFor": 60}
        for n in range(300)
    ]
    events += [
        {"at": DAY * 6 + 2 * HOUR + n, "pod": owned(f"n{n}", "night", "2"), "runsFor": 600}
        for n in range(100)
    ]
    events.sort(key=lambda event: float(event["at"]))  # type: ignore[arg-type]
    head = {"apiVersion": "ksched/v1", "kind": "Timeline", "start": "2026-01-05T00:00:00Z"}
    head["until"] = "2026-01-12T00:00:00Z"
    path = folder / "week.jsonl"
    path.write_text("\n".join(map(json.dumps, (head, *events))) + "\n")
    return path


def test_another_week_is_like_the_one_before_owner_by_owner(tmp_path: Path) -> None:
    week = read_week(str(week_file(tmp_path)))
    shape = WeeklyShape([1.0] * 168)
    events = list(week.events(1, 800, 14 * DAY, shape))
    assert events == list(week.events(1, 800, 14 * DAY, shape))
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)
    templates = week.header(MONDAY)["templates"]
    by_owner: dict[str, list[Plain]] = {}
    for event in events:
        metadata = templates[event["template"]]["metadata"]
        by_owner.setdefault(metadata["ownerReferences"][0]["name"], []).append(event)
    assert {name: {event["runsFor"] for event in own} for name, own in by_owner.items()} == {
        "day": {60},
        "night": {600},
    }
    assert len(by_owner["day"]) / 800 == pytest.approx(0.75, abs=0.05)
    hours = {name: cells([event["at"] for event in own]) for name, own in by_owner.items()}
    assert hours["day"] == {(day, 10) for day in range(12) if day % 7 < 5}
    assert hours["night"] == {(6, 2), (13, 2)}


def test_an_owner_whose_pods_come_on_sundays_has_none_on_a_monday(tmp_path: Path) -> None:
    week = read_week(str(week_file(tmp_path)))
    templates = week.header(MONDAY)["templates"]
    monday = WeeklyShape([1.0] * 168, start=MONDAY)
    owners = {
        templates[event["template"]]["metadata"]["ownerReferences"][0]["name"]
        for event in week.events(1, 100, DAY, monday)
    }
    assert owners == {"day"}
    with pytest.raises(UsageError, match="none came in these hours of a week; --days 7"):
        list(week.events(1, 100, HOUR, monday))


def test_as_many_pods_come_as_before(tmp_path: Path) -> None:
    week = read_week(str(week_file(tmp_path)))
    assert week.pods_in(14 * DAY) == 800


def test_a_dump_is_a_week_too(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    created = {"creationTimestamp": "2026-01-07T05:30:00Z", "name": "p"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": created, "spec": {"containers": []}}
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod]}))
    (event,) = read_week(str(path)).events(1, 1, DAY, WeeklyShape([1.0] * 168))
    assert 5 * HOUR <= event["at"] < 6 * HOUR
    assert "runsFor" not in event


def test_a_timeline_without_pods_is_none(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("apiVersion: ksched/v1\nkind: Timeline\nevents: []\n")
    with pytest.raises(InputError, match="it has no pods"):
        read_week(str(path))


def test_what_options_take() -> None:
    assert read_day("2026-12-25") == date(2026, 12, 25)
    assert read_weights("1,2,0", 3, "--x") == [1, 2, 0]
    with pytest.raises(UsageError, match="--holiday takes a day"):
        read_day("christmas")
    for text in ("1,2", "0,0,0", "a,b,c", "1,2,-1"):
        with pytest.raises(UsageError, match="--x takes 3 numbers"):
            read_weights(text, 3, "--x")
