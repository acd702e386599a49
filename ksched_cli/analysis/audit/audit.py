"""The comparison of a real scheduler's decisions with those that its configuration implies.

The audit starts from the cluster as it was before, and makes every real decision again in its
order (decision_log.py, replayed_cluster.py). Where ksched would have decided otherwise, the scores
explain it. Where the two states do not suffice to judge, the reason names what is missing: a cause
of which there is no record (`Doubts`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Annotated, ClassVar, Literal, TypeVar

import msgspec
import numpy as np

from ksched_cli.analysis.audit.decisions import (
    Decision,
    DecisionLog,
    DecisionVerdict,
    Grade,
    LastRefusal,
    LogEvent,
    NodeChoice,
    ObjectChange,
    OrderSource,
    Placement,
    PodEvent,
    PreemptionDecision,
    Unexplained,
)
from ksched_cli.analysis.audit.replayed_cluster import (
    MAX_DELAY,
    MAX_SHIFT,
    MAX_SHIFT_SECONDS,
    Judge,
    Order,
    OtherOrders,
    Refinement,
    ReplayedCluster,
    Trial,
    are_near,
    best_nodes,
    earlier,
    later,
    refined_orders,
)
from ksched_cli.analysis.causes import PodViews, node_views
from ksched_cli.answers import HIDDEN, Answer, Count, Part
from ksched_cli.cluster.loading.gc_control import gc_rare
from ksched_cli.cluster.objects import ResourceClaim
from ksched_cli.cluster.state import ClusterState, Key
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import ExitCode
from ksched_cli.framework.resource_claims import DeviceID, may_allocate_devices
from ksched_cli.plugins.image_locality import ImageLocality, image_scores, normalized_image_name
from ksched_cli.plugins.volumes import claim_uses

# The scheduler writes nominations to pods while it goes on, and goes by what comes back.
LACKS_NOTICES = (
    "nominations changed, and the log does not show when the scheduler noticed; a log at -v=4 does"
)

# kube-scheduler counts a claim's volume once the claim is bound, in PreBind, side by side with the
# cycles of the next pods.
VOLUME_LIMITS = "NodeVolumeLimits"
VOLUMES_COME = (
    "{} has reached its volume limit, but the volumes of {} may still have been in the "
    "process of being bound"
)
# How long volumes may be in the process of being bound or made, after a decision.
VOLUMES_SECONDS = 60.0
VOLUMES_WAIT = (
    "pods are bound after their volumes, so the order of decisions is unknown for {}; "
    "the scheduler's log or a recording shows it"
)
# The devices of a claim that is being allocated, and the capacity of shared ones, count at once
# and, until it has been written, once more.
CLAIMS_COME = (
    "{} is the expected node, but the devices of {} may still have been in the process "
    "of being allocated there"
)
CLAIMS_NEAR = (
    "devices were allocated to {} at about the same time, in an order that only the "
    "scheduler's log shows"
)
BUDGETS_CHANGED = (
    "the number of evictions that {} allows changed between the two states; a recording shows when"
)
NODES_CAME = (
    f"nodes came, changed or left less than {MAX_SHIFT_SECONDS:.0f} seconds before it was bound, "
    "and it may have been decided before that: {}"
)
EQUAL_VICTIMS = (
    "among equally important pods on {}, the scheduler evicts the one that it noticed "
    "last; only its log shows which"
)
NEAR_PREEMPTIONS = (
    "pods were evicted there for {} at about the same time, in an order that only the "
    "scheduler's log shows"
)
IMAGE_SIZES = (
    "nodes report different sizes of {}; the first report that the scheduler noticed "
    "counts, and only its log shows which"
)
IMAGE_COUNTS = (
    "ImageLocality decides, and counts the nodes that have {} as they were when kube-scheduler last"
    " renewed its record of a node: nodes came or left in between"
)

# Devices of two claims, where pods come fast: the claim that was allocated last leaves one
# goroutine's record before another's has it. https://github.com/kubernetes/kubernetes/pull/136269
# mends it.
RACE = "a race of kube-scheduler (kubernetes/kubernetes#136269): "
UNSEEN = "the requests of {} are unknown: created, placed and gone between the two states, on {}"

DEPARTED = "ksched decides the same once these pods have left: {}"

# How many names a reason lists.
MAX_LISTED = 3


_Kind = TypeVar("_Kind", Placement, PreemptionDecision)


class Doubts:
    """decisions: in the order in which they are followed

    departed: pod key → node, of pods that left it nobody knows when, and have not left yet
    present: keys of the pods of which nothing is known that are on their nodes by now
    """

    def __init__(
        self, decision_log: DecisionLog, cluster: ReplayedCluster, decisions: Sequence[Decision]
    ) -> None:
        self.decision_log, self.cluster, self.decisions = decision_log, cluster, decisions
        self.departed = dict(decision_log.departed)
        # All whose binding the log does not tell of.
        events = [each for each in decisions if isinstance(each, PodEvent)]
        bound = {each.pod.key for each in events if each.event is LogEvent.BINDING}
        self.present = {pod.key for pod in decision_log.unseen} - bound
        self._is_log = decision_log.order is OrderSource.LOG
        self._races = double_allocations(decision_log.allocated)

    def follow(self, change: PodEvent) -> None:
        """The log tells when a pod that neither state has was on its node."""
        is_gone = change.event is LogEvent.DEPARTURE
        (self.present.discard if is_gone else self.present.add)(change.pod.key)

    def about(self, decision: NodeChoice, verdict: DecisionVerdict) -> str:
        """Return why the difference may be due to unknown facts, or ""."""
        return next(filter(None, self._reasons(decision, verdict)), "")

    def _reasons(self, decision: NodeChoice, verdict: DecisionVerdict) -> Iterator[str]:
        cluster = self.cluster
        if self._is_log and cluster.nominations.have_changed and not cluster.follows_statuses:
            yield LACKS_NOTICES
        if isinstance(decision, PreemptionDecision):
            yield self._unknown(decision, verdict)
            yield _naming(BUDGETS_CHANGED, self.decision_log.changed_budgets)
            yield self._equal_victims(decision, verdict)
            yield self._near_preemptions(decision, verdict)
            return
        yield self._races.get(decision.pod.key, "")
        yield self._unknown(decision, verdict)
        yield self._volumes_come(decision)
        yield self._claims_come(decision, verdict)
        yield self._claims_near(decision, verdict)
        # Nodes that a recording tells of that came, changed or went just before.
        changes = cluster.changed_at.items()
        recent = [name for name, time in changes if decision.time - time <= MAX_SHIFT_SECONDS]
        yield _naming(NODES_CAME, recent)
        yield self._changed_nodes(decision, verdict)
        yield self._departures(decision)
        yield self._volumes_wait(decision)
        yield self._near_preemptions(decision, verdict)
        yield self.about_images(decision, verdict)
        if self.decision_log.order is OrderSource.QUEUE:
            yield "the order in which the pods of one second were bound is unknown"

    # -- pods -------------------------------------------------------------------------------------

    def _unknown(self, decision: NodeChoice, verdict: DecisionVerdict) -> str:
        """Pods that neither state has, on one of the nodes in question."""
        nodes = {decision.node, *verdict.expected}
        latest = inf if self._is_log else decision.time + MAX_SHIFT_SECONDS
        homes = {
            pod.key: pod.node
            for pod in self.decision_log.unseen
            if pod.node in nodes and pod.key in self.present and pod.since <= latest
        }
        on = _listed(sorted(set(homes.values())))
        return UNSEEN.format(_listed(sorted(homes)), on) if homes else ""

    def _equal_victims(self, decision: PreemptionDecision, verdict: DecisionVerdict) -> str:
        """Return the doubt that the victims are as important as those that ksched would evict, or
        ""."""
        candidates = {} if verdict.preemption is None else verdict.preemption.candidates
        is_ordered = self._is_log or self.decision_log.state.noticed_nodes
        if is_ordered or decision.node not in candidates:
            return ""
        on_node = self.cluster.on_node(decision.node)
        evicted = sorted(pod.priority for pod in on_node if pod.key in decision.victims)
        expected = sorted(pod.priority for pod in candidates[decision.node].pods)
        return EQUAL_VICTIMS.format(decision.node) if evicted == expected else ""

    def _near_preemptions(self, decision: NodeChoice, verdict: DecisionVerdict) -> str:
        """Room that was made for other pods on a node in question, at about the same time."""
        near = self._near(PreemptionDecision, decision, (decision.node, *verdict.expected))
        return "" if self._is_log else _naming(NEAR_PREEMPTIONS, _others(near, decision))

    def _near(self, kind: type[_Kind], decision: NodeChoice, nodes: Iterable[str]) -> list[_Kind]:
        """The decisions of this kind just before or after on these nodes."""
        near = [each for each in self.decisions if isinstance(each, kind)]
        return [each for each in near if each.node in nodes and are_near(decision, each)]

    def _departures(self, placement: Placement) -> str:
        """Return the doubt that pods had left that did so nobody knows when, or ""."""
        absent = [
            (pod.pod, node)
            for node in (self.cluster.simulation.snapshot.names if self.departed else ())
            for pod in self.cluster.on_node(node)
            if pod.key in self.departed
        ]
        with Trial(self.cluster) as trial:
            for pod, node in absent:
                trial.take(pod, node)
            agrees = bool(absent) and self.cluster.judge(placement).grade is not None
        return _naming(DEPARTED, [pod.key for pod, _ in absent if agrees])

    # -- nodes ------------------------------------------------------------------------------------

    def _changed_nodes(self, placement: Placement, verdict: DecisionVerdict) -> str:
        changed = self.decision_log.changed_nodes
        for name in (placement.node, *verdict.expected):
            if name in changed:
                return f"the node {name} changed in between: {changed[name]}"
        new = [name for name in changed if name not in self.cluster.simulation.snapshot.row]
        return _naming("nodes joined in between: {}", new)

    # -- volumes and devices ----------------------------------------------------------------------

    def _volumes_come(self, placement: Placement) -> str:
        """Return the doubt that the real node has too many volumes for the pod only because those
        of pods placed just before may not have been bound yet, which kube-scheduler waits for
        aside."""
        if not self.decision_log.chosen_volumes:
            return ""
        simulation, pod = self.cluster.simulation, self.cluster.info(placement.pod)
        view = (node_views(simulation, pod, (placement.node,)) or {}).get(placement.node)
        if view is None or view.rejection is None or view.rejection.plugin != VOLUME_LIMITS:
            return ""
        near = self._bound_near(placement, (placement.node,))
        pods = [each.pod.key for each in near if self._waits(each)]
        return VOLUMES_COME.format(placement.node, _listed(pods)) if pods else ""

    def _claims_come(self, placement: Placement, verdict: DecisionVerdict) -> str:
        """Return a doubt where every better node has devices that pods placed just before are being
        given."""
        if not (verdict.expected and self._has_devices(placement)):
            return ""
        near = self._bound_near(placement, verdict.expected)
        near = [each for each in near if self._has_devices(each)]
        if {each.node for each in near} < set(verdict.expected):
            return ""
        keys = [each.pod.key for each in near]
        return CLAIMS_COME.format(_listed(verdict.expected), _listed(keys))

    def _bound_near(self, placement: Placement, nodes: Iterable[str]) -> list[Placement]:
        """The placements made just before on these nodes."""
        near = self._near(Placement, placement, nodes)
        return [each for each in near if each.pod.uid in self.cluster.bound]

    def _claims_near(self, placement: Placement, verdict: DecisionVerdict) -> str:
        """Return a doubt where pods that were given devices of the node, or of the better ones, may
        have come before or after."""
        if self._is_log or not self._has_devices(placement):
            return ""
        near = self._near(Placement, placement, (placement.node, *verdict.expected))
        users = [each for each in near if self._has_devices(each)]
        return _naming(CLAIMS_NEAR, _others(users, placement))

    def _has_devices(self, placement: Placement) -> bool:
        handle = self.cluster.simulation.handle
        return may_allocate_devices(self.cluster.info(placement.pod), handle)

    def _volumes_wait(self, placement: Placement) -> str:
        """Return a doubt where pods were bound later than decided because their volumes were bound
        or created first, and nothing else shows when they were decided."""
        is_timed = self._is_log or self.decision_log.order is OrderSource.RECORDING
        if is_timed or not self.decision_log.chosen_volumes:
            return ""
        placements = [each for each in self.decisions if isinstance(each, Placement)]
        near = [each for each in placements if abs(each.time - placement.time) <= VOLUMES_SECONDS]
        bound = self.cluster.bound
        keys = [each.pod.key for each in near if each.pod.uid not in bound and self._waits(each)]
        # What waited itself may have been decided before those that are bound.
        has_overtaken = self._waits(placement) and any(each.pod.uid in bound for each in near)
        keys = [key for key in keys if has_overtaken or key != placement.pod.key]
        return _naming(VOLUMES_WAIT, keys)

    def _waits(self, placement: Placement) -> bool:
        """Whether its binding waited for a volume."""
        pod, chosen = placement.pod, self.decision_log.chosen_volumes
        return any((pod.namespace, use.claim) in chosen for use in claim_uses(pod))

    # -- images -----------------------------------------------------------------------------------

    def about_images(self, placement: Placement, verdict: DecisionVerdict) -> str:
        """Return a doubt where unknown images may make up for the real node's lower score."""
        weights = self.cluster.framework(placement.pod).profile.weights
        if not verdict.expected or ImageLocality.name not in weights:
            return ""
        simulation, pod = self.cluster.simulation, self.cluster.info(placement.pod)
        churned = bool(self.cluster.changed_at)
        is_unsure = not self.decision_log.state.noticed_nodes
        images = {normalized_image_name(each.image) for each in pod.spec.containers}
        sizes = _image_sizes(simulation.state, images)
        unsure = [name for name in sizes if is_unsure and len(set(sizes[name].values())) > 1]
        if not (unsure or churned):
            return ""
        names = (placement.node, verdict.expected[0])
        views = node_views(simulation, pod, names) or {}
        if len(views) < len(names) or any(view.rejection is not None for view in views.values()):
            return ""
        swing = 0
        for name in names:
            total = len(simulation.state.nodes)
            least, most = _image_bytes(name, sizes, total, is_unsure=is_unsure, churned=churned)
            scores = image_scores(np.array([least, most]), len(pod.spec.containers)).tolist()
            swing += weights[ImageLocality.name] * (scores[1] - scores[0])
        if views[names[1]].total - views[names[0]].total > swing:
            return ""
        return (IMAGE_SIZES if unsure else IMAGE_COUNTS).format(_listed(unsure or sorted(images)))


