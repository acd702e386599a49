"""Pods put on nodes one after the other, each on the first that it fits on, in a copy of the
cluster: what would fit if these nodes were there.

The engine's own PreFilter and Filter say where a pod fits; scores, preemption and extenders, which
the cluster-autoscaler does not know either, have no part in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.resources import CPU, MEMORY
from ksched_cli.cluster.snapshot import Rows
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.engine import Engine, carry_over
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.extender_runner import ExtenderOptions
from ksched_cli.engine.records import Attempt
from ksched_cli.engine.replay.mutable_cluster import MutableCluster
from ksched_cli.framework.status import Code, Status


class Packing:
    """A copy of the cluster, with its nominations and what plugins have assumed. state: whose nodes
    may be others"""

    def __init__(self, cluster: MutableCluster, state: ClusterState, pods: Sequence[Pod]) -> None:
        """pods: that will be put on nodes"""
        options = replace(cluster.options, extenders=ExtenderOptions(used=False), on_progress=None)
        before = cluster.engine
        self.engine = Engine(
            state, cluster.configuration, cluster.registry, options, caller=before.caller
        )
        carry_over(before, self.engine)
        nominator = self.engine.nominator
        own = {pod.uid for pod in pods}
        for node in before.nominator.nodes():
            for pod in before.nominator.on_node(node):
                if pod.uid not in own and node in self.engine.snapshot.row:
                    nominator.nominate(pod, node)
        infos = [self.engine.catalog.info(pod) for pod in pods]
        self.pods = {info.key: info for info in infos}
        for name, framework in self.engine.frameworks.items():
            framework.answer_cache.expect(
                info for info in infos if info.spec.scheduler_name == name
            )

    def rows(self, names: Iterable[str]) -> Rows:
        """The rows of these nodes, in the order of the names."""
        row = self.engine.snapshot.row
        return np.array([row[name] for name in names], dtype=np.intp)

    def place(self, key: str, rows: Rows) -> str | None:
        """Puts a pod on the first of the rows that it fits on; its node, or None where none has
        room. key: of one of `pods`"""
        engine, pod = self.engine, self.pods[key]
        framework = engine.frameworks[pod.spec.scheduler_name]
        evaluation = engine.pipeline.filter(framework, pod, Mode.RANKED)
        fits = np.zeros(len(engine.snapshot), dtype=np.bool_)
        fits[evaluation.feasible.indices()] = not evaluation.error
        fitting = rows[fits[rows]]
        if not len(fitting):
            return None
        row = int(fitting[0])
        name = engine.snapshot.names[row]
        record = Attempt(pod.key, framework.profile.scheduler_name, name)
        outcome = engine.cycle.binding.assume(framework, evaluation.state, pod, row, record)
        return None if outcome.row is None else name

    def rejections(self, key: str, node: str) -> tuple[Status, ...]:
        """The statuses of all plugins that reject the pod on the node; empty where it fits."""
        evaluation = self.engine.evaluate(self.pods[key], Mode.EXHAUSTIVE)
        if evaluation.error:
            return (Status(Code.ERROR, (evaluation.error,)),)
        if evaluation.pre_filter is not None:
            return (evaluation.pre_filter,)
        row = self.engine.snapshot.row[node]
        return tuple(rejection.status for rejection in evaluation.rejections[row])

    def place_each(self, keys: Iterable[str], rows: Rows) -> dict[str, str]:
        """Place pods one after the other, as `place` does. Return the nodes of those that fit."""
        placed: dict[str, str] = {}
        misfits: set[int] = set()
        for key in keys:
            # What is put on nodes meanwhile does not make a pod fit that did not.
            signature = self.pods[key].signature
            node = None if signature in misfits else self.place(key, rows)
            if node is None:
                misfits.add(signature)
            else:
                placed[key] = node
        return placed

    def largest_first(self, keys: Iterable[str], row: int) -> list[str]:
        """Return the pods, largest first, by the sum of the shares of the row's cpu and memory that
        they request. Upstream: the cluster-autoscaler's binpacking estimator."""
        snapshot = self.engine.snapshot
        capacity = {name: snapshot.allocatable(name).item(row) for name in (CPU, MEMORY)}

        def share(key: str) -> float:
            amounts = self.pods[key].resources.requests
            return sum(amounts.get(name, 0) / most for name, most in capacity.items() if most)

        return sorted(keys, key=share, reverse=True)

    def close(self) -> None:
        self.engine.close()
