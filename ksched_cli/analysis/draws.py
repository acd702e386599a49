"""Figures of several draws: their means, how sure these are, and whether sides differ by more than
the noise of the draws.

The intervals are Student's t at 95 %. Sides are compared draw by draw: both sides of a pair have
the same seed, so that what the draws have in common drops out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import NormalDist, fmean, stdev
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, structs

from ksched_cli.analysis.replay_curves import ReplayCurves
from ksched_cli.answers import HIDDEN, Part, StateAnswer
from ksched_cli.run.differences import NamedRun
from ksched_cli.run.run import Run

# Figures of the machine, not of what was decided.
NOT_COMPARED = ("seconds",)
DIGITS = 6
# Student's t for 95 % in two tails, by degrees of freedom from 1 on.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


class Interval(Part, frozen=True):
    """A mean, and the interval that has the true one in 95 of 100 cases."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """values: at least one; a single one says nothing of the others, and is taken as it is"""
        mean = fmean(values)
        if len(values) < 2:
            return cls(mean, mean, mean)
        half = _quantile(len(values) - 1) * stdev(values) / sqrt(len(values))
        return cls(mean, mean - half, mean + half)

    @property
    def has_zero(self) -> bool:
        return self.low <= 0 <= self.high


class DifferenceInterval(Interval, frozen=True):
    """A difference to the first side, paired by seed.

    within_noise: the interval has 0 in it
    """

    within_noise: bool


class DrawnSide(Part, frozen=True):
    """A side over several draws.

    name: what differs between this side's run and the others'
    run: what the side was made of: every option that decides, as a Run
    differs_in: the axes in which this side's run differs from the first side's, files compared by
                content
    summary: figures as those of a single draw, each as {mean, low, high}
    differences: by figure, how much more than on the first side, paired by seed; none on the first
                 side
    figures: by name, as `utilization.cpu.mean`
    """

    name: str
    run: Run
    differs_in: tuple[str, ...]
    summary: Mapping[str, Any]
    differences: Mapping[str, DifferenceInterval]
    figures: Annotated[Mapping[str, Interval], HIDDEN]


class DrawnComparison(StateAnswer, frozen=True, kw_only=True):
    """Several draws per side: every figure is a mean with its 95 % interval (Student's t).

    seeds: of the draws on the first side; other sides have the same unless a side has a seed of its
           own
    pods: empty: pods are compared draw by draw without --seeds
    curves: of the page, one per side; none without a timeline
    """

    COMMAND: ClassVar = "compare"
    ROWS: ClassVar = "sides"

    kind: Literal["Comparison"] = "Comparison"
    seeds: tuple[int, ...]
    sides: tuple[DrawnSide, ...]
    pods: Annotated[tuple[str, ...], Meta(max_length=0)] = ()
    curves: Annotated[tuple[ReplayCurves, ...], HIDDEN] = ()

    @property
    def differs(self) -> bool:
        """Whether any figure differs by more than the noise."""
        return any(
            not difference.within_noise
            for side in self.sides
            for difference in side.differences.values()
        )


class ReplayDraws(StateAnswer, frozen=True, kw_only=True):
    """Several draws of one replay: every figure is a mean with its 95 % interval (Student's t).

    timeline: the file
    summary: figures as `sweep` has those of a replay, each as {mean, low, high}
    figures: by name, as `wait.mean`
    curves: of the page
    """

    COMMAND: ClassVar = "replay"

    kind: Literal["ReplayDraws"] = "ReplayDraws"
    timeline: str
    seeds: tuple[int, ...]
    summary: Mapping[str, Any]
    figures: Annotated[Mapping[str, Interval], HIDDEN]
    curves: Annotated[ReplayCurves | None, HIDDEN] = None


def replay_draws(
    timeline: str,
    figures: Sequence[Mapping[str, float]],
    seeds: Sequence[int],
    curves: ReplayCurves | None = None,
) -> ReplayDraws:
    """figures: one per seed, in the order of the seeds; curves: of all draws"""
    intervals = _intervals(figures)
    return ReplayDraws(
        timeline=timeline,
        seeds=tuple(seeds),
        summary=_nested(intervals),
        figures=intervals,
        curves=curves,
    )


def compare_draws(
    runs: Sequence[NamedRun],
    figures: Sequence[Sequence[Mapping[str, float]]],
    seeds: Sequence[int],
    curves: Sequence[ReplayCurves] = (),
) -> DrawnComparison:
    """figures: of each side, one per seed, in the order of the seeds; curves: of each side."""
    sides = []
    for named, own in zip(runs, figures, strict=True):
        common = _common(own)
        paired = [name for name in _common(figures[0]) if name in common and own is not figures[0]]
        intervals = _intervals(own)
        sides.append(
            DrawnSide(
                named.name,
                named.run,
                named.differs_in,
                _nested(intervals),
                {name: _difference(name, figures[0], own) for name in paired},
                intervals,
            )
        )
    return DrawnComparison(seeds=tuple(seeds), sides=tuple(sides), curves=tuple(curves))


def _difference(
    name: str, first: Sequence[Mapping[str, float]], other: Sequence[Mapping[str, float]]
) -> DifferenceInterval:
    pairs = zip(first, other, strict=True)
    interval = Interval.of([own[name] - before[name] for before, own in pairs])
    return DifferenceInterval(
        round(interval.mean, DIGITS),
        round(interval.low, DIGITS),
        round(interval.high, DIGITS),
        interval.has_zero,
    )


def _rounded(interval: Interval) -> Interval:
    return Interval(*(round(bound, DIGITS) for bound in structs.astuple(interval)))


def _nested(figures: Mapping[str, Interval]) -> dict[str, Any]:
    """Return figures rounded and nested, `utilization.cpu.mean` as in a document."""
    nested: dict[str, Any] = {}
    for name, interval in figures.items():
        *path, key = name.split(".")
        inner = nested
        for step in path:
            inner = inner.setdefault(step, {})
        inner[key] = _rounded(interval)
    return nested


def _intervals(draws: Sequence[Mapping[str, float]]) -> dict[str, Interval]:
    return {name: Interval.of([draw[name] for draw in draws]) for name in _common(draws)}


def _common(draws: Sequence[Mapping[str, float]]) -> list[str]:
    """The figures to compare that every draw has."""
    names = [name for name in draws[0] if name not in NOT_COMPARED] if draws else []
    return [name for name in names if all(name in draw for draw in draws)]


def _quantile(freedom: int) -> float:
    """Student's t for 95 %: exact up to 30 degrees of freedom, then by its expansion about the
    normal distribution."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    z = NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
