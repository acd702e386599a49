"""The pods that may be evicted so that another pod gets their place."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.cluster.pod_info import PodInfo

MOST_NAMED = 3
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"


def may_make_room(other: PodInfo, pod: PodInfo) -> bool:
    """Whether the other pod, evicted, does not come back before the pod has its place: one of a
    higher priority does, and so do those of DaemonSets and static ones."""
    owner = other.pod.metadata.controller
    is_of_node = owner is not None and owner.kind in ("DaemonSet", "Node")
    is_static = MIRROR_ANNOTATION in other.pod.metadata.annotations
    return other.priority <= pod.priority and not (is_of_node or is_static or other.pod.deleting)


def named(pods: Sequence[PodInfo]) -> str:
    """The keys of the first pods, and the number of the others."""
    keys = [pod.key for pod in pods[:MOST_NAMED]]
    rest = len(pods) - len(keys)
    return ", ".join(keys) + (f" and {rest} more" if rest else "")
