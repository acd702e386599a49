"""Reads a file of kind Tune."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from ksched_cli.kube.file_parts import FilePart, RuledPart, Text
from ksched_cli.kube.file_rules import AnyKey, SingleKey
from ksched_cli.run.run import Patch, Run
from ksched_cli.scenario.own_document import OwnDocument, read_own_document
from ksched_cli.sweep.plan import (
    PATCHES,
    SEEDS,
    STATES,
    TIMELINES,
    Place,
    StudyPlan,
    SweepAxis,
    Value,
)
from ksched_cli.sweep.sweep_file import (
    Files,
    Goal,
    Seeds,
    States,
    StudyDocument,
    hint_of,
    path_of,
    path_values,
    plan_of,
    seed_values,
    state_values,
    unique,
)

TRIALS = 50
_LIMIT = 2**53  # whole numbers up to here are floats, too


@dataclass(frozen=True, slots=True)
class Dimension:
    """What may vary at a path in the configuration: one of `values`, or a number between `low` and
    `high`, a whole one where both are; is_log: small numbers are tried as often as large ones;
    place: in the file"""

    name: str
    path: str
    values: tuple[Any, ...] = ()
    low: float = 0
    high: float = 0
    is_log: bool = False
    place: Place = ()

    @property
    def is_whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def patch(self, value: Any) -> Patch:
        return Patch(self.path, value)

    @property
    def axis(self) -> SweepAxis:
        """Return the values, or the least and the most."""
        values = self.values or (self.low, self.high)
        listed = (Value(each, {PATCHES: (self.patch(each),)}, place=self.place) for each in values)
        return SweepAxis(f"{PATCHES}.{self.name}", tuple(listed))


@dataclass(frozen=True, slots=True)
class Objective:
    """goal: minimize or maximize"""

    metric: str
    goal: str


@dataclass(frozen=True, slots=True)
class MetricConstraint:
    """Bounds of a metric's mean that the result is to keep; None if there is none."""

    metric: str
    at_most: float | None = None
    at_least: float | None = None

    def excess(self, value: float) -> float:
        """By how much a value is beyond a bound; 0 or less where it keeps both."""
        over = [] if self.at_most is None else [value - self.at_most]
        under = [] if self.at_least is None else [self.at_least - value]
        return max(over + under)

    @property
    def text(self) -> str:
        """As `wait.p95 at most 120`."""
        bounds = (("at most", self.at_most), ("at least", self.at_least))
        named = [f"{name} {bound:g}" for name, bound in bounds if bound is not None]
        return f"{self.metric} {' and '.join(named)}"


