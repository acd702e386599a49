"""Rollouts step by step, each through the scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.cluster.state import ClusterState
from ksched_cli.run.open import Opener
from ksched_cli.run.rollout import rolling
from ksched_cli.run.run import ChangeSource, Run
from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.file import parse_change
from ksched_cli.testing import Manifest, node, pod
from tests.scenario.build import owned, pods_of, workload

Rolled = tuple[ClusterState, list[str]]


def state_file(folder: Path, *objects: Manifest) -> Path:
    path = folder / "state.json"
    path.write_bytes(msgspec.json.encode(objects))
    return path


def rolled(path: Path, *lines: str, **run: Any) -> Rolled:
    """The state after the changes, and what the last of them did."""
    changes = tuple(ChangeSource(line=line) for line in lines)
    opening = Run(states=(str(path),), changes=changes, **run)
    state = Opener([opening]).state(opening)
    assert len(state.changes) == len(lines)
    return state, [f"{effect.action}: {effect.detail}" for effect in state.changes[-1].effects]


def cpu_by_name(state: ClusterState) -> dict[str, str]:
    """What the first container of each pod requests."""
    return {pod.name: str(pod.spec.containers[0].resources.requests["cpu"]) for pod in state.pods}


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


@pytest.mark.parametrize("preemption", [True, False])
def test_a_rollout_goes_on_beside_a_pod_that_finds_no_node(
    preemption: bool, tmp_path: Path
) -> None:
    large = pod("large", cpu=8, metadata={"creationTimestamp": "2020-01-01T00:00:00Z"})
    path = state_file(tmp_path, *nodes(2), large, deployment(2), *pods_of("ReplicaSet", 2))
    state, did = rolled(path, RESTART.format("deployment"), preemption=preemption)
    assert did[0] == "rollout finishes: steps: 2"
    assert sorted(each.node_name for each in state.pods) == ["", "n0", "n1"]


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


@pytest.mark.parametrize(
    ("cpu", "verdict", "placed"), [(4, "finishes: steps: 2", 3), (9, "is stuck: 0 of 3 pods", 0)]
)
def test_after_as_many_steps_as_it_may_take_a_rollout_replaces_the_rest_at_once(
    cpu: int, verdict: str, placed: int, tmp_path: Path
) -> None:
    strategy = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    path = state_file(tmp_path, *nodes(3), deployment(3, **strategy), *pods_of("ReplicaSet", 3))
    run = Run(states=(str(path),))
    opener = Opener([run])
    roll = rolling(lambda state: opener.simulation(run, state=state), opener.release(run), 1)
    changes = [parse_change(f"set resources deployment/web --requests=cpu={cpu}")]
    state, (record,) = apply_changes(opener.state(run), changes, roll=roll)
    texts = [f"{effect.action}: {effect.detail}" for effect in record.effects]
    assert any(text.startswith(f"rollout {verdict}") for text in texts)
    assert set(cpu_by_name(state).values()) == {str(cpu)}
    assert [bool(each.node_name) for each in state.pods].count(True) == placed


def test_a_changed_template_that_is_applied_is_rolled_out(tmp_path: Path) -> None:
    path = state_file(tmp_path, *nodes(4), deployment(4), *pods_of("ReplicaSet", 4))
    larger = deployment(4)
    container = larger["spec"]["template"]["spec"]["containers"][0]
    container["resources"]["requests"]["cpu"] = "4"
    manifest = tmp_path / "web.json"
    manifest.write_bytes(msgspec.json.encode(larger))
    state, did = rolled(path, f"apply -f {manifest}")
    assert did[:2] == ["configured: ", "rollout finishes: steps: 4"]
    assert set(cpu_by_name(state).values()) == {"4"}
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


def test_a_surge_of_a_daemon_set_begins_with_pods_that_are_not_ready(tmp_path: Path) -> None:
    daemons = workload("DaemonSet", updateStrategy={"rollingUpdate": {"maxSurge": 1}})
    pods = pods_of("DaemonSet", 3)
    conditions = [{"type": "Ready", "status": "False"}]
    pods[1]["status"] = {"phase": "Running", "conditions": conditions}
    path = state_file(tmp_path, *nodes(3), daemons, *pods)
    state, did = rolled(path, RESTART.format("daemonset"))
    assert did[0] == "rollout finishes: steps: 2"
    removed = [each.subject for each in state.changes[0].effects if each.action == "removed"]
    assert sorted(removed[:2]) == ["default/web-0", "default/web-1"]
    assert removed[2:] == ["default/web-2"]


def test_pods_of_a_stateful_set_that_may_be_missing_are_rounded_down(tmp_path: Path) -> None:
    half = {"rollingUpdate": {"maxUnavailable": "50%"}}
    stateful = workload(
        "StatefulSet", replicas=3, podManagementPolicy="Parallel", updateStrategy=half
    )
    path = state_file(tmp_path, *nodes(3), stateful, *pods_of("StatefulSet", 3))
    for minor in ("1.37", "1.38"):
        _, did = rolled(path, RESTART.format("statefulset"), kubernetes_version=minor)
        assert did[0] == "rollout finishes: steps: 3"


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


# -- changes of templates, and the pods of their revisions -----------------------------------------


def template_patch(cpu: int, **spec: Any) -> str:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    patch = {"spec": {"template": {"spec": {"containers": [container], **spec}}}}
    return f"patch deployment/web -p '{msgspec.json.encode(patch).decode()}'"


@pytest.mark.parametrize(
    "line", [template_patch(2), "set resources deployment/web --requests=cpu=2"]
)
def test_a_template_that_is_patched_is_rolled_out(line: str, tmp_path: Path) -> None:
    path = state_file(tmp_path, *nodes(2, 3), deployment(2), *pods_of("ReplicaSet", 2))
    state, did = rolled(path, line)
    assert did[1] == "rollout finishes: steps: 2"
    assert list(cpu_by_name(state).values()) == ["2", "2"]
    state, did = rolled(path, f"{line} --at-once")
    assert did[1:] == ["pending again: was on n0", "pending again: was on n1"]


def test_a_patch_beside_the_template_replaces_no_pod(tmp_path: Path) -> None:
    path = state_file(tmp_path, *nodes(2), deployment(2), *pods_of("ReplicaSet", 2))
    labelled = '{"metadata":{"labels":{"team":"a"}}}'
    state, did = rolled(path, f"patch deployment/web -p '{labelled}'")
    assert (did, {pod.name for pod in state.pods}) == (["patched: "], {"web-abc-0", "web-abc-1"})


def test_new_pods_are_of_a_new_replica_set_beside_what_is_left_of_the_old_one(
    tmp_path: Path,
) -> None:
    """So that a spread constraint with matchLabelKeys sees the two apart."""
    old = workload("ReplicaSet", name="web-abc", replicas=2)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}
    old["metadata"]["ownerReferences"] = [owner]
    rolling = {"maxSurge": 1, "maxUnavailable": 0}
    objects = [deployment(2, rollingUpdate=rolling), old, *pods_of("ReplicaSet", 2)]
    path = state_file(tmp_path, *nodes(2, 3), *objects)
    state, did = rolled(path, "set resources deployment/web --requests=cpu=3")
    assert did[1] == "rollout is stuck: 0 of 2 pods updated; the next ones find no node"
    (new,) = (pod for pod in state.pods if not pod.node_name)
    revision = new.metadata.labels["pod-template-hash"]
    assert revision != "abc"
    assert new.owner == ("ReplicaSet", f"web-{revision}")
    replicas = {each.name: each.spec.replicas for each in state.replica_sets.values()}
    assert replicas == {"web-abc": 2, f"web-{revision}": 1}
    state, did = rolled(path, "set resources deployment/web --requests=cpu=1500m")
    replicas = {each.name: each.spec.replicas for each in state.replica_sets.values()}
    assert (did[1], [*replicas.values()]) == ("rollout finishes: steps: 2", [0, 2])


def test_a_rollout_takes_as_many_steps_as_it_needs(tmp_path: Path) -> None:
    daemons = workload("DaemonSet")
    path = state_file(tmp_path, *nodes(60), daemons, *pods_of("DaemonSet", 60))
    assert rolled(path, RESTART.format("daemonset"))[1][0] == "rollout finishes: steps: 60"


def stateful_set(policy: str, **rolling: Any) -> list[Manifest]:
    """Three pods, of which the first finds no node, as it requests too much."""
    large = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "9"}}}]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": large}
    manifest = workload(
        "StatefulSet",
        replicas=3,
        podManagementPolicy=policy,
        template=template,
        updateStrategy={"rollingUpdate": rolling},
    )
    first, *others = pods_of("StatefulSet", 3)
    first["spec"].pop("nodeName")
    first["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "9"}}
    return [*nodes(3), manifest, first, *others]


SMALLER = "set resources statefulset/web --requests=cpu=1"


def test_an_ordered_stateful_set_waits_for_the_pod_that_its_new_template_would_mend(
    tmp_path: Path,
) -> None:
    """Upstream's known issue: the pod has to be deleted by hand."""
    _, did = rolled(state_file(tmp_path, *stateful_set("OrderedReady")), SMALLER)
    waits = "web-0 is not ready, for which OrderedReady waits"
    assert did[1] == f"rollout is stuck: 0 of 3 pods updated; {waits}"


