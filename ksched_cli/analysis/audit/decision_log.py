"""The decisions of a real scheduler between two states of a cluster, in the order of its log.

No object records the order of the decisions; the scheduler's log does. Its events, where the second
state has them, tell of pods that are gone, and of evictions.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from ksched_cli.analysis.audit.decisions import (
    Decision,
    DecisionLog,
    LastRefusal,
    LogEvent,
    LogLine,
    OrderSource,
    PreemptionDecision,
    RecordedPlacement,
    Unexplained,
    UnseenPod,
    has_left,
    in_order_of_log,
    in_order_of_notices,
    is_choice,
    is_refusal,
)
from ksched_cli.cluster.custom_objects import Plain
from ksched_cli.cluster.objects import (
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
)
from ksched_cli.cluster.objects.devices import ResourceClaimStatus
from ksched_cli.cluster.objects.pod import PodStatus
from ksched_cli.cluster.objects.storage import PersistentVolumeStatus
from ksched_cli.cluster.state import ClusterState, Key
from ksched_cli.engine.queue import why_ignored
from ksched_cli.framework.resource_claims import CLAIM_ANNOTATION
from ksched_cli.kube.int64 import parse_int64
from ksched_cli.kube.scheduler_events import MESSAGES, message_of
from ksched_cli.kube.time import unix_seconds
from ksched_cli.plugins.volume_binding.binder import provisions
from ksched_cli.plugins.volumes import WAIT_FOR_FIRST_CONSUMER, claim_class, volume_class
from ksched_cli.scenario.pods import unbound_claim
from ksched_cli.scenario.workloads import renewed_warnings

# The fields of a node that scheduling reads.
_PARTS = {
    "labels": attrgetter("metadata.labels"),
    "taints": attrgetter("spec.taints"),
    "unschedulable": attrgetter("spec.unschedulable"),
    "allocatable": attrgetter("status.allocatable"),
    "images": attrgetter("status.images"),
    "declared features": attrgetter("status.declared_features"),
}
# Kinds to keep when a state is loaded, for this module to read.
EVENT_KINDS = ("Event", "Event.events.k8s.io")


def read_decision_log(
    before: ClusterState,
    after: ClusterState,
    scheduler_names: Container[str],
    log: Sequence[LogLine],
) -> DecisionLog:
    """Return what a scheduler decided between two states. scheduler_names: of the profiles that are
    judged. log: the scheduler's. Raises UsageError if it lacks the attempt of a pod that was
    placed"""
    return _Reader(before, after, scheduler_names).read(log)


def why_swapped(before: ClusterState, after: ClusterState) -> str:
    """Return why the first state must be the later one, or "": a pod keeps its node, and an
    object's resourceVersion only rises."""
    if after.taken and before.taken > after.taken:
        return f"--before was taken at {before.taken}, --after at {after.taken}"
    pods = {pod.uid: pod for pod in after.pods}
    for pod in before.pods:
        if pod.node_name and not pods.get(pod.uid, pod).node_name:
            return f"{pod.key} has a node in --before and none in --after"
    objects = {(each.name, each.uid): each.metadata for each in (*after.pods, *after.nodes)}
    risen, fallen = 0, []
    for first in (*before.pods, *before.nodes):
        pair = first.metadata, objects.get((first.name, first.uid), first.metadata)
        version, later = (parse_int64(each.resource_version) or 0 for each in pair)
        risen += version < later
        if version > later > 0:
            fallen.append(first.name)
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
        self.events = scheduler_events(after)
        self.pods_before = {pod.uid: pod for pod in before.pods}
        self.pods_after = {pod.uid: pod for pod in after.pods}
        self.nodes = {node.name for node in before.nodes}
        self.unexplained: list[Unexplained] = []
        self.departed: dict[str, str] = {}
        # By UID, as the scheduler was given them.
        self.unplaced: dict[str, Pod] = {}
        self.unseen: dict[str, UnseenPod] = {}
        self.tells_conditions = any(map(_is_scheduled, after.pods))

    def read(self, log: Sequence[LogLine]) -> DecisionLog:
        for uid, pod in self.pods_after.items():
            earlier = self.pods_before.get(uid)
            if earlier is not None and earlier.node_name:
                continue
            # As the scheduler received it: what has no gates is as it was in the first state.
            if earlier is not None and not earlier.spec.scheduling_gates:
                self.unplaced[uid] = earlier
            else:
                statuses = pod.status.resource_claim_statuses
                status = PodStatus(resource_claim_statuses=statuses)
                self.unplaced[uid] = structs.replace(pod, node_name="", status=status)
        self._find_unseen(log)
        placements = [*self._placements(), *self._placements_of_gone()]
        self._find_departed()
        decisions = self._in_order_of_log(placements, log)
        state, newcomers, chosen_volumes = self._state()
        # Budgets that allow other evictions afterwards than before.
        old, now = self.before.pod_disruption_budgets, self.after.pod_disruption_budgets
        keys = [
            key for key in {**old, **now} if _evictions(old.get(key)) != _evictions(now.get(key))
        ]
        return DecisionLog(
            state=in_order_of_notices(state, log),
            decisions=tuple(decisions),
            order=OrderSource.LOG,
            refused=tuple(self._refused(decisions)),
            unexplained=tuple(self.unexplained),
            allocated=self.after.resource_claims,
            newcomers=newcomers,
            departed=self.departed,
            changed_nodes=_changed_nodes(self.before, self.after),
            unseen=tuple(self.unseen.values()),
            chosen_volumes=chosen_volumes,
            changed_budgets=tuple(f"{namespace}/{name}" for namespace, name in sorted(keys)),
        )

    # -- decisions --------------------------------------------------------------------------------

    def _placements(self) -> Iterator[RecordedPlacement]:
        for uid, given in self.unplaced.items():
            pod = self.pods_after[uid]
            if not pod.node_name:
                continue
            if pod.node_name not in self.nodes:
                reason = f"{pod.node_name} is not among the nodes of the first state"
                self.unexplained.append(Unexplained(pod.key, reason))
                continue
            judged = not self._is_given_node(pod) and not why_ignored(
                structs.replace(given, node_name=pod.node_name), self.scheduler_names
            )
            event = self.events.bindings.get(uid)
            time = event.time if event is not None else _bound_at(pod)
            yield RecordedPlacement(given, pod.node_name, time, judged)

    def _is_given_node(self, pod: Pod) -> bool:
        """Return whether the pod was created with its node, as static and mirror pods are. A
        binding sets the condition PodScheduled, if the state has conditions; kubelets set it too,
        but not before the pod is noticed."""
        if pod.uid in self.pods_before or pod.uid in self.events.bindings:
            return False
        return pod.owner[0] == "Node" or (self.tells_conditions and not _is_scheduled(pod))

    def _placements_of_gone(self) -> Iterator[RecordedPlacement]:
        """Return placements of pods that waited in the first state, were bound, and are gone in the
        second."""
        for uid, pod in self.pods_before.items():
            if uid in self.pods_after or pod.node_name:
                continue
            event = self.events.bindings.get(uid)
            if event is not None and event.node in self.nodes:
                self.unplaced[uid] = pod
                self.departed[pod.key] = event.node
                yield RecordedPlacement(pod, event.node, event.time)
            elif not why_ignored(pod, self.scheduler_names):
                reason = (
                    "it waited in the first state and is gone in the second; no event shows "
                    "whether it got a node"
                )
                self.unexplained.append(Unexplained(pod.key, reason))

    def _find_departed(self) -> None:
        """Note the pods that were on a node and are gone or finished."""
        for uid, pod in (self.pods_before | self.unplaced).items():
            now = self.pods_after.get(uid)
            has_left = now is None or now.finished
            node = pod.node_name or (now.node_name if now is not None else "")
            if node and has_left and not pod.finished:
                self.departed[pod.key] = node
        for uid, event in self.events.evictions.items():
            is_seen = uid in self.pods_before or uid in self.unplaced
            if is_seen and event.preemptor not in self.unplaced:
                reason = "the pod that it was evicted for is in neither state"
                self.unexplained.append(Unexplained(event.pod, reason))

    def _find_unseen(self, log: Sequence[LogLine]) -> None:
        """Note the pods that only an event or the log tells of: they held what neither state
        shows."""
        times = [
            time
            for pod in self.before.pods
            for time in (pod.metadata.creation_timestamp, pod.status.start_time)
        ]
        start = seconds(max(times, default=""))
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

    def _in_order_of_log(
        self, placements: Sequence[RecordedPlacement], log: Sequence[LogLine]
    ) -> list[Decision]:
        """Return the decisions in the log's order, with the departures. Raises UsageError."""
        waiting = {pod.key: pod for pod in self.unplaced.values()}
        pods = {pod.key: pod for pod in self.before.pods} | waiting
        unseen = {key: pod.node for key, pod in self.unseen.items()}
        left = self.departed | unseen
        logged = in_order_of_log(log, placements, waiting, pods, left, unseen)
        for decision in logged:
            if has_left(decision):
                self.departed.pop(decision.pod.key, None)
        return logged

    # -- the rest ---------------------------------------------------------------------------------

    def _refused(self, decisions: list[Decision]) -> Iterator[LastRefusal]:
        # The last attempt of a pod without a node, and the last of what may let it fit.
        tried, changed = dict[str, int](), 0
        for place, each in enumerate(decisions):
            if isinstance(each, PreemptionDecision) or is_refusal(each):
                tried[each.pod.key] = place
            if is_choice(each) or has_left(each):
                changed = place
        for uid, pod in self.unplaced.items():
            now = self.pods_after.get(uid)
            if now is None or now.node_name or now.spec.scheduling_gates:
                continue
            if any(why_ignored(each, self.scheduler_names) for each in (pod, now)):
                continue
            scheduled = (c for c in now.status.conditions if c.type == "PodScheduled")
            yield LastRefusal(
                pod,
                next((condition.message for condition in scheduled), ""),
                not (self.departed or self.unseen) and tried.get(pod.key, -1) >= changed,
            )

    def _state(self) -> tuple[ClusterState, tuple[Pod, ...], Mapping[Key, str]]:
        """Return the first state with what came later, the newcomers, and the chosen volumes."""
        pods = {pod.key: self.unplaced.get(pod.uid, pod) for pod in self.before.pods}
        newcomers = tuple(
            pod for pod in self.unplaced.values() if pods.setdefault(pod.key, pod).uid != pod.uid
        )
        merged: dict[str, Any] = {
            each.name: {**getattr(self.after, each.name), **getattr(self.before, each.name)}
            for each in fields(ClusterState)
            if isinstance(getattr(self.before, each.name), dict) and each.name != "skipped"
        }
        # Claims that came later are as they were before their pods were scheduled. One that the
        # scheduler made, for a pod's extended resources, is part of the decision.
        first = self.before.resource_claims
        merged["resource_claims"] = {
            key: first.get(key) or structs.replace(claim, status=ResourceClaimStatus())
            for key, claim in merged["resource_claims"].items()
            if key in first or claim.metadata.annotations.get(CLAIM_ANNOTATION) != "true"
        }
        storage = _storage_between(self.before, self.after)
        merged["persistent_volume_claims"], merged["persistent_volumes"], chosen = storage
        state = replace(self.before, **merged, pods=tuple(pods.values()))
        state = replace(state, warnings=renewed_warnings(self.before, state))
        return state, newcomers, chosen


