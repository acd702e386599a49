"""The decisions of a real scheduler while its cluster was recorded.

A recording has the bindings in their order, and between them everything else that happened, so that
nothing about the cluster is guessed. A decision is a little older than its binding, and so than
some of what was written in between.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

from msgspec import structs

from ksched_cli.analysis.audit.decisions import (
    Decision,
    DecisionLog,
    LastRefusal,
    LogEvent,
    LogLine,
    ObjectChange,
    OrderSource,
    PodEvent,
    PreemptionDecision,
    RecordedPlacement,
    Unexplained,
    in_order_of_attempts,
    in_order_of_notices,
)
from ksched_cli.cluster.loading.kinds import KINDS, ObjectKind
from ksched_cli.cluster.loading.state_warnings import replayed_anew
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState, Key
from ksched_cli.engine.queue import why_ignored
from ksched_cli.kube.time import SECOND
from ksched_cli.plugins.volumes import claim_uses
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
# Upstream: the message of Preempt, from 1.37 on.
_VICTIMS = re.compile(r"preempting (\d+) victims")
RELISTED = (
    "the recorder was without a connection, and the API server had forgotten what happened"
    " meanwhile"
)


def read_recording(
    state: ClusterState,
    events: Iterable[TimelineEvent],
    start: int,
    names: Container[str],
    log: Sequence[LogLine] = (),
) -> DecisionLog:
    """Return the decisions of a recording. state: to begin with. start: of the timeline, in seconds
    since 1970. names: of the profiles that are judged. log: the scheduler's, which has the order of
    the decisions"""
    events = list(events)
    out_of_place = replayed_anew(state)
    warnings = tuple(line for line in state.warnings if line not in out_of_place)
    state = replace(state, warnings=warnings)
    signs = _Signs(state)
    for index, event in enumerate(events):
        signs.read(index, event.action)
    reader = _Reader(state, names, signs)
    for index, event in enumerate(events):
        time = start + event.at / SECOND
        for binding in signs.bindings.get(index, ()):
            reader.place(binding, time)
        reader.read(event.action, time, index)
    decision_log = reader.decision_log()
    if not log:
        return decision_log
    decisions = in_order_of_attempts(decision_log.decisions, log)
    state = in_order_of_notices(state, log)
    return replace(decision_log, state=state, decisions=tuple(decisions))


class _Signs:
    """A first look at a recording.

    preemptors: key and UID of a victim → the UIDs of pods that it is evicted for, each with the
                victim's node, the first of them first
    victims: keys of pods that were evicted, for whom is not recorded
    evicted: node → keys and UIDs of the pods that are evicted there
    preempting: UIDs of pods for which others are evicted
    bound: keys and UIDs of pods of which a binding is recorded
    leaving, gone: key and UID of a pod → index of the event with which it began to leave, and left
    refusals: indexes of nominations with the message of an attempt that found no node. One of an
              attempt before stays while a binding is under way
    bindings: index of the first event that follows from a decision → the bindings decided on. While
    volumes and devices are bound, the pod's status (from 1.35 on) and its claims tell of it
    """

    def __init__(self, state: ClusterState) -> None:
        self.preemptors: dict[tuple[str, str], dict[str, str]] = {}
        self.evicted: dict[str, set[tuple[str, str]]] = {}
        self.preempting: set[str] = set()
        self.bound: set[tuple[str, str]] = set()
        self.victims: set[str] = set()
        self.leaving: dict[tuple[str, str], int] = {}
        self.gone: dict[tuple[str, str], int] = {}
        self.refusals: set[int] = set()
        self.bindings: dict[int, list[RecordedDecision]] = {}
        self._state = state
        self._users: dict[tuple[str, str, str | None], set[str]] = {}
        # Pod → the first sign since its last attempt without a node, the node that its status has,
        # and whether an attempt that found none may have nominated it.
        self._first: dict[str, tuple[int, str, bool]] = {}
        # Pod → the message of its last attempt without a node.
        self._messages = {
            pod.key: each.message
            for pod in state.pods
            for each in pod.status.conditions
            if each.type == "PodScheduled"
        }
        # Pod → what became of it, each with the index of its event.
        self._statuses: dict[str, list[tuple[int, RecordedDecision]]] = {}
        self._uids = {pod.key: pod.uid for pod in state.pods}
        for pod in state.pods:
            self._note_claims(pod)

    def read(self, index: int, action: object) -> None:
        if isinstance(action, Arrival):
            self._first.pop(action.pod.key, None)
            self._messages.pop(action.pod.key, None)
            self._uids[action.pod.key] = action.pod.uid
            self._note_claims(action.pod)
        elif isinstance(action, Replacement) and action.kind is _POD:
            for pod in load_objects(self._state, [action.manifest], _SOURCE).pods:
                self._note_claims(pod)
        elif (
            isinstance(action, Replacement)
            and action.decided
            and isinstance(action.kind, ObjectKind)
        ):
            metadata = action.manifest["metadata"]
            key = (action.kind.name, metadata.get("namespace", ""), metadata["name"])
            for user in self._users.get(key, ()):
                self._first.setdefault(user, (index, "", False))
        elif isinstance(action, Removal) and action.kind is _POD:
            name = f"{action.namespace}/{action.name}"
            leaving = (name, self._uids.get(name, ""))
            self.leaving.setdefault(leaving, index)
            if not action.grace:
                self.gone[leaving] = index
            if action.preempted:
                self.victims.add(name)
        elif isinstance(action, RecordedDecision):
            self._read_decision(index, action)

    def evictions(self, pod: str, node: str, index: int) -> tuple[str, float]:
        """Return the message of the pod's nomination to the node, which is recorded at this index
        or later, and the index at which its evictions there are over: the pod is not attempted
        again before. Upstream: preemption/executor.go and DefaultPreemption.PreEnqueue."""
        message, is_nominated = "", False
        for at, status in self._statuses.get(pod, ()):
            if at < index:
                continue
            if is_nominated and status.message == message and not status.node:
                continue  # the nomination was taken back, which is no attempt
            if is_nominated or status.nominated_node != node:
                return message, at
            message, is_nominated = status.message, True
        return message, math.inf

    def _read_decision(self, index: int, decision: RecordedDecision) -> None:
        if not decision.evicted_for:
            self._statuses.setdefault(decision.pod, []).append((index, decision))
        if decision.evicted_for:
            victim = (decision.pod, decision.uid)
            self.preemptors.setdefault(victim, {}).setdefault(decision.evicted_for, decision.node)
            self.evicted.setdefault(decision.node, set()).add(victim)
            self.preempting.add(decision.evicted_for)
            self.victims.discard(decision.pod)
        elif decision.node:
            self.bound.add((decision.pod, self._uids.get(decision.pod, "")))
            first, node, is_refused = self._first.pop(decision.pod, (index, "", False))
            # What a pod is nominated to by preemption comes before the decision.
            if node not in ("", decision.node) or is_refused:
                first = index
            self.bindings.setdefault(first, []).append(decision)
        elif decision.nominated_node:
            if decision.message not in ("", self._messages.get(decision.pod)):
                self.refusals.add(index)
            preempts = self.victims or decision.uid in self.preempting
            is_refused = index in self.refusals or bool(decision.message and preempts)
            self._first.setdefault(decision.pod, (index, decision.nominated_node, is_refused))
        else:
            self._first.pop(decision.pod, None)
        if not (decision.node or decision.evicted_for):
            self._messages[decision.pod] = decision.message

    def _note_claims(self, pod: Pod) -> None:
        names: list[tuple[str, str | None]] = [
            ("PersistentVolumeClaim", use.claim) for use in claim_uses(pod)
        ]
        names += [("ResourceClaim", each.resource_claim_name) for each in pod.spec.resource_claims]
        statuses = pod.status.resource_claim_statuses
        names += [("ResourceClaim", each.resource_claim_name) for each in statuses]
        for kind, name in names:
            self._users.setdefault((kind, pod.namespace, name), set()).add(pod.key)


class _Reader:
    """pods: as they are now, by key; arrived: when, by UID; nodes: that there are now; index: of
    the event that is read"""

    def __init__(self, state: ClusterState, names: Container[str], signs: _Signs) -> None:
        self.state, self.names, self.signs = state, names, signs
        self.index = 0
        self.pods = {pod.key: pod for pod in state.pods}
        self.arrived: dict[str, float] = {}
        self.nodes = {node.name for node in state.nodes}
        self.decisions: list[Decision] = []
        self.unexplained: list[Unexplained] = []
        self.chosen: dict[Key, str] = {}
        self.claims = dict(state.resource_claims)
        # What changed since the last decision, and when for the last time.
        self._changes: list[Replacement | Removal] = []
        self._changed = 0.0
        self._refusals: dict[str, tuple[float, str]] = {}
        # By UID: the node that room is being made on, and pods whose nomination was taken back.
        self._making_room: dict[str, str] = {}
        self._taken_back: set[str] = set()

    def read(self, action: object, time: float, index: int) -> None:
        self.index = index
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
            state=self.state,
            decisions=tuple(self.decisions),
            order=OrderSource.RECORDING,
            refused=tuple(refused),
            unexplained=tuple(self.unexplained),
            allocated=self.claims,
            chosen_volumes=self.chosen,
        )

    # -- pods -------------------------------------------------------------------------------------

    def _arrive(self, pod: Pod, time: float) -> None:
        self.pods[pod.key] = pod
        self.arrived[pod.uid] = time
        if pod.node_name and not pod.finished:
            self._flush()
            unplaced = structs.replace(pod, node_name="")
            self._place(RecordedPlacement(unplaced, pod.node_name, time, judged=False))

    def _update(self, action: Replacement, time: float) -> None:
        (new,) = load_objects(self.state, [action.manifest], _SOURCE).pods
        old = self.pods.get(new.key)
        if old is None:
            return
        metadata = structs.replace(new.metadata, uid=old.uid)
        pod = structs.replace(new, metadata=metadata, node_name=old.node_name)
        self.pods[new.key] = pod
        if old.spec.scheduling_gates and not pod.spec.scheduling_gates:
            self.arrived[pod.uid] = time
        if old.node_name:
            self._flush()
            self.decisions.append(PodEvent(pod, old.node_name, time, LogEvent.UPDATE))

    def _remove(self, key: str, time: float, *, leaves: bool) -> None:
        """Remove the pod. leaves: it is gone; else it begins to leave, for another one"""
        pod = self.pods.get(key)
        if pod is None:
            return
        preemptors = self.signs.preemptors.get((key, pod.uid), {})
        if preemptors and self.signs.leaving.get((key, pod.uid)) == self.index:
            self._make_room(*next(iter(preemptors.items())), time)
        if leaves:
            pod = self.pods.pop(key)
            self._flush()
            if pod.node_name:
                self.decisions.append(PodEvent(pod, pod.node_name, time, LogEvent.DEPARTURE))
            elif pod.uid in self._making_room or pod.status.nominated_node_name:
                self.decisions.append(PodEvent(pod, "", time, LogEvent.REMOVAL))

    # -- decisions --------------------------------------------------------------------------------

    def place(self, decision: RecordedDecision, time: float) -> None:
        """Place a binding at the time of its decision, as near as that is recorded."""
        pod = self.pods.get(decision.pod)
        if pod is None:
            return
        self._flush()
        self.pods[pod.key] = structs.replace(pod, node_name=decision.node)
        self._making_room.pop(pod.uid, None)
        judged = not why_ignored(pod, self.names)
        since, is_first = self._since(pod.uid)
        self._place(RecordedPlacement(pod, decision.node, time, judged, since, is_first))

    def _decide(self, decision: RecordedDecision, time: float) -> None:
        """Follow an attempt without a node. If nothing is evicted, a nomination tells of a binding
        that is under way."""
        pod = self.pods.get(decision.pod)
        if decision.evicted_for or decision.node or pod is None or pod.node_name:
            return
        if decision.nominated_node:
            node = decision.nominated_node
            on_node = (each.key for each in self.pods.values() if each.node_name == node)
            has_victims = any(key in self.signs.victims for key in on_node)
            is_refused = self.index in self.signs.refusals
            if pod.uid in self._taken_back:
                # Another attempt, be it on the same node.
                self._taken_back.discard(pod.uid)
                self._making_room.pop(pod.uid, None)
            if pod.uid in self.signs.preempting or has_victims or is_refused:
                self._make_room(pod.uid, node, time)
        else:
            if pod.uid in self._making_room or pod.status.nominated_node_name:
                self.decisions.append(PodEvent(pod, "", time, LogEvent.REMOVAL))
                # A more important pod takes the nomination back: this is no attempt.
                if decision.message == self._refusals.get(pod.uid, (0.0, ""))[1]:
                    self._taken_back.add(pod.uid)
                    return
            self._making_room.pop(pod.uid, None)
            refusal = PodEvent(pod, "", time, LogEvent.REFUSAL, decision.message)
            self.decisions.append(refusal)
        self._refusals[pod.uid] = time, decision.message

    def _place(self, placement: RecordedPlacement) -> None:
        if placement.node in self.nodes:
            self.decisions.append(placement)
        elif placement.judged:
            reason = f"{placement.node} is not among the nodes by then"
            self.unexplained.append(Unexplained(placement.pod.key, reason))

    def _since(self, uid: str) -> tuple[float, bool]:
        """Return since when the pod may have been decided on, and whether it came then."""
        if uid in self._refusals:
            return max(self.arrived.get(uid, 0.0), self._refusals[uid][0]), False
        return self.arrived.get(uid, 0.0), uid in self.arrived

    def _make_room(self, uid: str, node: str, time: float) -> None:
        """Note the first sign of an eviction, or of the nomination that it is for. Victims may
        leave when their preemptor has been bound already, to another node."""
        pod = next((pod for pod in self.pods.values() if pod.uid == uid), None)
        if pod is None or pod.node_name or why_ignored(pod, self.names):
            return
        if self._making_room.get(uid) == node:
            return
        self._making_room[uid] = node
        # Pods that are evicted there until the pod is attempted again, for it or for others. One of
        # them may have been decided on just before, and will never be bound.
        message, end = self.signs.evictions(pod.key, node, self.index)
        victims, shared = list[tuple[float, float, str]](), set[str]()
        for victim in self.signs.evicted.get(node, ()):
            (key, victim_uid), preemptors = victim, self.signs.preemptors[victim]
            leaves_at, here = self.signs.leaving.get(victim, self.index), self.pods.get(key)
            if leaves_at < end and preemptors.keys() - {uid}:
                shared.add(key)
            is_here = here is not None and here.uid == victim_uid
            if leaves_at < end and uid in preemptors and here is not None and is_here:
                victims.append((leaves_at, self.signs.gone.get(victim, math.inf), key))
                if not here.node_name and victim not in self.signs.bound:
                    self.place(RecordedDecision(here.namespace, here.name, node=node), time)
        victims.sort()
        left = list(accumulate((gone_at for _, gone_at, _ in victims), max))
        count, (since, is_first) = _VICTIMS.search(message), self._since(uid)
        self._flush()
        decision = PreemptionDecision(
            pod,
            node,
            tuple(key for _, _, key in victims),
            time,
            since=since,
            is_first=is_first,
            shared=frozenset(shared),
            victim_count=int(count[1]) if count is not None else 0,
            rounds=tuple(n for n in range(1, len(victims)) if left[n - 1] < victims[n][0]),
        )
        self.decisions.append(decision)

    # -- objects ----------------------------------------------------------------------------------

    def _change(self, action: Replacement | Removal, time: float) -> None:
        """Record a change. The next decisions see what followed from a decision only through the
        decision itself."""
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
            if claim.spec.volume_name:
                self.chosen[key] = claim.spec.volume_name

    def _flush(self) -> None:
        """Add the changes before the decision that is next."""
        if self._changes:
            self.decisions.append(ObjectChange(tuple(self._changes), self._changed))
            self._changes.clear()
