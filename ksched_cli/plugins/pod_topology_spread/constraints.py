"""Parsed topology spread constraints, and the counters of pods that they are checked against.

Upstream: plugins/podtopologyspread/common.go, and getConstraints in plugin.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.node_affinity import RequiredNodeAffinity, required_node_affinity
from ksched_cli.cluster.objects import Toleration, TopologySpreadConstraint
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.topology.domain_counts import Codes, DomainCounter, Domains, Mask
from ksched_cli.cluster.topology.label_columns import MISSING
from ksched_cli.cluster.topology.node_selection import matches_required
from ksched_cli.cluster.topology.pod_index import PodIndex
from ksched_cli.cluster.topology.pod_selection import Clause, Namespaces, PodSelection, combined
from ksched_cli.kube.selectors import EVERYTHING, NOTHING, Selector, label_selector, selector_of_map
from ksched_cli.plugins.taint_toleration import first_untolerated

HONOR = "Honor"
HOSTNAME = "kubernetes.io/hostname"
ANY_NODE = RequiredNodeAffinity(EVERYTHING, None)


class Constraint(Struct, frozen=True):
    """honors_affinity, honors_taints: whether nodes that these exclude for the pod do not count."""

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    honors_affinity: bool
    honors_taints: bool


def filter_constraints(
    constraints: Iterable[TopologySpreadConstraint], labels: Mapping[str, str], action: str
) -> tuple[Constraint, ...]:
    """The constraints whose whenUnsatisfiable is `action`. labels: the pod's. Raises SelectorError.

    Upstream: filterTopologySpreadConstraints.
    """
    return tuple(
        Constraint(
            constraint.max_skew,
            constraint.topology_key,
            _selector(constraint, labels),
            1 if constraint.min_domains is None else constraint.min_domains,
            constraint.node_affinity_policy in (None, HONOR),
            constraint.node_taints_policy == HONOR,
        )
        for constraint in constraints
        if constraint.when_unsatisfiable == action
    )


def _selector(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> Selector:
    own = {key: labels[key] for key in constraint.match_label_keys if key in labels}
    selector = label_selector(constraint.label_selector)
    return combined(selector_of_map(own), selector) if own and selector.selectable else selector


class CountedConstraint(Struct, frozen=True):
    """A constraint with its counter.

    node_domains: the domain of each node, whether it counts or not
    counter:      of the pods that match; its domains leave out nodes that do not count
    codes:        per row, the index into the counter's counts
    matches_self: whether the selector matches the pod itself
    """

    constraint: Constraint
    node_domains: Domains
    counter: DomainCounter
    codes: Codes
    matches_self: bool


class ConstraintCounters:
    """The counters of a pod's constraints.

    keys:     the labels that a node must have to count
    compares: tolerations may compare numbers (see `tolerates`)
    """

    def __init__(
        self, index: PodIndex, pod: PodInfo, keys: Sequence[str], compares: bool = False
    ) -> None:
        self._index = index
        self._pod = pod
        self._keys = frozenset(keys)
        self._compares = compares

    def by_domain(self, constraint: Constraint) -> CountedConstraint:
        """The matching pods per domain, on the nodes that count."""
        node_domains = self._index.domains(constraint.topology_key)
        return self._counted(constraint, self._domains(constraint), node_domains.codes)

    def by_node(self, constraint: Constraint) -> CountedConstraint:
        """The matching pods per node, on all nodes: each row is a domain."""
        snapshot = self._index.snapshot
        rows = self._index.once(
            "nodes",
            lambda: Domains(HOSTNAME, snapshot.names, np.arange(len(snapshot))),
        )
        return self._counted(constraint, rows, rows.codes)

    def _counted(self, constraint: Constraint, domains: Domains, codes: Codes) -> CountedConstraint:
        pod, selector = self._pod, constraint.selector
        # Upstream counts no pods for a selector without requirements.
        counted_selector = selector if selector.requirements else NOTHING
        clause = Clause(Namespaces(frozenset((pod.namespace,))), counted_selector)
        return CountedConstraint(
            constraint,
            self._index.domains(constraint.topology_key),
            self._index.counter(PodSelection((clause,), terminating=False), domains),
            codes,
            selector.matches(pod.labels),
        )

    def _domains(self, constraint: Constraint) -> Domains:
        key, spec = constraint.topology_key, self._pod.spec
        affinity = required_node_affinity(spec) if constraint.honors_affinity else ANY_NODE
        tolerations = spec.tolerations if constraint.honors_taints else None
        others = self._keys - {key}
        all_nodes = self._all_nodes(key)
        if affinity == ANY_NODE and tolerations is None and not others:
            return all_nodes
        # Pods with different specs may leave the same nodes.
        cache_key = (key, self._keys, affinity, tolerations)
        return self._index.once(
            cache_key, lambda: all_nodes.where(self._counted_rows(others, affinity, tolerations))
        )

    def _counted_rows(
        self,
        keys: Iterable[str],
        affinity: RequiredNodeAffinity,
        tolerations: tuple[Toleration, ...] | None,
    ) -> Mask:
        """The nodes that have the keys, match the affinity and have no untolerated taint."""
        snapshot = self._index.snapshot
        mask = matches_required(snapshot, affinity)
        for key in keys:
            mask &= snapshot.labels[key].present
        if tolerations is not None:
            ids, sets = snapshot.taint_sets
            tolerated = [
                first_untolerated(taints, tolerations, self._compares) is None for taints in sets
            ]
            mask &= np.array(tolerated, dtype=np.bool_)[ids]
        return mask

    def _all_nodes(self, key: str) -> Domains:
        return self._index.domains(key) if self._keys else domains_with_empty(self._index, key)


def domains_with_empty(index: PodIndex, key: str) -> Domains:
    """The domains where nodes need not have the key: those without it are in the domain "".

    Upstream reads the missing label as an empty string.
    """
    domains = index.domains(key)
    if domains.complete or "" not in domains.values:
        return domains
    empty = domains.values.index("")
    codes: Codes = np.where(domains.codes == MISSING, empty, domains.codes)
    return index.once(("domains with empty", key), lambda: Domains(key, domains.values, codes))
