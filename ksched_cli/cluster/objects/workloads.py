"""The objects that pods belong to: namespaces, priorities, services, owners, disruption budgets.

Upstream: k8s.io/api/{core,apps,policy,scheduling}/v1/types.go, and k8s.io/api/scheduling/v1alpha2,
v1alpha3 and v1beta1 (PodGroup, CompositePodGroup).
"""

from __future__ import annotations

from typing import Any

import msgspec

from ksched_cli.cluster.objects.base import (
    Int32,
    Int64,
    KubeObject,
    LabelSelector,
    ObjectMeta,
    Record,
)
from ksched_cli.cluster.objects.pod import PodResourceClaim, PodResourceClaimStatus, PodSpec
from ksched_cli.cluster.objects.storage import PersistentVolumeClaim
from ksched_cli.kube.stored_bytes import ObjectJson


class GangPolicy(Record, frozen=True):
    """min_count: of a PodGroup; min_group_count: of a CompositePodGroup"""

    min_count: int = 0
    min_group_count: int = 0


class GroupSchedulingPolicy(Record, frozen=True):
    basic: dict[str, Any] | None = None
    gang: GangPolicy | None = None


class TopologyConstraint(Record, frozen=True):
    key: str = ""


class GroupConstraints(Record, frozen=True):
    topology: tuple[TopologyConstraint, ...] = ()


class DisruptionMode(Record, frozen=True):
    single: dict[str, Any] | None = None
    all: dict[str, Any] | None = None


class WorkloadReference(Record, frozen=True):
    workload_name: str = ""


class GroupTemplateReference(Record, frozen=True):
    workload: WorkloadReference | None = None


class PodGroupSpec(Record, frozen=True):
    """disruption_mode: a word in the former API, whose template pod_group_template_ref names;
    resource_claims: those of its pods that are the group's"""

    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadReference | None = None
    pod_group_template_ref: GroupTemplateReference | None = None
    scheduling_policy: GroupSchedulingPolicy = GroupSchedulingPolicy()
    scheduling_constraints: GroupConstraints | None = None
    disruption_mode: str | DisruptionMode | None = None
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    resource_claims: tuple[PodResourceClaim, ...] = ()


class PodGroupStatus(Record, frozen=True):
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()


class PodGroupObject(KubeObject, frozen=True):
    """A PodGroup or CompositePodGroup."""

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class Namespace(KubeObject, frozen=True):
    """Its labels include kubernetes.io/metadata.name."""


class PriorityClass(KubeObject, frozen=True):
    """preemption_policy: what its pods get, unless they say otherwise."""

    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


class PodDisruptionBudgetSpec(Record, frozen=True):
    """selector: None matches no pod, an empty one every pod of the namespace."""

    selector: LabelSelector | None = None
    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None
    unhealthy_pod_eviction_policy: str = ""


class PodDisruptionBudgetStatus(Record, frozen=True):
    """disrupted_pods: names of pods whose eviction was granted → when."""

    disruptions_allowed: Int32 = 0
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    disrupted_pods: dict[str, str] = msgspec.field(default_factory=dict)


class PodDisruptionBudget(KubeObject, frozen=True):
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = msgspec.field(default_factory=PodDisruptionBudgetStatus)


class ServiceSpec(Record, frozen=True):
    selector: dict[str, str] = msgspec.field(default_factory=dict)


class Service(KubeObject, frozen=True):
    spec: ServiceSpec = msgspec.field(default_factory=ServiceSpec)


class PodTemplate(Record, frozen=True):
    """Pods are made of the template's JSON; here it is decoded so that what is wrong is said."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PodSpec = msgspec.field(default_factory=PodSpec)


class Workload(KubeObject, frozen=True):
    """An object whose controller makes pods. raw: the JSON as it came."""

    raw: ObjectJson = msgspec.Raw()


class ReplicationControllerSpec(Record, frozen=True):
    """selector: the template's labels where the object gives none."""

    selector: dict[str, str] = msgspec.field(default_factory=dict)
    template: PodTemplate | None = None
    replicas: Int32 | None = None


class ReplicationController(Workload, frozen=True):
    spec: ReplicationControllerSpec = msgspec.field(default_factory=ReplicationControllerSpec)


class ReplicaSetSpec(Record, frozen=True):
    selector: LabelSelector | None = None
    replicas: Int32 | None = None
    template: PodTemplate | None = None
    min_ready_seconds: Int32 = 0


class ReplicaSet(Workload, frozen=True):
    spec: ReplicaSetSpec = ReplicaSetSpec()


class RollingUpdate(Record, frozen=True):
    """How many pods may be there beside the others, and how many may be missing."""

    max_surge: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None


class UpdateStrategy(Record, frozen=True):
    """How pods of a changed template replace the others."""

    type: str = ""
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(ReplicaSetSpec, frozen=True):
    strategy: UpdateStrategy = UpdateStrategy()


class Deployment(Workload, frozen=True):
    spec: DeploymentSpec = DeploymentSpec()


class StatefulSetOrdinals(Record, frozen=True):
    start: Int32 = 0


class RollingUpdateStatefulSetStrategy(Record, frozen=True):
    """partition: the first ordinal that is replaced"""

    partition: Int32 | None = None
    max_unavailable: Int32 | str | None = None


class StatefulSetUpdateStrategy(Record, frozen=True):
    """How pods of a changed template replace the others."""

    type: str = ""
    rolling_update: RollingUpdateStatefulSetStrategy | None = None


class StatefulSetSpec(ReplicaSetSpec, frozen=True):
    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    ordinals: StatefulSetOrdinals = StatefulSetOrdinals()
    pod_management_policy: str = ""
    update_strategy: StatefulSetUpdateStrategy = StatefulSetUpdateStrategy()


class StatefulSet(Workload, frozen=True):
    spec: StatefulSetSpec = StatefulSetSpec()


class DaemonSetSpec(Record, frozen=True):
    selector: LabelSelector | None = None
    template: PodTemplate | None = None
    min_ready_seconds: Int32 = 0
    update_strategy: UpdateStrategy = UpdateStrategy()


class DaemonSet(Workload, frozen=True):
    spec: DaemonSetSpec = DaemonSetSpec()


class JobSpec(Record, frozen=True):
    """completions: None where any success ends the job."""

    parallelism: Int32 | None = None
    completions: Int32 | None = None
    suspend: bool = False
    active_deadline_seconds: Int64 | None = None
    template: PodTemplate | None = None


class JobCondition(Record, frozen=True):
    type: str = ""
    status: str = ""


class JobStatus(Record, frozen=True):
    succeeded: Int32 = 0
    start_time: str = ""
    conditions: tuple[JobCondition, ...] = ()


class Job(Workload, frozen=True):
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplate(Record, frozen=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: JobSpec = JobSpec()


class CronJobSpec(Record, frozen=True):
    suspend: bool = False
    job_template: JobTemplate | None = None


class CronJob(Workload, frozen=True):
    spec: CronJobSpec = CronJobSpec()
