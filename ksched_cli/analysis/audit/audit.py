"""The comparison of a real scheduler's decisions with those that its configuration implies.

The audit starts from the cluster as it was before, and makes every real decision again in its
order (decision_log.py, replayed_cluster.py). Where ksched would have decided otherwise, the scores
explain it. Where the two states do not suffice to judge, the reason names what is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import ClassVar, Literal

from msgspec import field

from ksched_cli.analysis.audit.decisions import (
    Decision,
    DecisionLog,
    DecisionVerdict,
    Grade,
    LastRefusal,
    NodeChoice,
    ObjectChange,
    OrderSource,
    Placement,
    PodEvent,
    PreemptionDecision,
    Unexplained,
)
from ksched_cli.analysis.audit.doubts import Doubts
from ksched_cli.analysis.audit.orders import (
    MAX_DELAY,
    MAX_SHIFT,
    Judge,
    Order,
    OtherOrders,
    Refinement,
    are_near,
    earlier,
    later,
    refined_orders,
)
from ksched_cli.analysis.audit.replayed_cluster import ReplayedCluster, best_nodes
from ksched_cli.analysis.audit.scheduler_log import LogEvent
from ksched_cli.analysis.causes import PodViews, node_views
from ksched_cli.answers import Answer, Count, Part
from ksched_cli.cluster.loading.gc_control import gc_rare
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.simulation import Simulation

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

    def follow(order: Order, limit: float, **options: bool) -> _Auditor:
        auditor = _Auditor(open_simulation(), decision_log, order, limit, **options)
        auditor.run(on_progress)
        return auditor

    is_log = decision_log.order is OrderSource.LOG
    with gc_rare():
        # 1. The order observed, and while some decisions differ, those that the queue makes likely.
        orders = refined_orders(decision_log.decisions)
        best = follow(next(orders), inf)
        for order in orders if not is_log else ():
            if not best.failures:
                break
            best = min(best, follow(order, best.failures), key=lambda each: each.failures)
        if is_log or not best.failures:
            return best.audit()
        # 2. The best of these, with each placement that differs a little earlier or later, unless
        # that makes others differ.
        order, least = best.order, best.failures
        best = follow(order, least + 1, shifts=True, reorders=True)
        if best.failures > least:
            best = follow(order, inf, reorders=True)
    return best.audit()


class _Auditor:
    """An audit in one of the orders.

    limit: ends once so many decisions do not agree; place: of the decision that is followed;
    shifts: whether placements that do not agree are tried before and after their places; reorders:
    whether decisions that still do not agree are excused where some other order of the decisions
    near them explains each
    """

    def __init__(
        self,
        simulation: Simulation,
        decision_log: DecisionLog,
        order: Order,
        limit: float,
        *,
        shifts: bool = False,
        reorders: bool = False,
    ) -> None:
        self.decision_log, self.order = decision_log, order
        self.decisions = decisions = order.decisions
        self.limit, self.shifts, self.reorders = limit, shifts, reorders
        self.place = 0
        changes = [each for each in decisions if isinstance(each, PodEvent)]
        has_notices = any(each.event is LogEvent.NOTICE for each in changes)
        self.cluster = ReplayedCluster(simulation, has_notices, decision_log.chosen_volumes)
        self.doubts = Doubts(decision_log, self.cluster, decisions)
        self.unseen = {pod.key for pod in decision_log.unseen}
        self.grades: Counter[str] = Counter()
        self.shifted = 0
        self.differences: list[Difference] = []
        self.unexplained: list[Unexplained] = []

    @property
    def failures(self) -> int:
        """The number of decisions that do not agree, or only in another order."""
        reordered = self.grades[Grade.REORDERED.value]
        return len(self.differences) + len(self.unexplained) + reordered

    def run(self, on_progress: Callable[[int, int], None] | None) -> None:
        self.cluster.simulation.queue()
        decisions, refused = self.decisions, self.decision_log.refused
        total = len(decisions) + len(refused)
        while self.place < total and self.failures < self.limit:
            if self.place < len(decisions):
                self.place += self._follow(decisions[self.place])
            else:
                for refusal in refused:
                    self._check_refusal(refusal)
                self.place = total
            if on_progress is not None:
                on_progress(self.place, total)
        self.cluster.simulation.close()

    def _follow(self, decision: Decision) -> int:
        """Returns how many decisions are made: this one, and maybe some of those that come next."""
        if isinstance(decision, PodEvent):
            is_unseen = decision.pod.key in self.unseen and decision.event is not LogEvent.REFUSAL
            (self.doubts if is_unseen else self.cluster).follow(decision)
        elif isinstance(decision, ObjectChange):
            self.cluster.change(decision)
        elif isinstance(decision, PreemptionDecision) or decision.judged:
            return self._follow_choice(decision)
        else:
            self.cluster.place(decision, None)
        return 1

    def _follow_choice(self, decision: NodeChoice) -> int:
        """Returns how many decisions are made."""
        cluster, verdict = self.cluster, self.cluster.judge(decision)
        if isinstance(decision, Placement) and self._follow_silent_preemption(decision, verdict):
            verdict = cluster.judge(decision)
        if verdict.grade is None and self.shifts and isinstance(decision, Placement):
            coming = self.decisions[self.place + 1 : self.place + 1 + MAX_SHIFT]
            before = earlier(cluster, decision)
            verdicts = [before] if before else later(cluster, decision, coming)
            if verdicts:
                self.shifted += 1
                self.grades.update(each.grade.value for each in verdicts if each.grade)
                return len(verdicts)
        self._count(decision, verdict)
        if isinstance(decision, Placement):
            cluster.place(decision, verdict)
        else:
            cluster.end_batch()
            is_timed = self.decision_log.order in (OrderSource.LOG, OrderSource.RECORDING)
            (cluster.nominate if is_timed else cluster.make_room)(decision)
        return 1

    def _follow_silent_preemption(self, placement: Placement, verdict: DecisionVerdict) -> bool:
        """Follow a preemption that no event reports: where the pod fits nowhere, and ksched would
        make room by evicting pods of its node that left in between, they leave now."""
        departed, node = self.doubts.departed, placement.node
        if verdict.grade or verdict.expected or verdict.evaluation.error:
            return False
        if node not in departed.values():
            return False
        decision = PreemptionDecision(placement.pod, node, (), placement.time)
        verdict = self.cluster.judge(decision)
        if verdict.grade is None or verdict.preemption is None:
            return False
        victims = [pod.key for pod in verdict.preemption.candidates[node].pods]
        if any(departed.get(key) != node for key in victims):
            return False
        for key in victims:
            del departed[key]
        self.grades[verdict.grade.value] += 1
        self.cluster.make_room(replace(decision, victims=tuple(victims)))
        return True

    # -- the outcome ------------------------------------------------------------------------------

    def _count(self, decision: NodeChoice, verdict: DecisionVerdict) -> None:
        """Count a decision that agrees, maybe in another order, that cannot be judged, or that
        differs."""
        grade = verdict.grade
        if grade is None and self._is_explained_by_order(decision, self.cluster.judge):
            grade = Grade.REORDERED
        if grade is not None:
            self.grades[grade.value] += 1
            return
        reason = self.doubts.about(decision, verdict)
        if not reason and isinstance(decision, Placement):
            reason = self._images_in_another_order(decision)
        if reason:
            self.unexplained.append(Unexplained(decision.pod.key, reason))
        else:
            self._differ(decision, verdict)

    def _is_explained_by_order(self, decision: NodeChoice, judge: Judge) -> bool:
        """Whether another order explains it of those that may overtake each other."""
        if not self.reorders:
            return False
        window = self.decisions[max(0, self.place - MAX_DELAY) : self.place + MAX_DELAY + 1]
        near = [each for each in window if are_near(decision, each)]
        return OtherOrders(self.cluster, decision, near, judge).explain()

    def _images_in_another_order(self, placement: Placement) -> str:
        """Sizes of images that may explain it together with another order, or ""."""
        reason = ""

        def judge(_: NodeChoice) -> DecisionVerdict:
            nonlocal reason
            verdict = self.cluster.judge(placement)
            reason = "" if verdict.grade else self.doubts.about_images(placement, verdict)
            return replace(verdict, grade=Grade.REORDERED) if reason else verdict

        return reason if self._is_explained_by_order(placement, judge) else ""

    def _differ(self, decision: NodeChoice, verdict: DecisionVerdict) -> None:
        key, node, expected = decision.pod.key, decision.node, verdict.expected
        if verdict.reason:
            self.differences.append(Difference(key, node, expected, verdict.reason))
            return
        pod = self.cluster.info(decision.pod)
        views = node_views(self.cluster.simulation, pod, (node, *expected[:1])) or {}
        scores = {name: dict(view.scores) for name, view in views.items() if view.scores}
        because = _because(node, expected, views)
        self.differences.append(Difference(key, node, expected, because, scores))

    def _check_refusal(self, refusal: LastRefusal) -> None:
        """Checks whether ksched too refuses a pod that has no node in the end."""
        pod, pipeline = self.cluster.info(refusal.pod), self.cluster.simulation.pipeline
        framework = self.cluster.framework(refusal.pod)
        if not framework.pre_enqueue(pod).is_success:
            return
        evaluation = pipeline.evaluate(framework, pod, Mode.SAMPLED)
        expected = best_nodes(evaluation)
        if expected and not refusal.current:
            reason = (
                f"it has no node, although it fits on {expected[0]} by now: its next attempt may "
                "not have come yet"
            )
            self.unexplained.append(Unexplained(pod.key, reason))
            return
        because = ""
        if expected:
            because = f"{expected[0]} fits, but it was left pending: {refusal.message}"
        else:
            message = evaluation.error or evaluation.fit_error(
                pipeline.post_filter(evaluation)[1].message
            )
            if refusal.current and refusal.message and message != refusal.message:
                because = f'the message is "{refusal.message}", not "{message}"'
        if because:
            self.differences.append(Difference(pod.key, None, expected, because))
        else:
            self.grades[Grade.REFUSED.value] += 1

    def audit(self) -> AuditResult:
        agree = sum(self.grades.values())
        return AuditResult(
            decisions=agree + len(self.differences),
            agree=agree,
            summary=AuditSummary(**self.grades),
            order=self.decision_log.order,
            refinement=self.order.refinement,
            shifted=self.shifted,
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


def _because(node: str, expected: Sequence[str], views: PodViews) -> str:
    """Score by score, or what rejects the real node."""
    view = views.get(node)
    if view is None:
        return "its attempt breaks"
    if view.rejection is not None:
        plugin = f"{view.rejection.plugin}: " if view.rejection.plugin else ""
        return f"{node} does not fit: {plugin}{view.rejection.message}"
    best = views[expected[0]]
    plugins = {**best.scores, **view.scores}
    gaps = [(best.scores.get(each, 0), view.scores.get(each, 0), each) for each in plugins]
    gaps.sort(key=lambda gap: -abs(gap[0] - gap[1]))
    parts = [f"{plugin} {theirs} against {own}" for theirs, own, plugin in gaps if theirs != own]
    points = f"{expected[0]} has {best.total} points, {node} {view.total}"
    return f"{points}: {', '.join(parts)}" if parts else points
