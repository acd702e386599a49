"""Rejects nodes that the pod's node selector or required affinity excludes; prefers preferred ones.

Upstream: plugins/nodeaffinity/node_affinity.go.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ksched_cli.cluster.objects import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    PreferredSchedulingTerm,
)
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.selectors import (
    IN,
    NODE_NAME_FIELD,
    PreferredTerm,
    SelectorError,
    node_terms,
    preferred_terms,
    required_node_affinity,
)
from ksched_cli.cluster.topology.node_selection import (
    matches_any,
    matches_required,
    preferred_weights,
)
from ksched_cli.config import types as config
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    Explains,
    FilterPlugin,
    NormalizeScore,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Scope,
    ScorePlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Scores, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.plugins.helper.normalize import by_highest

POD_REASON = Status.unresolvable("node(s) didn't match Pod's node affinity/selector")
ENFORCED_REASON = Status.unresolvable("node(s) didn't match scheduler-enforced node affinity")
CONFLICT = Status.unresolvable("pod affinity terms conflict")


class NodeAffinity(
    PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, NormalizeScore, Explains
):
    name = "NodeAffinity"
    scope = Scope.NODE
    normalizes_by_min_max = True

    def __init__(self, args: config.NodeAffinityArgs, handle: Handle) -> None:
        added = args.added_affinity or config.NodeAffinity()
        self._added = None
        if added.required is not None:
            terms = tuple(_term(term) for term in added.required.node_selector_terms or ())
            self._added = node_terms(NodeSelector(node_selector_terms=terms))
        self._added_preferred = preferred_terms(
            [
                PreferredSchedulingTerm(weight=one.weight, preference=_term(one.preference))
                for one in added.preferred or ()
            ]
        )

    def cache_key(self, pod: PodInfo) -> Hashable:
        affinity = pod.spec.affinity
        wishes = None if affinity is None else affinity.node_affinity
        return wishes, tuple(sorted(pod.spec.node_selector.items()))

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        required = _required(pod.spec)
        if required is None and self._added is None and not pod.spec.node_selector:
            return None, SKIP
        if required is None or not required.node_selector_terms:
            return None, SUCCESS
        names = _named_nodes(required.node_selector_terms)
        if names is None:
            return None, SUCCESS
        if not names:
            return None, CONFLICT
        return PreFilterResult(names), SUCCESS

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        verdicts = Verdicts.passing(len(nodes))
        if self._added is not None:
            allowed = matches_any(nodes.snapshot, self._added)
            verdicts.reject(~nodes.gather(allowed), ENFORCED_REASON)
        allowed = matches_required(nodes.snapshot, required_node_affinity(pod.spec))
        verdicts.reject(~nodes.gather(allowed), POD_REASON)
        return verdicts

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        _preferred(pod.spec)
        affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
        has_own = affinity and affinity.preferred_during_scheduling_ignored_during_execution
        return SUCCESS if has_own or self._added_preferred else SKIP

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        terms = (*self._added_preferred, *_preferred(pod.spec))
        return np.array(nodes.gather(preferred_weights(nodes.snapshot, terms)))

    def normalize_scores(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
    ) -> Scores:
        return by_highest(scores)

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        lines = [
            f"{key}={value} is wanted, the node has {has_label(node, key)}"
            for key, value in pod.spec.node_selector.items()
            if node.labels.get(key) != value
        ]
        required = _required(pod.spec)
        if required and not matches_any(node.snapshot, node_terms(required))[node.row]:
            wanted = " or ".join(term_text(term, node) for term in required.node_selector_terms)
            lines.append(f"wanted: {wanted}" if wanted else "the required affinity has no terms")
        return lines


def _required(spec: PodSpec) -> NodeSelector | None:
    affinity = spec.affinity and spec.affinity.node_affinity
    return affinity.required_during_scheduling_ignored_during_execution if affinity else None


def _preferred(spec: PodSpec) -> tuple[PreferredTerm, ...]:
    """A preferred term that does not parse ends the attempt; a required one matches nothing."""
    affinity = spec.affinity and spec.affinity.node_affinity
    if not affinity:
        return ()
    try:
        return preferred_terms(affinity.preferred_during_scheduling_ignored_during_execution)
    except SelectorError as error:
        raise PluginError(str(error)) from None


def _named_nodes(terms: tuple[NodeSelectorTerm, ...]) -> frozenset[str] | None:
    """The node names that the terms leave; None where a term leaves all of them."""
    names: frozenset[str] = frozenset()
    for term in terms:
        chosen = [
            frozenset(requirement.values)
            for requirement in term.match_fields
            if requirement.key == NODE_NAME_FIELD and requirement.operator == IN
        ]
        if not chosen:
            return None
        names |= frozenset.intersection(*chosen)
    return names


def _term(term: config.NodeSelectorTerm) -> NodeSelectorTerm:
    """The configuration's type to the cluster's."""
    return NodeSelectorTerm(
        match_expressions=_requirements(term.match_expressions),
        match_fields=_requirements(term.match_fields),
    )


def _requirements(
    found: tuple[config.NodeSelectorRequirement, ...] | None,
) -> tuple[NodeSelectorRequirement, ...]:
    return tuple(
        NodeSelectorRequirement(key=one.key, operator=one.operator, values=one.values or ())
        for one in found or ()
    )


def has_label(node: NodeInfo, key: str) -> str:
    return f"{key}={node.labels[key]}" if key in node.labels else f"no {key}"


def term_text(term: NodeSelectorTerm, node: NodeInfo) -> str:
    """The requirements, and what the node has in their place."""
    parts = [
        f"{one.key} {one.operator} {','.join(one.values)}".strip()
        + f" ({has_label(node, one.key)})"
        for one in term.match_expressions
    ]
    parts += [f"{one.key} {one.operator} {','.join(one.values)}" for one in term.match_fields]
    return "(" + " and ".join(parts) + ")"
