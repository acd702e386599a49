"""The decisions of a real scheduler between two states of a cluster, and their order.

No object records the order of the decisions. The nearest is the order of the bindings in etcd,
which a pod's resourceVersion shows as long as nothing else has written to the pod. Next is the
order of the scheduler's events, to the microsecond, where the second state has them. Else only the
second of each binding is known, and within one the order of the scheduling queue is likely.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import msgspec
from msgspec import structs

from ksched_cli.analysis.chosen_volumes import storage_between, with_storage
from ksched_cli.analysis.decision_order import (
    Decision,
    Departure,
    OrderSource,
    Placement,
    PreemptionDecision,
)
from ksched_cli.analysis.double_allocations import double_allocations
from ksched_cli.analysis.log_order import in_order_of_log, in_order_of_notices
from ksched_cli.analysis.scheduler_events import (
    SchedulerEvents,
    newest,
    scheduler_events,
    seconds,
)
from ksched_cli.analysis.scheduler_log import LogEvent, LogLine
from ksched_cli.answers import Part
from ksched_cli.cluster.objects import Node, Pod, PodDisruptionBudget, ResourceClaim
from ksched_cli.cluster.objects.devices import ResourceClaimStatus
from ksched_cli.cluster.objects.pod import PodStatus
from ksched_cli.cluster.state import ClusterState, Key
from ksched_cli.engine.queue import why_ignored
from ksched_cli.framework.resource_claims import CLAIM_ANNOTATION
from ksched_cli.kube.selectors import parse_int64
from ksched_cli.scenario.workloads import renewed_warnings


class Unexplained(Part, frozen=True):
    """A decision that cannot be judged, and the reason."""

    pod: str
    reason: str


@dataclass(frozen=True, slots=True)
class LastRefusal:
    """A pod without a node in the end. message: of the last attempt, or "". current: nothing has
    happened since that attempt"""

    pod: Pod
    message: str
    current: bool


@dataclass(frozen=True, slots=True)
class UnseenPod:
    """A pod that came to a node and left it between the states, which hold nothing of it. since: in
    seconds since 1970; 0 where only the log tells"""

    key: str
    node: str
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class DecisionLog:
    """state:     to begin with; pods that come later are pending in it
    newcomers: pods of the name of another one of the state
    decisions: in their order, as well as `order` tells it
    refused:   the pods that have no node in the end
    departed:  pod key → node, of pods that left it nobody knows when
    changed_nodes: name → what of it changed in between
    double_allocations: pod key → a device of it that another pod has too, in words
    unseen:    pods that neither state has; what they held is not known
    chosen_volumes: claim → the volume that it got when its pod was placed
    changed_budgets: names of those that allowed other evictions in the end, nobody knows since when
    """

    state: ClusterState
    newcomers: tuple[Pod, ...]
    decisions: tuple[Decision, ...]
    order: OrderSource
    refused: tuple[LastRefusal, ...]
    departed: Mapping[str, str]
    changed_nodes: Mapping[str, str]
    unexplained: tuple[Unexplained, ...]
    double_allocations: Mapping[str, str]
    unseen: tuple[UnseenPod, ...] = ()
    chosen_volumes: Mapping[Key, str] = field(default_factory=dict)
    changed_budgets: tuple[str, ...] = ()


def read_decision_log(
    before: ClusterState,
    after: ClusterState,
    scheduler_names: Container[str],
    log: Sequence[LogLine] = (),
) -> DecisionLog:
    """scheduler_names: of the profiles that are judged. log: the scheduler's"""
    return _Reader(before, after, scheduler_names).read(log)


