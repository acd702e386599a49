"""Chooses the node to preempt on, of all candidates.

Upstream: pkg/scheduler/framework/preemption/preemption.go (pickOneNodeForPreemption).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ksched_cli.framework.preemption import Criterion, CriterionStep, Victims
from ksched_cli.plugins.default_preemption.victims import NOT_STARTED, start_time

# Added to each priority, so that none is negative and fewer victims have a smaller sum.
PRIORITY_SHIFT = 1 << 31

Measures: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """ties: the nodes equal in all criteria, where more than one; steps: the criteria applied."""

    node: str
    ties: tuple[str, ...] = ()
    steps: tuple[CriterionStep, ...] = ()


def pick_one_node(candidates: Mapping[str, Victims]) -> Choice:
    """Applies the criteria in order until one node is left; of several equal to the end, the first
    by name, where upstream takes any. candidates: at least one."""
    if len(candidates) == 1:
        return Choice(next(iter(candidates)))
    measures = {node: _measures(victims) for node, victims in candidates.items()}
    best = max(measures.values())
    ties = sorted(node for node, value in measures.items() if value == best)
    steps = _steps(list(measures.values()), best, candidates[ties[0]])
    if len(ties) == 1:
        return Choice(ties[0], steps=tuple(steps))
    steps.append(CriterionStep(Criterion.FIRST_BY_NAME, ties[0], 1))
    return Choice(ties[0], tuple(ties), tuple(steps))


def _steps(left: list[Measures], best: Measures, chosen: Victims) -> list[CriterionStep]:
    """The criteria up to the one that leaves a single node. left: of all candidates."""
    steps = []
    for position, (criterion, _, text) in enumerate(CRITERIA):
        value = best[position]
        left = [measures for measures in left if measures[position] == value]
        steps.append(CriterionStep(criterion, text(chosen), len(left)))
        if len(left) == 1:
            break
    return steps


def ranked(candidates: Mapping[str, Victims]) -> list[str]:
    """All candidates, best first, compared by the criteria in order."""
    nodes = sorted(candidates)
    nodes.sort(key=lambda node: _measures(candidates[node]), reverse=True)
    return nodes


def _measures(victims: Victims) -> Measures:
    """Per criterion, the measure; of two candidates, the greater tuple is preferred. Computed once:
    victims are cached, and compared for every pod that may evict them."""
    if victims.measures is None:
        measures = tuple(measure(victims) for _, measure, _ in CRITERIA)
        object.__setattr__(victims, "measures", measures)
    assert victims.measures is not None, "just set"
    return victims.measures


def _priority_sum(victims: Victims) -> int:
    return sum([pod.priority for pod in victims.pods])


def _earliest_start(victims: Victims) -> str:
    """The earliest start among the victims of highest priority, in whatever order they are."""
    highest = max([pod.priority for pod in victims.pods])
    return min([start_time(pod) for pod in victims.pods if pod.priority == highest])


def _start_text(victims: Victims) -> str:
    start = _earliest_start(victims)
    return "not started yet" if start == NOT_STARTED else start


# Each with a measure, of which the highest is best, and the text of a node's value.
CRITERIA: tuple[tuple[Criterion, Callable[[Victims], Any], Callable[[Victims], str]], ...] = (
    (
        Criterion.FEWEST_VIOLATIONS,
        lambda victims: -victims.pdb_violations,
        lambda victims: str(victims.pdb_violations),
    ),
    (
        Criterion.LOWEST_VICTIM,
        lambda victims: -victims.pods[0].priority,
        lambda victims: str(victims.pods[0].priority),
    ),
    (
        Criterion.SMALLEST_SUM,
        lambda victims: -_priority_sum(victims) - PRIORITY_SHIFT * len(victims.pods),
        lambda victims: f"{_priority_sum(victims)} over {len(victims.pods)}",
    ),
    (
        Criterion.FEWEST_VICTIMS,
        lambda victims: -len(victims.pods),
        lambda victims: str(len(victims.pods)),
    ),
    (Criterion.LATEST_START, _earliest_start, _start_text),
)
