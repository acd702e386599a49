"""A cluster whose nodes are drained one after the other: each drain evicts the pods as budgets
allow, and a run of the configuration places them on the other nodes.

A budget that refuses an eviction now does not hold the node for good: kubectl and the autoscalers
try again, once the pods evicted before are healthy elsewhere. Pods are evicted in rounds, of which
each has all that the budgets allow, until none is left or a round evicts none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np
from msgspec import structs

from ksched_cli.analysis.diagnosis import PendingGroup, owner_path, pending_groups
from ksched_cli.analysis.hints import Hints
from ksched_cli.analysis.reasons import Reason
from ksched_cli.analysis.recreation import RecreatedPod
from ksched_cli.answers import HIDDEN, Part
from ksched_cli.cluster.objects import Node, Pod, PodDisruptionBudget
from ksched_cli.cluster.objects.pod import PodCondition, PodStatus, TopologySpreadConstraint
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.live_cluster import LiveCluster, Trial
from ksched_cli.engine.queue import why_ignored
from ksched_cli.engine.records import Attempt, Eviction
from ksched_cli.engine.simulation import MAX_PASSES, Simulation
from ksched_cli.scenario.drain import Evictions, PodRules, goes_with_node
from ksched_cli.scenario.node_groups import NodeGroup, with_new_nodes
from ksched_cli.scenario.nodes import NO_EXECUTE, NO_SCHEDULE, cordon, with_failed
from ksched_cli.scenario.pods import (
    budget_matcher,
    is_of_daemon_set,
    is_static,
    unbound,
    with_counts,
)
from ksched_cli.scenario.workloads import target_node

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


class DrainedCluster:
    """A cluster whose nodes are drained, after a run that placed what waited.

    live:    the cluster as it is now, without pods that wait between drains
    state:   the objects as they are before any drain
    pending: the pods that the first run left pending, which are left aside
    departed: node → the pods that are to be evicted, of nodes that are gone
    preempts: pods that find no node may evict others, which then need one, too
    asks_budgets: evictions wait for disruption budgets
    """

    preempts: bool = False
    asks_budgets: bool = True

    def __init__(
        self,
        live: LiveCluster,
        state: ClusterState,
        rules: PodRules,
        pending: tuple[PendingGroup, ...] = (),
    ) -> None:
        self.live, self.state, self.rules, self.pending = live, state, rules, pending
        self.departed: dict[str, list[Pod]] = {}
        self._cordoned: frozenset[str] = frozenset()
        self._evictions = Evictions(state)
        self.pods: dict[str, list[Pod]] = {}
        for pod in state.pods:
            self.pods.setdefault(pod.node_name, []).append(pod)
        # Moved pods are as healthy as they were.
        self._by_key = {pod.key: pod for pod in state.pods}

    @property
    def simulation(self) -> Simulation:
        """The engine of the cluster as it is now."""
        return self.live.engine

    @classmethod
    def after_run(cls, simulation: Simulation, rules: PodRules, *, workloads: bool = True) -> Self:
        """The cluster as a run leaves it: pods that got a node are healthy there, those that did
        not, or were evicted, are left out. workloads: see Hints"""
        record = simulation.run()
        hints = Hints(simulation, record, workloads=workloads)
        pending = pending_groups(simulation, record, hints)
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
        return cls(LiveCluster(simulation, state), state, rules, pending)

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """Take back what is changed meanwhile."""
        departed, cordoned = self.departed, self._cordoned
        self.departed = dict(departed)
        with self.live.trial() as trial:
            yield trial
        if not trial.stays:
            self.departed, self._cordoned = departed, cordoned

    # -- nodes ------------------------------------------------------------------------------------

    def leave(self, nodes: Collection[str]) -> None:
        """Take nodes out of the cluster; their drains come later. No constraint of a pod counts
        them any more."""
        self.departed |= {node: self.pods_leaving((node,)) for node in nodes}
        self.live.remove_nodes(nodes)

    def cordon(self, nodes: Collection[str]) -> None:
        """Let nodes take no pods any more."""
        self._cordoned |= frozenset(nodes)
        state, _ = cordon(self.live.state(), tuple(nodes))
        self.live.replace_nodes({node.name: node for node in state.nodes})

    def fail(self, nodes: Collection[str]) -> None:
        """Let nodes not answer any more: they take no pods, but are still listed, and count where
        constraints of pods count them."""
        self._cordoned |= frozenset(nodes)
        state = self.live.state()
        for effect in (NO_SCHEDULE, NO_EXECUTE):
            state = with_failed(state, nodes, effect)
        self.live.replace_nodes({node.name: node for node in state.nodes if node.name in nodes})

    def add_copies(self, nodes: Sequence[Node]) -> tuple[str, ...]:
        """Let a copy of each node join, on which the pods of DaemonSets run; return their names.
        Raises InputError where the template of a DaemonSet is not valid."""
        if not nodes:
            return ()
        taken = set(self.live.snapshot.row)
        copies: dict[str, NodeGroup] = {}
        for node in nodes:
            name, number = f"{node.name}-new", 1
            while name in taken or name in copies:
                number += 1
                name = f"{node.name}-new-{number}"
            copies[name] = NodeGroup(node.name, node, self.state.csi_nodes.get(node.name))
        new = [(group, name) for name, group in copies.items()]
        self.live.renew(with_new_nodes(self.live.state(), new, makes_pods=True, runs_pods=True))
        return tuple(copies)

    # -- what leaves, and what cannot -------------------------------------------------------------

    def pods_leaving(self, nodes: Collection[str]) -> list[Pod]:
        """The pods of nodes that their drain evicts."""
        pods: list[Pod] = []
        for node in nodes:
            if node in self.departed:
                pods += self.departed[node]
                continue
            row = self.live.snapshot.row[node]
            there = [info.pod for info in self.live.snapshot.pods[row]]
            pods += [pod for pod in there if not (goes_with_node(pod) or pod.deleting)]
        return pods

    def seems_to_leave(self, node: str) -> bool:
        """Guess whether a drain of the node would finish, at little cost: its pods are tried on the
        other nodes while it is there and takes none; first the largest, which mostly tells."""
        live, snapshot = self.live, self.live.snapshot
        allocatable, row = snapshot.node_columns.allocatable, snapshot.row[node]
        infos = [live.info(pod) for pod in self.pods_leaving((node,))]
        if live.reaches_beyond(infos):
            return True

        def share(pod: PodInfo) -> float:
            """Return the largest share of a resource of the node that the pod requests."""
            requests = pod.resources.requests.items()
            has = {name: allocatable[name].item(row) for name, _ in requests if name in allocatable}
            return max(
                (amount / has[name] for name, amount in requests if has.get(name)), default=0
            )

        pods = [info.pod for info in sorted(infos, key=share, reverse=True)]
        # A domain that the node alone is in is gone with it.
        for pod in pods:
            for constraint in pod.spec.topology_spread_constraints:
                codes = snapshot.labels[constraint.topology_key].codes
                own = codes[snapshot.row[node]]
                if not is_soft(constraint) and np.count_nonzero(codes == own) == 1:
                    return True
        with live.trial():
            for some in (pods[:1], pods[1:]):
                live.evict(some)
                live.run(closed=(node,), stops_at=self._stays_nowhere)
                if live.waiting:
                    return False
        return True

    def _stays_nowhere(self, attempt: Attempt) -> bool:
        """Whether no placement of another pod would help one that has just found no node."""
        spec = self._by_key[attempt.pod].spec
        needs_others = spec.affinity is not None and spec.affinity.pod_affinity is not None
        return not needs_others and all(map(is_soft, spec.topology_spread_constraints))

    def uncontrolled(self, nodes: Collection[str]) -> tuple[str, ...]:
        """The pods that leave these nodes before any drain, and that no controller creates
        again."""
        return tuple(
            sorted(
                pod.key
                for node in nodes
                for pod in self.pods.get(node, ())
                if not (goes_with_node(pod) or pod.deleting) and pod.metadata.controller is None
            )
        )

    def holds(self, node: str) -> tuple[Hold, ...]:
        """The pods that keep the node, whatever budgets allow and wherever they would fit."""
        holds = []
        for pod in self.pods.get(node, ()):
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

    # -- drains -----------------------------------------------------------------------------------

    def drain(
        self,
        nodes: Collection[str],
        *,
        explains: bool = False,
        verifies: bool = False,
        gives_up: bool = False,
    ) -> DrainOutcome:
        """Drain nodes that take no pods any more, together. What the drain did is taken back where
        a pod cannot leave, or fits nowhere.

        explains: say why pods fit nowhere, on the nodes that stay
        verifies: and what helps them, as runs show
        gives_up: at the first pod that fits nowhere
        """
        with self.trial() as trial:
            stops_at = self._stays_nowhere if gives_up else None
            outcome = self._drained(nodes, explains, verifies, stops_at)
            if outcome.finishes:
                trial.keep()
                self.departed |= {node: [] for node in nodes}
        return outcome

    def _drained(
        self,
        nodes: Collection[str],
        explains: bool,
        verifies: bool,
        stops_at: Callable[[Attempt], bool] | None,
    ) -> DrainOutcome:
        moves, rounds = dict[str, str](), 0
        evicted, recreated = list[Eviction](), dict[str, RecreatedPod]()
        remaining = self.pods_leaving(nodes)
        while remaining:
            # Those evicted before are healthy elsewhere by now.
            evictions = self._evictions.renewed(self.state)
            granted, refused = [], dict[str, Hold]()
            for pod in remaining:
                refusal = ""
                if self.asks_budgets:
                    refusal = evictions.evict(self._by_key.get(pod.key, pod))
                if refusal:
                    refused[pod.key] = self.hold(pod, refusal)
                else:
                    granted.append(pod)
            if not granted:
                return DrainOutcome(moves, rounds, tuple(refused.values()))
            self.live.evict(granted)
            attempts, preemptions = self._placed(stops_at)
            rounds += 1
            unplaced = [pod for pod in granted if pod.key in self.live.waiting]
            if preemptions:
                evicted += preemptions
                recreated |= {each.pod: each for each in self._afterwards(preemptions, attempts)}
                waiting = self.live.waiting.keys() - {pod.key for pod in granted}
                unplaced += [self._by_key[key] for key in recreated if key in waiting]
            moves |= {
                pod.key: attempts[pod.key].node
                for pod in granted
                if pod.key not in self.live.waiting
            }
            if unplaced:
                never = [pod for pod in remaining if pod.key in refused and evictions.is_final(pod)]
                groups: tuple[PendingGroup, ...] = ()
                nowhere: tuple[Hold, ...] = ()
                if explains or verifies:
                    simulation, record = self.simulation, self.simulation.record()
                    hints = None
                    if verifies:
                        hints = Hints(simulation, record, current=self.live.state())
                    groups = pending_groups(
                        simulation, record, hints, self._cordoned, only_causes=not verifies
                    )
                    nowhere = self._why_nowhere(unplaced, attempts, groups)
                budgets = tuple(refused[pod.key] for pod in never)
                outcome = DrainOutcome(moves, rounds, budgets, tuple(unplaced), nowhere, groups)
                return replace(outcome, evicted=tuple(evicted), recreated=tuple(recreated.values()))
            remaining = [pod for pod in remaining if pod.key in refused]
        return DrainOutcome(
            moves, rounds, evicted=tuple(evicted), recreated=tuple(recreated.values())
        )

    def _placed(
        self, stops_at: Callable[[Attempt], bool] | None
    ) -> tuple[dict[str, Attempt], list[Eviction]]:
        """Place the pods that wait. Return their last attempts, and what they evicted, which their
        controllers create again, so that it is placed, too."""
        if not (self.preempts and self._may_evict()):
            return self.live.run(stops_at=stops_at), []
        # 1. A run in which every pod finds a node evicts nobody.
        with self.live.trial() as trial:
            attempts = self.live.run(stops_at=self._stays_nowhere)
            if not self.live.waiting:
                trial.keep()
                return attempts, []
        # 2. The same with evictions; then for the evicted pods, which may evict others in turn.
        attempts, evictions = {}, list[Eviction]()
        for _ in range(MAX_PASSES):
            attempts |= self.live.run(preempts=True)
            victims = [
                structs.replace(self._by_key[each.pod], node_name=each.node)
                for each in self.simulation.scheduler.evicted
            ]
            if not victims:
                break
            evictions += self.simulation.scheduler.evicted
            # A pod's claims and volumes are freed as it leaves its node: it is put back first.
            for pod in victims:
                self.live.place(pod)
            self.live.remove([pod for pod in victims if not _is_recreated(pod)])
            self.live.evict([pod for pod in victims if _is_recreated(pod)])
        return attempts, evictions

    def _may_evict(self) -> bool:
        """Whether a pod that waits could evict one on a node: plugins and extenders of others
        decide by their own rules, ours by priority."""
        simulation, pods = self.simulation, self.live.snapshot.pods
        if simulation.caller.foreign or simulation.extenders.extenders:
            return True
        most = max((pod.spec.priority or 0 for pod in self.live.waiting.values()), default=0)
        return any(pod.priority < most for on_node in pods for pod in on_node)

    def _afterwards(
        self, evictions: Sequence[Eviction], attempts: Mapping[str, Attempt]
    ) -> Iterator[RecreatedPod]:
        """Yield what became of evicted pods. attempts: the last of each pod that was tried"""
        for key in dict.fromkeys(each.pod for each in evictions):
            pod, attempt = self._by_key[key], attempts.get(key)
            is_placed = attempt is not None and key not in self.live.waiting
            yield RecreatedPod(
                key,
                _is_recreated(pod),
                node=attempt.node if attempt is not None and is_placed else "",
                only_node=target_node(pod) if is_of_daemon_set(pod) else "",
                evicted=tuple(each.pod for each in evictions if each.preemptor == key),
                message=attempt.why_not if attempt is not None and not is_placed else "",
            )

    def _why_nowhere(
        self,
        unplaced: Sequence[Pod],
        attempts: Mapping[str, Attempt],
        groups: Sequence[PendingGroup],
    ) -> tuple[Hold, ...]:
        """Return why pods that were just tried fit on none of the nodes. groups: of them"""
        messages = {
            pod.key: attempts[pod.key].why_not if pod.key in attempts else "" for pod in unplaced
        }
        holds = {pod.key: self.hold(pod, messages[pod.key], messages[pod.key]) for pod in unplaced}
        for group in groups:
            for key in group.pods:
                cause = group.diagnosis.cause if group.diagnosis is not None else group.message
                holds[key] = structs.replace(
                    holds[key], because=cause, message=group.message, reasons=group.reasons
                )
        return tuple(holds[key] for key in sorted(holds))

    def movable_pods(self) -> list[Pod]:
        """Return the pods on nodes that can be placed afresh."""
        pods = [pod for pod in self.state.pods if pod.node_name and not goes_with_node(pod)]
        return [pod for pod in pods if not (pod.deleting or pod.finished)]

    def unplaced_without(self, nodes: Collection[str]) -> int:
        """Return how many pods stay pending when all are placed afresh on the other nodes, each at
        its place in the queue."""
        state, _ = cordon(self.state, tuple(nodes))
        with self.live.trial():
            self.live.renew(unbound(state, self.movable_pods()))
            self.live.run()
            return len(self.live.waiting)


@dataclass(frozen=True, slots=True)
class DrainOutcome:
    """The outcome of a drain of nodes.

    moves:    pod → node, of the pods that were evicted and placed
    rounds:   how often pods were evicted and placed: more than one where budgets had it wait
    budgets:  the pods whose eviction budgets refuse for good
    unplaced: the pods that fit on no other node; nowhere: why, where that was asked for
    groups: the same by owner and cause
    evicted: pods that those that leave evicted; recreated: what becomes of these
    """

    moves: Mapping[str, str]
    rounds: int
    budgets: tuple[Hold, ...] = ()
    unplaced: tuple[Pod, ...] = ()
    nowhere: tuple[Hold, ...] = ()
    groups: tuple[PendingGroup, ...] = ()
    evicted: tuple[Eviction, ...] = ()
    recreated: tuple[RecreatedPod, ...] = ()

    @property
    def finishes(self) -> bool:
        return not self.budgets and not self.unplaced

    @property
    def why(self) -> tuple[Hold, ...]:
        """What holds the nodes that were drained."""
        return (*self.nowhere, *self.budgets)


def _is_recreated(pod: Pod) -> bool:
    return pod.metadata.controller is not None and not is_static(pod)


def is_soft(constraint: TopologySpreadConstraint) -> bool:
    """Whether the constraint is no more than a preference."""
    return constraint.when_unsatisfiable == "ScheduleAnyway"


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
