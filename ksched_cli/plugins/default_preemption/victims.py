"""Tries out, on many nodes at once, which pods would have to leave for a pod to fit.

All pods of lower priority leave. Where the pod fits then, they come back one by one, and those that
may stay do: the same step on all nodes at a time.

Upstream: plugins/defaultpreemption/default_preemption.go (SelectVictimsOnNode), pkg/scheduler/util
(MoreImportantPod).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.cluster.snapshot_fork import PodUsageColumns, SnapshotFork
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.filter_runner import FilterRunner
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.preemption import Victims
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import Rejection, Status
from ksched_cli.kube.sort import go_sort
from ksched_cli.plugins.default_preemption.disruption_budgets import Disruptions

NO_VICTIMS = Rejection(Status.unresolvable("No preemption victims found for incoming pod"))

# Sorts after every timestamp: a pod that has not started counts as starting now.
NOT_STARTED = "~"

Follow: TypeAlias = Callable[[CycleState, PodInfo, PodInfo, NodeInfo], Status]


def started(pod: PodInfo) -> str:
    """When the pod started, as a text that sorts."""
    return pod.pod.status.start_time or NOT_STARTED


def sort_by_importance(pods: list[PodInfo]) -> None:
    """Highest priority first, then the longest running, in place."""
    if len({(pod.priority, pod.pod.status.start_time) for pod in pods}) == len(pods):
        pods.sort(key=lambda pod: (-pod.priority, started(pod)))
    else:
        go_sort(pods, _more_important)


def _more_important(first: PodInfo, second: PodInfo) -> bool:
    """Of two pods that have not started each goes before the other: upstream asks the clock for
    both, one after the other."""
    if first.priority != second.priority:
        return first.priority > second.priority
    second_start = started(second)
    return second_start == NOT_STARTED or started(first) < second_start


@dataclass(frozen=True, slots=True)
class DryRun:
    """One pod's trials on the nodes of a snapshot.

    explain: tells more about a rejection by a plugin, given the plugin, the state and the node as
             they are in the trial; None: keep no detail
    kept:    by row, what came of earlier trials and still holds; new ones are added. None where
             nothing may be kept
    concerned: see `concerns`
    """

    filtering: FilterRunner
    snapshot: Snapshot
    state: CycleState
    pod: PodInfo
    disruptions: Disruptions
    explain: Callable[[str, CycleState, NodeInfo], tuple[str, ...]] | None = None
    kept: dict[int, Victims | Rejection] | None = None
    concerned: dict[int, bool] = field(default_factory=dict)

    def concerns(self, other: PodInfo) -> bool:
        """Whether a plugin has to be told of the pod; asked once per look of a pod."""
        found = self.concerned.get(other.signature)
        if found is None:
            found = self.filtering.concerns(self.state, self.pod, other)
            self.concerned[other.signature] = found
        return found

    def victims_on(self, rows: Rows) -> list[Victims | Rejection]:
        """Per row, who would have to leave it, or why that does not help."""
        if self.kept is None:
            return _Trials(self, rows).answer()
        missing = [row for row in rows.tolist() if row not in self.kept]
        if missing:
            found = _Trials(self, np.array(missing, dtype=np.intp)).answer()
            self.kept.update(zip(missing, found, strict=True))
        return [self.kept[row] for row in rows.tolist()]


class _Trials:
    """Trials under way. A place is an index into `rows`; answers: per place, once it is known."""

    def __init__(self, run: DryRun, rows: Rows) -> None:
        self.run = run
        self.rows = rows
        self.trial = SnapshotFork(run.snapshot, rows.tolist())
        self.state = run.state.clone()
        self.nodes = [NodeInfo(self.trial, row) for row in rows.tolist()]
        self.own: dict[int, CycleState] = {}
        self.answers: list[Victims | Rejection | None] = [None] * len(rows)

    def answer(self) -> list[Victims | Rejection]:
        lower = self._remove_lower()
        self._ask_without_them()
        open_places = self._open_places()
        _Returns(self, open_places, [lower[place] for place in open_places.tolist()]).run()
        return [answer for answer in self.answers if answer is not None]

    def _open_places(self) -> Rows:
        return np.array([i for i, a in enumerate(self.answers) if a is None], dtype=np.intp)

    def _remove_lower(self) -> list[list[PodInfo]]:
        """Per place, the pods of lower priority; all of them leave."""
        limit, pods = self.run.pod.priority, self.trial.pods
        lower = [[p for p in pods[row] if p.priority < limit] for row in self.rows.tolist()]
        flat = [pod for found in lower for pod in found]
        rows = np.repeat(self.rows, [len(found) for found in lower])
        if flat:
            self.trial.remove_each(flat, rows, PodUsageColumns.of(flat))
        follows = self.run.filtering.follows(self.state)
        for place, found in enumerate(lower):
            if not found:
                self.answers[place] = NO_VICTIMS
            followed = [pod for pod in found if self.run.concerns(pod)] if follows else ()
            if followed:
                self.own[self.nodes[place].row] = self.run.state.clone()
            for pod in followed:
                self.follow(self.run.filtering.run_remove_pod, pod, place)
        return lower

    def _ask_without_them(self) -> None:
        places = self._open_places()
        verdicts = self.ask(places)
        for i in np.flatnonzero(verdicts.ids).tolist():
            place = int(places[i])
            self.answers[place] = self.rejection(verdicts.statuses[verdicts.ids[i]], place)

    def ask(self, places: Rows) -> Verdicts:
        """The filters about the nodes as they are in the trial."""
        nodes = Nodes(self.trial, self.rows[places])
        return self.run.filtering.run_with_nominated_pods(self.state, self.run.pod, nodes, self.own)

    def follow(self, tell: Follow, pod: PodInfo, place: int) -> None:
        """Tells the plugins that follow; where one fails, the node's trial is over."""
        node = self.nodes[place]
        own = self.own.get(node.row)
        if own is not None and self.answers[place] is None and self.run.concerns(pod):
            status = tell(own, self.run.pod, pod, node)
            if not status.is_success:
                self.answers[place] = Rejection(status)

    def rejection(self, status: Status, place: int) -> Rejection:
        if self.run.explain is None:
            return Rejection(status)
        node = self.nodes[place]
        state = self.own.get(node.row, self.state)
        return Rejection(status, self.run.explain(status.plugin, state, node))


