"""Rejects nodes that the pod's node selector or required affinity excludes; prefers preferred ones.

Upstream: plugins/nodeaffinity/node_affinity.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

import numpy as np

from ksched_cli.cluster.node_affinity import (
    NODE_NAME_FIELD,
    NodeTerms,
    PreferredTerm,
    RequiredNodeAffinity,
    node_terms,
    preferred_terms,
    required_node_affinity,
)
from ksched_cli.cluster.objects import (
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    PreferredSchedulingTerm,
)
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.topology.node_selection import (
    matches_any,
    matches_required,
    preferred_weights,
)
from ksched_cli.framework.cluster_events import NODE, Action, ClusterEvent, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    Explains,
    FilterPlugin,
    NormalizeScore,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Proposal,
    Proposes,
    Scope,
    ScorePlugin,
    SignPlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Scores, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.kube.selectors import IN, SelectorError
from ksched_cli.plugins.helper.normalize import default_normalize_score
from ksched_cli.plugins.helper.signatures import Fragments, sign_node_affinity
from ksched_cli.plugins.node_affinity import args as args_types
from ksched_cli.plugins.node_affinity.proposals import proposals

REASON = Status.unresolvable("node(s) didn't match Pod's node affinity/selector")
ENFORCED_REASON = Status.unresolvable("node(s) didn't match scheduler-enforced node affinity")
CONFLICT = Status.unresolvable("pod affinity terms conflict")


class NodeAffinity(
    PreFilterPlugin,
    FilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    NormalizeScore,
    SignPlugin,
    Explains,
    Proposes,
):
    name = "NodeAffinity"
    scope = Scope.NODE
    normalizes_by_min_max = True

    def __init__(self, args: args_types.NodeAffinityArgs, handle: Handle) -> None:
        added = args.added_affinity or args_types.NodeAffinity()
        self._added_required = None
        if added.required is not None:
            terms = tuple(_term(term) for term in added.required.node_selector_terms or ())
            self._added_required = node_terms(NodeSelector(node_selector_terms=terms))
        self._added_preferred = preferred_terms(
            [
                PreferredSchedulingTerm(weight=term.weight, preference=_term(term.preference))
                for term in added.preferred or ()
            ]
        )

    def sign_pod(self, pod: PodInfo) -> Fragments:
        return sign_node_affinity(pod)

    def cache_key(self, pod: PodInfo) -> Hashable:
        affinity = pod.spec.affinity
        own_affinity = None if affinity is None else affinity.node_affinity
        return own_affinity, tuple(sorted(pod.spec.node_selector.items()))

    def events_to_register(self) -> Iterable[Registration]:
        yield ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_LABEL), self._after_node_change

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node) -> bool:
        """The node matches now, and did not before. Raises SelectorError, which is a yes."""
        added = self._added_required
        if added is not None and not _is_selected(added, new):
            return False
        required = required_node_affinity(pod.spec)
        if not required.matches(new.name, new.metadata.labels):
            return False
        return old is None or not required.matches(old.name, old.metadata.labels)

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        required = _required_selector(pod.spec)
        if required is None and self._added_required is None and not pod.spec.node_selector:
            return None, SKIP
        if required is None or not required.node_selector_terms:
            return None, SUCCESS
        names = _named_nodes(required.node_selector_terms)
        if names is None:
            return None, SUCCESS
        if not names:
            return None, CONFLICT
        return PreFilterResult(names), SUCCESS

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        if self._added_required is not None and not _matches(self._added_required, node):
            return ENFORCED_REASON
        return SUCCESS if _matches(required_node_affinity(pod.spec), node) else REASON

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        verdicts = Verdicts.passing(len(nodes))
        if self._added_required is not None:
            allowed = matches_any(nodes.snapshot, self._added_required)
            verdicts.reject(~nodes.gather(allowed), ENFORCED_REASON)
        allowed = matches_required(nodes.snapshot, required_node_affinity(pod.spec))
        verdicts.reject(~nodes.gather(allowed), REASON)
        return verdicts

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        _preferred_terms(pod.spec)
        affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
        has_own = affinity and affinity.preferred_during_scheduling_ignored_during_execution
        return SUCCESS if has_own or self._added_preferred else SKIP

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        terms = (*self._added_preferred, *_preferred_terms(pod.spec))
        return np.array(nodes.gather(preferred_weights(nodes.snapshot, terms)))

    def normalize_scores(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
    ) -> Scores:
        return default_normalize_score(scores)

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        lines = [
            f"it requires {key}={value}, the node has {label_text(node, key)}"
            for key, value in pod.spec.node_selector.items()
            if node.labels.get(key) != value
        ]
        required = _required_selector(pod.spec)
        if required and not matches_any(node.snapshot, node_terms(required))[node.row]:
            terms = required.node_selector_terms
            line = f"it requires {terms_text(terms)}{labels_text(terms, node)}"
            lines.append(line if terms else "the required affinity has no terms")
        return lines

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Iterator[Proposal]:
        if self._added_required is not None and not _matches(self._added_required, node):
            return
        unmet = {k: v for k, v in pod.spec.node_selector.items() if node.labels.get(k) != v}
        required = _required_selector(pod.spec)
        terms = required.node_selector_terms if required else ()
        if required and (node_terms(required).error or not terms):
            return
        if required and matches_any(node.snapshot, node_terms(required))[node.row]:
            terms = ()
        yield from proposals(node, unmet, terms)


def _required_selector(spec: PodSpec) -> NodeSelector | None:
    affinity = spec.affinity and spec.affinity.node_affinity
    return affinity.required_during_scheduling_ignored_during_execution if affinity else None


def _preferred_terms(spec: PodSpec) -> tuple[PreferredTerm, ...]:
    """The pod's own preferred terms. Raises PluginError where one does not parse."""
    affinity = spec.affinity and spec.affinity.node_affinity
    if not affinity:
        return ()
    try:
        return preferred_terms(affinity.preferred_during_scheduling_ignored_during_execution)
    except SelectorError as error:
        raise PluginError(str(error)) from None


