"""The handle that a plugin is created with: the nodes, the cluster's other objects, the nominations
of pods to nodes, the pods that wait in Permit, and simulated time.

Upstream: pkg/scheduler/framework/interface.go (Handle), runtime/waiting_pods_map.go and
backend/queue/nominator.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar, cast

from msgspec import Struct, field

from ksched_cli.cluster.objects import ResourceClaim
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.plugins_runner import PluginsRunner
from ksched_cli.framework.pod_groups import PodGroups
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.kube.formatting import duration_text
from ksched_cli.kube.versions import Release, release_of


class WaitingPod:
    """A pod on its node, reserved but not bound, until every plugin that it waits for allows it.

    since: when it began to wait
    """

    __slots__ = ("_deadlines", "_seconds", "decision", "node", "pod", "since")

    def __init__(self, pod: PodInfo, node: str, since: float, waits: Mapping[str, float]) -> None:
        """Create a pod that waits for plugins. waits: plugin → its timeout in seconds"""
        self.pod = pod
        self.node = node
        self.since = since
        self.decision: Status | None = None
        self._seconds = dict(waits)
        self._deadlines = {name: since + seconds for name, seconds in waits.items()}

    @property
    def pending_plugins(self) -> tuple[str, ...]:
        """Return the plugins that have not allowed it yet."""
        return tuple(self._deadlines)

    def allow(self, plugin: str) -> None:
        """End the plugin's wait; with the last one the pod is bound."""
        self._deadlines.pop(plugin, None)
        if not self._deadlines and self.decision is None:
            self.decision = SUCCESS

    def reject(self, plugin: str, message: str) -> None:
        """Reject the pod: it gives back what it has and returns to the queue. The first decision
        counts."""
        if self.decision is None:
            self.decision = Status.unschedulable(message).by(plugin)

    def preempt(self, plugin: str, message: str) -> None:
        """Reject the pod as `reject` does, but not as the plugin's own rejection: the pod is tried
        again after its backoff, whatever happens meanwhile. Upstream: Preempt, WaitOnPermit."""
        if self.decision is None:
            self.decision = Status.error(f"waiting on permit for pod: {message}").by(plugin)

    @property
    def deadline(self) -> float:
        """Return the earliest Permit timeout of its plugins; for a pod that is not decided yet."""
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
        """Iterate over a copy: pods may be allowed or rejected meanwhile."""
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
        """Return the first that was allowed or rejected; if there is none, the first whose time is
        up, rejected now."""
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


class Clock(Struct):
    """now: seconds since 1970; a run begins when its youngest pending pod was created."""

    now: float = 0.0
    _alarms: set[float] = field(default_factory=set)

    def wake(self, at: float) -> None:
        """Give the pods without a node another chance at that time, should the run come to rest
        before. It is for what lapses by itself, as a group's pause after a failure does."""
        if at > self.now:
            self._alarms.add(at)

    @property
    def next_alarm(self) -> float | None:
        """Return the earliest time asked for that is still to come."""
        return min(self._alarms) if self._alarms else None

    def jump(self, to: float) -> bool:
        """Jump to a later time, and end all alarms up to then. Return whether there was one."""
        if to > self.now:
            self.now = to
        alarms = self._alarms
        if not alarms or min(alarms) > self.now:
            return False
        self._alarms = {at for at in alarms if at > self.now}
        return True


class Nominator:
    """Pods that are nominated to a node, in the order of their nomination.

    version: how often a nomination was made or taken back
    node_by_uid: the nominated node's name, by the pod's uid
    stand_ins: by uid, what is known of pods that are being tried and in no queue meanwhile
    """

    def __init__(self) -> None:
        self.version = 0
        self._by_node: dict[str, dict[str, PodInfo]] = {}
        self.node_by_uid: dict[str, str] = {}
        self.stand_ins: Mapping[str, PodInfo] = {}

    def __bool__(self) -> bool:
        return bool(self.node_by_uid)

    def nominate(self, pod: PodInfo, node: str) -> None:
        """Nominate the pod to `node`; an earlier nomination is cleared."""
        self.clear(pod)
        self.version += 1
        self._by_node.setdefault(node, {})[pod.uid] = pod
        self.node_by_uid[pod.uid] = node

    def renew(self, pod: PodInfo, node: str) -> None:
        """Nominate the pod to the node, or clear its nomination. node: a name, or "" to clear"""
        if node:
            self.nominate(pod, node)
        else:
            self.clear(pod)

    def clear(self, pod: PodInfo) -> None:
        node = self.node_by_uid.pop(pod.uid, None)
        if node is not None:
            self.version += 1
            del self._by_node[node][pod.uid]
            if not self._by_node[node]:
                del self._by_node[node]

    def node_of(self, pod: PodInfo) -> str:
        """Return the nominated node's name, or ""."""
        return self.node_by_uid.get(pod.uid, "")

    def on_node(self, node: str) -> tuple[PodInfo, ...]:
        pods = self._by_node.get(node, {}).values()
        if not self.stand_ins:
            return tuple(pods)
        return tuple(self.stand_ins.get(pod.uid, pod) for pod in pods)

    def nodes(self) -> Iterable[str]:
        """Return the names of the nodes that some pod is nominated to."""
        return self._by_node.keys()


S = TypeVar("S")


class HasClaims:
    """A service that follows the claims. claims: by namespace and name"""

    claims: dict[tuple[str, str], ResourceClaim]


class Handle(Struct):
    """What a plugin is made with. framework and extenders are set once all plugins are made.

    extenders: of the configuration, in order: each with `name`, `ignorable`, `supports_preemption`
        and `is_interested(pod)`
    services: what `service` has made so far; one dict for the handles of all profiles of a run
    waiting:  the pods that Permit told to wait, of every profile
    release:  whose rules are followed; a plugin asks it when it is made
    pod_groups: the groups that pods are scheduled in; None where the feature gate is off
    profile_name: the schedulerName of the pods that the plugin is asked about
    """

    snapshot: Snapshot
    cluster: ClusterState
    nominator: Nominator
    framework: PluginsRunner | None = None
    extenders: Sequence[Any] = ()
    services: dict[Callable[[Handle], Any], Any] = field(default_factory=dict)
    waiting: WaitingPods = field(default_factory=WaitingPods)
    release: Release = field(default_factory=release_of)
    pod_groups: PodGroups | None = None
    profile_name: str = ""

    @property
    def clock(self) -> Clock:
        """Return the clock of the simulated time."""
        return self.waiting.clock

    @property
    def resource_claims(self) -> Mapping[tuple[str, str], ResourceClaim]:
        """Return the ResourceClaims by namespace and name as they are now, with what the run has
        allocated so far. Read-only."""
        for service in self.services.values():
            if isinstance(service, HasClaims):
                return MappingProxyType(service.claims)
        return MappingProxyType(self.cluster.resource_claims)

    def service(self, factory: Callable[[Handle], S]) -> S:
        """Return the run's one result of `factory(handle)`, for all plugins and profiles; made on
        first use. A class whose constructor takes a handle is a factory."""
        try:
            return cast(S, self.services[factory])
        except KeyError:
            service = self.services[factory] = factory(self)
            return service
