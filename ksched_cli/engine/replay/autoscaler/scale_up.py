"""The number of nodes of each group that would let pending pods run.

The rules are the cluster-autoscaler's: pods that fit on existing or ordered nodes need no others.
The rest is packed on new nodes of each group, the largest pods first, and an expander chooses among
the groups that help. Pods are put on nodes one after the other, each on the first that it fits on,
in a copy of the cluster. The engine's own PreFilter and Filter say where a pod fits; scores,
preemption and extenders, which the cluster-autoscaler does not know either, have no part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.objects.node import HOSTNAME_LABEL
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import CPU, MEMORY, PODS, node_allocatable
from ksched_cli.cluster.snapshot import Rows
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.extender_runner import ExtenderOptions
from ksched_cli.engine.records import Attempt
from ksched_cli.engine.replay.replay_cluster import ReplayCluster
from ksched_cli.framework.status import Code, Status
from ksched_cli.scenario.node_groups import (
    AutoscalerSettings,
    Expander,
    NodeGroup,
    with_new_nodes,
)
from ksched_cli.scenario.prices import NO_PRICES, Prices


class Packing:
    """A copy of the cluster, with its nominations and what plugins have assumed. state: whose nodes
    may be others"""

    def __init__(self, cluster: ReplayCluster, state: ClusterState, pods: Sequence[Pod]) -> None:
        """pods: that will be put on nodes"""
        before, unused = cluster.engine, ExtenderOptions(used=False)
        options = replace(before.options, extenders=unused, on_progress=None)
        self.engine = before.renewed(state, options=options)
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
        """Return the rows of these nodes, in the order of the names."""
        row = self.engine.snapshot.row
        return np.array([row[name] for name in names], dtype=np.intp)

    def place(self, key: str, rows: Rows) -> str | None:
        """Put a pod on the first of the rows that it fits on; its node, or None where none has
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
        """Return the statuses of all plugins that reject the pod on the node; empty where it
        fits."""
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


_PRINCIPAL = (CPU, MEMORY)
# Upstream: expander/price (priceStabilizationPod).
_SMALL_POD = {CPU: 500, MEMORY: 500 * 2**20}


@dataclass(frozen=True, slots=True)
class ScaleUpOption:
    """The effect of more nodes of a group.

    count: of nodes
    pods:  keys of the pods that would run on them
    waste: the shares of the new nodes' cpu and memory that these pods leave free, added
    price_ratio: what the nodes cost by what the pods' requests would at the groups' best prices
    """

    group: NodeGroup
    count: int
    pods: tuple[str, ...]
    waste: float
    price_ratio: float = 0


@dataclass(frozen=True, slots=True)
class ScaleUpPlan:
    """options: of the groups that help, in the order of the file
    used_nodes: that are there, and that pending pods would go to
    placed: keys of the pods that need no other nodes → the nodes that they would go to"""

    options: tuple[ScaleUpOption, ...] = ()
    used_nodes: frozenset[str] = frozenset()
    placed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupReview:
    """The effect of a group for a pod.

    size:     of the group, with the nodes that were asked for
    headroom: how many more nodes it may have
    rejections: of the pod on a new node of the group; empty where it fits there
    option:   what more nodes of the group would do for all pending pods
    is_chosen: the expanders choose this option
    """

    group: NodeGroup
    size: int
    headroom: int
    rejections: tuple[Status, ...]
    option: ScaleUpOption | None
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class ScaleUpReview:
    """because: why no group is asked for nodes, whatever the groups are, or ""."""

    because: str = ""
    groups: tuple[GroupReview, ...] = ()


