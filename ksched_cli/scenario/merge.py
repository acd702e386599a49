"""Merges patches into objects: strategic, merge and JSON patches.

Upstream: apimachinery/pkg/util/strategicpatch; RFC 7386; RFC 6902.
"""

from __future__ import annotations

from typing import Any

# Lists whose items are merged by a key, by the name of the list. Upstream: patchMergeKey in
# k8s.io/api/core/v1/types.go. All other lists are replaced.
_MERGE_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "env": "name",
    "ports": "containerPort",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "topologySpreadConstraints": "topologyKey",
    "conditions": "type",
    "ownerReferences": "uid",
}
_DIRECTIVE = "$patch"


class PatchError(ValueError):
    """A JSON patch that cannot be carried out."""


def strategic_merge(value: Any, patch: Any, name: str = "") -> Any:
    """name: of the field that holds the value."""
    if isinstance(patch, dict) and isinstance(value, dict):
        return _merged_object(value, patch)
    if isinstance(patch, list) and isinstance(value, list) and name in _MERGE_KEYS:
        return _merged_list(value, patch, _MERGE_KEYS[name])
    return patch


def _merged_object(value: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    if patch.get(_DIRECTIVE) == "replace":
        return {key: item for key, item in patch.items() if key != _DIRECTIVE}
    merged = dict(value)
    for key, item in patch.items():
        if key.startswith("$"):
            continue
        if item is None:
            merged.pop(key, None)
        else:
            merged[key] = strategic_merge(merged[key], item, key) if key in merged else item
    return merged


def _merged_list(value: list[Any], patch: list[Any], key: str) -> list[Any]:
    if any(isinstance(item, dict) and item.get(_DIRECTIVE) == "replace" for item in patch):
        return [item for item in patch if item.get(_DIRECTIVE) != "replace"]
    merged = list(value)
    places: dict[str | int | None, list[int]] = {}
    for place, item in enumerate(value):
        places.setdefault(_identity(item, key), []).append(place)
    places.pop(None, None)
    gone: set[int] = set()
    for item in patch:
        identity = _identity(item, key)
        if isinstance(item, dict) and item.get(_DIRECTIVE) == "delete":
            gone.update(places.pop(identity, ()))
        elif identity in places:
            place = places[identity][0]
            merged[place] = _merged_object(merged[place], item)
        else:
            if identity is not None:
                places[identity] = [len(merged)]
            merged.append(item)
    return [item for place, item in enumerate(merged) if place not in gone]


def removals(last: Any, applied: Any, name: str = "") -> Any:
    """The strategic patch that takes away what was applied last and is not applied now; {} or []
    for nothing. name: of the field that holds both. Upstream: CreateThreeWayMergePatch."""
    if isinstance(last, dict) and isinstance(applied, dict):
        patch = {key: None for key in last if key not in applied}
        nested = {key: removals(last[key], applied[key], key) for key in last if key in applied}
        return patch | {key: item for key, item in nested.items() if item}
    if not (isinstance(last, list) and isinstance(applied, list) and name in _MERGE_KEYS):
        return {}
    merge_key = _MERGE_KEYS[name]
    current = {_identity(item, merge_key): item for item in applied}
    items = []
    for item in last:
        identity = _identity(item, merge_key)
        if identity is None:
            continue
        if identity not in current:
            items.append({merge_key: identity, _DIRECTIVE: "delete"})
        elif patch := removals(item, current[identity]):
            items.append({merge_key: identity, **patch})
    return items


def _identity(item: Any, merge_key: str) -> str | int | None:
    """Return the identity of an item; None where that is not a text or number."""
    identity = item.get(merge_key) if isinstance(item, dict) else None
    return identity if isinstance(identity, str | int) else None


def json_merge(value: Any, patch: Any) -> Any:
    """RFC 7386: objects are merged, null removes, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(value) if isinstance(value, dict) else {}
    for key, item in patch.items():
        if item is None:
            merged.pop(key, None)
        else:
            merged[key] = json_merge(merged.get(key), item)
    return merged


def json_patch(value: Any, operations: Any) -> Any:
    """RFC 6902: add, remove, replace and test, in place. Raises PatchError."""
    for operation in operations if isinstance(operations, list) else [operations]:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise PatchError("expected a list of {op, path, value}")
        name, path = operation.get("op"), operation["path"]
        steps = [s.replace("~1", "/").replace("~0", "~") for s in path.split("/")[1:]]
        if name not in ("add", "remove", "replace", "test") or not steps:
            raise PatchError(f'"{name}" at "{path}": expected add, remove, replace or test')
        _operate(name, value, steps, path, operation.get("value"))
    return value


def _operate(name: str, value: Any, steps: list[str], path: str, item: Any) -> None:
    try:
        for step in steps[:-1]:
            value = value[int(step) if isinstance(value, list) else step]
        last: Any = steps[-1]
        if isinstance(value, list):
            last = len(value) if last == "-" else int(last)
        if name == "add" and isinstance(value, list):
            value.insert(last, item)
        elif name == "add":
            value[last] = item
        elif name == "remove":
            del value[last]
        elif name == "replace":
            _ = value[last]  # it must be there
            value[last] = item
        elif value[last] != item:
            raise PatchError(f'test at "{path}": the value differs')
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, PatchError):
            raise
        raise PatchError(f'{name} at "{path}": this path does not exist') from None
