"""Namespaces borrow from each other, and take back: upstream's rows, and whole runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ksched_capacity_scheduling import CapacityScheduling, ksched_plugins
from ksched_capacity_scheduling.quotas import NO_LIMIT, PRINCIPAL, Quota, request_of

from ksched_cli.api import Run, UsageError
from ksched_cli.framework.status import Code
from ksched_cli.testing import Manifest, cluster, find, node, pod, run_cycle, simulate, simulation

ROWS = yaml.safe_load(Path(__file__).with_name("rows.yaml").read_text())
CONFIG: Manifest = {
    "profiles": [
        {
            "plugins": {
                "multiPoint": {"enabled": [{"name": "CapacityScheduling"}]},
                "postFilter": {
                    "enabled": [{"name": "CapacityScheduling"}],
                    "disabled": [{"name": "*"}],
                },
            }
        }
    ]
}
TERMINATES = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/held"]}


def rows(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", ROWS[kind], ids=lambda row: row.get("name", ""))


def quotas(row: Manifest) -> list[Manifest]:
    return [quota(namespace, **limits) for namespace, limits in row["quotas"].items()]


def quota(namespace: str, **spec: Any) -> Manifest:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": "quota", "namespace": namespace},
        "spec": spec,
    }


def users(row: Manifest) -> list[Manifest]:
    """Pods on a node of their own that use what the row says."""
    used = row.get("used", {})
    filler = node("filler", memory=10000, taints=["filler:NoSchedule"])
    pods = [
        pod(f"user-{namespace}", namespace, requests=amounts, node="filler", priority=2000)
        for namespace, amounts in used.items()
    ]
    return [filler, *pods] if pods else []


@rows("pre_filter")
def test_pre_filter_says_what_upstream_does(row: Manifest) -> None:
    asking = pod("p", row["pod"]["namespace"], memory=row["pod"]["memory"])
    state = cluster(node("a", memory=10000), *quotas(row), *users(row), asking)
    attempt = run_cycle(state, CONFIG, [CapacityScheduling], pod="p")
    code = Code.SUCCESS if attempt.pre_filter is None else attempt.pre_filter.code
    assert code.text == row["code"]
    assert (attempt.node == "a") == (code == Code.SUCCESS)


@rows("victims")
def test_the_victims_are_those_that_upstream_evicts(row: Manifest) -> None:
    running = [
        pod(name, namespace, memory=50, node="node-a", priority=priority)
        for name, (namespace, priority) in row["running"].items()
    ]
    asking = pod("p", "ns1", memory=50, priority=1000)
    state = cluster(node("node-a", memory=150), *quotas(row), *running, asking)
    record = simulate(state, CONFIG, [CapacityScheduling])
    evicted = [eviction.pod for eviction in record.evicted]
    assert evicted == row.get("evicted", evicted)
    assert len(evicted) == row.get("count", len(evicted)) == 1
    assert record.placements == {"ns1/p": "node-a"}


@rows("eligible")
def test_a_pod_may_preempt_where_it_may_upstream(row: Manifest) -> None:
    """The node has room for one pod, so that the asking one does not fit."""
    taints = [row["taint"]] if "taint" in row else []
    objects = [node("node-a", pods=1, taints=taints), *quotas(row), *users(row)]
    leaving = row.get("terminating")
    metadata = TERMINATES if leaving else {}
    objects.append(pod("p0", leaving or "ns1", node="node-a", priority=100, metadata=metadata))
    policy = {"preemptionPolicy": row["policy"]} if "policy" in row else {}
    asking = pod(
        "p", row["namespace"], priority=1000, spec=policy, status={"nominatedNodeName": "node-a"}
    )
    attempt = run_cycle(cluster(*objects, asking), CONFIG, [CapacityScheduling], pod="p")
    assert attempt.post_filter is not None
    message = attempt.post_filter.status.message
    assert message == row["because"] if "because" in row else "not eligible" not in message


@rows("comparisons")
def test_a_quota_is_exceeded_where_it_is_upstream(row: Manifest) -> None:
    limit = row["limit"]
    most = dict.fromkeys(PRINCIPAL, NO_LIMIT) if limit is None else limit
    compared = Quota(limit or {}, most, row["used"])
    answers = {
        "min": lambda: compared.over_min_with(row["request"]),
        "max": lambda: compared.over_max_with(row["request"]),
        "used": lambda: compared.over_min,
    }
    assert answers[row["ask"]]() is row["over"]


def test_a_quota_counts_each_pod_once() -> None:
    """TestReserve, TestUnreserve, TestReserveResource, TestUnReserveResource."""
    gpu = {"nvidia.com/gpu": 1}
    run = simulation(
        cluster(pod("p1", "ns1", cpu=1, memory=50, requests=gpu), pod("p2", "ns1", memory=100))
    )
    first, second = find(run, "p1"), find(run, "p2")
    counting = Quota({}, {}, {"cpu": 1000, "memory": 200})
    counting.add(first)
    counting.add(first)
    assert counting.used == {"cpu": 2000, "memory": 250, "nvidia.com/gpu": 1}
    counting.remove(second)
    assert counting.used["memory"] == 250
    counting.remove(first)
    assert counting.used == {"cpu": 1000, "memory": 200, "nvidia.com/gpu": 0}


def test_init_containers_count_where_they_need_more() -> None:
    def container(name: str, cpu: int, memory: str) -> Manifest:
        return {
            "name": name,
            "image": "i",
            "resources": {"requests": {"cpu": cpu, "memory": memory}},
        }

    spec = {
        "containers": [container("a", 2, "1G"), container("b", 1, "1G")],
        "initContainers": [container("c", 2, "1G"), container("d", 2, "3G")],
    }
    run = simulation(cluster(pod("p", spec=spec)))
    assert request_of(find(run)) == {"cpu": 3000, "memory": 3_000_000_000}


# -- whole runs -----------------------------------------------------------------------------------


TEAMS = [
    node("a", cpu=4, memory=1000),
    *(quota(name, min={"cpu": 2, "memory": 500}, max={"cpu": 3, "memory": 900}) for name in "xy"),
]


def worker(name: str, namespace: str, **fields: Any) -> Manifest:
    return pod(name, namespace, cpu=1, memory=100, **fields)


def test_a_namespace_borrows_up_to_its_max() -> None:
    state = cluster(*TEAMS, *(worker(f"p{i}", "x") for i in range(4)))
    record = simulate(state, CONFIG, [CapacityScheduling])
    assert len(record.placements) == 3
    assert record.last["x/p3"].pre_filter is not None
    expected = "Pod x/p3 is rejected in PreFilter because ElasticQuota x is more than Max"
    assert record.last["x/p3"].pre_filter.message == expected


def test_a_namespace_takes_back_what_is_borrowed_whatever_the_priority() -> None:
    borrowed = [worker(f"p{i}", "x", node="a", priority=100 + i) for i in range(3)]
    other = worker("old", "y", node="a")
    state = cluster(*TEAMS, *borrowed, other, worker("mine", "y", priority=1))
    record = simulate(state, CONFIG, [CapacityScheduling])
    assert [eviction.pod for eviction in record.evicted] == ["x/p0"]
    assert record.placements == {"y/mine": "a"}


def test_nobody_takes_from_a_namespace_that_does_not_borrow() -> None:
    fair = [worker(f"p{i}", "x", node="a", priority=1) for i in range(2)]
    own = [worker(f"q{i}", "y", node="a", priority=2000) for i in range(2)]
    state = cluster(*TEAMS, *fair, *own, worker("more", "y", priority=1000))
    record = simulate(state, CONFIG, [CapacityScheduling])
    assert not record.evicted
    assert record.pending == ("y/more",)


def test_over_time_a_pod_of_the_namespace_that_ends_makes_room() -> None:
    ending = [worker(f"p{i}", "x", node="a") for i in range(3)]
    run = Run(
        state=[*TEAMS, *ending, worker("late", "x")], config=CONFIG, plugins=[CapacityScheduling]
    )
    pods = (
        run.replay([{"at": 7, "delete": {"kind": "Pod", "namespace": "x", "name": "p0"}}])
        .to_frame()
        .set_index("pod")
    )
    assert pods.loc["x/late", "placed"] == 7


def test_a_quota_that_cannot_be_read_is_refused() -> None:
    broken = quota("x", min={"cpu": "lots"})
    with pytest.raises(UsageError, match="ElasticQuota x/quota: "):
        simulate(cluster(node("a"), broken, pod("p")), CONFIG, [CapacityScheduling])


def test_the_distribution_offers_the_plugin() -> None:
    assert ksched_plugins() == {"CapacityScheduling": CapacityScheduling}