@dataclass(frozen=True, slots=True)
class TuneFile:
    """plan: the runs by which a trial is judged, without the trial's patches
    held_out: those by which the result is, which no trial makes
    sampler_seed: makes the search repeatable
    """

    document: OwnDocument
    plan: StudyPlan
    held_out: StudyPlan
    dimensions: tuple[Dimension, ...]
    objectives: tuple[Objective, ...]
    constraints: tuple[MetricConstraint, ...]
    trials: int
    sampler_seed: int

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return those of the objectives, then those of the constraints."""
        objectives = (each.metric for each in self.objectives)
        return (*objectives, *(each.metric for each in self.constraints))

    @property
    def bounds(self) -> StudyPlan:
        """Run with the values of the dimensions, or the least and the most of each."""
        return replace(self.plan, axes=(*self.plan.axes, *(item.axis for item in self.dimensions)))


# -- the file -------------------------------------------------------------------------------------


_Bound: TypeAlias = int | float  # an integer stays one, as results show it


class DimensionEntry(RuledPart, frozen=True, kw_only=True):
    """A dimension of the space.

    path: As in a sweep's patches: profiles[0].plugins.multiPoint.enabled[NodeResourcesFit].weight.
    between: Whole numbers where both are.
    log: Small numbers as often as large ones.
    """

    EXPECTED: ClassVar = "`path` with `values`, or with `between: [least, most]`"
    RULES: ClassVar = (SingleKey(("values", "between")),)

    path: Text
    name: Text | UnsetType = UNSET
    values: Annotated[tuple[Any, ...], Meta(min_length=1)] | UnsetType = UNSET
    between: Annotated[tuple[_Bound, ...], Meta(min_length=2, max_length=2)] | UnsetType = UNSET
    log: bool = False


class ObjectiveEntry(FilePart, frozen=True, kw_only=True):
    """What the search is for.

    metric: pending, evicted, nodesUsed, utilization.cpu.stddev, …, of replays wait.mean, nodeHours,
            …, or a metric of a plugin or of --metric; of a trial's runs the mean counts.
    """

    metric: Text
    goal: Goal


class ConstraintEntry(RuledPart, frozen=True, kw_only=True):
    """Bounds of a metric.

    metric: The name, as in an objective.
    """

    RULES: ClassVar = (AnyKey(("atMost", "atLeast")),)

    metric: Text
    at_most: _Bound | UnsetType = UNSET
    at_least: _Bound | UnsetType = UNSET


class HeldOutEntry(FilePart, frozen=True, kw_only=True):
    """The runs that judge the result."""

    states: States | UnsetType = UNSET
    timelines: Files | UnsetType = UNSET
    seeds: Seeds | UnsetType = UNSET


class TuneDocument(StudyDocument, frozen=True, kw_only=True):
    """What to vary, and what for.

    configuration: What is tuned, and the baseline; without it the default configuration.
    kubernetes_version: Whose rules, as "1.34".
    space: What varies: paths in the configuration.
    constraints: Bounds that the mean of a metric keeps in a trial's runs; of the trials that keep
            all of them the best is chosen.
    held_out: States, timelines and seeds that no trial sees, to compare the result with the
            baseline; without states or timelines those of the trials, without seeds as many others.
    trials: default 50
    sampler_seed: Makes another search, which is as repeatable.
    """

    kind: Literal["Tune"]
    configuration: Text | UnsetType = UNSET
    kubernetes_version: Text | UnsetType = UNSET
    space: Annotated[tuple[DimensionEntry, ...], Meta(min_length=1)]
    objectives: Annotated[tuple[ObjectiveEntry, ...], Meta(min_length=1)]
    constraints: Annotated[tuple[ConstraintEntry, ...], Meta(min_length=1)] | UnsetType = UNSET
    held_out: HeldOutEntry = HeldOutEntry()
    trials: Annotated[int, Meta(ge=1, le=1_000_000)] = TRIALS
    sampler_seed: Annotated[int, Meta(ge=0, le=2**32 - 1)] = 0


def read_tune(path: str, base: Run) -> TuneFile:
    """base: what holds of all runs where the file says nothing else. Raises InputError with line
    and column."""
    document, data = read_own_document(path, TuneDocument, hint_of("Tune"))
    plan = plan_of(document, data, base)
    held_out = _held_out(document, data, plan)
    dimensions: list[Dimension] = []
    for index, entry in enumerate(data.space):
        place = ("space", index)
        path_of_value = path_of(document, entry.path, *place, "path")
        name = entry.name or entry.path
        if any(other.name == name for other in dimensions):
            raise document.error(f'"{name}" appears twice', *place)
        if entry.between is UNSET:
            values = entry.values or ()
            dimensions.append(Dimension(name, path_of_value, values, place=place))
            continue
        low, high = entry.between
        if not all(abs(bound) <= _LIMIT for bound in (low, high)):
            raise document.error("expected numbers up to 2^53", *place, "between")
        if low > high or (low <= 0 and entry.log):
            expected = "[least, most], above 0 with log"
            raise document.error(f"expected {expected}", *place, "between")
        dimensions.append(
            Dimension(name, path_of_value, low=low, high=high, is_log=entry.log, place=place)
        )
    return TuneFile(
        document,
        plan,
        held_out,
        tuple(dimensions),
        tuple(Objective(item.metric, item.goal) for item in data.objectives),
        tuple(
            MetricConstraint(
                item.metric,
                None if item.at_most is UNSET else item.at_most,
                None if item.at_least is UNSET else item.at_least,
            )
            for item in data.constraints or ()
        ),
        data.trials,
        data.sampler_seed,
    )


def _held_out(document: OwnDocument, data: TuneDocument, plan: StudyPlan) -> StudyPlan:
    """The same runs with other states, timelines or seeds: as many seeds that no trial has, where
    the file names none. Raises InputError where nothing would be held out."""
    entries = data.held_out
    values: dict[str, Sequence[Value]] = {}
    if entries.states is not UNSET:
        states = state_values(document, entries.states, "heldOut", STATES)
        values[STATES] = unique(document, states)
    if entries.timelines is not UNSET:
        if data.timelines is UNSET:
            raise document.error("requires `timelines`", "heldOut", TIMELINES)
        timelines = path_values(document, entries.timelines, "timeline", "heldOut", TIMELINES)
        values[TIMELINES] = unique(document, timelines)
    seeds = [value.label for value in plan.axes[-1].values if value.label is not None]
    count = entries.seeds or 0
    if not isinstance(count, int):
        values[SEEDS] = tuple(seed_values(count))
    elif seeds or count:
        first = max(seeds, default=-1) + 1
        values[SEEDS] = tuple(seed_values(range(first, first + (count or len(seeds)))))
    if not values:
        raise document.error(
            "nothing is held out to judge the result by: expected `heldOut: {states: […]}`, or"
            " `seeds`, of which others are taken then"
        )
    axes = [replace(axis, values=tuple(values.get(axis.key, axis.values))) for axis in plan.axes]
    return replace(plan, axes=tuple(axes))
