"""Victims that are a pod, or the pods of a group that are evicted together, on whatever nodes they
are.

GroupPreemption makes room for a group anywhere in the cluster. So does EntityPreemption in minors
where pod groups are entities of the queue: all victims leave, the group is tried, and they come
back one by one where its pods still fit on the nodes that they were given. EntityDryRun makes room
for a pod on one node.

Upstream: pkg/scheduler/framework/preemption (podgrouppreemption.go, types.go, util.go),
plugins/defaultpreemption/default_preemption.go (SelectVictimsOnNode).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Nominator
from ksched_cli.framework.in_tree_interface import RankedNodes
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.plugins_runner import FilterOperations, PluginsRunner
from ksched_cli.framework.pod_groups import (
    NO_NODE_OF_POD,
    Assignment,
    GroupKey,
    GroupRoom,
    PlacedPod,
    PodGroup,
    PodGroups,
    RejectedGroup,
    group_key,
)
from ksched_cli.framework.preemption import Victims
from ksched_cli.framework.preemption_trial import is_terminating_by_preemption
from ksched_cli.framework.status import SUCCESS, Code, PluginError, Rejection, Status
from ksched_cli.framework.victim_order import start_time
from ksched_cli.plugins.default_preemption.victims import NO_VICTIMS as NO_VICTIMS_ON_NODE
from ksched_cli.plugins.default_preemption.victims import Disruptions, Explanation

NEVER = Status.unschedulable("not eligible due to preemptionPolicy=Never.")
NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming preemptor")
ONGOING = Status(Code.SUCCESS, ("ongoing preemption on nominated nodes",))
SUCCEEDED = "found a placement for podgroup, preempting {} victims"
NO_VICTIMS_AT_ALL = Status.unschedulable(*NO_VICTIMS.reasons)
NO_NODE = 'node "{node}" not found in the snapshot'
NO_NODE_INFO = (
    'failed to get node info for node "{node}" from snapshot: nodeinfo not found for node name'
    ' "{node}"'
)


class Entity(Struct, frozen=True, eq=False):
    """Pods that are evicted together. rank: the higher, the more important; see _RANKS. start: of
    the pod that counts; uid: where that decides, of the first pod"""

    pods: tuple[PlacedPod, ...]
    priority: int
    rank: int
    start: str
    uid: str = ""

    @property
    def importance(self) -> tuple[int, int, int, str, str]:
        """Return the sort key: the most important first. Upstream: MoreImportantVictim."""
        return -self.priority, -self.rank, -len(self.pods), self.start, self.uid


# The ranks of a pod, of a group or a pod of one, and of a composite group. Upstream: victimRank.
_RANKS = 1, 2, 3


def entities_on(
    groups: PodGroups,
    snapshot: Snapshot,
    rows: Iterable[int],
    *,
    missing: str = NO_NODE_OF_POD,
    below: int | None = None,
) -> list[Entity]:
    """Return the entities of these nodes' pods, in their order there. Raises PluginError where a
    pod of a group that is evicted together is on a missing node.

    missing: see PodGroups.placed_pods; below: only those of lower priority
    Upstream: getCrossNodesVictims.
    """
    is_alone = groups.weigh_pods_alone
    entities: list[Entity] = []
    listed: set[GroupKey] = set()
    for row in rows:
        for pod in snapshot.pods[row]:
            group, priority = groups.evicted_with(pod), groups.victim_priority(pod)
            is_too_high = below is not None and priority >= below
            if group is None and not is_too_high:
                rank = _RANKS[group_key(pod.pod) is not None and not is_alone]
                uid = pod.uid if is_alone else ""
                entities.append(Entity(((pod, row),), priority, rank, start_time(pod), uid))
            elif group is not None and group.key not in listed:
                # The first pod's priority is the group's.
                listed.add(group.key)
                if is_too_high:
                    continue
                pods = tuple(groups.placed_pods(group.key, missing))
                start = min(start_time(placed) for placed, _ in pods)
                rank, uid = _RANKS[1 + group.is_composite], pods[0][0].uid if is_alone else ""
                entities.append(Entity(pods, priority, rank, start, uid))
    return entities


def in_order_of_budgets(
    entities: Sequence[Entity], disruptions: Disruptions
) -> tuple[list[Entity], dict[int, int]]:
    """Return those first whose eviction violates disruption budgets; and, by identity, how many
    pods of each do. Upstream: FilterVictimsWithPDBViolation."""
    violating = disruptions.pdb_violated_by([pod for each in entities for pod, _ in each.pods])
    counts = {id(each): sum(pod.uid in violating for pod, _ in each.pods) for each in entities}
    ordered = sorted(entities, key=lambda each: not counts[id(each)])
    return ordered, counts


class GroupPreemption(Struct, frozen=True):
    """Finds the victims of groups in minors whose queue has no groups.

    All pods and groups of lower priority leave; where the group fits then, they come back one by
    one, the most important first, and stay where it still fits.
    """

    snapshot: Snapshot
    groups: PodGroups
    disruptions: Disruptions

    def find(
        self, group: PodGroup, pods: Iterable[PodInfo], try_group: Callable[[], Status]
    ) -> tuple[Status, tuple[PlacedPod, ...]]:
        """Find the victims; see GroupPreemptionPlugin. Upstream: selectVictimsOnDomain."""
        # 1. Some victim must be less important than the group.
        if any(pod.spec.preemption_policy == "Never" for pod in pods):
            return NEVER, ()
        # All pods are victims, in the order of visits. Upstream: newDomainForWorkloadPreemption.
        by_owner: dict[PodGroup | PodInfo, list[PlacedPod]] = {}
        for row in self.snapshot.order.tolist():
            for pod in self.snapshot.pods[row]:
                own_group = self.groups.get(pod)
                owner = own_group if own_group is not None and own_group.is_indivisible else pod
                by_owner.setdefault(owner, []).append((pod, row))
        # A pod of any group counts as one of a group, and the first pod's start as the group's.
        victims = []
        for owner, members in by_owner.items():
            first = members[0][0]
            rank = _RANKS[first.spec.scheduling_group is not None]
            victims.append(Entity(tuple(members), owner.priority, rank, start_time(first)))
        lower = [victim for victim in victims if victim.priority < group.priority]
        if not lower:
            return NO_VICTIMS, ()
        placed = [pair for victim in lower for pair in victim.pods]
        with restored(self.snapshot, placed, lambda pod: self.groups.count(pod, -1)):
            # 2. The group must fit without any of them.
            for victim in lower:
                self._remove(victim)
            status = try_group()
            if not status.is_success:
                return status, ()
            # 3. They return one by one, those that violate budgets first, and stay if it still
            # fits.
            lower.sort(key=lambda victim: victim.importance)
            evicted = [v for v in self._in_order_of_budgets(lower) if not self._fits(v, try_group)]
        evicted.sort(key=lambda victim: victim.importance)
        return SUCCESS, tuple(placed for victim in evicted for placed in victim.pods)

    def _fits(self, victim: Entity, try_group: Callable[[], Status]) -> bool:
        """Return whether the group fits with the victim there; it stays then."""
        for pod, row in victim.pods:
            self.snapshot.add(pod, row)
            self.groups.count(pod, -1)
        fits = try_group().is_success
        if not fits:
            self._remove(victim)
        return fits

    def _remove(self, victim: Entity) -> None:
        """Remove the victim. The count of its group's pods with a node stays, as upstream's
        does."""
        for pod, row in victim.pods:
            self.snapshot.remove(pod, row)
            self.groups.count(pod, 1)

    def _in_order_of_budgets(self, victims: Sequence[Entity]) -> list[Entity]:
        """Return those first that violate disruption budgets. Upstream:
        filterVictimsWithPDBViolation, which counts no further for a victim once one of its pods
        violates one."""
        allowed = {budget.key: budget.allowed for budget in self.disruptions.budgets}

        def violates(victim: Entity) -> bool:
            for pod, _ in victim.pods:
                for budget in self.disruptions.matching(pod):
                    allowed[budget.key] -= 1
                    if allowed[budget.key] < 0:
                        return True
            return False

        return sorted(victims, key=lambda victim: not violates(victim))


@contextmanager
def restored(
    snapshot: Snapshot, placed: Sequence[PlacedPod], back: Callable[[PodInfo], None] | None = None
) -> Iterator[None]:
    """Put all of these pods back on their nodes afterwards, in their former order. A port that two
    of them have counts as in use as it did before. back: called with each that is put back"""
    before = {row: list(snapshot.pods[row]) for _, row in placed}
    ports = {row: set(snapshot.ports.get(row, ())) for row in before}
    try:
        yield
    finally:
        for pod, row in placed:
            if all(other.uid != pod.uid for other in snapshot.pods[row]):
                snapshot.add(pod, row)
                if back is not None:
                    back(pod)
        # Additions have changed the order and the ports, which decide about what follows.
        for row, pods in before.items():
            snapshot.pods[row][:] = pods
            if ports[row]:
                snapshot.ports[row] = ports[row]
            else:
                snapshot.ports.pop(row, None)


class EntityPreemption(Struct, frozen=True):
    """Finds the victims of a group."""

    snapshot: Snapshot
    groups: PodGroups
    nominator: Nominator
    disruptions: Disruptions
    framework: PluginsRunner

    def find(self, rejected: RejectedGroup) -> tuple[Status, GroupRoom]:
        """Find the victims and the nominations. Upstream: Preempt, selectVictimsOnDomain."""
        # 1. May the group preempt, and is a former preemption still under way?
        priority = rejected.group.priority
        never_preempts = any(pod.spec.preemption_policy == "Never" for pod in rejected.pods)
        if self.groups.have_policies:  # Upstream: resolvePreemptionPolicy
            never_preempts = rejected.group.preemption_policy == "Never"
        if never_preempts:
            return NEVER, GroupRoom()
        nominations = {pod.uid: self.nominator.node_of(pod) for pod in rejected.pods}
        if self._is_ongoing(set(nominations.values()), priority):
            return ONGOING, GroupRoom(nominations=nominations)
        # 2. All entities of lower priority leave, and the group is tried without them.
        everything = entities_on(self.groups, self.snapshot, self.snapshot.order.tolist())
        lower = [entity for entity in everything if entity.priority < priority]
        if not lower:
            return NO_VICTIMS, GroupRoom()
        with restored(self.snapshot, [placed for entity in lower for placed in entity.pods]):
            for entity in lower:
                self._remove(entity, ())
            status, assignments = rejected.try_group()
            if not status.is_success:
                return status, GroupRoom()
            # 3. They return one by one, those that violate budgets first. An entity beside which
            # the group does not fit is a victim.
            lower.sort(key=lambda entity: entity.importance)
            ordered, _ = in_order_of_budgets(lower, self.disruptions)
            evicted = [entity for entity in ordered if not self._fits(entity, assignments)]
        # 4. The group's pods are nominated to the nodes of the trial.
        evicted.sort(key=lambda entity: entity.importance)
        return self._room(evicted, assignments)

    def _room(
        self, evicted: Sequence[Entity], assignments: Sequence[Assignment]
    ) -> tuple[Status, GroupRoom]:
        """Evict these, and nominate the group's pods to their nodes."""
        victims = tuple(placed for entity in evicted for placed in entity.pods)
        names = self.snapshot.names
        nominations = {each.pod.uid: names[each.row] for each in assignments}
        message = SUCCEEDED.format(len(victims))
        return Status(Code.SUCCESS, (message,)), GroupRoom(victims, nominations)

    def _is_ongoing(self, nodes: set[str], priority: int) -> bool:
        """Return whether victims are leaving a node that a pod of the group is nominated to."""
        rows = [row for name in nodes if (row := self.snapshot.row.get(name)) is not None]
        return any(
            self.groups.victim_priority(pod) < priority and is_terminating_by_preemption(pod)
            for row in rows
            for pod in self.snapshot.pods[row]
        )

    def _fits(self, entity: Entity, assignments: Sequence[Assignment]) -> bool:
        """Return whether the group's pods fit where they are with the entity there; it stays then.
        The pods come one after the other, as in the trial that their states are of."""
        filtering = self.framework.filtering
        # The entity returns to its nodes, and the states of the group's pods learn of it.
        for pod, row in entity.pods:
            self.snapshot.add(pod, row)
            for each in assignments:
                node = NodeInfo(self.snapshot, row)
                _check(filtering.run_add_pod(each.state, each.pod, pod, node))
        # Each pod is assumed while the next one is checked. The stack takes all back in the end.
        with ExitStack() as assumed:
            for each in assignments:
                fits = filtering.run_on_node_with_nominated_pods(each.state, each.pod, each.row)
                if not fits.is_success:
                    self._remove(entity, assignments)
                    return False
                node = NodeInfo(self.snapshot, each.row)
                self.snapshot.add(each.pod, each.row)
                self.framework.reserve(each.state, each.pod, node)
                assumed.callback(self.snapshot.remove, each.pod, each.row)
                assumed.callback(self.framework.unreserve, each.state, each.pod, node)
        return True

    def _remove(self, entity: Entity, assignments: Sequence[Assignment]) -> None:
        for pod, row in entity.pods:
            self.snapshot.remove(pod, row)
            for each in assignments:
                node = NodeInfo(self.snapshot, row)
                _check(self.framework.filtering.run_remove_pod(each.state, each.pod, pod, node))


