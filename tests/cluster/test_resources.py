"""What pods ask for, as kube-scheduler counts it."""

from __future__ import annotations

from typing import Any

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.resources import (
    claimed_amounts,
    claimed_by_container,
    node_allocatable,
    pod_resources,
    resized_pod_resources,
)
from ksched_cli.kube.quantity import Quantity
from ksched_cli.kube.versions import release_of
from tests.cluster.build import container, pod, state

MIB = 1 << 20


def requests(*, status: dict[str, Any] | None = None, **spec: Any) -> dict[str, int]:
    return pod_resources(pod(status=status, **spec)).requests


def sidecar(**amounts: Any) -> dict[str, Any]:
    return {**container("s", **amounts), "restartPolicy": "Always"}


def test_cpu_counts_in_thousandths_and_everything_else_in_units() -> None:
    requesting = container(cpu="1.5", memory="1Mi", ephemeral_storage="1k")
    counted = requests(containers=[requesting])
    assert counted == {"cpu": 1500, "memory": MIB, "ephemeral-storage": 1000}


def test_amounts_are_added_before_they_are_rounded() -> None:
    halves = [container("a", memory="0.5"), container("b", memory="0.5")]
    assert requests(containers=halves) == {"memory": 1}


def test_an_amount_below_a_thousandth_counts_as_one() -> None:
    tiny = [container("a", cpu="1u"), container("b", cpu="1n")]
    assert requests(containers=tiny) == {"cpu": 2}


def test_names_that_are_no_resources_are_not_counted() -> None:
    names = {
        "foo": "1",
        "requests.example.com/x": "1",
        "example.com/gpu": "2",
        "hugepages-2Mi": "4Mi",
        "attachable-volumes-x": "3",
    }
    counted = requests(containers=[{"name": "c", "resources": {"requests": names}}])
    assert counted == {"example.com/gpu": 2, "hugepages-2Mi": 4 * MIB, "attachable-volumes-x": 3}


def test_the_greatest_init_container_counts_where_it_is_more() -> None:
    counted = requests(
        containers=[container(cpu="1", memory="1Mi")],
        initContainers=[container("i", cpu="3"), container("j", cpu="2", memory="2Mi")],
    )
    assert counted == {"cpu": 3000, "memory": 2 * MIB}


def test_sidecars_run_beside_the_containers_and_later_init_containers() -> None:
    inits = [container("i", cpu="3"), sidecar(cpu="1"), container("j", cpu="3")]
    assert requests(containers=[container(cpu="1")], initContainers=inits) == {"cpu": 4000}


def test_overhead_comes_on_top() -> None:
    counted = requests(containers=[container(cpu="1")], overhead={"cpu": "250m", "memory": "1Mi"})
    assert counted == {"cpu": 1250, "memory": MIB}


def test_requests_of_the_pod_take_the_place_of_its_containers() -> None:
    counted = requests(
        containers=[container(cpu="1", memory="5Mi", **{"example.com/gpu": "1"})],
        resources={"requests": {"cpu": "3", "example.com/gpu": "9"}},
        overhead={"cpu": "1"},
    )
    assert counted == {"cpu": 4000, "memory": 5 * MIB, "example.com/gpu": 1}


def test_containers_that_ask_for_nothing_count_a_little_for_scores() -> None:
    resources = pod_resources(pod(containers=[container("a"), container("b", cpu="1")]))
    assert resources.requests == {"cpu": 1000}
    assert (resources.nonzero_cpu, resources.nonzero_memory) == (1100, 400 * MIB)


def test_a_request_of_zero_stays_zero_for_scores() -> None:
    resources = pod_resources(pod(containers=[container(cpu="0", memory="0")]))
    assert (resources.nonzero_cpu, resources.nonzero_memory) == (0, 0)


def test_with_pod_level_requests_only_what_nobody_asked_for_counts_a_little() -> None:
    resources = pod_resources(
        pod(
            containers=[container("a"), container("b", cpu="1")],
            resources={"requests": {"cpu": "2"}},
        )
    )
    assert (resources.nonzero_cpu, resources.nonzero_memory) == (2000, 400 * MIB)


