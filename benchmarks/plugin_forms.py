"""What the two forms of a plugin cost: the plain one beside a loop written by hand over the same
nodes, the array one beside the same lines of NumPy.

    python benchmarks/plugin_forms.py [NODES]

Exits with 1 where the plain form costs more than three times the loop, or the array form more than
NumPy and a hundredth of a millisecond.
"""

from __future__ import annotations

import sys
import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

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
from ksched_cli.testing import cluster, find, node, pod, simulation

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
class OwnNode:
    """A node as somebody writes it down who needs no more than this."""

    name: str
    allocatable: dict[str, int]
    requested: dict[str, int]


def fits(pod: PodInfo, node: OwnNode) -> bool:
    free = node.allocatable["cpu"] - node.requested["cpu"]
    return free >= pod.resources.requests["cpu"]


def share(node: OwnNode) -> int:
    return 100 * node.requested["cpu"] // node.allocatable["cpu"]


def loop_filter(pod: PodInfo, nodes: list[OwnNode]) -> list[bool]:
    found = []
    for one in nodes:
        found.append(fits(pod, one))  # noqa: PERF401 - it is the loop that is measured
    return found


def loop_score(nodes: list[OwnNode]) -> list[int]:
    found = []
    for one in nodes:
        found.append(share(one))  # noqa: PERF401 - it is the loop that is measured
    return found


def best(*calls: Callable[[], Any]) -> list[float]:
    """Seconds of processor time of each call, in the fastest of many short rounds. They take turns,
    so that a slow minute of the machine strikes all of them."""
    numbers = [max(1, int(0.005 / timeit.timeit(call, number=1))) for call in calls]
    rounds = [
        [
            timeit.timeit(call, number=number, timer=time.process_time) / number
            for call, number in zip(calls, numbers, strict=True)
        ]
        for _ in range(60)
    ]
    return [min(times) for times in zip(*rounds, strict=True)]


def main(count: int) -> int:
    nodes = [node(f"n{i:06}", cpu=8) for i in range(count)]
    running = [pod(f"r{i}", cpu=i % 8 + 1, node=f"n{i:06}") for i in range(count)]
    run = simulation(cluster(*nodes, *running, pod("p", cpu=4)))
    wanted, everything, state = find(run, "p"), Nodes(run.snapshot), CycleState()
    snapshot = run.snapshot
    by_hand = [
        OwnNode(one.name, {"cpu": one.allocatable("cpu")}, {"cpu": one.requested("cpu")})
        for one in everything
    ]
    plain, array = Plain(None, None), Array(None, None)  # type: ignore[arg-type]

    def numpy_filter() -> Any:
        free = snapshot.allocatable("cpu") - snapshot.requested("cpu")
        return (free < wanted.resources.requests["cpu"]).astype(np.int32)

    def numpy_score() -> Any:
        return 100 * snapshot.requested("cpu") // snapshot.allocatable("cpu")

    rows = [
        (
            "filter",
            *best(
                lambda: plain.filter_nodes(state, wanted, everything),
                lambda: loop_filter(wanted, by_hand),
                lambda: array.filter_nodes(state, wanted, everything),
                numpy_filter,
            ),
        ),
        (
            "score",
            *best(
                lambda: plain.score_nodes(state, wanted, everything),
                lambda: loop_score(by_hand),
                lambda: array.score_nodes(state, wanted, everything),
                numpy_score,
            ),
        ),
    ]
    print(f"{count} nodes, microseconds per call")
    print(f"{'':8}{'plain':>10}{'loop':>10}{'times':>8}{'array':>10}{'numpy':>10}")
    failed = False
    for name, slow, loop, fast, bare in rows:
        figures = f"{slow * 1e6:10.0f}{loop * 1e6:10.0f}{slow / loop:8.1f}"
        print(f"{name:8}{figures}{fast * 1e6:10.1f}{bare * 1e6:10.1f}")
        failed = failed or slow > 3 * loop or fast > bare + 1e-5
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000))
