"""`ksched status`: a cluster at a glance."""

import json
from typing import Any

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Answer, Ksched, WriteState, answering
from tests.commands.test_drain import budget, counts, owned


@pytest.fixture
def status(ksched: Ksched, write_state: WriteState) -> Answer:
    return answering("status", "status", ksched, write_state)


def test_the_first_line_of_a_well_cluster(ksched: Ksched, write_state: WriteState) -> None:
    state = write_state(node("a", cpu=4), node("b", cpu=4), pod("p", cpu=2, node="a"))
    code, out, _ = ksched("status", "--state", state)
    assert (code, out.splitlines()[0]) == (
        0,
        "no pod stays pending; all 2 nodes take pods; cpu is 25% requested",
    )


def test_nodes_that_take_no_pods_are_named_by_why(status: Answer) -> None:
    gone = "node.kubernetes.io/unreachable:NoSchedule"
    pressed = "node.kubernetes.io/disk-pressure:NoSchedule"
    objects = [
        node("a"),
        node("b", unschedulable=True),
        node("c", taints=[gone]),
        node("d", taints=[pressed]),
    ]
    nodes = status(objects=objects)[1]["nodes"]
    apart = {"cordoned": ["b"], "unreachable": ["c"], "disk-pressure": ["d"]}
    assert nodes == {"total": 4, "takingPods": 1, "apart": apart}


def test_pods_are_counted_by_what_becomes_of_them(status: Answer) -> None:
    objects = [
        node("a", cpu=4),
        pod("runs", cpu=1, node="a"),
        pod("gets-one", cpu=1),
        pod("too-big", cpu=9),
        pod("gated", gates=["x.io/gate"]),
        pod("done", node="a", status={"phase": "Succeeded"}),
    ]
    code, answer = status(objects=objects)
    assert code == 0
    assert answer["pods"] == {"running": 1, "placeable": 1, "pending": 1, "gated": 1}
    assert [group["pods"] for group in answer["pending"]] == [["default/too-big"]]
    (gated,) = answer["gated"]
    assert (gated["owner"], "x.io/gate" in gated["because"]) == ("default/Pod/gated", True)


def test_pools_go_by_the_providers_label_or_that_of_by(status: Answer) -> None:
    def labelled(name: str, pool: str) -> dict[str, Any]:
        labels = {"eks.amazonaws.com/nodegroup": pool, "team": "x"}
        return node(name, cpu=4, labels=labels)

    objects = [labelled("a", "blue"), labelled("b", "blue"), labelled("c", "red")]
    objects.append(pod("p", cpu=1, node="c"))
    pools = status(objects=objects)[1]["pools"]
    assert pools["label"] == "eks.amazonaws.com/nodegroup"
    assert [(p["value"], p["nodes"], p["used"]["cpu"]) for p in pools["pools"]] == [
        ("blue", 2, 0.0),
        ("red", 1, 0.25),
    ]
    pools = status("--by", "team", objects=objects)[1]["pools"]
    assert [pool["value"] for pool in pools["pools"]] == ["x"]


def test_a_label_that_no_node_has_is_an_error(ksched: Ksched, write_state: WriteState) -> None:
    state = write_state(node("a", labels={"team": "x"}))
    code, _, err = ksched("status", "--by", "tean", "--state", state)
    assert (code, 'no node has the label "tean"; did you mean team?' in err) == (2, True)


def test_budgets_that_let_no_pod_go_are_listed_those_of_the_most_nodes_first(
    status: Answer,
) -> None:
    objects = [
        node("a"),
        node("b"),
        owned("web-1", "a"),
        owned("web-2", "b"),
        owned("db-1", "a", "StatefulSet/db"),
        owned("free", "a", "ReplicaSet/free"),
        budget("db", minAvailable=1, status=counts(0, 1, 1, 1)),
        budget("web", minAvailable=1, status=counts(0, 1, 1, 2)),
        budget("free", minAvailable=0, status=counts(1, 1, 0, 1)),
        budget("nobody", minAvailable=1, status=counts(0, 0, 1, 0)),
    ]
    answer = status(objects=objects)[1]
    assert [
        (each["budget"], each["pods"], each["nodes"], each["always"])
        for each in answer["blockingBudgets"]
    ] == [("default/web", 2, 2, False), ("default/db", 1, 1, True)]
    assert answer["idleBudgets"] == ["default/nobody"]


def test_budgets_that_share_pods_block_each_other(status: Answer) -> None:
    budgets = [budget(name=name, status=counts(1, 1, 0, 1)) for name in ("one", "two")]
    answer = status(objects=[node("a"), owned("p", "a"), *budgets])[1]
    assert [each["shares"] for each in answer["blockingBudgets"]] == [
        ["default/two"],
        ["default/one"],
    ]


def test_a_dump_without_a_kind_says_so(status: Answer) -> None:
    served = node("a") | {"metadata": {"name": "a", "uid": "u", "resourceVersion": "1"}}
    assert "PodDisruptionBudget" in status(objects=[served])[1]["lacks"]
    assert status(objects=[node("a")])[1]["lacks"] == []


def test_a_cluster_without_nodes_is_shown_where_that_is_allowed(
    ksched: Ksched, write_state: WriteState
) -> None:
    code, out, _ = ksched("status", "--allow-empty-state", "--state", write_state(pod("p")))
    assert (code, out.splitlines()[0]) == (0, "1 of 1 pod stays pending; the cluster has no nodes")


def test_prices_say_what_namespaces_and_owners_request(
    ksched: Ksched, write_state: WriteState
) -> None:
    state = write_state(
        node("a", cpu=4, memory="8Gi"),
        node("b", cpu=4, memory="8Gi"),
        pod("p", "shop", cpu=1, memory="4Gi", node="a"),
        pod("q", "batch", cpu=1, memory="2Gi", node="a"),
        pod("r", "batch", cpu=1, node="b"),
    )
    for command in ("status", "capacity"):
        answer = json.loads(ksched(command, "--state", state, "--price", "*=8", "-o", "json")[1])
        # The fullest resource counts: memory of node a (6 of 8 GiB), cpu of node b (1 of 4).
        assert [(each["name"], each["perHour"]) for each in answer["cost"]["byNamespace"]] == [
            ("batch", 4),
            ("shop", 4),
        ]
        owners = answer["cost"]["byOwner"]
        assert {each["name"]: each["perHour"] for each in owners} == {
            "batch/Pod/q": 2,
            "batch/Pod/r": 2,
            "shop/Pod/p": 4,
        }
        total = sum(each["perHour"] for each in owners)
        assert total == answer["cost"]["perHour"] - answer["cost"]["idle"]
        out = ksched(command, "--state", state, "--price", "*=8")[1]
        assert "Cost of requests by namespace" in out
        assert "cost" not in json.loads(ksched(command, "--state", state, "-o", "json")[1])