def _bound_at(pod: Pod) -> float:
    """Return when it was bound, to the second: when PodScheduled became true, else when the kubelet
    saw the pod first, else when it was created."""
    raw = bytes(pod.raw)
    status = _object(_object(msgspec.json.decode(raw) if raw else None).get("status"))
    for condition in map(_object, status.get("conditions") or ()):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "True":
            return seconds(condition.get("lastTransitionTime"))
    return seconds(pod.status.start_time or pod.metadata.creation_timestamp)


def _is_scheduled(pod: Pod) -> bool:
    return any(c.type == "PodScheduled" and c.status == "True" for c in pod.status.conditions)


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
        if now is None:
            changed[node.name] = "it is gone"
            continue
        parts = [f"its {name}" for name, part in _PARTS.items() if part(node) != part(now)]
        if parts:
            changed[node.name] = ", ".join(parts)
    return changed | dict.fromkeys(nodes_after, "it is new")


# -- volumes --------------------------------------------------------------------------------------


def _storage_between(
    before: ClusterState, after: ClusterState
) -> tuple[dict[Key, PersistentVolumeClaim], dict[str, PersistentVolume], dict[Key, str]]:
    """Return the claims and volumes to begin with, and by claim the volume that it got for its
    pod's node. Claims that wait for a pod are unbound until the pod is placed. Others are bound by
    a controller, and pods wait for that: they are as they are in the end."""
    classes = {**after.storage_classes, **before.storage_classes}
    claims: dict[Key, PersistentVolumeClaim] = {}
    chosen: dict[Key, str] = {}
    for key, now in {**before.persistent_volume_claims, **after.persistent_volume_claims}.items():
        earlier = before.persistent_volume_claims.get(key)
        if not now.spec.volume_name or (earlier is not None and earlier.spec.volume_name):
            claims[key] = earlier or now
            continue
        storage_class = classes.get(claim_class(now))
        if storage_class and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
            claims[key] = earlier or unbound_claim(now)
            chosen[key] = now.spec.volume_name
        else:
            claims[key] = now
    volumes = dict(before.persistent_volumes)
    for name, volume in after.persistent_volumes.items():
        ref = volume.spec.claim_ref
        if ref is None or (ref.namespace, ref.name) not in chosen:
            first = volumes.get(name)
            if first is None or first.spec.claim_ref is None:
                volumes[name] = volume
        elif name not in volumes:
            storage_class = classes.get(volume_class(volume))
            if storage_class is None or not provisions(storage_class):
                volumes[name] = structs.replace(
                    volume,
                    spec=structs.replace(volume.spec, claim_ref=None),
                    status=PersistentVolumeStatus("Available"),
                )
    return claims, volumes, chosen


