"""A cluster whose nodes are drained one after the other: each drain evicts the pods as budgets
allow, and a run of the configuration places them on the other nodes.

A budget that refuses an eviction now does not hold the node for good: kubectl and the autoscalers
try again, once the pods evicted before are healthy elsewhere. Pods are evicted in rounds, of which
each has all that the budgets allow, until none is left or a round evicts none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Self

from msgspec import structs

from ksched_cli.analysis.diagnosis import PendingGroup, owner_path, pending_groups
from ksched_cli.analysis.reasons import Reason
from ksched_cli.answers import HIDDEN, Part
from ksched_cli.cluster.objects import Pod, PodDisruptionBudget
from ksched_cli.cluster.objects.pod import PodCondition, PodStatus
from ksched_cli.cluster.pod_info import has_volume_claims
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.engine import carry_over
from ksched_cli.engine.queue import why_ignored
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.resource_claims import may_allocate_devices
from ksched_cli.scenario.drain import Evictions, PodRules, goes_with_node, with_budgets
from ksched_cli.scenario.node_groups import NodeGroup, with_new_nodes, without_nodes
from ksched_cli.scenario.nodes import cordon
from ksched_cli.scenario.pods import (
    budget_matcher,
    pending_again,
    replace_pods,
    select_on_nodes,
    with_counts,
)

_HEALTHY = PodStatus(phase="Running", conditions=(PodCondition("Ready", "True"),))


class Hold(Part, frozen=True, omit_defaults=True):
    """A reason that keeps a node from being drained.

    pod: null where it is something about the node itself
    because: why the pod cannot leave, or fits on no other node
    owner: Kind/name of the pod's controller
    message: of a pod that fits on no other node, from kube-scheduler
    reasons: the same, by plugin, as `explain` has them
    """

    pod: str | None
    because: str
    message: str = ""
    reasons: tuple[Reason, ...] = ()
    owner: Annotated[str, HIDDEN] = ""

    @property
    def cause(self) -> object:
        """The same for pods of one owner that are held alike, as those that fit nowhere."""
        return (self.owner, bool(self.message) or self.because)


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A pod that a run gave no node, and kube-scheduler's message."""

    pod: Pod
    message: str


