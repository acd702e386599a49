"""The best placement of pods that wait, where running pods may move: a model for a solver.

Pods that no rule tells apart are one class, and how many of a class come to a node or leave it is a
whole number. The plugins' own Filter answers about nodes without any pod that may move say which
nodes a class may use. Resources, host ports, anti-affinity and spread are linear constraints. What
is left out (pod affinity, devices, volume limits, what others' plugins say) is for the engine to
find, which runs each plan: one that it refuses is excluded, and the next one is looked for.

All that is here but spread must hold of the final placement, in whatever order pods have come:
where nothing satisfies it, no moves help.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import chain, groupby, pairwise
from math import ceil, floor, inf
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ksched_cli.cluster.affinity_terms import AffinityTerm, affinity_terms
from ksched_cli.cluster.objects import Namespace
from ksched_cli.cluster.pod_info import ANY_HOST, HostPort, PodInfo
from ksched_cli.cluster.resources import PODS
from ksched_cli.cluster.snapshot import MISSING, Rows, Snapshot
from ksched_cli.engine.evaluation import EXTENDER, Evaluation, Mode
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.resource_claims import BackingClasses
from ksched_cli.framework.results import Mask
from ksched_cli.kube.selectors import SelectorError
from ksched_cli.plugins.inter_pod_affinity import AFFINITY_NOT_MATCH, as_incoming
from ksched_cli.plugins.node_resources.fit import NodeResourcesFit
from ksched_cli.plugins.pod_topology_spread import (
    HARD,
    MATCH_LABEL_KEYS,
    Constraint,
    filter_constraints,
)

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

# Names of what a relaxed model leaves out; a resource is named by itself.
NODES, PORTS, ANTI_AFFINITY, SPREAD = "nodes", "ports", "anti-affinity", "spread"
# Larger models have the nodes that promise the fewest moves alone.
MAX_PAIRS = 30_000
NEAREST_ROWS, ROOMIEST_ROWS = 24, 40
_SEED = 1
_CHOICE_SECONDS = 0.5
# So long a solver looks for a proof that an answer of another search is the best.
PROOF_SECONDS = 1.0
# A solution has so long also after the deadline.
_LEAST_SECONDS = 0.3


def has_solver() -> bool:
    """Return whether OR-tools, of the extra "optimum", is installed; `solve` needs it."""
    return find_spec("ortools") is not None


# By the number of a class and a row.
Amounts: TypeAlias = Mapping[tuple[int, int], int]


class PodClass(Struct, frozen=True, eq=False):
    """Pods that no rule tells apart.

    pods: those that wait; by_row: those that run, and may move, the cheapest first
    allowed: the nodes that would take one of them, but for resources, if no pod were there that may
             move
    requests, ports, avoids, spreads: what NodeResourcesFit, NodePorts, InterPodAffinity and
             PodTopologySpread look at, where they are enabled
    affine: the nodes that count for its spread constraints
    """

    pod: PodInfo
    allowed: Mask
    affine: Mask
    requests: Mapping[str, int]
    ports: tuple[HostPort, ...]
    avoids: tuple[AffinityTerm, ...]
    spreads: tuple[Constraint, ...]
    pods: tuple[PodInfo, ...] = ()
    by_row: Mapping[int, tuple[PodInfo, ...]] = {}

    @property
    def size(self) -> int:
        return len(self.pods) + sum(map(len, self.by_row.values()))

    def request(self, resource: str) -> int:
        return self.requests.get(resource, 0)


class Solution(Struct, frozen=True):
    """A placement.

    placed: of the pods that wait; left, came: of those that move, where they were and where they go
    is_optimal: no placement places more, or takes fewer moves
    is_none: there is none, and that is proven
    bound: the most pods that any placement places
    """

    placed: Amounts = {}
    left: Amounts = {}
    came: Amounts = {}
    is_optimal: bool = False
    is_none: bool = False
    bound: int = 0

    @property
    def exists(self) -> bool:
        return bool(self.placed)

    @property
    def moves(self) -> int:
        return sum(self.left.values())


class SpreadRow(Struct, frozen=True):
    """A spread constraint of a class that rejects nodes.

    domains: of the nodes that count, the rows of each
    counted: the numbers of the classes that it counts; fixed: per domain, how many others it counts
    """

    number: int
    max_skew: int
    min_is_zero: bool
    domains: tuple[Rows, ...]
    counted: tuple[int, ...]
    fixed: tuple[int, ...]


@dataclass(slots=True)
class PlacementModel:
    """The classes and the nodes without the pods that may move.

    classes: those that wait first; waiting: how many these are
    conflicts: two classes that avoid each other, and the topology key
    chosen: the rows of the only nodes that the model has; None for all
    cuts: solutions that the engine refused
    deadline: of all solutions, as `monotonic` counts
    """

    snapshot: Snapshot
    classes: Sequence[PodClass]
    waiting: int
    conflicts: Sequence[tuple[int, int, str]]
    spreads: Sequence[SpreadRow]
    chosen: Sequence[int] | None = None
    cuts: list[Solution] = field(default_factory=list)
    deadline: float = inf

    @classmethod
    def of(
        cls,
        simulation: Simulation,
        waiting: Iterable[PodInfo],
        movable: Iterable[PodInfo],
        chosen: Sequence[int] | None = None,
        differs: Callable[[PodInfo], Hashable] = lambda pod: None,
    ) -> PlacementModel:
        """simulation: of a state without these pods; differs: what tells pods apart besides"""
        classes = [
            _class_of(simulation, infos, is_waiting)
            for is_waiting, pods in ((True, waiting), (False, movable))
            for infos in _alike(simulation, pods, differs)
        ]
        classes = _merged(classes, simulation.state.namespaces)
        count = sum(bool(each.pods) for each in classes)
        # The pairs of classes that avoid each other, with the topology key.
        conflicts: dict[tuple[int, int, str], None] = {}
        for number, each in enumerate(classes):
            keys = [term.topology_key for term in each.avoids]
            avoided_by = _avoided(each, simulation.state.namespaces)
            for key, avoids in zip(keys, avoided_by, strict=True):
                for other, avoided in enumerate(classes):
                    if avoids(avoided.pod.namespace, avoided.pod.labels):
                        conflicts[min(number, other), max(number, other), key] = None
        # The spread constraints of the classes that reject nodes.
        spreads, snapshot = list[SpreadRow](), simulation.snapshot
        for number, each in enumerate(classes):
            having_all = np.ones(len(snapshot), dtype=np.bool_)
            for constraint in each.spreads:
                having_all &= snapshot.labels[constraint.topology_key].present
            for constraint in each.spreads:
                matches = _counted(each)(constraint)
                rows = having_all & each.affine if constraint.honors_affinity else having_all
                codes = snapshot.labels[constraint.topology_key].codes
                domains = [
                    np.flatnonzero(rows & (codes == code)) for code in np.unique(codes[rows])
                ]
                fixed = [
                    sum(
                        not there.pod.deleting and matches(there.namespace, there.labels)
                        for row in domain.tolist()
                        for there in snapshot.pods[row]
                    )
                    for domain in domains
                ]
                counted = [
                    other
                    for other, own in enumerate(classes)
                    if matches(own.pod.namespace, own.pod.labels)
                ]
                spreads.append(
                    SpreadRow(
                        number,
                        constraint.max_skew,
                        len(domains) < constraint.min_domains,
                        tuple(domains),
                        tuple(counted),
                        tuple(fixed),
                    )
                )
        return cls(snapshot, classes, count, tuple(conflicts), tuple(spreads), chosen)

    @property
    def weights(self) -> list[int]:
        """Return what it costs to move the first pod of each class: by priority, then by age."""
        priorities = sorted({each.priority for each in self._all})
        stamps = sorted({each.pod.metadata.creation_timestamp for each in self._all}, reverse=True)
        ranks = {stamp: 99 * index // len(stamps) for index, stamp in enumerate(stamps)}
        return [
            min(
                (
                    100 * min(9, priorities.index(pods[0].priority))
                    + ranks[pods[0].pod.metadata.creation_timestamp]
                    for pods in each.by_row.values()
                ),
                default=0,
            )
            for each in self.classes
        ]

    @property
    def _all(self) -> Iterator[PodInfo]:
        for each in self.classes:
            for pods in each.by_row.values():
                yield from pods

    # -- what there is ----------------------------------------------------------------------------

    @property
    def resources(self) -> list[str]:
        """The resources that any of the pods requests, the number of pods last."""
        names = dict.fromkeys(
            name for each in self.classes for name, amount in each.requests.items() if name != PODS
        )
        return [*names, PODS]

    def room(self, resource: str) -> NDArray[np.int64]:
        """Return per row what the pods that stay leave."""
        if resource == PODS:
            return self.snapshot.allocatable(PODS) - self.snapshot.pod_count
        return self.snapshot.allocatable(resource) - self.snapshot.requested(resource)

    def free(self, resource: str) -> NDArray[np.int64]:
        """Return per row what the pods that stay and those that may move leave."""
        return self.room(resource) - self.used(resource)

    @property
    def is_whole(self) -> bool:
        """Whether the model has all nodes."""
        return self.chosen is None

    def rows(self) -> Sequence[int]:
        """Return the rows of the nodes that the model has."""
        return range(len(self.snapshot)) if self.chosen is None else self.chosen

    def used(self, resource: str) -> NDArray[np.int64]:
        """Per row, what the pods that may move have."""
        used = np.zeros(len(self.snapshot), dtype=np.int64)
        for each in self.classes[self.waiting :]:
            for row, pods in each.by_row.items():
                used[row] += each.request(resource) * len(pods)
        return used

    # -- solutions --------------------------------------------------------------------------------

    def by_priority(self) -> list[list[int]]:
        """Return the classes that wait, those of one priority together, the highest first."""
        own = [*range(self.waiting)]
        levels = sorted({self.classes[number].pod.priority for number in own}, reverse=True)
        return [[n for n in own if self.classes[n].pod.priority == level] for level in levels]

    def solve(
        self,
        seconds: float,
        *,
        levels: Sequence[Collection[int]] = (),
        max_moves: int | None = None,
        relaxed: Collection[str] = (),
    ) -> Solution:
        """Return the placement with the fewest moves.

        levels: of those that place the most pods of the first classes, then of the next; without
                any, of those that place all pods
        relaxed: what is left out of the model
        """
        variables = self._variables(relaxed, max_moves)
        model, placed = variables.model, variables.placed
        size = sum(each.size for each in self.classes[: self.waiting])
        solver = solver_of(seconds / (len(levels) + 1))
        bound = 0 if levels else size
        is_optimal = self.is_whole
        # 1. As many pods as can be, level by level.
        for level in levels:
            total = sum(variables.total(placed, number) for number in level)
            if isinstance(total, int):
                continue
            model.maximize(total)
            status = self._status(solver, model)
            if status not in ("OPTIMAL", "FEASIBLE"):
                return Solution(bound=min(size, self.at_most()))
            is_optimal &= status == "OPTIMAL"
            bound += int(solver.best_objective_bound)
            model.add(total >= round(solver.objective_value))
        if not levels:
            for number, each in enumerate(self.classes[: self.waiting]):
                model.add(variables.total(placed, number) == each.size)
        # 2. As few moves as can be.
        moves = variables.cost([1] * len(self.classes))
        if variables.left:
            model.minimize(moves)
        status = self._status(solver, model)
        if status not in ("OPTIMAL", "FEASIBLE"):
            is_none = status == "INFEASIBLE" and self.is_whole and not self.cuts
            return Solution(is_none=is_none, bound=bound)
        is_optimal &= status == "OPTIMAL"
        solution = self._solution(variables, solver)
        # 3. As many moves are better for pods of a low priority and young ones: the best that a
        #    little work finds.
        if solution.moves:
            model.add(variables.cost([1] * len(self.classes)) == solution.moves)
            model.minimize(variables.cost(self.weights))
            variables.hint(solution)
            solver.parameters.max_deterministic_time = _CHOICE_SECONDS
            if self._status(solver, model) in ("OPTIMAL", "FEASIBLE"):
                solution = self._solution(variables, solver)
        bound = bound if self.is_whole else size
        return replace(solution, is_optimal=is_optimal, bound=bound)

    def at_most(self) -> int:
        """Return how many of the pods that wait have a node in any placement, by what each resource
        has room for; seen without a solver."""
        waiting = self.classes[: self.waiting]
        most = sum(each.size for each in waiting)
        usable = np.logical_or.reduce([each.allowed for each in waiting])
        for name in self.resources:
            # To move pods makes room on a node and takes as much elsewhere.
            rows = usable if self.is_whole and not self.classes[self.waiting :] else slice(None)
            left = int(self.free(name)[rows].clip(min=0).sum())
            count = 0
            # The smallest come first, as many as there are of them.
            for each in sorted(waiting, key=lambda each: each.request(name)):
                request = each.request(name)
                fitting = min(each.size, left // request) if request else each.size
                count, left = count + fitting, left - fitting * request
            most = min(most, count)
        return most

    def best(
        self,
        seconds: float,
        levels: Sequence[Mapping[int, NDArray[np.int64]]],
        *,
        hint: Amounts,
        relaxed: Collection[str] = (),
    ) -> tuple[Amounts, list[int]]:
        """Return the placement of pods that wait that is the best at the first level, of these at
        the next, and so on; and what no placement exceeds at each, if it is as good before.

        levels: what a pod of a class counts on each row, by the number of the class
        hint: a placement; no worse one is returned, where the model allows it
        """
        variables = self._variables(relaxed, None)
        model, placed, best = variables.model, variables.placed, hint
        solver = solver_of(seconds / max(len(levels), 1))
        bounds = []
        for level in levels:
            most = sum(
                int(counts.max()) * self.classes[number].size for number, counts in level.items()
            )
            terms = [
                (variable, count)
                for (number, row), variable in placed.items()
                if number in level and (count := int(level[number][row]))
            ]
            if not terms:
                bounds.append(0)
                continue
            total = variables.sum(*zip(*terms, strict=True))
            model.clear_hints()
            variables.hint(Solution(placed=best))
            model.maximize(total)
            if solver.status_name(solver.solve(model)) in ("OPTIMAL", "FEASIBLE"):
                best = self._solution(variables, solver).placed
                most = min(most, floor(solver.best_objective_bound + 0.001))
            bounds.append(most)
            model.add(
                total
                >= sum(
                    int(level[number][row]) * count
                    for (number, row), count in best.items()
                    if number in level
                )
            )
        return best, bounds

    def fewest(  # noqa: C901  # one model, from top to bottom
        self, seconds: float, groups: Sequence[Sequence[int]]
    ) -> int:
        """Return how many of these nodes a placement of all pods that wait uses at least, whatever
        their spread constraints are: 0 where none is known, or the model is too large. groups: rows
        of nodes that are alike"""
        if len(self.snapshot) * len(self.classes) > MAX_PAIRS:
            return 0
        variables = self._variables((SPREAD,), None)
        model = variables.model
        for number, each in enumerate(self.classes[: self.waiting]):
            total = variables.total(variables.placed, number)
            if isinstance(total, int):
                return 0
            model.add(total == each.size)
        by_row: dict[int, list[tuple[int, Any]]] = {}
        for (number, row), variable in variables.placed.items():
            by_row.setdefault(row, []).append((number, variable))
        room = {resource: self.room(resource) for resource in self.resources}
        used: dict[int, Any] = {}
        for row in chain.from_iterable(groups):
            used[row] = model.new_bool_var(f"used_{row}")
            for resource, free in room.items():
                terms = [
                    (variable, amount)
                    for number, variable in by_row.get(row, ())
                    if (amount := self.classes[number].request(resource))
                ]
                if terms:
                    total = variables.sum(*zip(*terms, strict=True))
                    model.add(total <= max(0, int(free[row])) * used[row])
        for group in groups:
            for row, after in pairwise(group):
                model.add_implication(used[after], used[row])
        model.minimize(variables.sum([*used.values()]))
        solver = solver_of(seconds)
        if solver.status_name(solver.solve(model)) == "INFEASIBLE":
            return 0
        return max(0, ceil(solver.best_objective_bound - 0.001))

    def _status(self, solver: cp_model.CpSolver, model: cp_model.CpModel) -> str:
        """Solve the model, by the deadline. Return the status."""
        limit = solver.parameters.max_time_in_seconds
        left = max(_LEAST_SECONDS, self.deadline - monotonic())
        solver.parameters.max_time_in_seconds = min(limit, left)
        return str(solver.status_name(solver.solve(model)))

    def _solution(self, variables: _Variables, solver: cp_model.CpSolver) -> Solution:
        placed, left, came = (
            {key: value for key, variable in each.items() if (value := solver.value(variable))}
            for each in (variables.placed, variables.left, variables.came)
        )
        return Solution(placed, left, came)

    def _variables(self, relaxed: Collection[str], max_moves: int | None) -> _Variables:
        """Return the model's variables, with all constraints but those of the levels."""
        from ortools.sat.python import cp_model

        variables = _Variables(self, cp_model.CpModel(), self.rows(), relaxed)
        model, left = variables.model, variables.left
        for number, each in enumerate(self.classes):
            if number < self.waiting:
                model.add(variables.total(variables.placed, number) <= each.size)
            else:
                came = variables.total(variables.came, number)
                model.add(variables.total(left, number) == came)
        if max_moves is not None:
            model.add(sum(left.values()) <= max_moves)
        for resource in self.resources:
            if resource not in relaxed:
                variables.bound_resource(resource)
        if PORTS not in relaxed:
            variables.bound_ports()
        if ANTI_AFFINITY not in relaxed:
            variables.keep_apart()
        if SPREAD not in relaxed:
            variables.spread()
        for cut in self.cuts:
            variables.exclude(cut)
        return variables

    def conflict(self, seconds: float) -> tuple[str, ...]:
        """Return an irreducible set of what makes the model have no solution: none of it can be
        left out. The model has none."""
        names = [*self.resources, PORTS, ANTI_AFFINITY, NODES]
        relaxed = {SPREAD}
        for name in reversed(names):
            if self.solve(seconds, relaxed={*relaxed, name}).is_none:
                relaxed.add(name)
        return tuple(name for name in names if name not in relaxed)


