"""What bears on a pending pod besides what is in its way: pods that are about to leave, resizes
that a kubelet has put off, nominations, and the message that the cluster's own scheduler left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import replace
from functools import cached_property

from msgspec import Struct, field

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError
from ksched_cli.kube.json_tree import value_at
from ksched_cli.kube.plain_json import plain_json, typed_json
from ksched_cli.kube.quantity import amount_texts
from ksched_cli.kube.time import unix_seconds
from ksched_cli.plugins.helper import listed
from ksched_cli.scenario.pods import time_of

_MAX_ROWS = 1000  # whose pods are looked at
_MAX_HEARTBEATS = 20  # of nodes
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def circumstances(
    pod: PodInfo,
    snapshot: Snapshot,
    state: ClusterState,
    rows: Rows,
    in_cause: Container[str] = (),
) -> Iterator[str]:
    """Yield sentences about what happens on the nodes that a pod might get. rows: these nodes;
    in_cause: uids of nominated pods that the cause names"""
    unsettled = snapshot.index(_UnsettledPods).count
    looked_at = [row for row in rows[:_MAX_ROWS].tolist() if unsettled[row]]
    there = [(other, row) for row in looked_at for other in snapshot.pods[row]]
    # 1. Pods that are being deleted count until they are gone.
    leaving = [
        f"{other.key} on {snapshot.names[row]}" for other, row in there if other.pod.deleting
    ]
    if leaving:
        verbs = ("is", "counts") if len(leaving) == 1 else ("are", "count")
        yield f"{listed(leaving)} {verbs[0]} being deleted and still {verbs[1]} there"
    # 2. A resize counts from when it is asked for.
    for other, row in there:
        resize = _pending_resize(other)
        if resize:
            yield f"{other.key} on {snapshot.names[row]} counts with its resize, which is {resize}"
    # 3. Nominations: the pod's own, and those of pods that come before it.
    nominated = pod.pod.status.nominated_node_name
    if nominated:
        gone = "" if nominated in snapshot.row else ", which is not in the state"
        yield f"it is nominated for {nominated}{gone}"
    names = {snapshot.names[row] for row in rows[:_MAX_ROWS].tolist()}
    before = [
        f"{other.namespace}/{other.name} for {other.status.nominated_node_name}"
        for other in state.pods
        if not other.node_name
        and other.uid != pod.uid
        and other.uid not in in_cause
        and other.status.nominated_node_name in names
        and (other.spec.priority or 0) >= pod.priority
    ]
    if before:
        verbs = ("is", "counts") if len(before) == 1 else ("are", "count")
        yield f"{listed(before)} {verbs[0]} nominated and {verbs[1]} there"


class _UnsettledPods:
    """Counts, by row, the pods that are being deleted or wait for a resize. One per snapshot:
    `snapshot.index(_UnsettledPods)`."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.count = Counter[int]()
        for row, pods in enumerate(snapshot.pods):
            for pod in pods:
                self.pod_added(pod, row)
        snapshot.subscribe(self)

    def pod_added(self, pod: PodInfo, row: int) -> None:
        if pod.pod.deleting or _pending_resize(pod):
            self.count[row] += 1

    def pod_removed(self, pod: PodInfo, row: int) -> None:
        if pod.pod.deleting or _pending_resize(pod):
            self.count[row] -= 1


def _pending_resize(pod: PodInfo) -> str:
    """Return the state of a resize that the kubelet has put off, and how much more the pod counts
    with than it has, or ""."""
    conditions = pod.pod.status.conditions
    pending = next((each for each in conditions if each.type == "PodResizePending"), None)
    if pending is None or pending.reason != "Deferred":
        return ""
    texts = []
    for resource in ("cpu", "memory"):
        counted = pod.resources.requests.get(resource, 0)
        allocated = sum(
            (amount.milli_value() if resource == "cpu" else amount.value())
            for status in pod.pod.status.container_statuses
            for name, amount in status.allocated_resources.items()
            if name == resource
        )
        if allocated and allocated < counted:
            now, then = amount_texts(resource, (allocated, counted))
            texts.append(f"{resource} {then} instead of {now}")
    return f"deferred ({', '.join(texts)})" if texts else "deferred"


def not_started(pod: Pod) -> str:
    """Return a sentence about a pod that has a node and has not started there, with what its
    containers wait for; "" about others, also where the state has no phase."""
    status = pod.status
    is_bound = status.start_time or any(
        each.type == "PodScheduled" and each.status == "True" for each in status.conditions
    )
    if not (pod.node_name and status.phase == "Pending" and is_bound):
        return ""
    try:
        plain = plain_json(bytes(pod.raw) or b"{}").get("status", {})
    except InputError:  # of fields that nothing reads
        plain = {}
    kinds = ("initContainerStatuses", "containerStatuses")
    containers = [each for kind in kinds for each in plain.get(kind) or ()]
    reasons = (str(value_at(each, ("state", "waiting", "reason")) or "") for each in containers)
    # Until the containers before it have ended, one waits as PodInitializing.
    waits = dict.fromkeys(each for each in reasons if each not in ("", "PodInitializing"))
    why = f" ({', '.join(waits)})" if waits else ""
    look = f"kubectl describe pod {pod.name} -n {pod.namespace}"
    return f"it has not started on {pod.node_name}{why}; {look} says why"


class _Condition(Struct):
    type: str | None = ""
    last_transition_time: str | None = field(name="lastTransitionTime", default="")


class _Status(Struct):
    conditions: tuple[_Condition, ...] | None = ()


class _Stamped(Struct):
    status: _Status = field(default_factory=_Status)


class RecordedMessages:
    """The messages that the cluster's own scheduler left on the pods of a state."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    def differing(self, pod: Pod, message: str = "") -> str:
        """Return a pod's, in a sentence, where it is not the answer's; else ""."""
        conditions = pod.status.conditions
        scheduled = next((each for each in conditions if each.type == "PodScheduled"), None)
        if scheduled is None or scheduled.status != "False" or scheduled.reason != "Unschedulable":
            return ""
        if scheduled.message in ("", message):
            return ""
        return f"the scheduler's message{self._age(pod)}: {scheduled.message}"

    @cached_property
    def _read_at(self) -> str:
        return read_at(self._state)

    def _age(self, pod: Pod) -> str:
        """Return how long before that the condition was set, or "" if that is unknown."""
        raw = bytes(pod.raw)
        if not raw:
            return ""
        try:
            conditions = typed_json(raw, _Stamped).status.conditions or ()
        except InputError:  # of a status that no scheduler wrote
            return ""
        since = next((each for each in conditions if each.type == "PodScheduled"), _Condition())
        moment = "less than a minute"
        age = age_text(since.last_transition_time or "", self._read_at, moment)
        return f" of {age} ago" if age else ""


def read_at(state: ClusterState) -> str:
    """Return when the state was read, as far as some of its nodes and its pods show; "" where that
    is unknown."""
    return state.taken or time_of(replace(state, nodes=state.nodes[:_MAX_HEARTBEATS]))


def age_text(since: str, now: str, moment: str = "") -> str:
    """Return how long ago a time is, as "3 d"; "" where one of the two is unknown. moment: for less
    than a minute"""
    try:
        seconds = unix_seconds(now) - unix_seconds(since)
    except ValueError:
        return ""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return moment if seconds >= 0 else ""
