"""Reads a file of kind Tune."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ksched_cli.run.run import Patch, Run
from ksched_cli.scenario.own_document import OwnDocument
from ksched_cli.sweep.plan import (
    PATCHES,
    SEEDS,
    STATES,
    TIMELINES,
    Axis,
    Place,
    Plan,
    Value,
)
from ksched_cli.sweep.sweep_file import (
    path_of,
    path_values,
    plan_of,
    read_document,
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
    def axis(self) -> Axis:
        """The values, or the least and the most."""
        values = self.values or (self.low, self.high)
        listed = (Value(each, {PATCHES: (self.patch(each),)}, place=self.place) for each in values)
        return Axis(f"{PATCHES}.{self.name}", tuple(listed))


@dataclass(frozen=True, slots=True)
class Objective:
    """goal: minimize or maximize"""

    metric: str
    goal: str


@dataclass(frozen=True, slots=True)
class Constraint:
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
    plan: Plan
    held_out: Plan
    dimensions: tuple[Dimension, ...]
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    trials: int
    sampler_seed: int

    @property
    def metrics(self) -> tuple[str, ...]:
        """Those of the objectives, then those of the constraints."""
        objectives = (each.metric for each in self.objectives)
        return (*objectives, *(each.metric for each in self.constraints))

    @property
    def bounds(self) -> Plan:
        """Runs with the values of the dimensions, or the least and the most of each."""
        return replace(self.plan, axes=(*self.plan.axes, *(item.axis for item in self.dimensions)))


def read_tune(path: str, base: Run) -> TuneFile:
    """base: what holds of all runs where the file says nothing else. Raises InputError with line
    and column."""
    document = read_document(path, "Tune")
    data = document.data
    plan = plan_of(document, base)
    return TuneFile(
        document,
        plan,
        _held_out(document, plan),
        _dimensions(document, data["space"]),
        tuple(Objective(item["metric"], item["goal"]) for item in data["objectives"]),
        tuple(
            Constraint(item["metric"], item.get("atMost"), item.get("atLeast"))
            for item in data.get("constraints", ())
        ),
        data.get("trials", TRIALS),
        data.get("samplerSeed", 0),
    )


def _held_out(document: OwnDocument, plan: Plan) -> Plan:
    """The same runs with other states, timelines or seeds: as many seeds that no trial has, where
    the file names none. Raises InputError where nothing would be held out."""
    entries = document.data.get("heldOut", {})
    values: dict[str, Sequence[Value]] = {}
    if STATES in entries:
        states = state_values(document, entries[STATES], "heldOut", STATES)
        values[STATES] = unique(document, states)
    if TIMELINES in entries:
        if TIMELINES not in document.data:
            raise document.error("requires `timelines`", "heldOut", TIMELINES)
        timelines = path_values(document, entries[TIMELINES], "timeline", "heldOut", TIMELINES)
        values[TIMELINES] = unique(document, timelines)
    seeds = [value.label for value in plan.axes[-1].values if value.label is not None]
    count = entries.get(SEEDS)
    if isinstance(count, list):
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


def _dimensions(
    document: OwnDocument, entries: Sequence[Mapping[str, Any]]
) -> tuple[Dimension, ...]:
    dimensions: list[Dimension] = []
    for index, entry in enumerate(entries):
        place = ("space", index)
        path = path_of(document, entry["path"], *place, "path")
        name = entry.get("name", entry["path"])
        if any(other.name == name for other in dimensions):
            raise document.error(f'"{name}" appears twice', *place)
        if "values" in entry:
            dimensions.append(Dimension(name, path, tuple(entry["values"]), place=place))
            continue
        low, high = entry["between"]
        if not all(abs(bound) <= _LIMIT for bound in (low, high)):
            raise document.error("expected numbers up to 2^53", *place, "between")
        if low > high or (low <= 0 and entry.get("log")):
            expected = "[least, most], above 0 with log"
            raise document.error(f"expected {expected}", *place, "between")
        is_log = entry.get("log", False)
        dimensions.append(Dimension(name, path, low=low, high=high, is_log=is_log, place=place))
    return tuple(dimensions)
