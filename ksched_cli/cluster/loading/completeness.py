"""The parts of its cluster that a state lacks, a line each.

Only states that an API server wrote are judged: whoever writes one by hand leaves out what does not
matter to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.state import ClusterState

SYSTEM_NAMESPACE = "kube-system"
_PAUSE = "pause"  # the image of pods' sandboxes, which no container names
# Fargate's nodes take no DaemonSet's pods.
_FARGATE = ("eks.amazonaws.com/compute-type", "fargate")
_NOT_RUNNING = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_MAX_LISTED = 3
# registry.example.com:5000/team/web:1@sha256:… → web
_REPOSITORY = re.compile(r"([^/@:]+)(:[^/@]*)?(@.*)?$")


def is_dump(state: ClusterState) -> bool:
    """Whether an API server wrote the nodes, and kubelets their status."""
    return any(_is_real(node) for node in state.nodes)


def _is_real(node: Node) -> bool:
    return bool(node.uid and node.status.images)


def part_warnings(state: ClusterState) -> Iterator[str]:
    """Return a line where the state seems to be part of a cluster, with the signs of it."""
    if "Node" in state.whole_kinds or not is_dump(state):
        return
    signs = [*_namespace_signs(state), *_daemon_signs(state)]
    if signs:
        yield (
            f"the state looks like part of a cluster: {'; '.join(signs)}. Missing pods "
            "use no capacity here. Read all namespaces: kubectl get -A, cluster-info "
            "dump --all-namespaces"
        )


def budget_warnings(state: ClusterState) -> Iterator[str]:
    """A line where pods are evicted, and nothing tells whether the cluster has budgets."""
    is_settled = state.pod_disruption_budgets or "PodDisruptionBudget" in state.whole_kinds
    if not is_settled and is_dump(state):
        yield (
            "no PodDisruptionBudgets in the state: evictions are decided as if the cluster had none"
            " (add those of kubectl get poddisruptionbudgets -A)"
        )


def _namespace_signs(state: ClusterState) -> Iterator[str]:
    namespaces = sorted({pod.namespace for pod in state.pods})
    if not namespaces:
        yield "it has no pods"
    elif SYSTEM_NAMESPACE not in namespaces:
        others = (
            f"all pods are in {namespaces[0]}"
            if len(namespaces) == 1
            else "only pods of other namespaces"
        )
        yield f"no pods of namespace {SYSTEM_NAMESPACE}, {others}"
    elif len(namespaces) <= 2:  # what cluster-info dump writes of a namespace
        images, used = _images(state)
        if len(used) * 2 < len(images):
            unused = (
                f"{len(images) - len(used)} of {len(images)} images on the nodes belong to "
                "other pods"
            )
            yield f"only pods of {' and '.join(namespaces)}, and {unused}"


def _images(state: ClusterState) -> tuple[set[str], set[str]]:
    """Return the repositories of images that nodes hold, and those of them that some pod uses."""
    names = {name for node in state.nodes for image in node.status.images for name in image.names}
    held = {_repository(name) for name in names} - {_PAUSE}
    images = {
        container.image
        for spec in {id(pod.spec): pod.spec for pod in state.pods}.values()
        for container in (*spec.containers, *spec.init_containers)
    }
    return held, held & {_repository(image) for image in images}


def _repository(image: str) -> str:
    match = _REPOSITORY.search(image)
    return match[1] if match else image


def _daemon_signs(state: ClusterState) -> Iterator[str]:
    """Nodes that run no DaemonSet's pod, though every one has some of the cluster's own."""
    served = {
        pod.node_name
        for pod in state.pods
        if (owner := pod.metadata.controller) is not None and owner.kind == "DaemonSet"
    }
    nodes = [node for node in state.nodes if _is_real(node) and _takes_daemons(node)]
    bare = [node.name for node in nodes if node.name not in served]
    if bare and len(bare) == len(nodes):
        yield "no node has a pod of a DaemonSet"
    elif bare:
        more = ", …" if len(bare) > _MAX_LISTED else ""
        listed = f"{', '.join(bare[:_MAX_LISTED])}{more}"
        lack = "has" if len(bare) == 1 else "have"
        yield f"{len(bare)} of {len(nodes)} nodes {lack} no pod of a DaemonSet ({listed})"


def _takes_daemons(node: Node) -> bool:
    key, value = _FARGATE
    is_running = not any(taint.key in _NOT_RUNNING for taint in node.spec.taints)
    return is_running and node.metadata.labels.get(key) != value
