"""Runs of one state side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.analysis import compare as analysis
from ksched_cli.analysis.compare import (
    NOT_LOOKED_FOR,
    Comparison,
    PodDifference,
    Side,
    Standing,
    compare,
)
from ksched_cli.api import SUCCESS, FilterPlugin, Status
from ksched_cli.cluster.state import ClusterState
from ksched_cli.run.differences import NamedRun
from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.file import parse_change
from ksched_cli.testing import cluster, node, pod, simulation
from tests.clusters import crowded_states, states

Config = Mapping[str, Any] | None


def with_args(plugin: str, **args: Any) -> Config:
    """The default configuration with other args of a plugin."""
    profile = {
        "schedulerName": "default-scheduler",
        "pluginConfig": [{"name": plugin, "args": args}],
    }
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }


CPU = [{"name": "cpu", "weight": 1}]
PACKING = with_args("NodeResourcesFit", scoringStrategy={"type": "MostAllocated", "resources": CPU})
HEAVY = with_args("NodeResourcesFit", ignoredResources=["example.com/gpu"])


def side(name: str, state: ClusterState, config: Config = None, plugins: Any = ()) -> Side:
    return Side(
        NamedRun(name),
        simulation(state, config, plugins=plugins),
        lambda: simulation(state, config, plugins=plugins),
    )


def of_configurations(*objects: dict[str, Any]) -> Comparison:
    state = cluster(*objects)
    return compare([side("default", state), side("packing", state, PACKING)])


def of_change(text: str, *objects: dict[str, Any]) -> Comparison:
    state = cluster(*objects)
    changed, _ = apply_changes(state, [parse_change(text, "")])
    return compare([side("without", state), side("with", changed)])


def by_name(answer: Comparison) -> dict[str, PodDifference]:
    return {difference.pod.removeprefix("default/"): difference for difference in answer.pods}


def nodes_of(difference: PodDifference) -> list[str]:
    return [node or "" for node in difference.nodes]


def standings(difference: PodDifference) -> list[Standing]:
    return list(difference.states)


# -- why a pod differs ----------------------------------------------------------------------------


def test_a_score_that_turns_a_pod_names_the_plugin_and_by_how_much() -> None:
    """With p, a has 25 percent of its cpu left and b 75. By default cpu counts as much as memory,
    which is the same on both: b is 25 points ahead. Packing, by cpu alone,
    puts a 50 points ahead."""
    answer = of_configurations(node("a"), node("b"), pod("r", node="a", cpu=2), pod("p", cpu=1))
    difference = by_name(answer)["p"]
    assert nodes_of(difference) == ["b", "a"]
    assert difference.cause.plugin == "NodeResourcesFit"
    assert difference.cause.text == "NodeResourcesFit: a gains 75 points on b"


def test_a_node_that_rejects_the_pod_names_the_plugin_and_its_reason() -> None:
    answer = of_change("drain a", node("a"), node("b", cpu=2), pod("r", node="a", cpu=1))
    difference = by_name(answer)["r"]
    assert (nodes_of(difference), difference.cause.plugin) == (["a", "b"], "NodeUnschedulable")
    assert difference.cause.text == "NodeUnschedulable: node(s) were unschedulable (a, with)"


def test_a_pod_that_becomes_pending_names_what_rejects_its_old_node() -> None:
    answer = of_change("drain a", node("a"), node("b", cpu=1), pod("r", node="a", cpu=2))
    difference = by_name(answer)["r"]
    assert standings(difference) == [Standing.RUNNING, Standing.PENDING]
    assert difference.cause.plugin == "NodeUnschedulable"


def test_a_pod_that_gets_a_node_names_what_rejected_it_before() -> None:
    answer = of_change("uncordon a", node("a", unschedulable=True), pod("p"))
    difference = by_name(answer)["p"]
    assert standings(difference) == [Standing.PENDING, Standing.PLACED]
    assert difference.cause.text == "NodeUnschedulable: node(s) were unschedulable (a, without)"


def test_a_node_that_pre_filter_leaves_out_names_the_plugin() -> None:
    names = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    required = {"nodeSelectorTerms": [{"matchFields": [names]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    other = {**pod("p"), "spec": {**pod("p")["spec"], "affinity": affinity}}
    sides = [
        side("first", cluster(node("a"), node("b"), pod("x", node="a", cpu=1), pod("p"))),
        side("second", cluster(node("a"), node("b"), pod("x", node="a", cpu=1), other)),
    ]
    difference = by_name(compare(sides))["p"]
    assert (nodes_of(difference), difference.cause.plugin) == (["b", "a"], "NodeAffinity")


def test_a_node_that_is_new_or_gone_is_the_cause() -> None:
    answer = of_change("add-nodes b --like a", node("a", cpu=1), pod("p", cpu=1), pod("q", cpu=1))
    difference = by_name(answer)["q"]
    assert nodes_of(difference) == ["", "b-1"]
    assert difference.cause.text == "there is no such node (b-1, without)"


def test_a_pod_that_is_evicted_says_for_whom() -> None:
    low = pod("low", node="a", cpu=3, priority=1)
    text = 'patch pod/high -p \'{"spec": {"priority": 9}}\''
    answer = of_change(text, node("a"), low, pod("high", cpu=3, priority=1))
    differences = by_name(answer)
    assert standings(differences["low"]) == [Standing.RUNNING, Standing.EVICTED]
    assert differences["low"].cause.text == "evicted from a for default/high (with)"
    assert standings(differences["high"]) == [Standing.PENDING, Standing.PLACED]


def test_a_pod_that_only_one_side_has_differs_be_it_placed_or_not() -> None:
    objects = [node("a", cpu=1), pod("here", node="a", cpu=1), pod("waits", cpu=1)]
    answer = of_change("delete pod/here pod/waits", *objects)
    differences = by_name(answer)
    assert standings(differences["here"]) == [Standing.RUNNING, Standing.ABSENT]
    assert standings(differences["waits"]) == [Standing.PENDING, Standing.ABSENT]
    assert differences["here"].cause.text == "there is no such pod (with)"


def test_a_gate_is_the_cause_of_a_gated_pod() -> None:
    gated = side("gated", cluster(node("a"), pod("p", gates=["hold"])))
    difference = by_name(compare([side("free", cluster(node("a"), pod("p"))), gated]))["p"]
    assert standings(difference) == [Standing.PLACED, Standing.GATED]
    assert difference.cause.plugin == "SchedulingGates"


def test_a_node_that_one_side_did_not_look_at_is_said_not_to_have_been() -> None:
    """100 of 120 nodes are enough; the first pod of the second side moves where the search
    starts."""
    nodes = [node(f"n{number:03}", cpu=2) for number in range(119)]
    best = node("n119", cpu=16)
    without = cluster(*nodes, best, pod("p", cpu=1))
    before = [pod("first", cpu=1, priority=9)]
    answer = compare(
        [side("alone", without), side("after", cluster(*nodes, best, *before, pod("p", cpu=1)))]
    )
    difference = by_name(answer)["p"]
    assert difference.places[1].node == "n119"
    assert difference.cause.text == (
        f"n119 has more points than {difference.places[0].node}, but was not looked at (alone)"
    )


def test_more_than_two_sides_are_compared_with_the_first() -> None:
    state = cluster(node("a"), node("b"), pod("r", node="a", cpu=2), pod("p", cpu=1))
    sides = [side("one", state), side("same", state), side("packing", state, PACKING)]
    difference = by_name(compare(sides))["p"]
    assert nodes_of(difference) == ["b", "b", "a"]
    assert difference.cause.plugin == "NodeResourcesFit"


def test_causes_are_looked_for_of_some_pods_of_every_owner(monkeypatch: Any) -> None:
    monkeypatch.setattr(analysis, "MAX_CAUSES", 2)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "big", "uid": "u", "controller": True}
    jobs = [
        pod(f"p{number}", cpu="10m", metadata={"ownerReferences": [owner]}) for number in range(4)
    ]
    answer = of_configurations(
        node("a"), node("b"), pod("r", node="a", cpu=2), *jobs, pod("z", cpu="10m")
    )
    explained = {name for name, pod in by_name(answer).items() if pod.cause is not NOT_LOOKED_FOR}
    assert len(answer.pods) == 5
    assert explained == {"p0", "z"}


def test_pods_late_in_a_long_run_are_not_looked_for(monkeypatch: Any) -> None:
    monkeypatch.setattr(analysis, "MAX_ATTEMPTS", 2)
    pods = [pod(f"p{number}", cpu="10m") for number in range(6)]
    answer = of_configurations(node("a"), node("b"), pod("r", node="a", cpu=2), *pods)
    unexplained = [each.pod for each in answer.pods if each.cause is NOT_LOOKED_FOR]
    assert unexplained == [f"default/p{number}" for number in range(3, 6)]


class Broken(FilterPlugin):
    name = "Broken"

    def filter(self, state: Any, pod: Any, node: Any) -> Status:
        if pod.name == "p":
            raise ValueError("broken")
        return SUCCESS


def test_a_plugin_that_fails_leaves_the_comparison_undecided() -> None:
    state = cluster(node("a"), pod("p"))
    answer = compare([side("without", state), side("with", state, plugins=[Broken])])
    difference = by_name(answer)["p"]
    assert answer.undecided
    assert standings(difference) == [Standing.PLACED, Standing.PENDING]
    assert "Broken" in difference.cause.text


# -- totals ---------------------------------------------------------------------------------------


def test_the_summary_counts_pods_nodes_and_shares() -> None:
    objects = [
        node("a", cpu=4),
        node("b", cpu=2),
        pod("r", node="a", cpu=2),
        pod("p", cpu=4, node_selector={"no": "node"}),
        pod("g", gates=["hold"]),
    ]
    first, second = (each.summary for each in of_change("delete pod/r", *objects).sides)
    assert (first.placed, first.pending, first.gated, first.evicted) == (0, 1, 1, 0)
    assert (first.nodes_used, second.nodes_used) == (1, 0)
    cpu = first.utilization["cpu"]
    assert (cpu.mean, cpu.max, cpu.stddev) == (0.25, 0.5, 0.25)
    assert second.utilization["cpu"].max == 0


def test_equal_sides_do_not_differ() -> None:
    state = cluster(node("a"), pod("p"), pod("big", cpu=9))
    answer = compare([side("one", state), side("other", state)])
    assert (answer.pods, answer.pod_count) == ((), 2)


# -- property -------------------------------------------------------------------------------------


def agree_with_schedule(state: ClusterState, config: Config, other: ClusterState) -> None:
    """Every pod is where a run of its side leaves it, and every pod that differs has a cause."""
    answer = compare([side("first", state), side("second", other, config)])
    runs = [simulation(state).run(), simulation(other, config).run()]
    homes = []
    for run, cluster_state in zip(runs, (state, other), strict=True):
        evicted = {eviction.pod for eviction in run.evicted}
        bound = {
            pod.key: pod.node_name
            for pod in cluster_state.pods
            if pod.node_name and pod.key not in evicted
        }
        homes.append(bound | dict(run.placements))
    differences = {difference.pod: difference for difference in answer.pods}
    for key in {each.key for each in (*state.pods, *other.pods)}:
        places = [home.get(key, "") for home in homes]
        if key in differences:
            assert nodes_of(differences[key]) == places
            assert differences[key].cause.text
        else:
            assert places[0] == places[1]
    for summary, run in zip((each.summary for each in answer.sides), runs, strict=True):
        assert summary.placed == len(run.placements)
        assert (summary.pending, summary.evicted) == (len(run.pending), len(run.evicted))


@given(states(), st.sampled_from([PACKING, HEAVY]))
def test_it_agrees_with_schedule_about_configurations(state: ClusterState, config: Config) -> None:
    agree_with_schedule(state, config, state)


@given(crowded_states())
def test_it_agrees_with_schedule_where_pods_are_evicted(state: ClusterState) -> None:
    agree_with_schedule(state, PACKING, state)


@given(states(), st.sampled_from(["drain n0", "cordon n0", "reschedule --all"]))
def test_it_agrees_with_schedule_about_changes(state: ClusterState, text: str) -> None:
    changed, _ = apply_changes(state, [parse_change(text, "")])
    agree_with_schedule(state, None, changed)
