"""Cluster events, against facts of upstream's events_test.go and types_test.go."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from ksched_cli.cluster.objects import Node, Pod
from ksched_cli.cluster.objects.node import NodeSpec, NodeStatus, Taint
from ksched_cli.cluster.objects.pod import PodSchedulingGate, PodSpec, Toleration
from ksched_cli.cluster.pod_info import PodCatalog, PodInfo
from ksched_cli.framework.cluster_events import (
    ASSIGNED_POD,
    ASSIGNED_POD_DELETE,
    DEVICE_CLASS,
    EVERYTHING,
    NODE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    TARGET_POD,
    UNSCHEDULED_POD,
    VOLUME_ATTACHMENT,
    WILDCARD,
    Action,
    ClusterEvent,
    Registration,
    node_events,
    pod_events,
    registrations_of,
    with_taints,
)
from ksched_cli.kube.versions import release_of
from ksched_cli.testing import cluster, pod

CATALOG = PodCatalog()
RELEASE = release_of("1.37")


@pytest.mark.parametrize(
    ("registered", "incoming", "matches"),
    [
        (ClusterEvent(NODE, Action.UPDATE), ClusterEvent(NODE, Action.UPDATE_NODE_LABEL), True),
        (ClusterEvent(NODE, Action.UPDATE_NODE_LABEL), ClusterEvent(NODE, Action.UPDATE), False),
        (ClusterEvent(NODE, Action.ADD), ClusterEvent(NODE, Action.DELETE), False),
        (ClusterEvent(POD, Action.DELETE), ASSIGNED_POD_DELETE, True),
        (ClusterEvent(POD, Action.ALL), ClusterEvent(UNSCHEDULED_POD, Action.UPDATE), True),
        (ClusterEvent(POD, Action.ALL), ClusterEvent(TARGET_POD, Action.UPDATE), True),
        (ClusterEvent(TARGET_POD, Action.ALL), ClusterEvent(UNSCHEDULED_POD, Action.ADD), False),
        (ClusterEvent(NODE, Action.ALL), ASSIGNED_POD_DELETE, False),
        (ClusterEvent(WILDCARD, Action.ADD), ClusterEvent(NODE, Action.ADD), True),
        (EVERYTHING, EVERYTHING, True),
        (ClusterEvent(NODE, Action.ALL), EVERYTHING, False),
    ],
)
def test_a_plugin_hears_of_events_as_specific_as_it_registered_for(
    registered: ClusterEvent, incoming: ClusterEvent, matches: bool
) -> None:
    assert registered.matches(incoming) is matches


class Listener:
    """A plugin that registers for some events of nodes."""

    def __init__(self, *actions: Action) -> None:
        self.actions = actions

    def events_to_register(self) -> Iterable[Registration]:
        return tuple((ClusterEvent(NODE, action), None) for action in self.actions)


def test_a_plugin_that_hears_of_new_nodes_hears_of_taints_once() -> None:
    taints = (ClusterEvent(NODE, Action.UPDATE_NODE_TAINT), None)
    comes = Listener(Action.ADD | Action.UPDATE_NODE_LABEL)
    assert taints in with_taints(registrations_of(comes))
    assert taints not in registrations_of(comes)
    assert taints not in with_taints(registrations_of(Listener(Action.DELETE)))
    both = Action.ADD | Action.UPDATE_NODE_TAINT
    registered = with_taints(registrations_of(Listener(both)))
    assert registered == ((ClusterEvent(NODE, both), None),)


def test_a_change_of_a_node_is_an_event_per_property() -> None:
    old = Node(spec=NodeSpec(unschedulable=True))
    new = replace(
        old,
        spec=NodeSpec(taints=(Taint("a"),)),
        metadata=replace(old.metadata, labels={"zone": "z"}),
    )
    assert [event.action for event in node_events(old, new)] == [
        Action.UPDATE_NODE_TAINT,
        Action.UPDATE_NODE_LABEL,
        Action.UPDATE_NODE_TAINT,
    ]
    declares = replace(old, status=NodeStatus(declared_features=("F",)))
    assert [event.action for event in node_events(old, declares)] == [
        Action.UPDATE_NODE_DECLARED_FEATURE
    ]
    assert list(node_events(new, new)) == []
    assert list(node_events(Node(), old)) == []  # cordoned: no pod fits for that


def info(pod: Pod) -> PodInfo:
    return CATALOG.info(pod)


def test_a_change_of_a_pod_that_is_nothing_particular_is_a_plain_update() -> None:
    old = Pod()
    assert pod_events(info(old), info(old), RELEASE) == [ClusterEvent(TARGET_POD, Action.UPDATE)]
    bound = replace(old, node_name="n")
    assert pod_events(info(bound), info(bound), RELEASE) == [
        ClusterEvent(ASSIGNED_POD, Action.UPDATE)
    ]


def test_gates_and_tolerations_are_told_apart() -> None:
    old = Pod(spec=PodSpec(scheduling_gates=(PodSchedulingGate("g"),)))
    new = Pod(spec=PodSpec(tolerations=(Toleration("t"),)))
    assert [event.action for event in pod_events(info(old), info(new), RELEASE)] == [
        Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
        Action.UPDATE_POD_TOLERATION,
    ]


def test_a_request_of_the_whole_pod_counts_where_its_gate_is_off() -> None:
    """Upstream: extractPodScaleDown asks resource.PodRequests, which looks at no gate."""
    off = (
        "PodLevelResources",
        "InPlacePodLevelResourcesVerticalScaling",
        "PodLevelResourcesFixDefaulting",
        "PodLevelResourcesFixKubeletQOSClass",
    )
    release = release_of("1.37", ",".join(f"{gate}=false" for gate in off))
    catalog = PodCatalog.of(release)
    old, new = (
        cluster(pod("p", cpu=1, spec={"resources": {"requests": {"cpu": cpu}}})).pods[0]
        for cpu in ("3", "2")
    )
    before, after = catalog.info(old), catalog.info(new)
    assert before.resources.requests == after.resources.requests
    assert [event.action for event in pod_events(before, after, release)] == [
        Action.UPDATE_POD_SCALE_DOWN
    ]


def test_a_plugin_that_says_nothing_is_registered_for_nearly_everything() -> None:
    """Upstream: UnrollWildCardResource."""

    class Silent:
        pass

    registrations = registrations_of(Silent())
    assert {event.action for event, _ in registrations} == {Action.ALL}
    assert {hint for _, hint in registrations} == {None}
    resources = {event.resource for event, _ in registrations}
    assert {POD, NODE, RESOURCE_CLAIM, DEVICE_CLASS} <= resources
    assert not {RESOURCE_SLICE, VOLUME_ATTACHMENT, WILDCARD} & resources
