"""Topology spread constraints, parsed, and the counters that they are judged by.

Upstream: plugins/podtopologyspread/common.go, and getConstraints in plugin.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ksched_cli.cluster.objects import Toleration, TopologySpreadConstraint
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.selectors import (
    EVERYTHING,
    NOTHING,
    RequiredNodeAffinity,
    Selector,
    label_selector,
    required_node_affinity,
    selector_of_map,
)
from ksched_cli.cluster.topology.domain_counts import Codes, DomainCounter, Domains, Mask
from ksched_cli.cluster.topology.label_columns import MISSING
from ksched_cli.cluster.topology.node_selection import matches_required
from ksched_cli.cluster.topology.pod_index import PodIndex
from ksched_cli.cluster.topology.pod_selection import Clause, Namespaces, PodSelection, combined
from ksched_cli.plugins.taint_toleration import first_untolerated

HONOR = "Honor"
HOSTNAME = "kubernetes.io/hostname"
ANY_NODE = RequiredNodeAffinity(EVERYTHING, None)


@dataclass(frozen=True, slots=True)
class Constraint:
    """honors_affinity, honors_taints: whether nodes that these keep the pod off are left out."""

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    honors_affinity: bool
    honors_taints: bool


def parse(
    constraints: Iterable[TopologySpreadConstraint], labels: Mapping[str, str], action: str
) -> tuple[Constraint, ...]:
    """The constraints of one whenUnsatisfiable. labels: the pod's. Raises SelectorError.

    Upstream: filterTopologySpreadConstraints.
    """
    return tuple(
        Constraint(
            one.max_skew,
            one.topology_key,
            _selector(one, labels),
            1 if one.min_domains is None else one.min_domains,
            one.node_affinity_policy in (None, HONOR),
            one.node_taints_policy == HONOR,
        )
        for one in constraints
        if one.when_unsatisfiable == action
    )


def _selector(one: TopologySpreadConstraint, labels: Mapping[str, str]) -> Selector:
    own = {key: labels[key] for key in one.match_label_keys if key in labels}
    selector = label_selector(one.label_selector)
    return combined(selector_of_map(own), selector) if own and selector.selectable else selector


@dataclass(frozen=True, slots=True)
class CountedConstraint:
    """A constraint with its counter.

    labelled:     the domain of each node, whether pods there count or not
    counter:      of the pods that count; its domains say which nodes count
    where:        per row, which of the counter's counts is the node's
    matches_self: whether the pod is one of those it is to be spread among
    """

    constraint: Constraint
    labelled: Domains
    counter: DomainCounter
    where: Codes
    matches_self: bool


class Counting:
    """Finds the counters of a pod's constraints. keys: that a node must have all of to count."""

    def __init__(self, index: PodIndex, pod: PodInfo, keys: Sequence[str]) -> None:
        self._index = index
        self._pod = pod
        self._keys = frozenset(keys)

    def by_domain(self, constraint: Constraint) -> CountedConstraint:
        """Pods per domain, on the nodes that count."""
        labelled = self._index.domains(constraint.topology_key)
        return self._counted(constraint, self._domains(constraint), labelled.codes)

    def by_node(self, constraint: Constraint) -> CountedConstraint:
        """Pods per node, wherever they are: the domains are the rows."""
        snapshot = self._index.snapshot
        rows = self._index.once(
            "nodes",
            lambda: Domains(HOSTNAME, snapshot.names, np.arange(len(snapshot), dtype=np.int32)),
        )
        return self._counted(constraint, rows, rows.codes)

    def _counted(self, constraint: Constraint, domains: Domains, where: Codes) -> CountedConstraint:
        pod, selector = self._pod, constraint.selector
        # Upstream counts nobody for a selector that matches everybody.
        counted = selector if selector.requirements else NOTHING
        clause = Clause(Namespaces(frozenset((pod.namespace,))), counted)
        return CountedConstraint(
            constraint,
            self._index.domains(constraint.topology_key),
            self._index.counter(PodSelection((clause,), terminating=False), domains),
            where,
            selector.matches(pod.labels),
        )

    def _domains(self, constraint: Constraint) -> Domains:
        key, spec = constraint.topology_key, self._pod.spec
        demands = required_node_affinity(spec) if constraint.honors_affinity else ANY_NODE
        tolerations = spec.tolerations if constraint.honors_taints else None
        others = self._keys - {key}
        plain = self._places(key)
        if demands == ANY_NODE and tolerations is None and not others:
            return plain
        # Pods of many specs ask for the same nodes.
        known = (key, self._keys, demands, tolerations)
        return self._index.once(
            known, lambda: plain.where(self._counted_rows(others, demands, tolerations))
        )

    def _counted_rows(
        self,
        keys: Iterable[str],
        demands: RequiredNodeAffinity,
        tolerations: tuple[Toleration, ...] | None,
    ) -> Mask:
        """The nodes that have the keys, are allowed, and have no taint in the way."""
        snapshot = self._index.snapshot
        mask = matches_required(snapshot, demands)
        for key in keys:
            mask &= snapshot.labels[key].present
        if tolerations is not None:
            ids, sets = snapshot.taint_sets
            good = [first_untolerated(taints, tolerations) is None for taints in sets]
            mask &= np.array(good, dtype=np.bool_)[ids]
        return mask

    def _places(self, key: str) -> Domains:
        return self._index.domains(key) if self._keys else places(self._index, key)


def places(index: PodIndex, key: str) -> Domains:
    """Where nodes lie when they need not have the key: without it they are in the domain "".

    Upstream reads a label that is not there, and so does not tell it from an empty one.
    """
    labelled = index.domains(key)
    if labelled.complete or "" not in labelled.values:
        return labelled
    empty = labelled.values.index("")
    codes: Codes = np.where(labelled.codes == MISSING, empty, labelled.codes).astype(np.int32)
    return index.once(("places", key), lambda: Domains(key, labelled.values, codes))
