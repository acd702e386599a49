"""Pods that leave because their node changed: evicted for a NoExecute taint, or daemon pods that
may not run there any more.

Upstream: pkg/controller/tainteviction/taint_eviction.go (processPodOnNode),
plugin/pkg/admission/defaulttolerationseconds (what pods tolerate that say nothing of it),
pkg/controller/daemon/daemon_controller.go (podsShouldBeOnNode).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from msgspec import structs

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.objects import Node, Pod, Taint
from ksched_cli.cluster.objects.pod import Toleration
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.tolerations import tolerates
from ksched_cli.scenario.daemon_pods import daemon_model, should_continue_on
from ksched_cli.scenario.pod_passes import newest_timestamp, replace_pods, select_on_nodes
from ksched_cli.scenario.pods import (
    is_of_daemon_set,
    is_owned_by,
    is_running,
    is_static,
    pending_again,
    without_pods,
)

UNREACHABLE = "node.kubernetes.io/unreachable"
NOT_READY_TAINTS = ("node.kubernetes.io/not-ready", UNREACHABLE)
_DEFAULT_SECONDS = 300
_LONG_AGO = "1970-01-01T00:00:00Z"


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
    leaving, gone, held, effects = [], [], [], []
    for pod in select_on_nodes(state.pods, {name for name, own in taints.items() if own}):
        own = taints[pod.node_name]
        seconds = tolerated_for(pod, own)
        if seconds is None or not is_running(pod) or is_static(pod):
            continue
        detail = f"was on {pod.node_name}"
        detail += f", tolerated for {seconds} s" if seconds else ""
        if is_held(pod) and any(taint.key == UNREACHABLE for taint in own):
            held.append(pod)
            effects.append(Effect(pod.key, "being deleted", "until its node is back"))
            continue
        if pod.metadata.controller is not None and not is_of_daemon_set(pod):
            leaving.append(pod)
            effects.append(Effect(pod.key, "pending again", detail))
            continue
        gone.append(pod)
        controller = "may not run there" if is_of_daemon_set(pod) else "no controller"
        effects.append(Effect(pod.key, "deleted", f"{detail}; {controller}"))
    state = pending_again(without_pods(state, gone), leaving)
    # No kubelet hears of the deletion.
    return with_deletion(state, held, newest_timestamp(state.pods) or _LONG_AGO)[0], effects


def with_deletion(
    state: ClusterState, pods: Collection[Pod], at: str
) -> tuple[ClusterState, list[Pod]]:
    """The state in which these pods are being deleted since then, and the pods as they are in it.
    at: "" for not being deleted"""
    marked: dict[int, Pod | None] = {}
    changed = []
    for pod in pods:
        metadata = structs.replace(pod.metadata, deletion_timestamp=at)
        changed.append(structs.replace(pod, metadata=metadata))
        marked[id(pod)] = changed[-1]
    return replace(state, pods=replace_pods(state.pods, marked)) if marked else state, changed


def is_held(pod: Pod) -> bool:
    """Whether its controller makes another one only once it is gone, for which its node has to
    answer. Upstream: pkg/controller/statefulset."""
    return is_owned_by(pod, "StatefulSet")


def tolerated_for(pod: Pod, taints: Collection[Taint]) -> int | None:
    """For how many seconds a pod tolerates NoExecute taints: 0 where it does not tolerate one, None
    where it tolerates all for ever. Upstream: GetMatchingTolerations, getMinTolerationTime."""
    limits = []
    for taint in taints:
        toleration = next((t for t in pod.spec.tolerations if tolerates(t, taint)), None)
        if toleration is None and taint.key in NOT_READY_TAINTS:
            toleration = _default_toleration(pod, taint)
        if toleration is None:
            return 0
        if toleration.toleration_seconds is not None:
            limits.append(max(0, toleration.toleration_seconds))
    return min(limits, default=None)


def _default_toleration(pod: Pod, taint: Taint) -> Toleration | None:
    """What the API server, and the DaemonSet controller, add to a pod that says nothing of this
    taint."""
    if is_of_daemon_set(pod):
        return Toleration(taint.key, "Exists", effect=taint.effect)
    for own in pod.spec.tolerations:
        if own.key in (taint.key, "") and own.effect in (taint.effect, ""):
            return None
    return Toleration(taint.key, "Exists", "", taint.effect, _DEFAULT_SECONDS)


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
        Effect(pod.key, "deleted", f"was on {pod.node_name}; may not run there") for pod in stray
    ]
    return without_pods(state, stray), effects
