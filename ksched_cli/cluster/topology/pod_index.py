"""Pods grouped by what selectors can see, with counters that follow them as they come and go.

Many pods share few combinations of namespace and labels. A selection is matched against each such
group once, when either of them is new; from then on a pod that comes or goes moves the counters of
its group, and a question is answered from counters alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from enum import Enum
from typing import Any, TypeVar

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.topology.domain_counts import DomainCounter, Domains
from ksched_cli.cluster.topology.pod_selection import LabelPair, PodSelection

T = TypeVar("T")


class TermKind(Enum):
    """The kinds of terms of a running pod about future pods."""

    REQUIRES = "required affinity"
    AVOIDS = "required anti-affinity"
    PREFERS = "preferred affinity or anti-affinity"

    # Enum has one of its own that is much slower.
    __hash__ = object.__hash__


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


class PodGroup:
    """Pods of one namespace and one set of labels, all being deleted or none. By identity.

    rows:     row → how many of them are there
    counters: those that count pods of this group
    terms:    other pods' terms that are about pods of this group
    """

    __slots__ = ("counters", "deleting", "labels", "namespace", "rows", "terms")

    def __init__(self, namespace: str, labels: Mapping[str, str], deleting: bool) -> None:
        self.namespace = namespace
        self.labels = labels
        self.deleting = deleting
        self.rows: dict[int, int] = {}
        self.counters: set[DomainCounter] = set()
        self.terms: dict[TermKind, dict[TermCounter, None]] = {kind: {} for kind in TermKind}


class _Selected:
    """A selection with the groups that it is true of, and its counters by what tells them apart."""

    __slots__ = ("counters", "groups", "selection", "terms")

    def __init__(self, selection: PodSelection) -> None:
        self.selection = selection
        self.groups: list[PodGroup] = []
        self.counters: dict[Domains, DomainCounter] = {}
        self.terms: dict[tuple[Domains, TermKind, int], TermCounter] = {}

    def matches(self, group: PodGroup) -> bool:
        if group.deleting and not self.selection.terminating:
            return False
        return self.selection.matches(group.namespace, group.labels)

    def join(self, group: PodGroup) -> None:
        """The group is new, and no pod is counted yet."""
        self.groups.append(group)
        group.counters.update(self.counters.values())
        for term in self.terms.values():
            group.terms[term.kind][term] = None


class PodIndex:
    """One per snapshot: `snapshot.index(PodIndex)`."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._groups: dict[Hashable, PodGroup] = {}
        self._by_shape: dict[int, PodGroup] = {}
        self._by_label: dict[LabelPair, list[PodGroup]] = {}
        self._selected: dict[PodSelection, _Selected] = {}
        self._anchored: dict[LabelPair, list[_Selected]] = {}
        self._loose: list[_Selected] = []
        self._once: dict[Hashable, Any] = {}
        for row, pods in enumerate(snapshot.pods):
            for pod in pods:
                self.pod_added(pod, row)
        snapshot.subscribe(self)

    # -- pods -------------------------------------------------------------------------------------

    def pod_added(self, pod: PodInfo, row: int) -> None:
        self._moved(self.group(pod), row, 1)

    def pod_removed(self, pod: PodInfo, row: int) -> None:
        self._moved(self.group(pod), row, -1)

    def _moved(self, group: PodGroup, row: int, number: int) -> None:
        left = group.rows.get(row, 0) + number
        if left:
            group.rows[row] = left
        else:
            del group.rows[row]
        for counter in group.counters:
            counter.add(row, number)

    def group(self, pod: PodInfo) -> PodGroup:
        """The group that the pod belongs to, whether it runs or not."""
        group = self._by_shape.get(pod.shape)
        if group is None:
            group = self._by_shape[pod.shape] = self._find_group(pod)
        return group

    def _find_group(self, pod: PodInfo) -> PodGroup:
        key = (pod.namespace, frozenset(pod.labels.items()), pod.pod.deleting)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = PodGroup(pod.namespace, pod.labels, pod.pod.deleting)
            for pair in pod.labels.items():
                self._by_label.setdefault(pair, []).append(group)
            for selected in self._possible_selections(group):
                if selected.matches(group):
                    selected.join(group)
        return group

    def _possible_selections(self, group: PodGroup) -> Iterator[_Selected]:
        """The selections that the group may match, each once: its anchors are of one key."""
        yield from self._loose
        for pair in group.labels.items():
            yield from self._anchored.get(pair, ())

    # -- counters ---------------------------------------------------------------------------------

    def domains(self, key: str) -> Domains:
        """Every node counts, in the domain that its label names."""
        column = self.snapshot.labels[key]
        return self.once((Domains, key), lambda: Domains(key, column.values, column.codes))

    def counter(self, selection: PodSelection, domains: Domains) -> DomainCounter:
        """Counts the selected pods."""
        selected = self._select(selection)
        counter = selected.counters.get(domains)
        if counter is None:
            counter = selected.counters[domains] = DomainCounter(domains)
            for group in selected.groups:
                counter.add_rows(group.rows)
                group.counters.add(counter)
        return counter

    def term(
        self, selection: PodSelection, domains: Domains, kind: TermKind, weight: int = 0
    ) -> TermCounter:
        """Counts pods that have a term about the selected ones; who knows the terms adds them."""
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

    def derived(self, make: Callable[[PodInfo], T], pod: PodInfo) -> T:
        """Return what `make` returned for the first pod of this shape; it reads no names of
        claims."""
        key = (make, pod.shape)
        try:
            value: T = self._once[key]
        except KeyError:
            value = self._once[key] = make(pod)
        return value