@pytest.mark.parametrize(
    ("minor", "gates", "steps"), [("1.36", "", 3), ("1.37", "", 3), ("1.38", "", 3)]
)
def test_a_parallel_stateful_set_replaces_the_pod_that_waits(
    minor: str, gates: str, steps: int, tmp_path: Path
) -> None:
    path = state_file(tmp_path, *stateful_set("Parallel"))
    state, did = rolled(path, SMALLER, kubernetes_version=minor)
    assert did[1] == f"rollout finishes: steps: {steps}"
    assert all(pod.node_name for pod in state.pods)
    # Since 1.37, the pod that is not available goes before the others.
    first = next(each.subject for each in state.changes[0].effects if each.action == "removed")
    assert first == ("default/web-2" if minor == "1.36" else "default/web-0")


def test_a_pod_s_own_change_is_no_rollout_of_its_workload(tmp_path: Path) -> None:
    waiting = owned("web-2", "StatefulSet", "web", cpu=9)
    path = state_file(tmp_path, *nodes(2), *pods_of("StatefulSet", 2), waiting)
    container = {"name": "c", "resources": {"requests": {"cpu": 1}}}
    patch = msgspec.json.encode({"spec": {"containers": [container]}}).decode()
    state, did = rolled(path, f"patch pod/web-2 -p '{patch}'")
    assert (did, state.pods[2].name) == (["patched: "], "web-2")