def resizing(reason: str = "") -> dict[str, Any]:
    return {
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
        "containerStatuses": [
            {
                "name": "c",
                "allocatedResources": {"cpu": "2"},
                "resources": {"requests": {"cpu": "1", "memory": "1Mi"}},
            }
        ],
    }


def test_while_a_resize_is_under_way_the_most_counts() -> None:
    containers = [container(cpu="3")]
    assert requests(containers=containers, status=resizing()) == {"cpu": 3000, "memory": MIB}


def test_a_resize_that_cannot_be_is_not_counted() -> None:
    containers = [container(cpu="3")]
    counted = requests(containers=containers, status=resizing("Infeasible"))
    assert counted == {"cpu": 2000, "memory": MIB}


def test_a_status_without_resources_changes_nothing() -> None:
    status = {"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "9"}}]}
    assert requests(containers=[container(cpu="3")], status=status) == {"cpu": 3000}


def resized_pod(reason: str = "", **status: Any) -> Pod:
    conditions = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    return pod(
        containers=[container(cpu="1")],
        resources={"requests": {"cpu": "3", "memory": "1Mi", "example.com/gpu": "1"}},
        overhead={"cpu": "100m"},
        status={"conditions": conditions, **status},
    )


GRANTED: dict[str, Any] = {
    "allocatedResources": {"cpu": "2"},
    "resources": {"requests": {"cpu": "4", "example.com/gpu": "9"}},
}


def test_a_pod_that_is_resized_as_a_whole_counts_with_the_most() -> None:
    resized = resized_pod_resources(resized_pod(**GRANTED))
    assert resized.requests == {"cpu": 4100, "memory": MIB}
    assert pod_resources(resized_pod(**GRANTED)).requests == {"cpu": 3100, "memory": MIB}


def test_a_resize_of_the_whole_pod_that_cannot_be_is_not_counted() -> None:
    granted = {**GRANTED, "resources": {"requests": {}}}
    resized = resized_pod_resources(resized_pod("Infeasible", **granted))
    assert resized.requests == {"cpu": 2100, "memory": 0}


def test_without_resources_in_its_status_a_pod_is_not_resized() -> None:
    waiting = resized_pod(allocatedResources={"cpu": "9"})
    assert resized_pod_resources(waiting).requests == {"cpu": 3100, "memory": MIB}
    bare = pod(containers=[container(cpu="1")], status=GRANTED)
    assert resized_pod_resources(bare).requests == {"cpu": 1000}


def test_a_claim_takes_devices_and_their_overhead_per_pod_and_per_container() -> None:
    claim = {
        "resourceClaimName": "claim",
        "containers": ["c", "d"],
        "mapping": [{"name": "cpu", "quantity": "4"}],
        "overhead": [
            {"name": "memory", "perPod": "3"},
            {"name": "hugepages-2Mi", "perPod": "5", "perContainer": "7"},
        ],
    }
    status = pod(status={"nodeAllocatableResourceClaimStatuses": [claim]}).status
    statuses = status.node_allocatable_resource_claim_statuses
    cpu, memory, pages = {"cpu": Quantity(4)}, {"memory": Quantity(3)}, "hugepages-2Mi"
    claimed = claimed_amounts(statuses, release_of("1.38").rules)
    assert claimed.fixed == {**cpu, **memory, pages: Quantity(5)}
    assert claimed.by_container == {name: {pages: Quantity(7)} for name in "cd"}
    claimed = claimed_amounts(statuses, release_of("1.37").rules)
    assert (claimed.fixed[pages], claimed.by_container) == (Quantity(19), {})
    assert claimed_by_container("d", statuses) == {**cpu, **memory, pages: Quantity(12)}
    assert claimed_by_container("e", statuses) == {}


def test_pods_of_one_spec_share_their_resources() -> None:
    pods = [
        {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container(cpu="1")]}}
        for name in ("a", "b")
    ]
    first, second = state(*pods).pods
    assert pod_resources(first) is pod_resources(second)


def test_a_node_offers_what_a_scheduler_counts() -> None:
    amounts = {"cpu": "4", "memory": "1Mi", "pods": "110", "bogus": "7"}
    node = {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": amounts}}
    assert node_allocatable(state(node).nodes[0]) == {"cpu": 4000, "memory": MIB, "pods": 110}
