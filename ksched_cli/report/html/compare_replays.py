"""The page of `compare --timeline`: the sides over each other in time, their totals, and the pods
that fared differently."""

from __future__ import annotations

from typing import Any

from ksched_cli.analysis.compare import ReplayComparison, ReplayDifference
from ksched_cli.engine.replay.records import PodOutcome
from ksched_cli.kube.time import SECOND
from ksched_cli.report.compare_replays import headline, totals
from ksched_cli.report.html.columns import Kind, column
from ksched_cli.report.html.curves import curves_of_sides
from ksched_cli.report.html.sections import Grid, Page, Section, Table, Tile, TimeCharts
from ksched_cli.report.table import PAGE


def page(answer: ReplayComparison) -> Page:
    title, *lede = headline(answer, PAGE).split("\n")
    count = len(answer.pods)
    names = [side.name for side in answer.sides]
    tiles = [Tile("pods that differ", f"{count:,}", "warn" if count else "good")]
    sections: list[Section] = []
    if answer.curves:
        sides = list(zip(names, answer.curves, strict=True))
        sections.append(TimeCharts("Over time", "sides", curves_of_sides(sides)))
    sections.append(Table("Totals", ("", *names), totals(answer.sides)))
    if answer.pods:
        sections.append(Grid("Pods that differ", "pods", _columns(answer)))
    return Page(title, lede, tiles, sections)


def _columns(answer: ReplayComparison) -> list[dict[str, Any]]:
    """Those whose waits differ most come first."""
    pods = sorted(answer.pods, key=lambda pod: (-abs(pod.delay(-1)), pod.pod))
    columns = [column("Pod", [pod.pod for pod in pods])]
    for index, side in enumerate(answer.sides):
        columns += [
            column(f"Node, {side.name}", [_place(pod, index) for pod in pods]),
            column("waited", [pod.waited[index] for pod in pods], Kind.DURATION),
        ]
    for index, side in enumerate(answer.sides[1:], 1):
        title = f"Waits longer, {side.name}" if len(answer.sides) > 2 else "Waits longer"
        delays = [pod.delay(index) / SECOND for pod in pods]
        columns.append(column(title, delays, Kind.DURATION))
    return columns


def _place(pod: ReplayDifference, side: int) -> str:
    """The node, or what became of it without one."""
    outcome = pod.outcomes[side]
    if outcome is None:
        return "not there"
    node = pod.nodes[side] or ""
    if outcome is PodOutcome.EVICTED:
        return f"{node} (evicted)" if node else "evicted"
    return node or outcome.value
