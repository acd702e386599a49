"""How far a run is from the best placement of the same pods.

A solver bounds what any placement reaches (`placement_model`), and proposes one. The engine then
runs with each pod nominated to its node there: what that run reaches, kube-scheduler's own rules
allow. The bound leaves out what the model leaves out, and spread, which depends on the order of
pods: it is never too low.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product, repeat, takewhile
from math import floor
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from msgspec import UNSET, Meta, UnsetType, structs
from numpy.typing import NDArray

from ksched_cli.analysis.metrics import Metric
from ksched_cli.analysis.placement_model import (
    MAX_PAIRS,
    SPREAD,
    Amounts,
    PlacementModel,
    has_solver,
    solver_of,
)
from ksched_cli.answers import Part
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import PODS
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import MissingExtraError, UsageError
from ksched_cli.kube.time import SECOND
from ksched_cli.scenario.pods import pending_again

if TYPE_CHECKING:
    from ksched_cli.engine.replay.replay import OnLook, Replay
    from ksched_cli.run.open import Opener
    from ksched_cli.run.run import Run


# A whole number, but of a metric.
Amount: TypeAlias = Annotated[float, Meta(ge=0)]


class RegretLevel(Part, frozen=True):
    """The pods of one priority, in the quantity.

    total: of all pods
    reached: by the run; best: by the best placement that was run
    at_most: no placement that is as good at the priorities above reaches more
    """

    priority: int
    total: Amount
    reached: Amount
    best: Amount
    at_most: Amount


class Regret(Part, frozen=True):
    """What the best placement of the same pods reaches beyond a run. Pods that were on nodes before
    stay there; those that the run evicts may be anywhere, too.

    quantity: "pods", the resource whose requests are added up, or a metric that is a sum over pods
              on nodes
    regret: how much more the best placement has of the highest priority at which both differ
    at_most: no placement has more beyond the run, of the highest priority at which one could
    levels: by priority, the highest first
    """

    quantity: str
    regret: Amount
    at_most: Amount
    levels: tuple[RegretLevel, ...]

    @classmethod
    def of(cls, quantity: str, levels: Sequence[RegretLevel]) -> Regret:
        """Return the regret of these levels, the highest priority first."""
        beyond = (level.best - level.reached for level in levels)
        open_beyond = (level.at_most - level.reached for level in levels)
        return cls(
            quantity,
            next((amount for amount in beyond if amount), 0),
            next((amount for amount in open_beyond if amount), 0),
            tuple(levels),
        )

    @property
    def is_best(self) -> bool:
        """Return whether no placement is better than the best one that was run."""
        return all(level.best == level.at_most for level in self.levels)


class RegretMoment(RegretLevel, frozen=True, kw_only=True):
    """The pods of one priority at a moment of a replay. at: seconds after the start"""

    at: float


def check_solver() -> None:
    """Check that a solver is installed. Raises MissingExtraError."""
    if not has_solver():
        raise MissingExtraError("--regret", "optimum")


def regret_of(
    simulation: Simulation,
    run: RunRecord,
    quantity: str,
    seconds: float = 30,
    metrics: Sequence[Metric] = (),
) -> Regret:
    """Compare a run at one instant with the best placement. Raises MissingExtraError.

    simulation: after the run
    quantity: "pods", a resource, or the name of one of the metrics
    """
    state = simulation.state
    evicted = {eviction.pod for eviction in run.evicted}
    waiting = {*run.placements, *run.pending, *evicted}
    resized = {pod.key for pod in state.pods if pod.key in waiting and pod.node_name} - evicted
    nodes = run.nodes(state.pods)
    return best_placement(
        simulation, state, waiting - resized, nodes, quantity, seconds, metrics=metrics
    )


class RegretOverTime:
    """Compares a replay at the moments that its Run names, and at its end.

    levels: a row per moment and priority
    """

    def __init__(self, opener: Opener, run: Run, metrics: Sequence[Metric] = ()) -> None:
        self._opener, self._run, self._metrics = opener, run, metrics
        self.levels: list[RegretMoment] = []

    @property
    def on_look(self) -> OnLook | None:
        """Return what the replay has to call, if anything."""
        return self._look if self._run.regret_at else None

    def _look(self, replay: Replay, at: int) -> None:
        seconds, whole = at / SECOND, at // SECOND
        regret = _regret_now(self._opener, self._run, replay, self._metrics)
        self.levels += (
            RegretMoment(*structs.astuple(level), at=whole if whole == seconds else seconds)
            for level in regret.levels
        )

    def of(self, replay: Replay) -> dict[str, Any]:
        """Return the fields of an answer, after the replay; unset where the Run does not ask for
        them. Raises MissingExtraError."""
        return {
            "regret": regret_at_end(self._opener, self._run, replay, self._metrics),
            "regret_over_time": tuple(self.levels) if self._run.regret_at else UNSET,
        }


def regret_at_end(
    opener: Opener, run: Run, replay: Replay, metrics: Sequence[Metric] = ()
) -> Regret | UnsetType:
    """Compare the end of a replay with the best placement. Unset where the Run does not ask for it.
    Raises MissingExtraError."""
    return _regret_now(opener, run, replay, metrics) if run.regret else UNSET


def _regret_now(opener: Opener, run: Run, replay: Replay, metrics: Sequence[Metric]) -> Regret:
    """Compare a replay as it is now with the best placement of the pods that wait or run. Those
    that ran when it began stay on their nodes; the others may be anywhere."""
    began = {pod.key for pod in opener.state(run).pods if pod.node_name}
    simulation = opener.simulation(run, state=replay.state())
    pods = simulation.state.pods
    nodes = {pod.key: pod.node_name for pod in pods if pod.node_name and not pod.finished}
    waiting = {entry.pod.key for entry in simulation.queue() if not entry.pod.is_resized}
    waiting |= {key for key, name in nodes.items() if name in simulation.snapshot.row} - began
    regret = best_placement(
        simulation,
        simulation.state,
        waiting,
        nodes,
        run.regret,
        run.time_limit,
        over_time=True,
        metrics=metrics,
    )
    simulation.close()
    return regret


def best_placement(
    simulation: Simulation,
    state: ClusterState,
    waiting: set[str],
    nodes: Mapping[str, str],
    quantity: str,
    seconds: float,
    *,
    over_time: bool = False,
    metrics: Sequence[Metric] = (),
) -> Regret:
    """Compare where the pods are with the best placement of those that wait.

    simulation: decides as the run did
    waiting: the keys of the pods that may be on any node; nodes: of the pods that are on one
    over_time: other pods, at other times, may request the resource that these do not
    Raises MissingExtraError; UsageError for a quantity that no pod has
    """
    check_solver()
    metric = next((each for each in metrics if each.name == quantity), None)
    if metric is not None and not metric.is_per_placement:
        raise UsageError(
            f"--regret {quantity}: no solver can bound a figure of the whole run; mark a function "
            "of a pod and a node with per_placement (docs/library.md)"
        )
    # 1. The model of the cluster without these pods.
    emptied = pending_again(state, [p for p in state.pods if p.key in waiting and p.node_name])
    empty = simulation.renewed(emptied, before=None)
    info = empty.catalog.info
    infos = [info(pod) for pod in emptied.pods if pod.key in waiting and not pod.node_name]
    values, unit = None, 1
    if metric is not None:
        values, unit = _values(metric, infos, empty.snapshot)
    differs = (lambda pod: None) if values is None else (lambda pod: values[pod.key].tobytes())
    model = PlacementModel.of(empty, infos, (), differs=differs)
    problem = _Problem(model, quantity, values)
    has_nodes = over_time and quantity in model.snapshot.node_columns.allocatable
    if infos and not (any(problem.levels) or has_nodes):
        raise UsageError(
            "--regret takes pods, a resource that waiting pods request, or a --metric that is "
            f'marked with per_placement; not "{quantity}"'
        )
    # 2. What any placement reaches at most, and a placement that may reach it.
    reached = problem.placement(nodes)
    if len(model.snapshot) * len(model.classes) <= MAX_PAIRS:
        seconds /= 1 + bool(model.spreads)
        proposed, bounds = model.best(seconds, problem.levels, hint=reached, relaxed=(SPREAD,))
        if model.spreads:
            proposed, _ = model.best(seconds, problem.levels, hint={})
    else:
        chosen, bounds = problem.relaxed(seconds)
        proposed = problem.packed(chosen)
    # 3. What the engine reaches with these nominations.
    engine = problem.placement(_run(simulation, emptied, waiting, problem.nodes(proposed)))
    empty.close()
    both = problem.values(reached), problem.values(engine)
    columns = zip(problem.everything, both[0], max(both), bounds, strict=True)
    # A unit may be counted in parts.
    levels = [
        RegretLevel(priority, *(parts if unit == 1 else parts / unit for parts in amounts))
        for priority, amounts in zip(problem.priorities, columns, strict=True)
    ]
    return Regret.of(problem.quantity, levels)


# A metric is counted in parts of this size where its values are no whole multiples of a larger one.
_PARTS = 10**6
_MAX_VALUES = 1_000_000


def _values(
    metric: Metric, pods: Sequence[PodInfo], snapshot: Snapshot
) -> tuple[dict[str, NDArray[np.int64]], int]:
    """Return what each pod counts on each row, by its key, rounded up to parts of a unit; and how
    many parts the unit has. Raises UsageError, PluginDefectError."""
    if len(pods) * len(snapshot) > _MAX_VALUES:
        raise UsageError(
            f"--regret {metric.name}: {len(pods):,} pods on {len(snapshot):,} nodes are too many "
            f"for a metric; at most {_MAX_VALUES:,} pairs are"
        )
    values = {
        pod.key: np.array([metric.value(pod, node) for node in snapshot.nodes]) for pod in pods
    }
    every = np.concatenate([*values.values(), np.zeros(1)])
    if every.min() < 0 or every.max() > 10**6:
        raise UsageError(
            f"--regret {metric.name}: values are 0 to 1,000,000, and more is better; not "
            f"{every.min() if every.min() < 0 else every.max():g}"
        )
    units = (
        unit
        for unit in (1, 10, 100, 1_000)
        if np.allclose(every * unit, np.rint(every * unit), 0, 1e-9)
    )
    unit = next(units, _PARTS)
    return {key: np.ceil(own * unit - 1e-9).astype(np.int64) for key, own in values.items()}, unit


def _run(
    simulation: Simulation, state: ClusterState, waiting: set[str], nodes: Mapping[str, str]
) -> Mapping[str, str]:
    """Return the nodes of the pods after a run of those that have nodes here, which they are
    nominated to."""

    def nominated(pod: Pod) -> Pod:
        if pod.key not in waiting:
            return pod
        status = structs.replace(pod.status, nominated_node_name=nodes[pod.key])
        return structs.replace(pod, status=status)

    options = replace(simulation.options, preempt=False, detailed=False, on_progress=None)
    pods = tuple(nominated(pod) for pod in state.pods if pod.key not in waiting or pod.key in nodes)
    again = simulation.renewed(replace(state, pods=pods), before=None, options=options)
    record = again.run()
    again.close()
    return record.nodes(pods)


@dataclass(slots=True)
class _Problem:
    """A model, and what its pods count by priority.

    values_of: of a metric, in whole parts of a unit: what a pod counts on each row, by its key
    """

    model: PlacementModel
    quantity: str
    values_of: Mapping[str, NDArray[np.int64]] | None = None

    @property
    def _by_priority(self) -> list[list[int]]:
        return self.model.by_priority()

    @property
    def priorities(self) -> list[int]:
        return [self.model.classes[numbers[0]].pod.priority for numbers in self._by_priority]

    def _counts(self, number: int) -> NDArray[np.int64]:
        """Return what one pod of a class counts on each row."""
        pod = self.model.classes[number].pod
        if self.values_of is not None:
            return self.values_of[pod.key]
        count = 1 if self.quantity == PODS else pod.resources.requests.get(self.quantity, 0)
        return np.full(len(self.model.snapshot), count, dtype=np.int64)

    @property
    def levels(self) -> list[dict[int, NDArray[np.int64]]]:
        """Return what a pod of each class counts on each row, by priority."""
        return [
            {number: counts for number in numbers if (counts := self._counts(number)).any()}
            for numbers in self._by_priority
        ]

    @property
    def everything(self) -> list[int]:
        classes = self.model.classes
        return [
            sum(int(counts.max()) * classes[number].size for number, counts in level.items())
            for level in self.levels
        ]

    def values(self, placement: Amounts) -> list[int]:
        """Return what a placement reaches, by priority."""
        return [
            sum(
                int(level[number][row]) * count
                for (number, row), count in placement.items()
                if number in level
            )
            for level in self.levels
        ]

    def placement(self, nodes: Mapping[str, str]) -> dict[tuple[int, int], int]:
        """Return the placement of these nodes, by the pods' keys."""
        placement: dict[tuple[int, int], int] = {}
        for number, each in enumerate(self.model.classes):
            for pod in each.pods:
                if name := nodes.get(pod.key):
                    key = number, self.model.snapshot.row[name]
                    placement[key] = placement.get(key, 0) + 1
        return placement

    def nodes(self, placement: Amounts) -> dict[str, str]:
        """Return the nodes of a placement, by the pods' keys."""
        names, pods = self.model.snapshot.names, [iter(each.pods) for each in self.model.classes]
        return {
            next(pods[number]).key: names[row]
            for (number, row), count in placement.items()
            for _ in range(count)
        }

    # -- many nodes -------------------------------------------------------------------------------

    def relaxed(self, seconds: float) -> tuple[list[int], list[int]]:
        """Return how many pods of each class are placed if nodes that the same classes may use
        lend each other what is free; and what no placement exceeds, by priority."""
        from ortools.sat.python import cp_model

        problem, model = self.model, cp_model.CpModel()
        # 1. Nodes that the same classes may use are one group.
        masks = np.array([each.allowed for each in problem.classes])
        _, groups = np.unique(masks, axis=1, return_inverse=True)
        groups = groups.reshape(-1)
        members = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
        room = {name: np.maximum(problem.room(name), 0) for name in problem.resources}
        # 2. No more pods of a class come to a group than its nodes alone have room for.
        placed: list[list[Any]] = []
        for number, each in enumerate(problem.classes):
            fitting = np.full(len(problem.snapshot), each.size, dtype=np.int64)
            for name, amount in each.requests.items():
                fitting = np.minimum(fitting, room[name] // amount)
            fitting[~each.allowed] = 0
            most = [min(each.size, int(fitting[rows].sum())) for rows in members]
            placed.append(
                [model.new_int_var(0, count, f"{number}_{at}") for at, count in enumerate(most)]
            )
            model.add(sum(placed[-1]) <= each.size)
        for name, free in room.items():
            for at, rows in enumerate(members):
                terms = [
                    placed[number][at] * each.request(name)
                    for number, each in enumerate(problem.classes)
                    if each.request(name)
                ]
                model.add(sum(terms) <= int(free[rows].sum()))
        # 3. The most at each priority.
        solver = solver_of(seconds / max(len(self.levels), 1))
        chosen, bounds = [0] * len(problem.classes), []
        for level, everything in zip(self.levels, self.everything, strict=True):
            limit = everything
            if level:
                # On one of a group's nodes each pod counts the most that it does on any of them.
                counted = [
                    (placed[number][at], int(counts[rows].max()))
                    for number, counts in level.items()
                    for at, rows in enumerate(members)
                ]
                total = cp_model.LinearExpr.weighted_sum(*map(list, zip(*counted, strict=True)))
                model.maximize(total)
                if solver.status_name(solver.solve(model)) in ("OPTIMAL", "FEASIBLE"):
                    chosen = [sum(map(solver.value, variables)) for variables in placed]
                    limit = min(everything, floor(solver.best_objective_bound + 0.001))
                    model.add(total >= round(solver.objective_value))
                    model.clear_hints()
                    for variable in chain.from_iterable(placed):
                        model.add_hint(variable, solver.value(variable))
            bounds.append(limit)
        return chosen, bounds

    def packed(self, chosen: Sequence[int]) -> dict[tuple[int, int], int]:
        """Return the best placement that four rules of packing find. chosen: by class, how many
        pods come before the others of their priority"""
        rules = product((False, True), (False, True))
        return max((self._packed(chosen, *rule) for rule in rules), key=self.values)

    def _packed(
        self, chosen: Sequence[int], by_amount: bool, aligned: bool
    ) -> dict[tuple[int, int], int]:
        """Pack by priority, the large pods first.

        by_amount: those that count most come before
        aligned: a pod comes to the node whose room is most like its requests; else to the full one
                 where as much of each resource is left as of the scarcest
        """
        problem = self.model
        names = problem.resources
        free = np.array([problem.room(name) for name in names], dtype=np.int64)
        own, total = np.maximum(free, 1), np.maximum(free.clip(min=0).sum(axis=1), 1)[:, None]
        requests = np.array(
            [[each.request(name) for name in names] for each in problem.classes], dtype=np.int64
        )
        counted = slice(len(names) - 1 or 1)  # not the number of pods
        shares = (requests / total[:, 0])[:, counted]
        scarcest = int((shares * [[each.size] for each in problem.classes]).sum(axis=0).argmax())
        sizes = shares.sum(axis=1) if by_amount else shares.max(axis=1)
        placement: dict[tuple[int, int], int] = {}
        counts = [self._counts(number) for number in range(problem.waiting)]

        def place(number: int) -> bool:
            """Place a pod of a class; whether there is room."""
            request = requests[number][:, None]
            after = free - request
            fits = ((after >= 0) | (request == 0)).all(axis=0)
            rows = np.flatnonzero(fits & problem.classes[number].allowed)
            if not len(rows):
                return False
            rows = rows[counts[number][rows] == counts[number][rows].max()]
            if aligned:
                worth = -((request / total) * (free[:, rows] / total))[counted].sum(axis=0)
            else:
                part = after[:, rows] / own[:, rows]
                worth = (abs(part - part[scarcest]) + 0.3 * part)[counted].sum(axis=0)
            row = int(rows[worth.argmin()])
            free[:, row] -= requests[number]
            placement[number, row] = placement.get((number, row), 0) + 1
            return True

        for numbers in self._by_priority:
            amounts = {number: int(counts[number].max()) * by_amount for number in numbers}
            ordered = sorted(numbers, key=lambda number: (-amounts[number], -sizes[number]))
            left = {number: problem.classes[number].size for number in ordered}
            for most in ({number: chosen[number] for number in ordered}, left):
                for number in ordered:
                    left[number] -= len([*takewhile(place, repeat(number, most[number]))])
        return placement
