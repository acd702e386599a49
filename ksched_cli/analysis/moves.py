"""The fewest moves of running pods after which pods that wait have a node.

A solver proposes who moves (`placement_model`). The engine makes each plan step by step, as
commands would: it evicts a pod, whose controller makes it anew, and the scheduler places it. A plan
in which the scheduler does otherwise is helped with cordons, or refused; the solver then proposes
another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations, product
from math import inf
from time import monotonic
from typing import Literal

import numpy as np
from msgspec import Struct, structs

from ksched_cli.analysis.in_turns import states_in_turns
from ksched_cli.analysis.placement_model import (
    ANTI_AFFINITY,
    NODES,
    PORTS,
    SPREAD,
    PlacementModel,
    Solution,
    has_solver,
    promising_rows,
)
from ksched_cli.answers import Count, Part
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.queue import why_ignored
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import InputError, MissingExtraError, UsageError
from ksched_cli.kube.quantity import exact_text
from ksched_cli.kube.time import unix_seconds
from ksched_cli.scenario.change import Roll
from ksched_cli.scenario.drain import Evictions, PodRules, goes_with_node
from ksched_cli.scenario.pods import pending_again, time_of

# So many plans are run before the search is given up.
MAX_PLANS = 12
# So many nodes are cordoned for a move at most; more is nothing that anybody types.
MAX_CORDONED = 16
# All orders in which nodes are uncordoned are tried for so many nodes at most.
MAX_SWAPPED = 4
BESIDE = "beside the pods that cannot move"


class Move(Part, frozen=True):
    """A running pod that moves: it is evicted, and the scheduler places the one made for it.

    from_node, to_node: where it is, and where it goes
    cordoned: nodes that are cordoned meanwhile; else the scheduler places it elsewhere
    """

    pod: str
    from_node: str
    to_node: str
    cordoned: tuple[str, ...] = ()


class UsageChange(Part, frozen=True):
    """What is requested of a resource on a node before and after moves, in the scheduler's unit."""

    node: str
    resource: str
    allocatable: int
    before: int
    after: int


class NoMoves(Part, frozen=True):
    """Why no moves are proposed.

    outcome: "none exists" is proven, whatever pods move; "none found" is the end of a search;
             "not searched" says why there was none
    because: what proves it, of which nothing can be left out; or why the search ended
    at_most: of the pods that wait, how many could get a node, as far as is proven; null where that
             was not needed
    """

    outcome: Literal["none exists", "none found", "not searched"]
    because: tuple[str, ...]
    at_most: Count | None = None


class MovePlan(Struct, frozen=True):
    """Moves in their order, as lines for --change, and the state after them.

    waiting: the pods that waited, and have a node then
    is_fewest: no fewer moves would do
    is_slow: no pod may back off any more at a step: they are tried in the order in which they came
    usage: of what they request, on the nodes that change
    """

    moves: tuple[Move, ...]
    lines: tuple[str, ...]
    state: ClusterState
    waiting: frozenset[str]
    is_fewest: bool
    usage: tuple[UsageChange, ...]
    is_slow: bool = False


@dataclass(slots=True)
class _Steps:
    """Lines for --change, and of each pod that moves: the line after which it has a node again,
    counted from 1, and the nodes that are cordoned then.

    is_slow: see MovePlan
    """

    lines: list[str] = field(default_factory=list)
    pods: list[PodInfo] = field(default_factory=list)
    evictions: list[int] = field(default_factory=list)
    cordoned: list[tuple[str, ...]] = field(default_factory=list)
    is_slow: bool = False

    def open(self, node: str) -> None:
        """Uncordon the node, or leave it as it is where it was just to be cordoned."""
        if self.lines[-1] == f"cordon {node}":
            self.lines.pop()
        else:
            self.lines.append(f"uncordon {node}")

    def move(self, pod: PodInfo, target: str, closed: Collection[str]) -> None:
        """Evict the pod while only the target is open of the closed nodes."""
        others = [name for name in sorted(closed) if name != target]
        is_closed = target in closed
        if is_closed:
            self.open(target)
        self.evict(pod, tuple(others))
        self.lines += [f"cordon {target}"] * is_closed

    def evict(self, pod: PodInfo, cordoned: tuple[str, ...]) -> None:
        self.lines.append(f"delete pods {pod.name} -n {pod.namespace}")
        self.pods.append(pod)
        self.evictions.append(len(self.lines))
        self.cordoned.append(cordoned)


