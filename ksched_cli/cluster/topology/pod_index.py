"""Pods grouped by what selectors can see, with counters that follow them as they come and go.

Many pods share few combinations of namespace and labels. A selection is matched against each such
group once, when either of them is new; from then on a pod that comes or goes moves the counters of
its group, and a question is answered from counters alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import MISSING, Mask, Rows, Snapshot
from ksched_cli.kube.selectors import IN, Selector, requirement_text

LabelPair = tuple[str, str]

# -- the pods that a term or a constraint is about, as values: equal ones share their counters -----


class Namespaces(Struct, frozen=True):
    """The namespaces of these names; with `others`, every namespace but these."""

    names: frozenset[str]
    others: bool = False

    def has(self, namespace: str) -> bool:
        return (namespace in self.names) != self.others

    def __str__(self) -> str:
        names = ", ".join(sorted(self.names))
        if not self.others:
            if not names:
                return "no namespace"
            return f"namespace{'' if len(self.names) == 1 else 's'} {names}"
        return f"any namespace but {names}" if names else "any namespace"


class Clause(Struct, frozen=True):
    """Pods of some namespaces whose labels match."""

    namespaces: Namespaces
    selector: Selector

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return self.namespaces.has(namespace) and self.selector.matches(labels)

    def __str__(self) -> str:
        return f"{selector_text(self.selector)} in {self.namespaces}"


class PodSelection(Struct, frozen=True, dict=True):
    """Pods that match every clause. terminating: whether pods being deleted count.

    Upstream: k8s.io/kube-scheduler/framework/types.go (AffinityTerm.Matches).
    """

    clauses: tuple[Clause, ...]
    terminating: bool = True

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return all(clause.matches(namespace, labels) for clause in self.clauses)

    @cached_property
    def anchors(self) -> tuple[LabelPair, ...] | None:
        """Labels of which a matching pod has one, all of the same key; None: it may have any."""
        fewest: tuple[LabelPair, ...] | None = None
        for clause in self.clauses:
            if not clause.selector.selectable:
                return ()
            for requirement in clause.selector.requirements:
                fewer = fewest is None or len(requirement.values) < len(fewest)
                if requirement.operator == IN and fewer:
                    values = dict.fromkeys(requirement.values)
                    fewest = tuple((requirement.key, value) for value in values)
        return fewest

    def __str__(self) -> str:
        return " and ".join(map(str, self.clauses))


def combined(first: Selector, second: Selector) -> Selector:
    """Return the selector of what both match. Neither is the selector that matches nothing."""
    both = (*first.requirements, *second.requirements)
    return Selector(tuple(sorted(both, key=lambda requirement: requirement.key)))


def selector_text(selector: Selector) -> str:
    """Return the selector as kubectl writes it."""
    if not selector.selectable:
        return "nothing"
    return ",".join(map(requirement_text, selector.requirements)) or "any labels"


# -- pods counted per domain of a topology: a domain is a code, the index of a label's value as in
# LabelColumn. Every array of counts has one entry more than there are domains, always 0, so that
# MISSING (-1) finds it ----------------------------------------------------------------------------

# Narrow, because there may be as many domains as nodes and thousands of counters.
Counts = NDArray[np.int32]
# As NumPy wants indices: others are converted every time.
Codes = NDArray[np.intp]
Entry = TypeVar("Entry", bound=np.generic)

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
        """Return the same domains with fewer nodes in them."""
        codes = np.where(counted, self.codes, MISSING)
        return Domains(self.key, self.values, codes)

    def zeros(self) -> Counts:
        return np.zeros(len(self.values) + 1, dtype=np.int32)

    def look_up(self, table: NDArray[Entry], rows: Rows | None) -> NDArray[Entry]:
        """Return the rows' entries in a table with an entry per domain and one for none. rows: None
        for all. Do not write to it."""
        if self.by_row:
            return table[:-1] if rows is None else table.take(rows)
        return table.take(self.codes if rows is None else self.codes.take(rows))

    def least(self, counts: Counts) -> int:
        """Return the smallest count of a domain with a counted node; MAX_INT32 if there is none."""
        of_present = counts[:-1]
        if len(self.present) != len(self.values):
            of_present = counts[self.present]
        return of_present.item(of_present.argmin()) if len(of_present) else MAX_INT32

    def name(self, code: int) -> str:
        """Return the domain as a label is written."""
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
        """Add `number` pods on the node; a negative number takes pods away."""
        code = self.domains.codes.item(row)
        if code != MISSING:
            self.counts[code] += number
            self.total += number

    def add_rows(self, numbers: dict[int, int]) -> None:
        """Add pods on several nodes. numbers: row → pods more."""
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
        """Return the sum of counters over the same domains, as of now.

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
        """Return the counts of some rows' domains, as `domains` places the rows; 0 for none. rows:
        None means all. Do not write to it."""
        counts = domains.look_up(self.counts, rows)
        if self.changes:
            counts = counts.copy()
            codes = domains.codes if rows is None else domains.codes[rows]
            for code, number in self.changes.items():
                counts[codes == code] += number
        return counts

    def current(self) -> Counts:
        """Return the count of each domain, the changes included. Do not write to it."""
        if not self.changes:
            return self.counts
        counts = self.counts.copy()
        for code, number in self.changes.items():
            counts[code] += number
        return counts


