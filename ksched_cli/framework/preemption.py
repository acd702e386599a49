"""The result of a PostFilter plugin's search for victims, for the engine to carry out or report,
the part of an extender that it may call, and actions that it defers until after the attempt.

An attempt itself changes nothing, because some attempts are only inquiries (`ksched preempt`). The
engine runs deferred actions where it carries out what PostFilter decided. An extender is another
process. Upstream: pkg/scheduler/framework/extender.go (Extender).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol

from msgspec import Struct, field

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.status import PluginError, Rejection
from ksched_cli.masking import masked


class ExtenderError(PluginError):
    """A call to an extender failed, or its response is invalid. The message is kube-scheduler's
    where it has one, but for passwords in URLs, which kube-scheduler prints in some messages."""

    def __init__(self, message: str) -> None:
        super().__init__(masked(message))


class PreemptionExtender(Protocol):
    """name: the URL prefix. ignorable: a failed call is treated as if it had not been made."""

    @property
    def name(self) -> str: ...

    @property
    def ignorable(self) -> bool: ...

    @property
    def supports_preemption(self) -> bool: ...

    def is_interested(self, pod: PodInfo) -> bool:
        """Return whether the pod requests a resource that the extender manages."""
        ...

    def process_preemption(
        self, pod: PodInfo, victims: Mapping[str, Victims], snapshot: Snapshot
    ) -> dict[str, Victims]:
        """Return the victims that the extender accepts, sorted by node name. Raises ExtenderError.

        victims: by node name
        """
        ...


_DEFERRED_KEY = "ksched/afterwards"


def defer(state: CycleState, action: Callable[[], None]) -> None:
    """Call `action` after the attempt, if the engine carries out PostFilter's decision."""
    state.data.setdefault(_DEFERRED_KEY, []).append(action)


def deferred(state: CycleState) -> tuple[Callable[[], None], ...]:
    """Return the attempt's deferred actions, in order."""
    return tuple(state.data.get(_DEFERRED_KEY, ()))


STATE_KEY = "ksched/preemption"
REQUEST_KEY = "ksched/preemption/request"


class PreemptionRequest(Struct, frozen=True):
    """How a PostFilter plugin should search; the caller writes it to the CycleState under
    REQUEST_KEY.

    detailed:   also record which pods may stay on a node, and why the others may not
    everything: look at every node, not only until there are enough candidates
    """

    detailed: bool = False
    everything: bool = False


class Victims(Struct, frozen=True):
    """The pods that would leave a node, most important first.

    pdb_violations:  how many evictions violate a disruption budget
    reprieved:       the pods of lower priority that may stay, in the order they were put back
    rejections:      victim's UID → why it may not stay
    pdb_violated_by: victim's UID → the budgets that its eviction violates

    These three are empty unless the request was detailed.
    """

    pods: tuple[PodInfo, ...]
    pdb_violations: int
    reprieved: tuple[PodInfo, ...] = ()
    rejections: Mapping[str, Rejection] = field(default_factory=dict)
    pdb_violated_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Criterion(StrEnum):
    """The criteria for choosing a candidate node, in the order they are applied."""

    FEWEST_VIOLATIONS = "fewest violations of disruption budgets"
    LOWEST_VICTIM = "lowest priority of the most important victim"
    SMALLEST_SUM = "smallest sum of the victims' priorities"
    FEWEST_VICTIMS = "fewest victims"
    LATEST_START = "latest start of the most important victims"
    FIRST_BY_NAME = "first by name"


class CriterionStep(Struct, frozen=True):
    """One criterion as applied. best: the best value, as text; left: how many nodes have it."""

    criterion: Criterion
    best: str
    left: int


class Preemption(Struct, frozen=True):
    """The search for victims and its outcome.

    ineligible: why the pod may not preempt at all, or ""
    num_candidates: the number of candidates after which the search stops
    candidates: node name → the victims there, of every node on which evictions help
    rejected:   node name → why evictions do not help, of the other nodes looked at; those
                without pods of lower priority only where detail is requested
    node:       the chosen node, or ""
    victims:    the pods to evict from it
    ties:       the names of the equally good nodes, where there are several
    steps:      the criteria applied, of which the last decided; empty with a single candidate
    """

    ineligible: str = ""
    num_candidates: int = 0
    candidates: Mapping[str, Victims] = field(default_factory=dict)
    rejected: Mapping[str, Rejection] = field(default_factory=dict)
    node: str = ""
    victims: tuple[PodInfo, ...] = ()
    ties: tuple[str, ...] = ()
    steps: tuple[CriterionStep, ...] = ()