def _is_open(model: PlacementModel, name: str) -> bool:
    """Return whether the node is not cordoned already."""
    return not model.snapshot.nodes[model.snapshot.row[name]].spec.unschedulable


@dataclass(frozen=True, slots=True)
class MoveSearch:
    """The limits of a search for moves.

    seconds: of the solver for a plan
    stays: whether a pod is never to be moved
    deadline: when it ends at the latest, runs of plans included, as `monotonic` counts
    """

    max_moves: int | None = None
    seconds: float = 30
    stays: Callable[[Pod], bool] = lambda _: False
    deadline: float = inf


@dataclass(slots=True)
class Mover:
    """Looks for moves in a state after a run.

    open: a simulation of a state
    state: before the run; nodes: of the pods that have one after it
    """

    open: Callable[[ClusterState], Simulation]
    roll: Roll
    state: ClusterState
    nodes: Mapping[str, str]
    search: MoveSearch
    workloads: bool = True

    def plan(self, waiting: frozenset[str], *, some: bool = False) -> MovePlan | NoMoves:
        """Return the fewest moves after which all of the pods have a node, or why there are none.
        some: after which most of them have one, where all cannot"""
        deadline = self.search.deadline
        model = self._model(waiting)
        model.deadline = deadline
        if not model.classes[model.waiting :]:
            return self._none_may_move(model)
        if model.is_whole and not some and (hopeless := _hopeless(model)):
            return NoMoves("none exists", (hopeless,))
        if not has_solver():
            why = str(MissingExtraError("the search for moves", "optimum"))
            return NoMoves("not searched", (why,))
        for number in range(MAX_PLANS):
            if number and monotonic() > deadline:
                return self._out_of_time(model)
            seconds = self.search.seconds
            levels = model.by_priority() if some else ()
            solution = model.solve(seconds, levels=levels, max_moves=self.search.max_moves)
            if not solution.exists:
                return self._none(model, solution, number)
            for steps in self._steps(model, solution):
                if monotonic() > deadline:
                    return self._out_of_time(model)
                plan = self._run(model, solution, steps, deadline)
                if plan is not None:
                    return plan
            model.cuts.append(solution)
        return NoMoves(
            "none found", (f"the scheduler keeps to none of the {MAX_PLANS} best plans",)
        )

    # -- the model --------------------------------------------------------------------------------

    def _model(self, waiting: frozenset[str]) -> PlacementModel:
        """Return the model of the cluster as the run leaves it."""
        # 1. What the run placed is there, and what it evicted is not.
        there = [
            pod if pod.node_name else structs.replace(pod, node_name=self.nodes[pod.key])
            for pod in self.state.pods
            if pod.key in self.nodes
        ]
        needing = [pod for pod in self.state.pods if pod.key in waiting]
        state = replace(self.state, pods=(*there, *needing))
        simulation = self.open(state)
        # 2. Pods that the run placed stay where they are: nothing is there yet to be evicted.
        running = {pod.key for pod in self.state.pods if pod.node_name}
        #    Others move that come again if they are evicted, and may be evicted at all.
        text = time_of(self.state)
        rules = PodRules(unix_seconds(text) if text else 0.0)
        budgets = Evictions(self.state)
        movable = [
            pod
            for pod in there
            if pod.key in running
            and not (
                goes_with_node(pod)
                or pod.node_name not in simulation.snapshot.row
                or rules.pod_stays(pod)
                or why_ignored(pod, simulation.frameworks)
                or (budgets.budgets and budgets.renewed(self.state).evict(pod))
                or self.search.stays(pod)
            )
        ]
        # 3. In a large cluster, pods of the nodes that promise the fewest moves alone.
        info = simulation.catalog.info
        waits, infos = [*map(info, needing)], [*map(info, movable)]
        chosen = promising_rows(simulation, waits, infos)
        if chosen is not None:
            names = {simulation.snapshot.names[row] for row in chosen}
            movable = [pod for pod in movable if pod.node_name in names]
        # 4. The nodes without the pods that may move.
        emptied = pending_again(state, movable)
        rest = tuple(pod for pod in emptied.pods if pod.node_name)
        simulation = simulation.renewed(replace(emptied, pods=rest), before=None)
        info = simulation.catalog.info
        model = PlacementModel.of(simulation, map(info, needing), map(info, movable), chosen)
        simulation.close()
        return model

    def _none(self, model: PlacementModel, solution: Solution, plans: int) -> NoMoves:
        """Return why there are no moves. plans: how many were refused"""
        seconds, limit = self.search.seconds, self.search.max_moves
        if plans:
            why = f"the scheduler keeps to none of the {plans} plans that there are"
            return NoMoves("none found", (why,))
        if not model.is_whole:
            count, total = len(model.rows()), len(model.snapshot)
            why = f"only the {count:,} most promising of {total:,} nodes were looked at"
            return NoMoves("none found", (why,))
        if not solution.is_none:
            return self._out_of_time(model)
        if limit is not None:
            unlimited = model.solve(seconds, relaxed=(SPREAD,))
            if unlimited.exists:
                return NoMoves("none exists", (f"it takes more than {limit}",))
            if not unlimited.is_none:
                return self._out_of_time(model)
        elif not model.solve(seconds, relaxed=(SPREAD,)).is_none:
            why = "no placement keeps to all spread constraints in the end"
            return NoMoves("none found", (why,))
        most = model.solve(seconds, levels=[range(model.waiting)], relaxed=(SPREAD,))
        because = tuple(_proof(model, model.conflict(seconds)))
        return NoMoves("none exists", because, most.bound)

    def _none_may_move(self, model: PlacementModel) -> NoMoves:
        """Return why the pods have no node where no running pod may be moved."""
        if len(model.classes[0].pods) + model.waiting > 2 and has_solver():
            if hopeless := _hopeless(model):
                return NoMoves("none exists", (hopeless,))
            if model.is_whole and model.solve(self.search.seconds, relaxed=(SPREAD,)).is_none:
                because = tuple(_proof(model, model.conflict(self.search.seconds)))
                return NoMoves("none exists", because)
        return NoMoves("none exists", ("no running pod may be moved",))

    def _out_of_time(self, model: PlacementModel) -> NoMoves:
        """Return that the search ended, and how many pods could get a node, where not all can."""
        most = model.solve(self.search.seconds, levels=[range(model.waiting)], relaxed=(SPREAD,))
        size = sum(each.size for each in model.classes[: model.waiting])
        at_most = most.bound if most.bound < size else None
        why = f"the search ended after {self.search.seconds:g} s"
        return NoMoves("none found", (why,), at_most)

    # -- plans ------------------------------------------------------------------------------------

    def _steps(  # noqa: C901  # one way after the other
        self, model: PlacementModel, solution: Solution
    ) -> Iterator[_Steps]:
        """Yield the steps of a solution, in an order in which there is room for each move, and with
        ever more cordons: none; of the node that a pod leaves; of all nodes that others leave or
        come to; of all that would take it but one; of all that change, until the end."""
        moves, names = _in_order(model, solution), model.snapshot.names
        yield self._opened_after_each(model, [(pod, ()) for _, pod, _ in moves])
        if not moves:
            return
        yield self._opened_after_each(model, [(pod, (pod.pod.node_name,)) for _, pod, _ in moves])
        changed = {row for _, row in (*solution.placed, *solution.left, *solution.came)}
        for closed in (np.isin(np.arange(len(names)), [*changed]), None):
            helped = []
            for number, pod, row in moves:
                allowed = model.classes[number].allowed
                rows = np.flatnonzero(allowed if closed is None else allowed & closed)
                helped.append((pod, tuple(names[each] for each in rows.tolist() if each != row)))
            if all(len(cordoned) <= MAX_CORDONED for _, cordoned in helped):
                yield self._opened_after_each(model, helped)
        closed_names = [n for n in map(names.__getitem__, sorted(changed)) if _is_open(model, n)]
        if len(closed_names) <= MAX_CORDONED:
            choosy = sorted(solution.placed, key=lambda key: model.classes[key[0]].allowed.sum())
            for order in (choosy, choosy[::-1]):
                first = [names[row] for _, row in order if names[row] in closed_names]
                # All nodes are cordoned but the one that a pod goes to; they are uncordoned in this
                # order once all pods have moved.
                in_turn = dict.fromkeys((*first, *closed_names))
                steps = _Steps([f"cordon {' '.join(sorted(in_turn))}"])
                for _, pod, row in moves:
                    steps.move(pod, names[row], in_turn)
                for name in in_turn:
                    steps.open(name)
                yield steps
        if len(moves) > 1 and len(closed_names) <= MAX_SWAPPED:
            # Pods that change places: all leave, and the nodes open one by one.
            pods = [pod for _, pod, _ in moves]
            for leaving, opened in product((pods, pods[::-1]), permutations(closed_names)):
                # Who takes a node is certain where no pod backs off.
                closed_first = tuple(sorted(opened))
                steps = _Steps([f"cordon {' '.join(closed_first)}"], is_slow=True)
                for pod in leaving:
                    steps.evict(pod, closed_first)
                steps.lines += [f"uncordon {name}" for name in opened]
                # A pod has a node again at the end.
                steps.evictions = [len(steps.lines)] * len(leaving)
                yield steps

    def _opened_after_each(
        self, model: PlacementModel, moves: Sequence[tuple[PodInfo, tuple[str, ...]]]
    ) -> _Steps:
        """Cordon nodes for each move, and uncordon them after it."""
        steps = _Steps()
        for pod, avoided in moves:
            cordoned = tuple(name for name in avoided if _is_open(model, name))
            if cordoned and steps.cordoned and steps.cordoned[-1] == cordoned:
                steps.lines.pop()  # they stay cordoned
            elif cordoned:
                steps.lines.append(f"cordon {' '.join(cordoned)}")
            steps.evict(pod, cordoned)
            steps.lines += [f"uncordon {' '.join(cordoned)}"] * bool(cordoned)
        return steps

    def _run(
        self, model: PlacementModel, solution: Solution, plan: _Steps, deadline: float
    ) -> MovePlan | None:
        """Make the steps. Return None if a pod finds no node at its turn, or loses its own, be
        the scheduler's draws and the order of the queue as they may; also where time runs out."""
        needing = {pod.key for each in model.classes[: model.waiting] for pod in each.pods}
        count = sum(solution.placed.values())
        # What is made for an evicted pod may come before or after those that wait are tried.
        plain = {"is_plain": True}
        for order in (plain,) if plan.is_slow else ({}, plain, {"come_first": True}):
            steps = []
            states = states_in_turns(
                self.open,
                self.state,
                plan.lines,
                roll=self.roll,
                workloads=self.workloads,
                **order,
            )
            try:
                for state in states:
                    if monotonic() > deadline:
                        return None
                    steps.append({pod.key: pod.node_name for pod in state.pods if pod.node_name})
            except (UsageError, InputError):
                return None
            last = steps[-1].keys()
            finds_room = all(
                pod.key in steps[index]
                for pod, index in zip(plan.pods, plan.evictions, strict=True)
            )
            if not (finds_room and last >= self.nodes.keys() and len(needing & last) >= count):
                return None
        moved = tuple(
            Move(pod.key, pod.pod.node_name, steps[index][pod.key], cordoned)
            for pod, index, cordoned in zip(plan.pods, plan.evictions, plan.cordoned, strict=True)
        )
        waiting = frozenset(needing & last)
        touched = {steps[-1][key] for key in waiting}
        touched |= {node for each in moved for node in (each.from_node, each.to_node)}
        # The requests on these nodes before and after the moves.
        simulation = self.open(state)
        after = simulation.snapshot
        simulation.close()
        own = [each.pod.resources.requests for each in model.classes[: model.waiting]]
        resources = dict.fromkeys(name for each in own for name, n in each.items() if n)
        usage = []
        for name, resource in product(sorted(touched), resources):
            row = model.snapshot.row[name]
            allocatable = int(model.snapshot.allocatable(resource)[row])
            before = allocatable - int(model.free(resource)[row])
            now = int(after.requested(resource)[after.row[name]])
            usage.append(UsageChange(name, resource, allocatable, before, now))
        lines, is_fewest = tuple(plan.lines), solution.is_optimal
        return MovePlan(moved, lines, state, waiting, is_fewest, tuple(usage), plan.is_slow)


