"""The pages of many runs: variants by metric, and the tuned configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.kube.shown_yaml import block_yaml
from ksched_cli.report.html.charts import Range, number, plane, ranges
from ksched_cli.report.html.columns import Kind, column
from ksched_cli.report.html.sections import (
    Grid,
    Group,
    Groups,
    Metric,
    Multiple,
    Multiples,
    MultiplesRow,
    Page,
    Prose,
    Scatter,
    Section,
    Table,
    Tile,
    present,
)
from ksched_cli.report.table import counted
from ksched_cli.sweep.answers import (
    ComparedMetric,
    FailureResult,
    HeldOutVariant,
    MetricResult,
    SweepResult,
    TuneResult,
    TuneTrial,
    VariantResult,
    better,
)

# -- sweep -----------------------------------------------------------------------------------------


TONES = {"ok": "good", "error": "bad", "timeout": "bad", "lost": "warn"}
# Charts have the first variants; the table has all.
MAX_ROWS = 60
MAX_NAMES = 200
MAX_SEEDS = 5
_NOTE = "Figure and mark: median. Box: 5 to 95 per cent. Line: lowest to highest run."


def sweep_page(answer: SweepResult) -> Page:
    """The page of a sweep: the variants' figures, metric by metric, and which are on the front."""
    lede = answer.headline.split("\n")
    runs, variants = answer.runs, answer.variants
    tiles = [Tile("runs", f"{runs.planned:,}"), Tile("variants", f"{len(variants):,}")]
    tiles += [
        Tile(status, f"{getattr(runs, status):,}", tone)
        for status, tone in TONES.items()
        if getattr(runs, status) or status == "ok"
    ]
    front = answer.pareto_front
    sections = present(_failures(answer.failures))
    if front.metrics:
        sections.append(_variant_front(answer))
    if variants:
        tags = dict.fromkeys(front.variants, "front") | {answer.baseline or "": "baseline"}
        sections.append(multiples("Variants by metric", answer.metrics, variants, tags))
        sections.append(Grid("Table of variants", "variants", _columns(answer)))
    return Page(_sweep_title(answer), lede, tiles, sections)


def _sweep_title(answer: SweepResult) -> str:
    """Which variant is best in the first metric by which they differ."""
    for metric in answer.metrics:
        medians = {
            item.name: item.metrics[metric.name].median
            for item in answer.variants
            if metric.name in item.metrics
        }
        if metric.better is None or len({*medians.values()}) < 2:
            continue
        choose = min if metric.better == "less" else max
        best = choose(medians.values())
        on_front = answer.pareto_front.variants
        first, *others = sorted(
            (name for name, median in medians.items() if median == best),
            key=lambda name: name not in on_front,
        )
        names = f"{first} and {len(others):,} more" if others else first
        which = "least" if metric.better == "less" else "greatest"
        text = f"{metric.name} is {which} with {names}: {number(best)}"
        before = medians.get(answer.baseline or "")
        if before is None or before == best:
            return text
        return f"{text}, against {number(before)} with the baseline {answer.baseline}"
    count = counted(len(answer.variants), "variant")
    return f"No metric differs between {count}" if answer.variants else "No run finished"


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


def _variant_front(answer: SweepResult) -> Scatter:
    """The front, and the baseline, by name."""
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
    """The variants' metrics, each metric on a scale of its own. tags: words beside names"""
    listed = variants[:MAX_ROWS]
    columns = [_cells(metric, listed) for metric in metrics]
    rows = [
        MultiplesRow(item.name, tags.get(item.name, ""), [cells[row] for _, cells in columns])
        for row, item in enumerate(listed)
    ]
    rest = len(variants) - len(listed)
    more = f" The first {MAX_ROWS} variants; the table has {rest:,} more." if rest else ""
    return Multiples(heading, [metric for metric, _ in columns], rows, f"{_NOTE}{more}")


