"""Why a pod goes where it goes: every plugin's word on every node, not only the first.

No sampling here: all nodes are looked at, and all that fit are scored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.extender_runner import ExtenderScores, extender_totals
from ksched_cli.engine.node_search import feasible_nodes_to_find
from ksched_cli.engine.records import NodeScore
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.fit_error import fit_error
from ksched_cli.framework.interface import Explains
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Mask, Scores
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.score_runner import PluginScores, total
from ksched_cli.framework.status import PluginError, Rejection, Status


@dataclass(frozen=True, slots=True)
class NodeExplanation:
    """rejections: empty where the node fits; then scores, total and rank (ties share one)."""

    node: str
    rejections: tuple[Rejection, ...] = ()
    scores: Mapping[str, NodeScore] = field(default_factory=dict)
    total: int | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """node: the one to take, or ""; running_on: the node it runs on already, or "".

    margin:  by how much the node beats the next that is not tied with it; None without a next
    sampled: how many fitting nodes kube-scheduler would stop at; less than all means that it may
             decide among fewer nodes than are shown here
    gated:   why the pod is not in the queue at all
    """

    pod: str
    profile: str
    nodes: tuple[NodeExplanation, ...]
    node: str = ""
    running_on: str = ""
    ties: tuple[str, ...] = ()
    margin: int | None = None
    sampled: int = 0
    message: str = ""
    error: str = ""
    pre_filter: Status | None = None
    gated: Status | None = None


def explain(simulation: Simulation, pod: PodInfo) -> Explanation:
    """A pod that runs already is asked about as if it were to be placed anew."""
    framework = simulation.frameworks[pod.spec.scheduler_name]
    with simulation.without_pod(pod) as (wanted, running_on):
        return _Inquiry(simulation, framework, wanted, running_on).answer()


class _Inquiry:
    """The state of one explanation under way."""

    def __init__(
        self, simulation: Simulation, framework: Framework, pod: PodInfo, running_on: str
    ) -> None:
        self.simulation = simulation
        self.framework = framework
        self.pod = pod
        self.running_on = running_on
        self.snapshot = simulation.snapshot
        self.state = CycleState()
        self.rejections: list[list[Rejection]] = [[] for _ in self.snapshot.names]
        self.first = NodeStatuses(self.snapshot)
        self.feasible = Nodes(self.snapshot, np.empty(0, dtype=np.intp))
        self.scores: list[PluginScores] = []
        self.extended: list[ExtenderScores] = []
        self.extender_totals: Scores | int = 0

    def answer(self) -> Explanation:
        gated = None if self.running_on else self.framework.pre_enqueue(self.pod)
        outcome = self.framework.pre_filter(self.state, self.pod)
        if not outcome.status.is_success:
            self.first.absent = outcome.status
            rejected = outcome.status.is_rejected
            return self._explanation(
                pre_filter=outcome.status if rejected else None,
                message=fit_error(self.first, outcome.status.message) if rejected else "",
                error="" if rejected else outcome.status.message,
                gated=gated,
            )
        allowed = self._filter(outcome.node_names, outcome.narrowed_by)
        self.feasible = Nodes(self.snapshot, np.flatnonzero(allowed))
        error = ""
        try:
            self._ask_extenders()
            self._score()
        except PluginError as failure:
            error = str(failure)
        return self._explanation(error=error, gated=gated)

    # -- filter -----------------------------------------------------------------------------------

    def _filter(self, names: frozenset[str] | None, narrowed_by: tuple[str, ...]) -> Mask:
        """Asks every plugin about every node; the mask of those that nobody rejects."""
        everything = Nodes(self.snapshot)
        if names is not None:
            by = "[" + " ".join(narrowed_by) + "]"
            left_out = Status.unresolvable(f"node(s) didn't satisfy plugin(s) {by}")
            for row, name in enumerate(self.snapshot.names):
                if name not in names:
                    self._reject(row, left_out.by(narrowed_by[0]))
        for plugin in self.framework.filtering.plugins:
            if plugin.name in self.state.skip_filter:
                continue
            verdicts = self.framework.filtering.ask(plugin, self.state, self.pod, everything)
            for row in np.flatnonzero(verdicts.ids).tolist():
                status = verdicts.statuses[verdicts.ids[row]]
                details: tuple[str, ...] = ()
                if isinstance(plugin, Explains):
                    node = NodeInfo(self.snapshot, row)
                    details = self.framework.details(plugin, "filter", self.state, self.pod, node)
                self._reject(row, status, details)
        self._ask_with_nominated()
        return np.array([not found for found in self.rejections], dtype=np.bool_)

    def _ask_with_nominated(self) -> None:
        """Nodes that fit but for the pods that were promised a place there."""
        for name in list(self.simulation.nominator.nodes()):
            row = self.snapshot.row.get(name)
            if row is None or self.rejections[row]:
                continue
            status = self.framework.filtering.run_on_node_with_nominated_pods(
                self.state, self.pod, row
            )
            if not status.is_success:
                promised = ", ".join(p.key for p in self.simulation.nominator.on_node(name))
                self._reject(row, status, (f"with the nominated pods counted: {promised}",))

    def _reject(self, row: int, status: Status, details: tuple[str, ...] = ()) -> None:
        if not self.rejections[row]:
            self.first.set(row, status)
        self.rejections[row].append(Rejection(status, details))

    def _ask_extenders(self) -> None:
        """Each is asked about what the one before left. Raises PluginError."""
        for step in self.simulation.extending.steps(self.pod, self.feasible):
            nodes = step.answer.nodes
            self.feasible = Nodes(nodes.snapshot, np.unique(nodes.indices()))
            left = set(self.feasible.indices().tolist())
            said = step.statuses()
            for row in step.asked.indices().tolist():
                if row in left:
                    continue
                status = said.get(self.snapshot.names[row])
                if status is not None:
                    self._reject(row, status.by(step.extender))
                    continue
                # Nobody speaks about the node, so that to preemption it is as hopeless as any.
                status = self.first.absent.by(step.extender)
                self.rejections[row].append(Rejection(status, ("left out without a reason",)))

    # -- score ------------------------------------------------------------------------------------

    def _score(self) -> None:
        """Raises PluginError."""
        if not len(self.feasible):
            return
        self.scores = self.framework.scoring.run(self.state, self.pod, self.feasible)
        asked = self.simulation.extending.prioritize(self.pod, self.feasible)
        self.extender_totals = extender_totals(asked, self.feasible)
        self.extended = asked

    # -- the whole --------------------------------------------------------------------------------

    def _explanation(
        self,
        *,
        pre_filter: Status | None = None,
        message: str = "",
        error: str = "",
        gated: Status | None = None,
    ) -> Explanation:
        rows = self.feasible.indices()
        totals = total(self.scores, len(rows)) + self.extender_totals
        nodes = self._nodes(rows.tolist(), totals.tolist(), bool(error))
        best = int(totals.max()) if len(rows) else 0
        ties = [self.snapshot.names[row] for row in rows[totals == best].tolist()]
        below = totals[totals < best]
        fits = bool(len(rows)) and not error
        if not fits and not message and not error:
            message = fit_error(self.first)
        return Explanation(
            pod=self.pod.key,
            profile=self.framework.profile.scheduler_name,
            nodes=nodes,
            node=ties[0] if fits else "",
            running_on=self.running_on,
            ties=tuple(ties) if fits and len(ties) > 1 else (),
            margin=best - int(below.max()) if fits and len(below) else None,
            sampled=feasible_nodes_to_find(self._percentage(), len(self.snapshot)),
            message=message,
            error=error,
            pre_filter=pre_filter,
            gated=gated if gated is not None and not gated.is_success else None,
        )

    def _percentage(self) -> int:
        own = self.framework.profile.percentage_of_nodes_to_score
        return self.simulation.configuration.percentage_of_nodes_to_score if own is None else own

    def _nodes(
        self, rows: list[int], totals: list[int], failed: bool
    ) -> tuple[NodeExplanation, ...]:
        place = {row: i for i, row in enumerate(rows)}
        ranks = _ranks(totals)
        extended = [(one.extender, one.by_node()) for one in self.extended]
        found = []
        for row, name in enumerate(self.snapshot.names):
            at = place.get(row)
            if at is None:
                found.append(NodeExplanation(name, tuple(self.rejections[row])))
            elif failed:
                found.append(NodeExplanation(name))
            else:
                mine = {one.plugin: self._node_score(one, at, row) for one in self.scores}
                mine |= {source: scores[name] for source, scores in extended if name in scores}
                found.append(NodeExplanation(name, (), mine, totals[at], ranks[at]))
        return tuple(found)

    def _node_score(self, one: PluginScores, at: int, row: int) -> NodeScore:
        plugin = self.framework.plugin(one.plugin)
        details: tuple[str, ...] = ()
        if isinstance(plugin, Explains):
            node = NodeInfo(self.feasible.snapshot, row)
            details = self.framework.details(plugin, "score", self.state, self.pod, node)
        normalized = int(one.normalized[at])
        return NodeScore(int(one.raw[at]), normalized, one.weight, normalized * one.weight, details)


def _ranks(totals: list[int]) -> list[int]:
    """1 for the highest; equal totals share a rank."""
    order = {value: rank for rank, value in reversed(list(enumerate(sorted(totals)[::-1], 1)))}
    return [order[value] for value in totals]
