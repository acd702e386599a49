"""The events of a replay, as data. Times are microseconds since the start."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from ksched_cli.kube.time import SECOND

# A checkpoint with other numbers is refused: of a time, the year has four digits whatever year the
# replay starts in.
LAST_MOMENT = 6_900 * 31_557_600 * SECOND
Moment: TypeAlias = Annotated[int, Meta(ge=0, le=LAST_MOMENT)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class PodOutcome(StrEnum):
    """The state of a pod at the end of a replay, or when it was dropped."""

    RUNNING = "running"
    ENDED = "ended"
    EVICTED = "evicted"
    DELETED = "deleted"
    PENDING = "pending"
    GATED = "gated"


class LoggedChange(Struct, frozen=True, array_like=True):
    """A change of the timeline: its time and its text."""

    at: Moment
    text: str


class Recreation(StrEnum):
    """The future of a pod that preemption evicts: whether it is recreated, and runs from the
    beginning or for the rest."""

    GONE = "gone"
    RESTARTS = "restarts"
    RESUMES = "resumes"


class PodRecord(Struct, array_like=True):
    """A pod's times; None where a step was not reached.

    owner:    the controller as namespace/Kind/name, else the pod itself
    was_bound: it was on its node when the replay began, or came with one
    attempts: how often it was tried
    message:  of the last attempt without a node
    runs_for: from its placement to its end; None: it stays
    first_queued: of a pod that was evicted and came again: when it came first
    """

    pod: str
    namespace: str
    priority: int
    owner: str
    queued: Moment
    first_tried: Moment | None = None
    placed: Moment | None = None
    node: str = ""
    evicted: Moment | None = None
    ended: Moment | None = None
    attempts: Count = 0
    message: str = ""
    outcome: PodOutcome = PodOutcome.PENDING
    was_bound: bool = False
    runs_for: Moment | None = None
    first_queued: Moment | None = None

    @property
    def arrived(self) -> int:
        """The time of its first arrival."""
        return self.queued if self.first_queued is None else self.first_queued


class ReplayAttempt(Struct, frozen=True, array_like=True):
    """One attempt, as kube-scheduler would log it.

    result: scheduled, unschedulable, error, or waiting (Permit)
    nominated_node, victims: where preemption makes room
    rejected_by: the plugins that decided that no node fits, sorted
    """

    at: Moment
    pod: str
    result: str
    node: str = ""
    nominated_node: str = ""
    victims: tuple[str, ...] = ()
    message: str = ""
    rejected_by: tuple[str, ...] = ()
