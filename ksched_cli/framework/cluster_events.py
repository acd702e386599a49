"""Events in the cluster, and plugins' registrations for events that may let a rejected pod fit.

Upstream: k8s.io/kube-scheduler/framework/types.go (ActionType, ClusterEvent, QueueingHintFn) and
pkg/scheduler/framework/events.go, types.go (MatchClusterEvents).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntFlag
from typing import Any, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from ksched_cli.cluster.custom_objects import Plain
from ksched_cli.cluster.objects import KubeObject, Node
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import requests_rule
from ksched_cli.framework.status import MalformedError
from ksched_cli.kube.gates import COMPOSITE_POD_GROUP, POD_GROUP
from ksched_cli.kube.near_names import did_you_mean
from ksched_cli.kube.versions import Release


class Action(IntFlag):
    """The kind of change to an object, in upstream's bits."""

    ADD = 1 << 0
    DELETE = 1 << 1
    UPDATE_NODE_ALLOCATABLE = 1 << 2
    UPDATE_NODE_LABEL = 1 << 3
    UPDATE_NODE_TAINT = 1 << 4
    UPDATE_NODE_CONDITION = 1 << 5
    UPDATE_NODE_ANNOTATION = 1 << 6
    UPDATE_NODE_DECLARED_FEATURE = 1 << 7
    UPDATE_NODE_PREEMPTION_POLICY = 1 << 8
    UPDATE_POD_LABEL = 1 << 9
    UPDATE_POD_SCALE_DOWN = 1 << 10
    UPDATE_POD_SCALE_UP = 1 << 11
    UPDATE_POD_TOLERATION = 1 << 12
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 13
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 1 << 14
    ALL = (1 << 15) - 1
    UPDATE = ALL & ~(ADD | DELETE)


# Resources of events, with upstream's text. A pod's are of one with a node, of another without, or
# of the very pod that is asked about; a plugin that registers for POD hears of all three.
POD = "Pod"
NODE = "Node"
PERSISTENT_VOLUME = "PersistentVolume"
PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
CSI_NODE = "storage.k8s.io/CSINode"
CSI_DRIVER = "storage.k8s.io/CSIDriver"
VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
STORAGE_CLASS = "storage.k8s.io/StorageClass"
RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
DEVICE_CLASS = "resource.k8s.io/DeviceClass"
WILDCARD = "*"
ASSIGNED_POD = "AssignedPod"
UNSCHEDULED_POD = "UnscheduledPod"
TARGET_POD = "TargetPod"

_POD_RESOURCES = (ASSIGNED_POD, UNSCHEDULED_POD, TARGET_POD)


class ClusterEvent(Struct, frozen=True):
    """What a plugin registers for, or what occurred. resource: one of the texts above, or a kind
    that plugins declare in `reads`, as "PodGroup.scheduling.x-k8s.io"."""

    resource: str
    action: Action

    def matches(self, incoming: ClusterEvent) -> bool:
        """Return whether a plugin that is registered for this event is asked about `incoming`: it
        is the same or more specific. Upstream: MatchClusterEvents."""
        if self == EVERYTHING:
            return True
        is_same = self.resource in (WILDCARD, incoming.resource) or (
            self.resource == POD and incoming.resource in _POD_RESOURCES
        )
        return is_same and bool(self.action & incoming.action) and incoming.action <= self.action


EVERYTHING = ClusterEvent(WILDCARD, Action.ALL)
ASSIGNED_POD_ADD = ClusterEvent(ASSIGNED_POD, Action.ADD)
ASSIGNED_POD_UPDATE = ClusterEvent(ASSIGNED_POD, Action.UPDATE)
ASSIGNED_POD_DELETE = ClusterEvent(ASSIGNED_POD, Action.DELETE)
UNSCHEDULED_POD_ADD = ClusterEvent(UNSCHEDULED_POD, Action.ADD)
TARGET_POD_UPDATE = ClusterEvent(TARGET_POD, Action.UPDATE)
RESOURCE_CLAIM_UPDATE = ClusterEvent(RESOURCE_CLAIM, Action.UPDATE)

# A pod's as PodInfo, other objects as decoded, those that only plugins read as plain data; None:
# there was none before, or there is none now.
EventObject: TypeAlias = PodInfo | KubeObject | Plain | None
# Takes the rejected pod, and the event's object before and after, of the kind that the plugin
# registered for: whether the pod may fit now.
QueueingHint: TypeAlias = Callable[[PodInfo, Any, Any], bool]
IsConcerned: TypeAlias = Callable[[PodInfo], bool]
Registration: TypeAlias = tuple[ClusterEvent, QueueingHint | None]

# The events of extenders, and of plugins that do not say which ones they wait for. Upstream leaves
# the resource slices and volume attachments out: UnrollWildCardResource.
BY_DEFAULT: tuple[Registration, ...] = tuple(
    (ClusterEvent(resource, Action.ALL), None)
    for resource in (
        POD,
        NODE,
        PERSISTENT_VOLUME,
        PERSISTENT_VOLUME_CLAIM,
        CSI_NODE,
        CSI_DRIVER,
        CSI_STORAGE_CAPACITY,
        STORAGE_CLASS,
        RESOURCE_CLAIM,
        DEVICE_CLASS,
        POD_GROUP,
    )
)


@runtime_checkable
class EnqueueExtensions(Protocol):
    """A plugin that says which events may let pods fit that it rejected. One that does not is
    registered for events of all kinds in `BY_DEFAULT`, and of those that it reads."""

    def events_to_register(self) -> Iterable[Registration]:
        """Return the events that may make a rejected pod schedulable, each with a hint. Without one
        (None), every such event may."""
        ...


