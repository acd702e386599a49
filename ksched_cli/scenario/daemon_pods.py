"""On which nodes a DaemonSet runs its pods. Upstream: pkg/controller/daemon."""

from __future__ import annotations

from ksched_cli.cluster.node_affinity import required_node_affinity
from ksched_cli.cluster.objects import Node, Pod
from ksched_cli.cluster.tolerations import tolerated
from ksched_cli.kube.selectors import SelectorError


def should_run_on(model: Pod, node: Node) -> bool:
    """Whether a daemon pod should run on the node. Upstream: NodeShouldRunDaemonPod.

    model: a pod of the template, with the tolerations of daemon pods
    """
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
        if taint.effect in ("NoSchedule", "NoExecute")
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