def _image_bytes(
    node: str, sizes: Mapping[str, Mapping[str, int]], total: int, *, is_unsure: bool, churned: bool
) -> tuple[int, int]:
    """Return the least and the most that a node's images count for. sizes: of images by node;
    total: how many nodes there are; is_unsure: it is not known whose size counts; churned: nor how
    many nodes have the image"""
    least = most = 0
    for by_node in sizes.values():
        if node in by_node:
            reported = by_node.values() if is_unsure else (by_node[node],)
            share = len(by_node) / total
            least += 0 if churned else int(min(reported) * share)
            most += int(max(reported) * (1.0 if churned else share))
    return least, most


def _image_sizes(state: ClusterState, names: Container[str]) -> dict[str, dict[str, int]]:
    """Image → node → its size there, of these images."""
    sizes: dict[str, dict[str, int]] = {}
    for node in state.nodes:
        for image in node.status.images:
            for name in image.names:
                if name in names:
                    sizes.setdefault(name, {})[node.name] = image.size_bytes
    return sizes


def double_allocations(claims: Mapping[Key, ResourceClaim]) -> Mapping[str, str]:
    """Return the devices that kube-scheduler gave to two claims, in words, by the keys of their
    pods."""
    users: dict[DeviceID, list[ResourceClaim]] = {}
    for claim in claims.values():
        allocation = claim.status.allocation
        for result in allocation.devices.results if allocation is not None else ():
            if not (result.admin_access or result.share_id or result.consumed_capacity):
                device = result.driver, result.pool, result.device
                users.setdefault(device, []).append(claim)
    reasons = {}
    for device, sharing in users.items():
        if len(sharing) > 1:
            listed = " and ".join(sorted(claim.name for claim in sharing))
            for claim in sharing:
                for consumer in claim.status.reserved_for:
                    reason = f"{RACE}it gave the device {'/'.join(device)} to {listed}"
                    reasons[f"{claim.namespace}/{consumer.name}"] = reason
    return reasons


def _others(decisions: Iterable[Decision], own: NodeChoice) -> list[str]:
    """The keys of other pods than the decision's."""
    return [each.pod.key for each in decisions if each.pod.uid != own.pod.uid]


def _naming(reason: str, names: Sequence[str]) -> str:
    """The reason about these; "" if there are none."""
    return reason.format(_listed(names)) if names else ""


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MAX_LISTED])
    more = len(names) - MAX_LISTED
    return f"{shown} and {more} more" if more > 0 else shown


# -- the audit ------------------------------------------------------------------------------------

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
    scores: Mapping[str, Mapping[str, int]] = msgspec.field(default_factory=dict)


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
    undecided: a plugin failed
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
    undecided: Annotated[bool, HIDDEN] = False

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(not self.differ, self.undecided)


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
