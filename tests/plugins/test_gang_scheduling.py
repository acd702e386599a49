"""GangScheduling: PreEnqueue counts the pods that are there, Permit those that have a node."""

from typing import Any

import pytest

from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.status import Status
from ksched_cli.plugins.gang_scheduling import GangScheduling
from ksched_cli.testing import cluster, node, pod, simulation

GATES = "GenericWorkload=true,GangScheduling=true"


def pod_group(name: str, **policy: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "default"}
    kind = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup"}
    return {**kind, "metadata": meta, "spec": {"schedulingPolicy": policy}}


def member(name: str, group: str = "red", **fields: Any) -> dict[str, Any]:
    return pod(name, spec={"schedulingGroup": {"podGroupName": group}}, **fields)


def opened(*objects: dict[str, Any], gates: str = GATES) -> Simulation:
    state = cluster(node("a"), *objects)
    return simulation(state, kubernetes_version="1.36", feature_gates=gates)


def gated(run: Simulation) -> dict[str, str]:
    return {key: status.message for key, status in run.run().gated.items()}


def test_a_gang_waits_for_its_object_and_for_enough_pods() -> None:
    assert gated(opened(member("p"))) == {
        "default/p": 'waiting for pods\'s pod group "red" to appear in scheduling queue'
    }
    gang = pod_group("red", gang={"minCount": 2})
    message = "waiting for minCount pods from a gang to appear in scheduling queue"
    assert gated(opened(gang, member("p"))) == {"default/p": message}
    assert not gated(opened(gang, member("p"), member("q")))


@pytest.mark.parametrize(
    "other",
    [member("q", node="a"), member("q", node="gone")],
    ids=["on a node", "on a node that is not there"],
)
def test_pods_with_a_node_count(other: dict[str, Any]) -> None:
    assert not gated(opened(pod_group("red", gang={"minCount": 2}), member("p"), other))


@pytest.mark.parametrize(
    "other",
    [
        member("q", namespace="blue"),
        member("q", group="blue"),
        member("q", profile="another"),
        member("q", node="a", status={"phase": "Succeeded"}),
    ],
    ids=["other namespace", "other group", "other scheduler", "finished"],
)
def test_pods_that_are_no_members_do_not_count(other: dict[str, Any]) -> None:
    assert "default/p" in gated(opened(pod_group("red", gang={"minCount": 2}), member("p"), other))


def test_groups_without_a_least_number_and_pods_without_a_group_pass() -> None:
    run = opened(pod_group("red", basic={}), member("p"), pod("q"))
    assert dict(run.run().placements) == {"default/p": "a", "default/q": "a"}


def test_without_the_gates_a_group_means_nothing() -> None:
    run = opened(pod_group("red", gang={"minCount": 9}), member("p"), gates="")
    assert dict(run.run().placements) == {"default/p": "a"}


def test_permit_fails_where_the_group_is_not_there() -> None:
    run = opened(member("p"))
    plugin = run.frameworks["default-scheduler"].plugin("GangScheduling")
    assert isinstance(plugin, GangScheduling)
    (info,) = run.pending()
    status, _ = plugin.permit(None, info, None)  # type: ignore[arg-type]  # neither is looked at
    missing = 'podgroup.scheduling.k8s.io "red" not found'
    assert status == Status.error(f"failed to get podGroup default/red: {missing}")
