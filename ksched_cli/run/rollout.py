"""Rollouts at one instant: the scheduler places the pods of each step before the next.

A new pod is available once it has a node. Pods that are evicted meanwhile are made anew by their
controllers, and wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import structs

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.live_cluster import LiveCluster
from ksched_cli.kube.versions import Release
from ksched_cli.scenario.change import Roll
from ksched_cli.scenario.owned_pods import deployment_of
from ksched_cli.scenario.pod_claims import has_own_claims, make_claims
from ksched_cli.scenario.pods import recreated
from ksched_cli.scenario.rollout import Rolling, Rollout

if TYPE_CHECKING:
    from ksched_cli.engine.simulation import Simulation

Open = Callable[[ClusterState], "Simulation"]


def rolling(open_simulation: Open, release: Release, most_steps: int = 0) -> Roll:
    """Return what makes a change that replaces pods at once one that replaces them step by step,
    for one list of changes.

    open_simulation: of the Run whose scheduler places them
    most_steps: after so many, a rollout does the rest at once; 0: it never does
    """

    def perform(rollout: Rollout, state: ClusterState) -> ClusterState:
        return _Performance(rollout, state, open_simulation).run(most_steps)

    return Rolling(perform, release)


def successors_of(before: ClusterState, after: ClusterState) -> dict[str, str]:
    """Return pods of workloads that are gone → those that have come, the ones that wait first on
    both sides."""
    # Most pods of a large state are the same objects in both.
    same = set(map(id, before.pods)).intersection(map(id, after.pods))
    left = [pod for pod in before.pods if id(pod) not in same]
    joined = [pod for pod in after.pods if id(pod) not in same]
    gone: dict[object, list[Pod]] = {}
    come: dict[object, list[Pod]] = {}
    for pods, others, groups in ((left, joined, gone), (joined, left, come)):
        keys = {pod.key for pod in others}
        for pod in pods:
            if pod.key not in keys and pod.owner[0]:
                owner = pod.namespace, deployment_of(pod) or pod.owner
                groups.setdefault(owner, []).append(pod)
    successors: dict[str, str] = {}
    for workload, old in gone.items():
        pairs = zip(
            *(
                sorted(pods, key=lambda pod: (bool(pod.node_name), pod.key))
                for pods in (old, come.get(workload, []))
            ),
            strict=False,
        )
        successors |= {first.key: second.key for first, second in pairs}
    return successors


class _Performance:
    """A rollout is performed: its controller and the scheduler take turns.

    _pods: all as they are now, by key
    _guests: pods of others that were placed meanwhile, as they were
    """

    def __init__(self, rollout: Rollout, state: ClusterState, open_simulation: Open) -> None:
        self._rollout, self._state = rollout, state
        self._live = LiveCluster(open_simulation(state), state)
        self._preempts = self._live.engine.options.preempt
        self._pods = {pod.key: pod for pod in state.pods}
        self._guests: dict[str, Pod] = {}
        rollout.cluster = self

    def add(self, pod: Pod, replaced_pod: Pod) -> Pod:
        """Let a pod of the new template wait for a node."""
        self._live.arrive((pod,))
        if has_own_claims(pod.spec):
            state, _ = make_claims(self._live.state())
            self._live.renew(state)
            pod = self._live.waiting[pod.key]
        self._pods[pod.key] = pod
        return pod

    def remove(self, pods: Sequence[Pod]) -> None:
        """Let pods go."""
        self._live.remove(pods)
        for pod in pods:
            del self._pods[pod.key]

    def run(self, most_steps: int) -> ClusterState:
        """Return the state after the rollout. most_steps: see rolling"""
        rollout = self._rollout
        has_news = bool(rollout.waiting)
        while True:
            while rollout.sync():
                has_news = True
            if most_steps and rollout.steps == most_steps and rollout.old:
                rollout.finish()
            if not has_news or not rollout.waiting or rollout.steps == rollout.most_steps:
                break
            rollout.steps += 1
            has_news = self._schedule()
        detail = "the scheduler finds no node"
        pending = [Effect(key, "pending", detail) for key in rollout.waiting]
        rollout.effects = [rollout.verdict, *rollout.effects, *pending]
        # What others do is another question: they are tried again.
        self._live.evict([self._pods[key] for key in self._guests])
        self._pods |= self._guests
        state = replace(
            self._live.state(),
            pods=tuple(self._pods.values()),
            pod_disruption_budgets=self._state.pod_disruption_budgets,
        )
        self._live.close()
        return rollout.renewal.with_replicas(state)

    def _schedule(self) -> bool:
        """Run the scheduler. Return whether a pod was placed."""
        rollout = self._rollout
        with self._live.trial() as trial:
            # Where all find a node, none evicts others; that is found out at less cost, and no more
            # is to be found out where one finds none.
            self._live.run(stops_at=(lambda _: True) if self._preempts else None)
            if not (self._preempts and self._live.waiting):
                trial.keep()
        if not trial.stays:
            self._live.run(preempts=True)
        scheduler, step = self._live.engine.scheduler, f"in step {rollout.steps}"
        for key, node in scheduler.placements.items():
            pod = self._pods[key]
            self._change(key, structs.replace(pod, node_name=node))
            if key in rollout.waiting:
                rollout.place(key)
                rollout.effects.append(Effect(key, "placed", step))
            elif key not in rollout.old:
                self._guests[key] = pod
        for victim in {each.pod: None for each in scheduler.evicted}:
            pod = self._pods.pop(victim)
            self._guests.pop(victim, None)
            rollout.effects.append(Effect(victim, "evicted", step))
            if pod.metadata.controller is not None:
                self._change(victim, recreated(pod, rollout.created))
                self._live.arrive((self._pods[victim],))
            elif victim in rollout.old:
                rollout.old.remove(victim)
            rollout.displace(victim)
        return bool(scheduler.placements)

    def _change(self, key: str, pod: Pod) -> None:
        self._pods[key] = pod
        if key in self._rollout.pods:
            self._rollout.pods[key] = pod
