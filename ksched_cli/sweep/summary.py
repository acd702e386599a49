"""A summary of a sweep's rows: per variant the spread of each metric, and how it differs from
the baseline where both were run on the same state with the same seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ksched_cli.analysis.compare import Interval
from ksched_cli.analysis.run_figures import Failed
from ksched_cli.sweep.execution import Result
from ksched_cli.sweep.plan import PAIRED, SEEDS, Indexes, Parameters, StudyPlan

MINIMIZE, MAXIMIZE = "minimize", "maximize"
# What a result compares, besides the metrics of plugins and functions, where the file names none:
# less is better of each.
DEFAULT_METRICS = (
    "pending",
    "evicted",
    "nodesUsed",
    "utilization.cpu.stddev",
    "utilization.memory.stddev",
)
DEFAULT_METRICS_OF_REPLAYS = ("wait.mean", "nodeHours", "cost", "wait.p99", "pending")
MAX_FAILURES = 20


@dataclass(frozen=True, slots=True)
class Percentiles:
    """low, high: 5 and 95 per cent"""

    median: float
    low: float
    high: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Percentiles:
        low, median, high = np.quantile(values, (0.05, 0.5, 0.95)).tolist()
        return cls(median, low, high, min(values), max(values))


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """A metric of a variant.

    mean: of all runs, with its 95 % interval
    difference: to the baseline, of paired runs; None without pairs, and for the baseline
    pairs, wins, losses: how many pairs there are, and how many of them are better or worse than the
                baseline; wins and losses are None where no way is better
    worse_seeds: of the losses
    """

    spread: Percentiles
    mean: Interval
    difference: Percentiles | None = None
    pairs: int = 0
    wins: int | None = None
    losses: int | None = None
    worse_seeds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class VariantSummary:
    """runs: that were ok; outcomes: how many different placements they came to; same_as: the first
    variant whose runs came to the same placements and figures, or ""; on_front: no other variant is
    better in both metrics of the front"""

    name: str
    parameters: Parameters
    runs: int
    outcomes: int
    metrics: Mapping[str, MetricSummary]
    same_as: str = ""
    on_front: bool = False


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Runs that ended in the same way. example: parameters of the first"""

    status: str
    error: str
    runs: int
    example: Parameters


@dataclass(frozen=True, slots=True)
class Summary:
    """statuses: how many runs have each; is_defective: a defect ended one of them;
    metrics: by name, the better direction or None; front: the two metrics of the Pareto front, or
    none; variants: the baseline first
    """

    statuses: Mapping[str, int]
    is_defective: bool
    metrics: Mapping[str, str | None]
    variants: tuple[VariantSummary, ...]
    failures: tuple[FailureGroup, ...]
    front: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Sample:
    """What a run is paired by, its seed, where the pods ended up, and its figures."""

    pair: Indexes
    seed: int
    placements: str
    figures: Mapping[str, float]


def summarize(
    results: Iterable[Result],
    order: Sequence[str],
    metrics: Mapping[str, str] | None = None,
    *,
    is_over_time: bool = False,
) -> Summary:
    """order: names of the variants; the first is the baseline
    metrics: to compare, and the better direction of each; the default ones, and those of plugins
    and functions, if there are none
    is_over_time: the runs are replays"""
    samples: dict[str, list[_Sample]] = {name: [] for name in order}
    parameters: dict[str, Parameters] = {}
    failures: dict[tuple[str, str], list[Result]] = {}
    is_defective = False
    statuses: dict[str, str] = {}
    default = DEFAULT_METRICS_OF_REPLAYS if is_over_time else DEFAULT_METRICS
    compared: dict[str, str | None] = dict(metrics or dict.fromkeys(default, MINIMIZE))
    for result in results:
        outcome = result.outcome
        statuses[result.id] = outcome.status
        parameters.setdefault(result.variant, result.parameters)
        if isinstance(outcome, Failed):
            failures.setdefault((outcome.status, outcome.error), []).append(result)
            is_defective |= outcome.is_defect
            continue
        if not metrics:
            compared |= {name: compared.get(name) for name in outcome.metrics}
        figures = outcome.figures()
        figures = {name: figures[name] for name in compared if name in figures}
        seed = result.parameters.get("seed") or 0
        samples[result.variant].append(_Sample(result.pair, seed, outcome.placements, figures))
    used = {
        name: direction
        for name, direction in compared.items()
        if any(name in sample.figures for group in samples.values() for sample in group)
    }
    summaries = _summaries(samples, parameters, used)
    # The front is that of the first two metrics with a better direction whose medians are not the
    # same everywhere.
    differing = [
        key
        for key, direction in used.items()
        if direction is not None
        and len({item.metrics[key].spread.median for item in summaries if key in item.metrics}) > 1
    ]
    front = tuple(differing[:2]) if len(differing) > 1 else ()
    signs = [1 if used[key] == MAXIMIZE else -1 for key in front]
    points = {
        item.name: tuple(
            sign * item.metrics[key].spread.median for sign, key in zip(signs, front, strict=True)
        )
        for item in summaries
        if front and all(key in item.metrics for key in front)
    }
    undominated = pareto_front(points)
    # The failures of the most runs come first.
    causes = [
        FailureGroup(status, error, len(group), group[0].parameters)
        for (status, error), group in failures.items()
    ]
    return Summary(
        Counter(statuses.values()),
        is_defective,
        used,
        tuple(replace(item, on_front=item.name in undominated) for item in summaries),
        tuple(sorted(causes, key=lambda failure: -failure.runs)[:MAX_FAILURES]),
        front,
    )


