"""Pods. Upstream: k8s.io/api/core/v1/types.go."""

from __future__ import annotations

import msgspec

from ksched_cli.cluster.objects.base import (
    Int32,
    Int64,
    KubeObject,
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    Record,
    ResourceList,
    Time,
)
from ksched_cli.cluster.objects.volumes import Volume
from ksched_cli.kube.quantity import Quantity
from ksched_cli.kube.stored_bytes import ObjectJson


class ContainerPort(Record, frozen=True):
    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = "TCP"
    name: str = ""


class ResourceClaimUse(Record, frozen=True):
    """A container's use of one of its pod's claims."""

    name: str = ""
    request: str = ""


class ResourceRequirements(Record, frozen=True):
    requests: ResourceList = msgspec.field(default_factory=dict)
    limits: ResourceList = msgspec.field(default_factory=dict)
    claims: tuple[ResourceClaimUse, ...] = ()


class ContainerRestartRule(Record, frozen=True):
    action: str = ""


class VolumeMount(Record, frozen=True):
    bind_mount_options: tuple[str, ...] = ()


class SeccompProfile(Record, frozen=True):
    type: str = ""


class SecurityContext(Record, frozen=True):
    """What a container, or a pod as a whole, may do on its node."""

    seccomp_profile: SeccompProfile | None = None


class Container(Record, frozen=True):
    """restart_policy is "Always" for a sidecar among the init containers, else ""."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = msgspec.field(default_factory=ResourceRequirements)
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    security_context: SecurityContext | None = None

    @property
    def is_sidecar(self) -> bool:
        return self.restart_policy == "Always"


class Toleration(Record, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class PreferredSchedulingTerm(Record, frozen=True):
    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Record, frozen=True):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class PodAffinityTerm(Record, frozen=True):
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Record, frozen=True):
    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Record, frozen=True):
    """Pod affinity or pod anti-affinity: both have the same fields."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(Record, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Record, frozen=True):
    """The policies are None where the pod does not say; the plugin has the defaults."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class PodResourceClaim(Record, frozen=True):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGate(Record, frozen=True):
    name: str = ""


class PodSchedulingGroup(Record, frozen=True):
    """The PodGroup that a pod is scheduled with; from 1.36 on."""

    pod_group_name: str = ""


class PodSpec(Record, frozen=True, eq=False, gc=True, weakref=True):
    """Pods of one template share this object: compare and hash it by identity.

    The node is not here but in Pod.node_name, so that bound pods share their spec too.
    The random end of the name of a service account token's volume is any such pod's.

    priority: never None in a loaded state
    """

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    scheduler_name: str = "default-scheduler"
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    overhead: ResourceList = msgspec.field(default_factory=dict)
    runtime_class_name: str = ""
    resources: ResourceRequirements | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    volumes: tuple[Volume, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None
    host_network: bool = False
    host_users: bool | None = None
    security_context: SecurityContext | None = None
    ephemeral_containers: tuple[Container, ...] = ()
    termination_grace_period_seconds: Int64 | None = None

    @property
    def required_nodes(self) -> NodeSelector | None:
        """Return the selector of its required node affinity."""
        affinity = self.affinity and self.affinity.node_affinity
        return affinity.required_during_scheduling_ignored_during_execution if affinity else None


class PodCondition(Record, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class ContainerStatus(Record, frozen=True):
    """What a node granted a container; it differs from the spec while a resize is under way."""

    name: str = ""
    allocated_resources: ResourceList = msgspec.field(default_factory=dict)
    resources: ResourceRequirements | None = None


class PodResourceClaimStatus(Record, frozen=True):
    """resource_claim_name: the claim made from the template; None if none was needed."""

    name: str = ""
    resource_claim_name: str | None = None


class MappedResource(Record, frozen=True):
    """What the devices of a claim are of one of the node's resources."""

    name: str = ""
    quantity: Quantity | None = None


class OverheadResource(Record, frozen=True):
    """What the devices of a claim take of one of the node's resources."""

    name: str = ""
    per_pod: Quantity | None = None
    per_container: Quantity | None = None


class NodeAllocatableClaimStatus(Record, frozen=True):
    """What a claim of the pod takes of its node's allocatable resources.

    containers: the names of those that use it, once for each use
    resources: of 1.36, in place of mapping and overhead
    """

    resource_claim_name: str = ""
    containers: tuple[str, ...] = ()
    mapping: tuple[MappedResource, ...] = ()
    overhead: tuple[OverheadResource, ...] = ()
    resources: dict[str, Quantity] = msgspec.field(default_factory=dict)


class PodStatus(Record, frozen=True, omit_defaults=True):
    phase: str = "Pending"
    nominated_node_name: str = ""
    start_time: Time = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList = msgspec.field(default_factory=dict)
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableClaimStatus, ...] = ()


MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
FINISHED_PHASES = ("Succeeded", "Failed")

# The status of a pod that a change made pending again; compared by identity.
PENDING_AGAIN = PodStatus()


class Pod(KubeObject, frozen=True):
    """A pod, with the API server's defaults.

    node_name: the node it is bound to, or ""
    raw:       the JSON as it came, for extenders; empty in a pod that was made otherwise
    """

    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)
    node_name: str = ""
    raw: ObjectJson = msgspec.Raw()

    @property
    def finished(self) -> bool:
        """It takes no room on its node any more."""
        return self.status.phase in FINISHED_PHASES

    @property
    def is_mirror(self) -> bool:
        """It stands for a static pod of a kubelet. Upstream: IsMirrorPod."""
        return MIRROR_ANNOTATION in self.metadata.annotations

    @property
    def deleting(self) -> bool:
        return bool(self.metadata.deletion_timestamp)