# -- the index -------------------------------------------------------------------------------------

T = TypeVar("T")


class TermKind(Enum):
    """The kinds of terms of a running pod about future pods."""

    REQUIRES = "required affinity"
    AVOIDS = "required anti-affinity"
    PREFERS = "preferred affinity or anti-affinity"

    # Enum has one of its own that is much slower.
    __hash__ = object.__hash__


# Every attempt looks up some of these. Python 3.11 takes 0.1 µs to find a member of an Enum.
REQUIRES, AVOIDS, PREFERS = TermKind


class TermCounter(DomainCounter):
    """Counts, per domain, the pods that have a term, once per time that they have it.

    weight: of a preferred term; negative for anti-affinity
    """

    __slots__ = ("kind", "selection", "weight")

    def __init__(
        self, domains: Domains, selection: PodSelection, kind: TermKind, weight: int
    ) -> None:
        super().__init__(domains)
        self.selection = selection
        self.kind = kind
        self.weight = weight


GroupKey: TypeAlias = tuple[str, frozenset[LabelPair], bool]


class AlikePods:
    """Pods of one namespace and one set of labels, all being deleted or none. By identity.

    key:      the namespace, the labels, and whether the pods are being deleted
    rows:     of each shape that its pods have, row → how many of them are there
    counters: those that count pods of this group
    terms:    other pods' terms that are about pods of this group
    """

    __slots__ = ("counters", "key", "labels", "rows", "terms")

    def __init__(self, key: GroupKey, labels: Mapping[str, str]) -> None:
        self.key = key
        self.labels = labels
        self.rows: list[dict[int, int]] = []
        self.counters: set[DomainCounter] = set()
        # Python 3.11 takes several µs to list the members of an Enum.
        self.terms: dict[TermKind, dict[TermCounter, None]] = {
            REQUIRES: {},
            AVOIDS: {},
            PREFERS: {},
        }


class PodShape:
    """Pods of one shape.

    model: one of them
    rows:  row → how many of them are there
    """

    __slots__ = ("group", "model", "rows")

    def __init__(self, model: PodInfo, group: AlikePods, rows: dict[int, int]) -> None:
        self.model, self.group, self.rows = model, group, rows
        group.rows.append(rows)


class _Selected:
    """A selection with the groups that it is true of, and its counters by what tells them apart."""

    __slots__ = ("counters", "groups", "selection", "terms")

    def __init__(self, selection: PodSelection) -> None:
        self.selection = selection
        self.groups: list[AlikePods] = []
        self.counters: dict[Domains, DomainCounter] = {}
        self.terms: dict[tuple[Domains, TermKind, int], TermCounter] = {}

    def matches(self, group: AlikePods) -> bool:
        namespace, _, deleting = group.key
        if deleting and not self.selection.terminating:
            return False
        return self.selection.matches(namespace, group.labels)

    def join(self, group: AlikePods) -> None:
        """Add a group that is new, and of which no pod is counted yet."""
        self.groups.append(group)
        group.counters.update(self.counters.values())
        for term in self.terms.values():
            group.terms[term.kind][term] = None


