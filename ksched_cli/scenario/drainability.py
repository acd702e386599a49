"""What keeps a node from being drained for good: annotations of nodes and pods, pods that nobody
makes anew, local storage.

Upstream: cluster-autoscaler's simulator/drainability/rules and utils/drain, Karpenter's
pkg/controllers/state/statenode.go (ValidateNodeDisruptable, ValidatePodsDisruptable) and
pkg/utils/pod/scheduling.go (IsDoNotDisruptActive).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ksched_cli.cluster.objects import Node, Pod
from ksched_cli.kube.formatting import DurationError, parse_duration
from ksched_cli.kube.plain_json import typed_json
from ksched_cli.kube.time import unix_seconds
from ksched_cli.scenario.pods import is_of_daemon_set, is_static

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
NO_CONTROLLER = "no controller would create it again"


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


def goes_with_node(pod: Pod) -> bool:
    """Whether the pod needs no other node when its own goes."""
    return pod.finished or is_of_daemon_set(pod) or is_static(pod)


def local_volumes(pod: Pod) -> list[str]:
    """The pod's volumes whose contents are lost on another node, without those that an annotation
    calls safe."""
    safe = pod.metadata.annotations.get(SAFE_VOLUMES, "").split(",")
    return [each.name for each in _volumes(pod) if each.is_local and each.name not in safe]


def has_empty_dir(pod: Pod) -> bool:
    return any(volume.empty_dir is not None for volume in _volumes(pod))


def _volumes(pod: Pod) -> Sequence[_Volume]:
    """The pod's volumes, if any is an emptyDir or a hostPath. They are read from its JSON, as the
    scheduler does not look at such volumes."""
    raw = bytes(pod.raw)
    if b'"emptyDir"' not in raw and b'"hostPath"' not in raw:
        return ()
    spec = typed_json(raw, _WithVolumes).spec
    return (spec and spec.volumes) or ()


def node_stays(node: Node) -> str:
    """Return the annotation that keeps the node, or ""."""
    annotations = node.metadata.annotations
    for key in (SCALE_DOWN_DISABLED, DO_NOT_DISRUPT):
        if annotations.get(key) == "true":
            return f"it is annotated {key}=true"
    return ""


@dataclass(frozen=True, slots=True)
class PodRules:
    """Which pods keep their node, whatever budgets allow and wherever they would fit.

    now: seconds since 1970, for annotations that hold for a time
    force: pods without a controller leave
    loses_local_storage: pods with emptyDir and hostPath volumes leave
    """

    now: float
    force: bool = False
    loses_local_storage: bool = False

    def pod_stays(self, pod: Pod) -> str:
        """Return why the pod keeps its node, or ""."""
        if pod.finished or pod.deleting:
            return ""
        if value := self._undisrupted(pod):
            return f"annotated {DO_NOT_DISRUPT}={value}"
        if goes_with_node(pod):
            return ""
        safe = pod.metadata.annotations.get(SAFE_TO_EVICT)
        if safe in ("false", "on-completion"):
            return f"annotated {SAFE_TO_EVICT}={safe}"
        if safe == "true":
            return ""
        if pod.metadata.controller is None and not self.force:
            return NO_CONTROLLER
        volumes = [] if self.loses_local_storage else local_volumes(pod)
        if volumes:
            return f"local storage: {', '.join(volumes)}"
        return ""

    def _undisrupted(self, pod: Pod) -> str:
        """The annotation's value where it holds: "true", or a time since the pod's start."""
        value = pod.metadata.annotations.get(DO_NOT_DISRUPT, "")
        if value in ("", "true"):
            return value
        try:
            seconds = parse_duration(value) / 1e9
        except DurationError:
            return ""
        started = pod.status.start_time
        holds = not started or self.now - unix_seconds(started) < seconds
        return value if seconds > 0 and holds else ""
