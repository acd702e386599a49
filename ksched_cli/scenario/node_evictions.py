"""Pods that leave because their node changed: evicted for a NoExecute taint, or daemon pods that
are not to run there any more.

Upstream: pkg/controller/tainteviction/taint_eviction.go (processPodOnNode),
pkg/controller/daemon/daemon_controller.go (podsShouldBeOnNode).
"""

from __future__ import annotations

from collections.abc import Collection

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.objects import Node, Pod, Taint
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.tolerations import tolerates
from ksched_cli.scenario.daemon_pods import daemon_model, should_continue_on
from ksched_cli.scenario.pod_passes import select_on_nodes
from ksched_cli.scenario.pods import (
    is_of_daemon_set,
    is_running,
    is_static,
    pending_again,
    without_pods,
)

_STAYS = -1


def evict_untolerating(
    state: ClusterState, nodes: Collection[str]
) -> tuple[ClusterState, list[Effect]]:
    """Without the pods that do not tolerate the NoExecute taints of these nodes for ever: their
    controllers make them anew, daemon pods and those without a controller are gone."""
    taints = {
        node.name: tuple(taint for taint in node.spec.taints if taint.effect == "NoExecute")
        for node in state.nodes
        if node.name in nodes
    }
    leaving, gone, effects = [], [], []
    for pod in select_on_nodes(state.pods, {name for name, own in taints.items() if own}):
        seconds = _tolerated_for(pod, taints[pod.node_name])
        if seconds == _STAYS or not is_running(pod) or is_static(pod):
            continue
        detail = f"was on {pod.node_name}"
        detail += f", tolerated for {seconds} s" if seconds else ""
        if pod.metadata.controller is not None and not is_of_daemon_set(pod):
            leaving.append(pod)
            effects.append(Effect(pod.key, "pending again", detail))
            continue
        gone.append(pod)
        controller = "not to run there" if is_of_daemon_set(pod) else "no controller"
        effects.append(Effect(pod.key, "deleted", f"{detail}; {controller}"))
    return pending_again(without_pods(state, gone), leaving), effects


def _tolerated_for(pod: Pod, taints: Collection[Taint]) -> int:
    """Seconds; 0 where a taint is not tolerated, _STAYS where all are for ever. Upstream:
    GetMatchingTolerations, getMinTolerationTime."""
    limits = []
    for taint in taints:
        toleration = next((t for t in pod.spec.tolerations if tolerates(t, taint)), None)
        if toleration is None:
            return 0
        if toleration.toleration_seconds is not None:
            limits.append(max(0, toleration.toleration_seconds))
    return min(limits, default=_STAYS)


def remove_stray_daemons(
    state: ClusterState, nodes: Collection[str]
) -> tuple[ClusterState, list[Effect]]:
    """Without the daemon pods on these nodes that their DaemonSet, which the state must hold, does
    not want there any more."""
    by_name: dict[str, Node] = {node.name: node for node in state.nodes if node.name in nodes}
    models: dict[tuple[str, str], Pod | None] = {}
    stray = []
    for pod in select_on_nodes(state.pods, by_name):
        owner = pod.metadata.controller
        if owner is None or owner.kind != "DaemonSet" or not is_running(pod):
            continue
        key = (pod.namespace, owner.name)
        if key not in models:
            daemon_set = state.daemon_sets.get(key)
            models[key] = None if daemon_set is None else daemon_model(state, daemon_set)
        model = models[key]
        if model is not None and not should_continue_on(model, by_name[pod.node_name]):
            stray.append(pod)
    effects = [
        Effect(pod.key, "deleted", f"was on {pod.node_name}; not to run there") for pod in stray
    ]
    return without_pods(state, stray), effects