@runtime_checkable
class PreQueueingHints(Protocol):
    """A plugin that can tell which pods an event concerns (SchedulerPreQueueingHints)."""

    def concerned_pods(self, event: ClusterEvent, old: Any, new: Any) -> IsConcerned | None:
        """Return a function that tells whether a pod is concerned. None means that every pod is."""
        ...


RESOURCES = (
    *(event.resource for event, _ in BY_DEFAULT),
    *_POD_RESOURCES,
    VOLUME_ATTACHMENT,
    RESOURCE_SLICE,
    COMPOSITE_POD_GROUP,
    WILDCARD,
)


def check_registrations(registrations: Iterable[Any], reads: Iterable[str]) -> None:
    """Raise MalformedError for what is no pair of a ClusterEvent and a hint or None, and for a
    resource that has no events. reads: the kinds that the plugin declares"""
    resources = (*RESOURCES, *reads)
    for each in registrations:
        is_pair = isinstance(each, tuple) and len(each) == 2
        if not is_pair or not isinstance(each[0], ClusterEvent):
            raise MalformedError(
                f"events_to_register returned {each!r:.100}, expected pairs of a ClusterEvent and "
                "a hint, or None in its place"
            )
        event, hint = each
        if event.resource not in resources:
            near = did_you_mean(event.resource, resources)
            raise MalformedError(
                f'events_to_register names the resource "{event.resource}", of which there are no '
                f"events{' (' + near + ')' if near else ''}; a kind that the plugin reads belongs "
                "in its `reads`, too"
            )
        if not (hint is None or callable(hint)):
            raise MalformedError(
                f"the hint of {event.resource} is {hint!r:.60}, expected a function or None"
            )


def registrations_of(plugin: object) -> tuple[Registration, ...]:
    """Return a plugin's events. Upstream: defaultEnqueueExtension, UnrollWildCardResource."""
    if not isinstance(plugin, EnqueueExtensions):
        own: Iterable[str] = getattr(plugin, "reads", ())
        return (*BY_DEFAULT, *((ClusterEvent(kind, Action.ALL), None) for kind in own))
    registered: Iterable[Registration] | None = plugin.events_to_register()
    if registered is None:
        raise MalformedError(
            "events_to_register returned None, expected pairs of a ClusterEvent and a hint; () for "
            "no events"
        )
    return tuple(registered)


def with_taints(registrations: tuple[Registration, ...]) -> tuple[Registration, ...]:
    """Return the registrations for Rules.adds_taint_events. Upstream: buildQueueingHintMap."""
    of_nodes = Action(0)
    for event, _ in registrations:
        if event.resource == NODE:
            of_nodes |= event.action
    if Action.ADD in of_nodes and Action.UPDATE_NODE_TAINT not in of_nodes:
        registrations += ((ClusterEvent(NODE, Action.UPDATE_NODE_TAINT), None),)
    return registrations


def node_events(old: Node, new: Node) -> Iterator[ClusterEvent]:
    """Return the events of a change of a node, usually one. Upstream:
    NodeSchedulingPropertiesChange.

    Conditions are not decoded, and so make no event: no plugin of kube-scheduler registers for it.
    """
    if old.spec.unschedulable and not new.spec.unschedulable:
        yield ClusterEvent(NODE, Action.UPDATE_NODE_TAINT)
    if old.status.allocatable != new.status.allocatable:
        yield ClusterEvent(NODE, Action.UPDATE_NODE_ALLOCATABLE)
    if old.metadata.labels != new.metadata.labels:
        yield ClusterEvent(NODE, Action.UPDATE_NODE_LABEL)
    if old.spec.taints != new.spec.taints:
        yield ClusterEvent(NODE, Action.UPDATE_NODE_TAINT)
    if old.metadata.annotations != new.metadata.annotations:
        yield ClusterEvent(NODE, Action.UPDATE_NODE_ANNOTATION)
    if old.spec.pod_preemption_policy != new.spec.pod_preemption_policy:
        yield ClusterEvent(NODE, Action.UPDATE_NODE_PREEMPTION_POLICY)
    if old.status.declared_features != new.status.declared_features:
        yield ClusterEvent(NODE, Action.UPDATE_NODE_DECLARED_FEATURE)


def pod_events(old: PodInfo, new: PodInfo, release: Release) -> list[ClusterEvent]:
    """Return the events of a change of a pod. A pod without a node is the pod that is asked about.
    One with a node is not, although it is queued where its resize is deferred. Upstream:
    PodSchedulingPropertiesChange."""
    # Upstream counts requests of the pod as a whole here even where PodLevelResources is off, and
    # never what claims take.
    count = requests_rule(release)
    before, after = count(old.pod).requests, count(new.pod).requests
    resource = ASSIGNED_POD if new.pod.node_name else TARGET_POD
    actions = []
    if old.labels != new.labels:
        actions.append(Action.UPDATE_POD_LABEL)
    if _is_less(before, after):
        actions.append(Action.UPDATE_POD_SCALE_DOWN)
    if _is_less(after, before):
        actions.append(Action.UPDATE_POD_SCALE_UP)
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        actions.append(Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    if len(old.spec.tolerations) != len(new.spec.tolerations):
        actions.append(Action.UPDATE_POD_TOLERATION)
    if old.pod.status.resource_claim_statuses != new.pod.status.resource_claim_statuses:
        actions.append(Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    return [ClusterEvent(resource, action) for action in actions or [Action.UPDATE]]


def _is_less(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    """Return whether less of any resource is requested than before, or none of it any more."""
    return any(after.get(name, -1) < amount for name, amount in before.items())
