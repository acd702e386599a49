"""What the rows of a sweep come to: per variant the spread of each metric, and how it differs from
the baseline where both were run on the same state with the same seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ksched_cli.sweep.outcome import LOST, OK
from ksched_cli.sweep.plan import Parameters, Variants
from ksched_cli.sweep.rows import Row

MINIMIZE, MAXIMIZE = "minimize", "maximize"
DIRECTIONS = {
    "placed": MAXIMIZE,
    "pending": MINIMIZE,
    "evicted": MINIMIZE,
    "nodesUsed": MINIMIZE,
    "utilization.cpu.stddev": MINIMIZE,
    "utilization.memory.stddev": MINIMIZE,
}
# What a result compares, besides the metrics of plugins and functions, unless the file names it.
DEFAULT_METRICS = tuple(DIRECTIONS)[1:]
_COUNTS = ("placed", "pending", "gated", "evicted", "nodesUsed", "seconds")
MAX_FAILURES = 20


@dataclass(frozen=True, slots=True)
class Spread:
    """low, high: 5 and 95 per cent"""

    median: float
    low: float
    high: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        low, median, high = np.quantile(values, (0.05, 0.5, 0.95)).tolist()
        return cls(median, low, high, min(values), max(values))


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """A metric of a variant.

    difference: to the baseline, of paired runs; None without pairs, and for the baseline
    pairs, wins, losses: how many pairs there are, and how many of them are better or worse than the
                baseline; wins and losses are None where no way is better
    """

    spread: Spread
    difference: Spread | None = None
    pairs: int = 0
    wins: int | None = None
    losses: int | None = None


@dataclass(frozen=True, slots=True)
class VariantSummary:
    """runs: that were ok; outcomes: how many different placements they came to; on_front: no
    other variant is better in both metrics of the front"""

    name: str
    parameters: Parameters
    runs: int
    outcomes: int
    metrics: Mapping[str, MetricSummary]
    on_front: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
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
    failures: tuple[Failure, ...]
    front: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Sample:
    """Of a run: what it is paired by, where the pods ended up, and its figures."""

    pair: tuple[Any, ...]
    placements: str
    figures: Mapping[str, float]


def figures_of(row: Row) -> dict[str, float]:
    """The numbers of a row that is ok, `utilization.cpu.mean` among them."""
    figures = {key: row[key] for key in _COUNTS}
    for resource, share in row["utilization"].items():
        figures |= {f"utilization.{resource}.{key}": value for key, value in share.items()}
    return figures | row["metrics"]


class _Reading:
    """What rows say, of each run the last one.

    samples:    by variant and id
    parameters: by variant
    statuses, failures: by id
    """

    def __init__(
        self,
        variants: Variants,
        samples: dict[str, dict[str, _Sample]],
        metrics: Mapping[str, str] | None,
    ) -> None:
        self.samples = samples
        self.parameters: dict[str, Parameters] = {}
        self.statuses: dict[str, str] = {}
        self.failures: dict[str, Row] = {}
        self._variants = variants
        self._takes_all = not metrics
        self._metrics: dict[str, str | None] = dict(
            metrics or {key: DIRECTIONS[key] for key in DEFAULT_METRICS}
        )

    def add(self, row: Row) -> None:
        identity = row["id"]
        self.statuses[identity] = row["status"]
        self.failures.pop(identity, None)
        name = self._variants.name_of(row)
        self.parameters.setdefault(name, _parameters(row))
        if row["status"] != OK:
            self.failures[identity] = row
            return
        if self._takes_all:
            self._metrics |= {key: self._metrics.get(key) for key in row["metrics"]}
        figures = figures_of(row)
        self.samples[name][identity] = _Sample(
            self._variants.pair_of(row),
            row["placements"],
            {key: figures[key] for key in self._metrics if key in figures},
        )

    def used_metrics(self) -> dict[str, str | None]:
        """Those that a row has."""
        samples = [sample for group in self.samples.values() for sample in group.values()]
        return {
            key: direction
            for key, direction in self._metrics.items()
            if any(key in sample.figures for sample in samples)
        }


def summarize(
    rows: Iterable[Row],
    variants: Variants,
    order: Sequence[str],
    metrics: Mapping[str, str] | None = None,
) -> Summary:
    """rows:  of one run the last one counts
    order:   names of the variants; the first is the baseline
    metrics: to compare, and the better direction of each; those of DEFAULT_METRICS and of the rows'
    own where there are none"""
    reading = _Reading(variants, {name: {} for name in order}, metrics)
    for row in rows:
        reading.add(row)
    used = reading.used_metrics()
    summaries = _summaries(reading.samples, reading.parameters, used)
    front = _front_metrics(summaries, used)
    failures = reading.failures.values()
    return Summary(
        Counter(reading.statuses.values()),
        any(row.get("defect") for row in failures),
        used,
        _with_front(summaries, front, used),
        _failures(failures),
        front,
    )


def _parameters(row: Row) -> Parameters:
    keys = ("configuration", "changes", "plugins", "patches", "kubernetesVersion")
    return {key: row[key] for key in keys}


def _summaries(
    samples: Mapping[str, Mapping[str, _Sample]],
    parameters: Mapping[str, Parameters],
    metrics: Mapping[str, str | None],
) -> list[VariantSummary]:
    baseline: dict[tuple[Any, ...], _Sample] = {}
    summaries = []
    for index, (name, by_id) in enumerate(samples.items()):
        group = list(by_id.values())
        if name not in parameters:
            continue  # no row yet
        if not index:
            baseline = {sample.pair: sample for sample in group}
        summaries.append(
            VariantSummary(
                name,
                parameters[name],
                len(group),
                len({(sample.pair[:-1], sample.placements) for sample in group}),
                {
                    key: _metric(group, baseline if index else {}, key, direction)
                    for key, direction in metrics.items()
                    if any(key in sample.figures for sample in group)
                },
            )
        )
    return summaries


def _metric(
    group: Sequence[_Sample],
    baseline: Mapping[tuple[Any, ...], _Sample],
    key: str,
    direction: str | None,
) -> MetricSummary:
    spread = Spread.of([sample.figures[key] for sample in group if key in sample.figures])
    differences = [
        sample.figures[key] - baseline[sample.pair].figures[key]
        for sample in group
        if sample.pair in baseline
        and key in sample.figures
        and key in baseline[sample.pair].figures
    ]
    if not differences:
        return MetricSummary(spread)
    difference = Spread.of(differences)
    if direction is None:
        return MetricSummary(spread, difference, len(differences))
    sign = 1 if direction == MAXIMIZE else -1
    wins = sum(sign * value > 0 for value in differences)
    losses = sum(sign * value < 0 for value in differences)
    return MetricSummary(spread, difference, len(differences), wins, losses)


def _front_metrics(
    summaries: Sequence[VariantSummary], metrics: Mapping[str, str | None]
) -> tuple[str, ...]:
    """The first two metrics with a better direction whose medians are not the same everywhere."""
    differing = [
        key
        for key, direction in metrics.items()
        if direction is not None
        and len({item.metrics[key].spread.median for item in summaries if key in item.metrics}) > 1
    ]
    return tuple(differing[:2]) if len(differing) > 1 else ()


def _with_front(
    summaries: Sequence[VariantSummary],
    front: Sequence[str],
    metrics: Mapping[str, str | None],
) -> tuple[VariantSummary, ...]:
    signs = [1 if metrics[key] == MAXIMIZE else -1 for key in front]
    points = {
        item.name: tuple(
            sign * item.metrics[key].spread.median for sign, key in zip(signs, front, strict=True)
        )
        for item in summaries
        if front and all(key in item.metrics for key in front)
    }
    undominated = pareto_front(points)
    return tuple(
        VariantSummary(
            item.name,
            item.parameters,
            item.runs,
            item.outcomes,
            item.metrics,
            item.name in undominated,
        )
        for item in summaries
    )


def pareto_front(points: Mapping[str, tuple[float, ...]]) -> set[str]:
    """The names of the points that no other is at least as good as everywhere and better somewhere;
    more is better."""
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


def _failures(rows: Iterable[Row]) -> tuple[Failure, ...]:
    """The most frequent first."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        error = row.get("error", "lost with its worker" if row["status"] == LOST else "")
        groups.setdefault((row["status"], error), []).append(row)
    failures = [
        Failure(status, error, len(group), {**_parameters(group[0]), "state": group[0]["state"],
                                            "seed": group[0]["seed"]})
        for (status, error), group in groups.items()
    ]  # fmt: skip
    return tuple(sorted(failures, key=lambda failure: -failure.runs)[:MAX_FAILURES])
