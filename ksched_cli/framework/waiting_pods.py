"""Pods that wait in Permit: any plugin may allow or reject them from another pod's cycle.

Upstream: pkg/scheduler/framework/runtime/waiting_pods_map.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.clock import Clock
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.kube.formatting import duration_text


class WaitingPod:
    """A pod on its node, reserved but not bound, until every plugin that it waits for allows it.

    since: when it began to wait
    """

    __slots__ = ("_deadlines", "_seconds", "decision", "node", "pod", "since")

    def __init__(self, pod: PodInfo, node: str, since: float, waits: Mapping[str, float]) -> None:
        """waits: plugin → for how many seconds at most."""
        self.pod = pod
        self.node = node
        self.since = since
        self.decision: Status | None = None
        self._seconds = dict(waits)
        self._deadlines = {name: since + seconds for name, seconds in waits.items()}

    @property
    def pending_plugins(self) -> tuple[str, ...]:
        """The plugins that have not allowed it yet."""
        return tuple(self._deadlines)

    def allow(self, plugin: str) -> None:
        """The plugin waits no longer; with the last one the pod is bound."""
        self._deadlines.pop(plugin, None)
        if not self._deadlines and self.decision is None:
            self.decision = SUCCESS

    def reject(self, plugin: str, message: str) -> None:
        """The pod gives back what it has and returns to the queue. The first decision counts."""
        if self.decision is None:
            self.decision = Status.unschedulable(message).by(plugin)

    @property
    def deadline(self) -> float:
        """The earliest Permit timeout of its plugins; for a pod that is not decided yet."""
        return min(self._deadlines.values())

    def expire(self) -> None:
        """Reject the pod in the name of the plugin whose time is up first."""
        plugin = min(self._deadlines, key=self._deadlines.__getitem__)
        waited = duration_text(round(self._seconds[plugin] * 1e9))
        self.reject(plugin, f"rejected due to timeout after waiting {waited} at plugin {plugin}")


class WaitingPods:
    """The waiting pods of all profiles, in the order in which they began to wait."""

    def __init__(self) -> None:
        self.clock = Clock()
        self._pods: dict[str, WaitingPod] = {}

    def __iter__(self) -> Iterator[WaitingPod]:
        """A copy: pods may be allowed or rejected meanwhile."""
        return iter(tuple(self._pods.values()))

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, uid: str) -> WaitingPod | None:
        return self._pods.get(uid)

    def add(self, pod: PodInfo, node: str, waits: Mapping[str, float]) -> WaitingPod:
        waiting = WaitingPod(pod, node, self.clock.now, waits)
        self._pods[pod.uid] = waiting
        return waiting

    def remove(self, uid: str) -> None:
        self._pods.pop(uid, None)

    def decided(self) -> WaitingPod | None:
        """The first that was allowed or rejected; if there is none, the first whose time is up,
        rejected now."""
        waiting = self._pods.values()
        first = next((pod for pod in waiting if pod.decision is not None), None)
        if first is None and waiting:
            first = min(waiting, key=lambda pod: pod.deadline)
            if first.deadline > self.clock.now:
                return None
            first.expire()
        return first

    @property
    def next_deadline(self) -> float | None:
        """Return when the next pod's time is up."""
        if not self._pods:
            return None
        return min(waiting.deadline for waiting in self._pods.values())