def _summaries(
    samples: Mapping[str, Sequence[_Sample]],
    parameters: Mapping[str, Parameters],
    metrics: Mapping[str, str | None],
) -> list[VariantSummary]:
    paired = ("state", "timeline", "seed")
    baseline: dict[Indexes, _Sample] = {}
    summaries = []
    first: dict[object, str] = {}  # by what their runs came to, the variants
    for index, (name, group) in enumerate(samples.items()):
        if name not in parameters:
            continue  # no row yet
        if not index:
            baseline = {sample.pair: sample for sample in group}
        came_to = sorted((each.pair, each.placements, *each.figures.items()) for each in group)
        same = first.setdefault(tuple(came_to), name)
        summaries.append(
            VariantSummary(
                name,
                # Those that its runs have in common, and the changes of the first.
                {key: value for key, value in parameters[name].items() if key not in paired},
                len(group),
                len({(sample.pair[:-1], sample.placements) for sample in group}),
                {
                    key: _metric(group, baseline if index else {}, key, direction)
                    for key, direction in metrics.items()
                    if any(key in sample.figures for sample in group)
                },
                same_as="" if same == name or not group else same,
            )
        )
    return summaries


def _metric(
    group: Sequence[_Sample],
    baseline: Mapping[Indexes, _Sample],
    key: str,
    direction: str | None,
) -> MetricSummary:
    values = [sample.figures[key] for sample in group if key in sample.figures]
    spread, mean = Percentiles.of(values), Interval.of(values)
    differences = [
        (sample.seed, sample.figures[key] - baseline[sample.pair].figures[key])
        for sample in group
        if sample.pair in baseline
        and key in sample.figures
        and key in baseline[sample.pair].figures
    ]
    if not differences:
        return MetricSummary(spread, mean)
    difference = Percentiles.of([value for _, value in differences])
    if direction is None:
        return MetricSummary(spread, mean, difference, len(differences))
    sign = 1 if direction == MAXIMIZE else -1
    wins = sum(sign * value > 0 for _, value in differences)
    worse = [seed for seed, value in differences if sign * value < 0]
    seeds = tuple(sorted(set(worse)))
    return MetricSummary(spread, mean, difference, len(differences), wins, len(worse), seeds)


@dataclass(frozen=True, slots=True)
class AxisEffect:
    """What another value of an axis does to a metric, where all else is the same.

    value, first: labels of the value and of the axis's first one
    percent: the mean difference, in per cent of the mean with the first value; its interval is over
             the seeds
    runs:    the pairs of runs
    """

    axis: str
    value: Any
    first: Any
    metric: str
    percent: Interval
    runs: int


def effects_of(
    results: Iterable[Result], plan: StudyPlan, metrics: Iterable[str]
) -> list[AxisEffect]:
    """Return the effect of each value of each axis that is compared, beside its first; none where
    the axes go side by side, or with the first value a metric is 0 with some seed."""
    figures: dict[Indexes, Mapping[str, float]] = {}
    if not plan.is_zipped:
        for result in results:
            if not isinstance(result.outcome, Failed):
                figures[result.indexes] = result.outcome.figures()
    seeds = [at for at, axis in enumerate(plan.axes) if axis.key == SEEDS]
    effects = []
    for at, axis in enumerate(plan.axes):
        first = axis.values[0]
        for number, value in enumerate(axis.values[1:] if axis.key not in PAIRED else (), start=1):
            pairs = {
                indexes: (before, own)
                for indexes, own in figures.items()
                if indexes[at] == number
                and (before := figures.get((*indexes[:at], 0, *indexes[at + 1 :]))) is not None
            }
            for metric in metrics:
                # How much more the second of each pair has, in per cent, seed by seed.
                changes: dict[Indexes, list[tuple[float, float]]] = {}
                for indexes, (before, after) in pairs.items():
                    if metric in before and metric in after:
                        seed = tuple(indexes[place] for place in seeds)
                        change = after[metric] - before[metric], before[metric]
                        changes.setdefault(seed, []).append(change)
                sums = [[sum(part) for part in zip(*own, strict=True)] for own in changes.values()]
                if sums and all(base for _, base in sums):
                    percent = Interval.of([100 * change / base for change, base in sums])
                    runs = sum(map(len, changes.values()))
                    labels = axis.name, value.label, first.label
                    effects.append(AxisEffect(*labels, metric, percent, runs))
    return effects


def pareto_front(points: Mapping[str, tuple[float, ...]]) -> set[str]:
    """Return the names of the points that no other is at least as good as everywhere and better
    somewhere; more is better."""
    front: set[str] = set()
    best: list[tuple[float, ...]] = []
    for name, point in sorted(points.items(), key=lambda item: item[1], reverse=True):
        if not any(
            other != point and all(a >= b for a, b in zip(other, point, strict=True))
            for other in best
        ):
            front.add(name)
            best.append(point)
    return front
