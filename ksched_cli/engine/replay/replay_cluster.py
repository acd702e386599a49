"""The cluster of a replay: its pods start and end at given times, and services follow them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from msgspec import structs

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.objects.pod import PodCondition, PodStatus
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import zone_key
from ksched_cli.cluster.state import ClusterState
from ksched_cli.config.effective import Configuration
from ksched_cli.engine.engine import Engine, Options
from ksched_cli.engine.mutable_cluster import MutableCluster
from ksched_cli.framework.carry_over import FollowsPods
from ksched_cli.framework.handle import Nominator
from ksched_cli.framework.registry import PluginEntry

_NEW = PodStatus()
# Answers about all nodes are cached for so many shapes of pods at a time.
_MAX_SHAPES = 200
# Upstream: preemption.go (PreemptPod).
_VICTIM = PodCondition("DisruptionTarget", "True", "PreemptionByScheduler")


def is_victim(pod: Pod) -> bool:
    """Return whether a scheduler evicts it."""
    return any((c.type, c.reason) == (_VICTIM.type, _VICTIM.reason) for c in pod.status.conditions)


class ReplayCluster(MutableCluster[Engine]):
    """bound: the pods on nodes, by key"""

    def __init__(
        self,
        state: ClusterState,
        configuration: Configuration,
        registry: Mapping[str, PluginEntry],
        options: Options,
    ) -> None:
        super().__init__(Engine(state, configuration, registry, options))
        self.bound = {pod.key: pod for pods in self.snapshot.pods for pod in pods}
        self._started = _NEW
        self._followed = 0
        self._following: tuple[FollowsPods, ...] = ()

    def expect(self, pod: PodInfo) -> None:
        """The pod will be tried, and others like it may come."""
        cache = self.engine.frameworks[pod.spec.scheduler_name].answer_cache
        if len(cache) > _MAX_SHAPES:
            cache.clear()
        cache.expect((pod,))

    # -- pods -----------------------------------------------------------------------------------

    @property
    def _followers(self) -> tuple[FollowsPods, ...]:
        """Return the services that follow pods; looked for again when there are more services."""
        services = self.engine.handle.services
        if self._followed != len(services):
            self._followed = len(services)
            self._following = tuple(
                each for each in services.values() if isinstance(each, FollowsPods)
            )
        return self._following

    def note_arrival(self, pod: PodInfo) -> None:
        """The pod is there from now on, or has changed."""
        if self.engine.pod_groups is not None:
            self.engine.pod_groups.join(pod.pod)
        for service in self._followers:
            self.engine.caller.tell(service, "pod_came", pod.pod)

    def note_departure(self, pod: PodInfo) -> None:
        """Remove a pod that is gone from its pod group and from services."""
        if self.engine.pod_groups is not None:
            self.engine.pod_groups.forget(pod)
        for service in self._followers:
            self.engine.caller.tell(service, "pod_left", pod.pod)

    def start(self, pod: PodInfo, at: str) -> None:
        """Before an attempt: the pod starts at that time, RFC 3339, if it is bound."""
        status = pod.pod.status
        if status == _NEW:
            if self._started.start_time != at:
                self._started = PodStatus(start_time=at)
            status = self._started
        elif status.start_time != at:
            status = structs.replace(status, start_time=at)
        pod.pod = structs.replace(pod.pod, status=status)

    def place(self, pod: PodInfo, node: str) -> None:
        """The pod has just been bound; it is on the node already."""
        pod.pod = structs.replace(pod.pod, node_name=node)
        self.bound[pod.key] = pod

    def add(self, pod: PodInfo) -> bool:
        """Put a pod on the node that it names; return whether that is there."""
        is_there = super().add(pod)
        if is_there:
            self.bound[pod.key] = pod
        return is_there

    def remove(self, key: str) -> PodInfo | None:
        """Take a pod off its node; None where it is on none."""
        pod = self.bound.pop(key, None)
        if pod is not None:
            self.snapshot.remove(pod, self.snapshot.row[pod.pod.node_name])
        return pod

    def exchange(self, old: PodInfo, new: Pod) -> PodInfo:
        """Return the same pod with another manifest, on the same node. Upstream:
        Cache.UpdatePod."""
        self.remove(old.key)
        info = self.info(new)
        self.add(info)
        return info

    def mark_deleting(self, pod: PodInfo, at: str, *, is_victim: bool) -> PodInfo:
        """Mark a pod as being deleted while it is still on its node. at: RFC 3339"""
        metadata = structs.replace(pod.pod.metadata, deletion_timestamp=at)
        status = pod.pod.status
        if is_victim:
            status = structs.replace(status, conditions=(*status.conditions, _VICTIM))
        return self.exchange(pod, structs.replace(pod.pod, metadata=metadata, status=status))

    # -- everything else ------------------------------------------------------------------------

    def renew(self, state: ClusterState) -> None:
        """Replace the objects, with another engine. The caller renews the nominations."""
        order, before = self.bound, self.engine
        self.objects = replace(state, noticed_nodes=noticed_nodes(self.objects, state))
        columns = self.columns_of(self.objects)
        self.engine = before.renewed(self.objects, columns, waiting=before.waiting)
        self._followed = 0
        before.close()
        now = {pod.key: pod for pods in columns.pods for pod in pods}
        self.bound = {key: now[key] for key in order if key in now} | now

    def renominate(self, before: Nominator, pods: Mapping[str, PodInfo]) -> None:
        """Renew the former nominations. pods: those without a node, by uid"""
        for node in tuple(before.nodes()):
            for pod in before.on_node(node):
                if pod.uid in pods:
                    self.engine.nominator.nominate(pods[pod.uid], node)


def noticed_nodes(before: ClusterState, after: ClusterState) -> tuple[str, ...]:
    """Return the nodes' names in the order in which the scheduler noticed them: new ones, and those
    whose zone changed, come last. Upstream: backend/cache/node_tree.go."""
    old = {node.name: zone_key(node) for node in before.nodes}
    new = {node.name: zone_key(node) for node in after.nodes}
    order = dict.fromkeys((*before.noticed_nodes, *sorted(old)))
    stayed = [name for name in order if name in old and new.get(name) == old[name]]
    return tuple(dict.fromkeys((*stayed, *new)))
