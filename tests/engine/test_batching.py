"""Opportunistic batching: the next best node of the last ranking, while each pod fills its node."""

from typing import Any

import pytest

from ksched_cli.engine.records import Attempt, RunRecord
from ksched_cli.framework.interface import FilterPlugin
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.testing import cluster, node, pod, simulate, simulation

SPREAD = {"name": "PodTopologySpread", "args": {"defaultingType": "List"}}
BATCHED = {"profiles": [{"pluginConfig": [SPREAD]}]}
# The emptier a node is, the better: big, middle, small. A pod of 3 CPUs fills each of them.
NODES = [node("small", cpu="4"), node("middle", cpu="5"), node("big", cpu="5500m")]


def run(*objects: dict[str, Any], config: Any = BATCHED, minor: str = "1.36") -> RunRecord:
    record = simulate(cluster(*NODES, *objects), config, kubernetes_version=minor)
    assert not record.pending
    return record


def same(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [pod(f"p{i}", **{"cpu": "3", **fields}) for i in range(count)]


def outlines(record: RunRecord) -> list[tuple[str, int, bool]]:
    """Node, how many were evaluated, and whether nodes were scored, per attempt."""
    return [(a.node, a.evaluated, a.score is not None) for a in record.attempts]


@pytest.mark.parametrize("minor", ["1.35", "1.36"])
def test_a_pod_like_the_last_takes_the_next_best_node_without_scores(minor: str) -> None:
    expected = [("big", 3, True), ("middle", 1, False), ("small", 1, False)]
    assert outlines(run(*same(3), minor=minor)) == expected


def test_a_node_taken_from_the_ranking_is_the_only_one_recorded() -> None:
    attempt: Attempt = run(*same(2)).attempts[1]
    assert attempt.detail.feasible == ("middle",)
    assert not attempt.detail.filter


@pytest.mark.parametrize(
    ("config", "minor", "fields"),
    [
        (None, "1.36", {}),
        (BATCHED, "1.34", {}),
        (BATCHED, "1.36", {"cpu": "1"}),
        (BATCHED, "1.36", {"spec": {"topologySpreadConstraints": [
            {"maxSkew": 9, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway",
             "labelSelector": {}}]}}),
    ],
    ids=["default spread constraints", "no such gate", "the last node has room", "own constraints"],
)  # fmt: skip
def test_without_a_batch_every_node_is_looked_at(
    config: Any, minor: str, fields: dict[str, Any]
) -> None:
    record = run(*same(2, **fields), config=config, minor=minor)
    assert [attempt.evaluated for attempt in record.attempts] == [3, 3]


def test_the_gate_switches_batches_off() -> None:
    gates = "OpportunisticBatching=false"
    state = cluster(*NODES, *same(2))
    record = simulate(state, BATCHED, kubernetes_version="1.36", feature_gates=gates)
    assert [attempt.evaluated for attempt in record.attempts] == [3, 3]


def test_an_unlike_pod_in_between_ends_the_batch() -> None:
    other = pod("p0b", cpu="3", labels={"app": "other"})
    first, second = same(2)
    record = run(first, other, second)
    assert [attempt.evaluated for attempt in record.attempts] == [3, 3, 3]


def test_a_pod_of_another_profile_in_between_ends_the_batch() -> None:
    profiles = [{"schedulerName": name, "pluginConfig": [SPREAD]} for name in ("a", "b")]
    pods = [pod(f"p{i}", cpu="3", profile=name) for i, name in enumerate("aba")]
    record = run(*pods, config={"profiles": profiles})
    assert [attempt.evaluated for attempt in record.attempts] == [3, 3, 3]


def test_a_nominated_node_goes_before_the_ranking() -> None:
    pods = [*same(2)[:1], pod("p1", cpu="3", status={"nominatedNodeName": "small"})]
    assert outlines(run(*pods))[1] == ("small", 1, False)


def test_the_start_of_the_search_does_not_move() -> None:
    nodes = [node(f"n{i:03}", cpu="4") for i in range(150)]
    state = cluster(*nodes, *same(3))
    simulated = simulation(state, BATCHED, kubernetes_version="1.36")
    assert [attempt.evaluated for attempt in simulated.run().attempts] == [100, 1, 1]
    assert simulated.pipeline.search.next_start == 100


def test_ties_of_the_ranking_are_broken_by_name() -> None:
    record = simulate(
        cluster(*(node(name, cpu="4") for name in "cab"), *same(3)),
        BATCHED,
        kubernetes_version="1.36",
    )
    assert [attempt.node for attempt in record.attempts] == ["a", "b", "c"]


def test_a_plugin_that_does_not_sign_pods_switches_batches_off() -> None:
    class Foreign(FilterPlugin):
        name = "Foreign"

        def filter(self, state: Any, pod: Any, node: Any) -> Status:
            return SUCCESS

    config = {"profiles": [{
        "plugins": {"filter": {"enabled": [{"name": "Foreign"}]}}, "pluginConfig": [SPREAD],
    }]}  # fmt: skip
    state = cluster(*NODES, *same(2))
    record = simulate(state, config, [Foreign], kubernetes_version="1.36")
    assert [attempt.evaluated for attempt in record.attempts] == [3, 3]


@pytest.mark.parametrize(("passed", "evaluated"), [(0.5, 1), (0.500001, 3)])
def test_a_ranking_is_dropped_after_half_a_second(passed: float, evaluated: int) -> None:
    attempts = simulation(cluster(*NODES, *same(2)), BATCHED, kubernetes_version="1.36")
    first, second = attempts.pending()
    attempts.waiting.clock.jump(1_000_000.0)
    attempts.try_pod(first)
    attempts.waiting.clock.jump(1_000_000.0 + passed)
    assert attempts.try_pod(second)[0].evaluated == evaluated
