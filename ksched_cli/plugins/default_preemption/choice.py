"""Chooses the node to preempt on, of all candidates.

Upstream: pkg/scheduler/framework/preemption/preemption.go (pickOneNodeForPreemption).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.cluster.node_columns import Column, Mask, Rows
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.preemption import Criterion, CriterionStep, Victims
from ksched_cli.plugins.default_preemption.importance import start_time
from ksched_cli.plugins.default_preemption.lower_pods import (
    LOWEST,
    NOT_STARTED,
    LowerPods,
    start_number,
)

# Added to each priority, so that none is negative and fewer victims have a smaller sum.
PRIORITY_SHIFT = 1 << 31


class Choice(Struct, frozen=True):
    """ties: the nodes equal in all criteria, where more than one; steps: the criteria applied."""

    node: str
    ties: tuple[str, ...] = ()
    steps: tuple[CriterionStep, ...] = ()


def pick_one_node(candidates: Mapping[str, Victims]) -> Choice:
    """Pick a node as `pick_node` does, of candidates whose victims are listed."""
    names = sorted(candidates)
    measures = np.array([measures_of_victims(candidates[name]) for name in names]).T
    return pick_node(measures, names.__getitem__, lambda index: candidates[names[index]])


def pick_node(
    measures: NDArray[np.int64], name: Callable[[int], str], victims: Callable[[int], Victims]
) -> Choice:
    """Apply the criteria in order until one node is left; of several equal to the end, take the
    first by name, where upstream takes any.

    measures: a row per criterion, a column per candidate, in order of name; at least one
    name:     of a candidate, by its index; victims: there
    """
    # 1. Each criterion keeps the nodes with the best value. The first that leaves one decides.
    left = np.arange(measures.shape[1])
    counts: list[int] = []
    for values in measures if len(left) > 1 else ():
        of_left = values[left]
        left = left[of_left == of_left.max()]
        counts.append(len(left))
        if len(left) == 1:
            break
    # 2. The steps explain the choice; their texts need the victims of the chosen node alone.
    index = left.item(0)
    steps: list[CriterionStep] = []
    if counts:
        chosen = victims(index)
        steps = [
            CriterionStep(criterion, text(chosen), count)
            for (criterion, text), count in zip(CRITERIA, counts, strict=False)
        ]
    if len(left) == 1:
        return Choice(name(index), steps=tuple(steps))
    steps.append(CriterionStep(Criterion.FIRST_BY_NAME, name(index), 1))
    return Choice(name(index), tuple(map(name, left.tolist())), tuple(steps))


def ranked(candidates: Mapping[str, Victims]) -> list[str]:
    """All candidates, best first, compared by the criteria in order."""
    nodes = sorted(candidates)
    nodes.sort(key=lambda node: measures_of_victims(candidates[node]), reverse=True)
    return nodes


def measures_of_victims(victims: Victims) -> tuple[int, ...]:
    """Per criterion, the measure; of two candidates, the greater tuple is preferred."""
    pods = victims.pods
    return (
        -victims.pdb_violations,
        -pods[0].priority,
        -_priority_sum(victims) - PRIORITY_SHIFT * len(pods),
        -len(pods),
        start_number(_earliest(victims)),
    )


def measures_of(
    priority: Column, start: Column, violates: Mask, evicted: Mask, lower: LowerPods
) -> NDArray[np.int64]:
    """As `measures_of_victims`: a row per criterion, a column per node; of nodes without victims,
    any numbers.

    priority, start, violates: per pod of `lower`, of which every node has some
    evicted:                   per pod, whether it is a victim
    """
    starts: Rows = lower.starts
    highest = np.maximum.reduceat(np.where(evicted, priority, LOWEST), starts)
    is_highest = evicted & (priority == np.repeat(highest, lower.counts))
    return np.array(
        [
            -np.add.reduceat((violates & evicted).astype(np.int64), starts),
            -highest,
            -np.add.reduceat(np.where(evicted, priority + PRIORITY_SHIFT, 0), starts),
            -np.add.reduceat(evicted.astype(np.int64), starts),
            np.minimum.reduceat(np.where(is_highest, start, NOT_STARTED), starts),
        ]
    )


def _priority_sum(victims: Victims) -> int:
    return sum([pod.priority for pod in victims.pods])


def _earliest(victims: Victims) -> PodInfo:
    """The first to start of the victims of highest priority, in whatever order they are."""
    highest = max([pod.priority for pod in victims.pods])
    return min([pod for pod in victims.pods if pod.priority == highest], key=start_number)


def _start_text(victims: Victims) -> str:
    earliest = _earliest(victims)
    return "not started yet" if start_number(earliest) == NOT_STARTED else start_time(earliest)


# Each with the text of a node's value; `measures_of` has the measures, in the same order.
CRITERIA: tuple[tuple[Criterion, Callable[[Victims], str]], ...] = (
    (Criterion.FEWEST_VIOLATIONS, lambda victims: str(victims.pdb_violations)),
    (Criterion.LOWEST_VICTIM, lambda victims: str(victims.pods[0].priority)),
    (
        Criterion.SMALLEST_SUM,
        lambda victims: f"{_priority_sum(victims)} over {len(victims.pods)}",
    ),
    (Criterion.FEWEST_VICTIMS, lambda victims: str(len(victims.pods))),
    (Criterion.LATEST_START, _start_text),
)
