"""A state's objects renamed, so that every decision about them is the same, renamed: names,
namespaces, keys, values, images and addresses, by the sort of text that each field holds.

The same text of one sort is always renamed alike, so that what referred to something still does.
Names that are Kubernetes's own and tell nothing of a cluster stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec import Struct

from ksched_cli.cluster import objects
from ksched_cli.cluster.loading.kinds import KINDS, NAMESPACE_NAME_LABEL, type_of_kind
from ksched_cli.cluster.node_affinity import NODE_NAME_FIELD
from ksched_cli.cluster.objects import (
    CELDeviceSelector,
    Device,
    ObjectMeta,
    PodSpec,
    ResourceAmount,
)
from ksched_cli.cluster.pod_info import ANY_HOST
from ksched_cli.cluster.redaction.codebook import Codebook
from ksched_cli.cluster.trimming import READ_ANNOTATIONS, trimmed
from ksched_cli.kube.plain_json import plain_json

_DOMAINS = ("kubernetes.io", "k8s.io")


class PublicNames(msgspec.Struct, frozen=True):
    """public_names.json.

    namespaces:  that every cluster has
    objects:     classes that every cluster has, the default scheduler, and storage drivers that the
                 migration of in-tree volumes names
    keys:        of labels and annotations, as far as schedulers see them. Upstream: "Well-Known
                 Labels, Annotations and Taints"
    keys_of_public_values: keys whose values tell nothing, or are read as numbers
    owner_kinds: of owners, whose names are not those of somebody's own resources
    """

    namespaces: frozenset[str]
    objects: frozenset[str]
    keys: frozenset[str]
    keys_of_public_values: frozenset[str]
    owner_kinds: frozenset[str]


@cache
def public_names() -> PublicNames:
    data = Path(__file__).with_name("public_names.json").read_bytes()
    names = msgspec.json.decode(data, type=PublicNames)
    return msgspec.structs.replace(names, keys=names.keys | READ_ANNOTATIONS)


def is_kubernetes_domain(domain: str) -> bool:
    """Whether the prefix of a key is Kubernetes's own, or below it."""
    return domain in _DOMAINS or domain.endswith(tuple(f".{own}" for own in _DOMAINS))


_INTEGER = re.compile(r"[+-]?\d+")
_ORDINAL = re.compile(r"(.+)-(0|[1-9]\d{0,4})")
_VERSION = re.compile(r"v?\d+\.\d+(\.\d+)?")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_ANY_ADDRESS = ("", ANY_HOST, "::", "127.0.0.1", "::1")
_IMAGE_PARTS = frozenset(("latest",))  # a tag that is added where there is none
_VOLUME_PARTS = frozenset(("aws", "vol"))  # aws://ZONE/vol-ID
_DEFAULT_POOL = "rbd"
# Resources whose names end in that of a storage driver or of a device class.
_RESOURCE_PREFIX = re.compile(r"attachable-volumes-csi-|deviceclass\.resource\.kubernetes\.io/")