class PotentialVictims:
    """The entities that a trial is without, by node: which of them the pods that it has assumed so
    far condemn, because they are on the nodes of these.

    Upstream: PodGroupPreemptionState.
    """

    def __init__(self, entities: Iterable[Entity], violations: Mapping[int, int]) -> None:
        """List the entities on each row, in order of importance.

        violations: of disruption budgets, by identity of an entity
        """
        self._violations = violations
        self._condemned: set[int] = set()
        self._on_row: defaultdict[int, list[Entity]] = defaultdict(list)
        for entity in sorted(entities, key=lambda entity: entity.importance):
            for row in dict.fromkeys(row for _, row in entity.pods):
                self._on_row[row].append(entity)

    def surviving(self, row: int) -> list[Entity]:
        """Return those on a node that no pod condemns, the most important first."""
        return [each for each in self._on_row.get(row, ()) if id(each) not in self._condemned]

    def condemn(self, entities: Iterable[Entity]) -> None:
        self._condemned.update(map(id, entities))

    def spare(self, entities: Iterable[Entity]) -> None:
        self._condemned.difference_update(map(id, entities))

    def rank(self, rows: Rows) -> RankedNodes:
        """Rank nodes by what a pod there would condemn: those first where that is nothing.
        Upstream: RankNodes."""
        costs: list[Cost] = []
        for row in rows.tolist():
            # The sort key of a set of victims. Upstream: CompareVictimSets.
            entities = self.surviving(row)
            pods_of: dict[int, int] = {}
            for entity in entities:
                pods_of[entity.priority] = pods_of.get(entity.priority, 0) + len(entity.pods)
            violations = sum(self._violations[id(entity)] for entity in entities)
            sizes = tuple((entity.rank, len(entity.pods)) for entity in entities)
            costs.append((bool(entities), violations, tuple(pods_of.items()), sizes))
        ranks = {cost: rank for rank, cost in enumerate(sorted({NO_COST, *costs}))}
        of_rows = np.array([ranks[cost] for cost in costs], dtype=np.intp)
        order = np.argsort(of_rows, kind="stable")
        return RankedNodes(rows[order], of_rows[order])


