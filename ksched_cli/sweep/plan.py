"""The runs of a sweep: a base Run, and axes of what varies over it. Every combination of their
values is a run, or these side by side; or the runs are given one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress, product
from math import prod
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from ksched_cli.errors import UsageError
from ksched_cli.framework.discovery import source_identity
from ksched_cli.masking import masked_data
from ksched_cli.run.axes import changes_label, configuration_label
from ksched_cli.run.differences import names_of
from ksched_cli.run.file_settings import settings_type
from ksched_cli.run.run import Run

Parameters = dict[str, Any]  # plain data of RowParameters
# In a document: keys, and indexes of lists.
Place = tuple[str | int, ...]
# The index of a run's value on each axis.
Indexes = tuple[int, ...]

# The most runs of a sweep: their ids are all in memory.
RUNS_MAX = 1_000_000
STATES, TIMELINES, CHANGES, SEEDS = "states", "timelines", "changes", "seeds"
PLUGINS, PATCHES, VERSIONS = "plugins", "patches", "kubernetesVersions"
CONFIGURATIONS, AUTOSCALERS, PRICES = "configurations", "autoscalers", "prices"
_WIDTH = 1_000  # of a part of a variant's name, which a person chose
# Runs of two variants are compared where these are the same.
PAIRED = (STATES, TIMELINES, SEEDS)
# Values of these fields are added to those that the Run has.
_ADDED = ("changes", "patches", "plugins")


@dataclass(frozen=True, slots=True)
class Value:
    """One value of an axis.

    label:  as the file has it
    fields: of the Run, which it sets; changes, patches and plugins are added to the Run's
    shown:  those of the fields that have other values for people: names in place of paths
    place:  in the file; none where the file leaves it out
    """

    label: Any
    fields: Mapping[str, Any] = field(default_factory=dict)
    shown: Mapping[str, Any] = field(default_factory=dict)
    place: Place = ()


@dataclass(frozen=True, slots=True)
class SweepAxis:
    """key: as the file has it; `patches.NAME` of a path in the configuration"""

    key: str
    values: tuple[Value, ...]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_patch(self) -> bool:
        return self.key.startswith(f"{PATCHES}.")

    @property
    def name(self) -> str:
        return self.key.removeprefix(f"{PATCHES}.")


@dataclass(frozen=True)
class StudyPlan:
    """axes: the last one varies first; settings: keys of those that are fields of rows, too"""

    base: Run
    axes: tuple[SweepAxis, ...]
    is_zipped: bool = False
    settings: tuple[str, ...] = ()

    def __len__(self) -> int:
        if self.is_zipped:
            return self._row_count * self._seed_count
        return prod(map(len, self.axes))

    @property
    def is_over_time(self) -> bool:
        """Return whether each run is a replay."""
        return any(axis.key == TIMELINES for axis in self.axes)

    @property
    def _row_count(self) -> int:
        """How many values the longest axis has of those that go side by side."""
        return max((len(axis) for axis in self.axes if axis.key != SEEDS), default=1)

    @property
    def _seed_count(self) -> int:
        return prod(len(axis) for axis in self.axes if axis.key == SEEDS)

    def check(self) -> None:
        """Check the plan. Raises UsageError where there are too many runs, or axes that go side by
        side are not of one length."""
        if len(self) > RUNS_MAX:
            raise UsageError(
                f"the sweep has {len(self):,} runs, and may have {RUNS_MAX:,}; fewer seeds or "
                "values, or several sweeps"
            )
        long = [axis for axis in self.axes if len(axis) > 1 and axis.key != SEEDS]
        if self.is_zipped and len(set(map(len, long))) > 1:
            listed = ", ".join(f"{axis.name} has {len(axis)}" for axis in long)
            raise UsageError(f"combine: zip requires axes of equal length; {listed}")

    def at(self, number: int) -> Indexes:
        """The run of that number, from 0 on; those of one state follow each other."""
        if self.is_zipped:
            row, seed = divmod(number, self._seed_count)
            return tuple(
                seed if axis.key == SEEDS else min(row, len(axis) - 1) for axis in self.axes
            )
        indexes = []
        for axis in reversed(self.axes):
            number, index = divmod(number, len(axis))
            indexes.append(index)
        return tuple(reversed(indexes))

    def indexes(self) -> Iterator[Indexes]:
        """Return all runs."""
        return map(self.at, range(len(self)))

    def varied(self, *keys: str) -> Iterator[Indexes]:
        """A run for every combination of the values of these axes, with the first value of each of
        the others."""
        if self.is_zipped:
            are_varied = [axis.key in keys for axis in self.axes]
            yield from {tuple(compress(row, are_varied)): row for row in self.indexes()}.values()
        else:
            yield from product(
                *(range(len(axis)) if axis.key in keys else (0,) for axis in self.axes)
            )

    def with_patch(self, key: str) -> StudyPlan:
        """Return the same without the other patches. key: "" for none"""
        axes = (axis for axis in self.axes if not axis.is_patch or axis.key == key)
        return replace(self, axes=tuple(axes))

    def runs(self) -> Iterator[Run]:
        return map(self.run, self.indexes())

    def run(self, indexes: Indexes) -> Run:
        return _with(self.base, [value.fields for _, value in self.values(indexes)])

    def values(self, indexes: Indexes) -> list[tuple[SweepAxis, Value]]:
        """The values of a run, with their axes."""
        return [(axis, axis.values[i]) for axis, i in zip(self.axes, indexes, strict=True)]

    def parameters(self, indexes: Indexes) -> Parameters:
        """Return the part of a row that says what was run."""
        labels = {axis.key: value.label for axis, value in self.values(indexes)}
        return parameters_of(self._shown(indexes), {key: labels[key] for key in self.settings})

    def _shown(self, indexes: Indexes, least: int = 1) -> Run:
        """Return the Run with names in place of paths. least: how many values a patch must have to
        be part of it"""
        values = self.values(indexes)
        shown = [(axis, value) for axis, value in values if not axis.is_patch or len(axis) >= least]
        return _with(self.base, [{**value.fields, **value.shown} for _, value in shown])

    # -- what the result compares -------------------------------------------------------------

    @cached_property
    def _compared(self) -> tuple[bool, ...]:
        """By axis, whether runs that differ in it are of different variants: all but the paired
        ones, and the changes where anything else varies."""
        others = (axis for axis in self.axes if axis.key not in (CHANGES, *PAIRED))
        paired = (CHANGES, *PAIRED) if any(len(axis) > 1 for axis in others) else PAIRED
        return tuple(axis.key not in paired for axis in self.axes)

    def pair(self, indexes: Indexes) -> Indexes:
        """What a run has in common with those of other variants that it is compared with; the last
        number is of the seed."""
        return tuple(
            0 if is_compared else index
            for index, is_compared in zip(indexes, self._compared, strict=True)
        )

    def _variant(self, indexes: Indexes) -> Indexes:
        return tuple(
            index if is_compared else 0
            for index, is_compared in zip(indexes, self._compared, strict=True)
        )

    @cached_property
    def _names(self) -> Mapping[Indexes, str]:
        """Return the names of the variants, in order."""
        variants = list(dict.fromkeys(map(self._variant, self.indexes())))
        names = names_of([self._shown(variant, least=2) for variant in variants], width=_WIDTH)
        return dict(zip(variants, names, strict=True))

    @property
    def variants(self) -> list[str]:
        """Names, in order; the first is the baseline."""
        return list(self._names.values())

    def variant(self, indexes: Indexes) -> str:
        """Return the name of the run's variant: what differs between its Runs and those of
        others."""
        return self._names[self._variant(indexes)]


if TYPE_CHECKING:
    RowSettings = Struct
else:
    RowSettings = settings_type("RowSettings", base=Struct)


class RowParameters(RowSettings, frozen=True, kw_only=True):
    """The part of a row that says what was run.

    timeline: null: a run at one instant.
    patches: Path or name of the patch → the value.
    kubernetes_version: null: that of the state's kubelets.
    prices: Names of the prices; null: none.
    """

    state: str
    timeline: str | None
    configuration: str
    changes: str
    plugins: tuple[str, ...]
    patches: dict[str, Any]
    kubernetes_version: str | None
    autoscaler: str | None
    prices: str | None
    seed: int | None


def parameters_of(run: Run, settings: Mapping[str, Any]) -> Parameters:
    """Return the part of a row that says what was run. settings: of axes that rows name, too"""
    return {
        "state": ", ".join(run.states),
        "timeline": run.timeline or None,
        "configuration": configuration_label(run),
        "changes": changes_label(run),
        "plugins": list(run.plugins),
        "patches": {each.path: masked_data(each.value, each.path) for each in run.patches},
        "kubernetesVersion": run.kubernetes_version or None,
        "autoscaler": run.autoscaler or None,
        "prices": ", ".join(run.prices) or None,
        **settings,
        "seed": run.seed,
    }


def _with(run: Run, values: Sequence[Mapping[str, Any]]) -> Run:
    """Return the Run with these values of its fields, one after the other."""
    fields: dict[str, Any] = {}
    for value in values:
        for name, content in value.items():
            before = fields.get(name, getattr(run, name)) if name in _ADDED else ()
            if name == PLUGINS and before:
                same = set(map(source_identity, before))
                content = [source for source in content if source_identity(source) not in same]
            fields[name] = (*before, *content) if name in _ADDED else content
    return structs.replace(run, **fields)


# Runs of two variants are compared where these are the same.
_PAIRED_FIELDS = ("states", "workloads", "timeline", "until", "tie_break", "seed")


@dataclass(frozen=True)
class ListedRuns(StudyPlan):
    """The index of a run is its place in the list."""

    listed: tuple[Run, ...] = ()

    def __len__(self) -> int:
        return len(self.listed)

    @property
    def is_over_time(self) -> bool:
        return any(run.timeline for run in self.listed)

    def at(self, number: int) -> Indexes:
        return (number,)

    def varied(self, *keys: str) -> Iterator[Indexes]:
        return self.indexes()

    def with_patch(self, key: str) -> StudyPlan:
        return self

    def run(self, indexes: Indexes) -> Run:
        return self.listed[indexes[0]]

    def values(self, indexes: Indexes) -> list[tuple[SweepAxis, Value]]:
        return []

    def parameters(self, indexes: Indexes) -> Parameters:
        return parameters_of(self.run(indexes), {})

    # -- what the result compares -----------------------------------------------------------------

    def pair(self, indexes: Indexes) -> Indexes:
        run = self.run(indexes)
        return tuple(self._first_with[name, repr(getattr(run, name))] for name in _PAIRED_FIELDS)

    @cached_property
    def _first_with(self) -> Mapping[tuple[str, str], int]:
        """By field and value, the first run that has it."""
        first: dict[tuple[str, str], int] = {}
        for index, run in enumerate(self.listed):
            for name in _PAIRED_FIELDS:
                first.setdefault((name, repr(getattr(run, name))), index)
        return first

    def _variant(self, indexes: Indexes) -> Indexes:
        return (self._first_variants[indexes[0]],)

    @cached_property
    def _first_variants(self) -> tuple[int, ...]:
        """Per run, the first one that differs from it in nothing that is compared."""
        defaults: dict[str, Any] = {name: getattr(Run(), name) for name in _PAIRED_FIELDS}
        first: dict[str, int] = {}
        return tuple(
            first.setdefault(repr(structs.replace(run, **defaults)), index)
            for index, run in enumerate(self.listed)
        )

    @cached_property
    def _names(self) -> Mapping[Indexes, str]:
        variants = list(dict.fromkeys(map(self._variant, self.indexes())))
        names = names_of([self.run(variant) for variant in variants])
        return dict(zip(variants, names, strict=True))
