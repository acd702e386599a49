"""PreFilter, Filter and Score of one pod: what `schedule` and every other question about it ask.

    filter:      PreFilter → nominated node → Filter → extenders
    score:       PreScore → Score → extenders' scores → totals
    post_filter: PostFilter, where no node fits

Filter is sampled (node_search.py), or asks every plugin about every node (ExhaustiveFilter).

Upstream: pkg/scheduler/schedule_one.go (schedulePod, findNodesThatFitPod, prioritizeNodes).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.engine.batching import Batching
from ksched_cli.engine.evaluation import (
    ALL_NODES,
    EXHAUSTIVE,
    EXTENDER,
    RANKED,
    REASONS,
    SAMPLED,
    Evaluation,
    Mode,
    PluginVerdicts,
)
from ksched_cli.engine.extender_runner import ExtenderRunner, extender_totals
from ksched_cli.engine.node_search import NodeSearch, feasible_nodes_to_find, first_error
from ksched_cli.framework.cache.answer_cache import MANY_PODS_ALIKE
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Nominator
from ksched_cli.framework.in_tree_interface import RankedNodes
from ksched_cli.framework.interface import PostFilterResult
from ksched_cli.framework.node_statuses import NOT_LOOKED_AT, NodeStatuses
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.preemption import STATE_KEY, ExtenderError, Preemption, Victims
from ksched_cli.framework.preemption_trial import EvictionBudgets
from ksched_cli.framework.results import PreFilterOutcome, Verdicts
from ksched_cli.framework.runners import SCALAR_PATH_MAX
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.score_runner import total
from ksched_cli.framework.status import SUCCESS, PluginError, Rejection, Status


class ExhaustiveFilter:
    """Fills an evaluation's `verdicts`, `statuses` and `feasible`; in EXHAUSTIVE mode `rejections`
    too."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.snapshot = evaluation.statuses.snapshot
        self.rejections: list[list[Rejection]] = []
        self.verdicts: list[PluginVerdicts] = []
        self.passing = np.ones(len(self.snapshot), dtype=np.bool_)
        self.is_detailed = evaluation.mode is EXHAUSTIVE
        if self.is_detailed:
            self.rejections += [[] for _ in self.snapshot.names]
        evaluation.rejections = self.rejections
        evaluation.verdicts = self.verdicts

    def run_plugins(self, candidates: Rows, left_out: Status, nominator: Nominator) -> None:
        """Ask every plugin, also about the nodes that are not candidates.

        candidates: rows; left_out: why other nodes are not candidates, if there are any
        """
        evaluation, everything = self.evaluation, Nodes(self.snapshot)
        if len(candidates) < len(self.snapshot):
            is_left_out = np.ones(len(self.snapshot), dtype=np.bool_)
            is_left_out[candidates] = False
            self._add(left_out.plugin, Verdicts.rejecting(is_left_out, left_out), details=())
        filtering = evaluation.framework.filtering
        for plugin in filtering.plugins:
            if plugin.name in evaluation.state.skip_filter:
                continue
            verdicts = evaluation.framework.caller.filter_nodes(
                plugin, evaluation.state, evaluation.pod, everything
            )
            self._add(plugin.name, verdicts)
        # kube-scheduler looks at nodes with the pods that are nominated to them first.
        for name in list(nominator.nodes()):
            row = self.snapshot.row.get(name)
            if row is None or row not in candidates:
                continue
            status = filtering.run_on_node_with_nominated_pods(
                evaluation.state, evaluation.pod, row
            )
            if status.is_success:
                continue
            evaluation.statuses.set(row, status)
            given = {
                reason
                for answer in self.verdicts
                if answer.plugin == status.plugin
                for reason in answer.verdicts.statuses[answer.verdicts.ids[row]].reasons
            }
            more = [reason for reason in status.reasons if reason not in given]
            if more or self.passing[row]:
                own = evaluation.pod
                nominated = tuple(
                    pod
                    for pod in nominator.on_node(name)
                    if pod.priority >= own.priority and pod.uid != own.uid
                )
                names = ", ".join(pod.key for pod in nominated)
                details = (f"with the nominated pods counted: {names}",)
                added = Status(status.code, tuple(more), status.plugin)
                self._reject(np.array([row]), added, details, nominated)
        evaluation.feasible = Nodes(self.snapshot, np.flatnonzero(self.passing))

    def run_extenders(self, extenders: ExtenderRunner) -> None:
        """Ask each extender about what the one before left. Raises ExtenderError; then `feasible`
        is what the extenders before left."""
        evaluation = self.evaluation
        for step in extenders.steps(evaluation.pod, evaluation.feasible):
            nodes = step.answer.nodes
            rows = np.unique(nodes.indices())
            evaluation.feasible = Nodes(nodes.snapshot, rows)
            statuses = step.statuses()
            by_status: dict[Status | None, list[int]] = {}
            for row in np.setdiff1d(step.sent.indices(), rows).tolist():
                by_status.setdefault(statuses.get(self.snapshot.names[row]), []).append(row)
            for status, left_out in by_status.items():
                if status is not None:
                    for row in left_out:
                        evaluation.statuses.set(row, status.by(step.extender))
                    self._reject(np.array(left_out), status.by(step.extender))
                else:
                    # The nodes have no status of their own, and so count as not looked at.
                    status = NOT_LOOKED_AT.by(step.extender)
                    self._reject(np.array(left_out), status, ("left out without a reason",))

    def _add(
        self, plugin: str, verdicts: Verdicts, *, details: tuple[str, ...] | None = None
    ) -> None:
        """Add a plugin's verdicts on all nodes; the first plugin to reject a node sets its
        status."""
        answer = PluginVerdicts(plugin, verdicts, details)
        self.verdicts.append(answer)
        if len(verdicts.statuses) == 1:
            return
        first = np.flatnonzero(self.passing)
        self.evaluation.statuses.add(first, verdicts.ids[first], verdicts.statuses)
        self.passing &= verdicts.ids == 0
        if not self.is_detailed:
            return
        for row in np.flatnonzero(verdicts.ids).tolist():
            status = verdicts.statuses[verdicts.ids[row]]
            rejection = Rejection(status, self.evaluation.rejection_details(answer, row))
            self.rejections[row].append(rejection)

    def _reject(
        self,
        rows: Rows,
        status: Status,
        details: tuple[str, ...] = (),
        nominated: tuple[PodInfo, ...] = (),
    ) -> None:
        """Add rejections of some nodes by the status's plugin or extender. nominated: see
        PluginVerdicts"""
        rejected = np.zeros(len(self.snapshot), dtype=np.bool_)
        rejected[rows] = True
        verdicts = Verdicts.rejecting(rejected, status)
        self.verdicts.append(PluginVerdicts(status.plugin, verdicts, details, nominated))
        self.passing &= ~rejected
        if self.is_detailed:
            for row in rows.tolist():
                self.rejections[row].append(Rejection(status, details))


