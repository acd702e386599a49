"""Nodes. Upstream: k8s.io/api/core/v1/types.go."""

from __future__ import annotations

import msgspec

from ksched_cli.cluster.objects.base import Int64, KubeObject, Record, ResourceList
from ksched_cli.kube.stored_bytes import ObjectJson

HOSTNAME_LABEL = "kubernetes.io/hostname"
ZONE_LABEL = "topology.kubernetes.io/zone"
REGION_LABEL = "topology.kubernetes.io/region"
UNREACHABLE = "node.kubernetes.io/unreachable"
NOT_READY_TAINTS = ("node.kubernetes.io/not-ready", UNREACHABLE)
# A kubelet takes so many pods by default.
KUBELET_PODS = "110"
# Upstream fills an absent allocatable from the capacity, and leaves an empty one alone.
ABSENT: ResourceList = {}


class Taint(Record, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str = ""


class NodePodPreemptionPolicy(Record, frozen=True):
    """disable_resize_preemption: who asks that resizes of its pods preempt none"""

    disable_resize_preemption: tuple[str, ...] = ()


class NodeSpec(Record, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = msgspec.field(name="providerID", default="")
    pod_preemption_policy: NodePodPreemptionPolicy | None = None


class ContainerImage(Record, frozen=True):
    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeSystemInfo(Record, frozen=True):
    kubelet_version: str = ""


class NodeStatus(Record, frozen=True):
    """allocatable is the capacity where the object gives none."""

    capacity: ResourceList = msgspec.field(default_factory=dict)
    allocatable: ResourceList = msgspec.field(default_factory=lambda: ABSENT)
    images: tuple[ContainerImage, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()
    declared_features: tuple[str, ...] = ()


class Node(KubeObject, frozen=True):
    """raw: the JSON as it came, for extenders; empty in a node that was made otherwise."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)
    raw: ObjectJson = msgspec.Raw()

    @property
    def is_not_ready(self) -> bool:
        """Return whether the node lifecycle controller has tainted the node for its Ready
        condition."""
        return any(taint.key in NOT_READY_TAINTS for taint in self.spec.taints)
