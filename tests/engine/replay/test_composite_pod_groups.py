"""Trees of groups are entities of a replay's queue."""

from __future__ import annotations

from pathlib import Path

from ksched_cli.engine.replay.replay import Replay
from tests.engine.replay.test_pod_groups import entity, member
from tests.replays import Plain, node, replay, tries

GATES = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"


def composite(least: int, name: str = "job", **spec: object) -> Plain:
    policy = {"schedulingPolicy": {"gang": {"minGroupCount": least}}}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**policy, **spec},
    }


def part(least: int, name: str = "red", parent: str = "job") -> Plain:
    return entity(least, name, parentCompositePodGroupName=parent)


def replayed(folder: Path, objects: list[Plain], events: list[Plain]) -> Replay:
    return replay(folder, objects, events, gates=GATES, minor="1.37", until=20)


def deleted(kind: str, name: str) -> Plain:
    return {"kind": kind, "namespace": "default", "name": name}


def test_a_pod_of_another_group_completes_the_tree(tmp_path: Path) -> None:
    events = [
        {"at": 0, "pod": member("p")},
        {"at": 3, "pod": member("q", group="blue")},
    ]
    objects = [node("a", "9"), composite(2), part(1), part(1, "blue")]
    run = replayed(tmp_path, objects, events)
    assert {name: (at, where) for at, name, where in tries(run)} == {"p": (3, "a"), "q": (3, "a")}


def test_pods_wait_for_the_composite_group_that_comes_and_wait_again_when_it_goes(
    tmp_path: Path,
) -> None:
    events = [
        {"at": 0, "pod": member("p", "9")},
        {"at": 3, "put": composite(1)},
        {"at": 4, "delete": deleted("CompositePodGroup", "job")},
    ]
    run = replayed(tmp_path, [node("a", "1"), part(1)], events)
    assert [at for at, _, _ in tries(run)] == [3]
    assert run.places()["gated"] == ["default/p"]


def test_a_part_that_goes_leaves_the_others_to_the_tree(tmp_path: Path) -> None:
    """With one group less there are too few."""
    events = [
        {"at": 0, "pod": member("p", "9")},
        {"at": 0, "pod": member("q", "9", group="blue")},
        {"at": 1, "delete": deleted("PodGroup", "blue")},
    ]
    objects = [node("a", "1"), composite(2), part(1), part(1, "blue")]
    run = replayed(tmp_path, objects, events)
    assert {at for at, _, _ in tries(run)} == {0}
    assert run.places()["gated"] == ["default/p", "default/q"]
