"""The comparison of a real scheduler's decisions with those that its configuration implies.

The audit starts from the cluster as it was before, and makes every real decision again in its
order (decision_log.py, replayed_cluster.py). Where ksched would have decided otherwise, the scores
explain it. Where the two states do not suffice to judge, the reason names what is missing: a cause
of which there is no record (`Doubts`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import msgspec
import numpy as np

from ksched_cli.analysis.audit.decision_log import seconds
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
    PodEvent,
    PreemptionDecision,
    RecordedPlacement,
    Unexplained,
)
from ksched_cli.analysis.audit.replayed_cluster import (
    NEAREST,
    Moments,
    ReplayedCluster,
    are_near,
    best_nodes,
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
# The devices of a claim that is being allocated, and the capacity of shared ones, count at once
# and, until it has been written, once more.
CLAIMS_COME = (
    "{} is the expected node, but the devices of {} may still have been in the process "
    "of being allocated there"
)
BUDGETS_CHANGED = (
    "the number of evictions that {} allows changed between the two states; a recording shows when"
)
EQUAL_VICTIMS = (
    "among equally important pods on {}, the scheduler evicts the one that it noticed "
    "last; only its log shows which"
)
STARTS = (
    "among pods of one priority on {}, the scheduler evicts the one that started last, and nothing"
    " shows when {} started"
)
JUST_STARTED = (
    "among pods of one priority on {}, the scheduler evicts the one that started last, and nothing"
    " shows whether it had noticed that {} had just started"
)
# So many seconds may pass between a pod's start, in whole seconds, and the scheduler's notice.
NOTICED_AFTER = 2.0
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

# How many decisions tell what size of an image counts, and about how many sizes are tried.
COUNTED = 300
TRIED_SIZES = 32

# How many names a reason lists.
MAX_LISTED = 3


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
        """Note when a pod that neither state has was on its node, as the log tells."""
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
            yield self.about_victims(decision, verdict)
            return
        yield self._races.get(decision.pod.key, "")
        yield self._unknown(decision, verdict)
        yield self._volumes_come(decision)
        yield self._claims_come(decision, verdict)
        yield self._changed_nodes(decision, verdict)
        # Pods may have left that did so nobody knows when.
        absent = [
            (pod.pod, node)
            for node in (self.cluster.simulation.snapshot.names if self.departed else ())
            for pod in self.cluster.on_node(node)
            if pod.key in self.departed
        ]
        with self.cluster.simulation.snapshot.trial():
            for pod, node in absent:
                self.cluster.take(pod, node)
            agrees = bool(absent) and self.cluster.judge(decision).grade is not None
        yield _naming(DEPARTED, [pod.key for pod, _ in absent if agrees])
        yield self.about_images(decision, verdict)

    # -- pods -------------------------------------------------------------------------------------

    def _unknown(self, decision: NodeChoice, verdict: DecisionVerdict) -> str:
        """Return the doubt that a pod that neither state has was on one of the nodes in
        question."""
        nodes = {decision.node, *verdict.expected}
        homes = {
            pod.key: pod.node
            for pod in self.decision_log.unseen
            if pod.node in nodes and pod.key in self.present
        }
        on = _listed(sorted(set(homes.values())))
        return UNSEEN.format(_listed(sorted(homes)), on) if homes else ""

    def about_victims(self, decision: PreemptionDecision, verdict: DecisionVerdict) -> str:
        """Return the doubt that ksched would evict the victims, too, in another order of equally
        important pods, or if they had started last, as far as nothing shows that, or ""."""
        candidates = {} if verdict.preemption is None else verdict.preemption.candidates
        if decision.node not in candidates:
            return ""
        rules, victims = self.cluster.simulation.configuration.release.rules, set(decision.victims)
        on_node = self.cluster.on_node(decision.node)
        starts = {pod.key: seconds(pod.pod.status.start_time) for pod in on_node}
        is_ordered = self._is_log or self.decision_log.state.noticed_nodes
        may_be_last = not (is_ordered or rules.ranks_victims_by_uid)
        if may_be_last and self.cluster.may_evict(decision, ()):
            return EQUAL_VICTIMS.format(decision.node)
        just = sorted(
            key
            for key in victims & starts.keys()
            if 0 <= decision.time - starts[key] < NOTICED_AFTER
        )
        if just and self.cluster.may_evict(decision, just):
            return JUST_STARTED.format(decision.node, _listed(just))
        unknown = {key for key, start in starts.items() if not start}
        if unknown and rules.ranks_victims_by_uid:
            expected = {pod.key for pod in candidates[decision.node].pods}
            if self.cluster.may_evict(decision, unknown):
                listed = _listed(sorted(unknown & (victims | expected)))
                return STARTS.format(decision.node, listed)
        return ""

    # -- nodes ------------------------------------------------------------------------------------

    def _changed_nodes(self, placement: RecordedPlacement, verdict: DecisionVerdict) -> str:
        changed = self.decision_log.changed_nodes
        for name in (placement.node, *verdict.expected):
            if name in changed:
                return f"the node {name} changed in between: {changed[name]}"
        new = [name for name in changed if name not in self.cluster.simulation.snapshot.row]
        return _naming("nodes joined in between: {}", new)

    # -- volumes and devices ----------------------------------------------------------------------

    def _volumes_come(self, placement: RecordedPlacement) -> str:
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

    def _claims_come(self, placement: RecordedPlacement, verdict: DecisionVerdict) -> str:
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

    def _bound_near(
        self, placement: RecordedPlacement, nodes: Iterable[str]
    ) -> list[RecordedPlacement]:
        """Return the placements made just before on these nodes."""
        return [
            each
            for each in self.decisions
            if isinstance(each, RecordedPlacement)
            and each.node in nodes
            and each.pod.uid in self.cluster.bound
            and are_near(placement, each)
        ]

    def _has_devices(self, placement: RecordedPlacement) -> bool:
        handle = self.cluster.simulation.handle
        return may_allocate_devices(self.cluster.info(placement.pod), handle)

    def _waits(self, placement: RecordedPlacement) -> bool:
        """Return whether its binding waited for a volume."""
        pod, chosen = placement.pod, self.decision_log.chosen_volumes
        return any((pod.namespace, use.claim) in chosen for use in claim_uses(pod))

    # -- images -----------------------------------------------------------------------------------

    def about_images(self, placement: RecordedPlacement, verdict: DecisionVerdict) -> str:
        """Return a doubt where unknown images may make up for the real node's lower score."""
        weights = self.cluster.framework(placement.pod).profile.weights
        if not verdict.expected or ImageLocality.name not in weights:
            return ""
        simulation, pod = self.cluster.simulation, self.cluster.info(placement.pod)
        churned = self.cluster.has_churned
        is_unsure = not self.decision_log.state.noticed_nodes
        images = {normalized_image_name(each.image) for each in pod.spec.containers}
        sizes = image_sizes(simulation.state, images)
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


