"""What differs between two states, as events."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from msgspec import structs

from ksched_cli.engine.replay.event_applier import changes_objects, object_events, pod_changes
from ksched_cli.framework.cluster_events import NODE, PERSISTENT_VOLUME, Action, ClusterEvent
from ksched_cli.scenario.objects import load_objects, with_objects
from tests.replays import node, pod, state_of


def test_nodes_and_other_objects_that_differ_are_events(tmp_path: Path) -> None:
    before = state_of(tmp_path, node("a"), node("b"), node("c"))
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}}
    added = load_objects(before, [node("b", "2"), node("d"), volume], "test")
    after = with_objects(before, added)
    after = replace(after, nodes=tuple(n for n in after.nodes if n.name != "a"))
    assert changes_objects(before, after)
    assert [event for event, _, _ in object_events(before, after)] == [
        ClusterEvent(NODE, Action.DELETE),
        ClusterEvent(NODE, Action.UPDATE_NODE_ALLOCATABLE),
        ClusterEvent(NODE, Action.ADD),
        ClusterEvent(PERSISTENT_VOLUME, Action.ADD),
    ]
    assert not changes_objects(before, before)
    assert list(object_events(before, before)) == []


def test_a_pod_that_lost_its_node_is_gone_and_another_is_there(tmp_path: Path) -> None:
    before = state_of(tmp_path, pod("a", nodeName="n"), pod("b"), pod("c"))
    first, second, _ = before.pods
    lost = structs.replace(first, node_name="")
    placed = structs.replace(second, node_name="n")
    changes = pod_changes(before, replace(before, pods=(lost, placed)))
    assert list(changes.removed) == ["default/a", "default/c"]
    assert list(changes.updated) == ["default/b"]
    assert list(changes.added) == ["default/a"]
