"""Pods counted per domain of a topology.

A domain is a code: the index of a label's value, as in LabelColumn. Every array of counts has one
entry more than there are domains, always 0, so that MISSING (-1) finds it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.topology.label_columns import MISSING

# Narrow, because there may be as many domains as nodes and thousands of counters.
Counts = NDArray[np.int32]
# As NumPy wants indices: others are converted every time.
Codes = NDArray[np.intp]
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
T = TypeVar("T", bound=np.generic)

MAX_INT32 = 2**31 - 1


class Domains:
    """The domains that pods are counted in. Compared by identity.

    key:      the topology key
    values:   the label value that each code stands for
    codes:    per row the node's domain, or MISSING where pods do not count
    present:  the codes of the domains that some counted node belongs to
    complete: whether every row has a domain
    by_row:   whether the domain of every row is the row's own, as hosts are
    """

    __slots__ = ("by_row", "codes", "complete", "key", "present", "values")

    def __init__(self, key: str, values: tuple[str, ...], codes: Codes) -> None:
        self.key = key
        self.values = values
        self.codes = codes
        seen = np.zeros(len(values) + 1, dtype=np.bool_)
        seen[codes] = True
        self.present = np.flatnonzero(seen[:-1])
        self.complete = not seen[-1]
        self.by_row = len(values) == len(codes) and bool((codes == np.arange(len(codes))).all())

    def where(self, counted: Mask) -> Domains:
        """The same domains with fewer nodes in them."""
        codes = np.where(counted, self.codes, MISSING)
        return Domains(self.key, self.values, codes)

    def zeros(self) -> Counts:
        return np.zeros(len(self.values) + 1, dtype=np.int32)

    def look_up(self, table: NDArray[T], rows: Rows | None) -> NDArray[T]:
        """The rows' entries in a table with an entry per domain and one for none. rows: None for
        all. Do not write to it."""
        if self.by_row:
            return table[:-1] if rows is None else table[rows]
        return table[self.codes if rows is None else self.codes[rows]]

    def least(self, counts: Counts) -> int:
        """The smallest count of a domain with a counted node; MAX_INT32 if there is none."""
        of_present = counts[:-1]
        if len(self.present) != len(self.values):
            of_present = counts[self.present]
        return of_present.item(of_present.argmin()) if len(of_present) else MAX_INT32

    def name(self, code: int) -> str:
        """The domain as a label is written."""
        return f"{self.key}={self.values[code]}"


class DomainCounter:
    """The number of pods per domain, now. Compared by identity.

    total: the pods in any of the domains
    """

    __slots__ = ("counts", "domains", "total")

    def __init__(self, domains: Domains) -> None:
        self.domains = domains
        self.counts: Counts = domains.zeros()
        self.total = 0

    def add(self, row: int, number: int) -> None:
        """`number` pods more on the node; fewer where it is negative."""
        code = self.domains.codes.item(row)
        if code != MISSING:
            self.counts[code] += number
            self.total += number

    def add_rows(self, numbers: dict[int, int]) -> None:
        """numbers: row → pods more."""
        rows = np.fromiter(numbers.keys(), dtype=np.intp, count=len(numbers))
        many = np.fromiter(numbers.values(), dtype=np.int32, count=len(numbers))
        codes = self.domains.codes[rows]
        counted = codes != MISSING
        np.add.at(self.counts, codes[counted], many[counted])
        self.total += int(many[counted].sum())


class Tally:
    """Counts as they are when an attempt begins, and what a trial has changed since.

    Copies share the counts, so that a trial on each of many nodes costs little.
    """

    __slots__ = ("changes", "counts", "domains", "total")

    def __init__(
        self, domains: Domains, counts: Counts, total: int, changes: dict[int, int] | None = None
    ) -> None:
        self.domains = domains
        self.counts = counts
        self.total = total
        self.changes = {} if changes is None else changes

    @classmethod
    def of(cls, counters: Iterable[DomainCounter], domains: Domains) -> Tally:
        """The sum of counters over the same domains, as of now.

        It is no view of a counter: preemption for a group moves pods while it holds what an
        attempt counted.
        """
        counts, total = domains.zeros(), 0
        for counter in counters:
            counts += counter.counts
            total += counter.total
        return cls(domains, counts, total)

    def clone(self) -> Tally:
        return Tally(self.domains, self.counts, self.total, dict(self.changes))

    def add(self, row: int, number: int) -> None:
        code = self.domains.codes.item(row)
        if code != MISSING:
            self.changes[code] = self.changes.get(code, 0) + number
            self.total += number

    def at(self, domains: Domains, rows: Rows | None) -> Counts:
        """The counts of some rows' domains, as `domains` places the rows; 0 for none. rows: None
        means all. Do not write to it."""
        counts = domains.look_up(self.counts, rows)
        if self.changes:
            counts = counts.copy()
            codes = domains.codes if rows is None else domains.codes[rows]
            for code, number in self.changes.items():
                counts[codes == code] += number
        return counts

    def current(self) -> Counts:
        """Per domain, the changes included. Do not write to it."""
        if not self.changes:
            return self.counts
        counts = self.counts.copy()
        for code, number in self.changes.items():
            counts[code] += number
        return counts