class Renamer:
    """Renames texts by their sort.

    In a first pass over all objects it only learns: texts come back as they are until
    `learned` is called.
    """

    def __init__(self, codebook: Codebook) -> None:
        self._codebook, self._public = codebook, public_names()
        self._is_learning = True
        self._numeric_keys: set[str] = set()
        self._stateful_sets: set[str] = set()
        self._selected_attributes: set[str] = set()
        self._cache: dict[str, str] = {}

    # -- the first pass ----------------------------------------------------------------------------

    def learn_stateful_set(self, name: str) -> None:
        """Names of its pods, and of their claims, end in an ordinal, which is read."""
        self._stateful_sets.add(name)

    def learn_numeric_key(self, key: str) -> None:
        """Its values are compared as numbers, with Gt or Lt."""
        self._numeric_keys.add(key)

    def learn_expression(self, expression: str) -> None:
        """A selector of devices in CEL: the attributes that it may mention."""
        self._selected_attributes.update(_IDENTIFIER.findall(expression))

    def learn_more(self) -> None:
        """Begins a first pass over further objects."""
        self._is_learning = True

    def learned(self) -> None:
        """Ends the first pass: codes for all that was there."""
        self._codebook.assign()
        self._is_learning = False

    # -- sorts of text -----------------------------------------------------------------------------

    def name(self, text: str) -> str:
        """Any text that is of no other sort."""
        if self._is_learning:
            return self._learn(text)
        renamed = self._cache.get(text)
        if renamed is None:
            renamed = self._cache[text] = self._renamed_name(text)
        return renamed

    def _learn(self, text: str) -> str:
        self._codebook.collect(text)
        return text

    def _renamed_name(self, text: str) -> str:
        if text in self._public.objects:
            return text
        match = _ORDINAL.fullmatch(text)
        if match is not None and self._ends_in_stateful_set(match[1]):
            return f"{self._codebook.renamed(match[1])}-{match[2]}"
        return self._codebook.renamed(text)

    def _ends_in_stateful_set(self, text: str) -> bool:
        """Pods are SET-0; their claims are TEMPLATE-SET-0."""
        while text and text not in self._stateful_sets:
            text = text.partition("-")[2]
        return bool(text)

    def namespace(self, text: str) -> str:
        return text if text in self._public.namespaces else self.name(text)

    def key(self, text: str) -> str:
        """Renames a key of labels, annotations, taints, topology or gates. Kubernetes's own
        domains stay."""
        if text in self._public.keys or text == NODE_NAME_FIELD:
            return text
        domain, slash, rest = text.partition("/")
        if slash and is_kubernetes_domain(domain):
            return f"{domain}/{self.name(rest)}"
        return self.name(text)

    def value(self, key: str, text: str) -> str:
        """Renames the value of a label, an annotation or a taint with this key."""
        if key == NAMESPACE_NAME_LABEL:
            return self.namespace(text)
        if key in self._public.keys_of_public_values:
            return text
        if not self._is_learning and key in self._numeric_keys and _INTEGER.fullmatch(text):
            return text
        return self.name(text)

    def resource(self, text: str) -> str:
        """A resource's name: Kubernetes's own stay."""
        match = _RESOURCE_PREFIX.match(text)
        if match is not None:
            return match[0] + self.name(text[match.end() :])
        domain, slash, _ = text.partition("/")
        return text if not slash or is_kubernetes_domain(domain) else self.name(text)

    def image(self, text: str) -> str:
        return self._with_public_parts(text, _IMAGE_PARTS)

    def ebs_volume(self, text: str) -> str:
        return self._with_public_parts(text, _VOLUME_PARTS)

    def _with_public_parts(self, text: str, public: frozenset[str]) -> str:
        return self._learn(text) if self._is_learning else self._codebook.renamed(text, public)

    def pool(self, text: str) -> str:
        return text if text == _DEFAULT_POOL else self.name(text)

    def address(self, text: str) -> str:
        return text if text in _ANY_ADDRESS else self.name(text)

    def condition(self, text: str) -> str:
        """The type of a condition: somebody's own have a domain."""
        return self.key(text) if "/" in text else text

    def owner_kind(self, text: str) -> str:
        return text if text in self._public.owner_kinds else self.name(text)

    def owner_version(self, text: str) -> str:
        """An apiVersion: groups of Kubernetes have no domain, or one of its own."""
        group, slash, version = text.rpartition("/")
        if not slash or "." not in group or is_kubernetes_domain(group):
            return text
        return f"{self.name(group)}/{version}"

    def kubelet_version(self, text: str) -> str:
        """Return the version without a vendor's suffix."""
        match = _VERSION.match(text)
        return match[0] if match is not None else ""

    def device_attribute(self, key: str, text: str) -> str:
        """The string of an attribute: one that a selector may mention stays, as the selector."""
        if key.rpartition("/")[2] in self._selected_attributes:
            return text
        return self.name(text)

    def unchanged(self, text: str) -> str:
        return text

    def nothing(self, text: str) -> str:
        """Return no text: prose may name anything."""
        return ""


