"""Traces with a row per event as timelines of pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import InputError
from ksched_cli.scenario.timelines.csv_file import CsvFile
from ksched_cli.scenario.timelines.trace_csv import TraceColumns, TraceReader, TraceRules
from ksched_cli.scenario.timelines.trace_events import EventColumns

EVENTS = EventColumns(
    "type", {"SUBMIT": "submit", "START": "start", "EVICT": "evict", "FAIL": "end", "DONE": "end"}
)
COLUMNS = TraceColumns("t", {"cpu": ("cpu", "")}, name="{job}-{task}")


def pods(folder: Path, *rows: str, **rules: Any) -> dict[str, tuple[Any, ...]]:
    """By pod: when it came, for how long it runs, and when it is deleted; from rows of time, job,
    task, type and cpu."""
    path = folder / "events.csv"
    path.write_text("t,job,task,type,cpu\n" + "".join(f"{row}\n" for row in rows))
    given = {"duration_default": "forever", **rules}
    trace = TraceReader(COLUMNS, TraceRules(events=EVENTS, **given)).read(CsvFile(str(path)))
    gone = {e["delete"]["name"]: e["at"] for e in trace.events if "delete" in e}
    return {
        (name := event["pod"].partition("/")[2]): (
            event["at"],
            event.get("runsFor"),
            gone.get(name),
        )
        for event in trace.events
        if "pod" in event
    }


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (["0 SUBMIT", "5 START", "30 DONE"], {"a-0": (0, 25, None)}),
        # Not in order of time.
        (["30 FAIL", "5 START", "0 SUBMIT"], {"a-0": (0, 25, None)}),
        # Never started: it is deleted. Its submission is missing: it comes when it started.
        (["0 SUBMIT", "30 FAIL"], {"a-0": (0, None, 30)}),
        (["5 START", "30 DONE"], {"a-0": (0, 25, None)}),
        # Still there, running or pending, when the trace ends.
        (["0 SUBMIT", "5 START"], {"a-0": (0, None, None)}),
        (["0 SUBMIT"], {"a-0": (0, None, None)}),
        # Evicted: the last run counts, from its start.
        (
            ["0 SUBMIT", "5 START", "8 EVICT", "8 SUBMIT", "20 START", "50 DONE"],
            {"a-0": (0, 30, None)},
        ),
        # Evicted, and never again: it ran for that long.
        (["0 SUBMIT", "5 START", "8 EVICT"], {"a-0": (0, 3, None)}),
        (["0 SUBMIT", "5 START", "8 EVICT", "9 FAIL"], {"a-0": (0, 3, None)}),
        # Another submission after the end is another pod.
        (
            ["0 SUBMIT", "5 START", "8 FAIL", "9 SUBMIT", "9 START", "11 DONE"],
            {"a-0": (0, 3, None), "a-0-2": (9, 2, None)},
        ),
        # What is no such event, or ends what never came, is nothing.
        (["0 DONE", "1 SUBMIT", "2 QUEUE", "3 START", "4 DONE"], {"a-0": (0, 1, None)}),
    ],
)
def test_events_make_pods(
    tmp_path: Path, events: list[str], expected: dict[str, tuple[Any, ...]]
) -> None:
    rows = [f"{at},a,0,{kind},1" for at, kind in map(str.split, events)]
    assert pods(tmp_path, *rows) == expected


def test_events_of_several_pods_may_be_mixed(tmp_path: Path) -> None:
    rows = ["0,a,0,SUBMIT,1", "0,a,1,SUBMIT,1", "3,a,1,START,1", "4,a,0,START,1", "9,a,1,DONE,1"]
    assert pods(tmp_path, *rows) == {"a-1": (0, 6, None), "a-0": (0, None, None)}


def test_requests_may_come_with_a_later_event(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("t,job,task,type,cpu\n0,a,0,SUBMIT,\n5,a,0,START,3\n9,a,0,DONE,\n")
    trace = TraceReader(COLUMNS, TraceRules(events=EVENTS)).read(CsvFile(str(path)))
    assert trace.requests["cpu"].nano_value() == 3 * 10**9


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        (["0,,0,SUBMIT,1"], 'events.csv:2:1: column "job": expected a name'),
        (["0,a,0,SUBMIT,1", "x,a,0,START,1"], 'events.csv:3:1: column "t": expected a number'),
        (
            ["0,a,0,SUBMIT,1", "4,a,0,START,1"],
            'events.csv:2:1: column "(ended)": the cell is empty',
        ),
        (["0,a,0,DONE,1"], "no row submits or starts a pod"),
    ],
)
def test_rows_that_are_wrong_are_named(tmp_path: Path, rows: list[str], error: str) -> None:
    with pytest.raises(InputError) as raised:
        pods(tmp_path, *rows, duration_default="")
    assert error in raised.value.text()
