"""A simple autoscaler in a replay: at each scan it orders nodes, which join some time later, or
removes nodes that have been unneeded for long: their pods request little, and may and can move.

It is ksched's own, after the cluster-autoscaler's documented behaviour (kubernetes/autoscaler,
cluster-autoscaler/FAQ.md); docs/autoscaler.md says what it leaves out. Unlike there, whether the
pods can move is tried when a node's time is up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.cluster.objects import Node, Pod
from ksched_cli.cluster.resources import CPU, MEMORY
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.engine import Engine
from ksched_cli.engine.replay.autoscaler.scale_up import (
    GroupReview,
    Packing,
    ScaleUpPlan,
    ScaleUpPlanner,
    ScaleUpReview,
    best_option,
)
from ksched_cli.engine.replay.event_applier import EventApplier
from ksched_cli.engine.replay.queued_pod import QueuedPodInfo
from ksched_cli.engine.replay.records import NodeCountSeries
from ksched_cli.engine.replay.replay_cluster import ReplayCluster
from ksched_cli.scenario.drain import (
    NO_CONTROLLER,
    SAFE_TO_EVICT,
    SCALE_DOWN_DISABLED,
    goes_with_node,
    local_volumes,
)
from ksched_cli.scenario.node_groups import (
    AutoscalerSettings,
    NodeGroup,
    with_new_nodes,
    without_nodes,
)
from ksched_cli.scenario.pod_work import STAYS
from ksched_cli.scenario.pods import budget_matcher, pending_pod
from ksched_cli.scenario.prices import NO_PRICES, Prices


class ScaleAction(StrEnum):
    SCALE_UP = "ScaleUp"
    SCALE_DOWN = "ScaleDown"


class ScalingReason(StrEnum):
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

    at: int
    action: ScaleAction
    group: str
    reason: ScalingReason
    nodes: tuple[str, ...]
    pods: tuple[str, ...] = ()


class Situation(Struct, frozen=True):
    """attempts: uids of pending pods, and how often each was tried. headroom: by group, how many
    more nodes it may have"""

    attempts: tuple[tuple[str, int], ...]
    headroom: dict[str, int]


class UpcomingNode(Struct, frozen=True):
    """A node that was asked for. at: when it joins, in microseconds"""

    at: int
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
    counts: dict[str, NodeCountSeries] = field(default_factory=dict)
    events: list[ScaleEvent] = field(default_factory=list)


_SYSTEM = "kube-system"


class DrainRules:
    """One state's rules, with its disruption budgets. Those of a replay keep their status."""

    def __init__(self, settings: AutoscalerSettings, state: ClusterState) -> None:
        self._settings = settings
        self._budgets = [
            (budget, budget_matcher(budget)) for budget in state.pod_disruption_budgets.values()
        ]

    def blocks(self, pods: Iterable[Pod]) -> str:
        """Return why the pods of a node keep it, or ""."""
        allowed = [budget.status.disruptions_allowed for budget, _ in self._budgets]
        for pod in pods:
            if goes_with_node(pod) or self.is_expendable(pod):
                continue
            reason = self._keeps(pod)
            for index, (budget, covers) in enumerate(self._budgets):
                if not reason and covers(pod):
                    allowed[index] -= 1
                    if allowed[index] < 0:
                        reason = f"disruption budget {budget.key} allows no more disruptions"
            if reason:
                return f"{pod.key}: {reason}"
        return ""

    def is_expendable(self, pod: Pod) -> bool:
        return (pod.spec.priority or 0) < self._settings.expendable_pods_priority_cutoff

    def _keeps(self, pod: Pod) -> str:
        """Return why this pod keeps its node whatever budgets allow, or ""."""
        safe = pod.metadata.annotations.get(SAFE_TO_EVICT)
        if pod.deleting:
            return "is being deleted"
        if safe == "true":
            return ""
        if safe == "false":
            return "annotated as not safe to evict"
        if pod.metadata.controller is None:
            return NO_CONTROLLER
        settings = self._settings
        if (
            settings.skip_nodes_with_system_pods
            and pod.namespace == _SYSTEM
            and not any(covers(pod) for _, covers in self._budgets)
        ):
            return "is in kube-system, and no disruption budget covers it"
        if settings.skip_nodes_with_local_storage and local_volumes(pod):
            return "has local storage"
        return ""


