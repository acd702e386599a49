"""A cluster whose pods come and go, in the columns of one engine.

A change of nodes or other objects, which is rare, makes another engine of the same pods, as the
plugins' columns and caches belong to these nodes; plugins carry over what they have assumed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Generic, TypeVar

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.engine import Engine

E = TypeVar("E", bound=Engine)


class MutableCluster(Generic[E]):
    """The objects at one instant.

    engine:  of the nodes and objects as they are now; its columns have the pods
    objects: nodes and all else but pods, as they are now
    strays:  pods that count on no node, by key: those of nodes that are not there, finished ones
    """

    def __init__(self, engine: E) -> None:
        """Continue with an engine, and those pods of its state whose nodes are not there."""
        self.engine = engine
        self.objects = engine.state
        row_of = engine.snapshot.row
        self.strays = {
            pod.key: pod
            for pod in engine.state.pods
            if pod.node_name and pod.node_name not in row_of and not pod.finished
        }

    @property
    def snapshot(self) -> Snapshot:
        """Return the nodes and the pods on them."""
        return self.engine.snapshot

    def info(self, pod: Pod) -> PodInfo:
        """Return what plugins see of the pod."""
        return self.engine.catalog.info(pod)

    def add(self, pod: PodInfo) -> bool:
        """Put a pod on the node that it names; return whether that is there."""
        row = self.snapshot.row.get(pod.pod.node_name)
        if row is None or pod.pod.finished:
            self.strays[pod.key] = pod.pod
            return False
        self.snapshot.add(pod, row)
        return True

    def state_with(self, waiting: Iterable[Pod]) -> ClusterState:
        """Return the objects as they are now. Pods of a node stay in their order, which plugins
        see. waiting: the pods without a node"""
        running = [pod.pod for pods in self.snapshot.pods for pod in pods]
        pods = (*running, *self.strays.values(), *waiting)
        return replace(self.objects, pods=pods, resource_claims=self.engine.resource_claims)

    def columns_of(self, objects: ClusterState) -> Snapshot:
        """Return columns of the objects' nodes with the pods that are on these. Strays whose node
        has come are on it from now on."""
        columns = self.snapshot.with_nodes(objects.nodes, objects.noticed_nodes)
        for stray in [*self.strays.values()]:
            if stray.node_name in columns.row and not stray.finished:
                columns.add(self.info(stray), columns.row[stray.node_name])
                del self.strays[stray.key]
        return columns
