"""Whether nodes can be drained: every pod that `kubectl drain` evicts is evicted as the budgets
allow, and a run places it on another node.

As kubectl does, all nodes are cordoned first and then drained one after the other. A node whose
drain does not finish is tried again after the others. Pods of DaemonSets and static pods stay, and
pods with emptyDir volumes leave, as if kubectl were given the flags for it, which the answer names.
A pod without a controller is gone for good, so that it blocks the drain without `force`. Pods that
leave evict others as in any run; those that are evicted have to find a node, too.

Nodes that are lost are gone at once, with their pods: no budget is asked, and their controllers
create them again. The pods have to find nodes twice: while the lost ones are listed as unreachable,
and once they are deleted.

Upstream: k8s.io/kubectl/pkg/drain (filters.go, drain.go), pkg/cmd/drain (RunDrain).
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from msgspec import structs

from ksched_cli.analysis.diagnosis import PendingGroup, owner_path
from ksched_cli.analysis.drained_cluster import DrainedCluster, DrainOutcome, is_soft
from ksched_cli.analysis.hints import remedy_text
from ksched_cli.analysis.named_objects import Subject, check_nodes, label_selector_of
from ksched_cli.analysis.question import Opened, Question
from ksched_cli.analysis.recreation import RecreatedPod
from ksched_cli.answers import HIDDEN, Count, Part, StateAnswer
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.loading.state_warnings import budget_warnings
from ksched_cli.cluster.objects import Pod, PodDisruptionBudget
from ksched_cli.cluster.snapshot import ZONE_LABELS
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.queue import why_ignored
from ksched_cli.engine.records import Eviction
from ksched_cli.errors import ExitCode, KschedError, UsageError
from ksched_cli.plugins.pod_topology_spread import HONOR, PodTopologySpread, default_constraints
from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.disruption import synced, with_statuses
from ksched_cli.scenario.drain import NO_CONTROLLER, Evictions, PodRules, has_empty_dir
from ksched_cli.scenario.file import parse_change
from ksched_cli.scenario.objects import objects_of
from ksched_cli.scenario.owned_pods import owner_of
from ksched_cli.scenario.pods import (
    budget_matcher,
    is_of_daemon_set,
    is_static,
    select_on_nodes,
    without_pods,
)
from ksched_cli.scenario.scale import SCALABLE

# Changes are looked for that lift so many blockers, or that let so many domains survive; each is a
# run, or a few.
MAX_LIFTED = 3

FORCE = "--force"
NOWHERE = "no other node takes it while this one is cordoned"

Keys: TypeAlias = tuple[tuple[str, str], ...]
"""Namespaces and names of disruption budgets."""


class DrainBlocker(Part, frozen=True, omit_defaults=True):
    """Something that keeps nodes from being drained.

    because: what it is
    nodes: that it keeps
    pods: that cannot leave these nodes, or find no other node
    lifted_by: changes and flags, each of which lifts it, as a drain with it shows
    waits_for: what might lift it and has not been tried, such as pods that become ready
    owners: of the pods, as namespace/Kind/name; budgets: that select them
    refusals: plugins and their reasons, of pods that find no other node; the same for pods that are
              kept by one cause, whatever objects it names
    """

    because: str
    nodes: tuple[str, ...]
    pods: tuple[str, ...]
    lifted_by: tuple[str, ...] = ()
    waits_for: str = ""
    owners: Annotated[tuple[str, ...], HIDDEN] = ()
    budgets: Annotated[Keys, HIDDEN] = ()
    refusals: Annotated[tuple[tuple[str, str], ...], HIDDEN] = ()


class BudgetUse(Part, frozen=True):
    """A disruption budget of pods that leave.

    pods: how many of its pods leave
    allowed: how many may be evicted at a time
    healthy, needed: how many of its pods are ready, and have to be
    """

    budget: str
    pods: Count
    allowed: Count
    healthy: Count
    needed: Count


class DrainResult(StateAnswer, frozen=True, kw_only=True):
    """Whether nodes can be drained, all of them.

    nodes: that are to be drained, all cordoned first
    failed: the nodes are lost at once instead, whatever budgets allow
    possible: every pod that leaves gets another node, and so does every pod that is evicted for it
    leaving: how many pods leave and are created again
    order: the nodes whose drains finish, in order
    blocked_by: what keeps the others
    moves_to: pod → the node that it moves to
    pending: pods that find no node, by owner and cause
    evicted: other pods, which pods that leave evict; recreated: what becomes of them
    leaves_zones: zone → how many pods move from it to another one
    budgets: those of pods that are evicted
    waits: how often evictions wait until evicted pods are healthy elsewhere
    without_controller: evicted pods that nobody creates again, with `force`
    local_storage: evicted pods that lose what is in their emptyDir volumes
    staying: how many pods of DaemonSets and static pods stay
    alone: of nodes that are blocked, those that could be drained if the others were not
    command: kubectl's
    already_pending: pods that were pending before, by owner and cause; no node is kept for them
    moved_from: pod → the node that it leaves; owners: pod → namespace/Kind/name
    zones: node → zone
    undecided: a plugin's failure left a pod undecided
    """

    COMMAND: ClassVar = "drain"
    VIEW: ClassVar = "drain:view"
    ROWS: ClassVar = "moves_to"

    kind: Literal["DrainResult"] = "DrainResult"
    nodes: tuple[str, ...]
    failed: bool = False
    possible: bool
    leaving: Count
    order: tuple[str, ...] = ()
    blocked_by: tuple[DrainBlocker, ...] = ()
    moves_to: Mapping[str, str] = {}
    pending: tuple[PendingGroup, ...] = ()
    evicted: tuple[Eviction, ...] = ()
    recreated: tuple[RecreatedPod, ...] = ()
    leaves_zones: Mapping[str, Count] = {}
    budgets: tuple[BudgetUse, ...] = ()
    waits: Count = 0
    without_controller: tuple[str, ...] = ()
    local_storage: tuple[str, ...] = ()
    staying: Count = 0
    alone: tuple[str, ...] = ()
    command: str = ""
    already_pending: tuple[PendingGroup, ...] = ()
    moved_from: Annotated[Mapping[str, str], HIDDEN] = {}
    owners: Annotated[Mapping[str, str], HIDDEN] = {}
    zones: Annotated[Mapping[str, str], HIDDEN] = {}
    undecided: Annotated[bool, HIDDEN] = False

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(self.possible, self.undecided)


class LeavingCluster(DrainedCluster):
    """The cluster while kubectl drains nodes, or nodes are lost. refused: keys of pods that keep
    their node"""

    refused: frozenset[str] = frozenset()

    def pods_leaving(self, nodes: Collection[str]) -> list[Pod]:
        leaving = DrainedCluster.pods_leaving(self, nodes)
        return [pod for pod in leaving if pod.key not in self.refused]

    @contextmanager
    def losing(self, pods: _Filtered) -> Iterator[None]:
        """Meanwhile, the pods that are gone for good are gone, and the refused ones stay."""
        state, self.refused = self.state, frozenset(pod.key for pod in pods.refused)
        with self.trial():
            if pods.gone:
                self.state = without_pods(state, pods.gone)
                self.live.remove(pods.gone)
            yield
        self.state, self.refused = state, frozenset()


@dataclass(frozen=True, slots=True)
class _Drains:
    """The drains of nodes.

    order: the nodes whose drains finish, in order; finished: these drains
    rest: the drain of the others together, as far as it goes; None where there are none
    groups: the pods that this leaves without a node, by owner and cause
    passing: those of them that find a node once the lost nodes are deleted
    """

    order: tuple[str, ...]
    finished: tuple[DrainOutcome, ...]
    rest: DrainOutcome | None = None
    groups: tuple[PendingGroup, ...] = ()
    passing: frozenset[str] = frozenset()

    @classmethod
    def of(cls, base: DrainedCluster, nodes: Sequence[str], blocked: Collection[str]) -> _Drains:
        """Try the drains, one after the other, and take them back. blocked: nodes with a pod that
        does not leave"""
        finished: dict[str, DrainOutcome] = {}
        waiting = [*nodes]
        with base.trial():
            base.cordon(nodes)
            while True:
                # A node that was held may go once others have: their pods may have been in its way.
                count = len(waiting)
                for node in [each for each in waiting if each not in blocked]:
                    drain = base.drain((node,))
                    if drain.finishes:
                        finished[node] = drain
                        waiting.remove(node)
                if len(waiting) in (0, count):
                    break
            drains = cls(tuple(finished), tuple(finished.values()))
            if not waiting:
                return drains
            rest = base.drain(tuple(waiting))
            # Cordoned nodes would be named as those nearest to fitting.
            base.leave(nodes)
            groups = base.drain(tuple(waiting), verifies=True).groups if rest.unplaced else ()
        explained = {pod for group in groups for pod in group.pods}
        others = [
            PendingGroup(owner_of(pod), pod.namespace, (pod.key,), NOWHERE)
            for pod in rest.unplaced
            if pod.key not in explained
        ]
        unplaced = {pod.key for pod in rest.unplaced}
        groups = (*(group for group in groups if unplaced.issuperset(group.pods)), *others)
        return replace(drains, rest=rest, groups=groups)

    @classmethod
    def of_lost(
        cls, base: DrainedCluster, nodes: Sequence[str], *, explains: bool = True
    ) -> _Drains:
        """Lose the nodes at once, and take that back. explains: say which pods find no node, and
        why; else the first that finds none ends it"""
        # 1. The nodes do not answer, but are listed: spread constraints count them, unless they
        #    honor taints.
        outage: DrainOutcome | None = None
        if any(_counts_lost_nodes(base, pod) for pod in base.pods_leaving(nodes)):
            with base.trial():
                base.fail(nodes)
                outage = base.drain(nodes, verifies=explains, gives_up=not explains)
        # 2. The nodes are deleted.
        with base.trial():
            base.leave(nodes)
            loss = base.drain(nodes, explains=explains, gives_up=not explains)
        if outage is None or outage.finishes:
            return cls(tuple(nodes), (loss,)) if loss.finishes else cls((), (), loss, loss.groups)
        # Some pods wait in both cases, others only while the nodes are listed.
        waiting = {pod.key for pod in loss.unplaced}
        groups = [*loss.groups]
        for group in outage.groups:
            pods = tuple(pod for pod in group.pods if pod not in waiting)
            if pods:
                groups.append(structs.replace(group, pods=pods))
        others = tuple(pod for pod in outage.unplaced if pod.key not in waiting)
        moves = {pod: node for pod, node in outage.moves.items() if pod not in waiting}
        rest = replace(outage, moves=moves, unplaced=(*loss.unplaced, *others))
        return cls((), (), rest, tuple(groups), frozenset(pod.key for pod in others))

    @property
    def outcomes(self) -> tuple[DrainOutcome, ...]:
        return (*self.finished, *([self.rest] if self.rest else ()))

    @property
    def waiting(self) -> tuple[str, ...]:
        """Return the pods that find no node."""
        return tuple(pod.key for pod in self.rest.unplaced) if self.rest is not None else ()

    @property
    def moves(self) -> dict[str, str]:
        """Return the node that each pod that leaves moves to in the end."""
        moves: dict[str, str] = {}
        for drain in self.outcomes:
            moves |= drain.moves
            # One that moved may be evicted for the pods of a later node.
            moves |= {each.pod: each.node for each in drain.recreated if each.pod in moves}
        return {pod: node for pod, node in moves.items() if node}

    @property
    def evicted(self) -> tuple[Eviction, ...]:
        return tuple(each for drain in self.outcomes for each in drain.evicted)

    @property
    def recreated(self) -> tuple[RecreatedPod, ...]:
        return tuple(each for drain in self.outcomes for each in drain.recreated)


def _counts_lost_nodes(base: DrainedCluster, pod: Pod) -> bool:
    """Return whether the pod has to be spread over domains, also over those of nodes whose taints
    it does not tolerate, by its own constraints or the configuration's default ones.

    Upstream: pkg/scheduler/framework/plugins/podtopologyspread/common.go
    (matchNodeInclusionPolicies)
    """
    constraints = pod.spec.topology_spread_constraints
    framework = base.simulation.frameworks.get(pod.spec.scheduler_name)
    if not constraints and framework is not None:
        args = framework.profile.args.get(PodTopologySpread.name)
        constraints = default_constraints(args) if args is not None else ()
    return any(not is_soft(each) and each.node_taints_policy != HONOR for each in constraints)


@dataclass(frozen=True, slots=True)
class _Filtered:
    """What kubectl does with the pods of some nodes.

    leaving: are evicted, and created again by their controllers
    gone: are evicted for good; refused: keep their node
    stay: pods of DaemonSets and static ones
    blockers: what keeps the refused ones
    """

    leaving: tuple[Pod, ...]
    gone: tuple[Pod, ...]
    refused: tuple[Pod, ...]
    stay: tuple[Pod, ...]
    blockers: tuple[DrainBlocker, ...]

    @classmethod
    def of(cls, base: DrainedCluster, nodes: Collection[str], *, force: bool) -> _Filtered:
        """Ask about the pods of these nodes. Where budgets are not asked, the nodes are lost."""
        force = force or not base.asks_budgets
        state, frameworks = base.state, base.simulation.frameworks
        leaving, stay = list[Pod](), list[Pod]()
        # By why they are refused; those without a controller are gone with --force.
        unowned: dict[str, list[Pod]] = {}
        foreign: dict[str, list[Pod]] = {}
        # DaemonSets are missing only where the state has DaemonSets at all.
        has_daemon_sets = bool(state.daemon_sets) or "DaemonSet" in state.whole_kinds
        for pod in select_on_nodes(state.pods, nodes):
            if pod.finished or pod.deleting:
                continue
            daemon_set = (pod.namespace, pod.owner[1])
            is_missing = has_daemon_sets and daemon_set not in state.daemon_sets
            if is_static(pod):
                stay.append(pod)
            elif is_of_daemon_set(pod) and is_missing:
                unowned.setdefault("its DaemonSet is missing", []).append(pod)
            elif is_of_daemon_set(pod):
                stay.append(pod)
            elif pod.metadata.controller is None:
                unowned.setdefault(NO_CONTROLLER, []).append(pod)
            elif why := why_ignored(pod, frameworks):
                foreign.setdefault(f"nothing here places it: it is {why}", []).append(pod)
            else:
                leaving.append(pod)
        blockers = [_blocker(why, pods) for why, pods in foreign.items()]
        refused = [pod for pods in foreign.values() for pod in pods]
        gone = [pod for pods in unowned.values() for pod in pods]
        # With --force, they ask their budgets, too.
        evictions = Evictions(state)
        held = [pod for pod in gone if base.asks_budgets and evictions.evict(pod)]
        if force:
            blockers += _of_budgets(state, held)
        else:
            blockers += [_unforced(why, pods, held) for why, pods in unowned.items()]
            held = gone
        refused += held
        gone = [pod for pod in gone if pod not in held]
        return cls(tuple(leaving), tuple(gone), tuple(refused), tuple(stay), tuple(blockers))


@dataclass(frozen=True, slots=True)
class DrainTrial:
    """What becomes of nodes that are drained, or lost, which is taken back."""

    pods: _Filtered
    drains: _Drains
    blockers: tuple[DrainBlocker, ...]

    @classmethod
    def of(
        cls, base: LeavingCluster, nodes: Sequence[str], *, force: bool, explains: bool = True
    ) -> DrainTrial:
        """Drain the nodes together, or lose them where budgets are not asked. force: evict pods
        without a controller. explains: see _Drains.of_lost"""
        pods = _Filtered.of(base, frozenset(nodes), force=force)
        with base.losing(pods):
            if base.asks_budgets:
                drains = _Drains.of(base, nodes, {pod.node_name for pod in pods.refused})
            else:
                drains = _Drains.of_lost(base, nodes, explains=explains)
            blockers = [*pods.blockers]
            if drains.rest is not None:
                others = [pod for pod in drains.rest.unplaced if pod not in pods.leaving]
                named = {pod.key: pod for pod in (*pods.leaving, *others)}
                for group in drains.groups:
                    own, cause, advice = group.diagnosis, group.message, ""
                    if own is not None:
                        cause, advice = own.cause, remedy_text(own.hints[:1]) or own.advice
                    if drains.passing.issuperset(group.pods):
                        cause = f"until the lost nodes are deleted: {cause}"
                    waiting = [named[key] for key in group.pods]
                    refusals = tuple(sorted((each.plugin, each.reason) for each in group.reasons))
                    blocker = _blocker(cause, waiting, waits_for=advice)
                    blockers.append(structs.replace(blocker, refusals=refusals))
                stuck = {hold.pod for hold in drains.rest.budgets}
                members = [pod for pod in pods.leaving if pod.key in stuck]
                blockers += _of_budgets(base.state, members)
        return cls(pods, drains, tuple(blockers))

    @property
    def is_possible(self) -> bool:
        return self.drains.rest is None and not self.pods.refused


def drain_nodes(
    subject: Subject, nodes: Sequence[str], *, force: bool, failed: bool = False
) -> DrainResult:
    """Drain nodes of the subject, whose simulation has not run yet. failed: they are lost"""
    base = before_drains(subject, failed=failed)
    state = base.state
    trial = DrainTrial.of(base, nodes, force=force)
    pods, drains = trial.pods, trial.drains
    refused = frozenset(pod.key for pod in pods.refused)
    blockers = [*with_lifts(subject, trial.blockers, nodes, refused)]
    held = {pod.node_name for pod in pods.refused}
    candidates = [node for node in nodes if node not in held and node not in drains.order]
    alone: list[str] = []
    if len(nodes) > 1 and not failed:
        with base.losing(pods):
            alone = [each for each in candidates if _Drains.of(base, (each,), ()).rest is None]

    # Where pods go.
    moves = drains.moves
    moved_from = {pod.key: pod.node_name for pod in pods.leaving}
    zones = {}
    for node in state.nodes:
        labels = node.metadata.labels
        named = (labels[key] for key in ZONE_LABELS[::-1] if key in labels)
        zones[node.name] = next(named, "")
    # The pods that move to another zone, by the zone that they leave.
    pairs = ((zones[moved_from[pod]], zones[to]) for pod, to in moves.items())
    left = Counter(zone for zone, other in pairs if zone not in ("", other))
    leaving = (*pods.leaving, *pods.gone)
    local = tuple(sorted(pod.key for pod in leaving if has_empty_dir(pod)))
    in_order = [*drains.order, *(node for node in nodes if node not in drains.order)]
    # kubectl's command has the flags that it requires.
    needed = {
        "--ignore-daemonsets": any(map(is_of_daemon_set, pods.stay)),
        "--delete-emptydir-data": bool(local),
        FORCE: bool(pods.gone),
    }
    flags = [flag for flag, is_needed in needed.items() if is_needed]
    command = shlex.join(["kubectl", "drain", *in_order, *flags])
    # The budgets of pods that leave, the one that allows the least first.
    counts = Counter(key for pod in leaving for key in _selecting(state, pod))
    budgets = [(state.pod_disruption_budgets[key], count) for key, count in counts.items()]
    uses = []
    for budget, count in sorted(budgets, key=lambda each: (_allowed(each[0]), each[0].key)):
        healthy, desired = budget.status.current_healthy, budget.status.desired_healthy
        uses.append(BudgetUse(budget.key, count, _allowed(budget), healthy, desired))
    answer = DrainResult(
        nodes=tuple(nodes),
        failed=failed,
        possible=trial.is_possible,
        leaving=len(pods.leaving),
        order=drains.order,
        blocked_by=tuple(blockers),
        moves_to=dict(sorted(moves.items())),
        pending=drains.groups,
        evicted=drains.evicted,
        recreated=drains.recreated,
        leaves_zones=dict(sorted(left.items())),
        budgets=() if failed else tuple(uses),
        waits=sum(max(0, drain.rounds - 1) for drain in drains.outcomes),
        without_controller=tuple(sorted(pod.key for pod in pods.gone)),
        local_storage=local,
        staying=len(pods.stay),
        alone=tuple(alone),
        command="" if failed else command,
        already_pending=base.pending,
        moved_from=moved_from,
        owners={pod.key: owner_path(pod) for pod in pods.leaving},
        zones=zones,
        undecided=bool(base.simulation.caller.defects),
    )
    close_other(subject, base)
    return answer


def before_drains(subject: Subject, change: str = "", *, failed: bool = False) -> LeavingCluster:
    """Return the cluster after the run that places what waits. change: to make to the state first;
    then its disruption budgets are counted anew; failed: nodes will be lost. Raises KschedError
    where the change fails"""
    simulation = subject.simulation
    state = simulation.state
    if change:
        workloads = subject.run.workloads
        state = apply_changes(state, [parse_change(change)], workloads=workloads)[0]
    state = with_statuses(state)
    if state is not simulation.state:
        simulation = subject.simulation_of(state)
    workloads = subject.run.workloads
    base = LeavingCluster.after_run(simulation, PodRules(now=0.0), workloads=workloads)
    base.preempts, base.asks_budgets = subject.run.preemption, not failed
    if change:
        budgets = {
            key: synced(budget, base.state)
            for key, budget in base.state.pod_disruption_budgets.items()
        }
        base.state = replace(base.state, pod_disruption_budgets=budgets)
    return base


def close_other(subject: Subject, base: DrainedCluster) -> None:
    """End a simulation of another state than the subject's, whose simulation notes the defects."""
    caller = base.simulation.caller
    if caller is not subject.simulation.caller:
        subject.simulation.caller.defects.update(caller.defects)
        base.live.close()


