"""What happened in a replay, as data. Times are microseconds since the start."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from msgspec import Struct


class PodOutcome(StrEnum):
    """What has become of a pod at the end of a replay, or when it was let go."""

    RUNNING = "running"
    ENDED = "ended"
    EVICTED = "evicted"
    DELETED = "deleted"
    PENDING = "pending"
    GATED = "gated"


@dataclass(slots=True)
class PodRecord:
    """A pod's times; None where it has not come to that.

    owner:    the controller as namespace/Kind/name, else the pod itself
    was_bound: it was on its node when the replay began, or came with one
    attempts: how often it was tried
    message:  of the last attempt without a node
    runs_for: from its placement to its end; None: it stays
    """

    pod: str
    namespace: str
    priority: int
    owner: str
    queued: int
    first_tried: int | None = None
    placed: int | None = None
    node: str = ""
    evicted: int | None = None
    ended: int | None = None
    attempts: int = 0
    message: str = ""
    outcome: PodOutcome = PodOutcome.PENDING
    was_bound: bool = False
    runs_for: int | None = None


class ReplayAttempt(Struct, frozen=True):
    """One attempt, as kube-scheduler's log would have it.

    result: scheduled, unschedulable, error, or waiting (Permit)
    nominated_node, victims: where preemption makes room
    rejected_by: the plugins that decided that no node fits, sorted
    """

    at: int
    pod: str
    result: str
    node: str = ""
    nominated_node: str = ""
    victims: tuple[str, ...] = ()
    message: str = ""
    rejected_by: tuple[str, ...] = ()