def image_sizes(state: ClusterState, names: Container[str]) -> dict[str, dict[str, int]]:
    """Return, of these images, by image and by node, its size there."""
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


def _naming(reason: str, names: Sequence[str]) -> str:
    """Return the reason about these; "" if there are none."""
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
    reordered: placed, or room made, as ksched would at another moment that the recording allows
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
    order: what the order of the decisions is taken from: the scheduler's log, or a recording
    differ: decisions that ksched would not have made
    unexplained: what the states, the log or the recording do not suffice to judge
    groups: of the decisions that differ, those that all expect one node
    undecided: a plugin failed
    """

    COMMAND: ClassVar = "audit"
    VIEW: ClassVar = "audit:view"
    ROWS: ClassVar = "differ"

    kind: Literal["AuditResult"] = "AuditResult"
    decisions: Count
    agree: Count
    summary: AuditSummary
    order: OrderSource
    differ: tuple[Difference, ...]
    unexplained: tuple[Unexplained, ...]
    groups: tuple[DifferenceGroup, ...] = ()
    undecided: Annotated[bool, HIDDEN] = False

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(not self.differ, self.undecided)


def audit(
    open_simulation: Callable[[ClusterState], Simulation],
    decision_log: DecisionLog,
    on_progress: Callable[[int, int], None] | None = None,
) -> AuditResult:
    """Audit the decisions in their order.

    open_simulation: makes one of the state that has not run, with the log's newcomers. on_progress:
    called after each decision with how many are judged, and of how many
    """
    with gc_rare():
        state = decision_log.state
        is_recording = decision_log.order is OrderSource.RECORDING
        if is_recording and not state.noticed_nodes:
            state = _with_likely_sizes(open_simulation, decision_log)
        auditor = _Auditor(open_simulation(state), decision_log)
        auditor.run(on_progress)
        # A recording has no decision's own moment: what does not agree is judged at each moment
        # that it may have been made at, while the decisions are followed once more.
        if auditor.open and is_recording:
            agreeing = auditor.moments.agreeing
            again = _Auditor(open_simulation(state), decision_log, auditor.open, agreeing)
            again.run(on_progress)
            auditor.explain(again.moments)
    return auditor.audit()


def _with_likely_sizes(
    open_simulation: Callable[[ClusterState], Simulation], decision_log: DecisionLog
) -> ClusterState:
    """Return the state with an order in which the scheduler may have noticed its nodes. Where they
    report different sizes of an image, one counts for all; of these the one is likely with which
    the most decisions agree as they were recorded."""
    state, decisions = decision_log.state, decision_log.decisions[:COUNTED]
    placements = (each for each in decisions if isinstance(each, RecordedPlacement) and each.judged)
    containers = (each for placement in placements for each in placement.pod.spec.containers)
    names = Counter(normalized_image_name(each.image) for each in containers)
    sizes = image_sizes(state, names)
    first_decisions = replace(decision_log, decisions=decisions, refused=())
    for name, _ in names.most_common():
        by_node = sizes.get(name, {})
        # By size, the least first; unless a node that comes earlier says how big the image is.
        nodes = [node for _, node in sorted({size: node for node, size in by_node.items()}.items())]
        if len(nodes) < 2 or not by_node.keys().isdisjoint(state.noticed_nodes):
            continue
        # Node → how many decisions disagree with its size.
        disagreeing: dict[str, int] = {}
        for node in nodes[:: max(1, len(nodes) // TRIED_SIZES)]:
            order = (*state.noticed_nodes, node)
            simulation = open_simulation(replace(state, noticed_nodes=order))
            tally = _Tally(simulation, first_decisions)
            tally.count_up_to(min(disagreeing.values(), default=COUNTED))
            disagreeing[node] = tally.disagreeing
        best = min(disagreeing, key=disagreeing.__getitem__)
        state = replace(state, noticed_nodes=(*state.noticed_nodes, best))
    return state


class _Auditor:
    """An audit of the decisions in their order.

    place: of the decision that is followed
    open:  what does not agree, by place
    """

    def __init__(
        self,
        simulation: Simulation,
        decision_log: DecisionLog,
        unclear: Collection[int] = (),
        agreeing: Collection[str] = (),
    ) -> None:
        """unclear: places of decisions that are judged at the moments before theirs, too; agreeing:
        see Moments"""
        self.decision_log = decision_log
        self.decisions = decisions = decision_log.decisions
        self.place = 0
        # In a recording, a placement may have overtaken those beside it; what is unclear has been
        # looked at in this way already.
        is_recording = decision_log.order is OrderSource.RECORDING
        self.may_overtake = is_recording and not unclear
        changes = [each for each in decisions if isinstance(each, PodEvent)]
        has_notices = any(each.event is LogEvent.NOTICE for each in changes)
        self.cluster = ReplayedCluster(
            simulation, has_notices, decision_log.chosen_volumes, is_recording
        )
        self.doubts = Doubts(decision_log, self.cluster, decisions)
        about = (unclear, agreeing, self.doubts.about_victims)
        self.moments = Moments(self.cluster, decisions, *about)
        self.unseen = {pod.key for pod in decision_log.unseen}
        self.grades: Counter[str] = Counter()
        self.open: dict[int, Difference | Unexplained] = {}

    def explain(self, moments: Moments) -> None:
        """Count decisions that agree at some moment as those that do, and do not judge those that
        may agree."""
        self.grades[Grade.REORDERED.value] += len(moments.explained)
        for place in moments.explained:
            del self.open[place]
        for place in moments.doubtful.keys() & self.open.keys():
            self.open[place] = Unexplained(self.open[place].pod, moments.doubtful[place])

    def run(self, on_progress: Callable[[int, int], None] | None) -> None:
        self.cluster.simulation.queue()
        decisions, refused = self.decisions, self.decision_log.refused
        total = len(decisions) + len(refused)
        try:
            for self.place in range(total):
                if self.place < len(decisions):
                    self.moments.at(self.place)
                    self._follow(decisions[self.place])
                else:
                    self._check_refusal(refused[self.place - len(decisions)])
                if on_progress is not None:
                    on_progress(self.place + 1, total)
        finally:
            self.cluster.simulation.close()

    def _follow(self, decision: Decision) -> None:
        cluster = self.cluster
        if isinstance(decision, PodEvent):
            is_unseen = decision.pod.key in self.unseen and decision.event is not LogEvent.REFUSAL
            (self.doubts if is_unseen else cluster).follow(decision)
        elif isinstance(decision, ObjectChange):
            cluster.change(decision)
        elif isinstance(decision, PreemptionDecision):
            self._count(decision, cluster.judge(decision))
            cluster.end_batch()
            cluster.nominate(decision)
        elif decision.judged:
            verdict = cluster.judge(decision)
            self._count(decision, verdict)
            cluster.place(decision, verdict)
        else:
            cluster.place(decision, None)

    # -- the outcome ------------------------------------------------------------------------------

    def _count(self, decision: NodeChoice, verdict: DecisionVerdict) -> None:
        """Count a decision that agrees, that cannot be judged, or that differs."""
        if verdict.grade is not None:
            self.grades[verdict.grade.value] += 1
            if isinstance(decision, RecordedPlacement):
                self.moments.agreeing.add(decision.pod.uid)
            return
        if self.may_overtake and self.moments.overtakes(decision, self.place, NEAREST):
            self.grades[Grade.REORDERED.value] += 1
            return
        reason = self.doubts.about(decision, verdict)
        if reason:
            self.open[self.place] = Unexplained(decision.pod.key, reason)
        else:
            self._differ(decision, verdict)

    def _differ(self, decision: NodeChoice, verdict: DecisionVerdict) -> None:
        key, node, expected = decision.pod.key, decision.node, verdict.expected
        if verdict.reason:
            self.open[self.place] = Difference(key, node, expected, verdict.reason)
            return
        pod = self.cluster.info(decision.pod)
        views = node_views(self.cluster.simulation, pod, (node, *expected[:1])) or {}
        scores = {name: dict(view.scores) for name, view in views.items() if view.scores}
        because = _because(node, expected, views)
        self.open[self.place] = Difference(key, node, expected, because, scores)

    def _check_refusal(self, refusal: LastRefusal) -> None:
        """Check whether ksched too refuses a pod that has no node in the end."""
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
            self.open[self.place] = Unexplained(pod.key, reason)
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
            self.open[self.place] = Difference(pod.key, None, expected, because)
        else:
            self.grades[Grade.REFUSED.value] += 1

    def audit(self) -> AuditResult:
        agree = sum(self.grades.values())
        answers = [answer for _, answer in sorted(self.open.items())]
        differ = tuple(each for each in answers if isinstance(each, Difference))
        unexplained = [each for each in answers if isinstance(each, Unexplained)]
        return AuditResult(
            decisions=agree + len(differ),
            agree=agree,
            summary=AuditSummary(**self.grades),
            order=self.decision_log.order,
            differ=differ,
            groups=tuple(self._groups(differ)),
            unexplained=(*self.decision_log.unexplained, *unexplained),
        )

    def _groups(self, differ: Sequence[Difference]) -> Iterator[DifferenceGroup]:
        """Yield the largest first."""
        pods: dict[str, list[str]] = {}
        for difference in differ:
            if len(difference.expected) == 1:
                pods.setdefault(difference.expected[0], []).append(difference.pod)
        placements = (each for each in self.decisions if isinstance(each, RecordedPlacement))
        taken = {each.node for each in placements if each.judged}
        for node, keys in sorted(pods.items(), key=lambda item: (-len(item[1]), item[0])):
            if len(keys) >= LEAST_GROUPED:
                cause = HELD_ROOM if node in taken else NOT_TAKEN
                yield DifferenceGroup(node, tuple(keys), cause.format(node))


class _Tally(_Auditor):
    """Counts the decisions that do not agree where they were recorded."""

    disagreeing = 0
    limit: int

    def count_up_to(self, limit: int) -> None:
        """Stop where there are more."""
        self.limit = limit
        with suppress(_Enough):
            self.run(None)

    def _count(self, decision: NodeChoice, verdict: DecisionVerdict) -> None:
        self.disagreeing += verdict.grade is None
        if self.disagreeing > self.limit:
            raise _Enough


class _Enough(Exception):  # noqa: N818  # no error
    """More decisions disagree than with another size."""


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
