#!/usr/bin/env python3
"""How often a solver places more pods than kube-scheduler, or proves that none can be placed more.

    optimal_packing.py [--count N] [--seconds S...] [--seed N]

Instances are like those of arXiv 2511.08373: 4 to 32 equal nodes, 4 or 8 pods a node, one to four
priorities, requests of cpu and memory drawn from 100 to 1000, and nodes of such a size that all
pods request 90, 95 or 100 % of them. These sizes are assumed; the paper's abstract has none. Those
in which the scheduler leaves pods without a node count. A placement is better where it has more
pods of the highest priority in which both differ; each of its pods passes the Filters.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import Counter
from collections.abc import Iterator
from time import monotonic

from machine import describe

from ksched_cli.analysis.placement_model import PlacementModel, Solution
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.evaluation import Mode
from ksched_cli.testing import cluster, node, pod, simulation

NODES, PODS_PER_NODE, PRIORITIES = (4, 8, 16, 32), (4, 8), (1, 2, 4)
USAGE = (0.90, 0.95, 1.00)


def instance(draw: random.Random) -> ClusterState:
    count, each, levels = map(draw.choice, (NODES, PODS_PER_NODE, PRIORITIES))
    usage = draw.choice(USAGE)
    requests = [
        {"cpu": draw.randint(100, 1000), "memory": draw.randint(100, 1000)}
        for _ in range(count * each)
    ]
    cpu, memory = (
        math.ceil(sum(own[name] for own in requests) / count / usage) for name in ("cpu", "memory")
    )
    nodes = [node(f"n{i:02}", cpu=f"{cpu}m", memory=f"{memory}Mi") for i in range(count)]
    pods = [
        pod(
            f"p{i:03}",
            cpu=f"{own['cpu']}m",
            memory=f"{own['memory']}Mi",
            priority=draw.randrange(levels),
        )
        for i, own in enumerate(requests)
    ]
    return cluster(*nodes, *pods)


def by_priority(state: ClusterState, placed: set[str]) -> list[int]:
    """Return how many pods of each priority have a node, the highest first."""
    counts = Counter(each.spec.priority or 0 for each in state.pods if each.key in placed)
    levels = sorted({each.spec.priority or 0 for each in state.pods}, reverse=True)
    return [counts[level] for level in levels]


def failing(draw: random.Random) -> Iterator[tuple[ClusterState, list[int]]]:
    """Yield instances in which the scheduler leaves pods without a node, and what it places."""
    while True:
        state = instance(draw)
        run = simulation(state)
        placed = {*run.run().nodes(state.pods)}
        if len(placed) < len(state.pods):
            yield state, by_priority(state, placed)


def solve(state: ClusterState, seconds: float) -> tuple[list[int], bool]:
    """Return how many pods of each priority the solver places, and whether that is optimal."""
    run = simulation(state)
    model = PlacementModel.of(run, map(run.catalog.info, state.pods), ())
    model.deadline = monotonic() + seconds
    solution = model.solve(seconds, levels=model.by_priority())
    return by_priority(state, placed_by(model, solution)), solution.is_optimal


def placed_by(model: PlacementModel, solution: Solution) -> set[str]:
    """Return the pods of a solution. Raises AssertionError where a Filter rejects one."""
    run = simulation(cluster_of(model))
    placed = set[str]()
    for (number, row), count in solution.placed.items():
        rest = [each for each in model.classes[number].pods if each.key not in placed]
        for each in rest[:count]:
            info = each.unplaced()
            feasible = run.evaluate(info, Mode.ALL_NODES).feasible.indices()
            assert row in feasible, (each.key, row)
            run.snapshot.add(info.placed(run.snapshot.names[row]), row)
            placed.add(each.key)
    return placed


def cluster_of(model: PlacementModel) -> ClusterState:
    """Return the nodes without pods."""
    return ClusterState(nodes=tuple(model.snapshot.nodes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float, nargs="+", default=[1, 10])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    outcomes: dict[float, Counter[str]] = {limit: Counter() for limit in options.seconds}
    instances = failing(random.Random(options.seed))
    for _, (state, reached) in zip(range(options.count), instances, strict=False):
        for limit in options.seconds:
            best, is_optimal = solve(state, limit)
            outcome = "better" if best > reached else "no better found"
            if best == reached and is_optimal:
                outcome = "proven optimal"
            outcomes[limit][outcome] += 1
    print(describe())
    print("| seconds | better | the scheduler's is proven optimal | neither |")
    print("| --: | --: | --: | --: |")
    for limit, counts in outcomes.items():
        shares = (counts[each] / options.count for each in ("better", "proven optimal"))
        row = " | ".join(f"{share:.0%}" for share in shares)
        print(f"| {limit:g} | {row} | {counts['no better found'] / options.count:.0%} |")


if __name__ == "__main__":
    main()
