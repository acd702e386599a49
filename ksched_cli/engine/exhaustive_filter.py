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
        self._count_nominated_pods(candidates, nominator)
        evaluation.feasible = Nodes(self.snapshot, np.flatnonzero(self.passing))

    def _count_nominated_pods(self, candidates: Rows, nominator: Nominator) -> None:
        """Reject the nodes that do not fit once the pods nominated to them are there, and set their
        status: kube-scheduler looks at nodes with these pods first."""
        evaluation = self.evaluation
        filtering = evaluation.framework.filtering
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
            more = [reason for reason in status.reasons if reason not in self._reasons(status, row)]
            if more or self.passing[row]:
                nominated = ", ".join(pod.key for pod in nominator.on_node(name))
                details = (f"with the nominated pods counted: {nominated}",)
                added = Status(status.code, tuple(more), status.plugin)
                self._reject(np.array([row]), added, details)

    def _reasons(self, status: Status, row: int) -> frozenset[str]:
        """The reasons that the status's plugin has given for the row."""
        return frozenset(
            reason
            for answer in self.verdicts
            if answer.plugin == status.plugin
            for reason in answer.verdicts.statuses[answer.verdicts.ids[row]].reasons
        )

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

    def _reject(self, rows: Rows, status: Status, details: tuple[str, ...] = ()) -> None:
        """Rejections of some nodes by the status's plugin or extender."""
        rejected = np.zeros(len(self.snapshot), dtype=np.bool_)
        rejected[rows] = True
        verdicts = Verdicts.rejecting(rejected, status)
        self.verdicts.append(PluginVerdicts(status.plugin, verdicts, details))
        self.passing &= ~rejected
        if self.is_detailed:
            for row in rows.tolist():
                self.rejections[row].append(Rejection(status, details))
