"""Filter in exhaustive mode: every plugin is asked about every node, and every rejection recorded.

The sampled form of this step is node_search.py.
"""

from __future__ import annotations

import numpy as np

from ksched_cli.cluster.snapshot import Rows
from ksched_cli.engine.evaluation import Evaluation
from ksched_cli.engine.extender_runner import ExtenderRunner
from ksched_cli.framework.node_statuses import NOT_LOOKED_AT
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.nominator import Nominator
from ksched_cli.framework.status import Rejection, Status


class ExhaustiveFilter:
    """Fills an evaluation's `rejections`, `statuses` and `feasible`."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.snapshot = evaluation.statuses.snapshot
        self.rejections: list[list[Rejection]] = [[] for _ in self.snapshot.names]
        evaluation.rejections = self.rejections

    def run_plugins(self, candidates: Rows, narrowed_by: str, nominator: Nominator) -> None:
        """Asks also about the nodes that PreFilter left out.

        candidates: the rows that it left; narrowed_by: a plugin that left out the others, or ""
        """
        evaluation, everything = self.evaluation, Nodes(self.snapshot)
        left_out = evaluation.statuses.absent.by(narrowed_by)
        for row in np.setdiff1d(self.snapshot.order, candidates).tolist():
            self._reject(row, left_out)
        filtering = evaluation.framework.filtering
        for plugin in filtering.plugins:
            if plugin.name in evaluation.state.skip_filter:
                continue
            verdicts = evaluation.framework.caller.filter_nodes(
                plugin, evaluation.state, evaluation.pod, everything
            )
            for row in np.flatnonzero(verdicts.ids).tolist():
                status = verdicts.statuses[verdicts.ids[row]]
                self._reject(row, status, evaluation.details(plugin.name, "filter", row))
        self._count_nominated_pods(nominator)
        feasible = [row for row, rejections in enumerate(self.rejections) if not rejections]
        evaluation.feasible = Nodes(self.snapshot, np.array(feasible, dtype=np.intp))

    def _count_nominated_pods(self, nominator: Nominator) -> None:
        """Rejects nodes that fit only without the pods nominated to them."""
        evaluation = self.evaluation
        filtering = evaluation.framework.filtering
        for name in list(nominator.nodes()):
            row = self.snapshot.row.get(name)
            if row is None or self.rejections[row]:
                continue
            status = filtering.run_on_node_with_nominated_pods(
                evaluation.state, evaluation.pod, row
            )
            if not status.is_success:
                nominated = ", ".join(pod.key for pod in nominator.on_node(name))
                self._reject(row, status, (f"with the nominated pods counted: {nominated}",))

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
                    self._reject(row, status.by(step.extender))
                else:
                    # The node has no status of its own, and so counts as not looked at.
                    status = NOT_LOOKED_AT.by(step.extender)
                    self.rejections[row].append(Rejection(status, ("left out without a reason",)))

    def _reject(self, row: int, status: Status, details: tuple[str, ...] = ()) -> None:
        if not self.rejections[row]:
            self.evaluation.statuses.set(row, status)
        self.rejections[row].append(Rejection(status, details))
