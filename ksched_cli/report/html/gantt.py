"""Pods by node over time: which of a replay's pods a page draws, and their table."""

from __future__ import annotations

from collections.abc import Iterator

from ksched_cli.analysis.replay_result import ReplayResult
from ksched_cli.report.html.sections import Gantt
from ksched_cli.report.view import Column, Kind, Medium, Section, table
from ksched_cli.report.words import counted, grouped

MOST_PODS = 3000
_HOW = (
    "A bar for each pod on its node; those that wait are above. Drag to zoom, double-click for the "
    "whole time; arrow keys move the line."
)


def pods_by_node(answer: ReplayResult) -> Iterator[Section]:
    """Yield a bar for each pod, and the table that the bars are drawn from. Where there are many
    pods, those of the first nodes alone."""
    pods = answer.pods or ()
    if not pods:
        return
    # All pods of a node are drawn, or none, but of the first node; pods without a node come last.
    drawn, left_out = [*pods], ""
    if len(pods) > MOST_PODS:
        by_node = grouped((pod.node or "", pod) for pod in pods)
        nowhere = by_node.pop("", [])
        drawn, nodes = [], 0
        for name in sorted(by_node):
            if nodes and len(drawn) + len(by_node[name]) > MOST_PODS:
                break
            drawn += by_node[name][:MOST_PODS]
            nodes += 1
        drawn += nowhere[: MOST_PODS - len(drawn)]
        first = f"The first {nodes:,} of {counted(len(by_node), 'node')} by name"
        left_out = f"{first}: {len(drawn):,} of {counted(len(pods), 'pod')}."
    note = f"{left_out} {_HOW}".strip()
    yield Gantt("Pods by node", {"start": answer.clock_start, "end": answer.end}, note)
    yield table(
        "Table of pods",
        drawn,
        (Column("Pod", Kind.POD), lambda pod: pod.pod),
        (Column("Node", Kind.NODE), lambda pod: pod.node),
        (Column("Owner"), lambda pod: pod.owner),
        (Column("Priority", Kind.NUMBER), lambda pod: pod.priority),
        (Column("Queued", Kind.DURATION), lambda pod: pod.queued),
        (Column("Placed", Kind.DURATION), lambda pod: pod.placed),
        (Column("Left", Kind.DURATION), lambda pod: pod.ended),
        (Column("Outcome"), lambda pod: pod.outcome.value),
        grid="pods",
        note=left_out,
        on=Medium.PAGE,
    )