# Whether there are victims; violations of budgets; per priority, from the highest, how many pods;
# per victim its rank and how many pods it has.
Cost: TypeAlias = "tuple[bool, int, tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]"
NO_COST: Cost = (False, 0, (), ())


class CondemningPreemption(EntityPreemption, frozen=True):
    """Finds the victims of a group whose pods choose, one by one, the nodes with the cheapest
    victims.

    offer: has the plugin rank nodes by these victims, or none
    """

    offer: Callable[[PotentialVictims | None], None]

    def find(self, rejected: RejectedGroup) -> tuple[Status, GroupRoom]:
        """Find the entities to evict for a group, and nominate its pods. Upstream: Preempt,
        GenerateVictims, selectVictimsOnDomain."""
        # 1. Is a former preemption still under way, and may the group preempt?
        group, priority = rejected.group, rejected.group.priority
        nominations = {pod.uid: self.nominator.node_of(pod) for pod in rejected.pods}
        if self._is_ongoing(set(nominations.values()), priority):
            return ONGOING, GroupRoom(nominations=nominations)
        policies = {pod.spec.preemption_policy for pod in rejected.pods}
        if "Never" in ({group.preemption_policy} if group.preemption_policy else policies):
            return NEVER, GroupRoom()
        # 2. All entities of lower priority leave, and the group is tried without them, on the
        # nodes where they weigh least.
        rows = self.snapshot.order.tolist()
        lower = entities_on(self.groups, self.snapshot, rows, missing=NO_NODE, below=priority)
        if not lower:
            return NO_VICTIMS_AT_ALL, GroupRoom()
        lower.sort(key=lambda entity: entity.importance)
        ordered, violations = in_order_of_budgets(lower, self.disruptions)
        with restored(self.snapshot, [placed for entity in lower for placed in entity.pods]):
            for entity in lower:
                self._remove(entity, ())
            self.offer(PotentialVictims(lower, violations))
            try:
                status, assignments = rejected.try_group()
            finally:
                self.offer(None)
            if not status.is_success:
                return status, GroupRoom()
            # 3. They return one by one, those that violate budgets first. An entity beside which
            # the group does not fit is a victim.
            evicted = [entity for entity in ordered if not self._fits(entity, assignments)]
        status, room = self._room(evicted, assignments)
        return status, replace(room, nodes=tuple(dict.fromkeys(room.nominations.values())))


