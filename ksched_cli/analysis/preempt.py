"""Whom a pod would evict, where, and why there; and why not on the other nodes. Nothing is changed.

The answer is of the cluster as the pod's deciding attempt in a run finds it: the last one that made
room, else the last one. All nodes are looked at, and the search for candidates has its say through
the profile's PostFilter plugins, as in an attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ksched_cli.analysis.shortfall import shortfalls
from ksched_cli.analysis.turn import take_turn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.queue import why_ignored
from ksched_cli.engine.records import Attempt
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.preemption import (
    REQUEST_KEY,
    CriterionStep,
    Preemption,
    PreemptionRequest,
    Victims,
)
from ksched_cli.framework.status import Code, Rejection, Status
from ksched_cli.plugins.default_preemption.choice import ranked

FITS = "it fits without evictions"


@dataclass(frozen=True, slots=True)
class Victim:
    """A pod that would leave. started: "" where it has not; pdb_violated_by: the budgets violated;
    rejection: why it could not come back, None where that is not recorded."""

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
    shortfall: the missing share of the resource that lacks most, its pods counted (shortfall.py)
    """

    node: str
    rejection: Rejection
    removed: int | None = None
    shortfall: float = 0.0


@dataclass(frozen=True, slots=True)
class PreemptionAnswer:
    """What an attempt to preempt would come to.

    fits:       where the pod fits without evictions; then nothing else is asked
    may:        whether the pod may preempt, else why_not
    candidates: the one taken first, then the others, best first
    unsearched: nodes not looked at, as there were candidates enough
    num_candidates: how many candidates are enough
    node:       the one taken, or ""; steps: the criteria asked, the last one decided
    victims:    the pods that leave it; fewer than the candidate's where an extender spares some
    lapsing:    pods of lower priority whose nomination to that node would lapse
    nominated:  the node that the pod was promised before, or ""
    running_on: the node the pod runs on and was taken off for the question, or ""
    message:    what kube-scheduler would say of a pod that stays pending
    error:      what broke
    gated:      why the pod is not in the queue at all
    goes_to:    the node that the pod has at the end of its last attempt, or ""
    evaluated:  how many nodes the deciding attempt looked at, as kube-scheduler counts them
    ignored:    why the scheduler never looks at the pod, in words that follow "it is", or ""
    undecided:  a plugin's defect ended the attempt
    """

    pod: str
    profile: str
    priority: int
    fits: tuple[str, ...] = ()
    may: bool = True
    why_not: str = ""
    candidates: tuple[CandidateNode, ...] = ()
    non_candidates: tuple[NonCandidateNode, ...] = ()
    unsearched: tuple[str, ...] = ()
    num_candidates: int = 0
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
    goes_to: str = ""
    evaluated: int = 0
    ignored: str = ""
    undecided: bool = False

    @property
    def is_yes(self) -> bool:
        """Whether the pod fits, be it after evictions."""
        return bool(self.fits or self.node)


def preempt(
    simulation: Simulation, pod: PodInfo, *, everything: bool = False, alone: bool = False
) -> PreemptionAnswer:
    """Runs the simulation, which must not have run before.

    everything: look at all nodes, also where there are candidates enough
    alone:      leave the other pending pods out
    """
    unasked = PreemptionAnswer(pod.key, pod.spec.scheduler_name, pod.priority)
    ignored = why_ignored(pod.pod, simulation.frameworks)
    if ignored:
        return replace(
            unasked,
            may=False,
            why_not=f"it is {ignored}",
            ignored=ignored,
            running_on=pod.pod.node_name,
        )
    if pod.pod.node_name:
        simulation.queue()
        with simulation.without_pod(pod) as (unplaced, _):
            answer = _of_running_pod(simulation, unplaced, everything)
            return replace(answer, running_on=pod.pod.node_name)
    turn = take_turn(
        simulation, pod, lambda info: _as_it_stands(simulation, info, everything), alone=alone
    )
    index = _deciding(turn.attempts)
    attempt, answer = turn.attempts[index], turn.answers[index]
    if attempt.node and not answer.fits:
        # A plugin failed on a node that the attempt did not come to.
        answer = replace(answer, error="", why_not=FITS, fits=(attempt.node,))
    return replace(
        answer,
        goes_to=turn.attempts[-1].node,
        evaluated=attempt.evaluated,
        gated=turn.gated,
        error=answer.error or attempt.error,
        undecided=turn.failed,
    )