def _blocker(
    because: str, pods: Sequence[Pod], *lifted_by: str, waits_for: str = "", budgets: Keys = ()
) -> DrainBlocker:
    return DrainBlocker(
        because,
        tuple(dict.fromkeys(pod.node_name for pod in pods)),
        tuple(pod.key for pod in pods),
        lifted_by,
        waits_for,
        owners=tuple(dict.fromkeys(map(owner_path, pods))),
        budgets=budgets,
    )


def _unforced(because: str, pods: Sequence[Pod], held: Collection[Pod]) -> DrainBlocker:
    """Return the blocker of pods that leave with --force. held: those that budgets keep even
    then"""
    if any(pod in held for pod in pods):
        return _blocker(because, pods, waits_for=f"{FORCE}, once budgets allow it")
    return _blocker(because, pods, FORCE)


# -- budgets --------------------------------------------------------------------------------------


def _selecting(state: ClusterState, pod: Pod) -> Keys:
    """Return the keys of the budgets that select the pod."""
    budgets = state.pod_disruption_budgets
    return tuple(key for key, budget in budgets.items() if budget_matcher(budget)(pod))


def _allowed(budget: PodDisruptionBudget) -> int:
    return max(0, budget.status.disruptions_allowed)


def _of_budgets(state: ClusterState, pods: Iterable[Pod]) -> Iterator[DrainBlocker]:
    """Yield what keeps pods that their budgets do not let go. state: as the drain leaves it"""
    by_budgets: dict[Keys, list[Pod]] = {}
    for pod in pods:
        by_budgets.setdefault(_selecting(state, pod), []).append(pod)
    for keys, members in by_budgets.items():
        budgets = [state.pod_disruption_budgets[key] for key in keys]
        if len(budgets) > 1:
            names = " and ".join(budget.key for budget in budgets)
            because = f"budgets {names} select the same pods, which the eviction API refuses"
            yield _blocker(because, members, budgets=keys)
            continue
        (budget,), status = budgets, budgets[0].status
        because = (
            f"budget {budget.key} allows {_allowed(budget):,} disruptions "
            f"({status.current_healthy:,} of {status.desired_healthy:,} needed healthy)"
        )
        unready = status.desired_healthy + 1 - status.current_healthy
        is_final = status.desired_healthy >= status.expected_pods
        waits_for = "" if is_final else f"{unready} more ready pod{'s' * (unready > 1)}"
        yield _blocker(because, members, waits_for=waits_for, budgets=keys)


