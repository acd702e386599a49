"""Rejects nodes with a taint that the pod does not tolerate; prefers those with fewer soft ones.

Upstream: plugins/tainttoleration/taint_toleration.go and component-helpers/scheduling/corev1
(FindMatchingUntoleratedTaint).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ksched_cli.cluster.objects import Node, Taint, Toleration, plain_fields
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.tolerations import COMPARISON_GATE, tolerated
from ksched_cli.framework.cluster_events import NODE, POD, Action, ClusterEvent, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    Explains,
    FilterPlugin,
    PreFilterPlugin,
    Proposal,
    Proposes,
    Scope,
    SignPlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Scores, Verdicts
from ksched_cli.framework.status import SUCCESS, PluginError, Status
from ksched_cli.plugins.controllers import owner_of_taint, taint_sentence
from ksched_cli.plugins.helper import (
    Fragments,
    PreFiltered,
    ScoringPlugin,
    default_normalize_score,
    sign_tolerations,
)

# -- NodeUnschedulable -----------------------------------------------------------------------------
#
# Rejects nodes marked unschedulable, unless the pod tolerates their taint.
#
# Upstream: plugins/nodeunschedulable/node_unschedulable.go.


UNSCHEDULABLE = Status.unresolvable("node(s) were unschedulable")
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable(FilterPlugin, SignPlugin, Proposes):
    name = "NodeUnschedulable"
    scope = Scope.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        pass

    def cache_key(self, pod: PodInfo) -> Hashable:
        return pod.spec.tolerations

    def sign_pod(self, pod: PodInfo) -> Fragments:
        return sign_tolerations(pod)

    def events_to_register(self) -> Iterable[Registration]:
        yield ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_TAINT), after_node_change
        yield ClusterEvent(POD, Action.UPDATE_POD_TOLERATION), after_toleration_change

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        if not node.object.spec.unschedulable or tolerated(pod.spec.tolerations, CORDON):
            return SUCCESS
        return UNSCHEDULABLE

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        marked = nodes.gather(nodes.snapshot.unschedulable)
        if not marked.any() or tolerated(pod.spec.tolerations, CORDON):
            return Verdicts.passing(len(nodes))
        return Verdicts.rejecting(marked, UNSCHEDULABLE)

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Iterator[Proposal]:
        yield Proposal("uncordon", f"uncordon {node.name}", (f"uncordon {node.name}",))


class PassingPreFilter(PreFilterPlugin):
    """Extends PreFilter, as later minors do (Rules.pre_filters_node_name)."""

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
        """Return success. Upstream skips pods with a deferred resize here, behind a gate that is
        off."""
        return None, SUCCESS


class PreFilteringNodeUnschedulable(NodeUnschedulable, PassingPreFilter):
    """The plugin of later minors."""


def after_node_change(pod: PodInfo, old: Node | None, new: Node) -> bool:
    """Return whether the node is schedulable, and was not, or is new."""
    return not new.spec.unschedulable and (old is None or old.spec.unschedulable)


def after_toleration_change(pod: PodInfo, old: PodInfo, new: PodInfo) -> bool:
    return new.key == pod.key and tolerated(new.spec.tolerations, CORDON)


# -- the plugin ------------------------------------------------------------------------------------


STATE_KEY = "PreScoreTaintToleration"
HARD_EFFECTS = ("NoSchedule", "NoExecute")
SOFT_EFFECT = "PreferNoSchedule"
UNTOLERATED = Status.unresolvable("node(s) had untolerated taint(s)")


class TaintToleration(FilterPlugin, ScoringPlugin, SignPlugin, Explains, Proposes):
    name = "TaintToleration"
    scope = Scope.NODE
    normalizes_by_min_max = True

    def __init__(self, args: Any, handle: Handle) -> None:
        release = handle.release
        self._names_taint = release.rules.names_taint
        self._compares = release.enabled(COMPARISON_GATE)

    def cache_key(self, pod: PodInfo) -> Hashable:
        return pod.spec.tolerations

    def sign_pod(self, pod: PodInfo) -> Fragments:
        return sign_tolerations(pod)

    def events_to_register(self) -> Iterable[Registration]:
        yield ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_TAINT), self._after_node_change
        own_pod = ClusterEvent(POD, Action.UPDATE_POD_TOLERATION)
        yield own_pod, lambda pod, old, new: bool(new.key == pod.key)

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node) -> bool:
        """Return whether the pod tolerates the node's taints now, and did not before."""
        return not self._is_untolerated(pod, new) and (
            old is None or self._is_untolerated(pod, old)
        )

    def _is_untolerated(self, pod: PodInfo, node: Node) -> bool:
        taints, tolerations = node.spec.taints, pod.spec.tolerations
        return first_untolerated(taints, tolerations, self._compares) is not None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        taints = node.object.spec.taints
        taint = first_untolerated(taints, pod.spec.tolerations, self._compares) if taints else None
        return SUCCESS if taint is None else self._rejection(taint)

    def _rejection(self, taint: Taint) -> Status:
        if not self._names_taint:
            return UNTOLERATED
        return Status.unresolvable(f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}")

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        ids, sets = nodes.snapshot.taint_sets
        statuses = [SUCCESS]
        # Nodes share few distinct taint sets: decide per set, then look it up per node.
        ids_by_set = np.zeros(len(sets), dtype=np.int32)
        for i, taints in enumerate(sets):
            taint = first_untolerated(taints, pod.spec.tolerations, self._compares)
            if taint is not None:
                ids_by_set[i] = len(statuses)
                statuses.append(self._rejection(taint))
        return Verdicts(ids_by_set[nodes.gather(ids)], statuses)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        tolerations = [t for t in pod.spec.tolerations if t.effect in ("", SOFT_EFFECT)]
        state.write(STATE_KEY, tolerations)
        return SUCCESS

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        """Return the number of soft taints that the pod does not tolerate; fewer is better."""
        try:
            tolerations: list[Toleration] = state.read(STATE_KEY)
        except PluginError as missing:
            raise PluginError(f"failed to read{str(missing).removeprefix('reading')}") from None
        ids, sets = nodes.snapshot.taint_sets
        compares = self._compares
        counts = [
            sum(t.effect == SOFT_EFFECT and not tolerated(tolerations, t, compares) for t in taints)
            for taints in sets
        ]
        return np.array(counts, dtype=np.int64)[nodes.gather(ids)]

    def normalize_scores(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
    ) -> Scores:
        return default_normalize_score(scores, reverse=True)

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        hard = [t for t in node.object.spec.taints if t.effect in HARD_EFFECTS]
        return [f"not tolerated: {', '.join(map(taint_text, self._untolerated(hard, pod)))}"]

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Iterator[Proposal]:
        hard = [t for t in node.object.spec.taints if t.effect in HARD_EFFECTS]
        # NodeUnschedulable proposes to uncordon the node, which takes its taint away.
        is_cordoned = node.object.spec.unschedulable
        taints = [
            t for t in self._untolerated(hard, pod) if not (is_cordoned and t.key == CORDON.key)
        ]
        if not taints:
            yield Proposal("uncordon", f"uncordon {node.name}", (f"uncordon {node.name}",))
            return
        owners = {t.key: owner for t in taints if (owner := owner_of_taint(t.key)) is not None}
        if any(owner.leaves for owner in owners.values()):
            return  # so does the node
        by_controller = [t for t in taints if t.key in owners]
        others = [t for t in taints if t.key not in owners]
        if owners:
            sentences = {
                owners[t.key].key: taint_sentence(owners[t.key], taint_text(t), node.name)
                for t in by_controller
            }
            text = f"get {node.name} ready: {'; '.join(sentences.values())}"
            lines = _without(node, by_controller)
            patch, more = _tolerating(pod, others), ""
            if others:
                more = f", and tolerate {' and '.join(map(taint_text, others))}"
            yield Proposal("condition", text + more, lines, patch=patch, amount=len(taints))
            return
        text = " and ".join(map(taint_text, taints))
        patch = _tolerating(pod, taints)
        yield Proposal("toleration", f"tolerate {text}", patch=patch, amount=len(taints))
        noun = "taint" if len(taints) == 1 else "taints"
        text = f"remove the {noun} {text} from {node.name}"
        yield Proposal("untaint", text, _without(node, taints), amount=len(taints))

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        taints = [t for t in node.object.spec.taints if t.effect == SOFT_EFFECT]
        text = ", ".join(map(taint_text, self._untolerated(taints, pod)))
        return [f"not tolerated: {text}"] if text else []

    def _untolerated(self, taints: Iterable[Taint], pod: PodInfo) -> list[Taint]:
        tolerations, compares = pod.spec.tolerations, self._compares
        return [taint for taint in taints if not tolerated(tolerations, taint, compares)]


