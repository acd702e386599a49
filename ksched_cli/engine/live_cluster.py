"""A cluster with pods that wait, which can try something and take it back.

What a trial takes back is what the journal of the engine's columns has, or the engine before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs

from ksched_cli.cluster.loading.gc_control import gc_rare
from ksched_cli.cluster.objects import Node, Pod
from ksched_cli.cluster.pod_info import PodInfo, has_volume_claims
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.mutable_cluster import MutableCluster
from ksched_cli.engine.records import Attempt
from ksched_cli.engine.scheduling_cycle import RandomChoice
from ksched_cli.engine.simulation import PassScheduler, Simulation
from ksched_cli.framework.resource_claims import may_allocate_devices
from ksched_cli.scenario.pods import newest_timestamp, pending_again, recreated, without_pods


@dataclass(slots=True)
class Trial:
    """Changes that are taken back in the end, unless they are kept."""

    stays: bool = False

    def keep(self) -> None:
        """Let the changes stand; a trial around this one may still take them back."""
        self.stays = True


class LiveCluster(MutableCluster[Simulation]):
    """A cluster at one instant, with pods that wait for a node. A run leaves its records in the
    engine, a simulation.

    waiting: the pods without a node, by key, in the order in which they came
    """

    def __init__(self, simulation: Simulation, state: ClusterState) -> None:
        """Continue after a simulation.

        simulation: whose assumptions hold
        state: the objects as they are after it
        """
        super().__init__(simulation)
        self._newest = newest_timestamp(state.pods)
        self._is_tried = False
        simulation.options = replace(simulation.options, on_progress=None)
        self.waiting: dict[str, Pod] = {}
        self.renew(state)

    def state(self) -> ClusterState:
        """Return the objects as they are now; a simulation of them decides as this cluster does."""
        return self.state_with(self.waiting.values())

    def pod(self, key: str, node: str) -> PodInfo | None:
        """Return the pod of that key on the node, or None."""
        row = self.snapshot.row.get(node)
        pods = self.snapshot.pods[row] if row is not None else ()
        return next((pod for pod in pods if pod.key == key), None)

    # -- trials -----------------------------------------------------------------------------------

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """Take back what is changed meanwhile, at the cost of what was changed."""
        trial = Trial()
        is_outermost, self._is_tried = not self._is_tried, True
        simulation, snapshot = self.engine, self.snapshot
        if snapshot.journal is None:
            snapshot.journal = []
        length = len(snapshot.journal)
        before = (self.objects, self.strays, self.waiting)
        self.strays, self.waiting = dict(self.strays), dict(self.waiting)
        search, tie_break = simulation.pipeline.search, simulation.options.tie_break
        next_start, scheduler = search.next_start, simulation.scheduler
        draws = tie_break.state if isinstance(tie_break, RandomChoice) else None
        try:
            yield trial
        finally:
            if not trial.stays:
                if self.engine is not simulation:
                    self.snapshot.close()
                self.engine = simulation
                self.objects, self.strays, self.waiting = before
                snapshot.take_back(length)
                search.next_start, simulation.scheduler = next_start, scheduler
                if isinstance(tie_break, RandomChoice) and draws is not None:
                    tie_break.restore(draws)
            if is_outermost:
                self._is_tried = False
                simulation.snapshot.journal = self.snapshot.journal = None

    # -- pods -------------------------------------------------------------------------------------

    def place(self, pod: Pod) -> None:
        """Put a pod on the node that it names."""
        self.waiting.pop(pod.key, None)
        info = self.info(pod)
        counts = pod.node_name in self.snapshot.row and not pod.finished
        if counts and self.reaches_beyond((info,)):
            self._rebuild(self.objects, place=(info,))
        else:
            self.add(info)

    def evict(self, pods: Collection[Pod]) -> None:
        """Take pods off their nodes. Their controllers make them anew: they wait."""
        successors = {
            pod.key: recreated(pod, self._newest)
            for pod in sorted(pods, key=lambda pod: pod.metadata.creation_timestamp)
        }
        self._take_off(pods, pending_again)
        self.waiting |= successors

    def remove(self, pods: Collection[Pod]) -> None:
        """Take pods out of the cluster, be they on a node or not."""
        for pod in pods:
            self.waiting.pop(pod.key, None)
        self._take_off([pod for pod in pods if pod.node_name], without_pods)

    def replace(self, pod: Pod, by: Pod) -> None:
        """Let a pod have another manifest."""
        if pod.node_name:
            self.remove((pod,))
            self.place(by)
        else:
            waiting = self.waiting.values()
            self.waiting = {
                each.key: each for each in (by if old.key == pod.key else old for old in waiting)
            }

    def arrive(self, pods: Iterable[Pod]) -> None:
        """Let more pods wait for a node."""
        self.waiting |= {pod.key: pod for pod in pods}

    def _take_off(
        self,
        pods: Collection[Pod],
        follow: Callable[[ClusterState, Collection[Pod]], ClusterState],
    ) -> None:
        """Remove pods. follow: returns the state in which the other objects have followed"""
        gone = {pod.key for pod in pods}
        infos = [info for pod in pods if (info := self.pod(pod.key, pod.node_name)) is not None]
        strays = self.strays.keys() & gone
        elsewhere = [self.info(self.strays[key]) for key in strays]
        if self.reaches_beyond((*infos, *elsewhere)):
            # Budgets are counted by whoever evicts.
            budgets = self.objects.pod_disruption_budgets
            before = self.state()
            current = [pod for pod in before.pods if pod.key in gone]
            after = follow(replace(before, pod_disruption_budgets={}), current)
            self.objects = replace(
                self.objects,
                resource_claims=after.resource_claims,
                persistent_volume_claims=after.persistent_volume_claims,
                persistent_volumes=after.persistent_volumes,
                volume_attachments=after.volume_attachments,
                pod_disruption_budgets=budgets,
            )
            self._rebuild(self.objects, take_off=infos)
        else:
            for info in infos:
                self.snapshot.remove(info, self.snapshot.row[info.pod.node_name])
        for key in strays:
            del self.strays[key]

    def reaches_beyond(self, pods: Iterable[PodInfo]) -> bool:
        """Return whether a placement or an eviction changes more than the columns: claims of
        volumes that are not bound yet, devices, groups of pods, what others' plugins and extenders
        remember."""
        simulation = self.engine
        claims, handle = self.objects.persistent_volume_claims, simulation.handle
        if simulation.extenders.extenders or simulation.caller.foreign:
            return True
        for pod in pods:
            if pod.spec.scheduling_group is not None or may_allocate_devices(pod, handle):
                return True
            if has_volume_claims(pod.spec):
                for volume in pod.spec.volumes:
                    # The claim of an ephemeral volume is deleted with the pod.
                    if volume.ephemeral:
                        return True
                    if volume.persistent_volume_claim is None:
                        continue
                    claim = claims.get((pod.namespace, volume.persistent_volume_claim.claim_name))
                    if claim is None or not claim.spec.volume_name:
                        return True
        return False

    # -- nodes and other objects ------------------------------------------------------------------

    def remove_nodes(self, names: Collection[str]) -> None:
        """Take nodes out of the cluster. Their pods are on no node any more, but did not leave:
        they can be evicted or removed."""
        gone = frozenset(names)
        for name in names:
            for pod in self.snapshot.pods[self.snapshot.row[name]]:
                self.strays[pod.key] = pod.pod
        csi_nodes = self.objects.csi_nodes
        if not gone.isdisjoint(csi_nodes):
            csi_nodes = {name: item for name, item in csi_nodes.items() if name not in gone}
        nodes = tuple(node for node in self.objects.nodes if node.name not in gone)
        self._rebuild(replace(self.objects, nodes=nodes, csi_nodes=csi_nodes))

    def add_nodes(self, nodes: Iterable[Node]) -> None:
        """Let nodes join."""
        self._rebuild(replace(self.objects, nodes=(*self.objects.nodes, *nodes)))

    def replace_nodes(self, nodes: Mapping[str, Node]) -> None:
        """Let nodes have other manifests. nodes: by name"""
        changed = tuple(nodes.get(node.name, node) for node in self.objects.nodes)
        self._rebuild(replace(self.objects, nodes=changed))

    def renew(self, state: ClusterState) -> None:
        """Replace the cluster's objects with these. What plugins assumed holds as far as it can."""
        self.objects = state
        names = {node.name for node in state.nodes}
        self.strays = {
            pod.key: pod
            for pod in state.pods
            if pod.node_name and (pod.finished or pod.node_name not in names)
        }
        self.waiting = {pod.key: pod for pod in state.pods if not pod.node_name}
        self._open(state, None)

    def _rebuild(
        self,
        objects: ClusterState,
        *,
        place: Iterable[PodInfo] = (),
        take_off: Iterable[PodInfo] = (),
    ) -> None:
        """Make another engine of the same pods but for these."""
        columns = self.columns_of(objects)
        for pod in take_off:
            columns.remove(pod, columns.row[pod.pod.node_name])
        for pod in place:
            columns.add(pod, columns.row[pod.pod.node_name])
        self.objects = objects
        running = [pod.pod for pods in columns.pods for pod in pods]
        pods = (*running, *self.strays.values(), *self.waiting.values())
        self._open(replace(objects, pods=pods), columns)

    def _open(self, state: ClusterState, columns: Snapshot | None) -> None:
        # A trial may go back to the engine before, whose connections to extenders are its own.
        self.engine = self.engine.renewed(state, columns, before=None)
        if self._is_tried:
            self.snapshot.journal = []

    # -- runs -------------------------------------------------------------------------------------

    def run(  # noqa: C901  # one run, from top to bottom
        self,
        *,
        preempts: bool = False,
        closed: Collection[str] = (),
        stops_at: Callable[[Attempt], bool] | None = None,
    ) -> dict[str, Attempt]:
        """Try to place the pods that wait, as a simulation of `state()` would. Return the last
        attempt of each pod that was tried, by key; those that got a node are on it.

        preempts: victims leave the cluster, and what was nominated stays so
        closed:   nodes that take no pod in this run
        stops_at: whether the run ends after an attempt that found no node
        """
        waiting = list(self.waiting.values())
        infos = map(self.info, waiting)
        if preempts or self.engine.options.preempt or self.reaches_beyond(infos):
            self.objects = replace(self.objects, resource_claims=self.engine.resource_claims)
            self._rebuild(self.objects)
        simulation = self.engine
        simulation.options = replace(simulation.options, preempt=preempts)
        # As in a simulation that has not run yet.
        simulation.scheduler = PassScheduler(simulation)
        for node in tuple(simulation.nominator.nodes()):
            for pod in simulation.nominator.on_node(node):
                simulation.nominator.clear(pod)
        simulation.pipeline.search.next_start = 0
        if simulation.pipeline.batching is not None:
            simulation.pipeline.batching.begin()
        simulation.state = replace(simulation.state, pods=tuple(waiting))
        if closed:
            rows = [self.snapshot.row[name] for name in closed]
            order = self.snapshot.order
            simulation.pipeline.placement = order[~np.isin(order, rows)]
        with gc_rare():
            attempts = simulation.scheduler.attempts
            for _ in simulation.steps():
                if stops_at is not None and not attempts[-1].node and stops_at(attempts[-1]):
                    break
        simulation.pipeline.placement = None
        scheduler, snapshot = simulation.scheduler, self.snapshot
        for key, node in scheduler.placements.items():
            del self.waiting[key]
            pods = snapshot.pods[snapshot.row[node]]
            index = next(i for i in reversed(range(len(pods))) if pods[i].key == key)
            pods[index] = pods[index].placed(node)
        if preempts:
            for key, left in self.waiting.items():
                node = simulation.nominator.node_by_uid.get(left.uid, "")
                if node != left.status.nominated_node_name:
                    status = structs.replace(left.status, nominated_node_name=node)
                    self.waiting[key] = structs.replace(left, status=status)
        return scheduler.last

    def close(self) -> None:
        """Close the connections to extenders."""
        self.engine.close()
