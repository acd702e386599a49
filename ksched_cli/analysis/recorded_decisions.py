"""What a real scheduler decided while its cluster was recorded.

A recording has the bindings in their order, and between them everything else that happened: nothing
of the cluster is left to guess. A decision is a little older than its binding, and so than some of
what was written in between.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace

from msgspec import structs

from ksched_cli.analysis.decision_log import DecisionLog, LastRefusal, Unexplained
from ksched_cli.analysis.decision_order import (
    Decision,
    Departure,
    FailedAttempt,
    ObjectChange,
    OrderSource,
    Placement,
    PodUpdate,
    PreemptionDecision,
)
from ksched_cli.analysis.double_allocations import double_allocations
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.objects import PersistentVolumeClaim, Pod, ResourceClaim
from ksched_cli.cluster.state import ClusterState, Key
from ksched_cli.engine.queue import why_ignored
from ksched_cli.kube.time import SECOND
from ksched_cli.scenario.objects import load_objects
from ksched_cli.scenario.timeline import (
    Arrival,
    Completion,
    Gap,
    RecordedDecision,
    Removal,
    Replacement,
    TimelineEvent,
)

_SOURCE = "the recording"
_POD, _NODE = KINDS["Pod"], KINDS["Node"]
RELISTED = (
    "the recorder was without a connection, and the API server had forgotten what happened"
    " meanwhile"
)


def read_recording(
    state: ClusterState, events: Iterable[TimelineEvent], start: int, names: Container[str]
) -> DecisionLog:
    """state: to begin with. start: of the timeline, in seconds since 1970. names: of the profiles
    that are judged"""
    reader = _Reader(state, names)
    events = list(events)
    for event in events:
        if isinstance(event.action, RecordedDecision) and event.action.evicted_for:
            reader.preemptors[event.action.pod, event.action.uid] = event.action.evicted_for
    for event in events:
        reader.read(event.action, start + event.at / SECOND)
    return reader.decision_log()


@dataclass(slots=True)
class _Reader:
    """pods: as they are now, by key. preemptors: key and UID of a victim → the UID of the pod that
    it is evicted for. nodes: that there are now"""

    state: ClusterState
    names: Container[str]
    preemptors: dict[tuple[str, str], str] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    nodes: set[str] = field(default_factory=set)
    decisions: list[Decision] = field(default_factory=list)
    unexplained: list[Unexplained] = field(default_factory=list)
    chosen: dict[Key, str] = field(default_factory=dict)
    claims: dict[Key, ResourceClaim] = field(default_factory=dict)
    # What changed since the last decision, and when for the last time.
    _changes: list[Replacement | Removal] = field(default_factory=list)
    _changed: float = 0.0
    _refusals: dict[str, tuple[float, str]] = field(default_factory=dict)
    # By UID: the node that room is being made on.
    _making_room: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pods = {pod.key: pod for pod in self.state.pods}
        self.nodes = {node.name for node in self.state.nodes}
        self.claims = dict(self.state.resource_claims)

    def read(self, action: object, time: float) -> None:
        if isinstance(action, Arrival):
            self._arrive(action.pod, time)
        elif isinstance(action, Replacement) and action.kind is _POD:
            self._update(action, time)
        elif isinstance(action, Removal) and action.kind is _POD:
            self._remove(f"{action.namespace}/{action.name}", time, leaves=not action.grace)
        elif isinstance(action, Completion):
            self._remove(action.pod, time, leaves=True)
        elif isinstance(action, RecordedDecision):
            self._decide(action, time)
        elif isinstance(action, Replacement | Removal):
            self._change(action, time)
        elif isinstance(action, Gap) and action.relisted:
            self.unexplained.append(Unexplained(action.kind, RELISTED))

    def decision_log(self) -> DecisionLog:
        self._flush()
        last = max((each.time for each in self.decisions), default=0.0)
        refused = []
        for pod in self.pods.values():
            refused_at, message = self._refusals.get(pod.uid, (0.0, ""))
            if message and not (pod.node_name or why_ignored(pod, self.names)):
                refused.append(LastRefusal(pod, message, refused_at >= last))
        return DecisionLog(
            self.state,
            (),
            tuple(self.decisions),
            OrderSource.RECORDING,
            tuple(refused),
            {},
            {},
            tuple(self.unexplained),
            double_allocations(replace(self.state, resource_claims=self.claims)),
            chosen_volumes=self.chosen,
        )

    # -- pods -------------------------------------------------------------------------------------

    def _arrive(self, pod: Pod, time: float) -> None:
        self.pods[pod.key] = pod
        if pod.node_name and not pod.finished:
            self._flush()
            unplaced = structs.replace(pod, node_name="")
            self._place(Placement(unplaced, pod.node_name, time, judged=False))

    def _update(self, action: Replacement, time: float) -> None:
        (new,) = load_objects(self.state, [action.manifest], _SOURCE).pods
        old = self.pods.get(new.key)
        if old is None:
            return
        metadata = structs.replace(new.metadata, uid=old.uid)
        pod = structs.replace(new, metadata=metadata, node_name=old.node_name)
        self.pods[new.key] = pod
        if old.node_name:
            self._flush()
            self.decisions.append(PodUpdate(pod, old.node_name, time))

    def _remove(self, key: str, time: float, *, leaves: bool) -> None:
        """leaves: it is gone; else it begins to leave, for another one"""
        pod = self.pods.get(key)
        if pod is None:
            return
        preemptor = self.preemptors.get((key, pod.uid))
        if preemptor is not None and pod.node_name:
            self._make_room(preemptor, pod.node_name, time)
        if leaves:
            del self.pods[key]
            if pod.node_name:
                self.decisions.append(Departure(pod, pod.node_name, time))

    # -- decisions --------------------------------------------------------------------------------

    def _decide(self, decision: RecordedDecision, time: float) -> None:
        pod = self.pods.get(decision.pod)
        if decision.evicted_for or pod is None or (decision.uid and decision.uid != pod.uid):
            return
        if decision.node:
            self._flush()
            self.pods[pod.key] = structs.replace(pod, node_name=decision.node)
            self._making_room.pop(pod.uid, None)
            judged = not why_ignored(pod, self.names)
            self._place(Placement(pod, decision.node, time, judged))
            return
        self._refusals[pod.uid] = time, decision.message
        if decision.nominated_node:
            self._make_room(pod.uid, decision.nominated_node, time)
        else:
            self._making_room.pop(pod.uid, None)
            self.decisions.append(FailedAttempt(pod, "", time, decision.message))

    def _place(self, placement: Placement) -> None:
        if placement.node in self.nodes:
            self.decisions.append(placement)
        elif placement.judged:
            reason = f"{placement.node} is not among the nodes by then"
            self.unexplained.append(Unexplained(placement.pod.key, reason))

    def _make_room(self, uid: str, node: str, time: float) -> None:
        """The first sign of an eviction, or of the nomination that it is for."""
        pod = next((pod for pod in self.pods.values() if pod.uid == uid), None)
        if self._making_room.get(uid) == node or pod is None or why_ignored(pod, self.names):
            return
        self._making_room[uid] = node
        victims = (
            key
            for (key, victim), preemptor in self.preemptors.items()
            if preemptor == uid
            and key in self.pods
            and self.pods[key].uid == victim
            and self.pods[key].node_name == node
        )
        self._flush()
        self.decisions.append(PreemptionDecision(pod, node, tuple(sorted(victims)), time))

    # -- objects ----------------------------------------------------------------------------------

    def _change(self, action: Replacement | Removal, time: float) -> None:
        """What followed from a decision is no part of the state that the next ones see otherwise
        than through the decision itself."""
        if isinstance(action, Replacement) and action.kind is _NODE:
            self.nodes.add(action.manifest["metadata"]["name"])
        elif isinstance(action, Removal) and action.kind is _NODE:
            self.nodes.discard(action.name)
        if not (isinstance(action, Replacement) and action.decided):
            self._changes.append(action)
            self._changed = time
            return
        changed = load_objects(self.state, [action.manifest], _SOURCE)
        self.claims.update(changed.resource_claims)
        for key, claim in changed.persistent_volume_claims.items():
            self._choose(key, claim)

    def _choose(self, key: Key, claim: PersistentVolumeClaim) -> None:
        if claim.spec.volume_name:
            self.chosen[key] = claim.spec.volume_name

    def _flush(self) -> None:
        """What changed comes before the decision that is next."""
        if self._changes:
            self.decisions.append(ObjectChange(tuple(self._changes), self._changed))
            self._changes.clear()