# The nodes outside the domain that a group is tried in, which kube-scheduler does not look at.
OUTSIDE_PLACEMENT = Status.unresolvable(
    "node(s) are in another topology domain than the one that the pod group is tried in"
).by("TopologyPlacementGenerator")
_NO_ROWS: Rows = np.empty(0, dtype=np.intp)


@cache
def _left_out(plugins: tuple[str, ...]) -> Status:
    """Return the status of the nodes that PreFilter left out. plugins: those that it names"""
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}]")


def _best_ranked(feasible: Nodes, ranked: RankedNodes) -> Nodes:
    """Return the nodes of the lowest rank. Upstream: prioritizeNodes."""
    rows = feasible.indices()
    if not len(rows):
        return feasible
    rank_of = dict(zip(ranked.rows.tolist(), ranked.ranks.tolist(), strict=True))
    ranks = np.array([rank_of[row] for row in rows.tolist()], dtype=np.intp)
    return Nodes(feasible.snapshot, rows[ranks == ranks.min()])


@dataclass(slots=True)
class Pipeline:
    """Evaluates pods against one snapshot, which it leaves as it is.

    detailed: keep every plugin's scores in SAMPLED mode too
    search:   where the sampled search starts
    batching: nodes to try first; None where no profile batches pods
    placement: the rows, in the order of visits, that may be visited; None: all
    rank:     ranks nodes, in the order of visits: those of the lowest rank are chosen from. None:
              they are all alike
    """

    snapshot: Snapshot
    nominator: Nominator
    extenders: ExtenderRunner = field(default_factory=ExtenderRunner)
    detailed: bool = False
    search: NodeSearch = field(default_factory=NodeSearch)
    batching: Batching | None = None
    placement: Rows | None = None
    rank: Callable[[CycleState, PodInfo, Rows], RankedNodes | None] | None = None
    _no_nodes: Nodes = field(init=False)
    # What PreFilter left last, and its rows.
    _narrowed: tuple[PreFilterOutcome, Rows] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._no_nodes = Nodes(self.snapshot, _NO_ROWS)

    def evaluate(self, framework: Framework, pod: PodInfo, mode: Mode) -> Evaluation:
        """Run `filter`, and `score` where there are nodes to choose from."""
        evaluation = self.filter(framework, pod, mode)
        enough = 1 if mode is EXHAUSTIVE or mode is RANKED else 2
        is_scored = mode is not REASONS and not evaluation.error
        if is_scored and len(evaluation.feasible) >= enough:
            self.score(evaluation)
        trace = framework.caller.trace
        if trace is not None:
            is_cached = evaluation.cached is not None
            trace.evaluated(pod, evaluation.state, evaluation.points_reached(), is_cached)
        return evaluation

    # -- filter -----------------------------------------------------------------------------------

    def filter(self, framework: Framework, pod: PodInfo, mode: Mode) -> Evaluation:
        """Find the nodes that the pod fits on. SAMPLED and RANKED use and fill the framework's
        cache."""
        is_cacheable = mode is SAMPLED or mode is RANKED
        cached = framework.answer_cache.entry_for(pod) if is_cacheable else None
        statuses = NodeStatuses(self.snapshot)
        if self.placement is not None:
            statuses.node_count = len(self.placement)
        evaluation = Evaluation(
            framework, pod, mode, CycleState(), statuses, self._no_nodes, cached
        )
        # 1. PreFilter rejects the pod on all nodes, fails, or narrows the nodes to ask about.
        outcome = framework.pre_filtering.run(evaluation.state, pod, cached)
        is_success = outcome.status is SUCCESS or outcome.status.is_success
        if not is_success and outcome.status.is_rejected:
            statuses.absent = evaluation.pre_filter = outcome.status
            evaluation.narrowed_by = outcome.narrowed_by
        elif not is_success:
            evaluation.error = outcome.status.message
        else:
            # 2. Filter and the extenders decide about as many nodes as the mode needs.
            try:
                if mode is SAMPLED:
                    self._filter_sampled(evaluation, outcome)
                elif mode is ALL_NODES or mode is RANKED:
                    self._filter_all_nodes(evaluation, outcome)
                else:
                    self._filter_exhaustively(evaluation, outcome)
            except PluginError as failure:
                evaluation.error = str(failure)
        return evaluation

    def _filter_sampled(  # noqa: C901  # one search, from top to bottom
        self, evaluation: Evaluation, outcome: PreFilterOutcome
    ) -> None:
        """Filter nodes until enough are feasible. Raises PluginError where a plugin or an extender
        fails."""
        hint = None
        if self.batching is not None:
            is_nominated = bool(self.nominator.node_of(evaluation.pod))
            hint = self.batching.find_hint(evaluation, is_nominated)
        if self.nominator.node_by_uid or hint is not None:
            evaluation.feasible = self._preferred(evaluation, hint)
            if len(evaluation.feasible):
                return
        candidates = self._candidates(evaluation, outcome)
        statuses = evaluation.statuses
        if outcome.node_names is not None and len(candidates) < SCALAR_PATH_MAX:
            cached = evaluation.cached
            if cached is not None and cached.pod_count < MANY_PODS_ALIKE:
                # What is cached is of all nodes: to ask about a handful costs less than that.
                evaluation.cached = None
            is_alone = len(candidates) == 1 and not self.extenders.extenders
            if is_alone and evaluation.framework.filtering.passes(
                evaluation.state, evaluation.pod, candidates.item()
            ):
                # A pod for one node, as a DaemonSet's, mostly fits there.
                evaluation.feasible, evaluation.visited = Nodes(self.snapshot, candidates), 1
                return
        ranked = None
        if self.rank is not None and len(candidates) > 1:
            visits = self.search.visits(candidates)
            ranked = self.rank(evaluation.state, evaluation.pod, visits)
        # Ranked nodes are visited from the first on.
        search = self.search if ranked is None else NodeSearch()
        result = search.run(
            evaluation.framework.filtering,
            evaluation.state,
            evaluation.pod,
            candidates if ranked is None else ranked.rows,
            self._nodes_to_find(evaluation.framework, len(candidates)),
            statuses,
            evaluation.cached,
            ordered=bool(self.extenders.extenders),
        )
        feasible = result.feasible
        evaluation.visited = len(feasible) + statuses.own_count
        if result.error:
            raise PluginError(result.error)
        if self.extenders.filters:
            passing = self.extenders.filter(evaluation.pod, feasible, statuses)
            if len(passing) < len(feasible):
                # Some may have been left out without a reason.
                evaluation.narrowed_by = (*evaluation.narrowed_by, EXTENDER)
            feasible = passing
        evaluation.feasible = feasible if ranked is None else _best_ranked(feasible, ranked)

    def _filter_all_nodes(self, evaluation: Evaluation, outcome: PreFilterOutcome) -> None:
        """Filter all nodes. Raises PluginError where a plugin or an extender fails."""
        rows: Rows | None = self._candidates(evaluation, outcome)
        pod, filtering = evaluation.pod, evaluation.framework.filtering
        if evaluation.cached is not None and rows is self.snapshot.order:
            rows = None  # In no order, nothing need be gathered.
        nodes = passing = Nodes(self.snapshot, rows)
        verdicts = filtering.run_with_nominated_pods(
            evaluation.state, pod, nodes, entry=evaluation.cached
        )
        failed = first_error(verdicts, len(nodes))
        if failed is not None:
            raise PluginError(verdicts.statuses[verdicts.ids[failed]].message)
        if len(verdicts.statuses) > 1:
            evaluation.statuses.add(rows, verdicts.ids, verdicts.statuses)
            passed = (verdicts.ids == 0).nonzero()[0]
            passing = Nodes(self.snapshot, passed if rows is None else rows[passed])
        evaluation.feasible = self.extenders.filter(pod, passing, evaluation.statuses)

    def _filter_exhaustively(self, evaluation: Evaluation, outcome: PreFilterOutcome) -> None:
        """Ask every plugin about every node. A plugin's failure counts as its rejection of the
        nodes. Raises ExtenderError."""
        candidates = self._candidates(evaluation, outcome)
        left_out = OUTSIDE_PLACEMENT
        if outcome.node_names is not None:
            narrowed_by = outcome.narrowed_by[0] if outcome.narrowed_by else ""
            left_out = evaluation.statuses.absent.by(narrowed_by)
        filtering = ExhaustiveFilter(evaluation)
        filtering.run_plugins(candidates, left_out, self.nominator)
        filtering.run_extenders(self.extenders)

    def _candidates(self, evaluation: Evaluation, outcome: PreFilterOutcome) -> Rows:
        """Return the rows that PreFilter left, in the order of visits; a name that is not a node is
        skipped. Set the status of the other nodes."""
        placement = self.placement
        if outcome.node_names is None:
            return self.snapshot.order if placement is None else placement
        evaluation.narrowed_by = outcome.narrowed_by
        # Upstream keeps PreFilter's plugins and those that reject the nominated node in one set.
        plugins = outcome.narrowed_by
        if evaluation.statuses.own_count:
            nominated = {status.plugin for status in evaluation.statuses.count() if status.plugin}
            plugins = tuple(sorted(nominated.union(plugins)))
        evaluation.statuses.absent = _left_out(plugins)
        # Pods that look the same mostly share the outcome.
        if self._narrowed is not None and self._narrowed[0] is outcome and placement is None:
            return self._narrowed[1]
        row_of = self.snapshot.row
        rows = [row_of[name] for name in outcome.node_names if name in row_of]
        if placement is not None:
            rows = [row for row in rows if row in placement]
        if len(rows) > 1:
            rows.sort(key=self.snapshot.rank.item)
        candidates: Rows = np.array(rows, dtype=np.intp)
        if placement is None:
            self._narrowed = outcome, candidates
        return candidates

    def _preferred(self, evaluation: Evaluation, hint: int | None) -> Nodes:
        """Return the nominated node, else the hint, if it fits; a failure there is as not
        fitting."""
        pod, statuses = evaluation.pod, evaluation.statuses
        nominated = self.nominator.node_of(pod)
        row = self.snapshot.row.get(nominated) if nominated else hint
        if row is None or (self.placement is not None and row not in self.placement):
            return self._no_nodes
        filtering = evaluation.framework.filtering
        status = filtering.run_on_node_with_nominated_pods(evaluation.state, pod, row)
        if status.is_success:
            node = Nodes(self.snapshot, np.array([row], dtype=np.intp))
            try:
                return self.extenders.filter(pod, node, statuses)
            except ExtenderError:
                return self._no_nodes
        if status.is_rejected:
            statuses.set(row, status)
        return self._no_nodes

    def _nodes_to_find(self, framework: Framework, count: int) -> int:
        """Return how many feasible nodes are enough, out of `count` candidates."""
        scores = framework.scoring.plugins or self.extenders.prioritizes
        if not scores and not self.extenders.filters:
            return min(1, count)
        return feasible_nodes_to_find(framework.profile.percentage_of_nodes_to_score, count)

    # -- score ------------------------------------------------------------------------------------

    def score(self, evaluation: Evaluation) -> None:
        """Set the totals of the feasible nodes, or the error of a plugin that fails."""
        pod, feasible = evaluation.pod, evaluation.feasible
        framework = evaluation.framework
        scoring = framework.scoring
        try:
            if self.detailed or evaluation.mode is EXHAUSTIVE:
                evaluation.scores = framework.scoring.run(evaluation.state, pod, feasible)
                totals = total(evaluation.scores, len(feasible))
            else:
                # Nodes that an extender sent back are another snapshot's: nothing is cached of it.
                cached = evaluation.cached if feasible.snapshot is self.snapshot else None
                if cached is not None and scoring.shift and not self.extenders.extenders:
                    evaluation.keys = scoring.keys(evaluation.state, pod, feasible, cached)
                    return
                totals = scoring.totals(evaluation.state, pod, feasible, cached)
        except PluginError as failure:
            evaluation.error = str(failure)
            return
        if self.extenders.extenders:
            evaluation.extender_scores = self.extenders.prioritize(pod, feasible)
            totals = totals + extender_totals(evaluation.extender_scores, feasible)
        evaluation.sums = totals

    # -- post filter ------------------------------------------------------------------------------

    def post_filter(
        self, evaluation: Evaluation
    ) -> tuple[PostFilterResult | None, Status, Preemption | None]:
        """Return PostFilter's result and status, and the search for victims where a plugin made
        one.

        Raises UsageError where the extenders' part cannot continue.
        """
        state = evaluation.state
        result, status = evaluation.framework.post_filter(
            state, evaluation.pod, evaluation.statuses
        )
        self.extenders.check()
        preemption: Preemption | None = state.data.get(STATE_KEY)
        if result is not None and result.victims and status.is_success:
            preemption = self._preemption_of(evaluation.framework, result)
        return result, status, preemption

    def _preemption_of(self, framework: Framework, result: PostFilterResult) -> Preemption:
        """Return the decision of a plugin that names only the node and the victims."""
        budgets = framework.handle.service(EvictionBudgets.of)
        violated = budgets.pdb_violated_by(result.victims)
        node = result.nominated_node or ""
        victims = Victims(result.victims, len(violated), pdb_violated_by=violated)
        return Preemption(candidates={node: victims}, node=node, victims=result.victims)