class _Returns:
    """Pods come back to the nodes where the pod fits without them, one per node and step.

    order:    the pods of all places, in the order they come back
    starts:   per place, where its pods begin in `order`; counts: how many they are
    pdb_violated_by: per place, by UID, the pods that would violate budgets, which come back first
    leaving:  per entry of `order`, whether the pod cannot stay
    """

    def __init__(self, trials: _Trials, places: Rows, lower: list[list[PodInfo]]) -> None:
        self.trials = trials
        self.places = places
        self.order: list[PodInfo] = []
        self.pdb_violated_by: list[dict[str, tuple[str, ...]]] = []
        for pods in lower:
            sort_by_importance(pods)
            pdb_violated_by = trials.run.disruptions.pdb_violated_by(pods)
            if pdb_violated_by:
                pods.sort(key=lambda pod: pod.uid not in pdb_violated_by)
            self.order += pods
            self.pdb_violated_by.append(pdb_violated_by)
        self.counts = np.array([len(pods) for pods in lower], dtype=np.intp)
        self.starts = np.cumsum(self.counts) - self.counts
        self.leaving = np.zeros(len(self.order), dtype=np.bool_)
        self.rejections: dict[int, Rejection] = {}

    def run(self) -> None:
        if not self.order:
            return
        load = PodUsageColumns.of(self.order)
        for step in range(int(self.counts.max())):
            self._return_one(step, load)
        leaving = self.leaving.tolist()
        for i, place in enumerate(self.places.tolist()):
            if self.trials.answers[place] is None:
                self.trials.answers[place] = self._found(i, place, leaving)

    def _return_one(self, step: int, load: PodUsageColumns) -> None:
        trials = self.trials
        going = np.flatnonzero(self.counts > step)
        entries = self.starts[going] + step
        places = self.places[going]
        rows = trials.rows[places]
        pods = [self.order[entry] for entry in entries.tolist()]
        trials.trial.add_each(pods, rows, load.gather(entries))
        self._follow(trials.run.filtering.run_add_pod, pods, places)
        verdicts = trials.ask(places)
        refused = np.flatnonzero(verdicts.ids)
        if not len(refused):
            return
        self.leaving[entries[refused]] = True
        if trials.run.explain is not None:
            for i in refused.tolist():
                status = verdicts.statuses[verdicts.ids[i]]
                self.rejections[int(entries[i])] = trials.rejection(status, int(places[i]))
        pods = [pods[i] for i in refused.tolist()]
        trials.trial.remove_each(pods, rows[refused], load.gather(entries[refused]))
        self._follow(trials.run.filtering.run_remove_pod, pods, places[refused])

    def _follow(self, tell: Follow, pods: list[PodInfo], places: Rows) -> None:
        if self.trials.own:
            for pod, place in zip(pods, places.tolist(), strict=True):
                self.trials.follow(tell, pod, place)

    def _found(self, i: int, place: int, leaving: list[bool]) -> Victims | Rejection:
        start, count = int(self.starts[i]), int(self.counts[i])
        entries = range(start, start + count)
        victims = [self.order[entry] for entry in entries if leaving[entry]]
        if not victims:
            said = f'expected at least one victim pod on node "{self.trials.nodes[place].name}"'
            return Rejection(Status.error(said))
        pdb_violated_by = self.pdb_violated_by[i]
        violations = sum(leaving[start : start + len(pdb_violated_by)])
        if 0 < len(pdb_violated_by) < count:
            sort_by_importance(victims)
        if self.trials.run.explain is None:
            return Victims(tuple(victims), violations)
        return Victims(
            tuple(victims),
            violations,
            tuple(self.order[entry] for entry in entries if not leaving[entry]),
            {self.order[entry].uid: self.rejections[entry] for entry in entries if leaving[entry]},
            {pod.uid: pdb_violated_by[pod.uid] for pod in victims if pod.uid in pdb_violated_by},
        )
