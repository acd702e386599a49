"""Reasons not to judge a decision that differs: causes of which there is no record."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TypeVar

import numpy as np

from ksched_cli.analysis.audit.decisions import (
    Decision,
    DecisionLog,
    DecisionVerdict,
    NodeChoice,
    OrderSource,
    Placement,
    PodEvent,
    PreemptionDecision,
)
from ksched_cli.analysis.audit.orders import MAX_SHIFT_SECONDS, Trial, are_near
from ksched_cli.analysis.audit.replayed_cluster import ReplayedCluster
from ksched_cli.analysis.audit.scheduler_log import LogEvent
from ksched_cli.analysis.causes import node_views
from ksched_cli.cluster.objects import ResourceClaim
from ksched_cli.cluster.state import ClusterState, Key
from ksched_cli.framework.device_classes import may_allocate_devices
from ksched_cli.framework.shared_devices import DeviceID
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


@dataclass(slots=True)
class Doubts:
    """decisions: in the order in which they are followed

    departed: pod key → node, of pods that left it nobody knows when, and have not left yet
    present: keys of the pods of which nothing is known that are on their nodes by now
    """

    decision_log: DecisionLog
    cluster: ReplayedCluster
    decisions: Sequence[Decision]
    departed: dict[str, str] = field(init=False)
    present: set[str] = field(init=False)
    _is_log: bool = field(init=False)
    _races: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.departed = dict(self.decision_log.departed)
        # All whose binding the log does not tell of.
        events = [each for each in self.decisions if isinstance(each, PodEvent)]
        bound = {each.pod.key for each in events if each.event is LogEvent.BINDING}
        self.present = {pod.key for pod in self.decision_log.unseen} - bound
        self._is_log = self.decision_log.order is OrderSource.LOG
        self._races = double_allocations(self.decision_log.allocated)

    def follow(self, change: PodEvent) -> None:
        """The log tells when a pod that neither state has was on its node."""
        is_gone = change.event is LogEvent.DEPARTURE
        (self.present.discard if is_gone else self.present.add)(change.pod.key)

    def about(self, decision: NodeChoice, verdict: DecisionVerdict) -> str:
        """Return why the difference may be due to unknown facts, or ""."""
        return next(filter(None, self._reasons(decision, verdict)), "")

    def _reasons(self, decision: NodeChoice, verdict: DecisionVerdict) -> Iterator[str]:
        yield self._lacks_notices()
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
        yield self._recent_nodes(decision)
        yield self._changed_nodes(decision, verdict)
        yield self._departures(decision)
        yield self._volumes_wait(decision)
        yield self._near_preemptions(decision, verdict)
        yield self.about_images(decision, verdict)
        if self.decision_log.order is OrderSource.QUEUE:
            yield "the order in which the pods of one second were bound is unknown"

    # -- pods -------------------------------------------------------------------------------------

    def _lacks_notices(self) -> str:
        """Return the doubt that the scheduler used other nominations than the log shows, or ""."""
        cluster = self.cluster
        has_changed = cluster.nominations.have_changed and not cluster.follows_statuses
        return LACKS_NOTICES if self._is_log and has_changed else ""

    def _unknown(self, decision: NodeChoice, verdict: DecisionVerdict) -> str:
        """Pods that neither state has, on one of the nodes in question."""
        nodes = {decision.node, *verdict.expected}
        latest = inf if self._is_log else decision.time + MAX_SHIFT_SECONDS
        homes = {
            pod.key: pod.node
            for pod in self.decision_log.unseen
            if pod.node in nodes and pod.key in self.present and pod.since <= latest
        }
        if not homes:
            return ""
        return UNSEEN.format(_listed(sorted(homes)), _listed(sorted(set(homes.values()))))

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

    def _recent_nodes(self, placement: Placement) -> str:
        """Nodes that a recording tells of that came, changed or went just before."""
        times = self.cluster.changed_at.items()
        recent = [name for name, time in times if placement.time - time <= MAX_SHIFT_SECONDS]
        return _naming(NODES_CAME, recent)

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
