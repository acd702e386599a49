"""One pod's way through the extension points, up to the choice of its node.

Upstream: pkg/scheduler/schedule_one.go (schedulingCycle, schedulePod).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from msgspec.structs import replace

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.engine.binding_cycle import BindingCycle, Outcome
from ksched_cli.engine.extender_runner import ExtenderRunner, ExtenderScores, extender_totals
from ksched_cli.engine.node_search import NodeSearch, feasible_nodes_to_find
from ksched_cli.engine.records import (
    NO_DETAIL,
    Attempt,
    Candidate,
    Detail,
    NodeScore,
    PostFilterRecord,
)
from ksched_cli.framework.cache.answer_cache import CacheEntry
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.deferred_actions import deferred
from ksched_cli.framework.extender import ExtenderError
from ksched_cli.framework.fit_error import fit_error
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.nominator import Nominator
from ksched_cli.framework.preemption import STATE_KEY, Preemption
from ksched_cli.framework.results import Scores
from ksched_cli.framework.runtime import Framework, PreFilterOutcome
from ksched_cli.framework.score_runner import PluginScores, total
from ksched_cli.framework.status import PluginError, Status

NO_NODES = "no nodes available to schedule pods"
_NO_ROWS: Rows = np.empty(0, dtype=np.intp)

# Of the rows with the best total, in name order, the one to take.
TieBreak = Callable[[Rows], int]


def first_by_name(ties: Rows) -> int:
    return int(ties[0])


@dataclass(slots=True)
class SchedulingCycle:
    """Runs attempts against one snapshot.

    percentage: percentageOfNodesToScore where the profile has none of its own
    detailed:   keep every node's verdict and every plugin's scores
    extending:  the extenders, between Filter and Score and beside Score
    """

    snapshot: Snapshot
    nominator: Nominator
    binding: BindingCycle
    percentage: int = 0
    tie_break: TieBreak = first_by_name
    detailed: bool = False
    search: NodeSearch = field(default_factory=NodeSearch)
    extending: ExtenderRunner = field(default_factory=ExtenderRunner)
    _none: Nodes = field(init=False)

    def __post_init__(self) -> None:
        self._none = Nodes(self.snapshot, _NO_ROWS)

    def attempt(self, framework: Framework, pod: PodInfo) -> Outcome:
        """Tries one pod. Where a node is found, the pod is on it afterwards."""
        blank = Attempt(pod.key, framework.profile.scheduler_name)
        if not len(self.snapshot):
            return Outcome(replace(blank, error=NO_NODES), nomination="")
        state = CycleState()
        statuses = NodeStatuses(self.snapshot)
        known = framework.memory.about(pod)
        outcome = framework.pre_filter(state, pod, known)
        if outcome.status.is_rejected:
            statuses.absent = outcome.status
            record = replace(blank, pre_filter=outcome.status)
            return self._no_fit(framework, state, pod, statuses, record)
        if not outcome.status.is_success:
            return Outcome(replace(blank, error=outcome.status.message), nomination="")
        feasible = self._none
        if self.nominator:
            feasible = self._nominated(framework, state, pod, statuses)
        if not len(feasible):
            try:
                feasible = self._among(framework, state, pod, outcome, statuses, known)
            except PluginError as failure:
                return Outcome(replace(blank, error=str(failure)), nomination="")
        if not len(feasible):
            record = replace(blank, evaluated=statuses.own_count)
            return self._no_fit(framework, state, pod, statuses, record)
        return self._choose(framework, state, pod, feasible, statuses, blank, known)

    def _among(
        self,
        framework: Framework,
        state: CycleState,
        pod: PodInfo,
        outcome: PreFilterOutcome,
        statuses: NodeStatuses,
        known: CacheEntry | None,
    ) -> Nodes:
        """Of the nodes that PreFilter left, those that pass the plugins and then the extenders.

        Raises PluginError where a plugin or an extender fails.
        """
        candidates = self.snapshot.order
        if outcome.node_names is not None:
            candidates = self._narrowed(outcome.node_names)
            by = "[" + " ".join(outcome.narrowed_by) + "]"
            statuses.absent = Status.unresolvable(f"node(s) didn't satisfy plugin(s) {by}")
        found = self.search.run(
            framework.filtering,
            state,
            pod,
            candidates,
            self._wanted(framework, len(candidates)),
            statuses,
            known,
            ordered=bool(self.extending),
        )
        self.search.advance(len(found.feasible) + statuses.own_count, len(self.snapshot))
        if found.error:
            raise PluginError(found.error)
        if not self.extending.filters:
            return found.feasible
        return self.extending.filter(pod, found.feasible, statuses)

    def _narrowed(self, names: frozenset[str]) -> Rows:
        """Rows in the order of visits; a name that is no node is passed over."""
        rows = [self.snapshot.row[name] for name in names if name in self.snapshot.row]
        rows.sort(key=lambda row: int(self.snapshot.rank[row]))
        return np.array(rows, dtype=np.intp)

    def _wanted(self, framework: Framework, count: int) -> int:
        scores = framework.scoring.plugins or self.extending.prioritizes
        if not scores and not self.extending.filters:
            return min(1, count)
        own = framework.profile.percentage_of_nodes_to_score
        return feasible_nodes_to_find(self.percentage if own is None else own, count)

    def _nominated(
        self, framework: Framework, state: CycleState, pod: PodInfo, statuses: NodeStatuses
    ) -> Nodes:
        """The nominated node, if there is one and it fits; a failure there is as not fitting."""
        row = self.snapshot.row.get(self.nominator.node_of(pod))
        if row is None:
            return self._none
        status = framework.filtering.run_on_node_with_nominated_pods(state, pod, row)
        if status.is_success:
            node = Nodes(self.snapshot, np.array([row], dtype=np.intp))
            try:
                return self.extending.filter(pod, node, statuses)
            except ExtenderError:
                return self._none
        if status.is_rejected:
            statuses.set(row, status)
        return self._none

    # -- a node is found --------------------------------------------------------------------------

    def _choose(
        self,
        framework: Framework,
        state: CycleState,
        pod: PodInfo,
        feasible: Nodes,
        statuses: NodeStatuses,
        record: Attempt,
        known: CacheEntry | None,
    ) -> Outcome:
        count = len(feasible)
        evaluated = count + statuses.own_count
        if count == 1:
            row = int(feasible.indices()[0])
            detail = self._detail(statuses, feasible)
            name = self.snapshot.names[row]
            record = replace(record, evaluated=evaluated, node=name, detail=detail)
            return self.binding.assume(framework, state, pod, row, record)
        try:
            scores, totals = self._score(framework, state, pod, feasible, known)
        except PluginError as failure:
            record = replace(record, evaluated=evaluated, error=str(failure))
            return Outcome(record, nomination="")
        extended: list[ExtenderScores] = []
        if self.extending and (extended := self.extending.prioritize(pod, feasible)):
            totals = totals + extender_totals(extended, feasible)
        best = totals.item(totals.argmax())
        ties = (totals == best).nonzero()[0]
        if feasible.rows is not None:
            ties = feasible.rows[ties]
        if len(ties) > 1:
            ties.sort()
            row = self.tie_break(ties)
        else:
            row = ties.item(0)
        record = replace(
            record,
            evaluated=evaluated,
            node=self.snapshot.names[row],
            score=best,
            ties=self._names(ties) if self.detailed and len(ties) > 1 else (),
            detail=self._detail(statuses, feasible, scores, totals, extended),
        )
        return self.binding.assume(framework, state, pod, row, record)

    def _score(
        self,
        framework: Framework,
        state: CycleState,
        pod: PodInfo,
        feasible: Nodes,
        known: CacheEntry | None,
    ) -> tuple[list[PluginScores], Scores]:
        """The plugins' scores, where they are wanted in detail, and the totals."""
        if not framework.scoring.plugins and not self.extending:
            return [], np.ones(len(feasible), dtype=np.int64)
        if self.detailed:
            scores = framework.scoring.run(state, pod, feasible)
            return scores, total(scores, len(feasible))
        # Of nodes that an extender sent back, nothing is remembered.
        own = feasible.snapshot is self.snapshot
        return [], framework.scoring.totals(state, pod, feasible, known if own else None)

    # -- no node is found -------------------------------------------------------------------------

    def _no_fit(
        self,
        framework: Framework,
        state: CycleState,
        pod: PodInfo,
        statuses: NodeStatuses,
        record: Attempt,
    ) -> Outcome:
        pre_filter = record.pre_filter.message if record.pre_filter else ""
        record = replace(record, detail=self._detail(statuses))
        if not framework.has_post_filters:
            return Outcome(replace(record, message=fit_error(statuses, pre_filter)))
        result, status = framework.post_filter(state, pod, statuses)
        self.extending.check()
        preemption: Preemption = state.data.get(STATE_KEY) or Preemption()
        message = fit_error(statuses, pre_filter, status.message)
        return Outcome(
            replace(record, message=message, post_filter=self._found(status, preemption)),
            preemption=preemption if preemption.node else None,
            nomination=result.nominated_node if result is not None else None,
            afterwards=deferred(state),
        )

    # -- records ----------------------------------------------------------------------------------

    def _found(self, status: Status, preemption: Preemption) -> PostFilterRecord:
        return PostFilterRecord(
            status,
            preemption.node,
            preemption.ties,
            tuple(pod.key for pod in preemption.victims),
            {
                node: Candidate(tuple(pod.key for pod in victims.pods), victims.pdb_violations)
                for node, victims in preemption.candidates.items()
            }
            if self.detailed
            else {},
        )

    def _names(self, rows: Rows) -> tuple[str, ...]:
        return tuple(self.snapshot.names[row] for row in rows.tolist())

    def _detail(
        self,
        statuses: NodeStatuses,
        feasible: Nodes | None = None,
        scores: Sequence[PluginScores] = (),
        totals: Rows | None = None,
        extended: Sequence[ExtenderScores] = (),
    ) -> Detail:
        if not self.detailed:
            return NO_DETAIL
        names = [] if feasible is None else feasible.names()
        if totals is None:
            return Detail(statuses.own(), tuple(sorted(names)))
        sums = dict(zip(names, totals.tolist(), strict=True))
        by_node = scores_by_node(names, scores, extended)
        return Detail(statuses.own(), tuple(sorted(names)), by_node, sums)


def scores_by_node(
    names: Sequence[str], scores: Sequence[PluginScores], extended: Sequence[ExtenderScores]
) -> dict[str, dict[str, NodeScore]]:
    """names: the nodes scored, in the order of `scores`' arrays."""
    by_node: dict[str, dict[str, NodeScore]] = {name: {} for name in names}
    for plugin in scores:
        columns = (plugin.raw.tolist(), plugin.normalized.tolist(), plugin.weighted.tolist())
        for name, raw, normalized, weighted in zip(names, *columns, strict=True):
            by_node[name][plugin.plugin] = NodeScore(raw, normalized, plugin.weight, weighted)
    for extender in extended:
        for name, score in extender.by_node().items():
            if name in by_node:
                by_node[name][extender.extender] = score
    return by_node