def _named_nodes(terms: tuple[NodeSelectorTerm, ...]) -> frozenset[str] | None:
    """The nodes that the terms name, by metadata.name; None where a term names none."""
    names: frozenset[str] = frozenset()
    for term in terms:
        name_sets = [
            frozenset(requirement.values)
            for requirement in term.match_fields
            if requirement.key == NODE_NAME_FIELD and requirement.operator == IN
        ]
        if not name_sets:
            return None
        names |= frozenset.intersection(*name_sets)
    return names


def _matches(selector: NodeTerms | RequiredNodeAffinity, node: NodeInfo) -> bool:
    return _is_selected(selector, node.object)


def _is_selected(selector: NodeTerms | RequiredNodeAffinity, node: Node) -> bool:
    """Whether the node matches; it does not where the terms cannot be parsed."""
    try:
        return selector.matches(node.name, node.metadata.labels)
    except SelectorError:
        return False


def _term(term: args_types.NodeSelectorTerm) -> NodeSelectorTerm:
    """Converts the configuration's type to the cluster's."""
    return NodeSelectorTerm(
        match_expressions=_requirements(term.match_expressions),
        match_fields=_requirements(term.match_fields),
    )


def _requirements(
    requirements: tuple[args_types.NodeSelectorRequirement, ...] | None,
) -> tuple[NodeSelectorRequirement, ...]:
    return tuple(
        NodeSelectorRequirement(
            key=requirement.key,
            operator=requirement.operator,
            values=requirement.values or (),
        )
        for requirement in requirements or ()
    )


def label_text(node: NodeInfo, key: str) -> str:
    """The node's label as key=value, or that the node has none."""
    return f"{key}={node.labels[key]}" if key in node.labels else f"no {key}"


def _requirement_text(requirement: NodeSelectorRequirement) -> str:
    return f"{requirement.key} {requirement.operator} {','.join(requirement.values)}"


def terms_text(terms: Sequence[NodeSelectorTerm]) -> str:
    """The requirements of terms of which one must match."""
    parts = [
        [_requirement_text(each).strip() for each in (*term.match_expressions, *term.match_fields)]
        for term in terms
    ]
    brackets = len(parts) > 1 and any(len(part) > 1 for part in parts)
    joined = (" and ".join(part) for part in parts)
    return " or ".join(f"({text})" if brackets else text for text in joined)


def labels_text(terms: Sequence[NodeSelectorTerm], node: NodeInfo) -> str:
    """Return those of the node's labels that the terms ask about, to follow them."""
    keys = dict.fromkeys(each.key for term in terms for each in term.match_expressions)
    labels = ", ".join(label_text(node, key) for key in keys)
    return f", the node has {labels}" if labels else ""
