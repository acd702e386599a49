"""NodeResourcesFit against a plain loop over pods, and its explanations."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.resources import HUGE, MANY_PODS
from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.plugins.node_resources.fit import NodeResourcesFit
from ksched_cli.plugins.node_resources.scoring import NodeResourcesBalancedAllocation
from ksched_cli.testing import cluster, explanation, find, node, pod, simulation, verdicts
from tests.clusters import states
from tests.narrowing import plugin_of
from tests.plugin_cases import cases, check


@given(states(max_pending=2))
def test_verdicts_are_those_of_a_plain_loop(state: ClusterState) -> None:
    run = simulation(state)
    for pending in run.pending():
        statuses = verdicts("NodeResourcesFit", state, pod=pending.key)
        for row, name in enumerate(run.snapshot.names):
            running = run.snapshot.pods[row]
            expected, unresolvable = [], False
            if len(running) + 1 > run.snapshot.allocatable("pods")[row]:
                expected.append("Too many pods")
            for resource, amount in pending.resources.requests.items():
                allocatable = int(run.snapshot.allocatable(resource)[row])
                used = sum(other.resources.requests.get(resource, 0) for other in running)
                if amount and amount > allocatable - used:
                    expected.append(f"Insufficient {resource}")
                    unresolvable |= amount > allocatable
            status = statuses[name]
            assert sorted(status.reasons) == sorted(expected)
            assert status.is_success == (not expected)
            if expected:
                text = "UnschedulableAndUnresolvable" if unresolvable else "Unschedulable"
                assert status.code.text == text


@pytest.mark.parametrize("count", [3, 70])
def test_any_number_of_insufficient_resources_is_told_apart(count: int) -> None:
    names = [f"example.com/r{i:02}" for i in range(count)]
    state = cluster(node("a"), pod("p", requests=dict.fromkeys(names, 1)))
    (status,) = verdicts("NodeResourcesFit", state).values()
    assert list(status.reasons) == [f"Insufficient {name}" for name in names]


def test_an_explanation_gives_amounts_as_people_write_them() -> None:
    state = cluster(
        node("a", cpu="2", memory="4Gi", pods=1, resources={"example.com/gpu": 1}),
        pod("running", node="a", cpu="1500m", memory="3Gi"),
        pod("p", cpu="750m", memory="1536Mi", requests={"example.com/gpu": 2}),
    )
    (rejection,) = explanation(state).nodes[0].rejections
    assert rejection.details == (
        "pods: 1 of 1 are there",
        "cpu: wants 0.75, 0.5 free of 2",
        "example.com/gpu: wants 2, 1 free of 1",
        "memory: wants 1.5Gi, 1Gi free of 4Gi",
    )


def test_an_explanation_of_a_score_says_how_much_would_be_used() -> None:
    state = cluster(node("a", cpu="4", memory="8Gi"), pod("p", cpu="1", memory="2Gi"))
    score = explanation(state).nodes[0].scores["NodeResourcesFit"]
    assert score.details == ("cpu 25% used", "memory 25% used")


def test_sums_that_might_overflow_are_noticed() -> None:
    huge = pod("huge", requests={"memory": "4Ti"}, node="n")
    assert not simulation(cluster(node("n"), pod("plain", node="n"))).snapshot.huge
    assert simulation(cluster(node("n"), huge)).snapshot.huge


def test_thousands_of_pods_are_huge_only_together_with_what_they_request() -> None:
    def is_huge(memory: str) -> bool:
        pods = [pod(f"p{i}", memory=memory, node="n") for i in range(MANY_PODS + 2)]
        return simulation(cluster(node("n"), *pods)).snapshot.huge

    assert not is_huge("1Gi")
    assert is_huge(str(HUGE - 1))


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin: str, case: dict[str, Any]) -> None:
    check(plugin, case)


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2))
def test_the_form_for_one_node_agrees_about_other_resources(
    there: int, requested: int, disk: int
) -> None:
    other = "example.com/device"
    requests = {other: requested, "ephemeral-storage": disk}
    state = cluster(
        node("a", resources={other: 3, "ephemeral-storage": 1}),
        pod("there", requests={other: there}, node="a"),
        pod("p", requests=requests),
    )
    run = simulation(state)
    plugin = plugin_of(run, NodeResourcesFit)
    cycle, pending = CycleState(), find(run, "p")
    plugin.pre_filter(cycle, pending, Nodes(run.snapshot))
    status = plugin.filter(cycle, pending, NodeInfo(run.snapshot, 0))
    assert status.is_success == (there + requested <= 3 and disk <= 1)
    many = plugin.filter_nodes(cycle, pending, Nodes(run.snapshot))
    assert status == many.statuses[many.ids[0]]


@pytest.mark.parametrize("plugin_type", [NodeResourcesFit, NodeResourcesBalancedAllocation])
def test_most_nodes_score_as_each_of_them(
    plugin_type: type[NodeResourcesFit | NodeResourcesBalancedAllocation],
) -> None:
    nodes = [node(f"n{i}", cpu=i + 1, memory=f"{8 - i}Gi") for i in range(6)]
    run = simulation(cluster(*nodes, pod("there", cpu=1, node="n2"), pod("p", cpu="500m")))
    plugin, pending = plugin_of(run, plugin_type), find(run, "p")
    rows = np.array([5, 2, 0, 3])
    assert Nodes(run.snapshot, rows).are_most
    scores = [
        plugin.score_nodes(CycleState(), pending, Nodes(run.snapshot, rows[i : i + 1])).item()
        for i in range(len(rows))
    ]
    many = plugin.score_nodes(CycleState(), pending, Nodes(run.snapshot, rows)).tolist()
    assert many == scores
    assert len(set(scores)) > 1


@given(st.lists(st.integers(0, 5), max_size=12))
def test_verdicts_and_scores_follow_the_pods(moves: list[int]) -> None:
    """A move puts a pod on its node, or takes it off again."""
    nodes = [node(f"n{i}", cpu=2 + i % 2, memory="4Gi") for i in range(3)]
    others = [pod(f"o{i}", cpu=1 + i % 2, memory="1Gi") for i in range(6)]
    run = simulation(cluster(*nodes, *others, pod("p", cpu=1, memory="1Gi")))
    pending, snapshot, placed = find(run, "p"), run.snapshot, set[int]()
    fit = plugin_of(run, NodeResourcesFit)
    plugins = (fit, plugin_of(run, NodeResourcesBalancedAllocation))
    cycle = CycleState()
    fit.pre_filter(cycle, pending, Nodes(snapshot))
    for move in moves:
        change = snapshot.remove if move in placed else snapshot.add
        change(find(run, f"o{move}"), move % 3)
        placed ^= {move}
        # A fork follows nothing: it has the amounts as they are.
        now, anew = Nodes(snapshot), Nodes(snapshot.fork([]))
        verdicts, expected = (fit.filter_nodes(cycle, pending, each) for each in (now, anew))
        assert verdicts.statuses == expected.statuses
        assert verdicts.ids.tolist() == expected.ids.tolist()
        for plugin in plugins:
            scores = plugin.score_nodes(CycleState(), pending, now).tolist()
            assert scores == plugin.score_nodes(CycleState(), pending, anew).tolist()


def test_a_pod_evicts_no_others_for_a_resource_that_is_ignored() -> None:
    args = {"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/foo"]}}
    state = cluster(
        node("a", cpu=2),
        pod("lowest", node="a", cpu=1, priority=0),
        pod("low", node="a", cpu=1, priority=1),
        pod("p", cpu=1, requests={"example.com/foo": 1}, priority=9),
    )
    record = simulation(state, {"profiles": [{"pluginConfig": [args]}]}).run()
    assert record.placements == {"default/p": "a"}
    assert [each.pod for each in record.evicted] == ["default/lowest"]
