"""The answers of `sweep` and of `tune`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, cast

from msgspec import Meta

from ksched_cli.analysis.run_figures import Failed, Outcome
from ksched_cli.answers import HIDDEN, Answer, Count, Part
from ksched_cli.errors import ExitCode
from ksched_cli.sweep.execution import Execution
from ksched_cli.sweep.summary import (
    MAXIMIZE,
    AxisEffect,
    MetricSummary,
    Percentiles,
    Summary,
    VariantSummary,
)
from ksched_cli.sweep.tuning import BASELINE, TUNED, TrialResult, Tuning

DIGITS = 6
STATUSES = ("ok", "error", "timeout", "lost")
Better = Literal["more", "less"]
Goal = Literal["minimize", "maximize"]
FailedStatus = Literal["error", "timeout", "lost"]
Share = Annotated[float, Meta(ge=0, le=1)]
Seconds = Annotated[float, Meta(ge=0)]


class SpreadResult(Part, frozen=True):
    """A distribution; p5, p95: 5 and 95 per cent."""

    median: float
    p5: float
    p95: float
    min: float
    max: float

    @classmethod
    def of(cls, spread: Percentiles) -> SpreadResult:
        figures = (spread.median, spread.low, spread.high, spread.least, spread.most)
        return cls(*(round(figure, DIGITS) for figure in figures))


class MetricResult(Part, frozen=True):
    """A metric of a variant.

    mean, low, high: of all runs, with the 95 % interval of the mean
    difference: to the baseline, of runs on the same state and timeline with the same seed; null for
                the baseline
    wins: pairs in which it is better than the baseline; null where no way is better
    win_rate: wins of pairs
    worse_seeds: of the losses
    """

    median: float
    p5: float
    p95: float
    min: float
    max: float
    mean: float
    low: float
    high: float
    difference: SpreadResult | None
    pairs: Count
    wins: Count | None
    losses: Count | None
    win_rate: Share | None
    worse_seeds: Annotated[tuple[int, ...], HIDDEN] = ()

    @classmethod
    def of(cls, metric: MetricSummary) -> MetricResult:
        spread, wins = SpreadResult.of(metric.spread), metric.wins
        return cls(
            spread.median,
            spread.p5,
            spread.p95,
            spread.min,
            spread.max,
            round(metric.mean.mean, DIGITS),
            round(metric.mean.low, DIGITS),
            round(metric.mean.high, DIGITS),
            SpreadResult.of(metric.difference) if metric.difference else None,
            metric.pairs,
            wins,
            metric.losses,
            None if wins is None else round(wins / metric.pairs, DIGITS),
            metric.worse_seeds,
        )


class RunCounts(Part, frozen=True):
    """The number of runs, by how they ended."""

    planned: Count
    ok: Count
    error: Count
    timeout: Count
    lost: Count
    resumed: Count


class ComparedMetric(Part, frozen=True):
    """A metric, and which way is better."""

    name: str
    better: Better | None


class ParetoFront(Part, frozen=True):
    """The variants that no other is better than in both metrics, by their medians; empty where
    fewer than two metrics differ."""

    metrics: tuple[str, ...]
    variants: tuple[str, ...]


class VariantResult(Part, frozen=True):
    """A variant.

    parameters: of its runs: the state, configuration, changes and so on; null where the axis has
                none
    runs: those that are ok
    outcomes: how many different placements they came to
    same_as: the first variant whose runs came to the same placements and figures; null for itself
    """

    name: str
    parameters: Mapping[str, Any]
    runs: Count
    outcomes: Count
    metrics: Mapping[str, MetricResult]
    same_as: str | None

    @classmethod
    def of(cls, variant: VariantSummary) -> VariantResult:
        metrics = {name: MetricResult.of(each) for name, each in variant.metrics.items()}
        return cls(
            variant.name,
            dict(variant.parameters),
            variant.runs,
            variant.outcomes,
            metrics,
            variant.same_as or None,
        )


class EffectResult(Part, frozen=True):
    """What another value of an axis does to a metric, where all else is the same.

    axis: a key of the file, or the path or name of a patch
    value, first: of the axis; first is what the value is compared with
    percent: the mean difference, in per cent of the mean with the first value
    low, high: its 95 % interval over the seeds
    runs: how many pairs of runs
    """

    axis: str
    value: Any
    first: Any
    metric: str
    percent: float
    low: float
    high: float
    runs: Count

    @classmethod
    def of(cls, effect: AxisEffect) -> EffectResult:
        percent = effect.percent
        return cls(
            effect.axis,
            effect.value,
            effect.first,
            effect.metric,
            round(percent.mean, DIGITS),
            round(percent.low, DIGITS),
            round(percent.high, DIGITS),
            effect.runs,
        )


class FailureResult(Part, frozen=True):
    """Runs that ended in the same way. example: parameters of the first"""

    status: FailedStatus
    error: str
    runs: Count
    example: Mapping[str, Any]


class SweepResult(Answer, frozen=True, kw_only=True):
    """How variants differ.

    rows: the file of --rows
    workers: 1 where the runs were made one after the other
    baseline: the variant that the others are compared with
    effects: of each value of an axis beside its first one; none where axes go side by side
    failures: the most frequent ways in which runs ended otherwise
    is_defective: whether a defect, such as a plugin's, ended a run
    rows_of_runs: the row of each run, for CSV and Python
    """

    COMMAND: ClassVar = "sweep"
    VIEW: ClassVar = "sweep:view"
    ROWS: ClassVar = "rows_of_runs"

    kind: Literal["SweepResult"] = "SweepResult"
    runs: RunCounts
    rows: str | None
    seconds: Seconds
    workers: Count
    baseline: str | None
    metrics: tuple[ComparedMetric, ...]
    pareto_front: ParetoFront
    variants: tuple[VariantResult, ...]
    effects: tuple[EffectResult, ...]
    failures: tuple[FailureResult, ...]
    is_defective: Annotated[bool, HIDDEN] = False
    rows_of_runs: Annotated[tuple[Mapping[str, Any], ...], HIDDEN] = ()

    @property
    def exit_code(self) -> ExitCode:
        runs = self.runs
        return ExitCode.of(not (runs.error or runs.timeout or runs.lost), self.is_defective)

    @classmethod
    def of(
        cls,
        summary: Summary,
        planned: int,
        *,
        resumed: int = 0,
        seconds: float,
        workers: int,
        file: str = "",
        rows: Iterable[Mapping[str, Any]] = (),
        effects: Iterable[AxisEffect] = (),
    ) -> SweepResult:
        """Return the answer of a sweep that has ended.

        planned: the number of runs; resumed: how many of them had rows before
        file: that keeps the rows, or ""; rows: for CSV and Python
        """
        counts = {status: summary.statuses.get(status, 0) for status in STATUSES}
        on_front = tuple(item.name for item in summary.variants if item.on_front)
        return cls(
            runs=RunCounts(planned=planned, resumed=resumed, **counts),
            rows=file or None,
            seconds=round(seconds, 3),
            workers=workers,
            baseline=summary.variants[0].name if summary.variants else None,
            metrics=tuple(
                ComparedMetric(name, better(direction) if direction else None)
                for name, direction in summary.metrics.items()
            ),
            pareto_front=ParetoFront(summary.front, on_front),
            variants=tuple(map(VariantResult.of, summary.variants)),
            effects=tuple(map(EffectResult.of, effects)),
            failures=tuple(
                FailureResult(
                    cast(FailedStatus, item.status), item.error, item.runs, dict(item.example)
                )
                for item in summary.failures
            ),
            is_defective=summary.is_defective,
            rows_of_runs=tuple(rows),
        )


def better(direction: str) -> Better:
    return "more" if direction == MAXIMIZE else "less"


class SweepPlan(Answer, frozen=True, kw_only=True):
    """What a sweep would run, and how long that would take.

    resumed: how many have rows
    axes: name of each axis, patches by their path or name → its values
    sample_seconds: of a run whose state has been read; null where all runs have rows, or the others
                    have plugins that --plugin does not name
    sample_error: why the sample did not come to its end
    estimated_seconds: of all runs that have no rows; null if there is no sample of them
    """

    COMMAND: ClassVar = "sweep --dry-run"
    VIEW: ClassVar = "sweep:plan_view"

    kind: Literal["SweepPlan"] = "SweepPlan"
    runs: Count
    resumed: Count
    axes: Mapping[str, Sequence[Any]]
    variants: tuple[str, ...]
    sample_seconds: Seconds | None
    sample_error: str | None
    workers: Count
    estimated_seconds: Seconds | None
    sample_status: Annotated[str, HIDDEN]

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(self.sample_error is None)

    @classmethod
    def of(cls, execution: Execution, sample: Outcome | None, workers: int) -> SweepPlan:
        """sample: the outcome of a run; None where all have rows, or each of the others has plugins
        that are not imported"""
        plan = execution.plan
        missing = execution.planned - execution.resumed
        estimate = None if missing else 0.0
        if sample is not None:
            estimate = round(sample.seconds * missing / workers, 3)
        return cls(
            runs=execution.planned,
            resumed=execution.resumed,
            axes={axis.name: tuple(value.label for value in axis.values) for axis in plan.axes},
            variants=tuple(plan.variants),
            sample_seconds=None if sample is None else sample.seconds,
            sample_error=sample.error if isinstance(sample, Failed) else None,
            workers=workers,
            estimated_seconds=estimate,
            sample_status="" if sample is None else sample.status,
        )


class TrialCounts(Part, frozen=True):
    """The number of trials, by how they ended."""

    planned: Count
    complete: Count
    failed: Count
    resumed: Count


class TuneObjective(Part, frozen=True):
    """A metric, and where it is to go."""

    metric: str
    goal: Goal


class TuneConstraint(Part, frozen=True):
    """Bounds of a metric's mean; null if there is none.

    baseline, tuned: the mean where they were held out
    holds: whether the tuned configuration keeps the bounds there
    baseline_holds: whether the baseline does
    text: the bounds in words
    """

    metric: str
    at_most: float | None
    at_least: float | None
    baseline: float
    tuned: float
    holds: bool
    baseline_holds: Annotated[bool, HIDDEN]
    text: Annotated[str, HIDDEN]


class TuneTrial(Part, frozen=True):
    """A trial.

    parameters: name of the dimension → value
    values: of the objectives, in their order
    constrained: of the constraints' metrics, in their order
    """

    trial: Count
    parameters: Mapping[str, Any]
    values: tuple[float, ...]
    constrained: tuple[float, ...]

    @classmethod
    def of(cls, trial: TrialResult) -> TuneTrial:
        values = tuple(round(value, DIGITS) for value in trial.values)
        constrained = tuple(round(value, DIGITS) for value in trial.constrained)
        return cls(trial.number, dict(trial.parameters), values, constrained)


class HeldOutVariant(Part, frozen=True):
    """Baseline or best."""

    name: str
    runs: Count
    metrics: Mapping[str, MetricResult]


class HeldOut(Part, frozen=True):
    """Baseline and best on states and seeds that no trial saw.

    runs: of each of the two
    better: it keeps the constraints, which the baseline does not, or is better by the median
            difference of the first objective
    """

    runs: Count
    better: bool
    variants: tuple[HeldOutVariant, ...]


class TuneResult(Answer, frozen=True, kw_only=True):
    """The result of a search.

    front: the trials that no other is better than in every objective
    held_out: baseline and best on states and seeds that no trial saw
    file: of --best
    configuration: the tuned KubeSchedulerConfiguration
    """

    COMMAND: ClassVar = "tune"
    VIEW: ClassVar = "tune:view"
    ROWS: ClassVar = "front"

    kind: Literal["TuneResult"] = "TuneResult"
    trials: TrialCounts
    objectives: tuple[TuneObjective, ...]
    constraints: tuple[TuneConstraint, ...]
    best: TuneTrial
    front: tuple[TuneTrial, ...]
    held_out: HeldOut
    file: str | None
    configuration: Mapping[str, Any]

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(self.held_out.better)

    @classmethod
    def of(cls, tuning: Tuning, file: str) -> TuneResult:
        """Return the answer of a search. file: to which the configuration was written, or "" """
        tune = tuning.problem.file
        return cls(
            trials=TrialCounts(tune.trials, tuning.complete, tuning.failed, tuning.resumed),
            objectives=tuple(
                TuneObjective(item.metric, cast(Goal, item.goal)) for item in tune.objectives
            ),
            constraints=tuple(
                TuneConstraint(
                    item.metric,
                    item.at_most,
                    item.at_least,
                    round(before, DIGITS),
                    round(after, DIGITS),
                    item.excess(after) <= 0,
                    item.excess(before) <= 0,
                    item.text,
                )
                for item, before, after in zip(
                    tune.constraints,
                    tuning.constrained[BASELINE],
                    tuning.constrained[TUNED],
                    strict=True,
                )
            ),
            best=TuneTrial.of(tuning.best),
            front=tuple(map(TuneTrial.of, tuning.front)),
            held_out=HeldOut(
                len(tune.held_out),
                tuning.is_better,
                tuple(
                    HeldOutVariant(
                        variant.name,
                        variant.runs,
                        {key: MetricResult.of(each) for key, each in variant.metrics.items()},
                    )
                    for variant in tuning.held_out.variants
                ),
            ),
            file=file or None,
            configuration=tuning.configuration,
        )
