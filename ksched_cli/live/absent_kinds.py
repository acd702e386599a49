"""What comes out less exact where a kind of object cannot be read, a line each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ksched_cli.live.resources import kinds_to_read

_CONSEQUENCES = {
    "Namespace": "affinity that selects namespaces by label matches none",
    "PriorityClass": "whether a class forbids its pods to preempt is not known",
    "PodDisruptionBudget": "victims are chosen as if nothing protected them",
    "PersistentVolume": "from which nodes bound volumes are reached is not known",
    "PersistentVolumeClaim": "pods with claims find none",
    "StorageClass": "where volumes would be made for unbound claims is not known",
    "CSINode": "nodes have no limit of volumes",
    "CSIDriver": "the capacity of storage is not looked at",
    "CSIStorageCapacity": "classes that track capacity seem to have none",
    "VolumeAttachment": "volumes that are attached without a pod are not counted",
    "Service": "default spreading does not follow services",
    "ReplicationController": "default spreading does not follow its pods",
    "ReplicaSet": "default spreading does not follow its pods",
    "StatefulSet": "default spreading does not follow its pods",
    "ResourceClaim": "pods with resource claims find none",
    "ResourceSlice": "pods with resource claims find no device",
    "DeviceClass": "pods with resource claims find no device",
    "DeviceTaintRule": "which devices it taints is not known",
}
# Kinds that no minor before 1.37 serves by default: a cluster without them lacks nothing.
_NEW = ("DeviceTaintRule",)
_WORKLOADS = "pods that it has yet to make are not counted, and changes cannot name it"


# How many consequences a line lists.
_MAX_LISTED = 3


def forbidden_warning(kinds: Iterable[str]) -> str:
    """The kinds that may not be listed, in no namespace either."""
    kinds = list(kinds)
    return f"no right to list {', '.join(kinds)}: {_joined(kinds)}"


def unserved_warnings(kinds: Iterable[str]) -> list[str]:
    """The kinds that the API server does not have, a line for each group; nothing in its cluster
    can be of them, so that nothing comes out less exact unless a server behind it is down."""
    by_group: dict[str, list[str]] = {}
    groups = kinds_to_read()
    for kind in kinds:
        if kind in _NEW:
            continue
        by_group.setdefault(groups.get(kind, ""), []).append(kind)
    return [
        f"the API server has no {', '.join(names)}{f' ({group})' if group else ''}: "
        f"{_joined(names)}"
        for group, names in by_group.items()
    ]


def namespace_warning(kinds: Sequence[str], namespace: str) -> str:
    """The kinds that may be listed in one namespace only."""
    effects = []
    if "Pod" in kinds:
        effects.append("nodes look emptier than they are, affinity and spreading see fewer pods")
    if "PodDisruptionBudget" in kinds:
        effects.append("budgets of others do not protect their pods")
    rest = f": {'; '.join(effects)}" if effects else ""
    return f"only of namespace {namespace} could be listed: {', '.join(kinds)}{rest}"


def _joined(kinds: Iterable[str]) -> str:
    """What comes out less exact without them."""
    consequences = list(dict.fromkeys(map(_consequence, kinds)))
    more = ("…",) if len(consequences) > _MAX_LISTED else ()
    return "; ".join((*consequences[:_MAX_LISTED], *more))


def _consequence(kind: str) -> str:
    return _CONSEQUENCES.get(kind, _WORKLOADS)
