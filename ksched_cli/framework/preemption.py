"""What a PostFilter plugin found out about making room, for the engine to carry out and report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.status import Rejection

STATE_KEY = "ksched/preemption"
REQUEST_KEY = "ksched/preemption/request"


@dataclass(frozen=True, slots=True)
class PreemptionRequest:
    """What an inquiry wants of a PostFilter plugin, left in the CycleState under REQUEST_KEY.

    detailed:   also who may stay on a node, and why the others may not
    everything: do not stop at as many candidates as are enough
    """

    detailed: bool = False
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Victims:
    """The pods that would leave a node, most important first.

    reprieved: those of lower priority that may stay, in the order they were put back
    rejections:  by a victim's UID, why it may not
    pdb_violated_by: by a victim's UID, the budgets that its eviction violates

    The last three only where detail is kept.
    """

    pods: tuple[PodInfo, ...]
    pdb_violations: int
    reprieved: tuple[PodInfo, ...] = ()
    rejections: Mapping[str, Rejection] = field(default_factory=dict)
    pdb_violated_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Criterion(StrEnum):
    """What one candidate node is preferred for, in the order it is asked."""

    FEWEST_VIOLATIONS = "fewest violations of disruption budgets"
    LOWEST_VICTIM = "lowest priority of the most important victim"
    SMALLEST_SUM = "smallest sum of the victims' priorities"
    FEWEST_VICTIMS = "fewest victims"
    LATEST_START = "latest start of the most important victims"
    FIRST_BY_NAME = "first by name"


@dataclass(frozen=True, slots=True)
class CriterionStep:
    """One criterion at work. best: the best value, as text; left: how many nodes have it."""

    criterion: Criterion
    best: str
    left: int


@dataclass(frozen=True, slots=True)
class Preemption:
    """The search for room, and its outcome.

    ineligible: why the pod may not preempt at all, or ""
    num_candidates: how many candidates are enough
    candidates: by node name, every node found that could be made room on
    rejected:   of the nodes looked at, why the others could not
    node:       the one taken, or ""; victims: the pods that leave it
    ties:       the equally good nodes by name, where more than one
    steps:      the criteria asked, the last one decided; none where there was one candidate
    """

    ineligible: str = ""
    num_candidates: int = 0
    candidates: Mapping[str, Victims] = field(default_factory=dict)
    rejected: Mapping[str, Rejection] = field(default_factory=dict)
    node: str = ""
    victims: tuple[PodInfo, ...] = ()
    ties: tuple[str, ...] = ()
    steps: tuple[CriterionStep, ...] = ()
