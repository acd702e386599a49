"""Objects without their unread parts: environment, commands, configuration, managed fields,
annotations of others.

The fields of the types of cluster/objects stay, so that a field that a plugin begins to read stays
from then on; but for texts in them that no plugin reads and that may hold anything.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec import Struct

from ksched_cli.cluster import objects
from ksched_cli.cluster.custom_objects import kind_with_group
from ksched_cli.cluster.loading.kinds import find_kind, type_of_kind
from ksched_cli.cluster.objects import (
    ContainerStatus,
    ObjectMeta,
    PodCondition,
    PodSpec,
    Volume,
)

Plain = dict[str, Any]
Trim = Callable[[Any], Any]

# The annotations that plugins and changes read; the last is the scheduler's own, for audits.
READ_ANNOTATIONS = frozenset((
    "controller.kubernetes.io/pod-deletion-cost",
    "kubernetes.io/config.mirror",
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "resource.kubernetes.io/extended-resource-claim",
    "storage.alpha.kubernetes.io/migrated-plugins",
    "volume.beta.kubernetes.io/storage-class",
    "volume.kubernetes.io/selected-node",
))  # fmt: skip

# Fields that are read from the JSON rather than from the decoded object.
_MORE_FIELDS: Mapping[type, tuple[str, ...]] = {
    PodSpec: ("nodeName", "activeDeadlineSeconds"),
    PodCondition: ("lastTransitionTime",),
    ContainerStatus: ("restartCount",),
}
# Texts of the types that no plugin reads. A volume's source may have no other field: it counts only
# that it is there.
UNREAD_FIELDS: Mapping[type, tuple[str, ...]] = {
    objects.NodeSpec: ("providerID",),
    objects.StorageClass: ("parameters",),
    objects.CSIVolume: ("volumeAttributes",),
    objects.AzureFile: ("secretName", "secretNamespace", "shareName"),
    objects.GCEPersistentDisk: ("fsType",),
    objects.AWSElasticBlockStore: ("fsType",),
    objects.AzureDisk: ("diskName",),
    objects.ISCSI: ("targetPortal",),
    objects.VsphereVolume: ("volumePath",),
    objects.HostPath: ("path",),
    objects.LocalVolume: ("path",),
    objects.NFS: ("server", "path"),
    objects.CSINodeDriver: ("nodeID",),
    objects.VolumeAttachmentSource: ("inlineVolumeSpec",),
}
# A kind that is in no file that ksched writes, whatever reads it.
SECRET = "Secret"  # nosec B105  # a kind
_RAW = "raw"  # an object's JSON, which is no field of it
_BETA = "/v1beta1"


def is_written(api_version: str, kind: str, reads: Container[str] = ()) -> bool:
    """Return whether a file of a state that ksched writes has objects of this kind. reads: kinds of
    plugins, besides those that ksched knows"""
    full = kind_with_group(api_version, kind)
    return full != SECRET and (type_of_kind(api_version, kind) is not None or full in reads)


def trimmed(obj: Plain) -> Plain:
    """Return the object with what is read of it. One of a kind that ksched does not read is the
    same but for its managed fields and annotations."""
    version, name = obj.get("apiVersion") or "", obj.get("kind") or ""
    kind, struct = find_kind(version, name), type_of_kind(version, name)
    if struct is None:
        metadata = obj.get("metadata")
        if not isinstance(metadata, dict):
            return obj
        hidden = ("managedFields", "annotations")
        return {**obj, "metadata": {k: v for k, v in metadata.items() if k not in hidden}}
    if kind is not None and kind.upgrade is not None and version.endswith(_BETA):
        kind.upgrade(obj)
        version = f"{kind.group}/v1"
    return {"apiVersion": version, "kind": name, **_trim_of_struct(struct)(obj)}


@cache
def _trim_of_struct(struct: type[Struct]) -> Trim:
    """Keep the fields of a type, and of what it holds."""
    trims: dict[str, Trim | None] = dict.fromkeys(_MORE_FIELDS.get(struct, ()))
    unread = (_RAW, *UNREAD_FIELDS.get(struct, ()))
    for field in msgspec.structs.fields(struct):
        if field.encode_name not in unread:
            trims[field.encode_name] = _trim_of_type(field.type)
    if struct is ObjectMeta:
        trims["annotations"] = _read_annotations
    if struct is Volume:
        trims["emptyDir"] = _presence

    def trim(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        rest = {}
        for key, item in value.items():
            if key in trims:
                inner = trims[key]
                rest[key] = item if inner is None else inner(item)
        return rest

    return trim


def _trim_of_type(kind: Any) -> Trim | None:
    """Return the trim of a type; None if its values stay as they are."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        trims = [_trim_of_type(arg) for arg in args if arg is not NoneType]
        return next(filter(None, trims), None)  # texts and numbers stay anyway
    if origin in (tuple, list):
        item = _trim_of_type(args[0])
        if item is None:
            return None
        return lambda value: [item(part) for part in value] if isinstance(value, list) else value
    if origin is dict:
        if args[1] is Any:
            return _presence
        each = _trim_of_type(args[1])
        if each is None:
            return None
        return lambda value: (
            {k: each(v) for k, v in value.items()} if isinstance(value, dict) else value
        )
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _trim_of_struct(kind)
    return None


def _read_annotations(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: text for key, text in value.items() if key in READ_ANNOTATIONS}


def _presence(value: Any) -> Any:
    return {} if isinstance(value, dict) else value
