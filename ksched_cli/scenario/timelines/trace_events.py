"""Traces with a row per event, as Google's: what was submitted, started, was evicted or ended, as a
row per pod.

A recorded eviction is the recorded scheduler's decision, which a replay does not follow: the pod
that starts again later is the same pod, and runs for as long as its last run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from msgspec import Struct

from ksched_cli.scenario.timelines.csv_file import NumberedRow, Row

ROLES = ("submit", "start", "evict", "end")
# Columns of a pod's row, in addition to those of its events.
SUBMITTED, STARTED, ENDED = "(submitted)", "(started)", "(ended)"


@dataclass(frozen=True, slots=True)
class EventColumns:
    """type: the column with the type of the event. roles: what a type is, one of ROLES; events of
    other types only add cells that are still empty."""

    type: str
    roles: Mapping[str, str]


class _OpenPod(Struct):
    """A pod whose end has not been read. number, line: of its first event. Times are those of the
    trace, "" for none"""

    number: int
    line: int
    cells: dict[str, str]
    submitted: str
    started: str = ""
    ended: str = ""

    def row(self) -> NumberedRow:
        times = {SUBMITTED: self.submitted, STARTED: self.started, ENDED: self.ended}
        return self.number, self.line, self.cells | times


def pods_of(
    events: EventColumns,
    rows: Iterable[tuple[float, NumberedRow]],
    name: Callable[[Row], str],
    time: str,
) -> Iterator[NumberedRow]:
    """Yield a row per pod, once it has ended, and those without an end last.

    rows: with their times, in any order
    name: of the pod that a row is about
    time: the column with the time
    """
    pods: dict[str, _OpenPod] = {}
    for _, (number, line, row) in sorted(rows, key=lambda each: each[0]):
        key, role = name(row), events.roles.get(row[events.type].strip(), "")
        pod = pods.get(key)
        if pod is None:
            if role not in ("submit", "start"):
                continue
            pod = pods[key] = _OpenPod(number, line, dict(row), row[time])
        for column, text in row.items():
            if text and not pod.cells[column]:
                pod.cells[column] = text
        if role == "start":
            pod.started, pod.ended = row[time], ""
        elif role == "evict" and pod.started:
            pod.ended = row[time]
        elif role == "end":
            pod.ended = pod.ended or row[time]
            yield pods.pop(key).row()
    for pod in pods.values():
        yield pod.row()
