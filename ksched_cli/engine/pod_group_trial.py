"""The trial of a pod group: its pods are evaluated and assumed one after the other, so that the
next one sees those before it, until all are taken back.

Upstream: pkg/scheduler/schedule_one_podgroup.go (podGroupPodSchedulingAlgorithm), schedule_one.go
(assumeAndReserve, unreserveAndForget).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.binding_cycle import Assumed, BindingCycle, Outcome
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.records import Attempt
from ksched_cli.engine.scheduling_cycle import NO_NODES, SchedulingCycle
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.fit_error import counts_message
from ksched_cli.framework.node_statuses import NOT_LOOKED_AT
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.status import SUCCESS, Status


class Trial(Struct, frozen=True):
    """The result of one pod in a trial.

    row:         where it was assumed, or None
    needs_room:  preemption must make room on its node
    permit:      of an assumed pod
    """

    outcome: Outcome
    state: CycleState
    row: int | None = None
    needs_room: bool = False
    permit: Status = SUCCESS

    @property
    def error(self) -> str:
        """The error that ends the trial of the whole group, or ""."""
        error = self.outcome.attempt.error
        return "" if self.row is not None or error == NO_NODES else error


@dataclass(slots=True)
class TrialBinding(BindingCycle):
    """Assumes pods until they are taken back.

    assumed: with the nodes that they were nominated to
    permit:  of the pod assumed last; asks_permit: see PermittedGroupCycle
    """

    assumed: list[tuple[Assumed, str]] = field(default_factory=list)
    permit: Status = SUCCESS
    asks_permit: bool = True

    def assume(
        self, framework: Framework, state: CycleState, pod: PodInfo, row: int, record: Attempt
    ) -> Outcome:
        nominated = self.nominator.node_of(pod)
        self.snapshot.add(pod, row)
        self.nominator.clear(pod)
        node = NodeInfo(self.snapshot, row)
        self.assumed.append((Assumed(framework, state, pod, node, record), nominated))
        status = framework.reserve(state, pod, node)
        if not status.is_success:
            self._take_back_last()
            return refused(replace(record, reserve=status), status)
        if not self.asks_permit:
            return Outcome(record, row)
        self.permit = framework.permit(state, pod, node).status
        if self.permit.is_success:
            return Outcome(record, row)
        record = replace(record, permit=self.permit)
        if self.permit.is_wait:
            return Outcome(record, row)
        self._take_back_last()
        return refused(record, self.permit)

    def take_back(self, mark: int = 0) -> None:
        """Take back all pods but the first `mark` of them, the last one first."""
        while len(self.assumed) > mark:
            self._take_back_last()

    def _take_back_last(self) -> None:
        assumed, nominated = self.assumed.pop()
        assumed.framework.unreserve(assumed.state, assumed.pod, assumed.node)
        self.snapshot.remove(assumed.pod, assumed.node.row)
        if nominated:
            self.nominator.nominate(assumed.pod, nominated)


@dataclass(slots=True)
class TrialCycle(SchedulingCycle):
    """Tries pods of a group. state: of the pod tried last; preempts: PostFilter is run"""

    state: CycleState = field(default_factory=CycleState)
    preempts: bool = True

    def attempt(self, framework: Framework, pod: PodInfo) -> Outcome:
        pipeline = self.pipeline
        if pipeline.batching is not None:
            pipeline.batching.hint = None
        self.state = CycleState()
        placement = pipeline.placement
        node_count = len(pipeline.snapshot if placement is None else placement)
        if not node_count:
            record = Attempt(pod.key, framework.profile.scheduler_name, error=NO_NODES)
            return Outcome(record, nomination="")
        evaluation = pipeline.evaluate(framework, pod, Mode.SAMPLED)
        self.state = evaluation.state
        pipeline.search.advance(evaluation.visited, node_count)
        return self._decide(evaluation)

    def _decide(self, evaluation: Evaluation) -> Outcome:
        if evaluation.error:
            return self._failed(evaluation)
        if len(evaluation.feasible):
            return self._choose(evaluation)
        return self._no_fit(evaluation) if self.preempts else self._rejected(evaluation)


def refused(record: Attempt, status: Status) -> Outcome:
    """The outcome where Reserve or Permit refuses the pod on the chosen node."""
    if status.is_rejected:
        message = counts_message(1, {status: 1}, NOT_LOOKED_AT)
        return Outcome(replace(record, node="", message=message), nomination="")
    return Outcome(replace(record, node="", error=status.message), nomination="")


def blank_attempt(pod: PodInfo) -> Attempt:
    """An empty attempt record."""
    return Attempt(pod.key, pod.spec.scheduler_name)
