"""The comparison of a real scheduler's decisions with those that its configuration implies.

The audit starts from the cluster as it was before, and makes every real decision again in its
order (decision_log.py, replayed_cluster.py). Where ksched would have decided otherwise, the scores
explain it. Where the two states do not suffice to judge, the reason names what is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import ClassVar, Literal

from msgspec import field

from ksched_cli.analysis.audit_doubts import Doubts
from ksched_cli.analysis.causes import node_views
from ksched_cli.analysis.decision_log import DecisionLog, LastRefusal, Unexplained
from ksched_cli.analysis.decision_order import (
    MAX_DELAY,
    MAX_SHIFT,
    MAX_SHIFT_SECONDS,
    Decision,
    Departure,
    FailedAttempt,
    LoggedChange,
    ObjectChange,
    OrderSource,
    Placement,
    PodUpdate,
    PreemptionDecision,
    Refinement,
    refined_orders,
)
from ksched_cli.analysis.decision_verdict import DecisionVerdict, Grade, because, best_nodes
from ksched_cli.analysis.replayed_cluster import ReplayedCluster
from ksched_cli.analysis.scheduler_log import LogEvent
from ksched_cli.answers import Answer, Count, Part
from ksched_cli.cluster.loading.gc_control import gc_rare
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.simulation import Simulation

REFUSED = "refused"

# Why so many decisions that differ may all expect one node.
LEAST_GROUPED = 3
NOT_TAKEN = (
    "no pod went to {} in between: kube-scheduler probably could not use it then, "
    "because of a cordon, a taint or a failure that is over"
)
HELD_ROOM = (
    "pods went to {} too: something that neither state shows probably used its capacity, "
    "such as pods that came and went"
)


class Difference(Part, frozen=True):
    """A decision that ksched would not have made.

    node: the real one; null where the pod has none
    expected: the equally good nodes that ksched would have chosen from, by name; none where the pod
              fits nowhere
    because: the scores of the two, what rejects the real node, or what else is otherwise
    scores: of the real node and the first expected one: plugin or extender → weighted score; of
            nodes that fit
    """

    pod: str
    node: str | None
    expected: tuple[str, ...]
    because: str
    scores: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


class DifferenceGroup(Part, frozen=True):
    """Decisions that differ and would all have taken one node, which is likely to have one cause.

    node: the one that each of them is expected on
    because: the likely cause
    """

    node: str
    pods: tuple[str, ...]
    because: str


class AuditSummary(Part, frozen=True):
    """How decisions agree.

    best: placed on the one best node, or on the only one that fits
    tied: placed on one of several equally good nodes
    sampled: placed on the best of the nodes that may have been looked at; of all there is a better
             one
    batched: placed on the next best node of the ranking for the pod before, which looks the same
    reordered: placed, or room made, as ksched would, had some decisions near it come earlier or
               later; where no log tells the order
    nominated: placed on the node that the pod was nominated to
    preempts: room made on a node that is as good as any, by evicting the same pods
    refused: pods without a node in the end, which fit on none
    """

    best: Count = 0
    tied: Count = 0
    sampled: Count = 0
    batched: Count = 0
    reordered: Count = 0
    nominated: Count = 0
    preempts: Count = 0
    refused: Count = 0


class AuditResult(Answer, frozen=True, kw_only=True):
    """Whether a real scheduler decided as the configuration says.

    decisions: real decisions that could be judged: pods placed, room made for a pod, pods left
               without a node
    agree: of them, those that ksched would have made too
    summary: how those agree
    order: what the order of the decisions is taken from: the scheduler's log, a recording, the
           resource versions of the bound pods, the scheduler's events, or the second of each
           binding and the order of the queue
    refinement: by what the queue is taken to order decisions that are near each other: in the order
                in which most decisions agree
    shifted: decisions that agree a little before or after their place in that order, as pods are
             bound side by side
    differ: decisions that ksched would not have made
    unexplained: what the two states do not suffice to judge
    groups: of the decisions that differ, those that all expect one node
    """

    COMMAND: ClassVar = "audit"

    kind: Literal["AuditResult"] = "AuditResult"
    decisions: Count
    agree: Count
    summary: AuditSummary
    order: OrderSource
    refinement: Refinement
    shifted: Count
    differ: tuple[Difference, ...]
    unexplained: tuple[Unexplained, ...]
    groups: tuple[DifferenceGroup, ...] = ()


def audit(
    open_simulation: Callable[[], Simulation],
    decision_log: DecisionLog,
    on_progress: Callable[[int, int], None] | None = None,
) -> AuditResult:
    """Audit the decisions in the possible order in which most of them agree.

    open_simulation: makes one of the log's state and newcomers that has not run. on_progress:
    called after each decision with how many are judged, and of how many, in one of the orders
    """
    best: _Auditor | None = None
    with gc_rare():
        orders = refined_orders(decision_log.decisions)
        if decision_log.order is OrderSource.LOG:
            orders = islice(orders, 1)
        for refinement, decisions in orders:
            limit = best.failures if best is not None else None
            auditor = _Auditor(open_simulation(), decision_log, refinement, decisions, limit)
            auditor.run(on_progress)
            if best is None or auditor.failures < best.failures:
                best = auditor
            if not best.failures:
                break
        assert best is not None
        if best.failures and decision_log.order is not OrderSource.LOG:
            order, least = (best.refinement, best.decisions), best.failures
            for shifts in (True, False):
                limit = least + 1 if shifts else None
                best = _Auditor(
                    open_simulation(), decision_log, *order, limit, shifts=shifts, reorders=True
                )
                best.run(on_progress)
                if best.failures <= least:
                    break
    return best.audit()


class _Auditor:
    """An audit in one of the orders.

    limit: ends once so many decisions do not agree; shifts: whether these are tried before and
    after their places; reorders: whether those that still do not agree are excused where some other
    order of the decisions near them explains each
    """

    def __init__(
        self,
        simulation: Simulation,
        decision_log: DecisionLog,
        refinement: Refinement,
        decisions: tuple[Decision, ...],
        limit: int | None,
        *,
        shifts: bool = False,
        reorders: bool = False,
    ) -> None:
        self.decision_log = decision_log
        self.refinement, self.decisions = refinement, decisions
        self.limit, self.shifts, self.reorders = limit, shifts, reorders
        self.places = {id(decision): place for place, decision in enumerate(decisions)}
        self.cluster = ReplayedCluster(
            simulation,
            simulation.configuration.parallelism > 1,
            follows_statuses=any(map(_is_notice, decisions)),
            chosen_volumes=decision_log.chosen_volumes,
        )
        self.grades: Counter[str] = Counter()
        self.differences: list[Difference] = []
        self.unexplained: list[Unexplained] = []
        self.doubts = Doubts(decision_log, self.cluster, decisions)
        self.unseen = {pod.key for pod in decision_log.unseen}

    @property
    def simulation(self) -> Simulation:
        """A simulation of the objects as they are now."""
        return self.cluster.simulation

    @property
    def failures(self) -> int:
        """The number of decisions that do not agree, or only in another order."""
        reordered = self.grades[Grade.REORDERED.value]
        return len(self.differences) + len(self.unexplained) + reordered

    def run(self, on_progress: Callable[[int, int], None] | None) -> None:
        self.simulation.queue()
        decisions, count = self.decisions, 0
        total = len(decisions) + len(self.decision_log.refused)
        while count < len(decisions) and not self._is_beyond_limit():
            count += self._follow(decisions[count], decisions[count + 1 : count + 1 + MAX_SHIFT])
            if on_progress is not None:
                on_progress(count, total)
        if not self._is_beyond_limit():
            for refusal in self.decision_log.refused:
                self._check_refusal(refusal)
            if on_progress is not None:
                on_progress(total, total)
        self.simulation.close()

    def _follow(self, decision: Decision, coming: Sequence[Decision]) -> int:
        """Returns how many decisions are made: this one, and maybe some of those that come next."""
        if isinstance(decision, Departure | LoggedChange) and decision.pod.key in self.unseen:
            self._follow_unseen(decision)
        elif isinstance(decision, Departure):
            self.cluster.depart(decision)
        elif isinstance(decision, LoggedChange):
            self.cluster.follow(decision)
        elif isinstance(decision, FailedAttempt):
            self.cluster.fail(decision)
        elif isinstance(decision, PodUpdate):
            self.cluster.update(decision)
        elif isinstance(decision, ObjectChange):
            self._follow_change(decision)
        elif isinstance(decision, PreemptionDecision):
            self._follow_preemption(decision)
        elif decision.judged:
            return 1 + self._follow_placement(decision, coming)
        else:
            self.cluster.place(decision, None)
        return 1

    def _follow_change(self, change: ObjectChange) -> None:
        before = {node.name: node for node in self.simulation.state.nodes}
        self.cluster.change(change)
        after = {node.name: node for node in self.simulation.state.nodes}
        for name in {**before, **after}:
            if before.get(name) != after.get(name):
                self.doubts.changed_at[name] = change.time

    def _follow_unseen(self, decision: Departure | LoggedChange) -> None:
        """The log tells when it was on its node."""
        if isinstance(decision, Departure):
            self.doubts.present.discard(decision.pod.key)
        else:
            self.doubts.present.add(decision.pod.key)

    def _is_beyond_limit(self) -> bool:
        return self.limit is not None and self.failures >= self.limit

    def audit(self) -> AuditResult:
        agree = sum(self.grades.values())
        return AuditResult(
            decisions=agree + len(self.differences),
            agree=agree,
            summary=AuditSummary(**self.grades),
            order=self.decision_log.order,
            refinement=self.refinement,
            shifted=self.cluster.shifted,
            differ=tuple(self.differences),
            groups=tuple(self._groups()),
            unexplained=(*self.decision_log.unexplained, *self.unexplained),
        )

    def _groups(self) -> Iterator[DifferenceGroup]:
        """The largest first."""
        pods: dict[str, list[str]] = {}
        for difference in self.differences:
            if len(difference.expected) == 1:
                pods.setdefault(difference.expected[0], []).append(difference.pod)
        placements = (each for each in self.decisions if isinstance(each, Placement))
        taken = {each.node for each in placements if each.judged}
        for node, keys in sorted(pods.items(), key=lambda item: (-len(item[1]), item[0])):
            if len(keys) >= LEAST_GROUPED:
                cause = HELD_ROOM if node in taken else NOT_TAKEN
                yield DifferenceGroup(node, tuple(keys), cause.format(node))

    def _agree(self, verdict: DecisionVerdict) -> None:
        assert verdict.grade is not None
        self.grades[verdict.grade.value] += 1

    # -- placements -------------------------------------------------------------------------------

    def _follow_placement(self, placement: Placement, coming: Sequence[Decision]) -> int:
        """Returns how many of the coming decisions are made too."""
        cluster = self.cluster
        verdict = cluster.judge(placement)
        if verdict.grade is not None:
            self._agree(verdict)
            cluster.place(placement, verdict)
            return 0
        if self._follow_silent_preemption(placement, verdict):
            verdict = cluster.judge(placement)
            if verdict.grade is not None:
                self._agree(verdict)
            else:
                self._differ(placement, verdict)
            cluster.place(placement, verdict)
            return 0
        if self.shifts:
            earlier = cluster.place_earlier(placement)
            verdicts = [earlier] if earlier else cluster.place_later(placement, coming)
            for other in verdicts:
                self._agree(other)
            if verdicts:
                return len(verdicts) - 1
        if not self._is_reordered(placement, lambda: cluster.judge(placement)):
            self._explain(placement, verdict)
        cluster.place(placement, verdict)
        return 0

    def _is_reordered(
        self, decision: Placement | PreemptionDecision, judge: Callable[[], DecisionVerdict]
    ) -> bool:
        """Counts a decision that another order of those explains that may overtake each other."""
        if not self._is_explained_by_order(decision, judge):
            return False
        self.grades[Grade.REORDERED.value] += 1
        return True

    def _is_explained_by_order(
        self, decision: Placement | PreemptionDecision, judge: Callable[[], DecisionVerdict]
    ) -> bool:
        if not self.reorders:
            return False
        place = self.places[id(decision)]
        window = self.decisions[max(0, place - MAX_DELAY) : place + MAX_DELAY + 1]
        near = [each for each in window if abs(each.time - decision.time) <= MAX_SHIFT_SECONDS]
        return self.cluster.is_explained_by_order(decision, near, judge)

    def _explain(self, decision: Placement | PreemptionDecision, verdict: DecisionVerdict) -> None:
        reason = self.doubts.about(decision, verdict) or self._images_in_another_order(decision)
        if reason:
            self.unexplained.append(Unexplained(decision.pod.key, reason))
        else:
            self._differ(decision, verdict)

    def _images_in_another_order(self, decision: Placement | PreemptionDecision) -> str:
        """Sizes of images that may explain it together with another order, or ""."""
        reasons: list[str] = []

        def judge() -> DecisionVerdict:
            assert isinstance(decision, Placement)
            verdict = self.cluster.judge(decision)
            reasons.append(
                self.doubts.about_images(decision, verdict) if verdict.grade is None else ""
            )
            return replace(verdict, grade=Grade.REORDERED) if reasons[-1] else verdict

        is_explained = isinstance(decision, Placement) and self._is_explained_by_order(
            decision, judge
        )
        return reasons[-1] if is_explained else ""

    def _follow_silent_preemption(self, placement: Placement, verdict: DecisionVerdict) -> bool:
        """Follow a preemption that no event reports: where the pod fits nowhere, and ksched would
        make room by evicting pods of its node that left in between, they leave now."""
        if verdict.expected or verdict.evaluation.error:
            return False
        if placement.node not in self.doubts.departed.values():
            return False
        decision = PreemptionDecision(placement.pod, placement.node, (), placement.time)
        verdict = self.cluster.judge_preemption(decision)
        if verdict.grade is None or verdict.preemption is None:
            return False
        victims = verdict.preemption.candidates[placement.node].pods
        keys = tuple(sorted(pod.key for pod in victims))
        if any(self.doubts.departed.get(key) != placement.node for key in keys):
            return False
        for key in keys:
            del self.doubts.departed[key]
        self._agree(verdict)
        self.cluster.make_room(
            PreemptionDecision(placement.pod, placement.node, keys, placement.time)
        )
        return True

    def _follow_preemption(self, decision: PreemptionDecision) -> None:
        verdict = self.cluster.judge_preemption(decision)
        if verdict.grade is None:
            verdict = self.cluster.judge_with_notices(decision) or verdict
        if verdict.grade is not None:
            self._agree(verdict)
        else:
            earlier = self.cluster.make_room_earlier(decision) if self.shifts else None
            if earlier is not None:
                self._agree(earlier)
                return
            if not self._is_reordered(decision, lambda: self.cluster.judge_preemption(decision)):
                self._explain(decision, verdict)
        self.cluster.end_batch()
        if self.decision_log.order in (OrderSource.LOG, OrderSource.RECORDING):
            self.cluster.nominate(decision)
        else:
            self.cluster.make_room(decision)

    # -- what is otherwise ------------------------------------------------------------------------

    def _differ(self, decision: Decision, verdict: DecisionVerdict) -> None:
        key, node, expected = decision.pod.key, decision.node, verdict.expected
        if verdict.reason:
            self.differences.append(Difference(key, node or None, expected, verdict.reason))
            return
        names = (node, *expected[:1])
        pod = self.cluster.info(decision.pod)
        views = node_views(self.simulation, pod, names) or {}
        self.differences.append(
            Difference(
                key,
                node or None,
                expected,
                because(node, expected, views),
                {name: dict(view.scores) for name, view in views.items() if view.scores},
            )
        )

    def _check_refusal(self, refusal: LastRefusal) -> None:
        """Checks whether ksched too refuses a pod that has no node in the end."""
        pod, pipeline = self.cluster.info(refusal.pod), self.simulation.pipeline
        framework = self.simulation.frameworks[pod.spec.scheduler_name]
        if not framework.pre_enqueue(pod).is_success:
            return
        evaluation = pipeline.evaluate(framework, pod, Mode.SAMPLED)
        expected = best_nodes(evaluation)
        if expected and not refusal.current:
            reason = f"it has no node, although it fits on {expected[0]} by now: " + (
                "its next attempt may not have come yet"
            )
            self.unexplained.append(Unexplained(pod.key, reason))
            return
        if expected:
            because = f"{expected[0]} fits, but it was left pending: {refusal.message}"
            self.differences.append(Difference(pod.key, None, expected, because))
            return
        message = evaluation.error
        if not message:
            message = evaluation.fit_error(pipeline.post_filter(evaluation)[1].message)
        if refusal.current and refusal.message and message != refusal.message:
            because = f'the message is "{refusal.message}", not "{message}"'
            self.differences.append(Difference(pod.key, None, (), because))
        else:
            self.grades[REFUSED] += 1


def _is_notice(decision: Decision) -> bool:
    return isinstance(decision, LoggedChange) and decision.event is LogEvent.NOTICE