def why_swapped(before: ClusterState, after: ClusterState) -> str:
    """Return why the first state must be the later one, or "": a pod keeps its node, and an
    object's resourceVersion only rises."""
    if after.taken and before.taken > after.taken:
        return f"--before was taken at {before.taken}, --after at {after.taken}"
    pods = {pod.uid: pod for pod in after.pods}
    pairs = [(pod.metadata, pods[pod.uid].metadata) for pod in before.pods if pod.uid in pods]
    for pod in before.pods:
        if pod.uid in pods and pod.node_name and not pods[pod.uid].node_name:
            return f"{pod.key} has a node in --before and none in --after"
    nodes = {(node.name, node.uid): node for node in after.nodes}
    pairs += [
        (node.metadata, nodes[node.name, node.uid].metadata)
        for node in before.nodes
        if (node.name, node.uid) in nodes
    ]
    risen, fallen = 0, []
    for earlier, now in pairs:
        versions = [parse_int64(each.resource_version) or 0 for each in (earlier, now)]
        risen += versions[0] < versions[1]
        if versions[0] > versions[1] > 0:
            fallen.append(earlier.name)
    if fallen and not risen:
        return f"the resourceVersion of {fallen[0]} is higher in --before than in --after"
    return ""


class _Reader:
    """Compares two states."""

    def __init__(
        self, before: ClusterState, after: ClusterState, scheduler_names: Container[str]
    ) -> None:
        self.before, self.after = before, after
        self.scheduler_names = scheduler_names
        self.events: SchedulerEvents = scheduler_events(after)
        self.pods_before = {pod.uid: pod for pod in before.pods}
        self.pods_after = {pod.uid: pod for pod in after.pods}
        self.nodes = {node.name for node in before.nodes}
        self.unexplained: list[Unexplained] = []
        self.departed: dict[str, str] = {}
        # By UID, as the scheduler was given them.
        self.unplaced: dict[str, Pod] = {}
        self.unseen: dict[str, UnseenPod] = {}
        self.storage = storage_between(before, after)
        self.tells_conditions = any(map(_is_scheduled, after.pods))

    def read(self, log: Sequence[LogLine]) -> DecisionLog:
        for uid, pod in self.pods_after.items():
            earlier = self.pods_before.get(uid)
            if earlier is None or not earlier.node_name:
                self.unplaced[uid] = _as_given(pod, earlier)
        self._find_unseen(log)
        placements = [*self._placements(), *self._placements_of_gone()]
        preemptions = list(self._preemptions())
        self._find_departed()
        order = self._order(placements)
        decisions = _with_preemptions(self._in_order(placements, order), preemptions)
        if log and (logged := self._in_order_of_log(decisions, log)):
            order, decisions = OrderSource.LOG, logged
        state, newcomers = self._state()
        if order is OrderSource.LOG:
            state = in_order_of_notices(state, log)
        return DecisionLog(
            state,
            newcomers,
            tuple(decisions),
            order,
            tuple(self._refused(decisions)),
            self.departed,
            _changed_nodes(self.before, self.after),
            tuple(self.unexplained),
            double_allocations(self.after),
            tuple(self.unseen.values()),
            self.storage.chosen,
            _changed_budgets(self.before, self.after),
        )

    # -- decisions --------------------------------------------------------------------------------

    def _placements(self) -> Iterator[Placement]:
        for uid, given in self.unplaced.items():
            pod = self.pods_after[uid]
            if not pod.node_name:
                continue
            if pod.node_name not in self.nodes:
                reason = f"{pod.node_name} is not among the nodes of the first state"
                self.unexplained.append(Unexplained(pod.key, reason))
                continue
            event = self.events.bindings.get(uid)
            time = event.time if event is not None else _bound_at(pod)
            judged = not self._is_given_node(pod) and not why_ignored(
                structs.replace(given, node_name=pod.node_name), self.scheduler_names
            )
            yield Placement(given, pod.node_name, time, judged)

    def _is_given_node(self, pod: Pod) -> bool:
        """Whether the pod was created with its node, as static and mirror pods are. A binding sets
        the condition PodScheduled, if the state has conditions; kubelets set it too, but not before
        the pod is noticed."""
        if pod.uid in self.pods_before or pod.uid in self.events.bindings:
            return False
        owner = pod.metadata.controller
        is_static = owner is not None and owner.kind == "Node"
        return is_static or (self.tells_conditions and not _is_scheduled(pod))

    def _placements_of_gone(self) -> Iterator[Placement]:
        """Return placements of pods that waited in the first state, were bound, and are gone in the
        second."""
        for uid, pod in self.pods_before.items():
            if uid in self.pods_after or pod.node_name:
                continue
            event = self.events.bindings.get(uid)
            if event is not None and event.node in self.nodes:
                self.unplaced[uid] = pod
                self.departed[pod.key] = event.node
                yield Placement(pod, event.node, event.time)
            elif not why_ignored(pod, self.scheduler_names):
                reason = (
                    "it waited in the first state and is gone in the second; no event shows "
                    "whether it got a node"
                )
                self.unexplained.append(Unexplained(pod.key, reason))

    def _preemptions(self) -> Iterator[PreemptionDecision]:
        """One per preemptor and node."""
        victims: dict[tuple[str, str], list[str]] = {}
        times: dict[tuple[str, str], float] = {}
        for uid, event in self.events.evictions.items():
            if uid not in self.pods_before and uid not in self.unplaced:
                continue
            key = (event.preemptor, event.node)
            victims.setdefault(key, []).append(event.pod)
            times[key] = min(event.time, times.get(key, event.time))
        for (uid, node), keys in victims.items():
            pod = self.unplaced.get(uid)
            if pod is None:
                reason = "the pod that it was evicted for is in neither state"
                self.unexplained += [Unexplained(key, reason) for key in keys]
                self.departed |= dict.fromkeys(keys, node)
            elif node in self.nodes:
                yield PreemptionDecision(pod, node, tuple(sorted(keys)), times[uid, node])

    def _find_departed(self) -> None:
        evicted = {
            event.pod
            for event in self.events.evictions.values()
            if event.preemptor in self.unplaced
        }
        for uid, pod in self.pods_before.items():
            now = self.pods_after.get(uid)
            if pod.node_name and not pod.finished and (now is None or now.finished):
                self.departed[pod.key] = pod.node_name
        for uid in self.unplaced:
            now = self.pods_after.get(uid)
            if now is not None and now.node_name and now.finished:
                self.departed[now.key] = now.node_name
        for key in evicted:
            self.departed.pop(key, None)

    def _find_unseen(self, log: Sequence[LogLine]) -> None:
        """Pods that only an event or the log tells of held what neither state shows."""
        start = newest(
            time
            for pod in self.before.pods
            for time in (pod.metadata.creation_timestamp, pod.status.start_time)
        )
        for uid, event in self.events.bindings.items():
            is_unseen = uid not in self.pods_before and uid not in self.pods_after
            if is_unseen and event.time > start:
                self.unseen[event.pod] = UnseenPod(event.pod, event.node, event.time)
        seen = {pod.key for pod in (*self.before.pods, *self.after.pods)}
        for line in log:
            if line.event is LogEvent.BINDING and line.pod not in seen:
                self.unseen.setdefault(line.pod, UnseenPod(line.pod, line.node))
        for pod in self.unseen.values():
            reason = f"it was created, bound to {pod.node} and deleted between the two states"
            self.unexplained.append(Unexplained(pod.key, reason))

    # -- their order ------------------------------------------------------------------------------

    def _order(self, placements: list[Placement]) -> OrderSource:
        uids = [placement.pod.uid for placement in placements if placement.judged]
        remaining = [self.pods_after[uid] for uid in uids if uid in self.pods_after]
        if len(remaining) == len(uids) and all(map(_is_untouched, remaining)):
            return OrderSource.RESOURCE_VERSIONS
        if all(uid in self.events.bindings for uid in uids):
            return OrderSource.EVENTS
        return OrderSource.QUEUE

    def _in_order(self, placements: Iterable[Placement], order: OrderSource) -> list[Placement]:
        def rank(placement: Placement) -> tuple[float, int, int, str, str]:
            pod, revision = placement.pod, 0
            now = self.pods_after.get(pod.uid)
            if order is OrderSource.RESOURCE_VERSIONS and now is not None:
                revision = parse_int64(now.metadata.resource_version) or 0
            created = pod.metadata.creation_timestamp
            return placement.time, revision, -(pod.spec.priority or 0), created, pod.key

        return sorted(placements, key=rank)

    def _in_order_of_log(
        self, decisions: Sequence[Decision], log: Sequence[LogLine]
    ) -> list[Decision]:
        """Return decisions in the log's order, with the departures; none where the log lacks an
        attempt."""
        evicted_from = {
            key: decision.node
            for decision in decisions
            if isinstance(decision, PreemptionDecision)
            for key in decision.victims
        }
        logged = in_order_of_log(
            log,
            [decision for decision in decisions if isinstance(decision, Placement)],
            {pod.key: pod for pod in self.unplaced.values()},
            self.departed | evicted_from,
            {pod.key: pod for pod in (*self.pods_before.values(), *self.unplaced.values())},
            {pod.key: pod.node for pod in self.unseen.values()},
        )
        for decision in logged:
            if isinstance(decision, Departure):
                self.departed.pop(decision.pod.key, None)
        return logged

    # -- the rest ---------------------------------------------------------------------------------

    def _refused(self, decisions: list[Decision]) -> Iterator[LastRefusal]:
        last = max((decision.time for decision in decisions), default=0.0)
        for uid, pod in self.unplaced.items():
            now = self.pods_after.get(uid)
            if now is None or now.node_name or now.spec.scheduling_gates:
                continue
            if any(why_ignored(each, self.scheduler_names) for each in (pod, now)):
                continue
            # An event keeps the first of several messages; the condition has the last one.
            messages = [c.message for c in now.status.conditions if c.type == "PodScheduled"]
            refused_at = self.events.refusals.get(uid, 0.0)
            yield LastRefusal(
                pod,
                messages[0] if messages else "",
                not self.departed and not self.unseen and refused_at > last,
            )

    def _state(self) -> tuple[ClusterState, tuple[Pod, ...]]:
        """Return the first state with what came later, and the newcomers."""
        pods = {pod.key: self.unplaced.get(pod.uid, pod) for pod in self.before.pods}
        newcomers = tuple(
            pod for pod in self.unplaced.values() if pods.setdefault(pod.key, pod).uid != pod.uid
        )
        merged: dict[str, Any] = {
            each.name: {**getattr(self.after, each.name), **getattr(self.before, each.name)}
            for each in fields(ClusterState)
            if isinstance(getattr(self.before, each.name), dict) and each.name != "skipped"
        }
        claims = {
            key: claim if key in self.before.resource_claims else _unallocated(claim)
            for key, claim in merged["resource_claims"].items()
            if key in self.before.resource_claims or not _is_of_scheduler(claim)
        }
        merged["resource_claims"] = claims
        state = replace(self.before, **merged, pods=tuple(pods.values()))
        state = with_storage(state, self.storage)
        return replace(state, warnings=renewed_warnings(self.before, state)), newcomers


