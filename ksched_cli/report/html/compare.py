"""The page of a comparison: the sides' totals, how full the nodes are on each, what moves from
where to where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.report.html.charts import bar, histogram
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

COUNTS = ("placed", "pending", "gated", "evicted", "nodesUsed")
NAMES = {"nodesUsed": "nodes used"}
MAX_CAUSES = 20


def page(document: Mapping[str, Any], headline: str, figures: Mapping[str, Any]) -> Page:
    """headline: how many pods differ; figures: `shares` of the nodes by resource, per side"""
    title, *lede = headline.split("\n")
    sides, pods = document["sides"], document["pods"]
    names = [side["name"] for side in sides]
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
    charts = [histogram(name, shares) for name, shares in figures.get("shares", {}).items()]
    if charts:
        sections.append(Histograms("Utilisation", charts, names))
    if pods:
        sections.append(Grid("Table of pods", "pods", _columns(names, pods)))
    tiles = [Tile("differ", f"{len(pods):,}", "warn" if pods else "good")]
    return Page(title, lede, tiles, sections)


def _totals(sides: Sequence[Mapping[str, Any]]) -> Table:
    rows: list[Sequence[Any]] = [
        (NAMES.get(key, key), *(side["summary"][key] for side in sides)) for key in COUNTS
    ]
    shares = [side["summary"]["utilization"] for side in sides]
    resources = dict.fromkeys(resource for share in shares for resource in share)
    rows += [
        (resource, *(_share(share.get(resource)) for share in shares)) for resource in resources
    ]
    return Table("Totals", ("", *(side["name"] for side in sides)), rows)


def _share(share: Mapping[str, float] | None) -> str:
    if share is None:
        return "none"
    return f"{share['mean']:.0%} ± {share['stddev']:.0%}, max {share['max']:.0%}"


def _place(pod: Mapping[str, Any], side: int) -> str:
    """The node, or what the pod is instead."""
    return pod["nodes"][side] or ("not there" if pod["states"][side] == "absent"
                                  else pod["states"][side])  # fmt: skip


def _causes(pods: Sequence[Mapping[str, Any]]) -> Bars:
    """Pods by the plugin that turned them."""
    counts = Counter(pod["plugin"] or pod["because"] for pod in pods).most_common(MAX_CAUSES)
    bars = [bar((cause, count), (count,), ("pods",), counts[0][1]) for cause, count in counts]
    return Bars("Because of", ("", "Pods", ""), bars)


def _columns(names: Sequence[str], pods: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        column("Pod", [pod["pod"] for pod in pods]),
        column("Owner", [pod["owner"] for pod in pods]),
        *(column(name, [_place(pod, side) for pod in pods]) for side, name in enumerate(names)),
        column("Because of", [pod["because"] for pod in pods]),
    ]