def _without(node: NodeInfo, taints: Iterable[Taint]) -> tuple[str, ...]:
    """Return the changes that remove the taints."""
    return tuple(f"taint nodes {node.name} {taint.key}:{taint.effect}-" for taint in taints)


def _tolerating(pod: PodInfo, taints: Sequence[Taint]) -> dict[str, Any]:
    """Return the patch with which the pod also tolerates the taints, or no patch for no taints."""
    if not taints:
        return {}
    added = [{"key": t.key, "operator": "Exists", "effect": t.effect} for t in taints]
    for toleration, taint in zip(added, taints, strict=True):
        if taint.value:
            toleration |= {"operator": "Equal", "value": taint.value}
    return {"spec": {"tolerations": [*plain_fields(pod.spec.tolerations), *added]}}


class PreFilteringTaintToleration(TaintToleration, PassingPreFilter):
    """The plugin of later minors."""


def taint_text(taint: Taint) -> str:
    """Return the taint as kubectl writes it."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def first_untolerated(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], compares: bool = False
) -> Taint | None:
    """Return the first hard taint that none of the tolerations covers. compares: see
    `tolerates`."""
    for taint in taints:
        if taint.effect in HARD_EFFECTS and not tolerated(tolerations, taint, compares):
            return taint
    return None