def _with_preemptions(
    placements: Sequence[Placement], preemptions: Sequence[PreemptionDecision]
) -> list[Decision]:
    """Each preemption before its pod's placement, and before what was decided then or later.
    placements: in order of time"""
    times = [placement.time for placement in placements]
    own = {placement.pod.uid: index for index, placement in enumerate(placements)}
    ranked: list[tuple[int, bool, float, Decision]] = [
        (
            min(bisect_left(times, each.time), own.get(each.pod.uid, len(own))),
            False,
            each.time,
            each,
        )
        for each in reversed(preemptions)
    ]
    ranked += [(index, True, 0.0, placement) for index, placement in enumerate(placements)]
    return [decision for *_, decision in sorted(ranked, key=lambda item: item[:3])]


def _as_given(pod: Pod, earlier: Pod | None) -> Pod:
    """Return the pod as the scheduler received it: what has no gates is as it was in the first
    state."""
    if earlier is not None and not earlier.spec.scheduling_gates:
        return earlier
    statuses = pod.status.resource_claim_statuses
    status = PodStatus(resource_claim_statuses=statuses)
    return structs.replace(pod, node_name="", status=status)


def _unallocated(claim: ResourceClaim) -> ResourceClaim:
    """A claim that came later, as it was before its pod was scheduled."""
    return structs.replace(claim, status=ResourceClaimStatus())


