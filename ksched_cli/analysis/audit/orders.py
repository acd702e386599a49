"""The orders in which decisions may have been made.

The order observed, of bindings or their events, is a little off: pods are bound in parallel with
the cycles of the next ones. The scheduling queue hands out pods of higher priority first, then
those that it was given first; a scheduler that starts is given its pods by name. So the order
observed is refined by each of these rules, within what side by side allows (refined_orders). A
placement that still differs is made before or after its neighbours, as long as these agree
(earlier, later). A decision that differs nevertheless is explained by any other order of those near
it (OtherOrders).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby, takewhile
from typing import NamedTuple

from ksched_cli.analysis.audit.decisions import (
    Decision,
    DecisionVerdict,
    NodeChoice,
    ObjectChange,
    Placement,
    has_left,
)
from ksched_cli.analysis.audit.replayed_cluster import ReplayedCluster
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cache.cached_runners import ALL_NODES_MIN

# How far a decision may be from its place in the order observed: 500 requests a second from a
# scheduler on two cores came up to 22 places off.
MAX_SHIFT = 48
MAX_SHIFT_SECONDS = 5.0
# How many decisions may have been bound earlier than one made before them: where an API server took
# half a second for a binding, up to 68 were; on an overloaded machine, one was bound before 213.
MAX_DELAY = 288
# How many of the decisions next to one may have been made on the other side of it.
_NEAREST = (0, 2, 8, 32, 72)


class Refinement(Enum):
    """By what the queue orders decisions that are near each other."""

    NONE = "none"
    PRIORITY = "priority"
    CREATION = "creation"
    NAME = "name"


# -- all decisions --------------------------------------------------------------------------------


class Order(NamedTuple):
    """Decisions as they may have been made."""

    refinement: Refinement
    decisions: tuple[Decision, ...]


def refined_orders(decisions: Sequence[Decision]) -> Iterator[Order]:
    """The order observed, then those that differ from all before. Where it is known when pods left
    and objects changed, placements alone are moved, between these."""
    seen = {tuple(map(id, decisions))}
    yield Order(Refinement.NONE, tuple(decisions))
    runs: list[Sequence[Decision]] = [decisions]
    if any(has_left(each) or isinstance(each, ObjectChange) for each in decisions):
        groups = groupby(decisions, lambda each: 0 if isinstance(each, Placement) else id(each))
        runs = [list(run) for _, run in groups]
    for refinement in (Refinement.NAME, Refinement.CREATION, Refinement.PRIORITY):
        order = tuple(each for run in runs for each in refined(run, refinement))
        key = tuple(map(id, order))
        if key not in seen:
            seen.add(key)
            yield Order(refinement, order)


def refined(decisions: Sequence[Decision], by: Refinement) -> tuple[Decision, ...]:
    """Orders decisions by repeatedly taking, among those that may be next, the one that the queue
    hands out first; equal ones keep the order observed."""
    order: list[Decision] = []
    window: list[tuple[int, Decision]] = []
    coming = deque(enumerate(decisions))
    while window or coming:
        while coming and (not window or coming[0][0] < window[0][0] + MAX_SHIFT):
            window.append(coming.popleft())
        latest = window[0][1].time + MAX_SHIFT_SECONDS
        near = takewhile(latest.__ge__, (decision.time for _, decision in window))
        _, place = min((_rank(window[place][1], by), place) for place, _ in enumerate(near))
        order.append(window.pop(place)[1])
    return tuple(order)


def _rank(decision: Decision, by: Refinement) -> tuple[int, str, str, bool]:
    pod = decision.pod
    name = pod.key if by in (Refinement.NAME, Refinement.CREATION) else ""
    created = pod.metadata.creation_timestamp if by is Refinement.CREATION else ""
    is_placement = isinstance(decision, Placement)
    return -(pod.spec.priority or 0), created, name, bool(name) and is_placement


# -- one decision, a few places earlier or later ------------------------------------------------


def earlier(cluster: ReplayedCluster, placement: Placement) -> DecisionVerdict | None:
    """Place the pod before some of those that came last, if it is ksched's choice there and theirs
    remain so."""
    _expect_trials(cluster, placement)
    last: list[Placement] = []
    with Trial(cluster) as trial:
        for other in reversed(cluster.movable[-MAX_SHIFT:]):
            if not _may_swap(cluster, placement, other):
                return None
            trial.take(other.pod, other.node)
            last.insert(0, other)
            verdict = cluster.judge(placement)
            if verdict.grade is not None and _agree_after(cluster, placement, last):
                break
        else:
            return None
    snapshot = cluster.simulation.snapshot
    del cluster.movable[-len(last) :]
    for other in last:
        snapshot.remove(cluster.info(other.pod), snapshot.row[other.node])
    cluster.place(placement, cluster.judge(placement))
    for other in last:
        snapshot.add(cluster.info(other.pod), snapshot.row[other.node])
    cluster.movable += last
    return verdict


def _agree_after(cluster: ReplayedCluster, first: Placement, last: Sequence[Placement]) -> bool:
    """Whether these are ksched's choices one after the other once the first is made."""
    with Trial(cluster) as trial:
        trial.put(first.pod, first.node)
        for placement in last:
            if cluster.judge(placement).grade is None:
                return False
            trial.put(placement.pod, placement.node)
    return True


