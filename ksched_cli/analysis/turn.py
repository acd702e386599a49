"""A pod's turn: what a run decides about it, and the questions asked before each of its attempts.

One run answers both, so that no question about a pod contradicts `schedule`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec import Struct

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.engine import Focus
from ksched_cli.engine.records import Attempt
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.status import Status

Answer = TypeVar("Answer")


class Turn(Struct, Generic[Answer], frozen=True):
    """The attempts of one pod, at least one, and an answer for each.

    answers:    from the cluster as the attempt of the same index found it
    gated:      why the pod is not in the queue; its attempt was then made after all others
    evicts:     pods evicted for it
    evicted_by: the pod that it was evicted for after it had been placed, or ""
    failed:     whether a plugin's defect ended its last attempt
    """

    attempts: tuple[Attempt, ...]
    answers: tuple[Answer, ...]
    gated: Status | None = None
    evicts: tuple[str, ...] = ()
    evicted_by: str = ""
    failed: bool = False


def take_turn(
    simulation: Simulation,
    pod: PodInfo,
    ask: Callable[[PodInfo], Answer],
    *,
    alone: bool = False,
    on_choice: Callable[[int], None] | None = None,
) -> Turn[Answer]:
    """Run a simulation that has not run yet.

    alone: leaves the other pending pods out; without it they are tried too, each in its turn
    on_choice: called with the row of a node that the pod takes, before it is there
    """
    answers: list[Answer] = []
    simulation.focus = Focus(
        frozenset({pod.key}), lambda info: answers.append(ask(info)), on_choice=on_choice
    )
    run = simulation.run(only=pod if alone else None)
    attempts = [attempt for attempt in run.attempts if attempt.pod == pod.key]
    gated = run.gated.get(pod.key)
    if gated is not None:
        attempts += simulation.try_pod(pod)
    simulation.focus = None
    evictions = simulation.scheduler.evicted
    return Turn(
        tuple(attempts),
        tuple(answers),
        gated,
        tuple(eviction.pod for eviction in evictions if eviction.preemptor == pod.key),
        next((eviction.preemptor for eviction in evictions if eviction.pod == pod.key), ""),
        pod.key in simulation.scheduler.failed,
    )