def _is_of_scheduler(claim: ResourceClaim) -> bool:
    """Whether the scheduler made it, for a pod's extended resources: it is part of the decision."""
    return claim.metadata.annotations.get(CLAIM_ANNOTATION) == "true"


class _Condition(msgspec.Struct, rename="camel"):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


class _Status(msgspec.Struct):
    conditions: list[_Condition] | None = None


class _PodTimes(msgspec.Struct):
    status: _Status | None = None


_pod_times = msgspec.json.Decoder(_PodTimes)


def _bound_at(pod: Pod) -> float:
    """Return when it was bound, to the second: when PodScheduled became true, else when the kubelet
    saw the pod first, else when it was created."""
    if len(bytes(pod.raw)):
        status = _pod_times.decode(bytes(pod.raw)).status
        for condition in (status.conditions or ()) if status is not None else ():
            if condition.type == "PodScheduled" and condition.status == "True":
                return seconds(condition.last_transition_time)
    return seconds(pod.status.start_time or pod.metadata.creation_timestamp)


def _is_scheduled(pod: Pod) -> bool:
    return any(c.type == "PodScheduled" and c.status == "True" for c in pod.status.conditions)


def _is_untouched(pod: Pod) -> bool:
    """Whether the binding looks like the last write to the pod."""
    status = pod.status
    others = [c for c in status.conditions if c.type != "PodScheduled"]
    return bool(pod.metadata.resource_version) and not (
        status.phase != "Pending"
        or status.start_time
        or status.container_statuses
        or others
        or pod.deleting
    )