@dataclass(frozen=True, slots=True)
class DrainedCluster:
    """state: without pods that wait. simulation: the run before, whose plugins' assumptions hold
    further. pending: the pods that the first run left pending. gone: the nodes drained so far,
    which are cordoned. is_live: the simulation's snapshot is that of the state, and the next drain
    may go on in it"""

    state: ClusterState
    simulation: Simulation
    rules: PodRules
    pending: tuple[PendingGroup, ...] = ()
    gone: frozenset[str] = frozenset()
    is_live: bool = False

    @classmethod
    def after_run(cls, simulation: Simulation, rules: PodRules) -> Self:
        """The cluster as a run leaves it: pods that got a node are healthy there, those that did
        not, or were evicted, are left out."""
        pending = pending_groups(simulation, simulation.run())
        state, placements = simulation.state, simulation.scheduler.placements
        evicted = {eviction.pod for eviction in simulation.scheduler.evicted}
        placed = [pod for pod in state.pods if not pod.node_name and pod.key in placements]
        pods = []
        for pod in state.pods:
            if pod.key in evicted:
                continue
            if pod.node_name:
                pods.append(pod)
            elif pod.key in placements:
                node = placements[pod.key]
                pods.append(structs.replace(pod, node_name=node, status=_HEALTHY))
        state = replace(
            state,
            pods=tuple(pods),
            resource_claims=simulation.resource_claims,
            pod_disruption_budgets=_with_more_healthy(state, placed),
        )
        # All drains begin with these pods.
        simulation.catalog = simulation.catalog.successor()
        for pod in pods:
            simulation.catalog.info(pod)
        return cls(state, simulation, rules, pending)

    def cordoned(self, nodes: Sequence[str]) -> DrainedCluster:
        """Return the cluster with nodes that take no pods any more."""
        return replace(self, state=cordon(self.state, nodes)[0], is_live=False)

    def with_nodes(self, nodes: Sequence[tuple[NodeGroup, str]]) -> DrainedCluster:
        """With new nodes of groups, on which the pods of DaemonSets run. Raises InputError where
        the template of one is not valid."""
        state = with_new_nodes(self.state, nodes, makes_pods=True, runs_pods=True)
        return replace(self, state=state, is_live=False)

    def forked(self) -> DrainedCluster:
        """Return the same cluster, after a drain of it that does not count."""
        return replace(self, is_live=False)

    def pods_leaving(self, nodes: Collection[str]) -> list[Pod]:
        """The pods of nodes that their drain evicts."""
        pods = select_on_nodes(self.state.pods, nodes)
        return [pod for pod in pods if not (goes_with_node(pod) or pod.deleting)]

    def uncontrolled(self, nodes: Collection[str]) -> tuple[str, ...]:
        """The pods that leave these nodes, and that no controller creates again."""
        leaving = self.pods_leaving(nodes)
        return tuple(sorted(pod.key for pod in leaving if pod.metadata.controller is None))

    def holds(self, node: str) -> tuple[Hold, ...]:
        """The pods that keep the node, whatever budgets allow and wherever they would fit."""
        pods = select_on_nodes(self.state.pods, {node})
        holds = []
        for pod in pods:
            because = self.rules.pod_stays(pod)
            if not because and not goes_with_node(pod) and not pod.deleting:
                ignored = why_ignored(pod, self.simulation.frameworks)
                because = f"it is {ignored}" if ignored else ""
            if because:
                holds.append(self.hold(pod, because))
        return tuple(sorted(holds, key=lambda hold: hold.pod or ""))

    def hold(self, pod: Pod, because: str, message: str = "") -> Hold:
        """Return the hold that a pod that cannot leave has on its node."""
        return Hold(pod.key, because, message, owner=owner_path(pod))

    def drain(self, nodes: Collection[str]) -> DrainOutcome:
        """Drain nodes that are cordoned, together. Where a pod cannot leave, or fits nowhere, the
        cluster of the result is as far as the drain got; `forked` returns to this one."""
        cluster, moves, rounds = self, dict[str, str](), 0
        remaining = cluster.pods_leaving(nodes)
        while remaining:
            evictions = Evictions(cluster.state)
            granted, refused = [], dict[str, Hold]()
            for pod in remaining:
                refusal = evictions.evict(pod)
                if refusal:
                    refused[pod.key] = cluster.hold(pod, refusal)
                else:
                    granted.append(pod)
            if not granted:
                return DrainOutcome(cluster, moves, rounds, budgets=tuple(refused.values()))
            placed = cluster.move(granted, evictions)
            cluster, rounds = placed.cluster, rounds + 1
            moves |= placed.moves
            if placed.unplaced:
                never = [pod for pod in remaining if pod.key in refused and evictions.is_final(pod)]
                budgets = tuple(refused[pod.key] for pod in never)
                return DrainOutcome(cluster, moves, rounds, budgets, placed.unplaced)
            remaining = [pod for pod in remaining if pod.key in refused]
        gone = cluster.gone.union(nodes)
        return DrainOutcome(replace(cluster, gone=gone), moves, rounds)

    def unplaced(self) -> int:
        """Return how many pods of the state a run leaves pending."""
        simulation = self._open(self.state)
        run = simulation.run()
        simulation.close()
        return len(run.pending)

    def _open(self, state: ClusterState) -> Simulation:
        before = self.simulation
        options = replace(before.options, preempt=False, on_progress=None)
        simulation = Simulation(
            state,
            before.configuration,
            before.registry,
            options,
            caller=before.caller,
            pods=before.catalog.successor(),
        )
        carry_over(before, simulation)
        return simulation

    def move(self, pods: Sequence[Pod], evictions: Evictions) -> DrainOutcome:
        """Evicts pods that budgets let go, and has a run place them. evictions: theirs"""
        state = with_budgets(pending_again(self.state, pods), self.state, evictions)
        alone = not self._shares_objects(pods)
        simulation = self._taken_off(state, pods) if alone else self._open(state)
        run = simulation.run()
        moves = {pod.key: run.placements[pod.key] for pod in pods if pod.key in run.placements}
        moved = {
            id(pod): structs.replace(pod, node_name=moves[pod.key])
            for pod in pods
            if pod.key in moves
        }
        unplaced = tuple(
            Unplaced(pod, run.last[pod.key].why_not if pod.key in run.last else "")
            for pod in pods
            if pod.key not in moves
        )
        after = replace(
            self.state,
            pods=replace_pods(self.state.pods, moved),
            resource_claims=simulation.resource_claims,
            volume_attachments=state.volume_attachments,
        )
        simulation.close()
        cluster = replace(self, state=after, simulation=simulation, is_live=alone)
        return DrainOutcome(cluster, moves, rounds=1, unplaced=unplaced)

    def _shares_objects(self, pods: Sequence[Pod]) -> bool:
        """Whether an eviction or a placement changes more than the requests on nodes: claims of
        volumes and devices, groups of pods, what extenders remember."""
        simulation = self.simulation
        return bool(simulation.extenders.extenders) or any(
            has_volume_claims(pod.spec)
            or pod.spec.scheduling_group is not None
            or may_allocate_devices(simulation.catalog.info(pod), simulation.handle)
            for pod in pods
        )

    def _taken_off(self, state: ClusterState, pods: Sequence[Pod]) -> Simulation:
        """A simulation where the pods have left their nodes, and wait. state: where they do"""
        simulation = self.simulation if self.is_live else self._open(self.state)
        snapshot = simulation.snapshot
        for pod in pods:
            row = snapshot.row[pod.node_name]
            snapshot.remove(simulation.catalog.info(pod), row)
        keys = {pod.key for pod in pods}
        waiting = select_on_nodes(state.pods, {""})
        simulation.newcomers[:] = [pod for pod in waiting if pod.key in keys]
        # As in a simulation that has not run yet.
        simulation.pipeline.search.next_start = 0
        if simulation.pipeline.batching is not None:
            simulation.pipeline.batching.begin()
        return simulation

    def waiting(
        self, unplaced: Sequence[Unplaced], nodes: Collection[str]
    ) -> tuple[PendingGroup, ...]:
        """Return the pods that fit on none of the nodes that stay, by owner and cause. nodes: that
        they leave"""
        state = pending_again(self.state, [each.pod for each in unplaced])
        # Cordoned ones would be named as those nearest to fitting.
        state = without_nodes(state, self.gone.union(nodes))
        simulation = self._open(state)
        groups = pending_groups(simulation, simulation.run())
        simulation.close()
        return groups

    def why_nowhere(self, unplaced: Sequence[Unplaced], nodes: Collection[str]) -> tuple[Hold, ...]:
        """Return why pods fit on none of the nodes that stay. nodes: that they leave"""
        holds = {each.pod.key: self.hold(each.pod, each.message, each.message) for each in unplaced}
        for group in self.waiting(unplaced, nodes):
            for pod in group.pods:
                cause = group.diagnosis.cause if group.diagnosis is not None else group.message
                holds[pod] = structs.replace(
                    holds[pod], because=cause, message=group.message, reasons=group.reasons
                )
        return tuple(holds[pod] for pod in sorted(holds))


