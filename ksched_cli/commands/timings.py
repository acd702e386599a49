"""What `--timings` shows: how often and how long plugins were called, as a table, and as spans in a
file that Jaeger and other viewers of OpenTelemetry open.

The file is OTLP in its JSON form: opentelemetry-proto, TracesData.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import count
from operator import attrgetter
from time import perf_counter_ns, time_ns
from typing import Any
from uuid import uuid4

from ksched_cli import __version__
from ksched_cli.commands.command_line import TIMINGS_TABLE
from ksched_cli.framework.call_trace import AttemptCalls, Calls, CallsByPlugin, CallTrace, PodCalls
from ksched_cli.report.view import Column, Kind, View, table
from ksched_cli.report.words import counted

SLOWEST = 10  # pods in the table
INTERNAL = 1  # a span's kind: within one program


class Timings:
    """The calls of one run or several. target: as `timings_target` returns it"""

    def __init__(self, target: str) -> None:
        self.target = target
        self._traces: list[CallTrace] = []

    def add(self, trace: CallTrace) -> View:
        """Add a run, and return what a terminal shows of it. Raises UsageError where the file
        cannot be written."""
        self._traces.append(trace)
        totals = trace.totals()
        attempts = [each for pod in trace.pods.values() for each in pod.attempts]
        took = sum(each.end - each.begin for each in attempts) / 1e9
        pods = counted(len(trace.pods), "pod")
        title = f"{counted(len(attempts), 'attempt')} of {pods} took {took:.3f} s"
        if self.target != TIMINGS_TABLE:
            from ksched_cli.live.snapshot_file import written_aside

            spans = [span for each in self._traces for span in _spans(each)]
            scope = {"scope": {"name": "ksched", "version": __version__}, "spans": spans}
            resource = {"attributes": [_attribute("service.name", "ksched")]}
            document = {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}
            with written_aside(self.target) as file:
                file.write(json.dumps(document).encode())
            return View(title=f"{title}; their spans are in {self.target}")
        of_pods = [
            (key, pod, sum(attempt.end - attempt.begin for attempt in pod.attempts))
            for key, pod in trace.pods.items()
        ]
        return View(
            title=title,
            sections=[
                table(
                    "Calls",
                    totals.items(),
                    (Column("extension point"), lambda item: item[0][0]),
                    (Column("plugin"), lambda item: item[0][1]),
                    (Column("calls", Kind.NUMBER), lambda item: item[1].number),
                    (
                        Column("ms", Kind.NUMBER, named=True),
                        lambda item: round(item[1].duration / 1e6, 3),
                    ),
                    (
                        Column("µs per call", Kind.NUMBER, named=True),
                        lambda item: round(item[1].duration / item[1].number / 1e3, 1),
                    ),
                ),
                table(
                    "Pods, the slowest first",
                    sorted(of_pods, key=lambda item: -item[2])[:SLOWEST],
                    (Column("pod", Kind.POD), lambda item: item[0]),
                    (Column("attempts", Kind.NUMBER), lambda item: len(item[1].attempts)),
                    (Column("ms", Kind.NUMBER, named=True), lambda item: round(item[2] / 1e6, 3)),
                    (Column("most of it in"), lambda item: _most(item[1])),
                    count=len(of_pods),
                    brief=SLOWEST,
                    noun="more pods",
                    hint="a file of --timings has all",
                ),
            ],
        )


def _most(pod: PodCalls) -> str:
    """Return the extension point and plugin of the longest calls."""
    longest = max(pod.every(), key=lambda item: item[1].duration, default=None)
    return "" if longest is None else " ".join(longest[0])


# -- spans -----------------------------------------------------------------------------------------


def _spans(trace: CallTrace) -> Iterator[Mapping[str, Any]]:
    """Yield a span for the run, below it one per attempt, below these one per extension point, and
    below these one per plugin, from its first call to the end of its last."""
    trace_id, numbers = uuid4().hex, count(1)
    # The clocks' difference: spans have the time of day.
    offset = time_ns() - perf_counter_ns()

    def span(
        title: str, begin: int, end: int, parent: str, attributes: Mapping[str, str | int]
    ) -> dict[str, Any]:
        return {
            "traceId": trace_id,
            "spanId": f"{next(numbers):016x}",
            "parentSpanId": parent,
            "name": title,
            "kind": INTERNAL,
            "startTimeUnixNano": str(begin + offset),
            "endTimeUnixNano": str(end + offset),
            "attributes": [_attribute(key, value) for key, value in attributes.items()],
        }

    def below(
        parent: str, calls: CallsByPlugin, pod: Mapping[str, str | int]
    ) -> Iterator[dict[str, Any]]:
        points: dict[str, list[tuple[str, Calls]]] = {}
        for (point, plugin), each in calls.items():
            points.setdefault(point, []).append((plugin, each))
        for point, plugins in points.items():
            begin = min(each.begin for _, each in plugins)
            end = max(each.end for _, each in plugins)
            at_point = span(point, begin, end, parent, pod)
            yield at_point
            for plugin, each in plugins:
                figures = {"calls": each.number, "busy_ns": each.duration}
                title = f"{point}/{plugin}"
                yield span(title, each.begin, each.end, at_point["spanId"], {**pod, **figures})

    every = [calls for pod in trace.pods.values() for _, calls in pod.every()]
    attempts = [each for pod in trace.pods.values() for each in pod.attempts]
    moments: list[Calls | AttemptCalls] = [*every, *attempts]
    if not moments:
        return
    begin = min(map(attrgetter("begin"), moments))
    root = span("ksched", begin, max(map(attrgetter("end"), moments)), "", {})
    yield root
    for key, pod in trace.pods.items():
        about = {"k8s.pod": key, "schedulerName": pod.profile}
        yield from below(root["spanId"], pod.between, about)
        for number, attempt in enumerate(pod.attempts, start=1):
            own: dict[str, str | int] = {**about, "attempt": number}
            top = span(f"attempt {key}", attempt.begin, attempt.end, root["spanId"], own)
            yield top
            yield from below(top["spanId"], attempt.calls, own)


def _attribute(key: str, value: str | int) -> dict[str, Any]:
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value)}}
