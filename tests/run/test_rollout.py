"""Rollouts step by step, each through the scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.cluster.state import ClusterState
from ksched_cli.run.open import Opener
from ksched_cli.run.run import ChangeSource, Run
from ksched_cli.testing import Manifest, node
from tests.scenario.build import owned, workload

Rolled = tuple[ClusterState, list[str]]


def state_file(folder: Path, *objects: Manifest) -> Path:
    path = folder / "state.json"
    path.write_bytes(msgspec.json.encode(objects))
    return path


def rolled(path: Path, line: str, **run: Any) -> Rolled:
    opening = Run(states=(str(path),), changes=(ChangeSource(line=line),), **run)
    state = Opener([opening]).state(opening)
    (record,) = state.changes
    return state, [f"{effect.action}: {effect.detail}" for effect in record.effects]


def pods_of(kind: str, count: int, **fields: Any) -> list[Manifest]:
    """A pod on each node, as its controller makes it. fields: beside what `owned` takes."""
    owner = "web-abc" if kind == "ReplicaSet" else "web"
    labels = {"app": "web", "pod-template-hash": "abc"}
    pods = []
    for i in range(count):
        spec = {}
        if kind == "DaemonSet":
            only = {"key": "metadata.name", "operator": "In", "values": [f"n{i}"]}
            required = {"nodeSelectorTerms": [{"matchFields": [only]}]}
            spec["affinity"] = {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
            }
        pods.append(
            owned(
                f"{owner}-{i}", kind, owner, node=f"n{i}", cpu=1, labels=labels, spec=spec, **fields
            )
        )
    return pods


def deployment(replicas: int, **strategy: Any) -> Manifest:
    return workload("Deployment", replicas=replicas, strategy=strategy)


def nodes(count: int, cpu: int = 4) -> list[Manifest]:
    return [node(f"n{i}", cpu=cpu) for i in range(count)]


RESTART = "rollout restart {}/web"


def test_a_surge_that_finds_no_port_is_stuck(tmp_path: Path) -> None:
    rolling = {"maxSurge": 1, "maxUnavailable": 0}
    path = state_file(
        tmp_path,
        *nodes(1),
        deployment(1, rollingUpdate=rolling),
        *pods_of("ReplicaSet", 1, ports=[8080]),
    )
    state, did = rolled(path, RESTART.format("deployment"))
    assert did[0] == "rollout is stuck: 0 of 1 pods updated; the next ones find no node"
    assert sorted(pod.node_name for pod in state.pods) == ["", "n0"]


@pytest.mark.parametrize("strategy", [{"type": "Recreate"}, {"rollingUpdate": {"maxSurge": 0}}])
def test_without_a_surge_the_old_pod_leaves_first(strategy: dict[str, Any], tmp_path: Path) -> None:
    path = state_file(
        tmp_path, *nodes(1), deployment(1, **strategy), *pods_of("ReplicaSet", 1, ports=[8080])
    )
    state, did = rolled(path, RESTART.format("deployment"))
    assert did[0] == "rollout finishes: steps: 1"
    assert [pod.node_name for pod in state.pods] == ["n0"]
    assert state.pods[0].name != "web-abc-0"


def test_at_once_all_pods_are_pending(tmp_path: Path) -> None:
    path = state_file(tmp_path, *nodes(2), deployment(2), *pods_of("ReplicaSet", 2))
    state, did = rolled(path, RESTART.format("deployment") + " --at-once")
    assert [pod.node_name for pod in state.pods] == ["", ""]
    assert did == ["pending again: was on n0", "pending again: was on n1"]


def test_a_changed_template_that_is_applied_is_rolled_out(tmp_path: Path) -> None:
    path = state_file(tmp_path, *nodes(4), deployment(4), *pods_of("ReplicaSet", 4))
    larger = deployment(4)
    container = larger["spec"]["template"]["spec"]["containers"][0]
    container["resources"]["requests"]["cpu"] = "4"
    manifest = tmp_path / "web.json"
    manifest.write_bytes(msgspec.json.encode(larger))
    state, did = rolled(path, f"apply -f {manifest}")
    assert did[:2] == ["configured: ", "rollout finishes: steps: 4"]
    assert {str(pod.spec.containers[0].resources.requests["cpu"]) for pod in state.pods} == {"4"}
    assert sorted(pod.node_name for pod in state.pods) == ["n0", "n1", "n2", "n3"]


def test_a_stateful_set_replaces_the_highest_ordinals_down_to_its_partition(
    tmp_path: Path,
) -> None:
    partition = {"rollingUpdate": {"partition": 1}}
    stateful = workload("StatefulSet", replicas=3, updateStrategy=partition)
    path = state_file(tmp_path, *nodes(3), stateful, *pods_of("StatefulSet", 3))
    state, did = rolled(path, RESTART.format("statefulset"))
    assert did[0] == "rollout finishes: steps: 2"
    assert [
        effect.subject for effect in state.changes[0].effects if effect.action == "removed"
    ] == [
        "default/web-2",
        "default/web-1",
    ]


@pytest.mark.parametrize(
    ("rolling", "steps"), [({}, 4), ({"maxUnavailable": "50%"}, 2), ({"maxUnavailable": 4}, 1)]
)
def test_a_daemon_set_replaces_as_many_as_may_be_missing(
    rolling: dict[str, Any], steps: int, tmp_path: Path
) -> None:
    daemons = workload("DaemonSet", updateStrategy={"rollingUpdate": rolling})
    path = state_file(tmp_path, *nodes(4), daemons, *pods_of("DaemonSet", 4))
    _, did = rolled(path, RESTART.format("daemonset"))
    assert did[0] == f"rollout finishes: steps: {steps}"


def test_a_surge_of_a_daemon_set_needs_room_for_two_pods(tmp_path: Path) -> None:
    rolling = {"maxSurge": 1, "maxUnavailable": 0}
    daemons = workload("DaemonSet", updateStrategy={"rollingUpdate": rolling})
    pods = pods_of("DaemonSet", 2)
    _, did = rolled(state_file(tmp_path, *nodes(2, 4), daemons, *pods), RESTART.format("daemonset"))
    assert did[0] == "rollout finishes: steps: 2"
    _, did = rolled(state_file(tmp_path, *nodes(2, 1), daemons, *pods), RESTART.format("daemonset"))
    assert did[0] == "rollout is stuck: 0 of 2 pods updated; the next ones find no node"


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_on_delete_replaces_no_pod(kind: str, tmp_path: Path) -> None:
    manifest = workload(kind, replicas=1, updateStrategy={"type": "OnDelete"})
    if kind == "DaemonSet":
        del manifest["spec"]["replicas"]
    path = state_file(tmp_path, *nodes(1), manifest, *pods_of(kind, 1))
    state, did = rolled(path, RESTART.format(kind.lower()))
    assert did == ["rollout waits: OnDelete: pods are replaced when deleted"]
    assert [pod.node_name for pod in state.pods] == ["n0"]
