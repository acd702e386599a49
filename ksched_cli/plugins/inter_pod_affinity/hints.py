"""Which events may let a pod fit that InterPodAffinity rejected.

Upstream: plugins/interpodaffinity/plugin.go (isSchedulableAfterPodChange,
isSchedulableAfterNodeChange).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cluster_events import NODE, POD, Action, ClusterEvent, Registration
from ksched_cli.plugins.helper.hints import had_node
from ksched_cli.plugins.inter_pod_affinity.terms import AffinityTerm, affinity_terms


def registrations(follows_nominated: bool) -> Iterable[Registration]:
    """follows_nominated: see Rules.follows_nominated_pods"""
    pod_event = ClusterEvent(POD, Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE)
    yield pod_event, partial(after_pod_change, follows_nominated=follows_nominated)
    yield ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_LABEL), after_node_change


def after_pod_change(
    pod: PodInfo, old: PodInfo | None, new: PodInfo | None, *, follows_nominated: bool
) -> bool:
    """A pod with a node begins to match the affinity, or no longer matches the anti-affinity."""
    if follows_nominated and old is not None and new is not None and new.key == pod.key:
        return True
    for other in (old, new):
        has_node = other is None or (had_node(other) if follows_nominated else other.pod.node_name)
        if not has_node:
            return False
    terms = affinity_terms(pod)
    if terms.error:
        return True
    if new is not None and _all_match(terms.required, new):
        # Where it is new, there is no old pod that matched.
        return old is None or not _all_match(terms.required, old) or _avoids_no_more(pod, old, new)
    if old is None:
        return False
    if new is not None:
        return _avoids_no_more(pod, old, new)
    if _all_match(terms.required_anti, old):
        return True
    return follows_nominated and _all_match(affinity_terms(old).required_anti, pod)


def after_node_change(pod: PodInfo, old: Node | None, new: Node) -> bool:
    """The node has come into a domain of the affinity, or out of one of the anti-affinity."""
    terms = affinity_terms(pod)
    if terms.error:
        return True
    labels = new.metadata.labels
    if old is None:
        return bool(terms.required_anti) or any(t.topology_key in labels for t in terms.required)
    before = old.metadata.labels
    return any(
        t.topology_key in labels and before.get(t.topology_key) != labels[t.topology_key]
        for t in terms.required
    ) or any(
        t.topology_key in before and labels.get(t.topology_key) != before[t.topology_key]
        for t in terms.required_anti
    )


def _avoids_no_more(pod: PodInfo, old: PodInfo, new: PodInfo) -> bool:
    anti = affinity_terms(pod).required_anti
    return _all_match(anti, old) and not _all_match(anti, new)


def _all_match(terms: tuple[AffinityTerm, ...], pod: PodInfo) -> bool:
    """Whether there are terms, and all of them select the pod. As upstream, namespace selectors are
    matched against no labels."""
    return bool(terms) and all(
        (pod.namespace in term.namespaces or term.namespace_selector.matches({}))
        and term.selector.matches(pod.labels)
        for term in terms
    )