def later(
    cluster: ReplayedCluster, placement: Placement, coming: Sequence[Decision]
) -> list[DecisionVerdict]:
    """Place the pod after some of those that come next, if it is ksched's choice there.

    Returns the verdicts of these, which are placed too, and of the pod; none where that does not
    help.
    """
    _expect_trials(cluster, placement)
    order: list[Placement] = []
    with Trial(cluster) as trial:
        for other in coming[:MAX_SHIFT]:
            if not (isinstance(other, Placement) and _may_swap(cluster, placement, other)):
                return []
            if cluster.judge(other).grade is None:
                return []
            trial.put(other.pod, other.node)
            order.append(other)
            if cluster.judge(placement).grade is not None:
                break
        else:
            return []
    verdicts = []
    for each in (*order, placement):
        verdicts.append(cluster.judge(each))
        cluster.place(each, verdicts[-1])
    return verdicts


def _may_swap(cluster: ReplayedCluster, placement: Placement, other: Placement) -> bool:
    return (
        other.judged
        and cluster.is_movable(other.pod)
        and not cluster.simulation.nominator.node_of(cluster.info(other.pod))
        and are_near(placement, other)
        and _were_both_there(placement, other)
    )


def are_near(decision: Decision, other: Decision) -> bool:
    """Whether either may have been decided on first, as far as the times tell."""
    return abs(other.time - decision.time) <= MAX_SHIFT_SECONDS


def _were_both_there(decision: NodeChoice, other: Placement) -> bool:
    """Whether either may have been decided on first: each pod had come before the other was
    bound."""
    since = decision.since if isinstance(decision, Placement) else 0.0
    return since <= other.time and other.since <= decision.time


def _expect_trials(cluster: ReplayedCluster, decision: NodeChoice) -> None:
    """The pod is about to be judged again and again, with a few nodes changed each time."""
    cache = cluster.framework(decision.pod).answer_cache
    cache.expect([cluster.info(decision.pod)] * ALL_NODES_MIN)


# -- any order of the decisions near one ----------------------------------------------------------

Judge = Callable[[NodeChoice], DecisionVerdict]