def _deciding(attempts: Sequence[Attempt]) -> int:
    """The index of the last attempt that made room, else of the last one."""
    preempting = [
        index
        for index, attempt in enumerate(attempts[:-1])
        if attempt.post_filter is not None and attempt.post_filter.node
    ]
    return preempting[-1] if preempting else len(attempts) - 1


def _of_running_pod(simulation: Simulation, pod: PodInfo, everything: bool) -> PreemptionAnswer:
    defects = simulation.caller.noted
    answer = _as_it_stands(simulation, pod, everything)
    failed = bool(answer.error) and simulation.caller.noted > defects
    return replace(answer, evaluated=len(simulation.snapshot), undecided=failed)


def _as_it_stands(simulation: Simulation, pod: PodInfo, everything: bool) -> PreemptionAnswer:
    """As if the pod came now."""
    framework = simulation.frameworks[pod.spec.scheduler_name]
    evaluation = simulation.pipeline.filter(framework, pod, Mode.ALL_NODES)
    unsearched = PreemptionAnswer(
        pod.key,
        framework.profile.scheduler_name,
        pod.priority,
        nominated=simulation.nominator.node_of(pod),
    )
    if evaluation.error:
        return replace(unsearched, may=False, error=evaluation.error)
    if len(evaluation.feasible):
        fits = tuple(sorted(evaluation.feasible.names()))
        return replace(unsearched, may=False, why_not=FITS, fits=fits)
    evaluation.state.write(REQUEST_KEY, PreemptionRequest(detailed=True, everything=everything))
    return _search_victims(simulation, evaluation, unsearched)


def _search_victims(
    simulation: Simulation, evaluation: Evaluation, answer: PreemptionAnswer
) -> PreemptionAnswer:
    """The answer completed by what the profile's PostFilter plugins find."""
    _, status, preemption = simulation.pipeline.post_filter(evaluation)
    failed = not status.is_success and not status.is_rejected
    if preemption is not None:
        why_not = preemption.ineligible
    elif failed:
        why_not = f"{status.plugin} fails before any plugin that preempts"
    else:
        why_not = f"no plugin of {answer.profile} preempts"
    preemption = preemption or Preemption()
    on_node = simulation.nominator.on_node(preemption.node)
    # An extender may leave the best out.
    nodes = sorted(ranked(preemption.candidates), key=lambda node: node != preemption.node)
    return replace(
        answer,
        may=not why_not,
        why_not=why_not,
        candidates=tuple(_candidate(node, preemption.candidates[node]) for node in nodes),
        non_candidates=_non_candidates(evaluation, preemption),
        unsearched=_unsearched(evaluation, preemption),
        num_candidates=preemption.num_candidates,
        node=preemption.node,
        victims=tuple(pod.key for pod in preemption.victims),
        ties=preemption.ties,
        steps=preemption.steps,
        lapsing=tuple(pod.key for pod in on_node if pod.priority < answer.priority),
        message=evaluation.fit_error(status.message),
        error=status.message if failed else "",
    )


def _candidate(node: str, victims: Victims) -> CandidateNode:
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


def _non_candidates(evaluation: Evaluation, preemption: Preemption) -> tuple[NonCandidateNode, ...]:
    if preemption.ineligible:
        return ()
    snapshot, priority = evaluation.statuses.snapshot, evaluation.pod.priority
    missing = shortfalls(snapshot, evaluation.pod).tolist()
    nodes = []
    for row, name in enumerate(snapshot.names):
        rejection = preemption.rejected.get(name)
        status = evaluation.statuses.at(row)
        if rejection is not None:
            removed = sum(pod.priority < priority for pod in snapshot.pods[row])
            nodes.append(NonCandidateNode(name, rejection, removed, missing[row]))
        elif status.code != Code.UNSCHEDULABLE:
            details = evaluation.details(status.plugin, "filter", row)
            nodes.append(NonCandidateNode(name, Rejection(status, details), None, missing[row]))
    return tuple(nodes)


def _unsearched(evaluation: Evaluation, preemption: Preemption) -> tuple[str, ...]:
    if preemption.ineligible:
        return ()
    return tuple(
        name
        for row, name in enumerate(evaluation.statuses.snapshot.names)
        if evaluation.statuses.at(row).code == Code.UNSCHEDULABLE
        and name not in preemption.candidates
        and name not in preemption.rejected
    )
