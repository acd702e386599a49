"""Runs that are given one by one, as the plan of a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec import structs

from ksched_cli.run.differences import names_of
from ksched_cli.run.run import Run
from ksched_cli.sweep.plan import Axis, Indexes, Parameters, Plan, Value, parameters_of

# Runs of two variants are compared where these are the same.
_PAIRED = ("states", "workloads", "timeline", "until", "tie_break", "seed")


@dataclass(frozen=True)
class ListedRuns(Plan):
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

    def with_patch(self, key: str) -> Plan:
        return self

    def run(self, indexes: Indexes) -> Run:
        return self.listed[indexes[0]]

    def values(self, indexes: Indexes) -> list[tuple[Axis, Value]]:
        return []

    def parameters(self, indexes: Indexes) -> Parameters:
        return parameters_of(self.run(indexes), {})

    # -- what the result compares -----------------------------------------------------------------

    def pair(self, indexes: Indexes) -> Indexes:
        run = self.run(indexes)
        return tuple(self._first_with[name, repr(getattr(run, name))] for name in _PAIRED)

    @cached_property
    def _first_with(self) -> Mapping[tuple[str, str], int]:
        """By field and value, the first run that has it."""
        first: dict[tuple[str, str], int] = {}
        for index, run in enumerate(self.listed):
            for name in _PAIRED:
                first.setdefault((name, repr(getattr(run, name))), index)
        return first

    def _variant(self, indexes: Indexes) -> Indexes:
        return (self._first_variants[indexes[0]],)

    @cached_property
    def _first_variants(self) -> tuple[int, ...]:
        """Per run, the first one that differs from it in nothing that is compared."""
        defaults: dict[str, Any] = {name: getattr(Run(), name) for name in _PAIRED}
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