Rename = Callable[[Renamer, str], str]


def _stays(*fields: str) -> dict[str, Rename]:
    return dict.fromkeys(fields, Renamer.unchanged)


# By the types of cluster/objects: values other than texts (quantities, numbers) stay. A text that
# is not listed here counts as a name, so that a new field is renamed rather than shown.
# Type → field, as in JSON → how its text is renamed; of a list, its items; of a map, its keys.
FIELDS: Mapping[type, Mapping[str, Rename]] = {
    objects.OwnerReference: {"apiVersion": Renamer.owner_version, "kind": Renamer.owner_kind},
    objects.ObjectMeta: {
        "namespace": Renamer.namespace,
        "finalizers": Renamer.key,
        **_stays("creationTimestamp", "deletionTimestamp", "resourceVersion"),
    },
    objects.ObjectReference: {"namespace": Renamer.namespace, **_stays("kind")},
    objects.TopologySelectorLabelRequirement: {"key": Renamer.key},
    objects.Taint: {"key": Renamer.key, **_stays("effect", "timeAdded")},
    objects.ContainerImage: {"names": Renamer.image},
    objects.NodeSystemInfo: {"kubeletVersion": Renamer.kubelet_version},
    objects.NodeStatus: _stays("declaredFeatures"),
    objects.ContainerPort: {"hostIP": Renamer.address, **_stays("protocol")},
    objects.ContainerRestartRule: _stays("action"),
    objects.Container: {"image": Renamer.image, **_stays("restartPolicy")},
    objects.Toleration: {"key": Renamer.key, **_stays("operator", "effect")},
    objects.PodAffinityTerm: {
        "namespaces": Renamer.namespace,
        "topologyKey": Renamer.key,
        "matchLabelKeys": Renamer.key,
        "mismatchLabelKeys": Renamer.key,
    },
    objects.TopologySpreadConstraint: {
        "topologyKey": Renamer.key,
        "matchLabelKeys": Renamer.key,
        **_stays("whenUnsatisfiable", "nodeAffinityPolicy", "nodeTaintsPolicy"),
    },
    objects.PodSchedulingGate: {"name": Renamer.key},
    objects.PodSpec: _stays("preemptionPolicy"),
    objects.PodCondition: {
        "type": Renamer.condition,
        "message": Renamer.nothing,
        **_stays("status", "reason", "lastTransitionTime"),
    },
    objects.PodStatus: _stays("phase", "startTime"),
    objects.TopologyConstraint: {"key": Renamer.key},
    objects.PodGroupSpec: _stays("disruptionMode", "preemptionPolicy"),
    objects.GCEPersistentDisk: _stays("fsType"),
    objects.AWSElasticBlockStore: {"volumeID": Renamer.ebs_volume, **_stays("fsType")},
    objects.RBD: {"pool": Renamer.pool},
    objects.AzureDisk: _stays("kind"),
    objects.ImageVolume: {"reference": Renamer.image},
    objects.PersistentVolumeClaimSpec: _stays("accessModes", "volumeMode"),
    objects.PersistentVolumeSpec: _stays(
        "accessModes", "persistentVolumeReclaimPolicy", "volumeMode"
    ),
    objects.PersistentVolumeStatus: _stays("phase"),
    objects.PersistentVolumeClaimStatus: _stays("phase", "accessModes"),
    objects.StorageClass: _stays("reclaimPolicy", "volumeBindingMode"),
    objects.CSINodeDriver: {"topologyKeys": Renamer.key},
    objects.PriorityClass: _stays("preemptionPolicy"),
    objects.PodDisruptionBudgetSpec: _stays(
        "minAvailable", "maxUnavailable", "unhealthyPodEvictionPolicy"
    ),
    objects.JobCondition: _stays("type", "status"),
    # Drivers of devices, attributes and capacities are their vendors' words; selectors name them.
    objects.CELDeviceSelector: _stays("expression"),
    objects.DeviceClassSpec: {"extendedResourceName": Renamer.resource},
    objects.DeviceAttribute: _stays("version"),
    objects.CounterSet: _stays("counters"),
    objects.CounterConsumption: _stays("counters"),
    objects.DeviceTaint: {"key": Renamer.key, **_stays("effect", "timeAdded")},
    objects.DeviceToleration: {"key": Renamer.key, **_stays("operator", "effect")},
    objects.Device: {
        "bindingConditions": Renamer.condition,
        "bindingFailureConditions": Renamer.condition,
        **_stays("attributes", "capacity"),
    },
    objects.ResourceSliceSpec: _stays("driver"),
    objects.CapacityRequirements: _stays("requests"),
    objects.DeviceSubRequest: _stays("allocationMode"),
    objects.ExactDeviceRequest: _stays("allocationMode"),
    objects.DeviceConstraint: _stays("matchAttribute", "distinctAttribute"),
    objects.DeviceRequestAllocationResult: {
        "bindingConditions": Renamer.condition,
        "bindingFailureConditions": Renamer.condition,
        **_stays("driver", "consumedCapacity"),
    },
    objects.DeviceCondition: {
        "type": Renamer.condition,
        "message": Renamer.nothing,
        **_stays("status", "reason"),
    },
    objects.AllocatedDeviceStatus: _stays("driver"),
    objects.AllocationResult: _stays("allocationTimestamp"),
    objects.ConsumerReference: _stays("apiGroup", "resource"),
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

_STATEFUL_SET = "StatefulSet"
_NAMESPACE = "Namespace"


def redacted(objects: Iterable[bytes], codebook: Codebook) -> tuple[list[bytes], Renamer]:
    """The objects without what nobody reads, renamed; those of kinds that ksched does not read are
    left out. objects: JSON. codebook: gets codes for all that it has none for."""
    plain = filter(is_read, map(plain_json, objects))
    trimmed_objects = [msgspec.json.encode(trimmed(obj)) for obj in plain]
    renamer = Renamer(codebook)
    learn(renamer, map(plain_json, trimmed_objects))
    changed = [
        msgspec.json.encode(renamed(renamer, obj)) for obj in map(plain_json, trimmed_objects)
    ]
    return changed, renamer


def learn(renamer: Renamer, objects: Iterable[Plain]) -> None:
    """Before they are renamed. objects: trimmed, of kinds that ksched reads"""
    renamer.learn_more()
    for obj in objects:
        if obj["kind"] == _STATEFUL_SET:
            renamer.learn_stateful_set(_name_and_namespace(obj)[0])
        _change_of(obj)(renamer, obj)
    renamer.learned()


def object_names(objects: Iterable[bytes], renamer: Renamer) -> Iterator[tuple[str, str, str]]:
    """Kind, name after and before of each object; with its namespace where it has one."""
    for obj in map(plain_json, objects):
        if is_read(obj):
            name, namespace = _name_and_namespace(obj)
            is_namespace = obj["kind"] == _NAMESPACE
            after, before = (renamer.namespace if is_namespace else renamer.name)(name), name
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
    """Whether it is of a kind that ksched reads."""
    return type_of_kind(obj.get("apiVersion") or "", obj.get("kind") or "") is not None


def renamed(renamer: Renamer, obj: Plain) -> Plain:
    """An object that the renamer has learned."""
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **_change_of(obj)(renamer, obj)}


