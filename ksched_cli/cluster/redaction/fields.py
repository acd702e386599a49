"""The sort of text that each field of an object holds.

By the types of cluster/objects: values other than texts (quantities, numbers) stay. A text that is
not listed here counts as a name, so that a new field is renamed rather than shown.
"""

from __future__ import annotations

from collections.abc import Mapping

from ksched_cli.cluster.objects import (
    base,
    devices,
    node,
    pod,
    pod_groups,
    storage,
    volumes,
    workloads,
)
from ksched_cli.cluster.redaction.renamer import Rename, Renamer


def _stays(*fields: str) -> dict[str, Rename]:
    return dict.fromkeys(fields, Renamer.unchanged)


# Type → field, as in JSON → how its text is renamed; of a list, its items; of a map, its keys.
FIELDS: Mapping[type, Mapping[str, Rename]] = {
    base.OwnerReference: {"apiVersion": Renamer.owner_version, "kind": Renamer.owner_kind},
    base.ObjectMeta: {
        "namespace": Renamer.namespace,
        "finalizers": Renamer.key,
        **_stays("creationTimestamp", "deletionTimestamp", "resourceVersion"),
    },
    base.ObjectReference: {"namespace": Renamer.namespace, **_stays("kind")},
    storage.TopologySelectorLabelRequirement: {"key": Renamer.key},
    node.Taint: {"key": Renamer.key, **_stays("effect", "timeAdded")},
    node.ContainerImage: {"names": Renamer.image},
    node.NodeSystemInfo: {"kubeletVersion": Renamer.kubelet_version},
    node.NodeStatus: _stays("declaredFeatures"),
    pod.ContainerPort: {"hostIP": Renamer.address, **_stays("protocol")},
    pod.ContainerRestartRule: _stays("action"),
    pod.Container: {"image": Renamer.image, **_stays("restartPolicy")},
    pod.Toleration: {"key": Renamer.key, **_stays("operator", "effect")},
    pod.PodAffinityTerm: {
        "namespaces": Renamer.namespace,
        "topologyKey": Renamer.key,
        "matchLabelKeys": Renamer.key,
        "mismatchLabelKeys": Renamer.key,
    },
    pod.TopologySpreadConstraint: {
        "topologyKey": Renamer.key,
        "matchLabelKeys": Renamer.key,
        **_stays("whenUnsatisfiable", "nodeAffinityPolicy", "nodeTaintsPolicy"),
    },
    pod.PodSchedulingGate: {"name": Renamer.key},
    pod.PodSpec: _stays("preemptionPolicy"),
    pod.PodCondition: {
        "type": Renamer.condition,
        "message": Renamer.nothing,
        **_stays("status", "reason", "lastTransitionTime"),
    },
    pod.PodStatus: _stays("phase", "startTime"),
    pod_groups.TopologyConstraint: {"key": Renamer.key},
    pod_groups.PodGroupSpec: _stays("disruptionMode", "preemptionPolicy"),
    volumes.GCEPersistentDisk: _stays("fsType"),
    volumes.AWSElasticBlockStore: {"volumeID": Renamer.ebs_volume, **_stays("fsType")},
    volumes.RBD: {"pool": Renamer.pool},
    volumes.AzureDisk: _stays("kind"),
    volumes.ImageVolume: {"reference": Renamer.image},
    volumes.PersistentVolumeClaimSpec: _stays("accessModes", "volumeMode"),
    storage.PersistentVolumeSpec: _stays(
        "accessModes", "persistentVolumeReclaimPolicy", "volumeMode"
    ),
    storage.PersistentVolumeStatus: _stays("phase"),
    storage.PersistentVolumeClaimStatus: _stays("phase", "accessModes"),
    storage.StorageClass: _stays("reclaimPolicy", "volumeBindingMode"),
    storage.CSINodeDriver: {"topologyKeys": Renamer.key},
    workloads.PriorityClass: _stays("preemptionPolicy"),
    workloads.PodDisruptionBudgetSpec: _stays(
        "minAvailable", "maxUnavailable", "unhealthyPodEvictionPolicy"
    ),
    workloads.JobCondition: _stays("type", "status"),
    # Drivers of devices, attributes and capacities are their vendors' words; selectors name them.
    devices.CELDeviceSelector: _stays("expression"),
    devices.DeviceClassSpec: {"extendedResourceName": Renamer.resource},
    devices.DeviceAttribute: _stays("version"),
    devices.CounterSet: _stays("counters"),
    devices.CounterConsumption: _stays("counters"),
    devices.DeviceTaint: {"key": Renamer.key, **_stays("effect", "timeAdded")},
    devices.DeviceToleration: {"key": Renamer.key, **_stays("operator", "effect")},
    devices.Device: {
        "bindingConditions": Renamer.condition,
        "bindingFailureConditions": Renamer.condition,
        **_stays("attributes", "capacity"),
    },
    devices.ResourceSliceSpec: _stays("driver"),
    devices.CapacityRequirements: _stays("requests"),
    devices.DeviceSubRequest: _stays("allocationMode"),
    devices.ExactDeviceRequest: _stays("allocationMode"),
    devices.DeviceConstraint: _stays("matchAttribute", "distinctAttribute"),
    devices.DeviceRequestAllocationResult: {
        "bindingConditions": Renamer.condition,
        "bindingFailureConditions": Renamer.condition,
        **_stays("driver", "consumedCapacity"),
    },
    devices.DeviceCondition: {
        "type": Renamer.condition,
        "message": Renamer.nothing,
        **_stays("status", "reason"),
    },
    devices.AllocatedDeviceStatus: _stays("driver"),
    devices.AllocationResult: _stays("allocationTimestamp"),
    devices.ConsumerReference: _stays("apiGroup", "resource"),
}

# Maps of labels or annotations: keys with values that depend on them.
LABEL_FIELDS = frozenset(("labels", "annotations", "matchLabels", "nodeSelector", "selector"))
# Types with a key and a value, or values, of a label or a taint.
KEYED_TYPES: Mapping[type, str] = {
    base.LabelSelectorRequirement: "values",
    base.NodeSelectorRequirement: "values",
    storage.TopologySelectorLabelRequirement: "values",
    node.Taint: "value",
    pod.Toleration: "value",
    devices.DeviceTaint: "value",
    devices.DeviceToleration: "value",
}
# Operators that compare values as numbers.
NUMERIC_OPERATORS = ("Gt", "Lt")