def solver_of(seconds: float) -> cp_model.CpSolver:
    """Return a solver that gives the same answer each time: its work is counted, and the clock only
    ends what takes far longer."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = _SEED
    solver.parameters.linearization_level = 2
    solver.parameters.max_deterministic_time = seconds
    solver.parameters.max_time_in_seconds = 2 * seconds
    return solver


@dataclass(slots=True)
class _Variables:
    """The variables of one solution: how many pods of a class come to a row, and leave it."""

    problem: PlacementModel
    model: cp_model.CpModel
    rows: Sequence[int]
    relaxed: Collection[str]
    placed: dict[tuple[int, int], Any] = field(default_factory=dict)
    left: dict[tuple[int, int], Any] = field(default_factory=dict)
    came: dict[tuple[int, int], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problem, rows = self.problem, np.array(self.rows, dtype=np.intp)
        bounding = [name for name in problem.resources if name not in self.relaxed]
        room = {name: problem.room(name) for name in bounding}
        for number, each in enumerate(problem.classes):
            is_waiting = number < problem.waiting
            movable = sum(len(each.by_row.get(row, ())) for row in self.rows)
            most = each.size if is_waiting else movable
            fitting = np.full(len(rows), most)
            for name, free in room.items():
                if amount := each.request(name):
                    fitting = np.minimum(fitting, free[rows] // amount)
            if NODES not in self.relaxed:
                fitting = np.where(each.allowed[rows], fitting, 0)
            target = self.placed if is_waiting else self.came
            for index in np.flatnonzero(fitting > 0).tolist():
                row = int(rows[index])
                name = f"{'p' if is_waiting else 'a'}{number}_{row}"
                target[number, row] = self.model.new_int_var(0, int(fitting[index]), name)
            for row in self.rows:
                if count := len(each.by_row.get(row, ())):
                    self.left[number, row] = self.model.new_int_var(0, count, f"d{number}_{row}")

    def total(self, variables: Mapping[tuple[int, int], Any], number: int) -> Any:
        """Return how many pods of a class the variables have; 0 where they have none of it."""
        own = ((number, row) for row in self.rows)
        return self.sum([variables[key] for key in own if key in variables])

    def sum(self, variables: Sequence[Any], amounts: Sequence[int] = ()) -> Any:
        """Return a sum, of the variables times amounts where there are any."""
        from ortools.sat.python import cp_model

        if not variables:
            return 0
        if not amounts:
            return cp_model.LinearExpr.sum(variables)
        return cp_model.LinearExpr.weighted_sum(variables, amounts)

    def hint(self, solution: Solution) -> None:
        """Begin the next search at a solution."""
        both = ((self.placed, solution.placed), (self.left, solution.left))
        for variables, values in (*both, (self.came, solution.came)):
            for key, variable in variables.items():
                self.model.add_hint(variable, values.get(key, 0))

    def cost(self, weights: Sequence[int]) -> Any:
        return self.sum([*self.left.values()], [weights[number] for number, _ in self.left])

    def arrivals(self, number: int, row: int) -> Any:
        """The pods of a class that come to a row; 0 where none can."""
        key = number, row
        return self.placed.get(key, self.came.get(key, 0))

    def present(self, number: int, row: int) -> Any:
        """The pods of a class that are on a row in the end."""
        own = len(self.problem.classes[number].by_row.get(row, ()))
        return own - self.left.get((number, row), 0) + self.arrivals(number, row)

    def _changes(self, number: int, row: int) -> Iterator[tuple[Any, int]]:
        """Yield the variables of a class on a row, each with the sign of its change."""
        key = number, row
        for variables, sign in ((self.placed, 1), (self.came, 1), (self.left, -1)):
            if key in variables:
                yield variables[key], sign

    def _comes(self, numbers: Iterable[int], rows: Iterable[int], name: str) -> Any:
        """Return a literal that holds where pods of these classes come to the rows; None where none
        can come."""
        arrivals = [
            self.arrivals(number, row)
            for number in numbers
            for row in rows
            if (number, row) in self.placed or (number, row) in self.came
        ]
        if not arrivals:
            return None
        comes = self.model.new_bool_var(name)
        self.model.add(self.sum(arrivals) == 0).only_enforce_if(~comes)
        return comes

    def bound_resource(self, resource: str) -> None:
        """No node has more than it can have after a pod came that requests some."""
        problem = self.problem
        room, used = problem.room(resource), problem.used(resource)
        requesting = [
            (number, each.request(resource))
            for number, each in enumerate(problem.classes)
            if each.request(resource)
        ]
        for row in self.rows:
            if all(isinstance(self.arrivals(number, row), int) for number, _ in requesting):
                continue
            terms = [
                (variable, sign * amount)
                for number, amount in requesting
                for variable, sign in self._changes(number, row)
            ]
            total = self.sum(*zip(*terms, strict=True))
            bound = self.model.add(total <= int(room[row] - used[row]))
            if used[row] > room[row]:
                # It has too much already, which only an arrival makes wrong.
                numbers = [number for number, _ in requesting]
                bound.only_enforce_if(self._comes(numbers, (row,), f"{resource}_{row}"))

    def bound_ports(self) -> None:
        """A host port of an address is one pod's; that of all addresses is that of each."""
        users: dict[tuple[str, int], dict[str, list[int]]] = {}
        for number, each in enumerate(self.problem.classes):
            for port in each.ports:
                own = users.setdefault((port.protocol, port.port), {})
                own.setdefault(port.ip, []).append(number)
        for by_ip in users.values():
            everywhere = by_ip.get(ANY_HOST, [])
            for ip, numbers in by_ip.items():
                if ip == ANY_HOST and len(by_ip) > 1:
                    continue
                users_of = {*everywhere, *numbers}
                for row in self.rows:
                    if (comes := self._comes(users_of, (row,), f"port_{ip}_{row}")) is not None:
                        total = sum(self.present(number, row) for number in users_of)
                        self.model.add(total <= 1).only_enforce_if(comes)

    def keep_apart(self) -> None:
        """No pod comes to a domain that has one that it avoids, or that avoids it."""
        for number, other, key in self.problem.conflicts:
            codes = self.problem.snapshot.labels[key].codes
            own = sorted((int(codes[row]), row) for row in self.rows if codes[row] != MISSING)
            for code, pairs in groupby(own, key=lambda pair: pair[0]):
                rows = [row for _, row in pairs]
                for first, second in {(number, other), (other, number)}:
                    comes = self._comes((first,), rows, f"near_{first}_{second}_{key}_{code}")
                    if comes is not None:
                        there = sum(self.present(second, row) for row in rows)
                        most = 1 if first == second else 0
                        self.model.add(there <= most).only_enforce_if(comes)

    def spread(self) -> None:
        """Where pods come, no domain has too many more than the one that has the fewest."""
        for index, spread in enumerate(self.problem.spreads):
            counts = [
                fixed + sum(self.present(n, row) for row in rows.tolist() for n in spread.counted)
                for rows, fixed in zip(spread.domains, spread.fixed, strict=True)
            ]
            least: Any = 0
            if not spread.min_is_zero:
                least = self.model.new_int_var(0, 1_000_000, f"least_{index}")
                for each in counts:
                    self.model.add(least <= each)
            for domain, (rows, total) in enumerate(zip(spread.domains, counts, strict=True)):
                comes = self._comes((spread.number,), rows.tolist(), f"spread_{index}_{domain}")
                if comes is not None:
                    self.model.add(total - least <= spread.max_skew).only_enforce_if(comes)

    def exclude(self, cut: Solution) -> None:
        """Exclude one solution."""
        differing = []
        both = ((self.left, cut.left), (self.came, cut.came), (self.placed, cut.placed))
        for variables, values in both:
            for key, value in values.items():
                if key in variables:
                    less = self.model.new_bool_var("less")
                    self.model.add(variables[key] <= value - 1).only_enforce_if(less)
                    differing.append(less)
        more = self.model.new_bool_var("more")
        self.model.add(sum(self.left.values()) >= cut.moves + 1).only_enforce_if(more)
        self.model.add_bool_or([*differing, more])