class EntityDryRun(Struct, frozen=True):
    """Selects one pod's victims on nodes. no_victims, explain: see DryRun"""

    filtering: FilterOperations
    snapshot: Snapshot
    groups: PodGroups
    state: CycleState
    pod: PodInfo
    disruptions: Disruptions
    no_victims: Callable[[str], Victims | Rejection]
    explain: Explanation | None = None

    def victims_on(self, rows: Rows) -> list[Victims | Rejection]:
        """Return, per row, the victims, or why there are none."""
        missing = NO_NODE_INFO if self.groups.weigh_pods_alone else NO_NODE_OF_POD
        results: list[Victims | Rejection] = []
        for row in rows.tolist():
            try:
                entities = entities_on(self.groups, self.snapshot, [row], missing=missing)
                lower = [entity for entity in entities if entity.priority < self.pod.priority]
                result = _NodeSelection(self, row).select(lower) if lower else NO_VICTIMS_ON_NODE
            except PluginError as error:
                result = Rejection(Status.error(str(error)))
            results.append(result)
        return results


class _NodeSelection:
    """The selection on one node. Upstream: SelectVictimsOnNode.

    reasons: by uid, why a victim may not stay
    """

    def __init__(self, run: EntityDryRun, row: int) -> None:
        self.run = run
        self.row = row
        self.fork = run.snapshot.fork([row])
        self.state = run.state.clone()
        self.node = NodeInfo(self.fork, row)
        self.reasons: dict[str, Rejection] = {}

    def select(self, lower: list[Entity]) -> Victims | Rejection:
        # 1. The pod must fit without any entity of lower priority.
        for entity in lower:
            self._move(entity, is_back=False)
        rejection = self._rejection()
        if rejection is not None:
            return rejection
        # 2. Entities return while the pod still fits, those that violate budgets first.
        lower.sort(key=lambda entity: entity.importance)
        ordered, violations = in_order_of_budgets(lower, self.run.disruptions)
        spared = [entity for entity in ordered if self._fits(entity)]
        evicted = [entity for entity in ordered if entity not in spared]
        if not evicted:
            return self.run.no_victims(self.node.name)
        # 3. The budgets' order becomes the order of importance again.
        if any(violations.values()) and not all(violations.values()):
            evicted.sort(key=lambda entity: entity.importance)
        victims = tuple(pod for entity in evicted for pod, _ in entity.pods)
        count = sum(violations[id(entity)] for entity in evicted)
        if self.run.explain is None:
            return Victims(victims, count)
        spared_pods = tuple(pod for entity in spared for pod, _ in entity.pods)
        return Victims(victims, count, spared_pods, self.reasons)

    def _fits(self, entity: Entity) -> bool:
        """Return whether the pod fits with the entity there; it stays then."""
        self._move(entity, is_back=True)
        rejection = self._rejection()
        if rejection is None:
            return True
        self._move(entity, is_back=False)
        self.reasons |= {pod.uid: rejection for pod, _ in entity.pods}
        return False

    def _move(self, entity: Entity, *, is_back: bool) -> None:
        """Move the entity's pods. Only this node changes; plugins learn of the pods on others
        too."""
        filtering, fork = self.run.filtering, self.fork
        for pod, row in entity.pods:
            at = self.node if row == self.row else NodeInfo(self.run.snapshot, row)
            if row == self.row:
                (fork.add if is_back else fork.remove)(pod, row)
            extension = filtering.run_add_pod if is_back else filtering.run_remove_pod
            _check(extension(self.state, self.run.pod, pod, at))

    def _rejection(self) -> Rejection | None:
        run, nodes = self.run, Nodes.of(self.node)
        verdicts = run.filtering.run_with_nominated_pods(self.state, run.pod, nodes)
        status = verdicts.statuses[verdicts.ids[0]]
        if status.is_success:
            return None
        details = run.explain(status.plugin, self.state, self.node) if run.explain else ()
        return Rejection(status, details)


def _check(status: Status) -> None:
    if status is not SUCCESS and not status.is_success:
        raise PluginError(status.message)
