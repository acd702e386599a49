"""The charts of variants: metric by metric, and in the plane of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ksched_cli.report.html.charts import Range, number, plane, ranges
from ksched_cli.report.html.sections import MetricColumn, Multiple, Multiples, MultiplesRow, Scatter
from ksched_cli.sweep.answers import (
    ComparedMetric,
    HeldOutVariant,
    MetricResult,
    SweepResult,
    VariantResult,
)

# Charts have the first variants; the table has all.
MAX_ROWS = 60
MAX_NAMES = 200
MAX_SEEDS = 5
_NOTE = "Figure and mark: median. Box: 5 to 95 per cent. Line: lowest to highest run."


def variant_front(answer: SweepResult) -> Scatter:
    """Draw the Pareto front and the baseline among the variants, by name."""
    front, baseline = answer.pareto_front, answer.baseline
    first, second = front.metrics
    label = f"{baseline} (baseline)"
    values = [
        (
            label if item.name == baseline else item.name,
            item.metrics[first].median,
            item.metrics[second].median,
            item.name in front.variants,
        )
        for item in answer.variants
        if first in item.metrics and second in item.metrics
    ]
    listed = ", ".join(front.variants[:MAX_NAMES])
    note = f"On the front: {listed}. No variant is better in both metrics, by their medians."
    return Scatter(f"{first} and {second}", plane((first, second), values, label), note)


def multiples(
    heading: str,
    metrics: Sequence[ComparedMetric],
    variants: Sequence[VariantResult | HeldOutVariant],
    tags: Mapping[str, str],
) -> Multiples:
    """Draw the variants' metrics, each metric on a scale of its own. tags: words beside names"""
    listed = variants[:MAX_ROWS]
    columns = []
    cells: list[list[Multiple | None]] = [[] for _ in listed]
    for metric in metrics:
        results = [item.metrics.get(metric.name) for item in listed]
        spreads = [
            None if each is None else Range(each.min, each.p5, each.median, each.p95, each.max)
            for each in results
        ]
        medians = [each.median for each in results if each]
        best = {"less": min, "more": max}[metric.better](medians) if metric.better else None
        drawn = ranges([((), [spread]) for spread in spreads])
        for own, each, drawing in zip(cells, results, drawn, strict=True):
            cell = None
            if each is not None:
                text, is_best = number(each.median), each.median == best
                cell = Multiple(text, _against(each), drawing, is_best)
            own.append(cell)
        ends = [end for spread in spreads if spread for end in (spread.least, spread.most)]
        goal = f"{metric.better} is better" if metric.better else ""
        columns.append(MetricColumn(metric.name, goal, number(min(ends)), number(max(ends))))
    rows = [
        MultiplesRow(item.name, tags.get(item.name, ""), own)
        for item, own in zip(listed, cells, strict=True)
    ]
    rest = len(variants) - len(listed)
    more = f" The first {MAX_ROWS} variants; the table has {rest:,} more." if rest else ""
    return Multiples(heading, columns, rows, f"{_NOTE}{more}")


def _against(metric: MetricResult) -> str:
    """Return how often it is better than the baseline, and in which seeds it is worse."""
    if metric.wins is None or not metric.pairs:
        return ""
    if not metric.wins and not metric.losses:
        return "as the baseline"
    text = f"better in {metric.wins:,} of {metric.pairs:,}"
    if metric.losses:
        text += f", worse in {metric.losses:,}"
    if metric.wins and metric.losses:  # the seeds disagree
        seeds = metric.worse_seeds[:MAX_SEEDS]
        more = ", …" if len(metric.worse_seeds) > MAX_SEEDS else ""
        text += f" (seeds {', '.join(map(str, seeds))}{more})"
    return text
