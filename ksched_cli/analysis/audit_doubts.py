"""Reasons not to judge a decision that differs: causes of which there is no record."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf

import numpy as np

from ksched_cli.analysis.causes import node_views
from ksched_cli.analysis.decision_log import DecisionLog
from ksched_cli.analysis.decision_order import (
    MAX_SHIFT_SECONDS,
    Decision,
    LoggedChange,
    OrderSource,
    Placement,
    PreemptionDecision,
)
from ksched_cli.analysis.decision_verdict import DecisionVerdict
from ksched_cli.analysis.replayed_cluster import ReplayedCluster
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.device_classes import may_allocate_devices
from ksched_cli.plugins.image_locality import ImageLocality, image_scores, normalized_image_name
from ksched_cli.plugins.volumes.pod_claims import claim_uses

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
    "nodes came, changed or left less than {:.0f} seconds before it was bound, and it may have been"
    " decided before that: {}"
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

# How many names a reason lists.
MAX_LISTED = 3


@dataclass(slots=True)
class Doubts:
    """decisions: in the order in which they are followed

    departed: pod key → node, of pods that left it nobody knows when, and have not left yet
    changed_at: when nodes came, changed or went for the last time, as a recording tells
    present: keys of the pods of which nothing is known that are on their nodes by now
    """

    decision_log: DecisionLog
    cluster: ReplayedCluster
    decisions: Sequence[Decision]
    departed: dict[str, str] = field(init=False)
    changed_at: dict[str, float] = field(default_factory=dict)
    present: set[str] = field(init=False)
    _pods: Mapping[str, Pod] = field(init=False)

    def __post_init__(self) -> None:
        self.departed = dict(self.decision_log.departed)
        self._pods = {pod.key: pod for pod in self._simulation.state.pods}
        # All that the log does not tell of.
        followed = {each.pod.key for each in self.decisions if isinstance(each, LoggedChange)}
        self.present = {pod.key for pod in self.decision_log.unseen} - followed

    @property
    def _simulation(self) -> Simulation:
        return self.cluster.simulation

    @property
    def _is_timed(self) -> bool:
        """Whether the times of the decisions are known."""
        return self.decision_log.order in (OrderSource.LOG, OrderSource.RECORDING)

    def about(self, decision: Placement | PreemptionDecision, verdict: DecisionVerdict) -> str:
        """Return why the difference may be due to unknown facts, or ""."""
        if isinstance(decision, Placement):
            return self._about_placement(decision, verdict)
        return (
            (LACKS_NOTICES if self._lacks_notices() else "")
            or self._unknown(decision, verdict)
            or self._budgets()
            or self._equal_victims(decision, verdict)
            or self._near_preemptions(decision, verdict)
        )

    def _about_placement(self, placement: Placement, verdict: DecisionVerdict) -> str:
        reasons: tuple[Callable[[], str], ...] = (
            lambda: LACKS_NOTICES if self._lacks_notices() else "",
            lambda: self.decision_log.double_allocations.get(placement.pod.key, ""),
            lambda: self._unknown(placement, verdict),
            lambda: self._volumes_come(placement),
            lambda: self._claims_come(placement, verdict),
            lambda: self._claims_near(placement, verdict),
            lambda: self._recent_nodes(placement),
            lambda: self._changed_nodes(placement, verdict),
            lambda: self._departures(placement),
            lambda: self._volumes_wait(placement),
            lambda: self._near_preemptions(placement, verdict),
            lambda: self.about_images(placement, verdict),
            self._order,
        )
        return next(filter(None, (reason() for reason in reasons)), "")

    # -- pods -------------------------------------------------------------------------------------

    def _lacks_notices(self) -> bool:
        """Whether the scheduler may have used other nominations than the log shows."""
        is_log = self.decision_log.order is OrderSource.LOG
        return (
            is_log and not self.cluster.follows_statuses and self.cluster.nominations.have_changed
        )

    def _unknown(self, decision: Placement | PreemptionDecision, verdict: DecisionVerdict) -> str:
        """Pods that neither state has, on one of the nodes in question."""
        nodes = {decision.node, *verdict.expected}
        latest = decision.time + MAX_SHIFT_SECONDS
        if self.decision_log.order is OrderSource.LOG:
            latest = inf
        homes = {
            pod.key: pod.node
            for pod in self.decision_log.unseen
            if pod.node in nodes and pod.key in self.present and pod.since <= latest
        }
        if not homes:
            return ""
        return (
            f"the requests of {_listed(sorted(homes))} are unknown: created, placed and "
            f"gone between the two states, on {_listed(sorted(set(homes.values())))}"
        )

    def _budgets(self) -> str:
        names = self.decision_log.changed_budgets
        return BUDGETS_CHANGED.format(_listed(names)) if names else ""

    def _equal_victims(self, decision: PreemptionDecision, verdict: DecisionVerdict) -> str:
        """Return the doubt that the victims are as important as those that ksched would evict, or
        ""."""
        candidates = {} if verdict.preemption is None else verdict.preemption.candidates
        is_ordered = self.decision_log.order is OrderSource.LOG
        if is_ordered or self.decision_log.state.noticed_nodes or decision.node not in candidates:
            return ""
        snapshot = self._simulation.snapshot
        on_node = snapshot.pods[snapshot.row[decision.node]]
        evicted = sorted(pod.priority for pod in on_node if pod.key in decision.victims)
        expected = sorted(pod.priority for pod in candidates[decision.node].pods)
        return EQUAL_VICTIMS.format(decision.node) if evicted == expected else ""

    def _near_preemptions(
        self, decision: Placement | PreemptionDecision, verdict: DecisionVerdict
    ) -> str:
        """Room that was made for other pods on a node in question, at about the same time."""
        if self.decision_log.order is OrderSource.LOG:
            return ""
        keys = [
            each.pod.key
            for each in self.decisions
            if isinstance(each, PreemptionDecision)
            and each.pod.uid != decision.pod.uid
            and each.node in (decision.node, *verdict.expected)
            and abs(each.time - decision.time) <= MAX_SHIFT_SECONDS
        ]
        return NEAR_PREEMPTIONS.format(_listed(keys)) if keys else ""

    def _departures(self, placement: Placement) -> str:
        departed = [self._pods[key] for key in self.departed if key in self._pods]
        if departed:
            with self._without(departed) as absent:
                if absent and self.cluster.judge(placement).grade is not None:
                    return f"ksched decides the same once these pods have left: {_listed(absent)}"
        return ""

    @contextmanager
    def _without(self, pods: Iterable[Pod]) -> Iterator[list[str]]:
        """The cluster without these pods meanwhile; the keys of those that were there."""
        snapshot = self._simulation.snapshot
        keys = {pod.key for pod in pods}
        removed = [
            (pod, row)
            for row, on_node in enumerate(snapshot.pods)
            for pod in on_node
            if pod.key in keys
        ]
        for pod, row in removed:
            snapshot.remove(pod, row)
        try:
            yield [pod.key for pod, _ in removed]
        finally:
            for pod, row in removed:
                snapshot.add(pod, row)

    def _order(self) -> str:
        if self.decision_log.order is OrderSource.QUEUE:
            return "the order in which the pods of one second were bound is unknown"
        return ""

    # -- nodes ------------------------------------------------------------------------------------

    def _recent_nodes(self, placement: Placement) -> str:
        """Nodes that a recording tells of that came, changed or went just before."""
        times = self.changed_at.items()
        recent = [name for name, time in times if placement.time - time <= MAX_SHIFT_SECONDS]
        return NODES_CAME.format(MAX_SHIFT_SECONDS, _listed(recent)) if recent else ""

    def _changed_nodes(self, placement: Placement, verdict: DecisionVerdict) -> str:
        changed = self.decision_log.changed_nodes
        for name in (placement.node, *verdict.expected):
            if name in changed:
                return f"the node {name} changed in between: {changed[name]}"
        new = [name for name in changed if name not in self._simulation.snapshot.row]
        return f"nodes joined in between: {_listed(new)}" if new else ""

    # -- volumes and devices ----------------------------------------------------------------------

    def _volumes_come(self, placement: Placement) -> str:
        """Return the doubt that the real node has too many volumes for the pod only because those
        of pods placed just before may not have been bound yet, which kube-scheduler waits for
        aside."""
        if not self.decision_log.chosen_volumes:
            return ""
        pod = self.cluster.info(placement.pod)
        view = (node_views(self._simulation, pod, (placement.node,)) or {}).get(placement.node)
        if view is None or view.rejection is None or view.rejection.plugin != VOLUME_LIMITS:
            return ""
        bound = self.cluster.bound
        near = [each for each in self._near(placement, (placement.node,)) if each.pod.uid in bound]
        pods = [each.pod.key for each in near if self._waits(each)]
        return VOLUMES_COME.format(placement.node, _listed(pods)) if pods else ""

    def _claims_come(self, placement: Placement, verdict: DecisionVerdict) -> str:
        """Return a doubt where every better node has devices that pods placed just before are being
        given."""
        if not (verdict.expected and self._has_devices(placement)):
            return ""
        bound = self.cluster.bound
        near = [
            each
            for each in self._near(placement, verdict.expected)
            if each.pod.uid in bound and self._has_devices(each)
        ]
        if {each.node for each in near} < set(verdict.expected):
            return ""
        keys = [each.pod.key for each in near]
        return CLAIMS_COME.format(_listed(verdict.expected), _listed(keys))

    def _claims_near(self, placement: Placement, verdict: DecisionVerdict) -> str:
        """Return a doubt where pods that were given devices of the node, or of the better ones, may
        have come before or after."""
        if self.decision_log.order is OrderSource.LOG or not self._has_devices(placement):
            return ""
        nodes = (placement.node, *verdict.expected)
        near = [
            each.pod.key
            for each in self._near(placement, nodes)
            if each.pod.uid != placement.pod.uid and self._has_devices(each)
        ]
        return CLAIMS_NEAR.format(_listed(near)) if near else ""

    def _has_devices(self, placement: Placement) -> bool:
        return may_allocate_devices(self.cluster.info(placement.pod), self._simulation.handle)

    def _near(self, placement: Placement, nodes: Iterable[str]) -> Iterator[Placement]:
        """The placements just before or after on these nodes."""
        for each in self.decisions:
            if (
                isinstance(each, Placement)
                and each.node in nodes
                and abs(each.time - placement.time) <= MAX_SHIFT_SECONDS
            ):
                yield each

    def _volumes_wait(self, placement: Placement) -> str:
        """Return a doubt where pods were bound later than decided because their volumes were bound
        or created first, and nothing else shows when they were decided."""
        if self._is_timed or not self.decision_log.chosen_volumes:
            return ""
        placements = [each for each in self.decisions if isinstance(each, Placement)]
        near = [each for each in placements if abs(each.time - placement.time) <= VOLUMES_SECONDS]
        bound = self.cluster.bound
        keys = [each.pod.key for each in near if each.pod.uid not in bound and self._waits(each)]
        # What waited itself may have been decided before those that are bound.
        has_overtaken = self._waits(placement) and any(each.pod.uid in bound for each in near)
        keys = [key for key in keys if has_overtaken or key != placement.pod.key]
        return VOLUMES_WAIT.format(_listed(keys)) if keys else ""

    def _waits(self, placement: Placement) -> bool:
        """Whether its binding waited for a volume."""
        pod, chosen = placement.pod, self.decision_log.chosen_volumes
        return any((pod.namespace, use.claim) in chosen for use in claim_uses(pod))

    # -- images -----------------------------------------------------------------------------------

    def about_images(self, placement: Placement, verdict: DecisionVerdict) -> str:
        """Return a doubt where unknown images may make up for the real node's lower score."""
        pod, names = self.cluster.info(placement.pod), (placement.node, *verdict.expected[:1])
        weight = self._simulation.frameworks[pod.spec.scheduler_name].profile.weights.get(
            ImageLocality.name
        )
        views = node_views(self._simulation, pod, names) or {}
        if weight is None or len(views) < len(set(names)) or len(names) == 1:
            return ""
        if any(view.rejection is not None for view in views.values()):
            return ""
        images = {normalized_image_name(each.image) for each in pod.spec.containers}
        is_unsure = not self.decision_log.state.noticed_nodes
        sizes = _image_sizes(self._simulation.state, images)
        unsure = [name for name in sizes if is_unsure and len(set(sizes[name].values())) > 1]
        if not (unsure or self.changed_at):
            return ""
        total = len(self._simulation.state.nodes)
        swings = []
        for name in names:
            lowest, highest = (
                weight * int(image_scores(np.array([bytes_]), len(pod.spec.containers))[0])
                for bytes_ in _image_bytes(name, sizes, total, is_unsure, bool(self.changed_at))
            )
            swings.append(highest - lowest)
        if views[names[1]].total - views[names[0]].total > sum(swings):
            return ""
        return (IMAGE_SIZES if unsure else IMAGE_COUNTS).format(_listed(unsure or sorted(images)))


def _image_bytes(
    node: str, sizes: Mapping[str, Mapping[str, int]], total: int, is_unsure: bool, churned: bool
) -> tuple[int, int]:
    """Return the least and the most that a node's images count for. sizes: of images by node;
    total: how many nodes there are; is_unsure: it is not known whose size counts; churned: nor how
    many nodes have the image"""
    least = most = 0
    for by_node in sizes.values():
        if node in by_node:
            low, high = (
                (min(by_node.values()), max(by_node.values()))
                if is_unsure
                else (by_node[node], by_node[node])
            )
            share = len(by_node) / total
            least += int(low * (0.0 if churned else share))
            most += int(high * (1.0 if churned else share))
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


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MAX_LISTED])
    more = len(names) - MAX_LISTED
    return f"{shown} and {more} more" if more > 0 else shown
