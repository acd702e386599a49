"""Figures of several draws: their means, how sure these are, and whether sides differ by more than
the noise of the draws.

The intervals are Student's t at 95 %. Sides are compared draw by draw: both sides of a pair have
the same seed, so that what the draws have in common drops out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean, stdev

from ksched_cli.run.differences import NamedRun

# Figures of the machine, not of what was decided.
NOT_COMPARED = ("seconds",)
# Student's t for 95 % in two tails, by degrees of freedom from 1 on.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


@dataclass(frozen=True, slots=True)
class Interval:
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


@dataclass(frozen=True, slots=True)
class DrawnSide:
    """figures: by name, over the draws; differences: to the first side, paired by seed, of the
    figures that both have"""

    named: NamedRun
    figures: Mapping[str, Interval]
    differences: Mapping[str, Interval]


@dataclass(frozen=True, slots=True)
class DrawnComparison:
    """seeds: of the draws on the first side"""

    seeds: tuple[int, ...]
    sides: tuple[DrawnSide, ...]

    @property
    def differs(self) -> bool:
        """Whether any figure differs by more than the noise."""
        return any(
            not difference.has_zero
            for side in self.sides
            for name, difference in side.differences.items()
            if name not in NOT_COMPARED
        )


def compare_draws(
    runs: Sequence[NamedRun],
    figures: Sequence[Sequence[Mapping[str, float]]],
    seeds: Sequence[int],
) -> DrawnComparison:
    """figures: of each side, one per seed, in the order of the seeds."""
    sides = []
    for named, own in zip(runs, figures, strict=True):
        common = _common(own)
        paired = [name for name in _common(figures[0]) if name in common]
        sides.append(
            DrawnSide(
                named,
                {name: Interval.of([each[name] for each in own]) for name in common},
                {
                    name: Interval.of(
                        [
                            other[name] - first[name]
                            for first, other in zip(figures[0], own, strict=True)
                        ]
                    )
                    for name in paired
                    if own is not figures[0]
                },
            )
        )
    return DrawnComparison(tuple(seeds), tuple(sides))


def _common(draws: Sequence[Mapping[str, float]]) -> list[str]:
    """The figures that every draw has."""
    return [name for name in draws[0] if all(name in draw for draw in draws)] if draws else []


def _quantile(freedom: int) -> float:
    """Student's t for 95 %: exact up to 30 degrees of freedom, then by its expansion about the
    normal distribution."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    z = NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
