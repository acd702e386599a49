"""The cost of the two forms of a plugin: the per-node form against a loop written by hand over the
same nodes, the array form against the same lines of NumPy.

    python benchmarks/plugin_forms.py [NODES]

It reports and judges nothing: wall-clock ratios of a loaded machine are noise. What the plain form
may cost is held by a count of calls, in tests/framework/test_plain_form.py.
"""

from __future__ import annotations

import sys
import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# Not by their names: where an import has the name of a parameter, Python 3.11 compiles calls of the
# parameter's methods to other code than in a plugin's own file.
from ksched_cli import testing
from ksched_cli.api import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    NodeInfo,
    Nodes,
    PodInfo,
    ScorePlugin,
    Scores,
    Status,
    Verdicts,
)

FULL = Status.unschedulable("too little cpu")


class Plain(FilterPlugin, ScorePlugin):
    name = "Plain"

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        free = node.allocatable("cpu") - node.requested("cpu")
        return SUCCESS if free >= pod.resources.requests["cpu"] else FULL

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return 100 * node.requested("cpu") // node.allocatable("cpu")


class Array(FilterPlugin, ScorePlugin):
    name = "Array"

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        snapshot = nodes.snapshot
        free = snapshot.allocatable("cpu") - snapshot.requested("cpu")
        return Verdicts.rejecting(nodes.gather(free) < pod.resources.requests["cpu"], FULL)

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        snapshot = nodes.snapshot
        used, whole = snapshot.requested("cpu"), snapshot.allocatable("cpu")
        return nodes.gather(100 * used // whole)


@dataclass
class LoopNode:
    """A node with no more than the loop needs."""

    name: str
    allocatable: dict[str, int]
    requested: dict[str, int]


def fits(pod: PodInfo, node: LoopNode) -> bool:
    free = node.allocatable["cpu"] - node.requested["cpu"]
    return free >= pod.resources.requests["cpu"]


def share(node: LoopNode) -> int:
    return 100 * node.requested["cpu"] // node.allocatable["cpu"]


def loop_filter(pod: PodInfo, nodes: list[LoopNode]) -> list[bool]:
    results = []
    for loop_node in nodes:
        results.append(fits(pod, loop_node))  # noqa: PERF401 - it is the loop that is measured
    return results


def loop_score(nodes: list[LoopNode]) -> list[int]:
    results = []
    for loop_node in nodes:
        results.append(share(loop_node))  # noqa: PERF401 - it is the loop that is measured
    return results


def best(*calls: Callable[[], Any]) -> list[float]:
    """Seconds of processor time of each call, in the fastest of many short rounds. They take turns,
    so that other load on the machine affects all of them."""
    numbers = [max(1, int(0.005 / timeit.timeit(call, number=1))) for call in calls]
    rounds = [
        [
            timeit.timeit(call, number=number, timer=time.process_time) / number
            for call, number in zip(calls, numbers, strict=True)
        ]
        for _ in range(60)
    ]
    return [min(times) for times in zip(*rounds, strict=True)]


def main(count: int) -> None:
    nodes = [testing.node(f"n{i:06}", cpu=8) for i in range(count)]
    running = [testing.pod(f"r{i}", cpu=i % 8 + 1, node=f"n{i:06}") for i in range(count)]
    run = testing.simulation(testing.cluster(*nodes, *running, testing.pod("p", cpu=4)))
    info, every_node, state = testing.find(run, "p"), Nodes(run.snapshot), CycleState()
    snapshot = run.snapshot
    loop_nodes = [
        LoopNode(n.name, {"cpu": n.allocatable("cpu")}, {"cpu": n.requested("cpu")})
        for n in every_node
    ]
    plain, array = Plain(None, None), Array(None, None)  # type: ignore[arg-type]

    def numpy_filter() -> Any:
        free = snapshot.allocatable("cpu") - snapshot.requested("cpu")
        return (free < info.resources.requests["cpu"]).astype(np.int32)

    def numpy_score() -> Any:
        return 100 * snapshot.requested("cpu") // snapshot.allocatable("cpu")

    rows = [
        (
            "filter",
            best(
                lambda: plain.filter_nodes(state, info, every_node),
                lambda: loop_filter(info, loop_nodes),
                lambda: array.filter_nodes(state, info, every_node),
                numpy_filter,
            ),
        ),
        (
            "score",
            best(
                lambda: plain.score_nodes(state, info, every_node),
                lambda: loop_score(loop_nodes),
                lambda: array.score_nodes(state, info, every_node),
                numpy_score,
            ),
        ),
    ]
    print(f"{count} nodes, microseconds per call")
    print(f"{'':8}{'plain':>10}{'loop':>10}{'times':>8}{'array':>10}{'numpy':>10}")
    for name, (per_node, loop, array_form, numpy_form) in rows:
        figures = f"{per_node * 1e6:10.0f}{loop * 1e6:10.0f}{per_node / loop:8.1f}"
        print(f"{name:8}{figures}{array_form * 1e6:10.1f}{numpy_form * 1e6:10.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