def utilization(snapshot: Snapshot) -> NDArray[np.float64]:
    """Return per row, the largest of the shares that pods request: of cpu, memory and extended
    resources. The cluster-autoscaler looks at GPUs alone where a node has any."""
    shares = np.zeros(len(snapshot))
    for resource, allocatable in snapshot.node_columns.allocatable.items():
        if resource in (CPU, MEMORY) or "/" in resource:
            share = snapshot.requested(resource) / np.maximum(allocatable, 1)
            np.maximum(shares, np.where(allocatable > 0, share, 0.0), out=shares)
    return shares


@dataclass(slots=True)
class UnneededNodes:
    """One snapshot's unneeded nodes. A node is checked again when its pods have changed."""

    cluster: ReplayCluster
    settings: AutoscalerSettings
    _rules: DrainRules = field(init=False)
    _snapshot: Snapshot | None = None
    _blocked: dict[int, tuple[int, bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rules = DrainRules(self.settings, self.cluster.objects)

    def rows(self, members: Rows) -> list[int]:
        """Return those of the rows whose pods request little, and may leave."""
        snapshot = self.cluster.snapshot
        if snapshot is not self._snapshot:
            self._snapshot, self._blocked = snapshot, {}
            self._rules = DrainRules(self.settings, self.cluster.objects)
        threshold = self.settings.scale_down.utilization_threshold
        low = members[utilization(snapshot)[members] < threshold]
        unneeded = []
        for row in low.tolist():
            touched = snapshot.touched.item(snapshot.rank.item(row))
            if self._blocked.get(row, (None, False))[0] != touched:
                annotations = snapshot.nodes[row].metadata.annotations
                is_blocked = annotations.get(SCALE_DOWN_DISABLED) == "true" or bool(
                    self._rules.blocks(pod.pod for pod in snapshot.pods[row])
                )
                self._blocked[row] = (touched, is_blocked)
            if not self._blocked[row][1]:
                unneeded.append(row)
        return unneeded

    def evicted_pods(self, row: int) -> list[Pod]:
        """Return the pods of a node that are evicted before it leaves."""
        pods = (pod.pod for pod in self.cluster.snapshot.pods[row])
        return [pod for pod in pods if not goes_with_node(pod)]

    def movable(self, row: int) -> bool:
        """Return whether the node's pods fit on the other nodes."""
        moving = [pod for pod in self.evicted_pods(row) if not self._rules.is_expendable(pod)]
        if not moving:
            return True
        name = self.cluster.snapshot.names[row]
        state = without_nodes(self.cluster.state_with([]), frozenset((name,)))
        state = replace(state, pods=tuple(pod for pod in state.pods if pod.node_name != name))
        pods = [pending_pod(pod) for pod in moving]
        packing = Packing(self.cluster, state, pods)
        rows = packing.rows(node.name for node in state.nodes)
        fits = all(packing.place(pod.key, rows) is not None for pod in pods)
        packing.close()
        return fits


# So often nodes are asked for one pod, and one pod is evicted: a replay in which the simulation of
# the autoscaler and the scheduler's choices differ for ever comes to an end.
_MAX_TRIALS = 10
# Nodes whose pods' moving is tried out in one scan.
_MAX_DRAIN_TRIALS = 10


@dataclass(slots=True)
class Autoscaler:
    """sizes: by group, how many nodes it has; groups: by name"""

    settings: AutoscalerSettings
    applier: EventApplier
    prices: Prices = NO_PRICES
    state: AutoscalerState = field(default_factory=AutoscalerState)
    sizes: dict[str, int] = field(default_factory=dict)
    _group_by_row: dict[int, str] = field(default_factory=dict)
    groups: dict[str, NodeGroup] = field(init=False)
    _planner: ScaleUpPlanner = field(init=False)
    _unneeded: UnneededNodes = field(init=False)
    _engine: Engine | None = None

    def __post_init__(self) -> None:
        cluster = self.applier.cluster
        self.groups = {group.name: group for group in self.settings.groups}
        self._planner = ScaleUpPlanner(
            cluster, self.settings, self.applier.makes_pods, self._next_names, self.prices
        )
        self._unneeded = UnneededNodes(cluster, self.settings)
        self.applier.removed_nodes = self.state.removed
        self._list_members()

    @property
    def _now(self) -> int:
        return self.applier.scheduler.clock.now

    # -- instants -------------------------------------------------------------------------------

    def next_instant(self) -> int | None:
        """Return when it acts next, if nothing else happens."""
        state = self.state
        times = [node.at for node in state.upcoming[:1]]
        if state.activity != self._activity():
            times.append(self._next_scan(0))
        if state.removal_due is not None:
            times.append(self._next_scan(state.removal_due))
        return min(times, default=None)

    def _next_scan(self, at: int) -> int:
        """Return the first scan at this time or later that is still to come."""
        interval = self.settings.scan_interval
        return -(-max(at, self._now + 1) // interval) * interval

    def run_instant(self) -> None:
        """After the timeline's events, before pods are tried."""
        self._list_members()
        self._join()
        state, now = self.state, self._now
        if now % self.settings.scan_interval or now == state.last_scan:
            return
        activity = self._activity()
        is_due = state.removal_due is not None and state.removal_due <= now
        if activity != state.activity or is_due:
            if activity[1:] != state.activity[1:]:
                state.stuck.clear()
            state.activity, state.last_scan = activity, now
            self._scan()

    def _activity(self) -> tuple[int, ...]:
        """Changes when anything does; the first number counts attempts."""
        counts = self.applier.log.counts
        return (
            counts.attempts,
            counts.events,
            counts.placed,
            counts.ended,
            counts.evicted,
            counts.deleted,
            len(self.state.events),
            len(self.state.upcoming),
        )

    def _scan(self) -> None:
        """Nodes are asked for; if there is no need, nodes leave."""
        for name, group in self.groups.items():
            missing = min(group.min_size - self._size(name), self._headroom()[name])
            if missing > 0:
                self._ask_for(group, missing, ScalingReason.MINIMUM, ())
        plan = self._plan()
        option = best_option(plan.options, self.settings.expanders)
        if option is not None:
            # Ask for the nodes, and count the scale-ups that each pending pod is part of.
            state = self.state
            uids = {queued.pod.key: queued.pod.uid for queued in self.applier.queue}
            present = set(uids.values())
            state.scale_ups = {uid: n for uid, n in state.scale_ups.items() if uid in present}
            for key in option.pods:
                uid = uids[key]
                state.scale_ups[uid] = state.scale_ups.get(uid, 0) + 1
            self._ask_for(option.group, option.count, ScalingReason.PENDING_PODS, option.pods)
            state.last_scale_up = self._now
        if self.settings.scale_down.enabled:
            self._scale_down(plan.used_nodes, may_remove=option is None)

    # -- groups ---------------------------------------------------------------------------------

    def _list_members(self) -> None:
        """List the groups' members if the cluster's nodes have changed."""
        engine = self.applier.cluster.engine
        if engine is self._engine:
            return
        self._engine = engine
        members = ((row, self.group_of(node)) for row, node in enumerate(engine.snapshot.nodes))
        self._group_by_row = {row: group.name for row, group in members if group is not None}
        self.sizes = dict.fromkeys(self.groups, 0) | Counter(self._group_by_row.values())
        for name, size in self.sizes.items():
            self.state.counts.setdefault(name, NodeCountSeries()).note(self._now, size)

    def group_of(self, node: Node) -> NodeGroup | None:
        """Return the group that a node is of: that it was added to, else the first that selects
        it."""
        added = self.state.added.get(node.name)
        if added is not None:
            return self.groups[added]
        return next((group for group in self.settings.groups if group.selects(node)), None)

    def _size(self, name: str) -> int:
        """Return the group's size, including nodes that were asked for."""
        upcoming = sum(node.group == name for node in self.state.upcoming)
        return self.sizes[name] + upcoming

    def _headroom(self) -> dict[str, int]:
        """Return, by group, how many more nodes it may have."""
        rooms = {name: group.max_size - self._size(name) for name, group in self.groups.items()}
        if self.settings.max_nodes_total is not None:
            count = len(self.applier.cluster.snapshot) + len(self.state.upcoming)
            left = self.settings.max_nodes_total - count
            rooms = {name: min(room, left) for name, room in rooms.items()}
        return rooms

    def _next_names(self, group: NodeGroup, count: int) -> list[str]:
        row = self.applier.cluster.snapshot.row
        number = self.state.numbers.get(group.name, 0)
        names = (f"{group.name}-{n}" for n in range(number + 1, number + count + len(row) + 1))
        return list(islice((name for name in names if name not in row), count))

    # -- more nodes -----------------------------------------------------------------------------

    def _plan(self) -> ScaleUpPlan:
        headroom = self._headroom()
        # Where thousands wait and nothing can grow, they need not be looked at.
        pending = self._pending() if max(headroom.values()) > 0 else []
        attempts = tuple((queued.pod.uid, queued.attempts) for queued in pending)
        situation = Situation(attempts, headroom)
        if not pending or situation == self.state.helpless:
            return ScaleUpPlan()
        upcoming = [(self.groups[node.group], node.name) for node in self.state.upcoming]
        plan = self._planner.plan([queued.pod.pod for queued in pending], upcoming, headroom)
        if not plan.options and not plan.used_nodes:
            self.state.helpless = situation
        return plan

    def _pending(self) -> list[QueuedPodInfo]:
        """Return the pods that nodes are asked for, in the order of the queue."""
        pending = [queued for queued in self.applier.queue if not self._why_not_helped(queued)]
        return sorted(pending, key=lambda queued: (-queued.pod.priority, queued.sequence))

    def _why_not_helped(self, queued: QueuedPodInfo) -> str:
        """Return why no nodes are ordered for a pod, whatever the groups are, or ""."""
        cutoff = self.settings.expendable_pods_priority_cutoff
        node = queued.pod.pod.status.nominated_node_name
        if queued.gated:
            return "it is gated"
        if not queued.rejectors:
            return "no plugin has rejected it: it was not tried, or its attempt failed"
        if queued.pod.priority < cutoff:
            priority = queued.pod.priority
            return f"its priority {priority} is less than expendablePodsPriorityCutoff {cutoff}"
        if node:
            return f"it waits for the pods that preemption evicts from {node}"
        if self.state.scale_ups.get(queued.pod.uid, 0) >= _MAX_TRIALS:
            return f"nodes were requested for it {_MAX_TRIALS} times"
        return ""

    # -- why not --------------------------------------------------------------------------------

    def review(self, key: str) -> ScaleUpReview:
        """Review what the next scan would do for a pod, without doing it."""
        pending = self._pending()
        queued = next((each for each in self.applier.queue if each.pod.key == key), None)
        if queued is None:
            return ScaleUpReview("it is not in the queue")
        if because := self._why_not_helped(queued):
            return ScaleUpReview(because)
        pods, headroom = [each.pod.pod for each in pending], self._headroom()
        upcoming = [(self.groups[node.group], node.name) for node in self.state.upcoming]
        plan = self._planner.plan(pods, upcoming, headroom)
        if node := plan.placed.get(key):
            is_there = node in self.applier.cluster.snapshot.row
            which = "already exists" if is_there else "was already requested"
            return ScaleUpReview(f"it fits on {node}, which {which}")
        best = best_option(plan.options, self.settings.expanders)
        return ScaleUpReview(
            groups=tuple(
                GroupReview(
                    group,
                    self._size(group.name),
                    headroom[group.name],
                    self._planner.rejections(queued.pod.pod, upcoming, group),
                    next((each for each in plan.options if each.group is group), None),
                    best is not None and best.group is group,
                )
                for group in self.settings.groups
            )
        )

    def _ask_for(
        self, group: NodeGroup, count: int, reason: ScalingReason, pods: tuple[str, ...]
    ) -> None:
        state = self.state
        names = self._next_names(group, count)
        state.numbers[group.name] = int(names[-1].rpartition("-")[2])
        at = self._now + group.provisioning_delay
        state.upcoming += [UpcomingNode(at, group.name, name) for name in names]
        state.upcoming.sort(key=lambda node: node.at)
        event = ScaleEvent(self._now, ScaleAction.SCALE_UP, group.name, reason, tuple(names), pods)
        state.events.append(event)

    def _join(self) -> None:
        """Let the nodes join whose time has come."""
        state, now = self.state, self._now
        ready = [node for node in state.upcoming if node.at <= now]
        if not ready:
            return
        state.upcoming = state.upcoming[len(ready) :]
        state.added |= {node.name: node.group for node in ready}
        existing = self.applier.cluster.snapshot.row
        nodes = [
            (self.groups[node.group], node.name) for node in ready if node.name not in existing
        ]
        makes_pods = self.applier.makes_pods
        self.applier.change(
            lambda before: with_new_nodes(before, nodes, makes_pods=makes_pods, runs_pods=False)
        )
        self._list_members()

    # -- fewer nodes ----------------------------------------------------------------------------

    def _scale_down(self, used: frozenset[str], *, may_remove: bool) -> None:
        """used: nodes that pending pods would go to"""
        snapshot, state, now = self.applier.cluster.snapshot, self.state, self._now
        members = np.array([*self._group_by_row], dtype=np.intp)
        names = [snapshot.names[row] for row in self._unneeded.rows(members)]
        since = state.unneeded
        state.unneeded = {
            name: since.get(name, now)
            for name in names
            if name not in used and name not in state.stuck
        }
        settings, last = self.settings.scale_down, state.last_scale_up
        earliest = now if last is None else last + settings.delay_after_add
        if may_remove and earliest <= now:
            long_ago = now - settings.unneeded_time
            due = [name for name, start in state.unneeded.items() if start <= long_ago]
            self._remove_some(due)
        starts = []
        for name, start in state.unneeded.items():
            group = self._group_of(name)
            if self.sizes[group] > self.groups[group].min_size:
                starts.append(start)
        state.removal_due = None
        if starts:
            state.removal_due = max(min(starts) + settings.unneeded_time, earliest, now + 1)

    def _group_of(self, name: str) -> str:
        return self._group_by_row[self.applier.cluster.snapshot.row[name]]

    def _remove_some(self, due: Sequence[str]) -> None:
        """Remove the empty nodes, else the first whose pods have room elsewhere. due: by name"""
        cluster = self.applier.cluster
        row = cluster.snapshot.row
        pods = {name: self._unneeded.evicted_pods(row[name]) for name in due}
        empty = [name for name in due if not pods[name]]
        chosen = self._within_minimum(empty)[: self.settings.scale_down.max_empty_bulk_delete]
        if chosen:
            groups = {name: self._group_of(name) for name in chosen}
            for group in dict.fromkeys(groups.values()):
                own = [name for name in chosen if groups[name] == group]
                self._remove(group, own, ScalingReason.EMPTY, [])
            return
        occupied = self._within_minimum([name for name in due if pods[name]])
        trials = 0
        for name in occupied:
            if any(self.state.evictions.get(pod.key, 0) >= _MAX_TRIALS for pod in pods[name]):
                self._set_aside(name)
                continue
            if trials >= _MAX_DRAIN_TRIALS:
                return
            trials += 1
            if self._unneeded.movable(row[name]):
                self._remove(self._group_of(name), [name], ScalingReason.UNDERUTILIZED, pods[name])
                return
            self._set_aside(name)

    def _set_aside(self, name: str) -> None:
        """Keep a node whose pods have no room elsewhere; its time restarts once something has
        changed."""
        del self.state.unneeded[name]
        self.state.stuck.add(name)

    def _within_minimum(self, names: Sequence[str]) -> list[str]:
        """Return as many of them as their groups can do without."""
        spare = {name: size - self.groups[name].min_size for name, size in self.sizes.items()}
        chosen = []
        for name in names:
            group = self._group_of(name)
            spare[group] -= 1
            if spare[group] >= 0:
                chosen.append(name)
        return chosen

    def _remove(
        self, group: str, names: Sequence[str], reason: ScalingReason, pods: Sequence[Pod]
    ) -> None:
        """pods: that are evicted; those with a controller are created again, and run as long as
        they did from the beginning."""
        state, applier = self.state, self.applier
        again = []
        for pod in pods:
            state.evictions[pod.key] = state.evictions.get(pod.key, 0) + 1
            record = applier.log.live.get(pod.key)
            if pod.metadata.controller is not None:
                again.append((pending_pod(pod), STAYS if record is None else record.work_again))
            applier.scheduler.evict(applier.cluster.bound[pod.key], 0)
        leaving = frozenset(names)
        applier.change(lambda before: without_nodes(before, leaving))
        state.removed |= leaving
        for name in names:
            state.unneeded.pop(name, None)
            state.added.pop(name, None)
        for pod, work in again:
            applier.arrive(pod, work)
        keys = tuple(pod.key for pod in pods)
        event = ScaleEvent(self._now, ScaleAction.SCALE_DOWN, group, reason, tuple(names), keys)
        state.events.append(event)
        self._list_members()