def _cells(
    metric: ComparedMetric, variants: Sequence[VariantResult | HeldOutVariant]
) -> tuple[Metric, list[Multiple | None]]:
    results = [item.metrics.get(metric.name) for item in variants]
    spreads = [
        None if each is None else Range(each.min, each.p5, each.median, each.p95, each.max)
        for each in results
    ]
    rows = ranges([((), [spread]) for spread in spreads])
    medians = [each.median for each in results if each]
    best = {"less": min, "more": max}[metric.better](medians) if metric.better else None
    cells = [
        None
        if each is None
        else Multiple(number(each.median), _against(each), row, each.median == best)
        for each, row in zip(results, rows, strict=True)
    ]
    ends = [end for spread in spreads if spread for end in (spread.least, spread.most)]
    goal = f"{metric.better} is better" if metric.better else ""
    return Metric(metric.name, goal, number(min(ends)), number(max(ends))), cells


def _against(metric: MetricResult) -> str:
    """How often it is better than the baseline, and in which seeds it is worse."""
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


# -- tune ------------------------------------------------------------------------------------------


def tune_page(answer: TuneResult) -> Page:
    """The page of `tune`: whether the tuned configuration is better where no trial has looked,
    which trials none beats, and the configuration."""
    title, *lede = answer.headline.split("\n")
    trials, held_out = answer.trials, answer.held_out
    tiles = [
        Tile("better", "yes" if held_out.better else "no", "good" if held_out.better else "warn"),
        Tile("trials", f"{trials.complete:,}"),
        Tile("failed", f"{trials.failed:,}", "bad" if trials.failed else ""),
        Tile("held-out runs", f"{held_out.runs:,}"),
    ]
    metrics = [ComparedMetric(each.metric, better(each.goal)) for each in answer.objectives]
    constrained = [each.metric for each in answer.constraints]
    metrics += [ComparedMetric(name, None) for name in dict.fromkeys(constrained)]
    heading = "Baseline and tuned on the held-out runs"
    listed = [
        each for each in metrics if any(each.name in own.metrics for own in held_out.variants)
    ]
    sections: list[Section] = [multiples(heading, listed, held_out.variants, {})]
    if answer.constraints:
        sections.append(_constraints(answer))
    if len(answer.objectives) > 1:
        sections.append(_trial_front(answer))
    sections.append(_trials(answer, constrained))
    where = f" ({answer.file})" if answer.file else ""
    text = block_yaml(answer.configuration)
    sections.append(Prose(f"The tuned configuration{where}", (text,), "code"))
    return Page(title, lede, tiles, sections)


def _constraints(answer: TuneResult) -> Table:
    rows = [
        (
            each.metric,
            "" if each.at_least is None else number(each.at_least),
            "" if each.at_most is None else number(each.at_most),
            number(each.baseline),
            number(each.tuned),
            "yes" if each.holds else "no",
        )
        for each in answer.constraints
    ]
    headers = ("Metric", "At least", "At most", "Baseline", "Tuned", "Tuned keeps it")
    return Table("Constraints", headers, rows, "Means on the held-out runs.")


def _trial_front(answer: TuneResult) -> Scatter:
    first, second = answer.objectives[:2]
    points = [
        (_name(trial, answer), trial.values[0], trial.values[1], True) for trial in answer.front
    ]
    note = "Trials that no other trial beats in every objective."
    names = (first.metric, second.metric)
    return Scatter(f"{first.metric} and {second.metric}", plane(names, points), note)


def _name(trial: TuneTrial, answer: TuneResult) -> str:
    chosen = ", chosen" if trial.trial == answer.best.trial else ""
    return f"trial {trial.trial}{chosen}"


def _trials(answer: TuneResult, constrained: Sequence[str]) -> Table:
    rows = [
        (
            _name(trial, answer),
            *map(number, (*trial.values, *trial.constrained)),
            *(_text(trial.parameters[name]) for name in answer.best.parameters),
        )
        for trial in answer.front
    ]
    goals = (f"{each.metric} ({better(each.goal)} is better)" for each in answer.objectives)
    headers = ("Trial", *goals, *constrained, *answer.best.parameters)
    return Table("Best trials", headers, rows)


def _text(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return number(value) if is_number else str(value)
