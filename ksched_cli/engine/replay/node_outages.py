"""Nodes that fail and recover in a replay, and how the node lifecycle controller reacts.

A node that fails does no more work. Its pods stay on it, and the scheduler may still choose it,
until the controller notices: then it is tainted NoSchedule, and waits for its turn to be tainted
NoExecute, which its zone's rate decides. Pods leave it when their toleration of that has ended.

Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go (handleDisruption,
ComputeZoneState, doNoExecuteTaintingPass), its scheduler/rate_limited_queue.go, and
pkg/controller/tainteviction. The controller looks at all nodes every five seconds; here it notices
a failure exactly after the grace period, and a return at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TypeAlias

from msgspec import Struct, field

from ksched_cli.cluster.objects import Node, Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import zone_key
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.replay.agenda import END, EVICTION
from ksched_cli.engine.replay.records import PodOutcome
from ksched_cli.engine.replay.replay_cluster import ReplayCluster
from ksched_cli.engine.replay.replay_scheduler import ReplayScheduler
from ksched_cli.kube.time import SECOND
from ksched_cli.scenario.nodes import (
    NO_EXECUTE,
    NO_SCHEDULE,
    is_held,
    tolerated_for,
    with_failed,
    with_recovered,
    without_taints,
)
from ksched_cli.scenario.pod_work import PodWork
from ksched_cli.scenario.pods import is_static, pending_pod

# kube-controller-manager's defaults: --node-monitor-grace-period, --node-eviction-rate,
# --secondary-node-eviction-rate, --unhealthy-zone-threshold, --large-cluster-size-threshold.
GRACE_PERIOD = 50 * SECOND
_INTERVAL, _LONG_INTERVAL = 10 * SECOND, 100 * SECOND
_UNHEALTHY_SHARE, _LARGE_ZONE = 0.55, 50
# Upstream: ComputeZoneState; fewer failed nodes make no zone unhealthy.
_MIN_UNHEALTHY = 3
_EXCLUDED = "node.kubernetes.io/exclude-disruption"

Edit: TypeAlias = Callable[[ClusterState], ClusterState]


class Zone(Struct):
    """nodes that wait for their NoExecute taint, in order. interval: between two taints; None: no
    node is tainted. next: the earliest time of the next taint"""

    queue: list[str] = field(default_factory=list)
    interval: int | None = _INTERVAL
    next: int = 0

    def set_interval(self, interval: int | None, now: int) -> None:
        """Upstream: SwapLimiter."""
        if interval == self.interval:
            return
        has_token = self.interval is not None and self.next <= now
        self.interval = interval
        if interval is not None:
            self.next = now if has_token else now + interval


class NodeOutages:
    """The failed nodes of a replay.

    _down:      nodes that have failed
    _unnoticed: by node, when the controller will notice
    _zones:     by region and zone
    _is_total:  no node of the cluster is ready, and none is tainted NoExecute
    """

    def __init__(
        self,
        cluster: ReplayCluster,
        scheduler: ReplayScheduler,
        change: Callable[[Edit], None],
        arrive: Callable[[Pod, PodWork], None],
    ) -> None:
        """change: edits the cluster's objects. arrive: a pod is created, which does
        that work."""
        self.cluster, self.scheduler = cluster, scheduler
        self._change, self._arrive = change, arrive
        self._down: set[str] = set()
        self._unnoticed: dict[str, int] = {}
        self._zones: dict[str, Zone] = {}
        self._is_total = False
        self._agenda = scheduler.agenda
        scheduler.down_nodes = self._down

    @property
    def _now(self) -> int:
        return self.scheduler.clock.now

    # -- events ---------------------------------------------------------------------------------

    def fail(self, names: Collection[str]) -> None:
        """The nodes stop working, which the controller notices later."""
        failing = [name for name in names if name not in self._down]
        for pod in self._pods_on(failing):
            self._agenda.cancel(END, pod.uid)
        self._down.update(failing)
        self._unnoticed |= dict.fromkeys(failing, self._now + GRACE_PERIOD)

    def recover(self, names: Collection[str]) -> None:
        """Mark the nodes as ready again. Their pods restart; those being deleted are gone."""
        self._forget(names)
        self._change(lambda before: with_recovered(before, names))
        self._update_zones()
        for pod in self._pods_on(names):
            self._agenda.cancel(EVICTION, pod.uid)
            record = self.scheduler.log.record_of(pod)
            if pod.pod.deleting:
                is_evicted = record.evicted is not None
                self.scheduler.end(
                    pod.key, PodOutcome.EVICTED if is_evicted else PodOutcome.DELETED
                )
                if is_evicted and is_held(pod.pod):
                    self._arrive(pending_pod(pod.pod), record.work_again)
            else:
                record.work = record.work_again
                self.scheduler.start_work(pod, record)

    def _pods_on(self, names: Collection[str]) -> list[PodInfo]:
        snapshot = self.cluster.snapshot
        rows = (snapshot.row[name] for name in names if name in snapshot.row)
        return [pod for row in rows for pod in snapshot.pods[row]]

    # -- instants -------------------------------------------------------------------------------

    def next_instant(self) -> int | None:
        """Return when something happens next to a failed node."""
        if not self._down:
            return None
        times = [*self._unnoticed.values()]
        times += [z.next for z in self._zones.values() if z.queue and z.interval is not None]
        return min(times, default=None)

    def run_instant(self) -> None:
        """After the timeline's events, before pods are tried."""
        if self._down:
            row = self.cluster.snapshot.row
            self._forget([name for name in self._down if name not in row])
            # 1. The controller notices that nodes are not ready.
            names = [name for name, at in self._unnoticed.items() if at <= self._now]
            if names:
                for name in names:
                    del self._unnoticed[name]
                self._change(lambda before: with_failed(before, names, NO_SCHEDULE))
                self._await_taint(names)
                self._update_zones()
            # 2. It taints those whose turn has come in their zones.
            turns: list[str] = []
            for zone in self._zones.values():
                while zone.queue and zone.interval is not None and zone.next <= self._now:
                    zone.next = self._now + zone.interval
                    turns.append(zone.queue.pop(0))
            if turns:
                self._taint(turns)

    def _forget(self, names: Collection[str]) -> None:
        """The nodes have not failed, or are no more."""
        self._down.difference_update(names)
        for name in names:
            self._unnoticed.pop(name, None)
        for zone in self._zones.values():
            zone.queue = [name for name in zone.queue if name not in names]

    def _await_taint(self, names: Sequence[str]) -> None:
        row, nodes = self.cluster.snapshot.row, self.cluster.snapshot.nodes
        for name in names:
            zone = self._zones.setdefault(_zone_of(nodes[row[name]]), Zone())
            zone.queue.append(name)

    def _update_zones(self) -> None:
        """The rates of the zones follow from how many of their nodes are ready."""
        by_zone: dict[str, list[bool]] = {}
        for node in self.cluster.snapshot.nodes:
            if _EXCLUDED not in node.metadata.labels:
                by_zone.setdefault(_zone_of(node), []).append(node.is_not_ready)
        was_total, self._is_total = self._is_total, all(map(all, by_zone.values()))
        if self._is_total and not was_total:
            names = self._down - self._unnoticed.keys()
            self._change(lambda before: without_taints(before, names, (NO_EXECUTE,)))
            for pod in self._pods_on(names):
                self._agenda.cancel(EVICTION, pod.uid)
            queued = {name for zone in self._zones.values() for name in zone.queue}
            self._await_taint(sorted(names - queued))
        for key, failed in by_zone.items():
            if key not in self._zones:
                continue
            # Upstream: ComputeZoneState, setLimiterInZone.
            count = sum(failed)
            is_partial = count < len(failed) and count >= _MIN_UNHEALTHY
            interval: int | None = _INTERVAL
            if self._is_total:
                interval = None
            elif is_partial and count / len(failed) >= _UNHEALTHY_SHARE:
                interval = _LONG_INTERVAL if len(failed) > _LARGE_ZONE else None
            self._zones[key].set_interval(interval, self._now)

    def _taint(self, names: Sequence[str]) -> None:
        """Taint nodes; the tolerations of their pods begin."""
        self._change(lambda before: with_failed(before, names, NO_EXECUTE))
        snapshot = self.cluster.snapshot
        for pod in self._pods_on(names):
            node = snapshot.nodes[snapshot.row[pod.pod.node_name]]
            taints = [taint for taint in node.spec.taints if taint.effect == NO_EXECUTE]
            seconds = tolerated_for(pod.pod, taints)
            if seconds is not None and not is_static(pod.pod) and not pod.pod.deleting:
                due, evict = self._now + seconds * SECOND, partial(self._evict, pod.key)
                self._agenda.schedule(EVICTION, due, evict, pod.uid)

    def _evict(self, key: str) -> None:
        """Evict a pod. Its controller recreates it at once; a StatefulSet does so once the node is
        back."""
        pod = self.cluster.bound.get(key)
        if pod is None or pod.pod.deleting or pod.pod.node_name not in self._down:
            return
        record = self.scheduler.log.record_of(pod)
        if is_held(pod.pod):
            self.scheduler.evict(pod, None)
            return
        self.scheduler.evict(pod, 0)
        if pod.pod.metadata.controller is not None:
            self._arrive(pending_pod(pod.pod), record.work_again)


def _zone_of(node: Node) -> str:
    return "/".join(zone_key(node))
