"""Writes object_fields.json of cluster/loading: the fields of the objects that a state may hold.

python -m ksched_cli.schemas.generate_object_fields SWAGGER.json SWAGGER.json …

SWAGGER.json is api/openapi-spec/swagger.json of a Kubernetes release, oldest first; the file has
the fields of all of them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ksched_cli.cluster.loading.unknown_fields import FILE

_PREFIXES = ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis.", "io.k8s.apimachinery.pkg.")
_CORE = "Namespace Node PersistentVolume PersistentVolumeClaim Pod ReplicationController Service"
_DEVICES = "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice"
_KINDS_OF_VERSIONS = {
    "core.v1": _CORE,
    "apps.v1": "DaemonSet Deployment ReplicaSet StatefulSet",
    "batch.v1": "CronJob Job",
    "policy.v1": "PodDisruptionBudget",
    "scheduling.v1": "PriorityClass",
    "storage.v1": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment",
    "resource.v1": f"{_DEVICES} DeviceTaintRule",
    "resource.v1beta2": f"{_DEVICES} DeviceTaintRule",
    "resource.v1beta1": _DEVICES,
    "resource.v1alpha3": "DeviceTaintRule",
}
KINDS = tuple(
    f"{version}.{kind}" for version, kinds in _KINDS_OF_VERSIONS.items() for kind in kinds.split()
)

Types = dict[str, dict[str, str]]
"""Type → field → type of its value, as FieldTables.types."""


def main(arguments: Sequence[str]) -> None:
    """arguments: paths, of the oldest release first."""
    releases = [json.loads(Path(path).read_text(encoding="utf-8")) for path in arguments]
    FILE.write_text(text([each["definitions"] for each in releases]), encoding="utf-8")


def text(definitions: Iterable[Mapping[str, Any]]) -> str:
    """The whole file, a type on a line. definitions: of each release's swagger.json"""
    kinds: dict[str, str] = {}
    union: Types = {}
    for swagger in definitions:
        for name, members in _types(swagger, kinds).items():
            union.setdefault(name, {}).update(members)
    return f'{{\n"kinds": {_lines(kinds)},\n"types": {_lines(union)}\n}}\n'


def _lines(members: Mapping[str, Any]) -> str:
    rows = (f"{json.dumps(key)}: {json.dumps(members[key])}" for key in sorted(members))
    return "{\n" + ",\n".join(rows) + "\n}"


def _types(swagger: Mapping[str, Any], kinds: dict[str, str]) -> Types:
    """The types that KINDS need, as far as a minor has them. kinds: gets apiVersion/kind → type."""
    types: Types = {}
    definition_of = {_short(name): definition for name, definition in swagger.items()}
    for kind in filter(definition_of.__contains__, KINDS):
        for names in definition_of[kind]["x-kubernetes-group-version-kind"]:
            group_version = "/".join(part for part in (names["group"], names["version"]) if part)
            kinds[f"{group_version}/{names['kind']}"] = kind
        _collect(kind, definition_of, types)
    return types


def _collect(name: str, definition_of: Mapping[str, Any], types: Types) -> None:
    if name in types:
        return
    types[name] = {}
    for field, value in definition_of[name]["properties"].items():
        value_type = _type_of(value)
        base = value_type.lstrip("[]{}")
        is_object = base and definition_of[base].get("properties")
        types[name][field] = value_type if is_object else ""
        if is_object:
            _collect(base, definition_of, types)


def _type_of(value: Mapping[str, Any]) -> str:
    if "$ref" in value:
        return _short(value["$ref"].rpartition("/")[2])
    for key, prefix in (("items", "[]"), ("additionalProperties", "{}")):
        if key in value:
            item = _type_of(value[key])
            return item and prefix + item
    return ""


def _short(name: str) -> str:
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


if __name__ == "__main__":
    main(sys.argv[1:])
