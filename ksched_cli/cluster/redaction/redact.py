"""A state's objects renamed, so that every decision about them is the same, renamed: names,
namespaces, keys, values, images and addresses, by the sort of text that each field holds.

The same text of one sort is always renamed alike, so that what referred to something still does.
A field that no table names gets a code, and what no type has goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec import Struct

from ksched_cli.cluster import objects
from ksched_cli.cluster.loading.kinds import type_of_kind
from ksched_cli.cluster.objects import OwnerReference, ResourceAmount
from ksched_cli.cluster.redaction.codebook import Codes
from ksched_cli.cluster.redaction.renamer import Rename, Renamer, constant
from ksched_cli.cluster.trimming import trimmed
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.kube.quantity import Quantity

_POLICY = constant("PreemptLowerPriority", "Never")
_STATUS = constant("True", "False", "Unknown")
_EFFECT = constant("NoSchedule", "PreferNoSchedule", "NoExecute", "None")
_OPERATOR = constant("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal")
_NODE_POLICY = constant("Honor", "Ignore")
_ACCESS_MODE = constant("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_STRATEGY = constant("RollingUpdate", "Recreate", "OnDelete")
_VOLUME_MODE = constant("Filesystem", "Block")
_RECLAIM_POLICY = constant("Retain", "Delete", "Recycle")
_ALLOCATION_MODE = constant("ExactCount", "All")
_CONDITION: Mapping[str, Rename] = {
    "type": Renamer.condition,
    "status": _STATUS,
    "reason": Renamer.reason,
    "message": Renamer.nothing,
}
_BINDING: Mapping[str, Rename] = {
    "bindingConditions": Renamer.condition,
    "bindingFailureConditions": Renamer.condition,
}

# By the types of cluster/objects. Type → field, as in JSON → how its text is renamed; of a list,
# its items; of a map, its keys. A text that is not listed here is a name.
FIELDS: Mapping[type, Mapping[str, Rename]] = {
    objects.OwnerReference: {"apiVersion": Renamer.owner_version, "kind": Renamer.owner_kind},
    objects.ObjectMeta: {
        "namespace": Renamer.namespace,
        "finalizers": Renamer.key,
        "creationTimestamp": Renamer.time,
        "deletionTimestamp": Renamer.time,
        "resourceVersion": Renamer.number,
    },
    objects.ObjectReference: {"namespace": Renamer.namespace, "kind": Renamer.owner_kind},
    objects.LabelSelectorRequirement: {"operator": _OPERATOR},
    objects.NodeSelectorRequirement: {"operator": _OPERATOR},
    objects.Taint: {"effect": _EFFECT, "timeAdded": Renamer.time},
    objects.ContainerImage: {"names": Renamer.image},
    objects.NodeSystemInfo: {"kubeletVersion": Renamer.kubelet_version},
    objects.NodeStatus: {"declaredFeatures": Renamer.feature},
    objects.ContainerPort: {"hostIP": Renamer.address, "protocol": constant("TCP", "UDP", "SCTP")},
    objects.ContainerRestartRule: {"action": constant("Restart", "RestartAllContainers")},
    objects.Container: {
        "image": Renamer.image,
        "restartPolicy": constant("Always", "OnFailure", "Never"),
    },
    objects.Toleration: {"operator": _OPERATOR, "effect": _EFFECT},
    objects.PodAffinityTerm: {
        "namespaces": Renamer.namespace,
        "topologyKey": Renamer.key,
        "matchLabelKeys": Renamer.key,
        "mismatchLabelKeys": Renamer.key,
    },
    objects.TopologySpreadConstraint: {
        "topologyKey": Renamer.key,
        "matchLabelKeys": Renamer.key,
        "whenUnsatisfiable": constant("DoNotSchedule", "ScheduleAnyway"),
        "nodeAffinityPolicy": _NODE_POLICY,
        "nodeTaintsPolicy": _NODE_POLICY,
    },
    objects.PodSchedulingGate: {"name": Renamer.key},
    objects.PodSpec: {"preemptionPolicy": _POLICY},
    objects.PodCondition: _CONDITION,
    objects.PodStatus: {
        "phase": constant("Pending", "Running", "Succeeded", "Failed", "Unknown"),
        "startTime": Renamer.time,
        "nominatedNodeName": Renamer.sorted_name,
    },
    objects.TopologyConstraint: {"key": Renamer.key},
    objects.PodGroupSpec: {
        "disruptionMode": constant("Pod", "PodGroup"),
        "preemptionPolicy": _POLICY,
    },
    objects.AWSElasticBlockStore: {"volumeID": Renamer.ebs_volume},
    objects.RBD: {"pool": Renamer.pool},
    objects.AzureDisk: {"kind": constant("Shared", "Dedicated", "Managed")},
    objects.ImageVolume: {"reference": Renamer.image},
    objects.PersistentVolumeClaimSpec: {
        "accessModes": _ACCESS_MODE,
        "volumeMode": _VOLUME_MODE,
        "volumeName": Renamer.sorted_name,
    },
    objects.PersistentVolumeSpec: {
        "accessModes": _ACCESS_MODE,
        "persistentVolumeReclaimPolicy": _RECLAIM_POLICY,
        "volumeMode": _VOLUME_MODE,
    },
    objects.PersistentVolumeStatus: {
        "phase": constant("Pending", "Available", "Bound", "Released", "Failed")
    },
    objects.PersistentVolumeClaimStatus: {
        "phase": constant("Pending", "Bound", "Lost"),
        "accessModes": _ACCESS_MODE,
    },
    objects.StorageClass: {
        "reclaimPolicy": _RECLAIM_POLICY,
        "volumeBindingMode": constant("Immediate", "WaitForFirstConsumer"),
    },
    objects.CSINodeDriver: {"topologyKeys": Renamer.key},
    objects.VolumeAttachmentSource: {"persistentVolumeName": Renamer.sorted_name},
    objects.VolumeAttachmentSpec: {"nodeName": Renamer.sorted_name},
    objects.PriorityClass: {"preemptionPolicy": _POLICY},
    objects.PodDisruptionBudgetSpec: {
        "minAvailable": Renamer.percentage,
        "maxUnavailable": Renamer.percentage,
        "unhealthyPodEvictionPolicy": constant("IfHealthyBudget", "AlwaysAllow"),
    },
    objects.UpdateStrategy: {"type": _STRATEGY},
    objects.StatefulSetUpdateStrategy: {"type": _STRATEGY},
    objects.RollingUpdate: {
        "maxSurge": Renamer.percentage,
        "maxUnavailable": Renamer.percentage,
    },
    objects.RollingUpdateStatefulSetStrategy: {"maxUnavailable": Renamer.percentage},
    objects.StatefulSetSpec: {"podManagementPolicy": constant("OrderedReady", "Parallel")},
    objects.JobCondition: {"type": Renamer.condition, "status": _STATUS},
    objects.JobStatus: {"startTime": Renamer.time},
    objects.CELDeviceSelector: {"expression": Renamer.expression},
    objects.DeviceClassSpec: {"extendedResourceName": Renamer.resource},
    objects.DeviceTaint: {"effect": _EFFECT, "timeAdded": Renamer.time},
    objects.DeviceToleration: {"operator": _OPERATOR, "effect": _EFFECT},
    objects.DeviceTaintSelector: {"driver": Renamer.driver, "pool": Renamer.sorted_name},
    objects.Device: {
        "nodeName": Renamer.sorted_name,
        "capacity": Renamer.attribute,
        **_BINDING,
    },
    objects.ResourcePool: {"name": Renamer.sorted_name},
    objects.ResourceSliceSpec: {"driver": Renamer.driver, "nodeName": Renamer.sorted_name},
    objects.CapacityRequirements: {"requests": Renamer.attribute},
    objects.DeviceSubRequest: {
        "allocationMode": _ALLOCATION_MODE,
        "deviceClassName": Renamer.sorted_name,
    },
    objects.ExactDeviceRequest: {
        "allocationMode": _ALLOCATION_MODE,
        "deviceClassName": Renamer.sorted_name,
    },
    objects.DeviceConstraint: {
        "matchAttribute": Renamer.attribute,
        "distinctAttribute": Renamer.attribute,
    },
    objects.DeviceRequestAllocationResult: {
        "driver": Renamer.driver,
        "pool": Renamer.sorted_name,
        "consumedCapacity": Renamer.attribute,
        **_BINDING,
    },
    objects.DeviceCondition: _CONDITION,
    objects.AllocatedDeviceStatus: {"driver": Renamer.driver, "pool": Renamer.sorted_name},
    objects.AllocationResult: {"allocationTimestamp": Renamer.time},
    objects.ConsumerReference: {"apiGroup": Renamer.group, "resource": constant("pods")},
}

# Maps of labels or annotations: keys with values that depend on them.
LABEL_FIELDS = frozenset(("labels", "annotations", "matchLabels", "nodeSelector", "selector"))
# Types with a key and a value, or values, of a label or a taint.
KEYED_TYPES: Mapping[type, str] = {
    objects.LabelSelectorRequirement: "values",
    objects.NodeSelectorRequirement: "values",
    objects.TopologySelectorLabelRequirement: "values",
    objects.Taint: "value",
    objects.Toleration: "value",
    objects.DeviceTaint: "value",
    objects.DeviceToleration: "value",
}
# Operators that compare values as numbers.
NUMERIC_OPERATORS = ("Gt", "Lt")

Plain = dict[str, Any]
Change = Callable[[Renamer, Any], Any]

_STATEFUL_SET, _NODE = "StatefulSet", "Node"
# Kinds whose names are of another sort than most.
_NAMES: Mapping[str, Rename] = {
    "Namespace": Renamer.namespace,
    **dict.fromkeys(
        (_NODE, "CSINode", "PersistentVolume", "ResourceSlice", "DeviceClass"), Renamer.sorted_name
    ),
}
# Kinds whose objects count in the order of the file.
_IN_ORDER = ("Pod", "PodGroup", "CompositePodGroup")


def redacted(objects: Iterable[bytes], codes: Codes) -> tuple[list[bytes], Renamer]:
    """Return the objects without what nobody reads, renamed; those of kinds that ksched does not
    read are left out. objects: JSON. codes: get codes for all that they have none for."""
    plain = filter(is_read, map(plain_json, objects))
    trimmed_objects = [msgspec.json.encode(trimmed(obj)) for obj in plain]
    renamer = Renamer(codes)
    learn(renamer, map(plain_json, trimmed_objects))
    changed = [renamed(renamer, obj) for obj in map(plain_json, trimmed_objects)]
    return [msgspec.json.encode(obj) for obj in in_new_order(changed)], renamer


def learn(renamer: Renamer, objects: Iterable[Plain]) -> None:
    """Learn the names of objects before they are renamed. objects: trimmed, of kinds that ksched
    reads"""
    renamer.learn_more()
    for obj in objects:
        if obj["kind"] == _STATEFUL_SET:
            renamer.learn_stateful_set(_name_and_namespace(obj)[0])
        _change_of(obj)(renamer, obj)
    renamer.learned()


def in_new_order(objects: Iterable[Plain]) -> list[Plain]:
    """Return each kind's objects in the order of their new names: the former order, which an API
    server gives, would tell the order of their names. That of pods decides where all else is
    equal."""
    by_kind: dict[str, list[Plain]] = {}
    for obj in objects:
        by_kind.setdefault(obj["kind"], []).append(obj)
    for kind, listed in by_kind.items():
        if kind not in _IN_ORDER:
            listed.sort(key=_name_and_namespace)
    return [obj for listed in by_kind.values() for obj in listed]


def object_names(objects: Iterable[bytes], renamer: Renamer) -> Iterator[tuple[str, str, str]]:
    """Yield the kind, the name after and the name before of each object; with its namespace if it
    has one."""
    for obj in map(plain_json, objects):
        if is_read(obj):
            name, namespace = _name_and_namespace(obj)
            after, before = _NAMES.get(obj["kind"], Renamer.name)(renamer, name), name
            if namespace:
                after, before = f"{renamer.namespace(namespace)}/{after}", f"{namespace}/{name}"
            yield obj["kind"], after, before


def _name_and_namespace(obj: Plain) -> tuple[str, str]:
    """Return "" for what is no text, as in an object that cannot be read."""
    metadata = obj.get("metadata")
    values = (metadata if isinstance(metadata, dict) else {}).get
    name, namespace = values("name"), values("namespace")
    return (name if isinstance(name, str) else "", namespace if isinstance(namespace, str) else "")


def is_read(obj: Plain) -> bool:
    """Return whether it is of a kind that ksched reads."""
    return type_of_kind(obj.get("apiVersion") or "", obj.get("kind") or "") is not None


def renamed(renamer: Renamer, obj: Plain) -> Plain:
    """Return an object that the renamer has learned."""
    version = renamer.owner_version(obj["apiVersion"]) if obj["apiVersion"] else ""
    return {"apiVersion": version, "kind": obj["kind"], **_change_of(obj)(renamer, obj)}


def _change_of(obj: Plain) -> Change:
    kind = type_of_kind(obj["apiVersion"], obj["kind"])
    assert kind is not None, "it is of a kind that ksched reads"
    return _of_object(kind, obj["kind"])


@cache
def _of_object(struct: type[Struct], kind: str) -> Change:
    change, name = _of_struct(struct), _NAMES.get(kind)
    if name is None:
        return change

    def with_name(renamer: Renamer, obj: Any) -> Any:
        changed = change(renamer, obj)
        text, _ = _name_and_namespace(obj)
        if text:
            changed["metadata"]["name"] = name(renamer, text)
        return changed

    return with_name


@cache
def _of_struct(struct: type[Struct]) -> Change:
    """Return a function that changes the fields of a type, and what it holds; what is no part of it
    goes."""
    changes = {
        field.encode_name: _of_field(struct, field) for field in msgspec.structs.fields(struct)
    } | _MORE_CHANGES.get(struct, {})
    values = KEYED_TYPES.get(struct, "")

    def change(renamer: Renamer, value: Any) -> Any:
        if not isinstance(value, dict):
            return None
        if struct in _LEARNS:
            _LEARNS[struct](renamer, value)
        changed = {
            key: changes[key](renamer, item) for key, item in value.items() if key in changes
        }
        if values:
            # What is compared depends on the key and the operator.
            text = value.get("key")
            named = text if isinstance(text, str) else ""
            if value.get("operator") in NUMERIC_OPERATORS:
                renamer.learn_numeric_key(named)
            own: Plain = {"key": renamer.key(named)} if named else {}
            compared = value.get(values)
            if isinstance(compared, str):
                own[values] = renamer.value(named, compared)
            elif isinstance(compared, list):
                own[values] = [
                    renamer.value(named, each) for each in compared if isinstance(each, str)
                ]
            changed |= own
        if struct is OwnerReference and value.get("kind") == _NODE:
            changed["name"] = renamer.sorted_name(str(value.get("name") or ""))
        return changed

    return change


_LEARNS: Mapping[type, Callable[[Renamer, Plain], None]] = {
    objects.CELDeviceSelector: lambda renamer, selector: renamer.learn_expression(
        str(selector.get("expression") or "")
    ),
    objects.TopologyConstraint: lambda renamer, constraint: renamer.learn_sorted_key(
        str(constraint.get("key") or "")
    ),
}


def _of_field(struct: type[Struct], field: msgspec.structs.FieldInfo) -> Change:
    name = field.encode_name
    if struct is objects.Device and name == "attributes":
        return _attributes
    is_map_of_text = get_origin(field.type) is dict and get_args(field.type)[1] is str
    if name in LABEL_FIELDS and is_map_of_text:
        return _labels
    rename = FIELDS.get(struct, {}).get(name)
    return _of_type(field.type, rename)


def _of_type(kind: Any, rename: Rename | None) -> Change:
    """Return a function that changes a value of a type. rename: of texts; by default they are
    names"""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        kinds = [arg for arg in args if arg is not NoneType]
        structs = [arg for arg in kinds if isinstance(arg, type) and issubclass(arg, Struct)]
        if len(kinds) > 1 and structs:
            text, struct = _text(rename or Renamer.name), _of_struct(structs[0])
            return lambda renamer, value: (struct if isinstance(value, dict) else text)(
                renamer, value
            )
        return _of_type(kinds[0] if len(kinds) == 1 else str, rename)
    if origin in (tuple, list):
        item = _of_type(args[0], rename)
        return lambda renamer, value: (
            [item(renamer, each) for each in value] if isinstance(value, list) else None
        )
    if origin is dict:
        keys = rename or (Renamer.resource if args[1] is ResourceAmount else Renamer.name)
        return _presence if args[1] is Any else _map(keys, _of_type(args[1], None))
    if kind is str:
        return _text(rename or Renamer.name)
    if isinstance(kind, type) and issubclass(kind, Quantity):
        return _text(Renamer.quantity)
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _of_struct(kind)
    return _of_type(args[0], rename) if hasattr(kind, "__metadata__") else _number


def _text(rename: Rename) -> Change:
    return lambda renamer, value: (
        rename(renamer, value) if isinstance(value, str) else _number(renamer, value)
    )


def _number(renamer: Renamer, value: Any) -> Any:
    """Keep numbers and switches, which tell no name."""
    return value if isinstance(value, int | float) else None


def _presence(renamer: Renamer, value: Any) -> Any:
    return {} if isinstance(value, dict) else None


def _map(keys: Rename, change: Change) -> Change:
    def each(renamer: Renamer, value: Any) -> Any:
        if not isinstance(value, dict):
            return None
        changed = {keys(renamer, key): change(renamer, item) for key, item in value.items()}
        return dict(sorted(changed.items()))

    return each


def _labels(renamer: Renamer, value: Any) -> Any:
    if not isinstance(value, dict):
        return None
    changed = {
        renamer.key(key): renamer.value(key, item)
        for key, item in value.items()
        if isinstance(item, str)
    }
    return dict(sorted(changed.items()))


def _attributes(renamer: Renamer, value: Any) -> Any:
    """Redact a device's attributes."""
    if not isinstance(value, dict):
        return None
    changed = {
        renamer.attribute(key): _attribute(renamer, key, item) for key, item in value.items()
    }
    return dict(sorted(changed.items()))


_ATTRIBUTE_TEXTS: Mapping[str, Callable[[Renamer, str, str], str]] = {
    "string": Renamer.attribute_value,
    "strings": Renamer.attribute_value,
    "version": Renamer.attribute_version,
    "versions": Renamer.attribute_version,
}


def _attribute(renamer: Renamer, key: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return None
    changed = _of_struct(objects.DeviceAttribute)(renamer, value)
    for field, rename in _ATTRIBUTE_TEXTS.items():
        item = value.get(field)
        if isinstance(item, str):
            changed[field] = rename(renamer, key, item)
        elif isinstance(item, list):
            changed[field] = [rename(renamer, key, each) for each in item if isinstance(each, str)]
    return changed


# Fields that are read from the JSON rather than from the decoded object.
_MORE_CHANGES: dict[type, dict[str, Change]] = {
    objects.PodSpec: {
        "nodeName": _text(Renamer.sorted_name),
        "activeDeadlineSeconds": _number,
    },
    objects.PodCondition: {"lastTransitionTime": _text(Renamer.time)},
    objects.ContainerStatus: {"restartCount": _number},
    objects.Volume: {"emptyDir": _presence},
}