def _change_of(obj: Plain) -> Change:
    kind = type_of_kind(obj["apiVersion"], obj["kind"])
    assert kind is not None, "it is of a kind that ksched reads"
    return _of_struct(kind)


@cache
def _of_struct(struct: type[Struct]) -> Change:
    """Changes the fields of a type, and what it holds. Other fields are no text, or no part of
    the type, as the kind of an object."""
    changes = {
        field.encode_name: _of_field(struct, field) for field in msgspec.structs.fields(struct)
    }
    if struct is PodSpec:
        changes["nodeName"] = _text(Renamer.name)
    if struct is KINDS[_NAMESPACE].type:
        changes["metadata"] = _metadata_of_namespace
    values = KEYED_TYPES.get(struct, "")

    def change(renamer: Renamer, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if values:
            return _keyed(renamer, value, values)
        if struct is CELDeviceSelector:
            renamer.learn_expression(str(value.get("expression") or ""))
        return {
            key: changes[key](renamer, item) if key in changes else item
            for key, item in value.items()
            if key not in ("apiVersion", "kind") or key in changes
        }

    return change


def _metadata_of_namespace(renamer: Renamer, value: Any) -> Any:
    """Its name is a namespace, as in the objects that are in it."""
    changed = _of_struct(ObjectMeta)(renamer, value)
    if isinstance(changed, dict) and isinstance(name := value.get("name"), str):
        return {**changed, "name": renamer.namespace(name)}
    return changed


def _of_field(struct: type[Struct], field: msgspec.structs.FieldInfo) -> Change:
    name = field.encode_name
    if struct is Device and name == "attributes":
        return _attributes
    if name in LABEL_FIELDS and _is_map_of_text(field.type):
        return _labels
    rename = FIELDS.get(struct, {}).get(name)
    return _of_type(field.type, rename)


def _is_map_of_text(kind: Any) -> bool:
    return bool(get_origin(kind) is dict and get_args(kind)[1] is str)


def _of_type(kind: Any, rename: Rename | None) -> Change:
    """rename: of texts; by default they are names"""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        kinds = [arg for arg in args if arg is not NoneType]
        return _of_type(kinds[0] if len(kinds) == 1 else str, rename)
    if origin in (tuple, list):
        return _each(_of_type(args[0], rename))
    if origin is dict:
        keys = rename or (Renamer.resource if args[1] is ResourceAmount else Renamer.name)
        return _map(keys, _of_type(args[1], None))
    if kind is str:
        return _text(rename or Renamer.name)
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _of_struct(kind)
    return lambda _, value: value


def _text(rename: Rename) -> Change:
    return lambda renamer, value: rename(renamer, value) if isinstance(value, str) else value


def _each(change: Change) -> Change:
    def each(renamer: Renamer, value: Any) -> Any:
        return [change(renamer, item) for item in value] if isinstance(value, list) else value

    return each


def _map(keys: Rename, change: Change) -> Change:
    def each(renamer: Renamer, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {keys(renamer, key): change(renamer, item) for key, item in value.items()}

    return each


def _labels(renamer: Renamer, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        renamer.key(key): renamer.value(key, item) if isinstance(item, str) else item
        for key, item in value.items()
    }


def _keyed(renamer: Renamer, value: Mapping[str, Any], field: str) -> Plain:
    """A requirement, taint or toleration: what is compared depends on its key and operator."""
    key = value.get("key") or ""
    if value.get("operator") in NUMERIC_OPERATORS:
        renamer.learn_numeric_key(key)
    changed = dict(value)
    if key:
        changed["key"] = renamer.key(key)
    item = value.get(field)
    if isinstance(item, str):
        changed[field] = renamer.value(key, item)
    elif isinstance(item, list):
        changed[field] = [renamer.value(key, text) for text in item]
    return changed


def _attributes(renamer: Renamer, value: Any) -> Any:
    """Redact a device's attributes: the strings that nobody selects by are renamed."""
    if not isinstance(value, dict):
        return value
    return {key: _attribute(renamer, key, item) for key, item in value.items()}


def _attribute(renamer: Renamer, key: str, value: Any) -> Any:
    text = value.get("string") if isinstance(value, dict) else None
    if not isinstance(text, str):
        return value
    return {**value, "string": renamer.device_attribute(key, text)}