def _changed_budgets(before: ClusterState, after: ClusterState) -> tuple[str, ...]:
    old, now = before.pod_disruption_budgets, after.pod_disruption_budgets
    keys = [key for key in {**old, **now} if _evictions(old.get(key)) != _evictions(now.get(key))]
    return tuple(f"{namespace}/{name}" for namespace, name in sorted(keys))


def _evictions(budget: PodDisruptionBudget | None) -> tuple[object, ...]:
    """Return the parts of a budget that decide which evictions it allows."""
    if budget is None:
        return ()
    return budget.spec.selector, budget.status.disruptions_allowed, budget.status.disrupted_pods


def _changed_nodes(before: ClusterState, after: ClusterState) -> dict[str, str]:
    """Return, by node name, which fields that scheduling reads have changed."""
    nodes_after = {node.name: node for node in after.nodes}
    changed = {}
    for node in before.nodes:
        now = nodes_after.pop(node.name, None)
        parts = ["it is gone"] if now is None else _changed_parts(node, now)
        if parts:
            changed[node.name] = ", ".join(parts)
    return changed | dict.fromkeys(nodes_after, "it is new")


def _changed_parts(node: Node, now: Node) -> list[str]:
    pairs = {
        "labels": (node.metadata.labels, now.metadata.labels),
        "taints": (node.spec.taints, now.spec.taints),
        "unschedulable": (node.spec.unschedulable, now.spec.unschedulable),
        "allocatable": (node.status.allocatable, now.status.allocatable),
        "images": (node.status.images, now.status.images),
        "declared features": (node.status.declared_features, now.status.declared_features),
    }
    return [f"its {name}" for name, (old, new) in pairs.items() if old != new]
