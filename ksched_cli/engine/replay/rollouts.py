"""Rollouts over time: a workload's controller looks at its pods at every instant, after the
scheduler had its turn.

A new pod is available `minReadySeconds` after it got its node: so long a step takes at least.
Removed pods are gone at once. Pods that end or are evicted meanwhile are not made anew.

Upstream: pkg/api/v1/pod/util.go (IsPodAvailable).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.replay.records import PodLog, ReplayClock
from ksched_cli.engine.replay.replay_cluster import ReplayCluster
from ksched_cli.kube.time import SECOND
from ksched_cli.scenario.owned_pods import WorkloadKey
from ksched_cli.scenario.pod_work import STAYS, PodWork
from ksched_cli.scenario.rollout import STUCK, Rolling, Rollout


@dataclass(slots=True)
class Rollouts:
    """The rollouts of a replay that are under way.

    pending: the pod without a node that has this key
    arrive: creates a pod, which runs so many microseconds after its placement
    delete: deletes a pod at once
    """

    cluster: ReplayCluster
    clock: ReplayClock
    log: PodLog
    pending: Callable[[str], Pod | None]
    arrive: Callable[[Pod, PodWork], None]
    delete: Callable[[str], None]
    roll: Rolling = field(init=False)
    _active: dict[WorkloadKey, _Timed] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.roll = Rolling(self._begin, self.cluster.engine.configuration.release)

    def __bool__(self) -> bool:
        return bool(self._active)

    def _begin(self, rollout: Rollout, state: ClusterState) -> ClusterState:
        """A new rollout of a workload takes the place of one under way."""
        self._active[rollout.renewal.key] = _Timed(self, rollout)
        return state

    def advance(self) -> bool:
        """Let the controllers look at their pods. Return whether they did anything."""
        is_changed = False
        for key, timed in tuple(self._active.items()):
            timed.look()
            while timed.rollout.sync():
                is_changed = True
            if timed.rollout.is_finished:
                own = replace(self.cluster.objects, pods=tuple(timed.rollout.pods.values()))
                sets = timed.rollout.renewal.with_replicas(own).replica_sets
                self.cluster.objects = replace(self.cluster.objects, replica_sets=sets)
                del self._active[key]
        return is_changed

    def next_instant(self) -> int | None:
        """Return when the next pod becomes available."""
        times = (at for timed in self._active.values() for at in timed.available_at.values())
        return min((at for at in times if at > self.clock.now), default=None)

    def in_step(self, state: ClusterState) -> ClusterState:
        """Return the state with ReplicaSets that ask for the pods that they have now."""
        for timed in self._active.values():
            state = timed.rollout.renewal.with_replicas(state)
        return state

    def unfinished(self) -> list[str]:
        """Return a line for each rollout that is stuck."""
        for timed in self._active.values():
            timed.look()
        verdicts = (t.rollout.verdict for t in self._active.values() if not t.available_at)
        return [f"{each.subject}: {STUCK}: {each.detail}" for each in verdicts]


@dataclass(slots=True)
class _Timed:
    """One rollout over time.

    available_at: of new pods that have a node and are not available yet
    """

    rollouts: Rollouts
    rollout: Rollout
    available_at: dict[str, int] = field(default_factory=dict)
    _works: dict[str, PodWork] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rollout.cluster = self
        live = self.rollouts.log.live
        self._works = {key: live[key].work_again for key in self.rollout.pods if key in live}

    def add(self, pod: Pod, replaced_pod: Pod) -> Pod:
        """A new pod runs as long as the one that it replaces."""
        self.rollouts.arrive(pod, self._works.get(replaced_pod.key, STAYS))
        return self._current(pod.key) or pod

    def remove(self, pods: Sequence[Pod]) -> None:
        """Delete pods."""
        for pod in pods:
            self.rollouts.delete(pod.key)

    def _current(self, key: str) -> Pod | None:
        bound = self.rollouts.cluster.bound.get(key)
        return self.rollouts.pending(key) if bound is None else bound.pod

    def look(self) -> None:
        """See what has become of the pods."""
        rollout, now = self.rollout, self.rollouts.clock.now
        for key in tuple(rollout.pods):
            pod = self._current(key)
            if pod is None:
                rollout.forget(key)
                self.available_at.pop(key, None)
                continue
            rollout.pods[key] = pod
            if not pod.node_name or pod.deleting:
                rollout.displace(key)
                self.available_at.pop(key, None)
            elif key in rollout.waiting:
                wait = rollout.min_ready_seconds * SECOND
                if self.available_at.setdefault(key, now + wait) <= now:
                    del self.available_at[key]
                    rollout.place(key)
