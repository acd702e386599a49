"""A timeline's events, applied to the cluster and passed to the queue.

Upstream: pkg/scheduler/eventhandlers.go (addAllEventHandlers).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple

from msgspec import structs

from ksched_cli.cluster.custom_objects import Plain
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.objects import KubeObject, Node, Pod
from ksched_cli.cluster.objects.devices import ResourceClaimStatus
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import RESIZE_PENDING
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.queue import why_ignored
from ksched_cli.engine.replay.node_outages import NodeOutages
from ksched_cli.engine.replay.records import LoggedChange, PodLog, PodOutcome
from ksched_cli.engine.replay.replay_cluster import ReplayCluster, is_victim
from ksched_cli.engine.replay.replay_scheduler import ReplayScheduler
from ksched_cli.engine.replay.rollouts import Rollouts
from ksched_cli.engine.replay.scheduling_queue import ObjectEvent, SchedulingQueue
from ksched_cli.errors import UsageError
from ksched_cli.framework import cluster_events as events
from ksched_cli.framework.pod_groups import composite_key, key_of
from ksched_cli.framework.resource_claims import GATE, ClaimStore, with_taint_rules
from ksched_cli.kube.gates import COMPOSITE_POD_GROUP, POD_GROUP, POD_GROUP_GATE
from ksched_cli.kube.versions import Release, Rules
from ksched_cli.scenario import timeline
from ksched_cli.scenario.change import Change, apply_changes
from ksched_cli.scenario.nodes import FailNodes, RecoverNodes
from ksched_cli.scenario.objects import (
    custom_objects_of,
    load_objects,
    objects_of,
    removed,
    replaced,
)
from ksched_cli.scenario.pod_claims import ClaimMaker, awaits_claims
from ksched_cli.scenario.pod_work import STAYS, PodWork

_SOURCE = "the timeline"
_GAP = "the timeline has gaps, in which the recorder had no connection"
_POD = KINDS["Pod"]


@dataclass(slots=True)
class EventApplier:
    """makes_pods: changes make the pods that workloads lack
    removed_nodes: names of those that left otherwise than by the timeline
    keys: of pods by the UID that their manifest gives them
    warnings: of the timeline's changes, each once
    outages: nodes that have failed
    rollouts: of workloads whose templates have changed
    unscheduled: the pods that no profile places, by key: a recorded scheduler may
    spared: keys of pods that the recorded scheduler evicted, and this one has not
    """

    cluster: ReplayCluster
    queue: SchedulingQueue
    scheduler: ReplayScheduler
    log: PodLog
    makes_pods: bool = True
    removed_nodes: set[str] = field(default_factory=set)
    keys: dict[str, str] = field(default_factory=dict)
    warnings: dict[str, None] = field(default_factory=dict)
    outages: NodeOutages = field(init=False)
    rollouts: Rollouts = field(init=False)
    unscheduled: dict[str, Pod] = field(default_factory=dict)
    spared: set[str] = field(default_factory=set)
    # Whether the queue hears of pods that arrive without a node.
    _tells_of_arrivals: bool = False

    def __post_init__(self) -> None:
        self.scheduler.arrive = self.arrive
        self.scheduler.on_departure = self._take_claims
        release = self.cluster.engine.configuration.release
        gate = POD_GROUP_GATE if release.rules.queues_groups else "GangScheduling"
        self._tells_of_arrivals = self.scheduler.hears_of_arrivals = release.enabled(gate)
        self.outages = NodeOutages(self.cluster, self.scheduler, self.change, self.arrive)
        self.rollouts = Rollouts(
            self.cluster,
            self.scheduler.clock,
            self.log,
            self._pending_manifest,
            self.arrive,
            lambda key: self._delete_pod(key, 0),
        )

    def apply(self, event: timeline.TimelineEvent) -> None:
        """Apply an event of the timeline. Raises UsageError where the event names what is not
        there, or is there already."""
        action = event.action
        self.log.counts.events += 1
        try:
            if isinstance(action, timeline.Arrival):
                self.arrive(action.pod, action.work)
            elif isinstance(action, timeline.Replacement):
                self._replace(action)
            elif isinstance(action, timeline.Removal):
                self._remove(action)
            elif isinstance(action, timeline.Completion):
                self._complete(action)
            elif isinstance(action, timeline.RecordedDecision):
                self._follow(action)
            elif isinstance(action, timeline.Gap):
                self.warnings[_GAP] = None
            else:
                self.log.changes.append(LoggedChange(self.scheduler.clock.now, action.text))
                if isinstance(action, FailNodes):
                    self.outages.fail(action.nodes.of(action, self.cluster.objects))
                elif isinstance(action, RecoverNodes):
                    self.outages.recover(action.nodes.of(action, self.cluster.objects))
                else:
                    self.change(lambda state: self._changed(state, action))
                    self.rollouts.advance()
        except UsageError as error:
            raise UsageError(f"event {event.index} of the timeline: {error}") from None

    def _changed(self, state: ClusterState, change: Change) -> ClusterState:
        self.warnings |= dict.fromkeys((*change.warnings, *change.warnings_in(state)))
        # What workloads lack is made before their pods are replaced.
        state, roll = self.rollouts.in_step(state), self.rollouts.roll
        return apply_changes(state, [change], workloads=self.makes_pods, roll=roll)[0]

    # -- pods -----------------------------------------------------------------------------------

    def claim_uid(self, pod: PodInfo) -> None:
        """Claim a UID for a pod: UIDs tell pods apart. Raises UsageError where an existing pod has
        it."""
        key, uid = pod.key, pod.uid
        if uid == key:
            return
        owner = self.keys.setdefault(uid, key)
        if owner != key and self._is_there(owner):
            raise UsageError(f"pod {key} has the UID of pod {owner}")
        self.keys[uid] = key

    def _is_there(self, key: str) -> bool:
        cluster = self.cluster
        return key in self.log.live or key in cluster.bound or key in cluster.strays

    def enqueue(self, pod: PodInfo, work: PodWork = STAYS) -> None:
        """A pod without a node is there from now on. Raises UsageError."""
        self.claim_uid(pod)
        self.log.arrive(pod, self.scheduler.clock.now, work)
        self.cluster.note_arrival(pod)
        self.cluster.expect(pod)
        if pod.pod.status.nominated_node_name:
            nominator = self.cluster.engine.nominator
            nominator.nominate(pod, pod.pod.status.nominated_node_name)
        self.queue.add(pod)
        if self._tells_of_arrivals:
            self.queue.move(events.UNSCHEDULED_POD_ADD, None, pod)

    def arrive(self, pod: Pod, work: PodWork = STAYS) -> None:
        """A pod is created, with a node or without. Raises UsageError where it is there already."""
        info = self.cluster.info(pod)
        if self._is_there(info.key):
            if info.key not in self.spared:
                raise UsageError(f"pod {info.key} already exists")
            self.log.counts.absent += 1
        elif pod.node_name:
            self._arrive_bound(info, work)
        elif why_ignored(pod, self.cluster.engine.frameworks):
            self.log.counts.ignored += 1
            self.unscheduled[info.key] = pod
        elif self.makes_pods and awaits_claims(pod):
            self.enqueue(self.cluster.info(self._with_claims(pod)), work)
        else:
            self.enqueue(info, work)

    def _with_claims(self, pod: Pod) -> Pod:
        """Make the claims that the pod lacks. Return it with the status that names them."""
        store = self.cluster.engine.handle.service(ClaimStore)
        # A former pod of the name has taken its claims along.
        claims = {
            (claim.namespace, claim.name): claim
            for each in pod.status.resource_claim_statuses
            if (claim := store.get(pod.namespace, each.resource_claim_name or "")) is not None
        }
        maker = ClaimMaker(replace(self.cluster.objects, resource_claims=claims))
        pod = maker.owner(pod)
        for claim in maker.resource_claims.values():
            store.create(claim)
        if volume_claims := maker.volume_claims:
            self.change(
                lambda before: replace(
                    before,
                    persistent_volume_claims={**before.persistent_volume_claims, **volume_claims},
                )
            )
        return pod

    def _take_claims(self, pod: PodInfo) -> None:
        """A pod is gone, and the ResourceClaims of templates go with it. In a recording, which has
        pods with UIDs, claims have events of their own."""
        store, templates = self.cluster.engine.claims, self.cluster.objects.resource_claim_templates
        if store is None or pod.uid != pod.key:
            return
        names = {e.name: e.resource_claim_name for e in pod.pod.status.resource_claim_statuses}
        for reference in pod.spec.resource_claims:
            claim = store.get(pod.namespace, names.get(reference.name) or "")
            if (
                claim is not None
                and (pod.namespace, reference.resource_claim_template_name) in templates
                and claim.owner == ("Pod", pod.name)
            ):
                store.delete(claim)
                # Before it is deleted it is deallocated, which is what pods wait for.
                freed = structs.replace(claim, status=ResourceClaimStatus())
                self.queue.move(events.RESOURCE_CLAIM_UPDATE, claim, freed)

    def _arrive_bound(self, pod: PodInfo, work: PodWork) -> None:
        if pod.pod.finished:
            self.log.counts.ignored += 1
            return
        self.claim_uid(pod)
        self.cluster.note_arrival(pod)
        if not self.cluster.add(pod):
            self.log.counts.ignored += 1
            self.queue.move(events.ASSIGNED_POD_ADD, None, pod)
            return
        record = self.log.arrive(pod, self.scheduler.clock.now, work)
        self.scheduler.start_work(pod, record)
        self.scheduler.follow_resize(None, pod)
        self.queue.move(events.ASSIGNED_POD_ADD, None, pod)

    def _pending(self) -> list[PodInfo]:
        """Return the pods without a node."""
        held = self.scheduler.waiting.values()
        queued = (each.pod for each in chain(self.queue, held))
        return [pod for pod in queued if not pod.is_resized]

    def _pending_pod(self, key: str) -> PodInfo | None:
        queued = self.queue.pods.get(key)
        if queued is not None:
            return queued.pod
        held = self.scheduler.waiting.values()
        return next((queued.pod for queued in held if queued.pod.key == key), None)

    def _pending_manifest(self, key: str) -> Pod | None:
        pending = self._pending_pod(key)
        return self.unscheduled.get(key) if pending is None else pending.pod

    def _update(self, new: Pod) -> None:
        """An existing pod has another manifest."""
        # 1. A pod on a node ends, or other pods may fit because of what it is now.
        old = self.cluster.bound.get(new.key)
        if old is not None:
            if new.finished:
                self.scheduler.end(new.key, PodOutcome.ENDED)
                return
            info = self.cluster.exchange(old, new)
            self.scheduler.follow_resize(old, info)
            release = self.cluster.engine.configuration.release
            for event in events.pod_events(old, info, release):
                self.queue.move(event, old, info)
            return
        # 2. A pod on a node that does not exist waits for the node.
        if new.key in self.cluster.strays:
            self.cluster.strays[new.key] = new
            return
        # 3. A pending pod gets its node from the timeline, or changes in the queue.
        pending = self._pending_pod(new.key)
        if pending is None:
            return
        if new.node_name:
            self._delete_pending(pending)
            self.arrive(new)
            return
        before = self.cluster.info(pending.pod)
        info = self.cluster.info(new)
        self.cluster.note_arrival(info)
        nominator = self.cluster.engine.nominator
        if before.pod.status.nominated_node_name or new.status.nominated_node_name:
            nominator.renew(info, new.status.nominated_node_name)
        self.queue.update(before, info)
        if before.pod.status.nominated_node_name not in ("", new.status.nominated_node_name):
            self.scheduler.lose_nomination(before)

    def _delete_pod(self, key: str, grace: int) -> None:
        bound = self.cluster.bound.get(key)
        if bound is not None:
            self.scheduler.delete_bound(bound, grace, PodOutcome.DELETED)
            return
        pending = self._pending_pod(key)
        if pending is not None:
            self._delete_pending(pending)
        elif stray := self.cluster.strays.pop(key, None):
            gone = self.cluster.info(stray)
            self.cluster.note_departure(gone)
            self.queue.move(events.ASSIGNED_POD_DELETE, gone, None)
        else:
            # Who writes a timeline cannot know which pods are evicted.
            self.log.counts.absent += 1

    def _delete_pending(self, pod: PodInfo) -> None:
        """Upstream: deletePodFromSchedulingQueue."""
        engine = self.cluster.engine
        self.queue.delete(pod.key)
        self.cluster.note_departure(pod)
        engine.nominator.clear(pod)
        waiting = engine.waiting.get(pod.uid)
        if waiting is not None:
            waiting.reject("", "the pod is deleted")
            self.scheduler.settle()
            self.queue.delete(pod.key)
        record = self.log.live[pod.key]
        self.log.leave(record, PodOutcome.DELETED, self.scheduler.clock.now)
        if pod.pod.status.nominated_node_name:
            self.scheduler.lose_nomination(pod)

    # -- what was recorded ----------------------------------------------------------------------

    def _follow(self, decision: timeline.RecordedDecision) -> None:
        """Bind pods of schedulers that are not simulated to their recorded nodes."""
        if decision.node and not decision.evicted_for:
            pod = self.unscheduled.pop(decision.pod, None)
            if pod is not None:
                self.arrive(structs.replace(pod, node_name=decision.node))

    def _complete(self, action: timeline.Completion) -> None:
        """A pod ends, or as long after its placement as in the recording, where that is later."""
        self.unscheduled.pop(action.pod, None)
        record = self.log.live.get(action.pod)
        if action.pod in self.cluster.bound:
            placed = record.placed if record is not None else None
            now = self.scheduler.clock.now
            at = now if placed is None or action.ran_for is None else placed + action.ran_for
            if at <= now:
                self.scheduler.end(action.pod, PodOutcome.ENDED)
            else:
                self.scheduler.end_at(at, self.cluster.bound[action.pod], PodOutcome.ENDED)
        elif record is not None:
            record.work = PodWork(action.ran_for or 0)
        else:
            self.log.counts.absent += 1

    # -- objects --------------------------------------------------------------------------------

    def _replace(self, action: timeline.Replacement) -> None:
        kind, manifest = action.kind, action.manifest
        if action.decided:
            return
        if kind is not _POD:
            self.change(lambda state: replaced(state, kind, [manifest]))
            return
        pod = load_objects(self.cluster.objects, [manifest], _SOURCE).pods[0]
        old = self.cluster.bound.get(pod.key) or self._pending_pod(pod.key)
        if old is None and (stray := self.cluster.strays.get(pod.key)) is not None:
            old = self.cluster.info(stray)
        if old is None:
            self.arrive(pod)
            return
        # The API server keeps these.
        metadata = structs.replace(pod.metadata, uid=old.uid)
        node, status = old.pod.node_name or pod.node_name, old.pod.status
        if "status" in manifest:
            # What the scheduler writes stays its own. Its node says what becomes of a resize.
            own = [each for each in status.conditions if each.type != RESIZE_PENDING]
            pending = [each for each in pod.status.conditions if each.type == RESIZE_PENDING]
            status = structs.replace(
                pod.status,
                nominated_node_name=status.nominated_node_name,
                start_time=status.start_time,
                conditions=(*own, *pending),
                node_allocatable_resource_claim_statuses=(
                    status.node_allocatable_resource_claim_statuses
                ),
            )
        self._update(structs.replace(pod, metadata=metadata, status=status, node_name=node))

    def _remove(self, action: timeline.Removal) -> None:
        kind, key = action.kind, (action.namespace, action.name)
        if kind is _POD and action.preempted:
            # The recorded scheduler's victim began to leave, or left: so it does where it is a
            # victim here, too.
            pod = self.cluster.bound.get("/".join(key))
            if pod is None or not is_victim(pod.pod):
                self.spared.add("/".join(key))
            elif not action.grace:
                self.scheduler.end("/".join(key), PodOutcome.EVICTED)
            return
        if kind is _POD:
            self.unscheduled.pop("/".join(key), None)
            self._delete_pod("/".join(key), action.grace)
            return
        before = self.cluster.objects
        if isinstance(kind, str) and "." not in kind:
            groups = (each for each in sorted(before.others) if kind == each.partition(".")[0])
            kind = next((each for each in groups if key in custom_objects_of(before, each)), kind)
        present: Container[tuple[str, str]] = (
            custom_objects_of(before, kind) if isinstance(kind, str) else objects_of(before, kind)
        )
        if key not in present:
            if kind is KINDS["Node"] and action.name in self.removed_nodes:
                self.log.counts.absent += 1
                return
            name = kind if isinstance(kind, str) else kind.name
            raise UsageError(f"no {name} {action.name} exists to delete")
        self.change(lambda state: removed(state, kind, [key]))

    def change(self, change: Callable[[ClusterState], ClusterState]) -> None:
        """Change the objects to others, with the events that report it."""
        pending = self._pending()
        before = self.cluster.state_with([pod.pod for pod in pending])
        after = change(before)
        pods = pod_changes(before, after)
        bound = dict(self.cluster.bound)
        if changes_objects(before, after):
            self._renew(replace(after, pods=before.pods))
        release = self.cluster.engine.configuration.release
        for event, old, new in object_events(before, after, release):
            if event.resource in (POD_GROUP, COMPOSITE_POD_GROUP):
                group = new if isinstance(new, Mapping) else old
                assert isinstance(group, Mapping), "it came, or is gone"
                is_composite = event.resource == COMPOSITE_POD_GROUP
                self.queue.follow_group(
                    composite_key(*key_of(group)) if is_composite else key_of(group)
                )
            self.queue.move(event, old, new)
        for key, pod in bound.items():
            if key not in self.cluster.bound:  # its node is gone
                self.scheduler.gone(pod, PodOutcome.DELETED)
                pods.removed.pop(key, None)
                pods.updated.pop(key, None)
        works = {
            key: record.work_again
            for key in pods.removed
            if (record := self.log.live.get(key)) is not None
        }
        for key in pods.removed:
            self._delete_pod(key, 0)
        for _, manifest in pods.updated.values():
            self._update(manifest)
        for key, manifest in pods.added.items():
            # A pod that is made anew runs as long as the one before.
            self.arrive(manifest, works.get(key, STAYS))

    def _renew(self, state: ClusterState) -> None:
        """Rebuild the cluster, the queue and the nominations for other nodes or objects."""
        waiting = self.cluster.engine.waiting
        for waiting_pod in waiting:
            waiting_pod.reject("", "the cluster's nodes or objects have changed")
        self.scheduler.settle()
        before = self.cluster.engine.nominator
        self.cluster.renew(state)
        self.scheduler.engine = self.cluster.engine
        engine = self.cluster.engine
        self.queue.renew(engine.frameworks, self.cluster.info, engine.queued_groups)
        pending = [queued.pod for queued in self.queue if not queued.pod.is_resized]
        self.cluster.renominate(before, {pod.uid: pod for pod in pending})
        for pod in pending:
            self.cluster.expect(pod)


# By attribute of ClusterState, the resource of events.
_RESOURCES = {
    "persistent_volumes": events.PERSISTENT_VOLUME,
    "persistent_volume_claims": events.PERSISTENT_VOLUME_CLAIM,
    "storage_classes": events.STORAGE_CLASS,
    "csi_nodes": events.CSI_NODE,
    "csi_drivers": events.CSI_DRIVER,
    "csi_storage_capacities": events.CSI_STORAGE_CAPACITY,
    "volume_attachments": events.VOLUME_ATTACHMENT,
    "resource_claims": events.RESOURCE_CLAIM,
    "resource_slices": events.RESOURCE_SLICE,
    "device_classes": events.DEVICE_CLASS,
}


class PodChanges(NamedTuple):
    """Changed pods by key. updated: before and after."""

    removed: dict[str, Pod]
    updated: dict[str, tuple[Pod, Pod]]
    added: dict[str, Pod]


def object_events(
    before: ClusterState, after: ClusterState, release: Release | None = None
) -> Iterator[ObjectEvent]:
    """Yield events of nodes, then of the other kinds that are watched, but not of pods.
    release: slices may change in it where DeviceTaintRules do
    """
    if before.nodes is not after.nodes:
        old = {node.name: node for node in before.nodes}
        new = {node.name: node for node in after.nodes}
        yield from _events_of(old, new, events.NODE)
    for attribute, resource in _RESOURCES.items():
        yield from _events_of(getattr(before, attribute), getattr(after, attribute), resource)
    if release is not None and release.enabled(GATE):
        yield from _tainted_slices(before, after, release.rules)
    if before.others is not after.others:
        for kind in dict.fromkeys((*before.others, *after.others)):
            yield from _events_of(
                custom_objects_of(before, kind), custom_objects_of(after, kind), kind
            )


def _tainted_slices(
    before: ClusterState, after: ClusterState, rules: Rules
) -> Iterator[ObjectEvent]:
    """Return slices that are the same, but for the taints that rules add."""
    if before.device_taint_rules is after.device_taint_rules:
        return
    slices = [
        resource_slice
        for key, resource_slice in after.resource_slices.items()
        if before.resource_slices.get(key) is resource_slice
    ]
    old, new = (
        with_taint_rules(slices, state.device_taint_rules.values(), rules)
        for state in (before, after)
    )
    for previous, current in zip(old, new, strict=True):
        if previous != current:
            event = events.ClusterEvent(events.RESOURCE_SLICE, events.Action.UPDATE)
            yield ObjectEvent(event, previous, current)


def _events_of(
    old: Mapping[Any, KubeObject | Plain], new: Mapping[Any, KubeObject | Plain], resource: str
) -> Iterator[ObjectEvent]:
    if old is new:
        return
    for key, item in old.items():
        if key not in new:
            yield ObjectEvent(events.ClusterEvent(resource, events.Action.DELETE), item, None)
    for key, item in new.items():
        if key not in old:
            yield ObjectEvent(events.ClusterEvent(resource, events.Action.ADD), None, item)
        elif item is not (before := old[key]):
            updates = [events.ClusterEvent(resource, events.Action.UPDATE)]
            if isinstance(before, Node) and isinstance(item, Node):
                updates = [*events.node_events(before, item)]
            yield from (ObjectEvent(event, before, item) for event in updates)


def changes_objects(before: ClusterState, after: ClusterState) -> bool:
    """Return whether anything but pods differs that plugins read."""
    names = ("nodes", *_RESOURCES, "services", "replica_sets", "stateful_sets")
    names = (*names, "replication_controllers", "pod_disruption_budgets", "namespaces")
    names = (*names, "priority_classes", "resource_claim_templates", "others")
    names = (*names, "device_taint_rules")
    return any(getattr(before, name) is not getattr(after, name) for name in names)


def pod_changes(before: ClusterState, after: ClusterState) -> PodChanges:
    """Return how the pods differ. A pod that lost its node was deleted, and another of its name was
    created."""
    old = {pod.key: pod for pod in before.pods}
    new = {pod.key: pod for pod in after.pods}
    changes = PodChanges({}, {}, {})
    for key, pod in old.items():
        current = new.get(key)
        if current is pod:
            continue
        if current is None or (pod.node_name and not current.node_name):
            changes.removed[key] = pod
        if current is not None and key not in changes.removed:
            changes.updated[key] = (pod, current)
    for key, pod in new.items():
        if key not in old or key in changes.removed:
            changes.added[key] = pod
    return changes