class PodIndex:
    """One per snapshot: `snapshot.index(PodIndex)`."""

    def __init__(
        self,
        snapshot: Snapshot,
        counted: Iterable[tuple[PodShape, dict[int, int]]] | None = None,
        parsed: dict[Hashable, Any] | None = None,
    ) -> None:
        """counted: another index's shapes, and row → how many of each are there; without, the pods
        of the snapshot are counted. parsed: see there"""
        self.snapshot = snapshot
        self._groups: dict[GroupKey, AlikePods] = {}
        self._shapes: dict[int, PodShape] = {}
        self._by_label: dict[LabelPair, list[AlikePods]] = {}
        self._selected: dict[PodSelection, _Selected] = {}
        self._anchored: dict[LabelPair, list[_Selected]] = {}
        self._loose: list[_Selected] = []
        self._once: dict[Hashable, Any] = {}
        self._parsed: dict[Hashable, Any] = {} if parsed is None else parsed
        # Nothing is counted yet but the shapes' rows.
        shapes = self._shapes
        if counted is None:
            for row, pods in enumerate(snapshot.pods):
                for pod in pods:
                    rows = (shapes.get(pod.shape) or self._shape(pod)).rows
                    rows[row] = rows.get(row, 0) + 1
        else:
            for shape, rows in counted:
                group = self._group_of(shape.group.key, shape.group.labels)
                shapes[shape.model.shape] = PodShape(shape.model, group, rows)
        snapshot.subscribe(self)

    def moved(self, snapshot: Snapshot, row_of: Sequence[int]) -> PodIndex:
        """Return the index of a snapshot that has rows of this one's, with their pods. row_of: by
        row of this one, the other's row, or MISSING"""
        counted = []
        for shape in self._shapes.values():
            rows = {row_of[row]: number for row, number in shape.rows.items()}
            rows.pop(MISSING, None)
            # What no pod is of any more stays behind: a long replay moves many times.
            if rows:
                counted.append((shape, rows))
        return PodIndex(snapshot, counted, self._parsed)

    def close(self) -> None:
        """Let go of everything, which is much, and refers to what refers to it: nobody may ask this
        index any more."""
        vars(self).clear()

    # -- pods -------------------------------------------------------------------------------------

    def pod_added(self, pod: PodInfo, row: int) -> None:
        self._count(self._shape(pod), row, 1)

    def pod_removed(self, pod: PodInfo, row: int) -> None:
        self._count(self._shape(pod), row, -1)

    def _count(self, shape: PodShape, row: int, number: int) -> None:
        left = shape.rows.get(row, 0) + number
        if left:
            shape.rows[row] = left
        else:
            del shape.rows[row]
        for counter in shape.group.counters:
            counter.add(row, number)

    def _shape(self, pod: PodInfo) -> PodShape:
        shape = self._shapes.get(pod.shape)
        if shape is None:
            key = (pod.namespace, frozenset(pod.labels.items()), pod.pod.deleting)
            group = self._group_of(key, pod.labels)
            shape = self._shapes[pod.shape] = PodShape(pod, group, {})
        return shape

    def shapes(self) -> Iterable[PodShape]:
        """Return the shapes of all pods that are or were counted or asked about."""
        return self._shapes.values()

    def group(self, pod: PodInfo) -> AlikePods:
        """Return the group that the pod belongs to, whether it runs or not."""
        return self._shape(pod).group

    def _group_of(self, key: GroupKey, labels: Mapping[str, str]) -> AlikePods:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = AlikePods(key, labels)
            for pair in key[1]:
                self._by_label.setdefault(pair, []).append(group)
            # Each selection comes once: its anchors are of one key.
            anchored = (self._anchored.get(pair, ()) for pair in key[1])
            for selected in chain(self._loose, *anchored):
                if selected.matches(group):
                    selected.join(group)
        return group

    # -- counters ---------------------------------------------------------------------------------

    def domains(self, key: str) -> Domains:
        """Return the domains of a key: every node counts, in the domain that its label names."""
        column = self.snapshot.labels[key]
        return self.once((Domains, key), lambda: Domains(key, column.values, column.codes))

    def counter(self, selection: PodSelection, domains: Domains) -> DomainCounter:
        """Count the selected pods."""
        selected = self._select(selection)
        counter = selected.counters.get(domains)
        if counter is None:
            counter = selected.counters[domains] = DomainCounter(domains)
            for group in selected.groups:
                for rows in group.rows:
                    counter.add_rows(rows)
                group.counters.add(counter)
        return counter

    def term(
        self, selection: PodSelection, domains: Domains, kind: TermKind, weight: int = 0
    ) -> TermCounter:
        """Count pods that have a term about the selected ones; who knows the terms adds them."""
        selected = self._select(selection)
        key = (domains, kind, weight)
        term = selected.terms.get(key)
        if term is None:
            term = selected.terms[key] = TermCounter(domains, selection, kind, weight)
            for group in selected.groups:
                group.terms[kind][term] = None
        return term

    def _select(self, selection: PodSelection) -> _Selected:
        selected = self._selected.get(selection)
        if selected is None:
            selected = self._selected[selection] = _Selected(selection)
            anchors = selection.anchors
            if anchors is None:
                self._loose.append(selected)
                candidates = list(self._groups.values())
            else:
                candidates = []
                for pair in anchors:
                    self._anchored.setdefault(pair, []).append(selected)
                    candidates += self._by_label.get(pair, ())
            selected.groups = [group for group in candidates if selected.matches(group)]
        return selected

    # -- what never changes in a run --------------------------------------------------------------

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returned on the first call under this key."""
        try:
            value: T = self._once[key]
        except KeyError:
            value = self._once[key] = make()
        return value

    def parsed(self, make: Callable[[PodInfo], T], pod: PodInfo) -> T:
        """Return what `make` returned for the first pod of this shape, in this snapshot or one that
        it was made of; it reads nothing but the pod, and no names of claims."""
        key = (make, pod.shape)
        try:
            value: T = self._parsed[key]
        except KeyError:
            value = self._parsed[key] = make(pod)
        return value

    def derived(self, make: Callable[[PodInfo], T], pod: PodInfo) -> T:
        """Return what `make` returned for the first pod of this shape; it reads no names of
        claims."""
        key = (make, pod.shape)
        try:
            value: T = self._once[key]
        except KeyError:
            value = self._once[key] = make(pod)
        return value
