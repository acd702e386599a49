"""Decisions of a real scheduler, what happened between them, and verdicts on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ksched_cli.analysis.audit.scheduler_log import LogEvent
from ksched_cli.answers import Part
from ksched_cli.cluster.objects import Pod, ResourceClaim
from ksched_cli.cluster.state import ClusterState, Key
from ksched_cli.engine.evaluation import Evaluation
from ksched_cli.framework.preemption import Preemption
from ksched_cli.scenario.timeline import Removal, Replacement


class OrderSource(Enum):
    """What the order of the decisions is taken from. LOG: the scheduler's, which is exact;
    RECORDING: what was recorded while they were made"""

    LOG = "log"
    RECORDING = "recording"
    EVENTS = "events"
    RESOURCE_VERSIONS = "resourceVersions"
    QUEUE = "queue"


@dataclass(frozen=True, slots=True)
class Placement:
    """A pod that was bound. pod: as it was before; time: of the binding; judged: whether a profile
    of the configuration placed it; since: when the pod came, as a recording tells"""

    pod: Pod
    node: str
    time: float
    judged: bool = True
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class PreemptionDecision:
    """Room that was made. pod: that it was made for; victims: keys, by name; message:
    of the refusal, where a log tells; noticed_meanwhile: pods of which the scheduler noticed an
    update while it decided, in order"""

    pod: Pod
    node: str
    victims: tuple[str, ...]
    time: float
    message: str = ""
    noticed_meanwhile: tuple[Pod, ...] = ()


@dataclass(frozen=True, slots=True)
class PodEvent:
    """Something else that happened to a pod, as a log or a recording tells. pod: after an UPDATE
    with the new manifest, as a recording tells; node: of the pod, or that the evictions for it are
    on; message: of a REFUSAL"""

    pod: Pod
    node: str
    time: float
    event: LogEvent
    message: str = ""


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """Nodes or other objects came, changed or went; only a recording tells when. pod, node: of
    none"""

    actions: tuple[Replacement | Removal, ...]
    time: float
    pod: Pod = field(default_factory=Pod)
    node: str = ""


NodeChoice = Placement | PreemptionDecision
"""A decision that is judged: it takes a node."""

Decision = NodeChoice | PodEvent | ObjectChange


def has_left(decision: Decision) -> bool:
    """Whether a pod left its node."""
    return isinstance(decision, PodEvent) and decision.event is LogEvent.DEPARTURE


class Unexplained(Part, frozen=True):
    """A decision that cannot be judged, and the reason."""

    pod: str
    reason: str


@dataclass(frozen=True, slots=True)
class LastRefusal:
    """A pod without a node in the end. message: of the last attempt, or "". current: nothing has
    happened since that attempt"""

    pod: Pod
    message: str
    current: bool


@dataclass(frozen=True, slots=True)
class UnseenPod:
    """A pod that came to a node and left it between the states, which hold nothing of it. since: in
    seconds since 1970; 0 where only the log tells"""

    key: str
    node: str
    since: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionLog:
    """state:     to begin with; pods that come later are pending in it
    decisions: in their order, as well as `order` tells it
    refused:   the pods that have no node in the end
    allocated: the claims as they are in the end
    newcomers: pods of the name of another one of the state
    departed:  pod key → node, of pods that left it nobody knows when
    changed_nodes: name → what of it changed in between
    unseen:    pods that neither state has; what they held is not known
    chosen_volumes: claim → the volume that it got when its pod was placed
    changed_budgets: names of those that allowed other evictions in the end, nobody knows since when
    """

    state: ClusterState
    decisions: tuple[Decision, ...]
    order: OrderSource
    refused: tuple[LastRefusal, ...]
    unexplained: tuple[Unexplained, ...]
    allocated: Mapping[Key, ResourceClaim]
    newcomers: tuple[Pod, ...] = ()
    departed: Mapping[str, str] = field(default_factory=dict)
    changed_nodes: Mapping[str, str] = field(default_factory=dict)
    unseen: tuple[UnseenPod, ...] = ()
    chosen_volumes: Mapping[Key, str] = field(default_factory=dict)
    changed_budgets: tuple[str, ...] = ()


class Grade(Enum):
    """How the real choice compares with ksched's.

    BEST: the one best node, or the only one that fits
    TIED: one of several that are equally good
    NOMINATED: the node that the pod was nominated to
    SAMPLED: worse than the best of all, but the best of nodes that may have been looked at
    BATCHED: the next best node of the ranking for the pod before, which looks the same
    REORDERED: as ksched's, had some of the decisions near it come before or after it
    PREEMPTS: room is made where ksched would make it, by evicting the same pods
    REFUSED: the pod has no node, and fits on none
    """

    BEST = "best"
    TIED = "tied"
    NOMINATED = "nominated"
    SAMPLED = "sampled"
    BATCHED = "batched"
    REORDERED = "reordered"
    PREEMPTS = "preempts"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class DecisionVerdict:
    """grade: None where ksched would not have decided so. expected: the nodes it might have taken,
    by name. reason: why the real choice cannot be its, where that is not a matter of scores."""

    grade: Grade | None
    evaluation: Evaluation
    expected: tuple[str, ...] = ()
    reason: str = ""
    preemption: Preemption | None = None