@dataclass(frozen=True, slots=True)
class ScaleUpPlanner:
    """makes_pods: new nodes get the pods of DaemonSets
    next_names: what the next nodes of a group will be called
    prices: of nodes, before those of their groups
    """

    cluster: ReplayCluster
    settings: AutoscalerSettings
    makes_pods: bool
    next_names: Callable[[NodeGroup, int], Sequence[str]]
    prices: Prices = NO_PRICES

    def plan(
        self,
        pending: Sequence[Pod],
        upcoming: Sequence[tuple[NodeGroup, str]],
        headroom: Mapping[str, int],
    ) -> ScaleUpPlan:
        """pending: in the order of the queue
        upcoming: nodes that were asked for, with their groups
        headroom: by group, how many more nodes it may have
        """
        base = self._joined(self.cluster.state_with([]), upcoming)
        packing = Packing(self.cluster, base, pending)
        rows = packing.rows(node.name for node in base.nodes)
        placed = packing.place_each((pod.key for pod in pending), rows)
        packing.close()
        existing = self.cluster.snapshot.row
        used = frozenset(node for node in placed.values() if node in existing)
        rest = [pod for pod in pending if pod.key not in placed]
        if not rest:
            return ScaleUpPlan((), used, placed)
        settled = [pod for pod in pending if pod.key in placed]
        options = (
            self._option(group, base, settled, rest, headroom[group.name])
            for group in self.settings.groups
            if headroom[group.name] > 0
        )
        return ScaleUpPlan(tuple(filter(None, options)), used, placed)

    def rejections(
        self, pod: Pod, upcoming: Sequence[tuple[NodeGroup, str]], group: NodeGroup
    ) -> tuple[Status, ...]:
        """Explain why the pod does not fit on a new node of the group: every plugin's rejection."""
        (name,) = self.next_names(group, 1)
        state = self._joined(self.cluster.state_with([]), [*upcoming, (group, name)])
        packing = Packing(self.cluster, state, [pod])
        statuses = packing.rejections(pod.key, name)
        packing.close()
        return statuses

    def _joined(self, state: ClusterState, nodes: Sequence[tuple[NodeGroup, str]]) -> ClusterState:
        return with_new_nodes(state, nodes, makes_pods=self.makes_pods, runs_pods=True)

    def _option(
        self,
        group: NodeGroup,
        base: ClusterState,
        settled: Sequence[Pod],
        rest: Sequence[Pod],
        headroom: int,
    ) -> ScaleUpOption | None:
        """settled: pods that fit on the nodes of base. None where the group does not help."""
        most = min(headroom, len(rest))
        # To constraints over host names, a node that nothing is on yet is a domain of its own: of
        # several that are offered, each would get a pod. So they are offered one after the other.
        spreads_over_hosts = any(
            constraint.topology_key == HOSTNAME_LABEL
            and constraint.when_unsatisfiable == "DoNotSchedule"
            for pod in rest
            for constraint in pod.spec.topology_spread_constraints
        )
        count = 1 if spreads_over_hosts else most
        while True:
            # Pack the pods on at most this many new nodes.
            names = self.next_names(group, count)
            state = self._joined(base, [(group, name) for name in names])
            packing = Packing(self.cluster, state, (*settled, *rest))
            old, new = packing.rows(node.name for node in base.nodes), packing.rows(names)
            packing.place_each((pod.key for pod in settled), old)
            first = int(new[0])
            ordered = packing.largest_first((pod.key for pod in rest), first)
            placed = packing.place_each(ordered, new)
            option = self._option_of(group, packing, first, placed) if placed else None
            packing.close()
            if count >= most or option is None or option.count < count:
                return option
            if len(option.pods) == len(rest):
                return option
            count += 1

    def _option_of(
        self, group: NodeGroup, packing: Packing, row: int, placed: Mapping[str, str]
    ) -> ScaleUpOption:
        """row: of a new node. placed: pod → new node"""
        count = len(set(placed.values()))
        pods = [packing.pods[key] for key in placed]
        waste = 0.0
        for resource in _PRINCIPAL:
            available = packing.engine.snapshot.allocatable(resource).item(row) * count
            if available:
                requested = sum(pod.resources.requests.get(resource, 0) for pod in pods)
                waste += (available - requested) / available
        return ScaleUpOption(
            group, count, tuple(placed), waste, self._price_ratio(group, count, pods)
        )

    def _price_ratio(self, group: NodeGroup, count: int, pods: Sequence[PodInfo]) -> float:
        """Return the nodes' price divided by the price of what the pods request; 0 where groups
        have no prices.

        Upstream: expander/price (BestOptions), without the preference for nodes of a size that
        suits the cluster's. Clouds price the requests of a pod there; here they are worth what the
        group costs in which each resource is cheapest. The sum is stabilized as there.
        """
        price = group.node_price(group.template, self.prices)
        if price is None:
            return 0.0
        # Resource → the price of a unit in the cheapest group that has it.
        worths: dict[str, float] = {}
        for each in self.settings.groups:
            own = each.node_price(each.template, self.prices)
            for name, amount in node_allocatable(each.template).items():
                if own is not None and amount and name != PODS:
                    unit = own.price.per_hour / amount
                    worths[name] = min(worths.get(name, unit), unit)
        small = sum(worths.get(name, 0.0) * amount for name, amount in _SMALL_POD.items())
        requested = sum(
            worths.get(name, 0.0) * amount
            for pod in pods
            for name, amount in pod.resources.requests.items()
        )
        cost = price.price.per_hour * count + small
        return cost / (requested + small) if requested + small else cost


_RANKS: Mapping[Expander, Callable[[ScaleUpOption], float]] = {
    Expander.LEAST_WASTE: lambda option: option.waste,
    Expander.MOST_PODS: lambda option: -len(option.pods),
    Expander.LEAST_NODES: lambda option: option.count,
    Expander.PRIORITY: lambda option: -option.group.priority,
    Expander.PRICE: lambda option: option.price_ratio,
}


def best_option(
    options: Sequence[ScaleUpOption], expanders: Sequence[Expander]
) -> ScaleUpOption | None:
    """Return the first of those that the expanders, one after the other, leave."""
    remaining = list(options)
    for expander in expanders:
        ranks = [_RANKS[expander](option) for option in remaining]
        remaining = [
            option for option, rank in zip(remaining, ranks, strict=True) if rank == min(ranks)
        ]
    return remaining[0] if remaining else None
