"""Which of several nodes to make room on.

Upstream: pkg/scheduler/framework/preemption/preemption.go (pickOneNodeForPreemption).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ksched_cli.framework.preemption import Criterion, CriterionStep, Victims
from ksched_cli.plugins.default_preemption.victims import NOT_STARTED, started

# Added to each priority, so that none is negative and fewer victims sum up to less.
PRIORITY_SHIFT = 1 << 31


@dataclass(frozen=True, slots=True)
class Choice:
    """ties: the equally good nodes by name, where more than one; steps: the criteria asked."""

    node: str
    ties: tuple[str, ...] = ()
    steps: tuple[CriterionStep, ...] = ()


def choose(candidates: Mapping[str, Victims]) -> Choice:
    """candidates: at least one. Criterion after criterion, until one node is left; upstream draws
    lots where several are equal to the end."""
    nodes = sorted(candidates)
    steps: list[CriterionStep] = []
    for criterion, measure, text in CRITERIA:
        if len(nodes) == 1:
            return Choice(nodes[0], steps=tuple(steps))
        measures = [measure(candidates[node]) for node in nodes]
        best = max(measures)
        nodes = [node for node, one in zip(nodes, measures, strict=True) if one == best]
        steps.append(CriterionStep(criterion, text(candidates[nodes[0]]), len(nodes)))
    if len(nodes) == 1:
        return Choice(nodes[0], steps=tuple(steps))
    steps.append(CriterionStep(Criterion.FIRST_BY_NAME, nodes[0], 1))
    return Choice(nodes[0], tuple(nodes), tuple(steps))


def ranked(candidates: Mapping[str, Victims]) -> list[str]:
    """All candidates, best first, as all criteria together order them."""
    nodes = sorted(candidates)
    for _, measure, _ in reversed(CRITERIA):
        measured = {node: measure(candidates[node]) for node in nodes}
        nodes.sort(key=measured.__getitem__, reverse=True)
    return nodes


def _sum(victims: Victims) -> int:
    return sum([pod.priority for pod in victims.pods])


def _earliest_start(victims: Victims) -> str:
    """Of the victims of highest priority; an extender may have put them into any order."""
    highest = max([pod.priority for pod in victims.pods])
    return min([started(pod) for pod in victims.pods if pod.priority == highest])


def _start_text(victims: Victims) -> str:
    start = _earliest_start(victims)
    return "not started yet" if start == NOT_STARTED else start


# Each with a measure of which the highest is best, and what to say about the best.
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
        lambda victims: -_sum(victims) - PRIORITY_SHIFT * len(victims.pods),
        lambda victims: f"{_sum(victims)} over {len(victims.pods)}",
    ),
    (
        Criterion.FEWEST_VICTIMS,
        lambda victims: -len(victims.pods),
        lambda victims: str(len(victims.pods)),
    ),
    (Criterion.LATEST_START, _earliest_start, _start_text),
)
