"""How far a run is from the best placement: as brute force finds it, and bounds that hold."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from ksched_cli.analysis import best_placement
from ksched_cli.analysis.best_placement import Regret, regret_of
from ksched_cli.analysis.metrics import Metric, per_placement
from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.simulation import Simulation
from ksched_cli.testing import cluster, node, pod, simulation
from tests.thorough import first

pytest.importorskip("ortools", reason="the extra optimum is not installed")

Manifest = dict[str, Any]


def regret(*objects: Manifest, quantity: str = "pods", metrics: Sequence[Metric] = ()) -> Regret:
    run: Simulation = simulation(cluster(*objects))
    return regret_of(run, run.run(), quantity, 600, metrics)


def by_priority(answer: Regret, field: str) -> list[float]:
    return [getattr(level, field) for level in answer.levels]


class Case:
    """A few nodes and pods of random sizes."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.nodes = [(draw.randint(2, 5), draw.randint(2, 8)) for _ in range(3)]
        self.pods = [
            (draw.randint(1, 4), draw.randint(1, 4), draw.choice((0, 0, 10))) for _ in range(5)
        ]

    @property
    def objects(self) -> list[Manifest]:
        return [
            *(
                node(f"n{at}", cpu=cpu, memory=f"{gib}Gi")
                for at, (cpu, gib) in enumerate(self.nodes)
            ),
            *(
                pod(f"p{at}", cpu=cpu, memory=f"{gib}Gi", priority=priority)
                for at, (cpu, gib, priority) in enumerate(self.pods)
            ),
        ]

    def best(self, amounts: Sequence[float]) -> list[float]:
        """Return what the best of all placements reaches, by priority."""
        return self.best_by_node([[amount] * 3 for amount in amounts])

    def best_by_node(self, amounts: Sequence[Sequence[float]]) -> list[float]:
        """The same; amounts: of each pod on each node"""
        priorities = sorted({priority for *_, priority in self.pods}, reverse=True)
        return max(
            [
                sum(
                    amount[at]
                    for (*_, own), amount, at in zip(self.pods, amounts, places, strict=True)
                    if at is not None and own == priority
                )
                for priority in priorities
            ]
            for places in product((None, 0, 1, 2), repeat=len(self.pods))
            if self._fits(places)
        )

    def _fits(self, places: Sequence[int | None]) -> bool:
        return all(
            sum(p[at] for p, place in zip(self.pods, places, strict=True) if place == index)
            <= size[at]
            for index, size in enumerate(self.nodes)
            for at in (0, 1)
        )


@pytest.mark.parametrize("seed", first(8, range(25)))
def test_the_best_placement_is_the_one_that_brute_force_finds(seed: int) -> None:
    case = Case(seed)
    pods = regret(*case.objects)
    assert by_priority(pods, "best") == by_priority(pods, "at_most") == case.best([1] * 5)
    amounts = [1000 * cpu for cpu, *_ in case.pods]
    cpu = regret(*case.objects, quantity="cpu")
    assert by_priority(cpu, "best") == by_priority(cpu, "at_most") == case.best(amounts)


def worth_of(seed: int) -> tuple[Metric, list[list[float]]]:
    """Return a metric that counts a random amount for each pod and node."""
    draw = random.Random(seed)
    amounts = [[draw.choice((0, 0.5, 1, 2.25, 7)) for _ in range(3)] for _ in range(5)]

    @per_placement
    def worth(pod: PodInfo, node: Node) -> float:
        return amounts[int(pod.name[1:])][int(node.name[1:])]

    return Metric("worth", worth), amounts


@pytest.mark.parametrize("seed", first(8, range(25)))
def test_the_best_of_a_metric_is_the_one_that_brute_force_finds(seed: int) -> None:
    case, (metric, amounts) = Case(seed), worth_of(seed)
    answer = regret(*case.objects, quantity="worth", metrics=[metric])
    best = case.best_by_node(amounts)
    assert by_priority(answer, "best") == by_priority(answer, "at_most") == best


@pytest.mark.parametrize("seed", first(8, range(25)))
def test_of_a_metric_with_many_nodes_the_bound_holds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(best_placement, "MAX_PAIRS", 0)
    case, (metric, amounts) = Case(seed), worth_of(seed)
    answer = regret(*case.objects, quantity="worth", metrics=[metric])
    best = case.best_by_node(amounts)
    assert by_priority(answer, "at_most") >= best >= by_priority(answer, "best")
    assert by_priority(answer, "best") >= by_priority(answer, "reached")


@pytest.mark.parametrize("seed", first(8, range(25)))
def test_with_many_nodes_the_bound_is_never_below_the_best_nor_the_best_below_the_run(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(best_placement, "MAX_PAIRS", 0)
    case = Case(seed)
    answer = regret(*case.objects)
    best = case.best([1] * 5)
    assert by_priority(answer, "at_most") >= best >= by_priority(answer, "best")
    assert by_priority(answer, "best") >= by_priority(answer, "reached")
    assert answer.at_most >= answer.regret


def test_pods_that_are_on_nodes_stay_there_and_evicted_ones_count() -> None:
    nodes = [node("a", cpu=4), node("b", cpu=4)]
    running = [pod("r1", cpu=2, node="a"), pod("r2", cpu=2, node="b")]
    assert regret(*nodes, *running, pod("big", cpu=4)).levels[0].at_most == 0
    # The evicted pod has room on the other node.
    answer = regret(*nodes, *running, pod("big", cpu=4, priority=9))
    assert [(each.priority, each.reached, each.best) for each in answer.levels] == [
        (9, 1, 1),
        (0, 0, 1),
    ]
    assert answer.is_best


def test_a_placement_that_only_the_model_allows_is_a_bound_and_not_the_best() -> None:
    affinity = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"app": "absent"}},
                }
            ]
        }
    }
    answer = regret(node("a", cpu=4), pod("lonely", cpu=1, affinity=affinity))
    assert (answer.regret, answer.at_most, answer.is_best) == (0, 1, False)