def with_lifts(
    subject: Subject,
    blockers: Sequence[DrainBlocker],
    nodes: Sequence[str],
    refused: frozenset[str],
) -> Iterator[DrainBlocker]:
    """Yield the blockers, the first with the changes that lift them."""
    for at, each in enumerate(blockers):
        if each.budgets and at < MAX_LIFTED:
            # After these changes, a run has its budgets let its pods go.
            lifts = []
            for change in _changes(subject.simulation.state, each):
                try:
                    base = before_drains(subject, change)
                except KschedError:
                    continue
                base.refused = refused
                rest = _Drains.of(base, nodes, ()).rest
                still = {hold.pod for hold in rest.budgets} if rest is not None else set()
                if not still.intersection(each.pods):
                    lifts.append(change)
                close_other(subject, base)
            each = structs.replace(each, lifted_by=tuple(lifts))
        yield each


def _changes(state: ClusterState, blocker: DrainBlocker) -> Iterator[str]:
    """Yield what may lift the blocker: one replica more, a budget that allows one disruption, one
    budget instead of several."""
    first, *more = blocker.budgets
    if more:
        names = " ".join(f"poddisruptionbudget/{name}" for _, name in more)
        yield f"delete {names} -n {first[0]}"
        return
    for owner in blocker.owners:
        namespace, kind, name = owner.split("/", 2)
        objects: Mapping[tuple[str, str], Any] = {}
        if kind in SCALABLE:
            objects = objects_of(state, KINDS[kind])
        workload = objects.get((namespace, name))
        replicas = workload.spec.replicas if workload is not None else None
        if replicas:
            yield f"scale {kind.lower()}/{name} -n {namespace} --replicas={replicas + 1}"
    budget = state.pod_disruption_budgets[first]
    needed = synced(budget, with_statuses(state)).status.desired_healthy
    spec = {"maxUnavailable": 1}
    if budget.spec.max_unavailable is None:
        spec = {"minAvailable": max(0, needed - 1)}
    patch = json.dumps({"spec": spec})
    yield f"patch poddisruptionbudget/{budget.name} -n {budget.namespace} -p '{patch}'"