# -- classes --------------------------------------------------------------------------------------


def promising_rows(
    simulation: Simulation, waiting: Sequence[PodInfo], movable: Sequence[PodInfo]
) -> list[int] | None:
    """Return the rows of the nodes that a model should have: None for all, where they are not too
    many; else those from which the fewest pods have to leave for one that waits, and those with
    the most room. simulation: of a state with the movable pods on their nodes"""
    snapshot, count = simulation.snapshot, len(simulation.snapshot)
    classes = [*_alike(simulation, waiting)]
    if count * (len(classes) + len([*_alike(simulation, movable)])) <= MAX_PAIRS:
        return None
    chosen: dict[int, None] = {}
    names = {name for each in (*waiting, *movable) for name in each.resources.requests}
    free = {name: snapshot.allocatable(name) - snapshot.requested(name) for name in sorted(names)}
    for pod, *_ in classes:
        allowed, _ = _allowed(simulation, simulation.evaluate(pod.unplaced(), Mode.REASONS))
        fewest = np.zeros(count, dtype=np.int64)
        for name, amount in pod.resources.requests.items():
            largest = np.ones(count, dtype=np.int64)
            for other in movable:
                row = snapshot.row[other.pod.node_name]
                largest[row] = max(largest[row], other.resources.requests.get(name, 0))
            lack = np.maximum(amount - free[name], 0)
            fewest = np.maximum(fewest, -(-lack // largest))
        rows = np.flatnonzero(allowed)
        nearest = rows[np.argsort(fewest[rows], kind="stable")][:NEAREST_ROWS]
        chosen |= dict.fromkeys(nearest.tolist())
    for name, amounts in free.items():
        share = amounts / np.maximum(snapshot.allocatable(name), 1)
        roomiest = np.argsort(-share, kind="stable")[:ROOMIEST_ROWS]
        chosen |= dict.fromkeys(roomiest.tolist())
    return sorted(chosen)


def _alike(
    simulation: Simulation,
    pods: Iterable[PodInfo],
    differs: Callable[[PodInfo], Hashable] = lambda pod: None,
) -> Iterator[list[PodInfo]]:
    """Yield the pods that no plugin tells apart: for those in-tree, whoever owns them."""
    classes: dict[tuple[object, ...], list[PodInfo]] = {}
    is_foreign = bool(simulation.caller.foreign)
    for pod in pods:
        amounts = tuple(sorted(pod.resources.requests.items()))
        labels = tuple(sorted(pod.labels.items()))
        key = pod.signature if is_foreign else (id(pod.spec), pod.namespace, labels)
        classes.setdefault((key, amounts, differs(pod)), []).append(pod)
    yield from classes.values()


def _class_of(simulation: Simulation, infos: Sequence[PodInfo], is_waiting: bool) -> PodClass:
    pod = infos[0].unplaced()
    evaluation = simulation.evaluate(pod, Mode.REASONS)
    allowed, affine = _allowed(simulation, evaluation)
    # What the plugin ignores, or devices serve, is left to the engine.
    fit = evaluation.framework.plugin("NodeResourcesFit")
    backed = simulation.handle.service(BackingClasses).requested(pod)
    requests = {
        name: amount
        for name, amount in pod.resources.requests.items()
        if amount > 0
        and isinstance(fit, NodeResourcesFit)
        and name not in backed
        and not fit.ignores(name)
    }
    requests |= {PODS: 1} if fit is not None else {}
    has = evaluation.framework.plugin
    avoids = affinity_terms(pod).required_anti if has("InterPodAffinity") else ()
    try:
        constraints = pod.spec.topology_spread_constraints if has("PodTopologySpread") else ()
        spreads = filter_constraints(
            constraints,
            pod.labels,
            HARD,
            matches_keys=simulation.handle.release.enabled(MATCH_LABEL_KEYS),
        )
    except SelectorError:
        spreads = ()
    by_row: dict[int, list[PodInfo]] = {}
    for info in () if is_waiting else infos:
        by_row.setdefault(simulation.snapshot.row[info.pod.node_name], []).append(info)
    own = {row: tuple(each) for row, each in by_row.items()}
    return PodClass(
        pod,
        allowed,
        affine,
        requests,
        pod.host_ports if has("NodePorts") else (),
        avoids,
        spreads,
        tuple(infos) if is_waiting else (),
        own,
    )


# Their answers depend on pods elsewhere, which others that come may turn into a yes.
_TURNS = ("PodTopologySpread", "GangScheduling")
_COUNTED = ("NodeResourcesFit", EXTENDER)


def _allowed(simulation: Simulation, evaluation: Evaluation) -> tuple[Mask, Mask]:
    """Return the rows that no plugin rejects whose answer stays the same whatever pods come, and
    those that the pod's node affinity allows."""
    allowed = np.ones(len(simulation.snapshot), dtype=np.bool_)
    affine = allowed.copy()
    if evaluation.pre_filter is not None:
        is_final = evaluation.pre_filter.plugin not in (*_TURNS, *simulation.caller.foreign)
        return np.full_like(allowed, not is_final), affine
    for each in evaluation.verdicts:
        plugin, verdicts = each.plugin, each.verdicts
        if not plugin or plugin in (*_TURNS, *_COUNTED, *simulation.caller.foreign):
            continue
        lasting = np.array(
            [
                index > 0 and status.reasons != AFFINITY_NOT_MATCH.reasons
                for index, status in enumerate(verdicts.statuses)
            ]
        )
        allowed &= ~lasting[verdicts.ids]
        if plugin == "NodeAffinity":
            affine &= ~lasting[verdicts.ids]
    return allowed, affine


def _merged(classes: Sequence[PodClass], namespaces: Mapping[str, Namespace]) -> list[PodClass]:
    """Join classes that the model cannot tell apart: of the same requests, host ports and nodes,
    of which no term or constraint selects pods by their labels."""
    selecting = [
        selector
        for each in classes
        for selector in (*_avoided(each, namespaces), *map(_counted(each), each.spreads))
    ]
    merged: dict[object, list[PodClass]] = {}
    for number, each in enumerate(classes):
        pod = each.pod
        is_selected = any(matches(pod.namespace, pod.labels) for matches in selecting)
        if each.pods or is_selected or each.spreads or each.avoids:
            merged[number] = [each]
            continue
        key = (tuple(sorted(each.requests.items())), each.ports, each.allowed.tobytes())
        merged.setdefault(key, []).append(each)
    # The pods of a node that are the cheapest to move come first: those of a low priority, then the
    # young ones.
    joined = []
    for group in merged.values():
        by_row: dict[int, list[PodInfo]] = {}
        for each in group:
            for row, pods in each.by_row.items():
                by_row.setdefault(row, []).extend(pods)
        for own in by_row.values():
            own.sort(key=lambda pod: pod.pod.metadata.creation_timestamp, reverse=True)
            own.sort(key=lambda pod: pod.priority)
        rows = {row: tuple(own) for row, own in by_row.items()}
        joined.append(replace(group[0], by_row=rows))
    return joined


Matches: TypeAlias = Callable[[str, Mapping[str, str]], bool]


def _avoided(each: PodClass, namespaces: Mapping[str, Namespace]) -> list[Matches]:
    """Return what tells the pods that a class avoids."""
    return [as_incoming(term, namespaces).matches for term in each.avoids]


def _counted(each: PodClass) -> Callable[[Constraint], Matches]:
    """Return what tells the pods that a spread constraint of the class counts."""

    def counted(constraint: Constraint) -> Matches:
        own, selector = each.pod.namespace, constraint.selector
        return lambda namespace, labels: namespace == own and selector.matches(labels)

    return counted
