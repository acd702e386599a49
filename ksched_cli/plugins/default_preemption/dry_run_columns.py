"""Results of dry runs as columns: per node, whether it is a candidate, and by what it is compared.

The victims themselves are listed only where somebody reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.cluster.node_columns import Mask, Rows
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.preemption import Victims
from ksched_cli.framework.results import Ids
from ksched_cli.framework.status import Rejection, Status
from ksched_cli.plugins.default_preemption.importance import sort_by_importance
from ksched_cli.plugins.default_preemption.lower_pods import LowerPods, PodColumns

T = TypeVar("T")

UNKNOWN = -1
CANDIDATE = 0


class Reprieve(Struct, frozen=True):
    """The pods put back on several nodes, and those that may not stay.

    lower:    in the order they are put back
    numbers:  the same pods, those of a node in order of importance
    starts:   per node, where its pods begin in `lower`
    violates: per pod, whether its eviction violates a budget
    evicted:  per pod, whether it is a victim
    """

    columns: PodColumns
    lower: LowerPods
    numbers: Rows
    starts: Rows
    violates: Mask
    evicted: Mask

    def victims(self, index: int) -> Victims:
        """One node's victims. index: among the nodes"""
        start = self.starts.item(index)
        entries = slice(start, start + self.lower.counts.item(index))
        evicted, violates = self.evicted[entries], self.violates[entries]
        pods = [self.columns.pods[i] for i in self.lower.numbers[entries][evicted].tolist()]
        if violates.any() and not violates.all():
            ordered = [self.columns.pods[i] for i in self.numbers[entries].tolist()]
            sort_by_importance(pods, ordered if self.columns.ages_once else None)
        return Victims(tuple(pods), int(np.count_nonzero(violates & evicted)))


# The victims of a node, or what lists them.
Source: TypeAlias = Victims | Callable[[], Victims]


class DryRunColumns:
    """Per row of the snapshot; most are meaningful only where `ids` is CANDIDATE.

    ids:        UNKNOWN, CANDIDATE, or the index of the node's rejection in `rejections`
    rejections: the first is none
    measures:   one row of the array per criterion by which candidates are compared; the node where
                the first is highest is preferred, among equal ones by the second, and so on
    sources:    of Source
    transient_rows: whose results hold for one search only
    """

    def __init__(self, snapshot: Snapshot, criteria: int) -> None:
        """criteria: how many"""
        count = len(snapshot)
        self.snapshot = snapshot
        self.ids: Ids = np.full(count, UNKNOWN, dtype=np.int32)
        self.rejections: list[Rejection | None] = [None]
        self.measures = np.empty((criteria, count), dtype=np.int64)
        self.sources: NDArray[Any] = np.empty(count, dtype=object)
        self.transient_rows: Sequence[int] = ()
        self._rejection_ids: dict[Rejection, int] = {}

    def forget(self, rows: Iterable[int]) -> None:
        """The nodes have changed."""
        rows = list(rows)
        if rows:
            self.ids[rows] = UNKNOWN

    def reject_node(self, row: int, rejection: Rejection) -> None:
        self.ids[row] = self._rejection_id(rejection)

    def reject(self, rows: Rows, ids: Ids, statuses: Sequence[Status]) -> None:
        """ids: one per row, an index into `statuses`"""
        table = np.zeros(len(statuses), dtype=np.int32)
        for status_id in np.bincount(ids).nonzero()[0].tolist():
            table[status_id] = self._rejection_id(Rejection(statuses[status_id]))
        self.ids[rows] = table[ids]

    def _rejection_id(self, rejection: Rejection) -> int:
        number = self._rejection_ids.get(rejection)
        if number is None:
            number = self._rejection_ids[rejection] = len(self.rejections)
            self.rejections.append(rejection)
        return number

    def add_candidates(
        self, rows: Rows, measures: NDArray[np.int64], sources: Sequence[Source]
    ) -> None:
        """One column of `measures` and one source per row."""
        self.ids[rows] = CANDIDATE
        self.measures[:, rows] = measures
        boxed: NDArray[Any] = np.empty(len(sources), dtype=object)
        boxed[:] = sources
        self.sources[rows] = boxed

    def missing(self, rows: Rows) -> Rows:
        """Return the rows without a result."""
        return rows[self.ids[rows] == UNKNOWN]

    def victims(self, row: int) -> Victims:
        """A candidate's victims."""
        return _victims_of(self.sources[row])

    def candidates(self, rows: Rows) -> LazyMapping[Victims]:
        """Return the candidates by node name; rows: of candidates. Later changes do not show."""
        sources = self.sources[rows]
        names = self.snapshot.names

        def entries() -> dict[str, Victims]:
            listed = zip(rows.tolist(), sources, strict=True)
            return {names[row]: _victims_of(source) for row, source in listed}

        return LazyMapping(entries)

    def rejected(self, rows: Rows) -> LazyMapping[Rejection]:
        """Return the rejections by node name; rows: of rejected nodes. Later changes do not
        show."""
        ids, names = self.ids[rows], self.snapshot.names

        def entries() -> dict[str, Rejection]:
            listed = zip(rows.tolist(), ids.tolist(), strict=True)
            return {names[row]: self.rejection(number) for row, number in listed}

        return LazyMapping(entries)

    def rejection(self, number: int) -> Rejection:
        rejection = self.rejections[number]
        assert rejection is not None, "not of a candidate"
        return rejection


class LazyMapping(Mapping[str, T]):
    """A mapping that is made when it is read first."""

    __slots__ = ("_entries", "_factory")

    def __init__(self, factory: Callable[[], dict[str, T]]) -> None:
        self._factory = factory
        self._entries: dict[str, T] | None = None

    @property
    def _mapping(self) -> dict[str, T]:
        if self._entries is None:
            self._entries = self._factory()
        return self._entries

    def __getitem__(self, name: str) -> T:
        return self._mapping[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._mapping)

    def __len__(self) -> int:
        return len(self._mapping)


def _victims_of(source: Source) -> Victims:
    return source if isinstance(source, Victims) else source()