# -- the question ---------------------------------------------------------------------------------


class DrainNodes(Question[DrainResult], frozen=True, kw_only=True):
    """Say whether nodes can be drained, together, and what keeps them.

    nodes: their names; or selector: their labels
    force: evict pods without a controller, which are gone for good
    failed: the nodes are lost at once, with their pods
    """

    nodes: tuple[str, ...] = ()
    selector: str = ""
    force: bool = False
    failed: bool = False

    def answer(self, opened: Opened) -> DrainResult:
        if bool(self.nodes) == bool(self.selector):
            raise UsageError("drain takes names of nodes, -l SELECTOR, or --each LABEL")
        names = [name.removeprefix("nodes/").removeprefix("node/") for name in self.nodes]
        for name, count in Counter(names).items():
            if count > 1:
                raise UsageError(f'node "{name}" is given {count} times; name it once')
        subject = opened.subject()
        state = subject.simulation.state
        is_kind = names[:1] in (["node"], ["nodes"]) and len(names) > 1
        if is_kind and names[0] not in subject.simulation.snapshot.row:
            rest = " ".join(names[1:])
            raise UsageError(f'no node "{names[0]}" in the state; did you mean drain {rest}?')
        check_nodes(subject.simulation, names)
        if self.selector:
            names = selected_nodes(state, self.selector)
        if not self.failed:
            opened.warn(*budget_warnings(state))
        return drain_nodes(subject, names, force=self.force, failed=self.failed)


def selected_nodes(state: ClusterState, selector: str) -> list[str]:
    """Return the nodes with the labels of -l. Raises UsageError where none has them."""
    matches = label_selector_of(selector).matches
    names = [node.name for node in state.nodes if matches(node.metadata.labels)]
    if not names:
        raise UsageError(f"no node has the labels of -l {selector}")
    return names
