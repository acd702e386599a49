"""Which nodes could go: nodes that can be drained, one after the other, with every pod placed
elsewhere by the configuration's own rules, and what holds the others.

The nodes that go are all cordoned first, so that each pod moves once. A search finds them: small
nodes first, in growing batches, then one by one. The resulting plan is drained node by node, a run
for each, and all at once in one more; a node whose drain fails there stays. Where there are few
nodes, all larger sets are tried too.

An upgrade drains and replaces the nodes of a pool in waves. The nodes that are to be replaced are
cordoned, so that each pod moves once. A wave begins with new nodes, up to as many as the surge,
each a copy of one that is still to be drained; then nodes are drained one after the other, as in a
shrink, until as many have gone as came. A node whose drain does not finish is tried again in the
next wave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb, floor
from typing import Annotated, ClassVar, Literal, Self

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType, structs

from ksched_cli.analysis.cluster_cost import ClusterCost, cluster_cost
from ksched_cli.analysis.diagnosis import PendingGroup
from ksched_cli.analysis.drained_cluster import DrainedCluster, DrainOutcome, Hold
from ksched_cli.analysis.more_nodes import likes_of
from ksched_cli.analysis.named_objects import Subject, check_nodes, label_selector_of
from ksched_cli.analysis.question import Opened, Question
from ksched_cli.analysis.repack import NewNodes, Repack, repack, repack_onto
from ksched_cli.analysis.schedule import ClusterMap, grouping_labels
from ksched_cli.analysis.search import Search
from ksched_cli.analysis.usage import (
    CONTROL_PLANE,
    NodeUsage,
    UtilizationByLabel,
    node_usages,
    pool_label,
    quantity,
    utilization_by,
)
from ksched_cli.answers import HIDDEN, Count, Part, Rank, StateAnswer
from ksched_cli.cluster.loading.gc_control import gc_rare
from ksched_cli.cluster.loading.state_warnings import budget_warnings
from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.resources import PODS, node_allocatable
from ksched_cli.cluster.snapshot import Column
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.scheduling_cycle import first_by_name
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.kube.selectors import Selector
from ksched_cli.kube.time import unix_seconds
from ksched_cli.scenario.drain import PodRules, goes_with_node, node_stays
from ksched_cli.scenario.pods import time_of
from ksched_cli.scenario.prices import NO_PRICES, Prices

# Larger sets are tried one by one where they are not more than this.
MAX_SETS = 300

# A plan is verified by a drain of all its nodes at once, and one by one: each takes no longer than
# the drains that found the nodes.
_VERIFICATIONS = 2

# Up to this many nodes, those that stay are tried in front of those that go, too, and at once with
# them.
MAX_IN_FRONT = 100

OnProgress = Callable[[int, int], None]


def counted_nodes(count: int) -> str:
    """Return how many nodes could go, for a line of progress."""
    return f"{count:,} nodes could go" if count != 1 else "1 node could go"


# Why a node stays whose drain after the others would finish.
INSTEAD = "it could go only instead of another node that goes"
NOT_LOOKED_AT = "the search was stopped before this node was tried"
NOT_AT_ONCE = "draining it together with all nodes that go would leave pods without a node"


class NodeToDrain(Part, frozen=True, kw_only=True, omit_defaults=True):
    """A node, and whether it could go.

    order: of the nodes that go, which one it is in their order
    moves_to: pod → the node that it moves to
    waits: its drain waits that many times until evicted pods are healthy elsewhere
    held_by: what keeps the node
    """

    node: str
    removable: bool
    order: Rank | None = None
    moves_to: Mapping[str, str] = msgspec.field(default_factory=dict)
    waits: Count = 0
    held_by: tuple[Hold, ...] = ()

    @classmethod
    def of(cls, node: str, drain: DrainOutcome, order: int) -> NodeToDrain:
        """Return a node whose drain finished."""
        return cls(
            node=node,
            removable=True,
            order=order,
            moves_to=dict(sorted(drain.moves.items())),
            waits=max(0, drain.rounds - 1),
        )

    @classmethod
    def staying(cls, node: str, held: Mapping[str, tuple[Hold, ...]]) -> NodeToDrain:
        """Return a node that cannot go. held: what keeps each such node"""
        return cls(node=node, removable=False, held_by=held[node])


class ShrinkResult(StateAnswer, frozen=True, kw_only=True):
    """Which nodes could go.

    nodes: those that could go, in the order of their drains; then the others, by name; without
           those that -l leaves out
    removable: how many could go
    freed: resource → quantity, allocatable of the nodes that could go
    total: resource → quantity, allocatable of all nodes of the cluster
    overhead: resource → quantity, of what is freed, requested by pods that go with their nodes:
              those of DaemonSets, static ones
    uncontrolled: pods that move and have no controller: somebody has to create them again
    per_hour: what the nodes that could go cost an hour; with prices only
    cost: of all these nodes; missing without prices
    cost_after: the same once the nodes that could go are gone, and the new ones are there
    pools: how full the pools of these nodes are and what they cost; with prices only
    pools_after: the same once the nodes that could go are gone, and the new ones are there
    added: the new nodes that join before the first drain; only with --replace-with
    added_per_hour: what these cost
    repack: how few nodes would do, were every pod placed afresh; only with --repack
    new_nodes: which new nodes would do then; only with --repack and --like
    pending: pods that were pending before any drain and stay so, by owner and cause; they are left
             aside
    stopped_at: --max, where it was reached
    stopped: why the search ended early; the answer is then the best plan until then
    undecided: a plugin's failure left a pod undecided
    cluster_map: the nodes before and after
    """

    COMMAND: ClassVar = "shrink"
    VIEW: ClassVar = "shrink:view"
    ROWS: ClassVar = "nodes"

    kind: Literal["ShrinkResult"] = "ShrinkResult"
    nodes: tuple[NodeToDrain, ...]
    removable: Count
    freed: Mapping[str, str]
    total: Mapping[str, str]
    overhead: Mapping[str, str]
    uncontrolled: tuple[str, ...] = ()
    per_hour: float | UnsetType = UNSET
    cost: ClusterCost | UnsetType = UNSET
    cost_after: ClusterCost | UnsetType = UNSET
    pools: UtilizationByLabel | UnsetType = UNSET
    pools_after: UtilizationByLabel | UnsetType = UNSET
    added: tuple[str, ...] | UnsetType = UNSET
    added_per_hour: float | UnsetType = UNSET
    repack: Repack | UnsetType = UNSET
    new_nodes: NewNodes | UnsetType = UNSET
    pending: tuple[PendingGroup, ...] = ()
    stopped_at: Rank | None = None
    stopped: str = ""
    undecided: Annotated[bool, HIDDEN] = False
    cluster_map: Annotated[ClusterMap | None, HIDDEN] = None

    @property
    def succeeds(self) -> bool:
        """Return whether a node could go."""
        return self.removable > 0

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(self.succeeds, self.undecided)


@dataclass(frozen=True, slots=True)
class ShrinkLimits:
    """among: the nodes to look at, by their labels. keep: those of them that stay. maximum: how
    many may go. keep_free: the share of each resource that stays free, 0 to 1. prices: of nodes,
    whose sum is to be high; without any, their number is. replacement: copies of it may join, where
    that saves more than they cost"""

    among: Selector | None = None
    keep: Selector | None = None
    maximum: int | None = None
    keep_free: float = 0
    prices: Prices = NO_PRICES
    replacement: Node | None = None

    @classmethod
    def of(
        cls,
        subject: Subject,
        selector: str,
        keep: str,
        maximum: int | None = None,
        keep_free: float = 0,
        replace_with: str = "",
    ) -> Self:
        """selector, keep: as -l and --keep take them; "" for none. replace_with: a node's name. The
        prices are those of the Run. Raises UsageError, also where no node has the labels of the
        selector, or the node has no price."""
        nodes = {node.name: node for node in subject.simulation.state.nodes}
        check_nodes(subject.simulation, filter(None, [replace_with]))
        limits = cls(
            among=label_selector_of(selector) if selector else None,
            keep=label_selector_of(keep) if keep else None,
            maximum=maximum,
            keep_free=keep_free,
            prices=subject.opener.prices(subject.run),
            replacement=nodes[replace_with] if replace_with else None,
        )
        if replace_with and limits.prices.of_node(nodes[replace_with]) is None:
            raise UsageError(
                f"--replace-with compares prices, and {replace_with} has none; add --price "
                f"{replace_with}=N"
            )
        if selector and not any(map(limits.selects, subject.simulation.state.nodes)):
            raise UsageError(f"no node has the labels of -l {selector}")
        return limits

    def worth(self, nodes: Iterable[Node]) -> float:
        """Return the hourly cost of nodes; without prices, their number."""
        return self.prices.total(nodes) if self.prices.listed else float(sum(1 for _ in nodes))

    def selects(self, node: Node) -> bool:
        """Return whether it is one of those to look at."""
        return self.among is None or self.among.matches(node.metadata.labels)

    def stays(self, node: Node) -> str:
        """Return why the node itself must stay, or ""."""
        labels = node.metadata.labels
        if self.keep is not None and self.keep.matches(labels):
            return "--keep selects it"
        if any(key in labels for key in CONTROL_PLANE):
            return "the control plane runs there"
        return node_stays(node)


@dataclass(frozen=True, slots=True)
class DrainPlan:
    """The drains of nodes, in order. failed: the nodes whose drains did not finish"""

    drains: Mapping[str, DrainOutcome]
    failed: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(self.drains)


class Room:
    """The share of each resource that is to stay free, of what pods request at all.

    It is the share of all nodes together that stay and are not cordoned. A node may go where it
    holds of the resources that the node has.
    """

    def __init__(self, base: DrainedCluster, share: float) -> None:
        """base: before any drain; share: 0 to 1"""
        snapshot = base.live.snapshot
        self._share = share
        self._row = snapshot.row
        # By resource and row: what there is to use, what is used of it, and what of that moves.
        self._columns: dict[str, tuple[Column, Column, Column]] = {}
        for resource, allocatable in snapshot.node_columns.allocatable.items() if share else ():
            requested = snapshot.requested(resource)
            if resource == PODS or not requested.any():
                continue
            moving = requested.copy()
            for row, pods in enumerate(snapshot.pods):
                for pod in pods:
                    if goes_with_node(pod.pod):
                        moving[row] -= pod.resources.requests.get(resource, 0)
            is_open = ~snapshot.unschedulable
            self._columns[resource] = allocatable * is_open, requested * is_open, moving

    def lacking(self, nodes: Sequence[str]) -> str:
        """Return of which resource too little would be free without these nodes, or ""."""
        rows = [self._row[name] for name in nodes] if self._columns else []
        for resource, (usable, used, moving) in self._columns.items():
            gone = int(usable[rows].sum())
            total = int(usable.sum()) - gone
            free = total - int(used.sum()) + int(used[rows].sum()) - int(moving[rows].sum())
            if gone and free < self._share * total:
                left = max(0, floor(100 * free / total)) if total else 0
                return f"{left}% of {resource} would be free, less than --keep-free asks for"
        return ""


@dataclass(slots=True)
class Shrinking:
    """The search of one cluster.

    cluster:    before any drain; `carried_out` changes it
    candidates: the nodes that nothing about them or their pods keeps, in the order in which they
                are tried
    maximum:    how many nodes may go
    worth:      of nodes that go; the plan worth most is searched for
    room:       what must stay free
    progress:   when the search ends with what it has, and who hears of it
    """

    cluster: DrainedCluster
    candidates: Sequence[str]
    maximum: int
    worth: Callable[[Iterable[str]], float]
    room: Room
    progress: Search
    # The plan that the cluster is after, and what takes its drains back.
    _after: DrainPlan = field(default_factory=lambda: DrainPlan({}))
    _drains: ExitStack = field(default_factory=ExitStack)
    # The nodes without which a drain of all at once has finished.
    _blocking: set[str] = field(default_factory=set)
    # How many nodes the batches that could go have, and how many seconds their drains took.
    _drained: int = 0
    _seconds: float = 0

    def run(self) -> DrainPlan:
        """Return the plan that is worth the most, of those found. A drain of all its nodes at once
        finishes."""
        if len(self.candidates) > MAX_IN_FRONT:
            plan = self._plan_of_many()
            self.progress.reserve = 0
            return plan
        # 1. Nodes are added to the plan until no other can go after them.
        plan = self._extended(DrainPlan({}))
        # 2. Each of the others is tried in front, too.
        plan = self._reordered(plan)
        # 3. What blocks a drain of all at once does not go; and what can go without that.
        plan = self._at_once(plan)
        while not self.progress.stops() and (larger := self._larger(plan)) is not None:
            extended = self._extended(larger)
            plan = extended if self._drained_at_once(extended.nodes).finishes else larger
        return plan

    def holds(self, plan: DrainPlan) -> Iterator[tuple[str, tuple[Hold, ...]]]:
        """Return what keeps the candidates that are not in the plan, which was carried out."""
        is_full = len(plan.drains) == self.maximum
        for done, node in enumerate(self.candidates):
            if node in plan.drains:
                continue
            if is_full:
                yield node, (Hold(None, f"--max {self.maximum} was reached"),)
                continue
            if self.progress.stops():
                yield node, (Hold(None, NOT_LOOKED_AT),)
                continue
            lacking = self.room.lacking((*plan.nodes, node))
            if lacking:
                yield node, (Hold(None, lacking),)
                continue
            with self.cluster.trial():
                self.cluster.leave((node,))
                drain = self.cluster.drain((node,), explains=True)
            self.progress.step(done, len(self.candidates), counted_nodes(len(plan.drains)))
            yield node, (Hold(None, INSTEAD),) if drain.finishes else drain.why

    def why_not_too(self, plan: DrainPlan, node: str) -> str:
        """Return why a node stays whose drain after those of the plan would finish."""
        if node in self._blocking:
            return NOT_AT_ONCE
        is_small = len(self.candidates) <= MAX_IN_FRONT and not self.progress.stops()
        joins = not is_small or self._drained_at_once((*plan.nodes, node)).finishes
        return INSTEAD if joins else NOT_AT_ONCE

    def _drained_at_once(self, nodes: Sequence[str]) -> DrainOutcome:
        self.take_back()
        with self.cluster.trial():
            self.cluster.leave(nodes)
            return self.cluster.drain(nodes)

    def carry_out(self, plan: DrainPlan) -> None:
        """Bring the cluster to where it is after the plan, if it is not there."""
        if plan.nodes != self._after.nodes:
            self.plan(plan.nodes)

    def take_back(self) -> None:
        """Bring the cluster to where it is before any drain."""
        self._drains.close()
        self._after = DrainPlan({})

    def plan(self, nodes: Sequence[str], least: float = 0) -> DrainPlan:
        """Return the drains of these nodes, which are gone from the first drain on. One whose drain
        does not finish is tried again after the others, as long as that helps. The cluster stays as
        it is after them where all finish.

        least: give up where the nodes that are drained at first cannot be worth more
        """
        self.take_back()
        if not nodes:
            return DrainPlan({})
        self._drains.enter_context(self.cluster.trial())
        self.cluster.leave(nodes)
        plan = self._drain_each(nodes, least)
        if plan.failed:
            self.take_back()
        else:
            self._after = plan
        return plan

    def _drain_each(self, nodes: Sequence[str], least: float) -> DrainPlan:
        drains = dict[str, DrainOutcome]()
        left = list(nodes)
        while left:
            failed = []
            for node in left:
                drain = self.cluster.drain((node,))
                if drain.finishes:
                    drains[node] = drain
                else:
                    failed.append(node)
                    if least and self.worth(nodes) - self.worth(failed) <= least:
                        return DrainPlan(
                            drains, tuple(name for name in nodes if name not in drains)
                        )
            if len(failed) == len(left):
                break
            left = failed
        return DrainPlan(drains, tuple(left))

    def _plan_of_many(self) -> DrainPlan:
        """Return the plan of many candidates. They are chosen by drains of all at once, which cost
        the least; their own drains come last."""
        chosen: list[str] = []
        # 1. Nodes are added as long as some can go after those that are gone.
        while len(chosen) < self.maximum and not self.progress.stops():
            with self.cluster.trial():
                gone = self._blocking.union(chosen)
                others = [node for node in self.candidates if node not in gone]
                more = self._search(others, self.maximum - len(chosen), chosen)
            larger = self._together([*chosen, *more], chosen) if more else chosen
            if larger is chosen:
                break
            # Those that block a drain of all at once would mostly do so again.
            self._blocking.update({*chosen, *more}.difference(larger))
            gained = self.worth(larger) - self.worth(chosen)
            chosen = larger
            # A round asks about all other nodes again. After one that gained less than 1 %, another
            # one mostly gains nothing.
            if gained < self.worth(chosen) / 100:
                break
        # 2. Each is drained by itself. What fails then is left out. To fill the room that this
        # makes takes longer than all else, and saved up to 2 % more (benchmarks/planning.py).
        while (plan := self.plan(chosen)).failed:
            chosen = self._together([node for node in chosen if node not in plan.failed], [])
        return plan

    def _together(self, nodes: list[str], before: list[str]) -> list[str]:
        """Return these nodes without those that block a drain of all at once, after which the
        cluster is then. Return those before where these are worth no more; the cluster is then
        as it is before any drain."""
        while self.worth(nodes) > self.worth(before):
            self.take_back()
            self._drains.enter_context(self.cluster.trial())
            self.cluster.leave(nodes)
            drain = self.cluster.drain(nodes)
            if drain.finishes:
                return nodes
            stuck = {pod.node_name for pod in drain.unplaced} or {nodes[-1]}
            nodes = [name for name in nodes if name not in stuck]
        self.take_back()
        return before

    def _largest(self, nodes: Sequence[str], before: DrainPlan | None = None) -> DrainPlan:
        """Return the plan of these nodes without those whose drains fail. before: another result,
        which is this one too where its nodes remain, or no more can"""
        simulation = self.cluster.simulation
        others = bool(simulation.caller.foreign or simulation.extenders.extenders)
        # Plugins and extenders of others may decide otherwise when they are asked again.
        repeats = simulation.options.tie_break is first_by_name and not others
        least = self.worth(before.nodes) if before is not None else 0
        plan = self.plan(nodes, least)
        while plan.failed:
            if before is not None and least and self.worth(plan.nodes) <= least:
                return before
            if repeats and before is not None and plan.nodes == before.nodes:
                return before
            plan = self.plan(plan.nodes, least)
        return plan

    def _extended(self, plan: DrainPlan) -> DrainPlan:
        """Extend the plan by the other candidates that can go too."""
        while len(plan.drains) < self.maximum and not self.progress.stops():
            self.carry_out(plan)
            with self.cluster.trial():
                others = [node for node in self.candidates if node not in plan.drains]
                more = self._search(others, self.maximum - len(plan.drains), plan.nodes)
            if not more:
                break
            nodes = (*plan.nodes, *more)
            larger = self._largest(nodes)
            if self.worth(larger.nodes) <= self.worth(plan.nodes):
                break
            plan = larger
        return plan

    def _search(self, nodes: Sequence[str], maximum: int, before: Sequence[str]) -> list[str]:
        """Drain batches of nodes, each with the ones before. Their size doubles after two that
        succeed, and halves after one that does not. Pods may move more than once here. before: that
        are gone"""
        chosen, begin, size, finished = list[str](), 0, 1, True
        while begin < len(nodes) and len(chosen) < maximum:
            batch = nodes[begin : begin + min(size, maximum - len(chosen))]
            self._reserve(len(before) + len(chosen), len(batch))
            if len(batch) > 1 and self.progress.is_short():
                size = len(batch) // 2
                continue
            if self.progress.stops():
                break
            finishes = False
            if self.room.lacking((*before, *chosen, *batch)):
                pass
            elif len(batch) > 1 or finished or self.cluster.seems_to_leave(batch[0]):
                with self.cluster.trial() as trial:
                    self.cluster.leave(batch)
                    began = self.progress.clock()
                    finishes = self.cluster.drain(batch, gives_up=True).finishes
                    if finishes:
                        trial.keep()
                        chosen += batch
                        self._seconds += self.progress.clock() - began
                        self._drained += len(batch)
            if finishes or len(batch) == 1:
                begin += len(batch)
                self.progress.step(begin, len(nodes), counted_nodes(len(chosen)))
            size = size * (2 if finished else 1) if finishes else max(size // 2, 1)
            finished = finishes
        return chosen

    def _reserve(self, chosen: int, more: int) -> None:
        """Reserve time for the drains of so many more nodes, and for those that verify a plan."""
        if self._drained and len(self.candidates) > MAX_IN_FRONT:
            each = self._seconds / self._drained
            self.progress.reserve = each * (more + _VERIFICATIONS * (chosen + more))

    def _reordered(self, plan: DrainPlan) -> DrainPlan:
        """Put the other candidates in front of the drains, where that gains more: pods that fit on
        few nodes move first then."""
        for node in self.candidates:
            if node not in plan.drains and not self.progress.stops():
                nodes = (node, *plan.nodes)[: self.maximum]
                if self.room.lacking(nodes):
                    continue
                other = self._largest(nodes, plan)
                if self.worth(other.nodes) > self.worth(plan.nodes):
                    plan = self._extended(other)
        return plan

    def _at_once(self, plan: DrainPlan) -> DrainPlan:
        """Return the plan without nodes that block a drain of all at once: of those whose pods it
        leaves without a node the last one, again and again."""
        nodes, late = list(plan.nodes), list[str]()
        while nodes:
            drain = self._drained_at_once(nodes)
            if drain.finishes and len(nodes) == len(plan.nodes):
                break
            if drain.finishes:
                plan = self._largest(nodes)
                nodes = list(plan.nodes)
                continue
            stuck = {pod.node_name for pod in drain.unplaced}
            last = next((name for name in reversed(nodes) if name in stuck), nodes[-1])
            nodes.remove(last)
            late.append(last)
        if not nodes:
            plan = DrainPlan({})
        for node in late:
            larger = self.plan((*plan.nodes, node))
            if not larger.failed and self._drained_at_once(larger.nodes).finishes:
                plan = larger
        return plan

    def _larger(self, plan: DrainPlan) -> DrainPlan | None:
        """Return a plan that is worth more, where all sets of candidates that are can be tried."""
        size, worth = len(plan.drains) + 1, self.worth(plan.nodes)
        sizes = range(1, self.maximum + 1)
        # Where each is worth 1, only more nodes are worth more.
        if self.worth(self.candidates) == len(self.candidates):
            sizes = range(size, min(size, self.maximum) + 1)
        if sum(comb(len(self.candidates), each) for each in sizes) > MAX_SETS:
            return None
        sets = [nodes for each in sizes for nodes in combinations(self.candidates, each)]
        for nodes in sorted(sets, key=self.worth, reverse=True):
            if self.worth(nodes) <= worth:
                break
            if self.room.lacking(nodes):
                continue
            larger = self.plan(nodes)
            if not larger.failed and self._drained_at_once(larger.nodes).finishes:
                return larger
        return None


def rules_of(state: ClusterState, force: bool, loses_local_storage: bool) -> PodRules:
    """By the clock of the state; see PodRules."""
    read_at = state.taken or time_of(state)
    now = unix_seconds(read_at) if read_at else 0.0
    return PodRules(now, force, loses_local_storage)


def shrink(
    base: DrainedCluster,
    limits: ShrinkLimits,
    progress: Search | None = None,
    *,
    draws_map: bool = False,
    repacks: bool = False,
) -> ShrinkResult:
    """base: after the run that places what waits. draws_map: with the map of a page. repacks: asks
    how few nodes would do, too"""
    nodes = {node.name: node for node in base.state.nodes if limits.selects(node)}
    held = dict(held_at_once(base, nodes.values(), limits))
    free = [name for name in nodes if name not in held]
    free_to_go = [name for name, node in nodes.items() if not limits.stays(node)]
    maximum = min(limits.maximum or len(free), len(free))

    def worth(names: Iterable[str]) -> float:
        return limits.worth(map(nodes.__getitem__, names))

    repacked = repack(base, _in_order(base, free_to_go, limits)) if repacks else UNSET
    needs_usages = draws_map or bool(limits.prices.listed)
    before = node_usages(base.live.snapshot, limits.prices) if needs_usages else ()
    pools, cost = _costs(base, limits, before, before)
    order, search_of = _in_order(base, free, limits), progress or Search()

    def searching() -> Shrinking:
        """Begin a search in the cluster as it is now."""
        return Shrinking(base, order, maximum, worth, Room(base, limits.keep_free), search_of)

    replacement = None
    if limits.replacement is not None:
        replacement = _replaced(base, limits, limits.replacement, searching)
    with base.trial():
        if replacement is not None:
            base.add_copies([replacement.model] * len(replacement.names))
        search = searching()
        plan = search.run() if replacement is None else replacement.plan
        search.carry_out(plan)
        after = node_usages(base.live.snapshot, limits.prices) if needs_usages else ()
        pools_after, cost_after = _costs(base, limits, before, after, replacement)
        held |= search.holds(plan)
        search.take_back()
        for name, holds in held.items():
            if holds == (Hold(None, INSTEAD),):
                held[name] = (Hold(None, search.why_not_too(plan, name)),)
    going = [
        NodeToDrain.of(name, drain, order)
        for order, (name, drain) in enumerate(plan.drains.items(), 1)
    ]
    return ShrinkResult(
        nodes=(
            *going,
            *(
                NodeToDrain.staying(each, held)
                for each in sorted(nodes.keys() - plan.drains.keys())
            ),
        ),
        removable=len(going),
        freed=_quantities(_allocatable(map(nodes.__getitem__, plan.drains))),
        total=_quantities(_allocatable(base.state.nodes)),
        overhead=_quantities(_overhead(base, plan.drains)),
        uncontrolled=base.uncontrolled(plan.drains.keys()),
        per_hour=round(worth(plan.nodes), 6) if limits.prices.listed else UNSET,
        cost=cost,
        cost_after=cost_after,
        pools=pools,
        pools_after=pools_after,
        added=UNSET if replacement is None else replacement.names,
        added_per_hour=UNSET if replacement is None else round(replacement.per_hour, 6),
        repack=repacked,
        pending=base.pending,
        stopped_at=limits.maximum if limits.maximum == len(going) else None,
        stopped=search.progress.why(),
        undecided=bool(base.simulation.caller.defects),
        cluster_map=_map(base, plan, before, after) if draws_map else None,
    )


@dataclass(frozen=True, slots=True)
class NodeReplacement:
    """New nodes that are copies of a model, and the plan of the nodes that could go once they are
    there.

    per_hour: what the new ones cost; saved: what that saves, all in all
    """

    model: Node
    names: tuple[str, ...]
    per_hour: float
    plan: DrainPlan
    saved: float


def _replaced(
    base: DrainedCluster, limits: ShrinkLimits, model: Node, searching: Callable[[], Shrinking]
) -> NodeReplacement:
    """Search for the number of copies with which the most is saved. searching: see `shrink`"""
    price = limits.worth([model])
    tried: dict[int, NodeReplacement] = {}

    def save(count: int) -> float:
        if count not in tried:
            with base.trial():
                names = base.add_copies([model] * count)
                search = searching()
                plan = search.run()
                search.take_back()
            saved = search.worth(plan.nodes) - count * price
            tried[count] = NodeReplacement(model, names, count * price, plan, saved)
        return tried[count].saved

    search = searching()
    most = int(search.worth(search.candidates) / price) if price > 0 else len(search.candidates)
    # 1. More and more nodes are added, up to those that cost as much as all that could go.
    best, count = 0, 1
    save(0)
    while count <= most and not search.progress.stops():
        best = max(best, count, key=save)
        count *= 2
    # 2. What is left idle need not join.
    drains = tried[best].plan.drains.values()
    targets = {target for drain in drains for target in drain.moves.values()}
    busy = len(targets.intersection(tried[best].names))
    # 3. The numbers around the best one are tried.
    step = max(1, best // 2)
    while step and not search.progress.stops():
        near = [each for each in (busy, best - step, best + step) if 0 <= each <= most]
        better = max(near, key=lambda each: (save(each), -each))
        if (save(better), -better) > (save(best), -best):
            best = better
        else:
            step //= 2
    return tried[best]


def _costs(
    base: DrainedCluster,
    limits: ShrinkLimits,
    before: Sequence[NodeUsage],
    usages: Sequence[NodeUsage],
    replacement: NodeReplacement | None = None,
) -> tuple[UtilizationByLabel | UnsetType, ClusterCost | UnsetType]:
    """Return the pools and the cost, as the cluster is now, of the nodes to look at and of the new
    ones, which cost what their model does; UNSET without prices. before: the nodes before the
    drains, which say by which label"""
    if not limits.prices.listed:
        return UNSET, UNSET
    new = () if replacement is None else replacement.names
    price = replacement.per_hour / len(new) if replacement is not None and new else None
    among = limits.among
    looked_at = [
        replace(each, per_hour=price) if each.name in new else each
        for each in usages
        if each.name in new or among is None or among.matches(each.labels)
    ]
    pools = utilization_by(pool_label(before), looked_at)
    return pools, cluster_cost(base.live.snapshot, looked_at)


def _map(
    base: DrainedCluster, plan: DrainPlan, before: Sequence[NodeUsage], after: Sequence[NodeUsage]
) -> ClusterMap:
    """Return the nodes before the drains, and those that are left after them."""
    place = {name: order for order, name in enumerate(plan.drains, 1)}
    nodes = base.live.snapshot.nodes
    return ClusterMap(
        before,
        after,
        grouping_labels([node.metadata.labels for node in nodes]),
        [f"goes as number {place[node.name]}" if node.name in place else "" for node in nodes],
        (),
    )


def held_at_once(
    base: DrainedCluster, nodes: Iterable[Node], limits: ShrinkLimits
) -> Iterator[tuple[str, tuple[Hold, ...]]]:
    """Yield the nodes that stay whatever fits elsewhere."""
    for node in nodes:
        because = limits.stays(node)
        holds = (Hold(None, because),) if because else base.holds(node.name)
        if holds:
            yield node.name, holds


def _in_order(base: DrainedCluster, names: Sequence[str], limits: ShrinkLimits) -> list[str]:
    """Nodes with the smallest share of what the cluster needs first, as most of these can go; with
    prices, those that cost most for their share, or where only so many may go, those that cost
    most. Among equal ones, those with the least requested."""
    size, used = _shares(base)
    nodes = {node.name: node for node in base.state.nodes}
    price = {name: limits.worth([nodes[name]]) for name in names}
    if not limits.prices.listed:
        rank = {name: size[name] for name in names}
    elif limits.maximum is not None:
        rank = {name: -price[name] for name in names}
    else:
        rank = {name: -round(price[name] / (size[name] or 1e-9), 9) for name in names}
    return sorted(names, key=lambda name: (rank[name], used[name], name))


def _shares(base: DrainedCluster) -> tuple[dict[str, float], dict[str, float]]:
    """Return, by node, the largest of its shares of the cluster's resources, each weighed by how
    much of the resource is requested; and the largest share that is requested there."""
    snapshot = base.live.snapshot
    size, used = np.zeros(len(snapshot)), np.zeros(len(snapshot))
    for resource, allocatable in snapshot.node_columns.allocatable.items():
        requested = snapshot.requested(resource)
        total = float(allocatable.sum())
        if total and requested.any():
            scarcity = float(requested.sum()) / total
            np.maximum(size, allocatable / total * scarcity, out=size)
            np.maximum(used, requested / total, out=used)
    names = snapshot.names
    return (
        dict(zip(names, size.tolist(), strict=True)),
        dict(zip(names, used.tolist(), strict=True)),
    )


def _allocatable(nodes: Iterable[Node]) -> Counter[str]:
    amounts = Counter[str]()
    for node in nodes:
        amounts.update(node_allocatable(node))
    return amounts


def _overhead(base: DrainedCluster, nodes: Iterable[str]) -> Counter[str]:
    """Return the requests of pods that leave together with these nodes."""
    amounts = Counter[str]()
    for node in nodes:
        for pod in base.pods.get(node, ()):
            if goes_with_node(pod) and not pod.finished:
                amounts.update(base.simulation.catalog.info(pod).resources.requests)
    return amounts


def _quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: quantity(name, amount) for name, amount in sorted(amounts.items()) if amount}


# -- an upgrade -----------------------------------------------------------------------------------


class Delay(Part, frozen=True):
    """A node that could not be drained at first.

    held_by: what held it; it goes once the nodes of earlier waves are replaced
    """

    node: str
    held_by: tuple[Hold, ...]


class Wave(Part, frozen=True):
    """Nodes that are replaced together.

    added: the new nodes that join before the drains
    drained: in order
    delayed: those of them whose drains failed in an earlier wave
    """

    added: tuple[str, ...]
    drained: tuple[NodeToDrain, ...]
    delayed: tuple[Delay, ...] = ()


class UpgradePlan(StateAnswer, frozen=True, kw_only=True):
    """In which waves the nodes of a pool can be drained and replaced.

    surge: how many new nodes a wave adds at most
    nodes: how many there are to replace
    replaced: how many of them can be
    waves: in order
    blocked: the nodes that cannot be drained, and what holds them for ever
    uncontrolled: pods that move and have no controller: somebody has to create them again
    pending: pods that were pending before any drain and stay so, by owner and cause; they are left
             aside
    """

    COMMAND: ClassVar = "shrink"
    VIEW: ClassVar = "shrink:upgrade_view"
    ROWS: ClassVar = "waves"

    kind: Literal["UpgradePlan"] = "UpgradePlan"
    surge: Rank
    nodes: Count
    replaced: Count
    waves: tuple[Wave, ...]
    blocked: tuple[NodeToDrain, ...]
    uncontrolled: tuple[str, ...] = ()
    pending: tuple[PendingGroup, ...] = ()
    undecided: Annotated[bool, HIDDEN] = False

    @property
    def succeeds(self) -> bool:
        """Return whether all can be replaced."""
        return not self.blocked

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(self.succeeds, self.undecided)


def upgrade(
    base: DrainedCluster, limits: ShrinkLimits, surge: int, on_progress: OnProgress | None = None
) -> UpgradePlan:
    """base: after the run that places what waits. Raises InputError where the template of a
    DaemonSet is not valid"""
    pool = [node for node in base.state.nodes if limits.selects(node)]
    models = {node.name: node for node in pool}
    held = dict(held_at_once(base, pool, limits))
    base.cordon(models)
    waiting = [name for name in models if name not in held]
    copied: list[str] = []
    waves: list[Wave] = []
    delays: dict[str, tuple[Hold, ...]] = {}
    while waiting:
        uncopied = [name for name in waiting if name not in copied]
        spare = len(copied) - sum(len(wave.drained) for wave in waves)
        new = uncopied[: surge - spare]
        copied += new
        names = base.add_copies([models[name] for name in new])
        drains, failed = _drained(base, waiting, surge)
        if not drains:
            held |= failed
            break
        drained = tuple(
            NodeToDrain.of(name, drain, order) for order, (name, drain) in enumerate(drains, 1)
        )
        late = tuple(Delay(name, delays[name]) for name, _ in drains if name in delays)
        waves.append(Wave(names, drained, late))
        delays = {**failed, **delays}
        gone = {name for name, _ in drains}
        waiting = [name for name in waiting if name not in gone]
        if on_progress is not None:
            on_progress(len(models) - len(waiting) - len(held), len(models))
    blocked = [NodeToDrain.staying(name, held) for name in sorted(held)]
    return UpgradePlan(
        surge=surge,
        nodes=len(pool),
        replaced=len(pool) - len(blocked),
        waves=tuple(waves),
        blocked=tuple(blocked),
        uncontrolled=base.uncontrolled(models.keys() - held.keys()),
        pending=base.pending,
        undecided=bool(base.simulation.caller.defects),
    )


def _drained(
    cluster: DrainedCluster, waiting: Sequence[str], most: int
) -> tuple[list[tuple[str, DrainOutcome]], dict[str, tuple[Hold, ...]]]:
    """Drain the first nodes that can be, up to this many; return what holds those before them that
    cannot. Where one went, those before it are tried again in the next wave."""
    drains: list[tuple[str, DrainOutcome]] = []
    failed: dict[str, tuple[Hold, ...]] = {}
    for name in waiting:
        if len(drains) == most:
            break
        drain = cluster.drain((name,), explains=True)
        if drain.finishes:
            drains.append((name, drain))
        else:
            failed[name] = drain.why
    return drains, failed


# -- the questions --------------------------------------------------------------------------------


class Shrink(Question[ShrinkResult], frozen=True, kw_only=True):
    """Find the nodes that could go, and the pods that hold the others.

    selector, keep: labels of the nodes to look at, and of those that stay
    maximum: how many may go
    force:   move pods without a controller, too
    delete_emptydir_data: move pods with emptyDir and hostPath volumes, too
    repack:  ask how few nodes would do, too
    like:    with repack: the nodes whose copies would take the place of all; as in MoreNodes
    is_mapped: with the map of a page
    keep_free: the share of each resource that stays free on the nodes that stay, 0 to 1
    replace_with: a node of which copies may join where that saves more than they cost; "" for none
    time_limit: seconds after which the search ends with the best plan so far; 0 for none
    """

    USES: ClassVar = ("prices",)

    selector: str = ""
    keep: str = ""
    maximum: int | None = None
    keep_free: float = 0
    replace_with: str = ""
    force: bool = False
    delete_emptydir_data: bool = False
    repack: bool = False
    like: tuple[str, ...] = ()
    is_mapped: bool = True
    time_limit: float = 0

    def answer(self, opened: Opened) -> ShrinkResult:
        subject = opened.subject()
        likes = likes_of(self.like, subject.simulation)
        limits = ShrinkLimits.of(
            subject, self.selector, self.keep, self.maximum, self.keep_free, self.replace_with
        )
        base = _before_drains(self, opened, subject)
        search = Search(self.time_limit)
        repacks = self.repack and not likes
        with opened.observer.searching("nodes tried", search), gc_rare():
            answer = shrink(base, limits, search, draws_map=self.is_mapped, repacks=repacks)
        if not likes:
            return answer
        free = [
            node for node in base.state.nodes if limits.selects(node) and not limits.stays(node)
        ]
        with opened.observer.searching("runs", search):
            shapes = [name for name in self.like if "=" not in name]
            new = repack_onto(
                base, free, likes, limits.prices, subject.simulation_of, search, shapes
            )
        return structs.replace(answer, new_nodes=new)


class Upgrade(Question[UpgradePlan], frozen=True, kw_only=True):
    """Plan waves that drain and replace the nodes with these labels.

    surge: how many new nodes a wave has; the others as in Shrink
    """

    selector: str
    keep: str = ""
    surge: int = 1
    force: bool = False
    delete_emptydir_data: bool = False

    def answer(self, opened: Opened) -> UpgradePlan:
        subject = opened.subject()
        limits = ShrinkLimits.of(subject, self.selector, self.keep)
        base = _before_drains(self, opened, subject)
        with opened.observer.progress("nodes drained") as on_progress:
            return upgrade(base, limits, self.surge, on_progress)


def _before_drains(question: Shrink | Upgrade, opened: Opened, subject: Subject) -> DrainedCluster:
    """Return the cluster before any drain."""
    state = subject.simulation.state
    opened.warn(*budget_warnings(state))
    rules = rules_of(state, question.force, question.delete_emptydir_data)
    workloads = subject.run.workloads
    return DrainedCluster.after_run(subject.simulation, rules, workloads=workloads)