def _in_order(model: PlacementModel, solution: Solution) -> list[tuple[int, PodInfo, int]]:
    """Return the moves of a solution, as (number of the class, pod, row that it goes to): each when
    there is room for it, where that is possible."""
    moves: list[tuple[int, PodInfo, int]] = []
    targets: dict[int, list[int]] = {number: [] for number, _ in solution.came}
    for (number, row), count in sorted(solution.came.items()):
        targets[number] += [row] * count
    for (number, row), count in sorted(solution.left.items()):
        leaving = model.classes[number].by_row[row][:count]
        moves += [(number, pod, targets[number].pop(0)) for pod in leaving]
    free = {name: model.free(name) for name in model.resources}
    ordered = []
    while moves:
        fitting = (
            move
            for move in moves
            if all(
                not (amount := model.classes[move[0]].request(name)) or amount <= rows[move[2]]
                for name, rows in free.items()
            )
        )
        move = next(fitting, moves[0])
        moves.remove(move)
        ordered.append(move)
        number, pod, target = move
        for name, rows in free.items():
            amount = model.classes[number].request(name)
            rows[model.snapshot.row[pod.pod.node_name]] += amount
            rows[target] -= amount
    return ordered


def _hopeless(model: PlacementModel) -> str:
    """Return what keeps a pod that waits off every node without the pods that may move, where that
    is seen without a solver; or ""."""
    for each in model.classes[: model.waiting]:
        key, count = each.pods[0].key, int(each.allowed.sum())
        if not count:
            return f"no node may take {key}, even without the pods that may move"
        for name in model.resources:
            request, most = each.request(name), int(model.room(name)[each.allowed].max())
            if request > most:
                nodes = f"the {count:,} nodes that it may use have" if count > 1 else "its node has"
                return (
                    f"{key} requests {name} {exact_text(name, request)}; {nodes} at most "
                    f"{exact_text(name, max(0, most))} {BESIDE}"
                )
    return ""


