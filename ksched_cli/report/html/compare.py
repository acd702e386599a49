"""The page of a comparison: the sides' totals, how full the nodes are on each, what moves from
where to where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ksched_cli.analysis.compare import Comparison, PodDifference, SideResult
from ksched_cli.report.compare import headline, standing_text, totals
from ksched_cli.report.html.charts import bar, histogram
from ksched_cli.report.html.cluster_map import shares_of
from ksched_cli.report.html.columns import column
from ksched_cli.report.html.moves import moves
from ksched_cli.report.html.sections import (
    Bars,
    Grid,
    Histograms,
    Page,
    Section,
    Table,
    Tile,
)
from ksched_cli.report.table import PAGE

MAX_CAUSES = 20


def page(answer: Comparison) -> Page:
    title, *lede = headline(answer, PAGE).split("\n")
    sides, pods = answer.sides, answer.pods
    names = [side.name for side in sides]
    sections: list[Section] = [_totals(sides)]
    if pods:
        sections.append(_causes(pods))
        sections += [
            moves(
                f"From {names[0]} to {name}",
                (names[0], name),
                ((_place(pod, 0), _place(pod, index)) for pod in pods),
            )
            for index, name in enumerate(names[1:], 1)
        ]
    shares = shares_of([side.usages for side in sides])
    charts = [histogram(name, series) for name, series in shares.items()]
    if charts:
        sections.append(Histograms("Utilisation", charts, names))
    if pods:
        sections.append(Grid("Table of pods", "pods", _columns(names, pods)))
    tiles = [Tile("differ", f"{len(pods):,}", "warn" if pods else "good")]
    return Page(title, lede, tiles, sections)


def _totals(sides: Sequence[SideResult]) -> Table:
    return Table("Totals", ("", *(side.name for side in sides)), totals(sides))


def _place(pod: PodDifference, side: int) -> str:
    """The node, or what the pod is instead."""
    return pod.nodes[side] or standing_text(pod.states[side])


def _causes(pods: Sequence[PodDifference]) -> Bars:
    """Pods by the plugin that turned them."""
    counts = Counter(pod.plugin or pod.because for pod in pods).most_common(MAX_CAUSES)
    bars = [bar((cause, count), (count,), ("pods",), counts[0][1]) for cause, count in counts]
    return Bars("Because of", ("", "Pods", ""), bars)


def _columns(names: Sequence[str], pods: Sequence[PodDifference]) -> list[dict[str, Any]]:
    return [
        column("Pod", [pod.pod for pod in pods]),
        column("Owner", [pod.owner for pod in pods]),
        *(column(name, [_place(pod, side) for pod in pods]) for side, name in enumerate(names)),
        column("Because of", [pod.because for pod in pods]),
    ]
