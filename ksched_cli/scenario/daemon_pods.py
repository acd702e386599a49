"""The nodes on which a DaemonSet runs its pods. Upstream: pkg/controller/daemon."""

from __future__ import annotations

from ksched_cli.cluster.node_affinity import required_node_affinity
from ksched_cli.cluster.objects import DaemonSet, Node, Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.tolerations import tolerated
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.kube.selectors import SelectorError
from ksched_cli.scenario.manifests import daemon_template, pod_manifest
from ksched_cli.scenario.objects import load_objects


def daemon_model(state: ClusterState, daemon_set: DaemonSet) -> Pod | None:
    """A pod as the DaemonSet would make it, for no node yet; None where it has no template.

    Raises InputError where the template is not valid.
    """
    plain = plain_json(daemon_set.raw) if bytes(daemon_set.raw) else {}
    template = (plain.get("spec") or {}).get("template") or {}
    if not template:
        return None
    manifest = pod_manifest(
        daemon_template(template), daemon_set, "DaemonSet", f"{daemon_set.name}-model"
    )
    source = f"the template of DaemonSet {daemon_set.key}"
    return load_objects(state, [manifest], source).pods[0]


def should_run_on(model: Pod, node: Node) -> bool:
    """Whether a daemon pod should run on the node. Upstream: NodeShouldRunDaemonPod.

    model: a pod of the template, with the tolerations of daemon pods
    """
    return _fits(model, node, ("NoSchedule", "NoExecute"))


def should_continue_on(model: Pod, node: Node) -> bool:
    """Whether one that runs on the node should stay. Upstream: NodeShouldRunDaemonPod."""
    return _fits(model, node, ("NoExecute",))


def _fits(model: Pod, node: Node, effects: tuple[str, ...]) -> bool:
    """effects: of the taints that it has to tolerate"""
    if model.node_name not in ("", node.name):
        return False
    try:
        if not required_node_affinity(model.spec).matches(node.name, node.metadata.labels):
            return False
    except SelectorError:
        return False
    return all(
        tolerated(model.spec.tolerations, taint)
        for taint in node.spec.taints
        if taint.effect in effects
    )


def target_node(pod: Pod) -> str:
    """The node of a daemon pod, bound or not. Upstream: GetTargetNodeName."""
    affinity = pod.spec.affinity
    node_affinity = affinity.node_affinity if affinity else None
    required = (
        node_affinity.required_during_scheduling_ignored_during_execution if node_affinity else None
    )
    if pod.node_name or required is None:
        return pod.node_name
    for term in required.node_selector_terms:
        for expression in term.match_fields:
            if expression.key == "metadata.name" and expression.operator == "In":
                return "".join(expression.values[:1])
    return ""
