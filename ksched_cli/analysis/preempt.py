"""The pods that a pod would evict, where, and why there or not there. Nothing is changed.

The answer is of the cluster as the pod's deciding attempt in a run finds it: the last one that made
room, else the last one. All nodes are looked at, and the search for candidates has its say through
the profile's PostFilter plugins, as in an attempt.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, UnsetType, field
from msgspec.structs import replace

from ksched_cli.analysis.attempts import (
    CodeName,
    NodeRejection,
    PluginStatus,
    code_name,
    status_of,
    take_turn,
)
from ksched_cli.analysis.question import Opened, PodOrManifest, Question
from ksched_cli.analysis.reasons import shortfalls
from ksched_cli.analysis.recreation import RecreatedPod, recreated_pods
from ksched_cli.answers import HIDDEN, Count, Part, Rank, StateAnswer
from ksched_cli.cluster.loading.state_warnings import budget_warnings
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.queue import why_ignored
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import ExitCode
from ksched_cli.framework.preemption import (
    REQUEST_KEY,
    Preemption,
    PreemptionRequest,
)
from ksched_cli.framework.status import Code, Rejection
from ksched_cli.framework.victim_order import ranked

FITS = "it fits without evictions"


class Victim(Part, frozen=True):
    """A pod that would leave.

    start_time: empty where the pod has not started
    violates: disruption budgets that the eviction violates
    cannot_stay: what rejected the node when the pod was put back
    """

    pod: str
    priority: int
    start_time: str
    violates: tuple[str, ...] = ()
    cannot_stay: NodeRejection | None = None


class CandidateNode(Part, frozen=True):
    """A node to make room on.

    victims: most important first
    reprieved: pods of lower priority that may stay
    """

    node: str
    victims: tuple[Victim, ...]
    pdb_violations: Count
    reprieved: tuple[str, ...] = ()


class NonCandidateNode(Part, frozen=True, kw_only=True, omit_defaults=True):
    """A node where evictions do not help, and what rejects it.

    pods_removed: how many pods of lower priority were tried without; null where no pod is the
                  reason
    plugin: missing where none is named, as of an extender
    shortfall: the missing share of the resource that lacks most, its pods counted
    """

    node: str
    pods_removed: Count | None
    plugin: str = ""
    code: CodeName
    reasons: tuple[str, ...]
    details: tuple[str, ...]
    shortfall: Annotated[float, HIDDEN] = 0.0


class CriterionComparison(Part, frozen=True):
    """A criterion as applied.

    best: the best value, as text
    nodes_left: how many nodes have it
    """

    criterion: str
    best: str
    nodes_left: Rank


class PreemptionResult(StateAnswer, frozen=True, kw_only=True):
    """The outcome of an attempt to preempt.

    running_on: the node the pod runs on and was taken off for the question; empty where it does not
                run
    nominated_node: the node that the pod was nominated to before; empty without
    gated: why the pod is not in the queue
    ignored: why the scheduler never looks at the pod, in words that follow "it is"; empty where it
             does
    undecided: a plugin's failure ended the attempt
    goes_to: the node the pod has in the end; empty where it stays pending
    evaluated: how many nodes the attempt looked at
    fits: where the pod fits without evictions; then nothing else is asked
    reason: why the pod may not preempt, or need not
    node: the node to make room on; empty if there is none
    victims: the pods that leave the node, most important first; fewer than the candidate's where an
             extender spares some
    recreated: what becomes of these pods; missing where none is evicted in the run
    criterion: what decided between the candidates
    criteria: every criterion asked, in order; the last one decided
    ties: equally good candidates, where more than one
    lapsing_nominations: pods of lower priority that would lose their nomination to the node
    candidates: the node taken first, then the others, best first
    num_candidates: how many candidates are enough
    not_candidates: nodes where evictions do not help, and why
    not_searched: nodes not looked at, as there were candidates enough
    message: what kube-scheduler says where the pod stays pending
    """

    COMMAND: ClassVar = "preempt"
    VIEW: ClassVar = "preemption:view"
    ROWS: ClassVar = "candidates"

    kind: Literal["PreemptionResult"] = "PreemptionResult"
    pod: str
    profile: str
    priority: int
    running_on: str = ""
    nominated_node: str = ""
    gated: PluginStatus | None = None
    ignored: str = ""
    undecided: bool = False
    goes_to: str = ""
    evaluated: Count = 0
    fits: tuple[str, ...] = ()
    may_preempt: bool = True
    reason: str = ""
    node: str = ""
    victims: tuple[str, ...] = ()
    recreated: tuple[RecreatedPod, ...] | UnsetType = UNSET
    criterion: str = ""
    criteria: tuple[CriterionComparison, ...] = ()
    ties: tuple[str, ...] = ()
    lapsing_nominations: tuple[str, ...] = ()
    candidates: tuple[CandidateNode, ...] = ()
    num_candidates: Count = field(default=0, name="candidatesWanted")
    not_candidates: tuple[NonCandidateNode, ...] = ()
    not_searched: tuple[str, ...] = ()
    message: str = ""
    error: str = ""

    @property
    def is_yes(self) -> bool:
        """Return whether the pod fits, possibly after evictions."""
        return bool(self.fits or self.node)

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(self.is_yes, self.undecided)


def preempt(
    simulation: Simulation, pod: PodInfo, *, everything: bool = False, alone: bool = False
) -> PreemptionResult:
    """Run the simulation, which must not have run before.

    everything: look at all nodes, also where there are candidates enough
    alone:      leave the other pending pods out
    """
    unasked = PreemptionResult(pod=pod.key, profile=pod.spec.scheduler_name, priority=pod.priority)
    ignored = why_ignored(pod.pod, simulation.frameworks)
    if ignored:
        return replace(
            unasked,
            may_preempt=False,
            reason=f"it is {ignored}",
            ignored=ignored,
            running_on=pod.pod.node_name,
        )
    if pod.pod.node_name:
        simulation.queue()
        with simulation.without_pod(pod) as unplaced:
            defects = simulation.caller.noted
            answer = _as_it_stands(simulation, unplaced, everything)
            return replace(
                answer,
                running_on=pod.pod.node_name,
                evaluated=len(simulation.snapshot),
                undecided=bool(answer.error) and simulation.caller.noted > defects,
            )
    turn = take_turn(
        simulation, pod, lambda info: _as_it_stands(simulation, info, everything), alone=alone
    )
    # The last attempt that made room counts, else the last one.
    preempting = [
        index
        for index, attempt in enumerate(turn.attempts[:-1])
        if attempt.post_filter is not None and attempt.post_filter.node
    ]
    index = preempting[-1] if preempting else len(turn.attempts) - 1
    attempt, answer = turn.attempts[index], turn.answers[index]
    if attempt.node and not answer.fits:
        # A plugin failed on a node that the attempt did not reach.
        answer = replace(answer, error="", reason=FITS, fits=(attempt.node,))
    return replace(
        answer,
        goes_to=turn.attempts[-1].node,
        evaluated=attempt.evaluated,
        gated=status_of(turn.gated),
        error=answer.error or attempt.error,
        undecided=turn.failed,
    )


def _as_it_stands(simulation: Simulation, pod: PodInfo, everything: bool) -> PreemptionResult:
    """Answer as if the pod came now."""
    framework = simulation.frameworks[pod.spec.scheduler_name]
    evaluation = simulation.pipeline.filter(framework, pod, Mode.ALL_NODES)
    unsearched = PreemptionResult(
        pod=pod.key,
        profile=framework.profile.scheduler_name,
        priority=pod.priority,
        nominated_node=simulation.nominator.node_of(pod),
    )
    if evaluation.error:
        return replace(unsearched, may_preempt=False, error=evaluation.error)
    if len(evaluation.feasible):
        fits = tuple(sorted(evaluation.feasible.names()))
        return replace(unsearched, may_preempt=False, reason=FITS, fits=fits)
    evaluation.state.write(REQUEST_KEY, PreemptionRequest(detailed=True, everything=everything))
    # The profile's PostFilter plugins search for victims.
    _, status, preemption = simulation.pipeline.post_filter(evaluation)
    failed = not status.is_success and not status.is_rejected
    if preemption is not None:
        why_not = preemption.ineligible
    elif failed:
        why_not = f"{status.plugin} fails before any plugin that preempts"
    else:
        why_not = f"no plugin of {unsearched.profile} preempts"
    preemption = preemption or Preemption()
    on_node = simulation.nominator.on_node(preemption.node)
    criterion = "only candidate" if preemption.node else ""
    if preemption.steps:
        criterion = preemption.steps[-1].criterion.value
    candidates = []
    # An extender may leave the best out.
    for node in sorted(ranked(preemption.candidates), key=lambda node: node != preemption.node):
        victims = preemption.candidates[node]
        rejections = [victims.rejections.get(pod.uid) for pod in victims.pods]
        own = tuple(
            Victim(
                pod.key,
                pod.priority,
                pod.pod.status.start_time,
                victims.pdb_violated_by.get(pod.uid, ()),
                NodeRejection.of_node(rejection) if rejection else None,
            )
            for pod, rejection in zip(victims.pods, rejections, strict=True)
        )
        reprieved = tuple(pod.key for pod in victims.reprieved)
        candidates.append(CandidateNode(node, own, victims.pdb_violations, reprieved))
    not_candidates, not_searched = _other_nodes(evaluation, preemption)
    return replace(
        unsearched,
        may_preempt=not why_not,
        reason=why_not,
        candidates=tuple(candidates),
        not_candidates=not_candidates,
        not_searched=not_searched,
        num_candidates=preemption.num_candidates,
        node=preemption.node,
        victims=tuple(pod.key for pod in preemption.victims),
        ties=preemption.ties,
        criterion=criterion,
        criteria=tuple(
            CriterionComparison(step.criterion.value, step.best, step.left)
            for step in preemption.steps
        ),
        lapsing_nominations=tuple(each.key for each in on_node if each.priority < pod.priority),
        message=evaluation.fit_error(status.message),
        error=status.message if failed else "",
    )


def _other_nodes(
    evaluation: Evaluation, preemption: Preemption
) -> tuple[tuple[NonCandidateNode, ...], tuple[str, ...]]:
    """Return the nodes where evictions do not help, and those that were not searched."""
    if preemption.ineligible:
        return (), ()
    snapshot, priority = evaluation.statuses.snapshot, evaluation.pod.priority
    missing = shortfalls(snapshot, evaluation.pod).tolist()
    nodes, unsearched = [], []
    for row, name in enumerate(snapshot.names):
        rejection, removed = preemption.rejected.get(name), None
        status = evaluation.statuses.at(row)
        if rejection is not None:
            removed = sum(pod.priority < priority for pod in snapshot.pods[row])
        elif status.code != Code.UNSCHEDULABLE:
            rejection = Rejection(status, evaluation.details(status.plugin, "filter", row))
        else:
            if name not in preemption.candidates:
                unsearched.append(name)
            continue
        node = NonCandidateNode(
            node=name,
            pods_removed=removed,
            plugin=rejection.status.plugin,
            code=code_name(rejection.status),
            reasons=rejection.status.reasons,
            details=rejection.details,
            shortfall=missing[row],
        )
        nodes.append(node)
    return tuple(nodes), tuple(unsearched)


class Preempt(Question[PreemptionResult], frozen=True, kw_only=True):
    """Find the pods that a pod would evict, on which node, and why there.

    all_candidates: evaluate every node, even after enough candidates are found
    alone: leave the other pending pods out
    """

    pod: PodOrManifest
    all_candidates: bool = False
    alone: bool = False

    def answer(self, opened: Opened) -> PreemptionResult:
        subject = opened.subject(self.pod)
        simulation, pod = subject.simulation, opened.pod(subject)
        answer = preempt(simulation, pod, everything=self.all_candidates, alone=self.alone)
        if answer.victims:
            opened.warn(*budget_warnings(simulation.state))
        recreated = recreated_pods(simulation, pod if self.alone else None)
        recreated = tuple(each for each in recreated if each.pod in answer.victims)
        return replace(answer, recreated=recreated or UNSET)
