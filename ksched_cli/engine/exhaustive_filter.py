"""Filter in exhaustive mode: every plugin is asked about every node, and every rejection recorded.

The sampled form of this step is node_search.py.
"""

from __future__ import annotations

import numpy as np

from ksched_cli.cluster.snapshot import Rows
from ksched_cli.engine.evaluation import Evaluation, Mode, PluginVerdicts
from ksched_cli.engine.extender_runner import ExtenderRunner
from ksched_cli.framework.node_statuses import NOT_LOOKED_AT
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.nominator import Nominator
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import Rejection, Status


class ExhaustiveFilter:
    """Fills an evaluation's `verdicts`, `statuses` and `feasible`; in EXHAUSTIVE mode `rejections`
    too."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.snapshot = evaluation.statuses.snapshot
        self.rejections: list[list[Rejection]] = []
        self.verdicts: list[PluginVerdicts] = []
        self.passing = np.ones(len(self.snapshot), dtype=np.bool_)
        self.is_detailed = evaluation.mode is Mode.EXHAUSTIVE
        if self.is_detailed:
            self.rejections += [[] for _ in self.snapshot.names]
        evaluation.rejections = self.rejections
        evaluation.verdicts = self.verdicts

    def run_plugins(self, candidates: Rows, narrowed_by: str, nominator: Nominator) -> None:
        """Asks also about the nodes that PreFilter left out.

        candidates: the rows that it left; narrowed_by: a plugin that left out the others, or ""
        """
        evaluation, everything = self.evaluation, Nodes(self.snapshot)
        if len(candidates) < len(self.snapshot):
            is_left_out = np.ones(len(self.snapshot), dtype=np.bool_)
            is_left_out[candidates] = False
            left_out = evaluation.statuses.absent.by(narrowed_by)
            self._add(narrowed_by, Verdicts.rejecting(is_left_out, left_out), has_details=False)
        filtering = evaluation.framework.filtering
        for plugin in filtering.plugins:
            if plugin.name in evaluation.state.skip_filter:
                continue
            verdicts = evaluation.framework.caller.filter_nodes(
                plugin, evaluation.state, evaluation.pod, everything
            )
            self._add(plugin.name, verdicts)
        self._count_nominated_pods(nominator)
        evaluation.feasible = Nodes(self.snapshot, np.flatnonzero(self.passing))

    def _count_nominated_pods(self, nominator: Nominator) -> None:
        """Rejects nodes that fit only without the pods nominated to them."""
        evaluation = self.evaluation
        filtering = evaluation.framework.filtering
        for name in list(nominator.nodes()):
            row = self.snapshot.row.get(name)
            if row is None or not self.passing[row]:
                continue
            status = filtering.run_on_node_with_nominated_pods(
                evaluation.state, evaluation.pod, row
            )
            if not status.is_success:
                nominated = ", ".join(pod.key for pod in nominator.on_node(name))
                details = (f"with the nominated pods counted: {nominated}",)
                self._add_at(status.plugin, row, status, details)

    def run_extenders(self, extenders: ExtenderRunner) -> None:
        """Each is asked about what the one before left. Raises ExtenderError; then `feasible` is
        what the ones before left."""
        evaluation = self.evaluation
        for step in extenders.steps(evaluation.pod, evaluation.feasible):
            nodes = step.answer.nodes
            rows = np.unique(nodes.indices())
            evaluation.feasible = Nodes(nodes.snapshot, rows)
            statuses = step.statuses()
            for row in np.setdiff1d(step.sent.indices(), rows).tolist():
                status = statuses.get(self.snapshot.names[row])
                if status is not None:
                    self._add_at(step.extender, row, status.by(step.extender))
                else:
                    # The node has no status of its own, and so counts as not looked at.
                    status = NOT_LOOKED_AT.by(step.extender)
                    details = ("left out without a reason",)
                    self._add_at(step.extender, row, status, details, is_own=False)

    def _add(self, plugin: str, verdicts: Verdicts, *, has_details: bool = True) -> None:
        """What a plugin says of all nodes; the first to reject a node gives it its status."""
        self.verdicts.append(PluginVerdicts(plugin, verdicts))
        if len(verdicts.statuses) == 1:
            return
        first = np.flatnonzero(self.passing)
        self.evaluation.statuses.add(first, verdicts.ids[first], verdicts.statuses)
        self.passing &= verdicts.ids == 0
        if not self.is_detailed:
            return
        for row in np.flatnonzero(verdicts.ids).tolist():
            status = verdicts.statuses[verdicts.ids[row]]
            details = self.evaluation.details(plugin, "filter", row) if has_details else ()
            self.rejections[row].append(Rejection(status, details))

    def _add_at(
        self,
        plugin: str,
        row: int,
        status: Status,
        details: tuple[str, ...] = (),
        *,
        is_own: bool = True,
    ) -> None:
        """A rejection of one node. is_own: the node's status, if it has no other yet."""
        rejected = np.zeros(len(self.snapshot), dtype=np.bool_)
        rejected[row] = True
        self.verdicts.append(PluginVerdicts(plugin, Verdicts.rejecting(rejected, status)))
        if is_own and self.passing[row]:
            self.evaluation.statuses.set(row, status)
        self.passing[row] = False
        if self.is_detailed:
            self.rejections[row].append(Rejection(status, details))