def _proof(model: PlacementModel, names: Sequence[str]) -> Iterator[str]:
    """Yield what proves that there is no solution. names: of what has none (`conflict`)"""
    waiting = model.classes[: model.waiting]
    usable = np.logical_or.reduce([each.allowed for each in waiting])
    if NODES not in names:
        usable = np.ones_like(usable)
    count = int(usable.sum())
    nodes = f"the {count:,} nodes" + (" that they may use" if NODES in names else "")
    for name in names:
        if name in (PORTS, ANTI_AFFINITY):
            subject = "host ports are" if name == PORTS else "anti-affinity is"
            yield f"{subject} in the way of every arrangement of the pods"
        if name in (NODES, PORTS, ANTI_AFFINITY):
            continue
        room = model.room(name)
        largest = max(each.request(name) for each in waiting)
        own = sum(each.request(name) * each.size for each in waiting)
        everybody = sum(each.request(name) * each.size for each in model.classes)
        free = int(np.maximum(room, 0)[usable].sum())
        if largest > int(room[usable].max()):
            most = exact_text(name, max(0, int(room[usable].max())))
            yield (
                f"{name}: {exact_text(name, largest)} requested by one pod; of {nodes}, "
                f"none has more than {most} {BESIDE}"
            )
        elif own > free:
            yield (
                f"{name}: {exact_text(name, own)} requested; {nodes} have "
                f"{exact_text(name, free)} {BESIDE}"
            )
        elif everybody > (everywhere := int(np.maximum(room, 0).sum())):
            yield (
                f"{name}: {exact_text(name, everybody)} requested with the pods that may move; "
                f"all nodes have {exact_text(name, everywhere)} {BESIDE}"
            )
        else:
            yield f"{name}: no arrangement of the pods on {nodes} leaves enough on one of them"
