"""The possible orders of decisions between two states.

The order observed, of bindings or their events, is a little off: pods are bound in parallel with
the cycles of the next ones. The scheduling queue hands out pods of higher priority first, then
those
that it was given first; a scheduler that starts is given its pods by name. So the order observed is
refined by each of these rules, within what side by side allows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import groupby, takewhile

from ksched_cli.analysis.scheduler_log import LogEvent
from ksched_cli.cluster.objects import Pod
from ksched_cli.scenario.timeline import Removal, Replacement

# How far a decision may be from its place in the order observed: 500 requests a second from a
# scheduler on two cores came up to 22 places off.
MAX_SHIFT = 48
MAX_SHIFT_SECONDS = 5.0
# How many decisions may have been bound earlier than one made before them: where an API server took
# half a second for a binding, up to 68 were; on an overloaded machine, one was bound before 213.
MAX_DELAY = 288


class OrderSource(Enum):
    """What the order of the decisions is taken from. LOG: the scheduler's, which is exact;
    RECORDING: what was recorded while they were made"""

    LOG = "log"
    RECORDING = "recording"
    EVENTS = "events"
    RESOURCE_VERSIONS = "resourceVersions"
    QUEUE = "queue"


class Refinement(Enum):
    """By what the queue orders decisions that are near each other."""

    NONE = "none"
    PRIORITY = "priority"
    CREATION = "creation"
    NAME = "name"


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
class Departure:
    """A pod that left its node then; only a log tells when."""

    pod: Pod
    node: str
    time: float


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """A pod that stayed without a node; only a log tells of it. node: "". message: why"""

    pod: Pod
    node: str
    time: float
    message: str


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """Something that the scheduler did or noticed beside its attempts. node: of the pod, or that
    the evictions for it are on"""

    pod: Pod
    node: str
    time: float
    event: LogEvent


@dataclass(frozen=True, slots=True)
class PodUpdate:
    """A pod on a node has another manifest; only a recording tells when. pod: the new one"""

    pod: Pod
    node: str
    time: float


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """Nodes or other objects came, changed or went; only a recording tells when. pod, node: of
    none"""

    actions: tuple[Replacement | Removal, ...]
    time: float
    pod: Pod = field(default_factory=Pod)
    node: str = ""


Decision = (
    Placement
    | PreemptionDecision
    | Departure
    | FailedAttempt
    | LoggedChange
    | PodUpdate
    | ObjectChange
)


def refined_orders(
    decisions: Sequence[Decision],
) -> Iterator[tuple[Refinement, tuple[Decision, ...]]]:
    """The order observed, then those that differ from all before. Where it is known when pods left
    and objects changed, placements alone are moved, between these."""
    seen = {tuple(map(id, decisions))}
    yield Refinement.NONE, tuple(decisions)
    timed = any(isinstance(each, Departure | ObjectChange) for each in decisions)
    runs = list(runs_of_placements(decisions)) if timed else [decisions]
    for refinement in (Refinement.NAME, Refinement.CREATION, Refinement.PRIORITY):
        order = tuple(each for run in runs for each in refined(run, refinement))
        key = tuple(map(id, order))
        if key not in seen:
            seen.add(key)
            yield refinement, order


def runs_of_placements(decisions: Sequence[Decision]) -> Iterator[list[Decision]]:
    """Return runs of placements that follow each other; everything else alone."""
    for is_placement, run in groupby(decisions, lambda each: isinstance(each, Placement)):
        if is_placement:
            yield list(run)
        else:
            yield from ([each] for each in run)


def refined(decisions: Sequence[Decision], by: Refinement) -> tuple[Decision, ...]:
    """Orders decisions by repeatedly taking, among those that may be next, the one that the queue
    hands out first; equal ones keep the order observed."""
    order: list[Decision] = []
    window: list[tuple[int, Decision]] = []
    coming = deque(enumerate(decisions))
    while window or coming:
        while coming and (not window or coming[0][0] < window[0][0] + MAX_SHIFT):
            window.append(coming.popleft())
        latest = window[0][1].time + MAX_SHIFT_SECONDS
        near = takewhile(latest.__ge__, (decision.time for _, decision in window))
        _, place = min((_rank(window[place][1], by), place) for place, _ in enumerate(near))
        order.append(window.pop(place)[1])
    return tuple(order)


def _rank(decision: Decision, by: Refinement) -> tuple[int, str, str, bool]:
    pod = decision.pod
    name = pod.key if by in (Refinement.NAME, Refinement.CREATION) else ""
    created = pod.metadata.creation_timestamp if by is Refinement.CREATION else ""
    is_placement = isinstance(decision, Placement)
    return -(pod.spec.priority or 0), created, name, bool(name) and is_placement
