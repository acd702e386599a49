"""Pod affinity terms, parsed; and the terms of the pods that run, counted per domain.

Upstream: pkg/scheduler/framework/types.go (PodInfo.Update, newAffinityTerm, GetAffinityTerms),
plugins/interpodaffinity/plugin.go (mergeAffinityTermNamespacesIfNotEmpty).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ksched_cli.cluster.objects import Namespace, PodAffinity, PodAffinityTerm
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.selectors import Selector, SelectorError, label_selector
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.topology.pod_index import PodIndex, TermCounter, TermKind
from ksched_cli.cluster.topology.pod_selection import Clause, Namespaces, PodSelection

NOBODY = PodAffinity()
EVERY_NAMESPACE = Namespaces(frozenset(), others=True)


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """weight: of a preferred term; negative for anti-affinity.

    The label keys to match and mismatch are not read: the API server writes what they come to into
    the label selector when a pod is created, and the scheduler looks no further.
    """

    namespaces: frozenset[str]
    namespace_selector: Selector
    selector: Selector
    topology_key: str
    weight: int = 0

    def as_incoming(self, known: Mapping[str, Namespace]) -> Clause:
        """The pods that the term of a pod to be placed is about.

        Upstream adds the namespaces that the selector matches to the names and means to drop the
        selector, but does so in a copy. So the selector is asked once more, about no labels at all:
        one of nothing but NotIn and DoesNotExist holds for every namespace.
        """
        if self.namespace_selector.matches({}):
            return Clause(EVERY_NAMESPACE, self.selector)
        return Clause(Namespaces(self.namespaces | self._selected(known)), self.selector)

    def as_existing(self, known: Mapping[str, Namespace]) -> Clause:
        """The pods that the term of a running pod is about. An unknown namespace has no labels."""
        names = self.namespaces | self._selected(known)
        if self.namespace_selector.matches({}):
            left_out = frozenset(known) - names
            return Clause(Namespaces(left_out, others=True), self.selector)
        return Clause(Namespaces(names), self.selector)

    def _selected(self, known: Mapping[str, Namespace]) -> frozenset[str]:
        return frozenset(
            name
            for name, namespace in known.items()
            if self.namespace_selector.matches(namespace.metadata.labels)
        )


@dataclass(frozen=True, slots=True)
class AffinityTerms:
    """All terms of a pod. preferred: those of affinity, then those of anti-affinity.

    error: what cannot be parsed; a list with such a term is empty, as upstream leaves it
    """

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: tuple[AffinityTerm, ...] = ()
    error: str = ""


NO_TERMS = AffinityTerms()


def affinity_terms(pod: PodInfo) -> AffinityTerms:
    """Parses the terms of a pod."""
    affinity = pod.spec.affinity
    if affinity is None or not (affinity.pod_affinity or affinity.pod_anti_affinity):
        return NO_TERMS
    wanted, unwanted = affinity.pod_affinity or NOBODY, affinity.pod_anti_affinity or NOBODY
    errors: list[str] = []

    def parse(kind: str, terms: Iterable[tuple[PodAffinityTerm, int]]) -> tuple[AffinityTerm, ...]:
        try:
            return tuple(_term(pod.namespace, term, weight) for term, weight in terms)
        except SelectorError as error:
            errors.append(f"{kind}: {error}")
            return ()

    required = parse("requiredAffinityTerms", _required(wanted))
    required_anti = parse("requiredAntiAffinityTerms", _required(unwanted))
    preferred = parse("preferredAffinityTerms", _preferred(wanted, 1))
    preferred += parse("preferredAntiAffinityTerms", _preferred(unwanted, -1))
    said = list(dict.fromkeys(errors))
    error = said[0] if len(said) == 1 else f"[{', '.join(said)}]" if said else ""
    return AffinityTerms(required, required_anti, preferred, error)


def _required(affinity: PodAffinity) -> Iterable[tuple[PodAffinityTerm, int]]:
    return ((term, 0) for term in affinity.required_during_scheduling_ignored_during_execution)


def _preferred(affinity: PodAffinity, sign: int) -> Iterable[tuple[PodAffinityTerm, int]]:
    return (
        (one.pod_affinity_term, sign * one.weight)
        for one in affinity.preferred_during_scheduling_ignored_during_execution
    )


def _term(own_namespace: str, term: PodAffinityTerm, weight: int) -> AffinityTerm:
    names = frozenset(term.namespaces)
    if not names and term.namespace_selector is None:
        names = frozenset((own_namespace,))
    return AffinityTerm(
        names,
        label_selector(term.namespace_selector),
        label_selector(term.label_selector),
        term.topology_key,
        weight,
    )


class ExistingTerms:
    """Follows the pods that run and counts who has which term. One per snapshot: use `of`."""

    def __init__(self, index: PodIndex, namespaces: Mapping[str, Namespace]) -> None:
        self._index = index
        self._namespaces = namespaces
        for row, pods in enumerate(index.snapshot.pods):
            for pod in pods:
                self.pod_added(pod, row)
        index.snapshot.watchers.append(self)

    @classmethod
    def of(cls, snapshot: Snapshot, namespaces: Mapping[str, Namespace]) -> ExistingTerms:
        found = next((w for w in snapshot.watchers if isinstance(w, cls)), None)
        return found or cls(PodIndex.of(snapshot), namespaces)

    def pod_added(self, pod: PodInfo, row: int) -> None:
        for term in self.had_by(pod):
            term.add(row, 1)

    def pod_removed(self, pod: PodInfo, row: int) -> None:
        for term in self.had_by(pod):
            term.add(row, -1)

    def had_by(self, pod: PodInfo) -> tuple[TermCounter, ...]:
        """The counters of the pod's own terms; one that it has twice stands there twice."""
        if pod.spec.affinity is None:
            return ()
        return self._index.derived(self._counters, pod)

    def _counters(self, pod: PodInfo) -> tuple[TermCounter, ...]:
        terms = self._index.derived(affinity_terms, pod)
        kinds = (
            (TermKind.REQUIRES, terms.required),
            (TermKind.AVOIDS, terms.required_anti),
            (TermKind.PREFERS, terms.preferred),
        )
        return tuple(
            self._index.term(
                PodSelection((term.as_existing(self._namespaces),)),
                self._index.domains(term.topology_key),
                kind,
                term.weight,
            )
            for kind, listed in kinds
            for term in listed
        )
