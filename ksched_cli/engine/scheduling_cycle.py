"""One attempt to schedule a pod: its evaluation, and the choice among the nodes it fits on; then
from the node chosen to the pod bound: assume, Reserve, Permit, waiting, PreBind, Bind, PostBind,
and the way back.

Upstream: pkg/scheduler/schedule_one.go (schedulingCycle, selectHost, bindingCycle,
handleBindingCycleError).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cluster.pod_info import PodInfo, has_volume_claims
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.engine.evaluation import SAMPLED, Evaluation
from ksched_cli.engine.extender_runner import ExtenderRunner
from ksched_cli.engine.pipeline import Pipeline
from ksched_cli.engine.records import (
    NO_DETAIL,
    Attempt,
    Detail,
    PostFilterRecord,
    PreemptionCandidate,
)
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Nominator, WaitingPod, WaitingPods
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.preemption import Preemption, deferred
from ksched_cli.framework.resource_claims import ClaimStore, held_devices, may_allocate_devices
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.score_runner import TIE_BITS, TIE_MASK
from ksched_cli.framework.status import SUCCESS, Status


class AttemptOutcome(Struct, frozen=True):
    """An attempt, and what the engine must do about it.

    row:        where the pod was assumed, or None
    preemption: the room that PostFilter could make, or None
    nomination: the node name to nominate; "" withdraws a nomination, None keeps it
    left:       the node that the pod was assumed on and has left again, or ""
    waits:      the pod is assumed and reserved, but Permit told it to wait
    activated:  keys of the pods that plugins want tried again
    afterwards: what PostFilter wants done besides evictions
    unschedulable_plugins: those that rejected the pod before a node was chosen; pending_plugins:
                those of them whose rejection is pending
    bound:      the pod as it is on its node, or None
    """

    attempt: Attempt
    row: int | None = None
    preemption: Preemption | None = None
    nomination: str | None = None
    left: str = ""
    waits: bool = False
    activated: tuple[str, ...] = ()
    afterwards: tuple[Callable[[], None], ...] = ()
    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()
    bound: PodInfo | None = None


class Assumed(Struct, frozen=True):
    """A pod on its node, not bound yet, and its attempt so far."""

    framework: Framework
    state: CycleState
    pod: PodInfo
    node: NodeInfo
    record: Attempt


@dataclass(slots=True)
class BindingCycle:
    """Brings chosen nodes to an end, good or bad."""

    snapshot: Snapshot
    nominator: Nominator
    waiting: WaitingPods
    extenders: ExtenderRunner = field(default_factory=ExtenderRunner)
    _held: dict[str, Assumed] = field(default_factory=dict)

    def assume(
        self, framework: Framework, state: CycleState, pod: PodInfo, row: int, record: Attempt
    ) -> AttemptOutcome:
        """Put the pod on its node, and binds it unless Permit tells it to wait."""
        if pod.is_resized:
            # As of 1.38 upstream assumes the pod a second time. Upstream: Cache.AssumePod.
            error = f"pod {pod.uid}({pod.key}) is in the cache, so can't be assumed"
            return AttemptOutcome(replace(record, node="", error=error))
        if state.on_node is not None:
            pod = state.on_node(pod, row)
        self.snapshot.add(pod, row)
        self.nominator.clear(pod)
        node = NodeInfo(self.snapshot, row)
        assumed = Assumed(framework, state, pod, node, record)
        status = framework.reserve(state, pod, node)
        if status is not SUCCESS and not status.is_success:
            return self._undo(assumed, replace(record, reserve=status))
        permit = framework.permit(state, pod, node)
        if permit.status is SUCCESS or permit.status.is_success:
            return self._bind(assumed)
        record = replace(record, permit=permit.status)
        if not permit.status.is_wait:
            return self._undo(assumed, record)
        self._held[pod.uid] = replace(assumed, record=record)
        self.waiting.add(pod, node.name, permit.waits)
        return AttemptOutcome(record, row, waits=True, activated=state.take_activated())

    def settle(self, decided: WaitingPod, now: float) -> AttemptOutcome:
        """Resume a pod that was allowed or rejected while it waited."""
        assumed = self._held.pop(decided.pod.uid)
        self.waiting.remove(decided.pod.uid)
        record = replace(assumed.record, waited=now - decided.since)
        status = decided.decision
        if status is None or status.is_success:
            return self._bind(replace(assumed, record=record))
        return self._undo(assumed, replace(record, permit=status))

    def _bind(self, assumed: Assumed) -> AttemptOutcome:
        framework, state = assumed.framework, assumed.state
        pod, node = assumed.pod, assumed.node
        activated = state.activated
        # 1. PreBind prepares what the pod needs on the node, such as volumes and claims.
        status = framework.pre_bind(state, pod, node)
        # 2. An extender binds the pod if one wants to, else the Bind plugins do.
        if status is SUCCESS or status.is_success:
            called = None
            if self.extenders.extenders:
                called = self.extenders.extenders_bind(pod, node.name)
            if called is None:
                status = framework.bind(state, pod, node)
            else:
                assumed = replace(assumed, record=replace(assumed.record, extender_binding=called))
                if called.error:
                    status = Status.error(called.error)
        # 3. A failure takes the pod off its node again.
        if status is not SUCCESS and not status.is_success:
            broken = replace(assumed.record, bind=status, error=status.message)
            undone = self._undo(assumed, broken)
            return replace(undone, activated=activated)
        # 4. PostBind informs the plugins; the record notes the devices that the pod holds now.
        framework.post_bind(state, pod, node)
        record = assumed.record
        claims: ClaimStore | None = framework.handle.services.get(ClaimStore)
        if claims is not None and (
            pod.spec.resource_claims or (claims.extended and claims.extended_of(pod))
        ):
            record = replace(record, claims=held_devices(pod, claims))
        if state.notes is not None:
            record = replace(record, notes=state.notes)
        return AttemptOutcome(record, node.row, activated=state.activated, bound=pod)

    def _undo(self, assumed: Assumed, record: Attempt) -> AttemptOutcome:
        """Take the pod off its node again."""
        assumed.framework.unreserve(assumed.state, assumed.pod, assumed.node)
        self.snapshot.remove(assumed.pod, assumed.node.row)
        return AttemptOutcome(replace(record, node=""), nomination="", left=assumed.node.name)


class RepeatableRejection(Struct, frozen=True):
    """An outcome without a node, and the values that it depends on.

    version:     of the snapshot
    nominations: Nominator.version
    visited:     by how many nodes the search's start moves on
    """

    outcome: AttemptOutcome
    version: int
    nominations: int
    visited: int


NO_NODES = "no nodes available to schedule pods"

# Chooses one of the rows with the best total, which come in any order.
TieBreak = Callable[[Rows], int]
# Chooses the row of one of several feasible nodes, in place of the totals; takes the row that these
# would choose, too.
Choose = Callable[[Evaluation, int], int]


def first_by_name(ties: Rows) -> int:
    return ties.item(ties.argmin())


class RandomChoice:
    """Draws among the ties, as kube-scheduler does; the same draws for the same seed."""

    __slots__ = ("_draw", "seed")

    def __init__(self, seed: int | None) -> None:
        self.seed = seed
        self._draw = random.Random(seed)  # nosec B311  # the same draws for the same seed

    @property
    def state(self) -> tuple[Any, ...]:
        """Return where in its draws it is."""
        return self._draw.getstate()

    def restore(self, state: tuple[Any, ...]) -> None:
        """Draw again what was drawn since."""
        self._draw.setstate(state)

    def __call__(self, ties: Rows) -> int:
        return int(sorted(ties.tolist())[self._draw.randrange(len(ties))])


@dataclass(slots=True)
class SchedulingCycle:
    """Runs attempts, one after the other. Where the pipeline is detailed, so are the records.

    choose:    decides where several nodes are feasible; None: the node with the highest total
    on_choice: called with the row that a detailed attempt takes, before the pod is there
    """

    pipeline: Pipeline
    binding: BindingCycle
    tie_break: TieBreak = first_by_name
    choose: Choose | None = None
    on_choice: Callable[[int], None] | None = None
    # By pod signature, the last attempt that found no node.
    _rejections: dict[int, RepeatableRejection] = field(default_factory=dict)

    def attempt(self, framework: Framework, pod: PodInfo) -> AttemptOutcome:
        """Try one pod. Where it gets a node, it is on that node afterwards."""
        trace = framework.caller.trace
        if trace is None:
            return self._attempt(framework, pod)
        with trace.attempt(pod):
            return self._attempt(framework, pod)

    def _attempt(self, framework: Framework, pod: PodInfo) -> AttemptOutcome:
        pipeline = self.pipeline
        if pipeline.batching is not None:
            pipeline.batching.begin()
        node_count = len(pipeline.snapshot.nodes)
        if not node_count:
            record = Attempt(pod.key, framework.profile.scheduler_name, error=NO_NODES)
            return AttemptOutcome(record, nomination="")
        # 1. A pod like this one was just rejected, and nothing has changed since.
        rejection = self._find_rejection(pod)
        if rejection is not None:
            pipeline.search.advance(rejection.visited, node_count)
            if framework.caller.trace is not None:
                framework.caller.trace.repeated(pod)
            record = replace(rejection.outcome.attempt, pod=pod.key)
            return replace(rejection.outcome, attempt=record)
        # 2. PreFilter, Filter, extenders and Score. The next search starts where this one ended.
        evaluation = pipeline.evaluate(framework, pod, SAMPLED)
        pipeline.search.advance(evaluation.visited, node_count)
        if evaluation.error:
            return self._failed(evaluation)
        # 3. It fits nowhere: PostFilter may free capacity.
        if not len(evaluation.feasible):
            outcome = self._no_fit(evaluation)
            if not (pipeline.detailed or pipeline.extenders):
                self._store_rejection(evaluation, outcome)
            return outcome
        # 4. The best node is chosen, and the pod is assumed and bound there.
        return self._choose(evaluation)

    def _find_rejection(self, pod: PodInfo) -> RepeatableRejection | None:
        """Return the attempt that `pod` would make now, where one like it has just been made: that
        of the pod that was tried."""
        rejection = self._rejections.get(pod.signature)
        if rejection is None:
            return None
        pipeline = self.pipeline
        is_repeated = (
            rejection.version == pipeline.snapshot.version
            and rejection.nominations == pipeline.nominator.version
            and not pipeline.nominator.node_of(pod)
        )
        return rejection if is_repeated else None

    def _store_rejection(self, evaluation: Evaluation, outcome: AttemptOutcome) -> None:
        """Store the outcome if it depends on nothing but what `_find_rejection` compares.

        Claims of volumes and devices change without a pod that comes or goes, and are named after
        their pod.
        """
        pod, spec = evaluation.pod, evaluation.pod.spec
        post_filter = outcome.attempt.post_filter
        if (
            evaluation.framework.answer_cache.entry_for(pod) is not None
            and evaluation.framework.rejects_in_tree
            and not has_volume_claims(spec)
            and not may_allocate_devices(pod, evaluation.framework.handle)
            and not (outcome.preemption or outcome.nomination or outcome.afterwards)
            and (post_filter is None or post_filter.status.is_rejected)
            and not self.pipeline.nominator.node_of(pod)
        ):
            snapshot, nominator = self.pipeline.snapshot, self.pipeline.nominator
            self._rejections[pod.signature] = RepeatableRejection(
                outcome, snapshot.version, nominator.version, evaluation.visited
            )

    def repeats_rejection(self, pod: PodInfo) -> bool:
        """Return whether the pod would be rejected as an equal one just was, so that no plugin need
        be asked."""
        return self._find_rejection(pod) is not None

    def repeat_rejection(self, pod: PodInfo, times: int) -> AttemptOutcome:
        """Count as many attempts with pods like this one, which would all be rejected (see
        `repeats_rejection`). Return the outcome of the pod that was tried."""
        pipeline, rejection = self.pipeline, self._find_rejection(pod)
        assert rejection is not None, f"{pod.key} was not rejected"
        if pipeline.batching is not None:
            pipeline.batching.begin(times)
        pipeline.search.advance(rejection.visited * times, len(pipeline.snapshot.nodes))
        return rejection.outcome

    def _failed(self, evaluation: Evaluation) -> AttemptOutcome:
        """Return the outcome of a failure. Nodes count as evaluated only where Score failed."""
        count = len(evaluation.feasible)
        record = Attempt(
            evaluation.pod.key,
            evaluation.framework.profile.scheduler_name,
            evaluated=count + evaluation.statuses.own_count if count else 0,
            error=evaluation.error,
        )
        return AttemptOutcome(record, nomination="")

    def _choose(self, evaluation: Evaluation) -> AttemptOutcome:
        """Take the node with the highest total."""
        snapshot, detailed = self.pipeline.snapshot, self.pipeline.detailed
        feasible, keys = evaluation.feasible, evaluation.keys
        best: int | None = None
        names: tuple[str, ...] = ()
        batching = self.pipeline.batching
        is_tied = False
        # A key holds the total and, below it, the row's rank by name: the greatest key wins.
        if keys is not None and self.tie_break is first_by_name and not detailed:
            key = keys.item(keys.argmax())
            row, best = TIE_MASK - (key & TIE_MASK), key >> TIE_BITS
            # In bytes, because nothing in NumPy finds a second one as fast.
            ties = (keys >= best << TIE_BITS).tobytes()
            is_tied = ties.find(1) != ties.rfind(1)
        else:
            row, best, names, is_tied = self._choose_among(evaluation)
        if self.choose is not None and len(feasible) > 1:
            row = self.choose(evaluation, row)
            best, names, is_tied = evaluation.total_of(row), (), False
        pod, framework = evaluation.pod, evaluation.framework
        if batching is not None:
            is_tied |= batching.hint_is_tied and row == batching.hint
            batching.store(evaluation, row)
        if detailed and self.on_choice is not None:
            self.on_choice(row)
        record = Attempt(
            pod.key,
            framework.profile.scheduler_name,
            snapshot.names[row],
            best,
            len(feasible) + evaluation.statuses.own_count,
            ties=names,
            is_tied=is_tied,
            detail=_detail(evaluation) if detailed else NO_DETAIL,
        )
        return self.binding.assume(framework, evaluation.state, pod, row, record)

    def _choose_among(
        self, evaluation: Evaluation
    ) -> tuple[int, int | None, tuple[str, ...], bool]:
        """Return the row with the highest total, that total, the names of several equal ones (only
        in detail), and whether there are several."""
        feasible, totals = evaluation.feasible, evaluation.totals
        if totals is None:
            return int(feasible.indices()[0]), None, (), False
        best = totals[totals.argmax()]
        ties = (totals == best).nonzero()[0]
        if feasible.rows is not None:
            ties = feasible.rows[ties]
        if len(ties) == 1:
            return ties.item(0), best.item(), (), False
        names: tuple[str, ...] = ()
        if self.pipeline.detailed:
            names = tuple(self.pipeline.snapshot.names[tie] for tie in sorted(ties.tolist()))
        return self.tie_break(ties), best.item(), names, True

    def _no_fit(self, evaluation: Evaluation, *, preempts: bool = True) -> AttemptOutcome:
        """Return the outcome of a pod that fits nowhere. preempts: after the PostFilter plugins"""
        pipeline, framework = self.pipeline, evaluation.framework
        plugins, pending_plugins = evaluation.rejecting_plugins()
        record = Attempt(
            evaluation.pod.key,
            framework.profile.scheduler_name,
            evaluated=evaluation.statuses.own_count,
            pre_filter=evaluation.pre_filter,
            detail=_detail(evaluation) if pipeline.detailed else NO_DETAIL,
        )
        outcome = AttemptOutcome(
            record, unschedulable_plugins=plugins, pending_plugins=pending_plugins
        )
        # Without PostFilter plugins the attempt ends here.
        if not (preempts and framework.has_post_filters):
            clears = preempts and framework.clears_nomination
            record = replace(record, message=evaluation.fit_error())
            return replace(outcome, attempt=record, nomination="" if clears else None)
        # PostFilter may nominate a node and name victims; the caller evicts them.
        result, status, preemption = pipeline.post_filter(evaluation)
        preemption = preemption or Preemption()
        return replace(
            outcome,
            attempt=replace(
                record,
                message=evaluation.fit_error(status.message),
                post_filter=_post_filter_record(status, preemption, pipeline.detailed),
            ),
            preemption=preemption if preemption.node else None,
            nomination=result.nominated_node if result is not None else None,
            afterwards=deferred(evaluation.state),
        )


def _post_filter_record(status: Status, preemption: Preemption, detailed: bool) -> PostFilterRecord:
    candidates = {}
    if detailed:
        candidates = {
            node: PreemptionCandidate(
                tuple(pod.key for pod in victims.pods), victims.pdb_violations
            )
            for node, victims in preemption.candidates.items()
        }
    victims = tuple(pod.key for pod in preemption.victims)
    return PostFilterRecord(status, preemption.node, preemption.ties, victims, candidates)


def _detail(evaluation: Evaluation) -> Detail:
    """Return every node's verdict, and the scores where nodes were scored."""
    names = evaluation.feasible.names()
    statuses, feasible = evaluation.statuses.own(), tuple(sorted(names))
    if evaluation.totals is None:
        return Detail(statuses, feasible)
    totals = dict(zip(names, evaluation.totals.tolist(), strict=True))
    return Detail(statuses, feasible, evaluation.scores_by_node(), totals)
