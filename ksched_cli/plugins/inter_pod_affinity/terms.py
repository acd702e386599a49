"""Parsed pod affinity terms; and the terms of running pods, counted per domain.

Upstream: pkg/scheduler/framework/types.go (PodInfo.Update, newAffinityTerm, GetAffinityTerms),
plugins/interpodaffinity/plugin.go (mergeAffinityTermNamespacesIfNotEmpty).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from ksched_cli.cluster.objects import Namespace, PodAffinity, PodAffinityTerm
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.topology.domain_counts import DomainCounter, Domains
from ksched_cli.cluster.topology.pod_index import PodIndex, TermCounter, TermKind
from ksched_cli.cluster.topology.pod_selection import Clause, Namespaces, PodSelection
from ksched_cli.framework.handle import Handle
from ksched_cli.kube.field_errors import aggregate
from ksched_cli.kube.selectors import Selector, SelectorError, label_selector

NO_AFFINITY = PodAffinity()
EVERY_NAMESPACE = Namespaces(frozenset(), others=True)


class AffinityTerm(Struct, frozen=True):
    """weight: of a preferred term; negative for anti-affinity.

    matchLabelKeys and mismatchLabelKeys are not read: the API server merges them into the label
    selector when a pod is created, and the scheduler relies on that.
    """

    namespaces: frozenset[str]
    namespace_selector: Selector
    selector: Selector
    topology_key: str
    weight: int = 0

    def as_incoming(self, namespaces: Mapping[str, Namespace]) -> Clause:
        """The pods that a term of the pod being scheduled selects.

        Upstream adds the namespaces that the selector matches to the names and drops the selector
        in a copy only. So it still matches the selector, against no labels: one of only NotIn and
        DoesNotExist requirements selects every namespace.
        """
        if self.namespace_selector.matches({}):
            return Clause(EVERY_NAMESPACE, self.selector)
        return Clause(Namespaces(self.namespaces | self._selected(namespaces)), self.selector)

    def as_existing(self, namespaces: Mapping[str, Namespace]) -> Clause:
        """The pods that a term of a running pod selects. Unknown namespaces have no labels."""
        names = self.namespaces | self._selected(namespaces)
        if self.namespace_selector.matches({}):
            excluded = frozenset(namespaces) - names
            return Clause(Namespaces(excluded, others=True), self.selector)
        return Clause(Namespaces(names), self.selector)

    def _selected(self, namespaces: Mapping[str, Namespace]) -> frozenset[str]:
        return frozenset(
            name
            for name, namespace in namespaces.items()
            if self.namespace_selector.matches(namespace.metadata.labels)
        )


class CountedTerm(Struct, frozen=True):
    """A term with the count of the pods it selects. weight: as in AffinityTerm."""

    selection: PodSelection
    counter: DomainCounter
    weight: int

    @property
    def domains(self) -> Domains:
        return self.counter.domains


class IncomingTerms(Struct, frozen=True):
    """The terms of the pod being scheduled, with their counters.

    required:      of the pods that match all required affinity terms, one per topology key
    matches_self:  whether the pod itself matches all its required affinity terms
    required_anti: one per term
    preferred:     one per term
    error:         why terms do not parse
    """

    required: tuple[CountedTerm, ...] = ()
    matches_self: bool = False
    required_anti: tuple[CountedTerm, ...] = ()
    preferred: tuple[CountedTerm, ...] = ()
    error: str = ""


NO_INCOMING_TERMS = IncomingTerms()


class AffinityTerms(Struct, frozen=True):
    """All terms of a pod. preferred: of affinity, then of anti-affinity.

    error: why terms do not parse; as upstream leaves it, a list with such a term is empty
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
    pod_affinity = affinity.pod_affinity or NO_AFFINITY
    pod_anti_affinity = affinity.pod_anti_affinity or NO_AFFINITY
    errors: list[str] = []

    def parse(kind: str, terms: Iterable[tuple[PodAffinityTerm, int]]) -> tuple[AffinityTerm, ...]:
        try:
            return tuple(_term(pod.namespace, term, weight) for term, weight in terms)
        except SelectorError as error:
            errors.append(f"{kind}: {error}")
            return ()

    required = parse("requiredAffinityTerms", _required(pod_affinity))
    required_anti = parse("requiredAntiAffinityTerms", _required(pod_anti_affinity))
    preferred = parse("preferredAffinityTerms", _preferred(pod_affinity, 1))
    preferred += parse("preferredAntiAffinityTerms", _preferred(pod_anti_affinity, -1))
    error = aggregate(errors) if errors else ""
    return AffinityTerms(required, required_anti, preferred, error)


def _required(affinity: PodAffinity) -> Iterable[tuple[PodAffinityTerm, int]]:
    return ((term, 0) for term in affinity.required_during_scheduling_ignored_during_execution)


def _preferred(affinity: PodAffinity, sign: int) -> Iterable[tuple[PodAffinityTerm, int]]:
    return (
        (term.pod_affinity_term, sign * term.weight)
        for term in affinity.preferred_during_scheduling_ignored_during_execution
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
    """Counts the terms of running pods, as pods come and go. A service.

    unlisted: terms, with their rows, of pods assumed in a trial that are on no list of nodes with
        affinity; only pods with preferred terms of their own see those that are scored
    """

    def __init__(self, handle: Handle) -> None:
        self._groups = handle.pod_groups
        self.unlisted: list[tuple[TermCounter, int]] = []
        self._index = handle.snapshot.index(PodIndex)
        self._namespaces = handle.cluster.namespaces
        for row, pods in enumerate(handle.snapshot.pods):
            for pod in pods:
                self.pod_added(pod, row)
        handle.snapshot.subscribe(self)

    def pod_added(self, pod: PodInfo, row: int) -> None:
        for term in self.terms_of(pod):
            if self._is_listed(term, pod, row):
                term.add(row, 1)
            else:
                self.unlisted.append((term, row))

    def pod_removed(self, pod: PodInfo, row: int) -> None:
        for term in self.terms_of(pod):
            if self._is_listed(term, pod, row):
                term.add(row, -1)
            else:
                self.unlisted.remove((term, row))

    def _is_listed(self, term: TermCounter, pod: PodInfo, row: int) -> bool:
        trial = self._groups.trial if self._groups is not None else None
        if trial is None or pod.uid not in trial.pods:
            return True
        avoids = term.kind is TermKind.AVOIDS
        return row in (trial.with_anti_affinity if avoids else trial.with_affinity)

    def terms_of(self, pod: PodInfo) -> tuple[TermCounter, ...]:
        """The counters of the pod's own terms; twice for a term that the pod has twice."""
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
            for kind, terms_of_kind in kinds
            for term in terms_of_kind
        )