@dataclass(frozen=True, slots=True)
class DrainOutcome:
    """The outcome of a drain of nodes.

    moves:    pod → node, of the pods that were evicted and placed
    rounds:   how often pods were evicted and placed: more than one where budgets had it wait
    budgets:  the pods whose eviction budgets refuse for good
    unplaced: the pods that fit on no other node
    """

    cluster: DrainedCluster
    moves: Mapping[str, str]
    rounds: int
    budgets: tuple[Hold, ...] = ()
    unplaced: tuple[Unplaced, ...] = ()

    @property
    def finishes(self) -> bool:
        return not self.budgets and not self.unplaced

    def why(self, nodes: Collection[str]) -> tuple[Hold, ...]:
        """Return what holds the nodes that were drained."""
        nowhere = self.cluster.why_nowhere(self.unplaced, nodes) if self.unplaced else ()
        return (*nowhere, *self.budgets)


def _with_more_healthy(
    state: ClusterState, placed: Sequence[Pod]
) -> dict[tuple[str, str], PodDisruptionBudget]:
    """The budgets, once pods that waited run."""
    budgets = dict(state.pod_disruption_budgets)
    for key, budget in budgets.items():
        count = sum(map(budget_matcher(budget), placed)) if placed else 0
        if count:
            healthy = budget.status.current_healthy + count
            allowed = max(0, healthy - budget.status.desired_healthy)
            budgets[key] = with_counts(budget, current_healthy=healthy, disruptions_allowed=allowed)
    return budgets
