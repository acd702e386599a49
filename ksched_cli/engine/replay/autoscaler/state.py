"""The record and memory of an autoscaler, as data that a checkpoint holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from ksched_cli.engine.replay.node_counts import NodeCounts
from ksched_cli.engine.replay.records import Moment


class ScaleAction(StrEnum):
    SCALE_UP = "ScaleUp"
    SCALE_DOWN = "ScaleDown"


class Reason(StrEnum):
    """The reason why a group grew or shrank."""

    PENDING_PODS = "pending pods"
    MINIMUM = "below minSize"
    EMPTY = "empty"
    UNDERUTILIZED = "underutilized"


class ScaleEvent(Struct, frozen=True):
    """A decision.

    at:    microseconds; the new nodes join provisioningDelay later
    nodes: that are to join, or left
    pods:  of a scale-up the pending pods that the nodes are for, of a scale-down the evicted ones
    """

    at: Moment
    action: ScaleAction
    group: str
    reason: Reason
    nodes: tuple[str, ...]
    pods: tuple[str, ...] = ()


class Situation(Struct, frozen=True):
    """attempts: uids of pending pods, and how often each was tried. headroom: by group, how many
    more nodes it may have"""

    attempts: tuple[tuple[str, int], ...]
    headroom: dict[str, int]


class UpcomingNode(Struct, frozen=True):
    """A node that was asked for. at: when it joins, in microseconds"""

    at: Moment
    group: str
    name: str


@dataclass(slots=True)
class AutoscalerState:
    """Times are microseconds since the start.

    upcoming:  in the order in which they join
    added:     the nodes that the autoscaler has added and that it has not removed: name → group
    numbers:   by group, the number of the last node's name
    unneeded:  by node, since when it has been
    stuck:     nodes whose pods had no room elsewhere, until something changes
    last_scan: when the cluster was looked at; activity: what had happened by then
    last_scale_up: when nodes were asked for
    removal_due: when the next node may be removed, as far as was known at the last scan
    helpless:  the last in which no group helped any pending pod
    scale_ups: by uid of pending pods, how often nodes were asked for it
    evictions: by key, how often the autoscaler has evicted the pod
    removed:   names of the nodes that it has removed
    counts:    by group
    """

    upcoming: list[UpcomingNode] = field(default_factory=list)
    added: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    unneeded: dict[str, int] = field(default_factory=dict)
    stuck: set[str] = field(default_factory=set)
    last_scan: int = -1
    activity: tuple[int, ...] = ()
    last_scale_up: int | None = None
    removal_due: int | None = None
    helpless: Situation | None = None
    scale_ups: dict[str, int] = field(default_factory=dict)
    evictions: dict[str, int] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    counts: dict[str, NodeCounts] = field(default_factory=dict)
    events: list[ScaleEvent] = field(default_factory=list)
