"""The terms of a pod's affinity to pods and anti-affinity, parsed.

Upstream: pkg/scheduler/framework/types.go (PodInfo.Update, newAffinityTerm, GetAffinityTerms),
k8s.io/kube-scheduler/framework/types.go (AffinityTerm).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from ksched_cli.cluster.objects import PodAffinity, PodAffinityTerm
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.kube.formatting import aggregate
from ksched_cli.kube.selectors import Selector, SelectorError, label_selector

NO_AFFINITY = PodAffinity()


class AffinityTerm(Struct, frozen=True):
    """One term.

    namespaces: the names that it lists; that of its pod where it says nothing of namespaces
    namespace_selector: matches the labels of other namespaces
    selector:   matches the labels of pods
    topology_key: the label of nodes that have the same value in a domain
    weight:     of a preferred term; negative for anti-affinity

    matchLabelKeys and mismatchLabelKeys are not read: the API server merges them into the label
    selector when a pod is created, and the scheduler relies on that.
    """

    namespaces: frozenset[str]
    namespace_selector: Selector
    selector: Selector
    topology_key: str
    weight: int = 0

    def matches(self, pod: PodInfo, namespace_labels: Mapping[str, str]) -> bool:
        """Return whether the term is about the pod, whose namespace has these labels.

        Upstream: AffinityTerm.Matches."""
        is_selected = self.namespace_selector.matches(namespace_labels)
        is_there = pod.namespace in self.namespaces or is_selected
        return is_there and self.selector.matches(pod.labels)


class AffinityTerms(Struct, frozen=True):
    """All terms of a pod.

    required, required_anti: of affinity and of anti-affinity
    preferred: of affinity, then of anti-affinity
    error: why terms do not parse; as upstream leaves it, a list with such a term is empty
    """

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: tuple[AffinityTerm, ...] = ()
    error: str = ""


NO_TERMS = AffinityTerms()


def affinity_terms(pod: PodInfo) -> AffinityTerms:
    """Return the terms of a pod's affinity to other pods. A term that does not parse is an `error`
    and raises nothing."""
    affinity = pod.spec.affinity
    if affinity is None or not (affinity.pod_affinity or affinity.pod_anti_affinity):
        return NO_TERMS
    pod_affinity = affinity.pod_affinity or NO_AFFINITY
    pod_anti_affinity = affinity.pod_anti_affinity or NO_AFFINITY
    errors: list[str] = []

    def parse(kind: str, terms: Iterable[tuple[PodAffinityTerm, int]]) -> tuple[AffinityTerm, ...]:
        try:
            parsed = []
            for term, weight in terms:
                names = frozenset(term.namespaces)
                if not names and term.namespace_selector is None:
                    names = frozenset((pod.namespace,))
                namespaces = label_selector(term.namespace_selector)
                pods = label_selector(term.label_selector)
                parsed.append(AffinityTerm(names, namespaces, pods, term.topology_key, weight))
            return tuple(parsed)
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
