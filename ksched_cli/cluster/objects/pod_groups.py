"""Groups of pods, and groups of groups, as their objects have them.

Upstream: k8s.io/api/scheduling/v1alpha2, v1alpha3 and v1beta1 (PodGroup, CompositePodGroup).
"""

from __future__ import annotations

from typing import Any

from ksched_cli.cluster.objects.base import KubeObject, Record


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
    """disruption_mode: a word in the former API, whose template pod_group_template_ref names"""

    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadReference | None = None
    pod_group_template_ref: GroupTemplateReference | None = None
    scheduling_policy: GroupSchedulingPolicy = GroupSchedulingPolicy()
    scheduling_constraints: GroupConstraints | None = None
    disruption_mode: str | DisruptionMode | None = None
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""


class PodGroupObject(KubeObject, frozen=True):
    """A PodGroup or CompositePodGroup."""

    spec: PodGroupSpec = PodGroupSpec()
