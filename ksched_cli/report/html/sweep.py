"""The page of a sweep: the variants' figures, metric by metric, and which are on the front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksched_cli.report.html.columns import Kind, column
from ksched_cli.report.html.sections import (
    Boxes,
    Grid,
    Group,
    Groups,
    Page,
    Scatter,
    Section,
    Tile,
)
from ksched_cli.report.html.spreads import boxes, plane
from ksched_cli.sweep.answers import (
    ComparedMetric,
    FailureResult,
    ParetoFront,
    SweepResult,
    VariantResult,
)

TONES = {"ok": "good", "error": "bad", "timeout": "bad", "lost": "warn"}
# Charts have the first variants; the table has all.
MAX_BOXES = 60
MAX_NAMES = 200


def page(answer: SweepResult) -> Page:
    title, *lede = answer.headline.split("\n")
    runs, variants = answer.runs, answer.variants
    tiles = [Tile("runs", f"{runs.planned:,}"), Tile("variants", f"{len(variants):,}")]
    tiles += [
        Tile(status, f"{getattr(runs, status):,}", tone)
        for status, tone in TONES.items()
        if getattr(runs, status) or status == "ok"
    ]
    sections: list[Section] = []
    if answer.failures:
        sections.append(_failures(answer.failures))
    front = answer.pareto_front
    if front.metrics:
        sections.append(_front(front, variants))
    sections += [_boxes(metric, variants) for metric in answer.metrics]
    if variants:
        sections.append(Grid("Table of variants", "variants", _columns(answer)))
    return Page(title, lede, tiles, sections)


def _failures(failures: Sequence[FailureResult]) -> Groups:
    groups = [
        Group(
            f"{item.status}: {item.runs:,} runs",
            item.error,
            item.status,
            TONES[item.status],
            ("Parameter", "Value"),
            [(name, str(value)) for name, value in item.example.items()],
        )
        for item in failures
    ]
    return Groups("Runs that failed", groups, "The first run of each is shown as an example.")


def _front(front: ParetoFront, variants: Sequence[VariantResult]) -> Scatter:
    first, second = front.metrics
    values = [
        (
            item.name,
            item.metrics[first].median,
            item.metrics[second].median,
            item.name in front.variants,
        )
        for item in variants
        if first in item.metrics and second in item.metrics
    ]
    listed = ", ".join(front.variants[:MAX_NAMES])
    note = f"No variant is better in both, by their medians, than: {listed}."
    return Scatter(f"{first} and {second}", plane((first, second), values), note)


def _boxes(metric: ComparedMetric, variants: Sequence[VariantResult]) -> Boxes:
    name = metric.name
    spreads = []
    for item in [item for item in variants if name in item.metrics][:MAX_BOXES]:
        of_variant = item.metrics[name]
        rate = of_variant.win_rate
        better = "" if rate is None else f"{rate:.0%}"
        spreads.append(((item.name, of_variant.median, better), of_variant))
    better = f", {metric.better} is better" if metric.better else ""
    note = "Box: 5 to 95 per cent; line: the least to the most; mark: the median."
    headers = ("Variant", "Median", "Better than the baseline", "")
    return Boxes(f"{name}{better}", headers, boxes(spreads), note)


def _columns(answer: SweepResult) -> list[dict[str, Any]]:
    variants = answer.variants
    listed = [
        column("Variant", [item.name for item in variants]),
        column("Runs", [item.runs for item in variants], Kind.NUMBER),
        column("Outcomes", [item.outcomes for item in variants], Kind.NUMBER),
    ]
    for metric in answer.metrics:
        name = metric.name
        of_variants = [item.metrics.get(name) for item in variants]
        listed.append(column(name, [item and item.median for item in of_variants], Kind.NUMBER))
        differences = [item and item.difference for item in of_variants]
        if any(differences):
            medians = [item and item.median for item in differences]
            listed.append(column(f"{name}: difference", medians, Kind.NUMBER))
    return listed