def test_a_node_s_new_taint_is_no_rollout(tmp_path: Path) -> None:
    path = state_file(tmp_path, *nodes(1), deployment(1), *pods_of("ReplicaSet", 1))
    taints = '{"spec":{"taints":[{"key":"a","effect":"NoExecute"}]}}'
    _, did = rolled(path, f"patch node/n0 -p '{taints}'")
    assert did == ["patched: ", "pending again: was on n0"]


def test_pods_that_a_rollout_evicts_are_made_anew(tmp_path: Path) -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 9}
    other = owned("low-0", "ReplicaSet", "low", node="n1", cpu=4)
    path = state_file(
        tmp_path,
        {**high, "metadata": {"name": "high"}},
        *nodes(1, 1),
        node("n1", cpu=4),
        deployment(1, rollingUpdate={"maxSurge": 1, "maxUnavailable": 0}),
        *pods_of("ReplicaSet", 1),
        other,
    )
    state, did = rolled(path, template_patch(4, priorityClassName="high"))
    assert did[1] == "rollout finishes: steps: 1"
    assert {"evicted: in step 1", "removed: after step 1"} <= {*did}
    assert {pod.name: pod.node_name for pod in state.pods}["low-0"] == ""


def test_a_replica_set_of_its_own_keeps_its_pods_until_they_are_deleted(tmp_path: Path) -> None:
    large = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "9"}}}]}
    manifest = workload("ReplicaSet", replicas=2)
    manifest["spec"]["template"]["spec"] = large
    pods = [owned(f"web-{i}", "ReplicaSet", "web", cpu=9) for i in range(2)]
    path = state_file(tmp_path, *nodes(1), manifest, *pods)
    smaller = "set resources replicaset/web --requests=cpu=1"
    state, did = rolled(path, smaller)
    assert did[1] == "rollout waits: pods are replaced when deleted"
    requests = list(cpu_by_name(state).values())
    assert requests == ["9", "9"]
    state, _ = rolled(path, smaller, "delete pods web-0")
    assert cpu_by_name(state) == {"web-0": "1", "web-1": "9"}


def test_an_ordered_stateful_set_goes_on_once_its_pod_is_deleted(tmp_path: Path) -> None:
    path = state_file(tmp_path, *stateful_set("OrderedReady"))
    state, did = rolled(path, SMALLER, "delete pods web-0")
    assert list(cpu_by_name(state).values()) == ["1", "1", "1"]
    assert all(pod.node_name for pod in state.pods)
    assert [each for each in did if each.startswith("rollout")] == ["rollout finishes: steps: 3"]


def test_a_deleted_pod_below_the_partition_comes_back_from_the_old_template(
    tmp_path: Path,
) -> None:
    """Upstream: newVersionedStatefulSetPod."""
    partition = {"rollingUpdate": {"partition": 1}}
    stateful = workload("StatefulSet", replicas=2, updateStrategy=partition)
    path = state_file(tmp_path, *nodes(2), stateful, *pods_of("StatefulSet", 2))
    larger = "set resources statefulset/web --requests=cpu=2"
    state, _ = rolled(path, larger, "delete pods web-0")
    assert cpu_by_name(state) == {"web-0": "1", "web-1": "2"}


@pytest.mark.parametrize(
    ("cpu", "verdict", "requests"),
    [
        (1, "is stuck: 0 of 3 pods updated; the next ones find no node", ["9", "1", "9"]),
        (9, "is stuck: 1 of 3 pods updated; the next ones find no node", ["9", "9", "9"]),
    ],
)
def test_a_pod_that_is_deleted_does_not_let_a_stateful_set_pass_one_that_waits(
    cpu: int, verdict: str, requests: list[str], tmp_path: Path
) -> None:
    """No more pods are deleted while as many as may be missing are. Upstream:
    stateful_set_control.go (updateStatefulSetAfterInvariantEstablished)."""
    stateful = workload("StatefulSet", replicas=3, podManagementPolicy="Parallel")
    path = state_file(tmp_path, *nodes(3), stateful, *pods_of("StatefulSet", 3))
    larger = "set resources statefulset/web --requests=cpu=9"
    lines = (larger, f"add-nodes more --like n0 --cpu {cpu}", "delete pods web-0")
    state, did = rolled(path, *lines, kubernetes_version="1.36")
    assert f"rollout {verdict}" in did
    assert [cpu_by_name(state)[f"web-{i}"] for i in range(3)] == requests
