"""Whom a pod would evict, where, and why there; and why not on the other nodes. Nothing is changed.

All nodes are looked at, and the search for candidates has its say through the profile's PostFilter
plugins, as in an attempt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.extender import ExtenderError
from ksched_cli.framework.fit_error import fit_error
from ksched_cli.framework.interface import Explains
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.preemption import (
    REQUEST_KEY,
    STATE_KEY,
    CriterionStep,
    Preemption,
    PreemptionRequest,
    Victims,
)
from ksched_cli.framework.runtime import Framework, PreFilterOutcome
from ksched_cli.framework.status import Code, Rejection, Status
from ksched_cli.plugins.default_preemption.choice import ranked


@dataclass(frozen=True, slots=True)
class Victim:
    """A pod that would leave. started: "" where it has not; pdb_violated_by: the budgets violated;
    rejection: why it could not come back, None where nobody said."""

    pod: str
    priority: int
    started: str
    pdb_violated_by: tuple[str, ...] = ()
    rejection: Rejection | None = None


@dataclass(frozen=True, slots=True)
class CandidateNode:
    """A node to make room on. reprieved: pods of lower priority that may stay."""

    node: str
    victims: tuple[Victim, ...]
    pdb_violations: int
    reprieved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NonCandidateNode:
    """A node where evictions do not help.

    removed: without how many pods of lower priority the pod does not fit either; None where the
             reason is none that pods could take with them
    """

    node: str
    rejection: Rejection
    removed: int | None = None


@dataclass(frozen=True, slots=True)
class PreemptionAnswer:
    """What an attempt to preempt would come to.

    fits:       where the pod fits without evictions; then nothing else is asked
    may:        whether the pod may preempt, else why_not
    candidates: best first
    unsearched: nodes not looked at, as there were candidates enough
    wanted:     how many candidates are enough
    node:       the one taken, or ""; steps: the criteria asked, the last one decided
    victims:    the pods that leave it; fewer than the candidate's where an extender spares some
    lapsing:    pods of lower priority whose nomination to that node would lapse
    nominated:  the node that the pod was promised before, or ""
    running_on: the node the pod runs on and was taken off for the question, or ""
    message:    what kube-scheduler would say of a pod that stays pending
    error:      what broke
    gated:      why the pod is not in the queue at all
    """

    pod: str
    profile: str
    priority: int
    fits: tuple[str, ...] = ()
    may: bool = True
    why_not: str = ""
    candidates: tuple[CandidateNode, ...] = ()
    hopeless: tuple[NonCandidateNode, ...] = ()
    unsearched: tuple[str, ...] = ()
    wanted: int = 0
    node: str = ""
    victims: tuple[str, ...] = ()
    ties: tuple[str, ...] = ()
    steps: tuple[CriterionStep, ...] = ()
    lapsing: tuple[str, ...] = ()
    nominated: str = ""
    running_on: str = ""
    message: str = ""
    error: str = ""
    gated: Status | None = None

    @property
    def is_yes(self) -> bool:
        """Whether the pod fits, be it after evictions."""
        return bool(self.fits or self.node)


def preempt(simulation: Simulation, pod: PodInfo, *, everything: bool = False) -> PreemptionAnswer:
    """everything: look at all nodes, also where there are candidates enough."""
    framework = simulation.frameworks[pod.spec.scheduler_name]
    with simulation.without_pod(pod) as (wanted, running_on):
        answer = _Inquiry(simulation, framework, wanted).answer(everything)
    return replace(answer, running_on=running_on)


class _Inquiry:
    """The state of one question under way."""

    def __init__(self, simulation: Simulation, framework: Framework, pod: PodInfo) -> None:
        self.simulation = simulation
        self.snapshot = simulation.snapshot
        self.framework = framework
        self.pod = pod
        self.state = CycleState()
        self.statuses = NodeStatuses(self.snapshot)
        gated = framework.pre_enqueue(pod)
        self.blank = PreemptionAnswer(
            pod.key,
            framework.profile.scheduler_name,
            pod.priority,
            nominated=simulation.nominator.node_of(pod),
            gated=None if gated.is_success else gated,
        )

    def answer(self, everything: bool) -> PreemptionAnswer:
        outcome = self.framework.pre_filter(self.state, self.pod)
        rejected = outcome.status.is_rejected
        if not rejected and not outcome.status.is_success:
            return replace(self.blank, may=False, error=outcome.status.message)
        if rejected:
            self.statuses.absent = outcome.status
        else:
            fits, error = self._filter(outcome)
            if fits or error:
                said = "it fits without evictions" if fits else ""
                return replace(self.blank, may=False, why_not=said, fits=fits, error=error)
        return self._post_filter(outcome.status.message if rejected else "", everything)

    def _filter(self, outcome: PreFilterOutcome) -> tuple[tuple[str, ...], str]:
        """Asks about all nodes that PreFilter left: the names of those that fit, or a failure."""
        rows = self.snapshot.order
        if outcome.node_names is not None:
            narrowed = "[" + " ".join(outcome.narrowed_by) + "]"
            said = f"node(s) didn't satisfy plugin(s) {narrowed}"
            self.statuses.absent = Status.unresolvable(said)
            allowed = [row for row in rows if self.snapshot.names[row] in outcome.node_names]
            rows = np.array(allowed, dtype=np.intp)
        nodes = Nodes(self.snapshot, rows)
        found = self.framework.filtering.run_with_nominated_pods(self.state, self.pod, nodes)
        failures = [status.message for status in found.statuses if status.code == Code.ERROR]
        if failures:
            return (), failures[0]
        self.statuses.add(rows, found.ids, found.statuses)
        passing = Nodes(self.snapshot, rows[found.ids == 0])
        try:
            fits = self.simulation.cycle.extending.filter(self.pod, passing, self.statuses)
        except ExtenderError as failure:
            return (), str(failure)
        return tuple(sorted(fits.names())), ""

    def _post_filter(self, pre_filter: str, everything: bool) -> PreemptionAnswer:
        self.state.write(REQUEST_KEY, PreemptionRequest(detailed=True, everything=everything))
        _, status = self.framework.post_filter(self.state, self.pod, self.statuses)
        self.simulation.extending.check()
        broken = not status.is_success and not status.is_rejected
        asked: Preemption | None = self.state.data.get(STATE_KEY)
        found = asked or Preemption()
        why_not = found.ineligible
        if asked is None:
            why_not = f"no plugin of {self.blank.profile} preempts"
            if broken:
                why_not = f"{status.plugin} fails before any plugin that preempts"
        return replace(
            self.blank,
            may=not why_not,
            why_not=why_not,
            candidates=tuple(
                self._candidate(node, found.candidates[node]) for node in ranked(found.candidates)
            ),
            hopeless=self._hopeless(found),
            unsearched=self._unsearched(found),
            wanted=found.wanted,
            node=found.node,
            victims=tuple(pod.key for pod in found.victims),
            ties=found.ties,
            steps=found.steps,
            lapsing=self._lapsing(found.node),
            message=fit_error(self.statuses, pre_filter, status.message),
            error=status.message if broken else "",
        )

    # -- nodes ------------------------------------------------------------------------------------

    def _candidate(self, node: str, victims: Victims) -> CandidateNode:
        return CandidateNode(
            node,
            tuple(
                Victim(
                    pod.key,
                    pod.priority,
                    pod.pod.status.start_time,
                    victims.pdb_violated_by.get(pod.uid, ()),
                    victims.rejections.get(pod.uid),
                )
                for pod in victims.pods
            ),
            victims.pdb_violations,
            tuple(pod.key for pod in victims.reprieved),
        )

    def _hopeless(self, found: Preemption) -> tuple[NonCandidateNode, ...]:
        if found.ineligible:
            return ()
        nodes = []
        for row, name in enumerate(self.snapshot.names):
            rejection = found.rejected.get(name)
            if rejection is not None:
                nodes.append(NonCandidateNode(name, rejection, self._lower(row)))
            elif self.statuses.at(row).code != Code.UNSCHEDULABLE:
                nodes.append(NonCandidateNode(name, self._explained(row)))
        return tuple(nodes)

    def _lower(self, row: int) -> int:
        return sum(other.priority < self.pod.priority for other in self.snapshot.pods[row])

    def _explained(self, row: int) -> Rejection:
        status = self.statuses.at(row)
        plugin = self.framework.plugin(status.plugin)
        if not isinstance(plugin, Explains):
            return Rejection(status)
        node = NodeInfo(self.snapshot, row)
        details = self.framework.details(plugin, "filter", self.state, self.pod, node)
        return Rejection(status, details)

    def _unsearched(self, found: Preemption) -> tuple[str, ...]:
        if found.ineligible:
            return ()
        return tuple(
            name
            for row, name in enumerate(self.snapshot.names)
            if self.statuses.at(row).code == Code.UNSCHEDULABLE
            and name not in found.candidates
            and name not in found.rejected
        )

    def _lapsing(self, node: str) -> tuple[str, ...]:
        promised = self.simulation.nominator.on_node(node)
        return tuple(pod.key for pod in promised if pod.priority < self.pod.priority)
