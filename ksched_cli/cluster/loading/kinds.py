"""The kinds of objects that a scheduler reads, with their decoders and defaults.

Objects of resource.k8s.io/v1beta1 become v1's, in place; v1beta2 has v1's fields already.

Upstream: the informers that pkg/scheduler and its plugins use; pkg/apis/resource/v1beta1
(conversion.go).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from ksched_cli.cluster.custom_objects import kind_with_group
from ksched_cli.cluster.loading import defaults
from ksched_cli.cluster.objects import (
    CronJob,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    DaemonSet,
    Deployment,
    DeviceClass,
    DeviceTaintRule,
    Job,
    KubeObject,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    Service,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
    decode_hook,
)
from ksched_cli.cluster.objects.pod_groups import PodGroupObject
from ksched_cli.kube.gates import POD_GROUP_KINDS

_EXACT_REQUEST_FIELDS = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)


def upgrade_slice(data: dict[str, Any]) -> None:
    """Convert a slice: in v1beta1 a device's fields are in its `basic`."""
    for device in _items(data, "spec", "devices"):
        basic = device.pop("basic", None)
        if isinstance(basic, dict):
            device.update(basic)


def upgrade_claim(data: dict[str, Any]) -> None:
    """Convert a claim: in v1beta1 an exact request's fields are in the request itself. Converts
    templates too."""
    for path in (("spec",), ("spec", "spec")):
        for request in _items(data, *path, "devices", "requests"):
            exactly = {key: request.pop(key) for key in _EXACT_REQUEST_FIELDS if key in request}
            if exactly.get("deviceClassName"):
                request["exactly"] = exactly


def _items(data: Any, *path: str) -> list[dict[str, Any]]:
    """The objects in the list at a path; none if there is no list."""
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []


DRA_GROUP = "resource.k8s.io"


class Kind(Struct, frozen=True, eq=False):
    """A kind of object.

    group:     of the API; other groups have kinds of the same name (Knative's Service)
    attribute: the field of ClusterState that holds the objects
    type:      of the objects
    default:   sets defaults that depend on other fields
    upgrade:   converts plain data of v1beta1 to v1, in place
    """

    name: str
    group: str
    attribute: str
    type: type[KubeObject]
    namespaced: bool
    default: Callable[[Any], KubeObject] | None = None
    upgrade: Callable[[dict[str, Any]], None] | None = None

    def decode(self, content: bytes | msgspec.Raw) -> KubeObject:
        """Raises msgspec.DecodeError."""
        return _decoder(self.type).decode(content)


@cache
def _decoder(kind: type[KubeObject]) -> msgspec.json.Decoder[KubeObject]:
    """Return a kind's decoder. Creating those of all kinds takes milliseconds."""
    return msgspec.json.Decoder(kind, dec_hook=decode_hook)


def _kind(
    attribute: str,
    kind: type[KubeObject],
    group: str = "",
    *,
    namespaced: bool = False,
    default: Callable[[Any], KubeObject] | None = None,
    upgrade: Callable[[dict[str, Any]], None] | None = None,
) -> Kind:
    return Kind(kind.__name__, group, attribute, kind, namespaced, default, upgrade)


_STORAGE = "storage.k8s.io"

KINDS = {
    kind.name: kind
    for kind in (
        _kind("nodes", Node, default=defaults.default_node),
        _kind("pods", Pod, namespaced=True),
        _kind("namespaces", Namespace, default=defaults.default_namespace),
        _kind("priority_classes", PriorityClass, "scheduling.k8s.io"),
        _kind("pod_disruption_budgets", PodDisruptionBudget, "policy", namespaced=True),
        _kind("persistent_volumes", PersistentVolume),
        _kind("persistent_volume_claims", PersistentVolumeClaim, namespaced=True),
        _kind("storage_classes", StorageClass, _STORAGE),
        _kind("csi_nodes", CSINode, _STORAGE),
        _kind("csi_drivers", CSIDriver, _STORAGE),
        _kind("csi_storage_capacities", CSIStorageCapacity, _STORAGE, namespaced=True),
        _kind("volume_attachments", VolumeAttachment, _STORAGE),
        _kind("services", Service, namespaced=True),
        _kind(
            "replication_controllers",
            ReplicationController,
            namespaced=True,
            default=defaults.default_replication_controller,
        ),
        _kind("replica_sets", ReplicaSet, "apps", namespaced=True),
        _kind("stateful_sets", StatefulSet, "apps", namespaced=True),
        _kind("deployments", Deployment, "apps", namespaced=True),
        _kind("daemon_sets", DaemonSet, "apps", namespaced=True),
        _kind("jobs", Job, "batch", namespaced=True),
        _kind("cron_jobs", CronJob, "batch", namespaced=True),
        _kind(
            "resource_claims",
            ResourceClaim,
            DRA_GROUP,
            namespaced=True,
            default=defaults.default_claim,
            upgrade=upgrade_claim,
        ),
        _kind(
            "resource_claim_templates",
            ResourceClaimTemplate,
            DRA_GROUP,
            namespaced=True,
            default=defaults.default_claim_template,
            upgrade=upgrade_claim,
        ),
        _kind("resource_slices", ResourceSlice, DRA_GROUP, upgrade=upgrade_slice),
        _kind("device_classes", DeviceClass, DRA_GROUP),
        _kind("device_taint_rules", DeviceTaintRule, DRA_GROUP),
    )
}


def type_of_kind(api_version: str, name: str) -> type[KubeObject] | None:
    """Return the type that a kind's objects are decoded to, those of pod groups too."""
    kind = find_kind(api_version, name)
    if kind is not None:
        return kind.type
    is_group = kind_with_group(api_version, name) in POD_GROUP_KINDS
    return PodGroupObject if is_group else None


@lru_cache(maxsize=1024)
def find_kind(api_version: str, name: str) -> Kind | None:
    """Find a kind; None if no plugin reads it. An empty api_version matches every group."""
    kind = KINDS.get(name)
    if kind is None or (api_version and api_version.rpartition("/")[0] != kind.group):
        return None
    return kind
