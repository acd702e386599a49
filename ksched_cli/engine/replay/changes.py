"""What one state of a cluster has and another has not, and the events that tell of it.

Upstream: pkg/scheduler/eventhandlers.go (addAllEventHandlers).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ksched_cli.cluster.custom_objects import Plain
from ksched_cli.cluster.objects import KubeObject, Node, Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework import cluster_events as events
from ksched_cli.framework.cluster_events import Action, ClusterEvent, EventObject
from ksched_cli.scenario.objects import custom_objects_of

# By attribute of ClusterState, the resource of events.
_RESOURCES = {
    "persistent_volumes": events.PERSISTENT_VOLUME,
    "persistent_volume_claims": events.PERSISTENT_VOLUME_CLAIM,
    "storage_classes": events.STORAGE_CLASS,
    "csi_nodes": events.CSI_NODE,
    "csi_drivers": events.CSI_DRIVER,
    "csi_storage_capacities": events.CSI_STORAGE_CAPACITY,
    "volume_attachments": events.VOLUME_ATTACHMENT,
    "resource_claims": events.RESOURCE_CLAIM,
    "resource_slices": events.RESOURCE_SLICE,
    "device_classes": events.DEVICE_CLASS,
}


class ObjectEvent(NamedTuple):
    """An event with its object before and after."""

    event: ClusterEvent
    old: EventObject
    new: EventObject


class PodChanges(NamedTuple):
    """By key. updated: before and after."""

    removed: dict[str, Pod]
    updated: dict[str, tuple[Pod, Pod]]
    added: dict[str, Pod]


def object_events(before: ClusterState, after: ClusterState) -> Iterator[ObjectEvent]:
    """Of nodes, then of the other kinds that kube-scheduler and plugins watch, without pods."""
    if before.nodes is not after.nodes:
        old = {node.name: node for node in before.nodes}
        new = {node.name: node for node in after.nodes}
        yield from _node_events(old, new)
    for attribute, resource in _RESOURCES.items():
        yield from _events_of(getattr(before, attribute), getattr(after, attribute), resource)
    if before.others is not after.others:
        for kind in dict.fromkeys((*before.others, *after.others)):
            yield from _events_of(
                custom_objects_of(before, kind), custom_objects_of(after, kind), kind
            )


def _node_events(old: Mapping[str, Node], new: Mapping[str, Node]) -> Iterator[ObjectEvent]:
    for name, node in old.items():
        if name not in new:
            yield ObjectEvent(ClusterEvent(events.NODE, Action.DELETE), node, None)
    for name, node in new.items():
        if name not in old:
            yield ObjectEvent(ClusterEvent(events.NODE, Action.ADD), None, node)
        elif node is not old[name]:
            for event in events.node_events(old[name], node):
                yield ObjectEvent(event, old[name], node)


def _events_of(
    old: Mapping[Any, KubeObject | Plain], new: Mapping[Any, KubeObject | Plain], resource: str
) -> Iterator[ObjectEvent]:
    if old is new:
        return
    for key, item in old.items():
        if key not in new:
            yield ObjectEvent(ClusterEvent(resource, Action.DELETE), item, None)
    for key, item in new.items():
        if key not in old:
            yield ObjectEvent(ClusterEvent(resource, Action.ADD), None, item)
        elif item is not old[key]:
            yield ObjectEvent(ClusterEvent(resource, Action.UPDATE), old[key], item)


def changes_objects(before: ClusterState, after: ClusterState) -> bool:
    """Whether anything but pods differs that plugins read."""
    names = ("nodes", *_RESOURCES, "services", "replica_sets", "stateful_sets")
    names = (*names, "replication_controllers", "pod_disruption_budgets", "namespaces")
    names = (*names, "priority_classes", "resource_claim_templates", "others")
    return any(getattr(before, name) is not getattr(after, name) for name in names)


def pod_changes(before: ClusterState, after: ClusterState) -> PodChanges:
    """A pod that lost its node was deleted, and another of its name was created."""
    old = {pod.key: pod for pod in before.pods}
    new = {pod.key: pod for pod in after.pods}
    changes = PodChanges({}, {}, {})
    for key, pod in old.items():
        current = new.get(key)
        if current is pod:
            continue
        if current is None or (pod.node_name and not current.node_name):
            changes.removed[key] = pod
        if current is not None and key not in changes.removed:
            changes.updated[key] = (pod, current)
    for key, pod in new.items():
        if key not in old or key in changes.removed:
            changes.added[key] = pod
    return changes
