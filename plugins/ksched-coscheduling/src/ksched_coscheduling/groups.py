"""PodGroups and their state in a run: members, assigned pods, and times of failures.

Upstream: kubernetes-sigs/scheduler-plugins, pkg/coscheduling/core/core.go (PodGroupManager).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ksched_cli.api import (
    ClusterState,
    Handle,
    PluginError,
    Pod,
    PodInfo,
    Quantity,
    QuantityError,
    Snapshot,
)

KIND = "PodGroup.scheduling.x-k8s.io"
LABEL = "scheduling.x-k8s.io/pod-group"


@dataclass(frozen=True, slots=True)
class PodGroup:
    """created: seconds since 1970, 0 where the state does not say; min_resources: in scheduler
    units; timeout: seconds, None where the group does not say."""

    name: str
    min_member: int
    created: float = 0.0
    timeout: int | None = None
    min_resources: Mapping[str, int] = field(default_factory=dict)


def group_of(labels: Mapping[str, str], namespace: str) -> str:
    """The key of the group that a pod names, "" where it names none."""
    name = labels.get(LABEL, "")
    return f"{namespace}/{name}" if name else ""


def read_groups(cluster: ClusterState) -> dict[str, PodGroup]:
    """By namespace/name."""
    groups = (_read(plain) for plain in cluster.others.get(KIND, ()))
    return {group.name: group for group in groups}


def _read(plain: Mapping[str, Any]) -> PodGroup:
    meta, spec = plain.get("metadata") or {}, plain.get("spec") or {}
    name = f"{meta.get('namespace') or 'default'}/{meta.get('name', '')}"
    try:
        created = meta.get("creationTimestamp")
        return PodGroup(
            name,
            int(spec.get("minMember") or 0),
            datetime.fromisoformat(created).timestamp() if created else 0.0,
            spec.get("scheduleTimeoutSeconds"),
            {
                key: _amount(key, str(text))
                for key, text in (spec.get("minResources") or {}).items()
            },
        )
    except (TypeError, ValueError, QuantityError) as error:
        raise PluginError(f"PodGroup {name}: {error}") from None


def _amount(resource: str, text: str) -> int:
    amount = Quantity.parse(text)
    return amount.milli_value() if resource == "cpu" else amount.value()


class Assigned:
    """How many pods of each group are on a node, bound or not; follows the snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.count: Counter[str] = Counter()
        for pods in snapshot.pods:
            self._change(pods, 1)
        snapshot.subscribe(self)

    def pod_added(self, pod: PodInfo, row: int) -> None:
        self._change((pod,), 1)

    def pod_removed(self, pod: PodInfo, row: int) -> None:
        self._change((pod,), -1)

    def _change(self, pods: Iterable[PodInfo], by: int) -> None:
        for pod in pods:
            group = group_of(pod.labels, pod.namespace)
            if group:
                self.count[group] += by


@dataclass(slots=True)
class GroupTimes:
    """What is remembered of groups, by name, in seconds since 1970.

    failed:    when the group failed last; paused: until when its pods are not tried
    permitted: until when minResources are not checked again
    """

    failed: dict[str, float] = field(default_factory=dict)
    paused: dict[str, float] = field(default_factory=dict)
    permitted: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Groups:
    """The state shared by all profiles of a run; follows the pods of a replay.

    members: keys of each group's pods, with whether they have scheduling gates
    """

    by_name: Mapping[str, PodGroup]
    assigned: Assigned
    members: dict[str, dict[str, bool]] = field(default_factory=dict)
    times: GroupTimes = field(default_factory=GroupTimes)

    @classmethod
    def of(cls, handle: Handle) -> Groups:
        """As the state has them; `handle.service(Groups.of)` is one for the whole run."""
        groups = cls(read_groups(handle.cluster), Assigned(handle.snapshot))
        for pod in handle.cluster.pods:
            groups.pod_came(pod)
        return groups

    def pod_came(self, pod: Pod) -> None:
        """The pod is there, or has changed."""
        group = group_of(pod.metadata.labels, pod.metadata.namespace)
        if group:
            self.members.setdefault(group, {})[pod.key] = bool(pod.spec.scheduling_gates)

    def pod_left(self, pod: Pod) -> None:
        """The pod is no more."""
        group = group_of(pod.metadata.labels, pod.metadata.namespace)
        self.members.get(group, {}).pop(pod.key, None)
