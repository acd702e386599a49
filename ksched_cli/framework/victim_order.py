"""The order of victims, and the choice of a node by what its victims are.

Upstream: pkg/scheduler/util/utils.go (MoreImportantPod), pkg/scheduler/framework/preemption
(preemption.go: pickOneNodeForPreemption).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.preemption import Criterion, CriterionStep, Victims
from ksched_cli.kube.sort import go_sort
from ksched_cli.kube.versions import Rules

# -- importance ------------------------------------------------------------------------------------
#
# The more important victim comes first.


# Later than every start: of a pod that has not started.
NOT_STARTED = np.iinfo(np.int64).max
# Sorts after every timestamp: a pod that has not started counts as starting now.
NOT_STARTED_TEXT = "~"


def start_time(pod: PodInfo) -> str:
    """Return the pod's start as a sortable text, or NOT_STARTED_TEXT where it has none."""
    return pod.pod.status.start_time or NOT_STARTED_TEXT


class Ages(IntEnum):
    """How upstream compares victims of one priority that started at one time, or not at all."""

    TAKEN_ANEW = 0  # at each comparison
    TAKEN_ONCE = 1  # in the order of the node's pods: of those not started, the first is the oldest
    BY_UID = 2

    @classmethod
    def of(cls, rules: Rules) -> Ages:
        if rules.ranks_victims_by_uid:
            return cls.BY_UID
        return cls.TAKEN_ONCE if rules.ages_victims_once else cls.TAKEN_ANEW


def sort_by_importance(
    pods: list[PodInfo], ages: Ages = Ages.TAKEN_ANEW, on_node: Sequence[PodInfo] = ()
) -> None:
    """Sort pods in place: the highest priority first, then the longest running.

    on_node: all pods of the node in the order in which upstream takes their ages
    """
    if ages == Ages.BY_UID:
        pods.sort(key=lambda pod: (-pod.priority, start_time(pod), pod.uid))
        return
    waiting = (pod.uid for pod in on_node if not pod.pod.status.start_time)
    ranks = {uid: rank for rank, uid in enumerate(waiting)} if ages == Ages.TAKEN_ONCE else {}

    def age(pod: PodInfo) -> tuple[int, str, int]:
        return -pod.priority, start_time(pod), ranks.get(pod.uid, 0)

    if len({age(pod) for pod in pods}) == len(pods):
        pods.sort(key=age)
    elif ages == Ages.TAKEN_ANEW:
        go_sort(pods, _more_important)
    else:
        go_sort(pods, lambda first, second: age(first) < age(second))


def _more_important(first: PodInfo, second: PodInfo) -> bool:
    """Return whether the first pod is more important. Two pods that have not started are each more
    important than the other: upstream takes the current time for both, one after the other."""
    if first.priority != second.priority:
        return first.priority > second.priority
    second_start = start_time(second)
    return second_start == NOT_STARTED_TEXT or start_time(first) < second_start


def start_number(pod: PodInfo) -> int:
    """Return the pod's start as a number. A start is in UTC and whole seconds, so that its digits
    sort as the time does."""
    start = pod.pod.status.start_time
    digits = "".join(filter(str.isdecimal, start))
    return int(digits or 0) if start else NOT_STARTED


# -- choice ----------------------------------------------------------------------------------------


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
    """Return all candidates, best first, compared by the criteria in order."""
    nodes = sorted(candidates)
    nodes.sort(key=lambda node: measures_of_victims(candidates[node]), reverse=True)
    return nodes


def measures_of_victims(victims: Victims) -> tuple[int, ...]:
    """Return a measure per criterion; of two candidates, the greater tuple is preferred."""
    pods = victims.pods
    if not pods:
        return (0,) * len(CRITERIA)  # An extender names the victims before nodes are compared.
    return (
        -victims.pdb_violations,
        -pods[0].priority,
        -_priority_sum(victims) - PRIORITY_SHIFT * len(pods),
        -len(pods),
        start_number(_earliest(victims)),
    )


def _priority_sum(victims: Victims) -> int:
    return sum([pod.priority for pod in victims.pods])


def _earliest(victims: Victims) -> PodInfo:
    """Return the first to start of the victims of highest priority, in whatever order they are."""
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
