"""The number of nodes that all pending pods need.

The cluster grows as an autoscaler would have it: nodes are added for the pods that a run leaves
without one, by what these request, and the whole run is made again. A larger cluster does not
always place more: what helped is made smaller step by step, each step is a run, and the best run
that was seen is the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import (
    Callable,
    Container,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import permutations
from math import ceil
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import UNSET, UnsetType, structs
from msgspec import field as part_field

from ksched_cli.analysis.diagnosis import PendingGroup, pending_groups
from ksched_cli.analysis.hints import Hints
from ksched_cli.analysis.named_objects import Subject, label_selector_of
from ksched_cli.analysis.placement_model import (
    MAX_PAIRS,
    PROOF_SECONDS,
    PlacementModel,
    has_solver,
)
from ksched_cli.analysis.question import Opened, Question
from ksched_cli.analysis.search import Search
from ksched_cli.answers import HIDDEN, Count, Part, StateAnswer
from ksched_cli.cluster.loading.gc_control import gc_rare
from ksched_cli.cluster.objects import REGION_LABEL, ZONE_LABEL, Node, Pod
from ksched_cli.cluster.objects.node import HOSTNAME_LABEL
from ksched_cli.cluster.resources import PODS, node_allocatable
from ksched_cli.cluster.snapshot import OLDER_REGION_LABEL, OLDER_ZONE_LABEL, Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.nodes import AddNodes
from ksched_cli.scenario.pods import is_of_daemon_set, without_pods
from ksched_cli.scenario.prices import Prices
from ksched_cli.scenario.workloads import should_run_on

# Up to so many nodes each number is tried.
LINEAR_MAX = 8
# So many nodes of each kind are tried for pods that fewer did not help, at most.
MOST_AT_ONCE = 250
# Smaller numbers that are tried once one is too small.
PROBES = 1
# Labels that nodes of one pool may differ in.
OF_PLACE = frozenset(
    (HOSTNAME_LABEL, ZONE_LABEL, REGION_LABEL, OLDER_ZONE_LABEL, OLDER_REGION_LABEL)
)


class NodeTrial(Part, frozen=True):
    """The result of a run with more nodes.

    mix: node → how many copies of it
    evicted: pods that made room for others
    """

    nodes: Count
    mix: Mapping[str, Count]
    pending: Count
    evicted: Count


class HelpedGroup(Part, frozen=True):
    """Pods of one owner that more nodes give a node.

    owner: Kind/name; Pod/name of a pod without a controller
    nodes: the fewest with which all of them have one, of the numbers that were tried
    """

    owner: str
    namespace: str
    pods: tuple[str, ...]
    nodes: Count


class NodesNeeded(StateAnswer, frozen=True, kw_only=True):
    """The fewest copies of nodes, of those tried, with which every pod gets a node and none is
    evicted, but for pods of negative priority.

    like: the nodes that may be copied
    nodes_needed: null where no number that was run helps all pods
    mix: node → how many copies of it, for the pods that are helped; empty where none is
    at_least: no fewer nodes hold the pods that are helped: by what these request together; with the
              extra `optimum`, by what each requests and where it may be
    why_not_fewer: of the runs with fewer nodes, what the one with the most left pending
    evicted: pods of negative priority that are evicted with that mix
    per_hour: what these copies cost an hour, where prices are given
    limited_by: where no number helps, why a pod that stays pending does
    helped: pods that get a node
    not_helped: pods that stay pending with any number of nodes that was run
    other_zones: of each other zone a node that differs from one of `like` in its place only, where
                 a copy of each helps some of these pods
    runs: the runs made, in their order
    stopped: why the search ended early; the answer is then the best run until then
    undecided: a plugin's failure left a pod undecided
    """

    COMMAND: ClassVar = "capacity"
    VIEW: ClassVar = "capacity:nodes_needed_view"
    ROWS: ClassVar = "runs"

    kind: Literal["CapacityResult"] = "CapacityResult"
    like: tuple[str, ...]
    nodes_needed: Count | None
    mix: Mapping[str, Count] = part_field(default_factory=dict)
    at_least: Count = 0
    why_not_fewer: str = ""
    evicted: tuple[str, ...] = ()
    per_hour: float | UnsetType = UNSET
    limited_by: str = ""
    helped: tuple[HelpedGroup, ...] = ()
    not_helped: tuple[PendingGroup, ...] = ()
    other_zones: tuple[str, ...] = ()
    runs: tuple[NodeTrial, ...] = ()
    stopped: str = ""
    undecided: Annotated[bool, HIDDEN] = False

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(self.nodes_needed is not None, self.undecided)


def look_of(node: Node) -> Hashable:
    """Return what nodes of one pool have in common: all that pods see of them but their place."""
    labels = {k: v for k, v in node.metadata.labels.items() if k not in OF_PLACE}
    amounts = frozenset(node_allocatable(node).items())
    return frozenset(labels.items()), amounts, node.spec.taints, node.spec.unschedulable


def zone_of(node: Node) -> str:
    """Return the zone of the node, or ""."""
    return node.metadata.labels.get(ZONE_LABEL, "")


Mix = tuple[int, ...]
"""How many copies of each of some nodes."""

Totals = tuple[int, ...]
"""How many nodes of each of some pools."""

OpenWith = Callable[[Mix], Simulation]
"""Opens the cluster with so many copies more."""


@dataclass(frozen=True, slots=True)
class NodePool:
    """Nodes that differ in their place only. nodes: one of each zone; indexes: theirs in a mix"""

    nodes: tuple[Node, ...]
    indexes: tuple[int, ...]
    price: float

    @property
    def model(self) -> Node:
        return self.nodes[0]


@dataclass(frozen=True, slots=True)
class Seen:
    """A run with more nodes.

    lacking: pods that stay pending or are evicted, but for evicted ones of negative priority
    spared:  those
    idle:    how many of the new nodes run nothing but pods of DaemonSets, by index of the mix
    """

    record: RunRecord
    groups: tuple[PendingGroup, ...]
    lacking: frozenset[str]
    spared: tuple[str, ...]
    idle: Counter[int]


class EndedError(Exception):
    """No further run can be made: the answer is the best of those made."""


@dataclass(slots=True)
class Growth:
    """The search for one cluster.

    simulation: of the cluster as it is, before any run
    models:  the nodes that are copied are among these, with the pods of DaemonSets
    zones:   those that need a node each, whatever the pods ask for
    seen:    the runs made, in their order
    waiting: the pods of the cluster as it is, by key
    """

    simulation: Simulation
    likes: Sequence[Node]
    prices: Sequence[float]
    open_with: OpenWith
    progress: Search
    models: Snapshot
    zones: Set[str] = frozenset()
    seen: dict[Mix, Seen] = field(default_factory=dict)
    # How many seconds the last cluster took to open, and what its run left to read.
    _opening: float = 0
    _reading: float = 0
    pools: list[NodePool] = field(init=False)
    waiting: Mapping[str, Pod] = field(init=False)

    def __post_init__(self) -> None:
        self.waiting = {pod.key: pod for pod in self.simulation.state.pods}
        pools: dict[object, list[int]] = {}
        for index, node in enumerate(self.likes):
            look = (look_of(node), self.prices[index] if self.prices else 1)
            pools.setdefault(look if zone_of(node) else index, []).append(index)
        self.pools = [
            NodePool(
                tuple(self.likes[index] for index in indexes),
                tuple(indexes),
                self.prices[indexes[0]] if self.prices else 1,
            )
            for indexes in pools.values()
        ]

    # -- runs -------------------------------------------------------------------------------------

    def run(self, mix: Mix) -> Seen:
        """Make a whole run with the mix, once. Raises EndedError, but not in the first run."""
        if mix in self.seen:
            return self.seen[mix]
        larger = self._after_run(mix)
        began = self.progress.clock()
        record = larger.record()
        pods = {pod.key: pod for pod in larger.state.pods}
        lacking, spared = set(record.pending), []
        for eviction in record.evicted:
            if (pods[eviction.pod].spec.priority or 0) < 0:
                spared.append(eviction.pod)
            else:
                lacking.add(eviction.pod)
        idle = Counter[int]()
        used = {
            larger.snapshot.names[row]
            for row, there in enumerate(larger.snapshot.pods)
            if not all(is_of_daemon_set(info.pod) for info in there)
        }
        for index, node in enumerate(self.likes):
            names = [copy_name(node.name, number) for number in range(1, mix[index] + 1)]
            idle[index] = sum(name not in used for name in names)
        groups = pending_groups(larger, record)
        larger.close()
        self.simulation.caller.defects.update(larger.caller.defects)
        seen = Seen(record, groups, frozenset(lacking), tuple(spared), idle)
        self.seen[mix] = seen
        self.progress.step(len(self.seen), best=self._best)
        self._reading = self.progress.clock() - began
        return seen

    @property
    def _best(self) -> str:
        """Return the best answer so far, for a line of progress."""
        whole = [sum(mix) for mix, run in self.seen.items() if not run.lacking]
        return f"{min(whole):,} more nodes" if whole else ""

    def _after_run(self, mix: Mix) -> Simulation:
        """Return the cluster with the mix after its run. Raises EndedError."""
        # 1. Nothing ends the opening of a cluster: one that may take too long does not begin.
        self.progress.reserve = self._opening + self._reading
        if self.seen and self.progress.stops():
            raise EndedError
        began = self.progress.clock()
        larger = self.open_with(mix)
        self._opening = self.progress.clock() - began
        # 2. The first run is the least that an answer needs; the others end after any pod.
        self.progress.reserve, best = self._reading, self._best
        with gc_rare():
            for _ in larger.steps():
                self.progress.step(len(self.seen), best=best)
                if self.seen and self.progress.stops():
                    larger.close()
                    raise EndedError
        return larger

    def explained(self, mix: Mix) -> tuple[PendingGroup, ...]:
        """Return the pods that stay pending with the mix, with what helps them, as runs show.
        Raises EndedError."""
        larger = self._after_run(mix)
        record = larger.record()
        groups = pending_groups(larger, record, Hints(larger, record))
        larger.close()
        return groups

    def spread(self, totals: Totals) -> Mix:
        """Return the mix that has so many nodes of each pool, over its zones. Where zones need a
        node each, a pool begins in those that the pools before it have the fewest in."""
        mix = [0] * len(self.likes)
        for pool, total in zip(self.pools, totals, strict=True):
            share, more = divmod(total, len(pool.indexes))
            order = pool.indexes
            if self.zones:
                in_zones = self._in_zones(mix)
                order = tuple(sorted(order, key=lambda index: in_zones[zone_of(self.likes[index])]))
            for place, index in enumerate(order):
                mix[index] = share + (place < more)
        return tuple(mix)

    def _in_zones(self, mix: Sequence[int]) -> Counter[str]:
        """Return how many nodes of the mix are in each zone."""
        zones = Counter[str]()
        for node, count in zip(self.likes, mix, strict=True):
            zones[zone_of(node)] += count
        return zones

    def most(self, pods: int) -> Totals:
        """Return the most nodes of each pool that are added for so many pods: one a pod, in each
        zone, as pods may be bound to one."""
        return tuple(min(pods * len(pool.indexes), MOST_AT_ONCE) for pool in self.pools)

    def rank(self, mix: Mix) -> tuple[float, int]:
        """What is to be small: the price, of equal ones the number."""
        return price_of(mix, self.prices or (1,) * len(mix)), sum(mix)

    def covers(self, mix: Mix) -> bool:
        """Return whether each of the zones has a node of the mix."""
        nodes = (node for node, count in zip(self.likes, mix, strict=True) if count)
        return self.zones <= set(map(zone_of, nodes))

    # -- what pods request ------------------------------------------------------------------------

    def estimate(  # noqa: C901  # one packing, from top to bottom
        self, keys: Iterable[str], only: NodePool | None = None
    ) -> Totals:
        """Return how many nodes of each pool the pods need by what they request, each after the
        larger ones on the first node that has room: of the pool with the lowest price of a pod,
        then of the next. Raises EndedError. only: of this pool alone"""
        info = self.simulation.catalog.info
        pods = [info(self.waiting[key]) for key in keys if key in self.waiting]
        names = sorted({name for pod in pods for name, n in pod.resources.requests.items() if n})
        totals = [0] * len(self.pools)
        left = pods
        choices = [each for each in range(len(self.pools)) if only in (None, self.pools[each])]
        while left and choices:
            best: tuple[float, int, int, set[str]] | None = None
            for choice in choices:
                pool = self.pools[choice]
                allocatable = node_allocatable(pool.model)
                size = np.array([*(allocatable.get(name, 0) for name in names),
                                 allocatable.get(PODS, 0)], dtype=np.float64)  # fmt: skip
                size -= self._overhead(pool.model, names)
                fitting = []
                fits: dict[int, bool] = {}
                for pod in left:
                    if pod.signature not in fits:
                        fits[pod.signature] = any(
                            should_run_on(pod.unplaced().pod, node) for node in pool.nodes
                        )
                    needs = np.array(
                        [*(pod.resources.requests.get(name, 0) for name in names), 1], np.float64
                    )
                    if fits[pod.signature] and (needs <= size).all():
                        share = (needs / np.maximum(size, 1)).max()
                        fitting.append((share, pod.key, needs))
                if not fitting:
                    continue
                fitting.sort(key=lambda each: -each[0])
                free = np.zeros((len(fitting), len(size)))
                count = 0
                for _, _, needs in fitting:
                    if self.progress.stops():
                        raise EndedError
                    room = (free[:count] >= needs).all(axis=1)
                    place = int(room.argmax()) if count and room.any() else count
                    if place == count:
                        free[count] = size
                        count += 1
                    free[place] -= needs
                cost = (pool.price * count / len(fitting), count)
                if best is None or cost < best[:2]:
                    best = (*cost, choice, {key for _, key, _ in fitting})
            if best is None:
                break
            _, count, choice, gone = best
            totals[choice] += count
            left = [pod for pod in left if pod.key not in gone]
        return tuple(totals)

    def _overhead(self, node: Node, names: Sequence[str]) -> np.ndarray:
        """Return what pods of DaemonSets request on the node."""
        row = self.models.row.get(node.name)
        amounts = np.zeros(len(names) + 1)
        for pod in self.models.pods[row] if row is not None else ():
            if is_of_daemon_set(pod.pod):
                own = pod.resources.requests
                amounts += [*(own.get(name, 0) for name in names), 1]
        return amounts

    def least(self, rest: Container[str]) -> int:
        """Return the fewest nodes that hold what the waiting pods request and the nodes that some
        of them may use do not have free, whatever the pods' constraints. Pods of negative priority
        may leave. rest: the pods that no number helps"""
        info, snapshot = self.simulation.catalog.info, self.simulation.snapshot
        pods = [info(pod) for key, pod in self.waiting.items() if key not in rest]
        pods = [pod for pod in pods if not pod.pod.node_name and not pod.pod.finished]
        sums = Counter[str]()
        for pod in pods:
            sums.update(pod.resources.requests)
        models = list({pod.signature: pod.pod for pod in pods}.values())
        usable = np.array(
            [
                not node.spec.unschedulable and any(should_run_on(pod, node) for pod in models)
                for node in snapshot.nodes
            ],
            dtype=np.bool_,
        )
        sizes = [node_allocatable(node) for node in self.likes]
        least = 0
        for name, amount in sums.items():
            most = max(size.get(name, 0) for size in sizes)
            if not amount or not most:
                continue
            free = snapshot.allocatable(name) - snapshot.requested(name)
            for row, there in enumerate(snapshot.pods):
                for pod in there:
                    if pod.priority < 0:
                        free[row] += pod.resources.requests.get(name, 0)
            room = int(np.maximum(free[usable], 0).sum())
            least = max(least, ceil((amount - room) / most))
        return max(least, len(self.zones))

    def proven(self, nodes: int, rest: Container[str]) -> int:
        """Return the fewest nodes of any mix that hold the waiting pods, as a solver proves: by
        what each requests, and by its constraints but spread. Pods of negative priority may leave.
        0 where the model is too large. nodes: no more need to be looked at; rest: the pods that no
        number helps"""
        info = self.simulation.catalog.info
        looks = {info(pod).signature for pod in self.waiting.values() if not pod.node_name}
        count = len(self.simulation.snapshot) + nodes * len(self.likes)
        if count * len(looks) > MAX_PAIRS:
            return 0
        opened = self.open_with((nodes,) * len(self.likes))
        leaving = [
            pod for pod in opened.state.pods if pod.node_name and (pod.spec.priority or 0) < 0
        ]
        larger = opened.renewed(without_pods(opened.state, leaving), before=None)
        waiting = [
            pod
            for pod in larger.pending()
            if pod.key in self.waiting and pod.key not in rest and not pod.pod.node_name
        ]
        groups = [
            [larger.snapshot.row[copy_name(node.name, number)] for number in range(1, nodes + 1)]
            for node in self.likes
        ]
        least = PlacementModel.of(larger, waiting, ()).fewest(PROOF_SECONDS, groups)
        larger.close()
        opened.close()
        return least

    # -- the search -------------------------------------------------------------------------------

    def grow(self, only: NodePool | None = None) -> Mix:
        """Add nodes for the pods that a run leaves without one, until all have one or no more
        help. only: of this pool alone"""
        totals: Totals = (0,) * len(self.pools)
        seen, haste = self.run(self.spread(totals)), 1
        while seen.lacking:
            more = self.estimate(seen.lacking, only)
            # Requests are not what keeps these: more and more nodes are tried, in vain in the end.
            if not any(more):
                break
            limits = self.most(len(seen.lacking))
            steps = tuple(
                min(count * haste, max(limit, count))
                for count, limit in zip(more, limits, strict=True)
            )
            totals = tuple(old + new for old, new in zip(totals, steps, strict=True))
            after = self.run(self.spread(totals))
            is_less = len(after.lacking) < len(seen.lacking)
            if not is_less and all(
                new >= limit for new, limit in zip(steps, limits, strict=True) if new
            ):
                break
            haste = 1 if len(after.lacking) * 2 <= len(seen.lacking) else haste * 2
            seen = after
        if not self.covers(self.spread(totals)):
            # One in each zone, at the least.
            totals = tuple(
                max(total, len(pool.indexes)) if only in (None, pool) else total
                for pool, total in zip(self.pools, totals, strict=True)
            )
            self.run(self.spread(totals))
        return self.spread(totals)

    def search(self) -> tuple[Mix, frozenset[str]]:
        """Return the best mix that was run, and the pods that none helps."""
        none = (0,) * len(self.likes)
        first = self.run(none)
        if not first.lacking and self.covers(none):
            return none, frozenset()
        try:
            return self._search(none, first)
        except EndedError:
            rest = min((each.lacking for each in self.seen.values()), key=len)
            enough = [mix for mix, each in self.seen.items() if each.lacking <= rest]
            return min(filter(self.covers, enough), key=self.rank, default=enough[0]), rest

    def _search(  # noqa: C901, PLR0912  # one search, from top to bottom
        self, none: Mix, first: Seen
    ) -> tuple[Mix, frozenset[str]]:
        """As `search`, where pods wait. first: the run without more nodes. Raises EndedError."""
        # 1. The cluster grows, with all pools and with each alone.
        starts = [self.grow()]
        if len(self.pools) > 1:
            starts += [self.grow(pool) for pool in self.pools]
        rest = min((self.run(mix).lacking for mix in starts if self.covers(mix)), key=len)
        if rest:
            # 2. What a node that is empty does not help, many at once may.
            last = self.spread(self.most(len(first.lacking)))
            if not self.run(last).lacking >= rest:
                starts.append(last)
                rest = min(rest, self.run(last).lacking, key=len)

        def helps(mix: Mix) -> bool:
            return self.covers(mix) and self.run(mix).lacking <= rest

        enough = [mix for mix in starts if helps(mix)]
        if helps(none):
            return none, rest
        least = self.least(rest)
        # 3. Nodes that turned out idle go, and then one after the other.
        reduced = []
        orders = [*permutations(self.pools)] if len(self.pools) > 1 else [self.pools]
        for mix in dict.fromkeys(enough):
            busy, idle = mix, self.run(mix).idle
            while any(idle.values()):
                smaller = tuple(count - idle[index] for index, count in enumerate(busy))
                if smaller == busy or not helps(smaller):
                    break
                busy, idle = smaller, self.run(smaller).idle
            results = []
            for order in orders:
                smaller = busy
                for pool in order:
                    smaller = self._with_fewer(smaller, pool, helps, least)
                results.append(smaller)
            reduced.append(min(results, key=self.rank))
        best = min(reduced, key=self.rank)
        if self.zones:
            best = self._in_each_zone(best, helps, least)
        # 4. All mixes of few nodes that would be better are tried. Parts of one that does not help
        #    are left out where there are several pools.
        if len(self.pools) == 1:
            if sum(best) > LINEAR_MAX:
                return best, rest
            least = 1
        mixes = {
            self.spread(totals)
            for nodes in range(LINEAR_MAX, max(least, 1) - 1, -1)
            for totals in mixes_of(nodes, len(self.pools))
        }
        useless: list[Mix] = []
        for mix in sorted(mixes, key=lambda mix: (*self.rank(mix), mix), reverse=True):
            if self.rank(mix) >= self.rank(best):
                continue
            if len(self.pools) > 1 and any(is_part(mix, larger) for larger in useless):
                continue
            if helps(mix):
                best = mix
            else:
                useless.append(mix)
        return best, rest

    def _in_each_zone(self, best: Mix, helps: Callable[[Mix], bool], least: int) -> Mix:
        """Take nodes away zone by zone, as those of one may be bound to it, and put cheaper ones in
        their place, until neither helps."""
        likes, prices = range(len(self.likes)), self.prices or (1,) * len(self.likes)
        before = None
        while before != best:
            before = best
            for index in sorted(likes, key=lambda index: -prices[index]):
                alone = NodePool((self.likes[index],), (index,), prices[index])
                best = self._with_fewer(best, alone, helps, least)
            for old, new in permutations(likes, 2):
                counts = list(best)
                counts[old], counts[new] = counts[old] - 1, counts[new] + 1
                is_same_zone = zone_of(self.likes[old]) == zone_of(self.likes[new])
                is_cheaper = is_same_zone and prices[new] < prices[old]
                if best[old] and is_cheaper and helps(tuple(counts)):
                    best = tuple(counts)
        return best

    def _with_fewer(
        self, mix: Mix, pool: NodePool, helps: Callable[[Mix], bool], least: int
    ) -> Mix:
        """Take nodes of the pool away, in steps that double while they succeed; then the gap is
        halved, and some smaller numbers are tried beyond it."""

        def without(number: int) -> Mix:
            """Take each from the zone that has the most of the pool; of several, where each zone
            needs a node, from the one with the most nodes."""
            counts = list(mix)
            for _ in range(number):
                in_zones = self._in_zones(counts) if self.zones else Counter[str]()
                most = max(
                    reversed(pool.indexes),
                    key=lambda index: (counts[index], in_zones[zone_of(self.likes[index])]),
                )
                counts[most] -= 1
            return tuple(counts)

        available = sum(mix[index] for index in pool.indexes)
        available = min(available, sum(mix) - least)
        gone, step, fails = 0, 1, available + 1
        while gone + step <= available:
            if helps(without(gone + step)):
                gone, step = gone + step, step * 2
            else:
                fails = gone + step
                break
        while fails - gone > 1:
            middle = (gone + fails) // 2
            if middle <= available and helps(without(middle)):
                gone = middle
            else:
                fails = middle
        for probe in range(gone + 2, min(gone + 2 + PROBES, available + 1)):
            if helps(without(probe)):
                return self._with_fewer(without(probe), pool, helps, least)
        return without(gone)


def with_copies(state: ClusterState, likes: Sequence[Node], mix: Mix) -> ClusterState:
    """Return the state with so many copies of these of its nodes."""
    changes = [
        AddNodes(f"--like {node.name}", f"{node.name}-copy", node.name, count)
        for node, count in zip(likes, mix, strict=True)
    ]
    return apply_changes(state, changes)[0]


def copy_name(name: str, number: int) -> str:
    """Return the name of a copy, as AddNodes makes it."""
    return f"{name}-copy-{number}"


def price_of(mix: Mix, prices: Sequence[float]) -> float:
    """Return what the mix costs an hour."""
    return sum(count * price for count, price in zip(mix, prices, strict=True))


def is_part(mix: Mix, larger: Mix) -> bool:
    return all(count <= more for count, more in zip(mix, larger, strict=True))


def mixes_of(nodes: int, kinds: int) -> Iterator[Totals]:
    """All ways to make up a number of nodes."""
    if kinds == 1:
        yield (nodes,)
        return
    for first in range(nodes, -1, -1):
        yield from ((first, *rest) for rest in mixes_of(nodes - first, kinds - 1))


def nodes_needed(
    simulation: Simulation,
    likes: Sequence[Node],
    open_with: OpenWith,
    prices: Sequence[float] = (),
    progress: Search | None = None,
    models: Snapshot | None = None,
    zones: Set[str] = frozenset(),
) -> NodesNeeded:
    """Search for the fewest nodes, with prices for the cheapest mix.

    simulation: of the cluster as it is, which has not run
    prices: what a copy of each of `likes` costs
    models: of `likes`, where they are not in the cluster
    zones: those that need a node each
    """
    progress, models = progress or Search(), models or simulation.snapshot
    growth = Growth(simulation, likes, prices, open_with, progress, models, zones)
    best, rest = growth.search()
    stopped = progress.why()
    seen = growth.seen
    first = seen[(0,) * len(likes)]
    # Pods that no number helps are those of the largest run that left no others.
    largest = max((mix for mix in seen if seen[mix].lacking <= rest), key=sum, default=best)
    last = seen[largest]
    is_helped = any(best)
    runs = seen.items()
    fewer = [mix for mix, each in runs if growth.rank(mix) < growth.rank(best)]
    fewer = [mix for mix in fewer if seen[mix].lacking - rest]
    nearest = max(fewer, key=growth.rank, default=None)
    why_not = ""
    if nearest is not None:
        # The run with the most of fewer nodes leaves pods without one.
        left = seen[nearest]
        number, nodes = len([pod for pod in left.lacking if pod not in rest]), sum(nearest)
        pods = "1 pod has" if number == 1 else f"{number:,} pods have"
        count = f"{nodes:,}" if nodes else "no more"
        count += " cheaper nodes" if nodes >= sum(best) else ""
        why_not = f"with {count}, {pods} no node: {_why_pending(left.record, left.lacking, rest)}"
    names = [node.name for node in likes]
    least = growth.least(rest) if is_helped else 0
    if least < sum(best) and has_solver() and not (stopped or progress.is_short()):
        least = max(least, growth.proven(sum(best), rest))
    groups = last.groups if rest else ()
    with suppress(EndedError):
        groups = growth.explained(largest) if rest else ()
    hopeless = [group for group in groups if rest.intersection(group.pods)]
    # The pods of each owner that some number helps, and the least that does.
    by_owner: dict[tuple[str, str], list[str]] = {}
    for group in first.groups:
        own = [pod for pod in group.pods if pod not in rest]
        if own:
            by_owner.setdefault((group.owner, group.namespace), []).extend(own)
    helped = []
    for (owner, namespace), own in by_owner.items():
        enough = (sum(mix) for mix, run in runs if run.lacking.isdisjoint(own))
        helped.append(HelpedGroup(owner, namespace, tuple(own), min(enough, default=0)))
    return NodesNeeded(
        like=tuple(names),
        nodes_needed=None if rest else sum(best),
        mix=dict(zip(names, best, strict=True)) if is_helped else {},
        at_least=least,
        why_not_fewer=why_not,
        evicted=seen[best].spared,
        per_hour=round(price_of(best, prices), 6) if prices else UNSET,
        limited_by=_why_pending(last.record, rest) if rest else "",
        helped=tuple(helped),
        not_helped=tuple(hopeless),
        runs=tuple(
            NodeTrial(
                sum(mix),
                dict(zip(names, mix, strict=True)),
                len(each.record.pending),
                len(each.record.evicted),
            )
            for mix, each in runs
        ),
        stopped=stopped,
        undecided=any(each.record.failed for each in seen.values()),
    )


def _why_pending(record: RunRecord, pods: Container[str], but: Container[str] = frozenset()) -> str:
    """Return why the first of these pods stays pending, or which is evicted."""
    for pod in record.pending:
        if pod in pods and pod not in but:
            return f"{pod}: {record.last[pod].why_not}"
    evictions = (each for each in record.evicted if each.pod in pods)
    eviction = next(evictions, None)
    if eviction is None:
        return ""
    return f"{eviction.pod} is evicted from {eviction.node} for {eviction.preemptor}"


# -- the question ---------------------------------------------------------------------------------


def likes_of(names: Sequence[str], simulation: Simulation) -> list[Node]:
    """Return the nodes to copy: those named, and of POOL=LABEL one of each zone. Raises
    UsageError."""
    nodes = {node.name: node for node in simulation.state.nodes}
    likes: dict[str, Node] = {}
    for name in names:
        if "=" not in name:
            if name in nodes:
                likes[name] = nodes[name]
            else:
                # Its error names those that are near.
                apply_changes(simulation.state, [AddNodes(f"--like {name}", name, name, 0)])
            continue
        selector = label_selector_of(name)
        pool = [node for node in nodes.values() if selector.matches(node.metadata.labels)]
        if not pool:
            raise UsageError(f"no node has the label {name} of --like")
        zones: dict[str, Node] = {}
        for node in sorted(pool, key=lambda node: node.name):
            zones.setdefault(zone_of(node), node)
        likes |= {node.name: node for node in zones.values()}
    return list(likes.values())


def prices_of(likes: Sequence[Node], prices: Prices, named: Mapping[str, str] = {}) -> list[float]:
    """Return the hourly price of a copy of each node; nothing without prices. named: other names by
    which they may have one. Raises UsageError."""
    listed: list[float] = []
    for node in likes if prices.listed else ():
        name = named.get(node.name, node.name)
        price = prices.of_node(node, name)
        if price is None:
            raise UsageError(f"--price has no price for {name} of --like; add --price {name}=N")
        listed.append(price.price.per_hour)
    return listed


class MoreNodes(Question[NodesNeeded], frozen=True, kw_only=True):
    """Count the copies of these nodes that all pending pods need; with prices in the Run, find the
    cheapest mix.

    like: names of nodes; KEY=VALUE is one node of each zone of the nodes with that label
    time_limit: seconds after which the search ends with the best run so far; 0 for none
    """

    USES: ClassVar = ("prices",)

    like: tuple[str, ...]
    time_limit: float = 0

    def answer(self, opened: Opened) -> NodesNeeded:
        subject: Subject = opened.subject()
        simulation = subject.simulation
        likes = likes_of(self.like, simulation)
        prices = prices_of(likes, subject.opener.prices(subject.run))

        def open_with(mix: Mix) -> Simulation:
            return subject.simulation_of(with_copies(simulation.state, likes, mix))

        search = Search(self.time_limit)
        with opened.observer.searching("runs", search):
            answer = nodes_needed(simulation, likes, open_with, prices, search)
        # Pods that no number helps may need nodes of the same kind in other zones.
        hopeless = {pod for group in answer.not_helped for pod in group.pods}
        looks, zones = {*map(look_of, likes)}, {*map(zone_of, likes)}
        others: dict[str, Node] = {}
        for node in simulation.state.nodes if hopeless and not answer.stopped else ():
            if zone_of(node) not in zones and look_of(node) in looks:
                others.setdefault(zone_of(node), node)
        if not others:
            return answer
        mix = (*(answer.mix.get(node.name, 0) for node in likes), *[1] * len(others))
        state = with_copies(simulation.state, [*likes, *others.values()], mix)
        if hopeless <= {*subject.simulation_of(state).run().pending}:
            return answer
        names = sorted(node.name for node in others.values())
        return structs.replace(answer, other_zones=tuple(names))
