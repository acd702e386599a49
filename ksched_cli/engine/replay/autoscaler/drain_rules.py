"""Which pods keep their node from being removed, as in the cluster-autoscaler's drainability rules.

Where several rules speak of a pod, the first decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.kube.plain_json import typed_json
from ksched_cli.scenario.node_groups import AutoscalerSettings
from ksched_cli.scenario.pods import budget_matcher, is_of_daemon_set, is_static

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
_SYSTEM = "kube-system"


class _Volume(msgspec.Struct, rename="camel"):
    name: str = ""
    empty_dir: dict[str, Any] | None = None
    host_path: dict[str, Any] | None = None

    @property
    def is_local(self) -> bool:
        in_memory = self.empty_dir is not None and self.empty_dir.get("medium") == "Memory"
        return self.host_path is not None or (self.empty_dir is not None and not in_memory)


class _Spec(msgspec.Struct):
    volumes: list[_Volume] | None = None


class _WithVolumes(msgspec.Struct):
    spec: _Spec | None = None


class DrainRules:
    """Of one state, whose disruption budgets count. Those of a replay keep their status."""

    def __init__(self, settings: AutoscalerSettings, state: ClusterState) -> None:
        self._settings = settings
        self._budgets = [
            (budget, budget_matcher(budget)) for budget in state.pod_disruption_budgets.values()
        ]

    def blocks(self, pods: Iterable[Pod]) -> str:
        """Why the pods of a node keep it, or ""."""
        allowed = [budget.status.disruptions_allowed for budget, _ in self._budgets]
        for pod in pods:
            if goes_with_node(pod) or self.is_expendable(pod):
                continue
            reason = self._keeps(pod)
            for index, (budget, covers) in enumerate(self._budgets):
                if not reason and covers(pod):
                    allowed[index] -= 1
                    if allowed[index] < 0:
                        reason = f"disruption budget {budget.key} allows no more disruptions"
            if reason:
                return f"{pod.key}: {reason}"
        return ""

    def is_expendable(self, pod: Pod) -> bool:
        return (pod.spec.priority or 0) < self._settings.expendable_pods_priority_cutoff

    def _keeps(self, pod: Pod) -> str:
        """Why this pod keeps its node whatever budgets allow, or ""."""
        safe = pod.metadata.annotations.get(SAFE_TO_EVICT)
        if pod.deleting:
            return "is being deleted"
        if safe == "true":
            return ""
        if safe == "false":
            return "annotated as not safe to evict"
        if pod.metadata.controller is None:
            return "no controller would create it again"
        settings = self._settings
        if (
            settings.skip_nodes_with_system_pods
            and pod.namespace == _SYSTEM
            and not any(covers(pod) for _, covers in self._budgets)
        ):
            return "is in kube-system, and no disruption budget covers it"
        if settings.skip_nodes_with_local_storage and _has_local_storage(pod):
            return "has local storage"
        return ""


def goes_with_node(pod: Pod) -> bool:
    """Whether the pod needs no other node when its own goes."""
    return pod.finished or is_of_daemon_set(pod) or is_static(pod)


def _has_local_storage(pod: Pod) -> bool:
    """Read from the pod's JSON: the scheduler does not look at such volumes."""
    raw = bytes(pod.raw)
    if b'"emptyDir"' not in raw and b'"hostPath"' not in raw:
        return False
    spec = typed_json(raw, _WithVolumes).spec
    safe = pod.metadata.annotations.get(SAFE_VOLUMES, "").split(",")
    return any(
        volume.is_local and volume.name not in safe for volume in (spec and spec.volumes) or ()
    )