# -- the scheduler's events -----------------------------------------------------------------------
#
# Upstream: pkg/scheduler/schedule_one.go (finishBinding) and
# pkg/scheduler/framework/preemption/preemption.go (PreemptPod) write them.


class SchedulerEvent(NamedTuple):
    """pod: its key; time: in seconds since 1970; preemptor: UID of the pod that it was evicted
    for"""

    pod: str
    time: float
    node: str = ""
    preemptor: str = ""


class SchedulerEvents(NamedTuple):
    """By the UID of the pod that was bound or evicted, the last of its events."""

    bindings: Mapping[str, SchedulerEvent]
    evictions: Mapping[str, SchedulerEvent]


def scheduler_events(state: ClusterState) -> SchedulerEvents:
    """Return those of a state that was loaded with EVENT_KINDS."""
    events: dict[str, dict[str, SchedulerEvent]] = {reason: {} for reason in MESSAGES}
    for time, event in sorted(_timed_events(state), key=lambda item: item[0]):
        subject = _object(event.get("regarding")) or _object(event.get("involvedObject"))
        uid, pod = str(subject.get("uid")), f"{subject.get('namespace')}/{subject.get('name')}"
        reason = str(event.get("reason"))
        if reason in MESSAGES and (message := MESSAGES[reason].match(message_of(event))):
            events[reason][uid] = SchedulerEvent(pod, time, **message.groupdict())
    return SchedulerEvents(*events.values())


def _timed_events(state: ClusterState) -> Iterator[tuple[float, Plain]]:
    """Return the events with their times."""
    for kind in EVENT_KINDS:
        for event in state.others.get(kind, ()):
            legacy = event.get("lastTimestamp") or event.get("deprecatedLastTimestamp")
            yield seconds(event.get("eventTime") or legacy), event


def _object(value: object) -> Mapping[str, Any]:
    """Return a part of an object whose type nothing checks when it is read."""
    return value if isinstance(value, dict) else {}


def seconds(timestamp: object) -> float:
    """Return an RFC 3339 time, with or without fractions, in seconds since 1970; 0 for anything
    else."""
    if not isinstance(timestamp, str):
        return 0.0
    try:
        return unix_seconds(timestamp)
    except ValueError:
        return 0.0