@dataclass(frozen=True, slots=True)
class OtherOrders:
    """The orders of the decisions near one. Only free capacity changes: volumes, devices and
    nominations stay taken. judge: how the decision is judged in each of them"""

    cluster: ReplayedCluster
    decision: NodeChoice
    near: Sequence[Decision]
    judge: Judge

    def explain(self) -> bool:
        """Whether the decision is ksched's if some of those near it, on its node or on others, come
        later or earlier than they are followed. Changes nothing."""
        cluster, own = self.cluster, self.decision.node
        _expect_trials(cluster, self.decision)
        both = [each for each in self.near if isinstance(each, Placement)]
        both = [each for each in both if _were_both_there(self.decision, each)]
        placed = [each for each in both if each.pod.uid in cluster.bound]
        coming = [each for each in both if each.pod.uid not in cluster.bound]
        left = [each for each in self.near if has_left(each) and each.pod.uid in cluster.departed]
        here = [each for each in placed if each.node == own]
        elsewhere = [each for each in placed if each.node != own]
        next_here = [each for each in coming if each.node == own]
        next_elsewhere = [each for each in coming if each.node != own]
        if any(self._agrees_before(here[n:], coming) for n in range(len(here), -1, -1)):
            return True
        # What is taken back, and what is made first.
        trials: list[tuple[Sequence[Decision], Sequence[Decision]]] = [
            ([], next_elsewhere),
            (here, next_elsewhere),
            ([], next_here),
            (elsewhere, []),
            (elsewhere, next_here),
            (placed, []),
            ([], coming),
            ([], left),
            ([], [*next_elsewhere, *left]),
            (here, [*next_elsewhere, *left]),
        ]
        for count in _NEAREST:
            trials += [(placed[len(placed) - last :], coming[:count]) for last in _NEAREST]
        return any(self._agrees_with(back, first) for back, first in trials)

    def _agrees_before(self, back: Sequence[Decision], coming: Sequence[Placement]) -> bool:
        """Whether the decision is ksched's without what was placed on its node just before, once
        the next pods have taken each better node."""
        on_node: dict[str, list[Placement]] = {}
        for each in reversed(coming):
            on_node.setdefault(each.node, []).append(each)
        with Trial(self.cluster) as trial:
            for placed in back:
                trial.take(placed.pod, placed.node)
            verdict = self.judge(self.decision)
            while verdict.grade is None and verdict.expected and on_node.get(verdict.expected[0]):
                best = verdict.expected[0]
                trial.put(on_node[best].pop().pod, best)
                verdict = self.judge(self.decision)
        return verdict.grade is not None

    def _agrees_with(self, back: Sequence[Decision], first: Sequence[Decision]) -> bool:
        """Whether the decision is ksched's with some taken back, and others made first."""
        with Trial(self.cluster) as trial:
            for each in back:
                trial.take(each.pod, each.node)
            for each in first:
                if each.pod.uid != self.decision.pod.uid:
                    trial.put(each.pod, each.node)
            return trial.has_changed and self.judge(self.decision).grade is not None


class Trial:
    """Pods that are on nodes, or are not, until the end of the block. Only free capacity
    changes."""

    def __init__(self, cluster: ReplayedCluster) -> None:
        self._cluster = cluster
        self._moved: list[tuple[bool, PodInfo, int]] = []
        self._before: dict[int, list[PodInfo]] = {}

    @property
    def has_changed(self) -> bool:
        """Whether anything is otherwise than before."""
        return bool(self._moved)

    def put(self, pod: Pod, node: str) -> None:
        """Put the pod on the node, if that is there."""
        self._move(self._cluster.info(pod), node, is_put=True)

    def take(self, pod: Pod, node: str) -> None:
        """Take the pod off the node, if it is there."""
        self._move(self._cluster.info(pod), node, is_put=False)

    def _move(self, pod: PodInfo, node: str, *, is_put: bool) -> None:
        snapshot = self._cluster.simulation.snapshot
        row = snapshot.row.get(node)
        if row is None:
            return
        on_row = self._before.setdefault(row, list(snapshot.pods[row]))
        if is_put or any(other.uid == pod.uid for other in on_row):
            (snapshot.add if is_put else snapshot.remove)(pod, row)
            self._moved.append((is_put, pod, row))

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, *_: object) -> None:
        snapshot = self._cluster.simulation.snapshot
        for is_put, pod, row in reversed(self._moved):
            (snapshot.remove if is_put else snapshot.add)(pod, row)
        for row, pods in self._before.items():
            snapshot.pods[row][:] = pods
