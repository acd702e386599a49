"""The records of a replay, as data: its pods, those that exist and counts of those that left; its
nodes; and the changes at each moment, stored compactly, from which exact figures are computed.

Times are microseconds since the start. A pod that joins or leaves a node takes 16 bytes, a moment
24.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter
from time import gmtime, strftime

from msgspec import Struct, field

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import PODS
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.pod_groups import group_key
from ksched_cli.kube.time import SECOND
from ksched_cli.scenario.pod_work import STAYS, PodWork


class ReplayClock(Struct):
    """now: microseconds since the start; start: seconds since 1970."""

    start: int = 0
    now: int = 0

    @property
    def seconds(self) -> float:
        """Since 1970."""
        return self.start + self.now / SECOND

    @property
    def text(self) -> str:
        """RFC 3339, in whole seconds."""
        return _time_text(self.start + self.now // SECOND)


@lru_cache(maxsize=16)
def _time_text(at: int) -> str:
    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(at))


class PodOutcome(StrEnum):
    """The state of a pod at the end of a replay, or when it was dropped."""

    RUNNING = "running"
    ENDED = "ended"
    EVICTED = "evicted"
    DELETED = "deleted"
    PENDING = "pending"
    GATED = "gated"


# Every pod gets these. Python 3.11 takes 0.1 µs to find a member of an Enum.
RUNNING, ENDED = PodOutcome.RUNNING, PodOutcome.ENDED


class LoggedChange(Struct, frozen=True):
    """A change of the timeline: its time and its text."""

    at: int
    text: str


class Recreation(StrEnum):
    """The future of a pod that preemption evicts: whether it is recreated, and runs from the
    beginning or for the rest."""

    GONE = "gone"
    RESTARTS = "restarts"
    RESUMES = "resumes"


class PodRecord(Struct):
    """A pod's times; None where a step was not reached.

    owner:    the controller as namespace/Kind/name, else the pod itself
    was_bound: it was on its node when the replay began, or came with one
    attempts: how often it was tried
    message:  of the last attempt without a node
    work:     what it does on its node
    run_time: how long all of its work takes on its node; None: it stays
    run_began: when its run began
    first_queued: of a pod that was evicted and came again: when it came first
    job:      its pod group or controller, else the pod itself, as namespace/Kind/name; by a label
              namespace/value
    use:      what it uses of its node, by resource; see Snapshot.use_of
    """

    pod: str
    namespace: str
    priority: int
    owner: str
    queued: int
    job: str
    use: Mapping[str, float]
    first_tried: int | None = None
    placed: int | None = None
    node: str = ""
    evicted: int | None = None
    ended: int | None = None
    attempts: int = 0
    message: str = ""
    outcome: PodOutcome = PodOutcome.PENDING
    was_bound: bool = False
    work: PodWork = STAYS
    run_time: int | None = None
    run_began: int = 0
    first_queued: int | None = None

    def ran_until(self, at: int) -> int:
        """Return how long it has been on its node; 0 where it has none."""
        begin = self.queued if self.was_bound else self.placed
        return 0 if begin is None else at - begin

    @property
    def work_again(self) -> PodWork:
        """Return the work of a pod that is made anew in its place."""
        has_run = self.was_bound or self.placed is not None
        return self.work.restarted() if has_run else self.work

    @property
    def arrived(self) -> int:
        """Return the time of its first arrival."""
        return self.queued if self.first_queued is None else self.first_queued


class JobRecord(Struct):
    """The pods of a job. Times are microseconds; None where a step was not reached.

    arrived:  when the first of them came
    present:  how many are there
    started:  when the last of them got its first node
    ended:    when the last of them ended that has ended
    runs_for: how long the longest of them runs on the node that suits it best
    restarts: how often a pod that was evicted got a node again
    lost:     how long pods ran in vain: runs that were cut off before pods began anew or were gone,
              and the overhead of restarts
    """

    arrived: int
    user: str = ""
    present: int = 0
    started: int | None = None
    ended: int | None = None
    runs_for: int = 0
    restarts: int = 0
    lost: int = 0

    @property
    def is_complete(self) -> bool:
        """Return whether its pods were placed and ended, and none is left."""
        return not self.present and self.started is not None and self.ended is not None


class ReplayAttempt(Struct, frozen=True):
    """One attempt, as kube-scheduler would log it.

    result: scheduled, unschedulable, error, or waiting (Permit)
    nominated_node, victims: where preemption makes room
    rejected_by: the plugins that decided that no node fits, sorted
    """

    at: int
    pod: str
    result: str
    node: str = ""
    nominated_node: str = ""
    victims: tuple[str, ...] = ()
    message: str = ""
    rejected_by: tuple[str, ...] = ()


class NodeCountSeries(Struct):
    """The node counts of a cluster or of a node group over time. Times are microseconds.

    steps: times, ascending, and how many nodes there were from then on
    node_time: the sum over nodes of the time that each was there, up to the last step
    """

    steps: list[tuple[int, int]] = field(default_factory=list)
    node_time: int = 0

    def note(self, at: int, count: int) -> None:
        """Note the number of nodes from now on."""
        if self.steps:
            before, previous = self.steps[-1]
            if count == previous:
                return
            self.node_time += previous * (at - before)
            if before == at:
                self.steps[-1] = (at, count)
                return
        self.steps.append((at, count))

    def node_time_until(self, at: int) -> int:
        """Return the node time up to a moment that is not before the last step."""
        if not self.steps:
            return 0
        before, count = self.steps[-1]
        return self.node_time + count * (at - before)

    @property
    def first(self) -> int:
        return self.steps[0][1] if self.steps else 0

    @property
    def most(self) -> int:
        return max((count for _, count in self.steps), default=0)

    @property
    def last(self) -> int:
        return self.steps[-1][1] if self.steps else 0


# Owners beyond so many are counted together.
MAX_GROUPS = 1_000
OTHERS = "(others)"
_MAX_CACHED = 10_000


def _integers() -> array[int]:
    """Many 64-bit integers, as compact as they can be."""
    return array("q")


class Waits(Struct):
    """The time that the placed pods waited for a node, in microseconds, by what they have in
    common."""

    priority: dict[str, array[int]] = field(default_factory=dict)
    namespace: dict[str, array[int]] = field(default_factory=dict)
    owner: dict[str, array[int]] = field(default_factory=dict)

    def add(self, record: PodRecord, waited: int) -> None:
        """A pod waited so long, for its node or so far."""
        _append(self.priority, str(record.priority), waited)
        _append(self.namespace, record.namespace, waited)
        if record.owner != record.pod:
            _append(self.owner, record.owner, waited)


def _append(groups: dict[str, array[int]], name: str, waited: int) -> None:
    times = groups.get(name)
    if times is None:
        if len(groups) >= MAX_GROUPS:
            name = OTHERS
        times = groups.setdefault(name, _integers())
    times.append(waited)


class NodeChange(Struct, frozen=True):
    """A change of a node's resources from a time on; None: the node is gone. node: index of its
    name"""

    at: int
    node: int
    allocatable: dict[str, int] | None


class UsageHistory(Struct):
    """Moments at which something changed, and the pods that came and left up to each of them.

    times:    of the moments, ascending
    pending:  at each of them, the pods without a node that are not gated
    upto:     at each of them, how many pods had come to nodes or left them
    nodes:    of each of these the node, an index into `names`
    requests: of each of these what it uses, an index into `amounts`; ~index where it left
    amounts:  by resource, see Snapshot.use_of; every pod uses one of `pods`
    """

    times: array[int] = field(default_factory=_integers)
    pending: array[int] = field(default_factory=_integers)
    upto: array[int] = field(default_factory=_integers)
    nodes: array[int] = field(default_factory=_integers)
    requests: array[int] = field(default_factory=_integers)
    names: list[str] = field(default_factory=list)
    amounts: list[dict[str, float]] = field(default_factory=list)
    node_changes: list[NodeChange] = field(default_factory=list)


class UsageRecorder:
    """Follows the pods and nodes of a replay, and writes its history. It watches the snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.history = UsageHistory()
        self._ids: dict[str, int] = {}
        self._allocatable: dict[int, dict[str, int]] = {}  # by index of the node
        self._by_amounts: dict[tuple[tuple[str, float], ...], int] = {}
        # By id; the amounts are there so that no others get the id.
        self._cached: dict[int, tuple[int, Mapping[str, float]]] = {}
        self.snapshot = Snapshot(())
        self._follow(0, snapshot)

    def note(self, at: int, snapshot: Snapshot, pending: int) -> None:
        """All that happens at a time has happened. pending: pods without a node, not gated"""
        history, is_changed = self.history, False
        if snapshot is not self.snapshot:
            before = len(history.node_changes)
            self._follow(at, snapshot)
            is_changed = len(history.node_changes) > before
        times, upto = history.times, len(history.nodes)
        if times and times[-1] == at:
            history.pending[-1], history.upto[-1] = pending, upto
        elif is_changed or not times or (history.pending[-1], history.upto[-1]) != (pending, upto):
            times.append(at)
            history.pending.append(pending)
            history.upto.append(upto)

    # -- pods ---------------------------------------------------------------------------------

    def pod_added(self, pod: PodInfo, row: int) -> None:
        """Record a pod that is added to a node, as a watcher of the snapshot."""
        self.history.nodes.append(self._nodes[row])
        self.history.requests.append(self._index(self.snapshot.use_of(pod)))

    def pod_removed(self, pod: PodInfo, row: int) -> None:
        """Record a pod that leaves its node; one that came last and at this very moment, as in a
        trial of its group, was never there."""
        history, node = self.history, self._nodes[row]
        index = self._index(self.snapshot.use_of(pod))
        is_new = len(history.nodes) > (history.upto[-1] if history.upto else 0)
        if is_new and (history.nodes[-1], history.requests[-1]) == (node, index):
            history.nodes.pop()
            history.requests.pop()
        else:
            history.nodes.append(node)
            history.requests.append(~index)

    def _index(self, use: Mapping[str, float]) -> int:
        """Return the index in `amounts` of what a pod uses."""
        cached = self._cached.get(id(use))
        if cached is not None:
            return cached[0]
        amounts = {**use, PODS: 1}
        index = self._by_amounts.setdefault(_key(amounts), len(self._by_amounts))
        if index == len(self.history.amounts):
            self.history.amounts.append(amounts)
        if len(self._cached) >= _MAX_CACHED:
            self._cached.clear()
        self._cached[id(use)] = index, use
        return index

    # -- nodes --------------------------------------------------------------------------------

    def _follow(self, at: int, snapshot: Snapshot) -> None:
        """Record the differences after the cluster was rebuilt from other nodes or objects."""
        before = self.snapshot
        self._note_nodes(at, before, snapshot)
        old, new = self._stays(before), self._stays(snapshot)
        history = self.history
        for stays, others, is_gone in ((old, new, True), (new, old, False)):
            for uid, (node, index) in stays.items():
                if others.get(uid) != (node, index):
                    history.nodes.append(node)
                    history.requests.append(~index if is_gone else index)
        self.snapshot = snapshot
        self._nodes = [self._ids[name] for name in snapshot.names]
        snapshot.subscribe(self)

    def _note_nodes(self, at: int, before: Snapshot, after: Snapshot) -> None:
        history = self.history
        columns = after.node_columns.allocatable
        for name in before.names:
            if name not in after.row:
                history.node_changes.append(NodeChange(at, self._ids[name], None))
        for name, row in after.row.items():
            previous = before.row.get(name)
            if previous is not None and before.nodes[previous] is after.nodes[row]:
                continue
            index = self._ids.setdefault(name, len(self._ids))
            if index == len(history.names):
                history.names.append(name)
            allocatable = {each: amount for each in columns if (amount := int(columns[each][row]))}
            if previous is None or allocatable != self._allocatable.get(index):
                history.node_changes.append(NodeChange(at, index, allocatable))
                self._allocatable[index] = allocatable

    def _stays(self, snapshot: Snapshot) -> dict[str, tuple[int, int]]:
        """Return, by a pod's UID, the index of its node, and that of its requests."""
        return {
            pod.uid: (self._ids[name], self._index(snapshot.use_of(pod)))
            for name, pods in zip(snapshot.names, snapshot.pods, strict=True)
            for pod in pods
        }


def _key(amounts: dict[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(amounts.items()))


class Counts(Struct):
    """events: of the timeline. The others are of pods; attempts of all of them; absent: those that
    were to be deleted and had gone before; tied: those placed where several nodes were equally
    good."""

    events: int = 0
    attempts: int = 0
    placed: int = 0
    ended: int = 0
    evicted: int = 0
    deleted: int = 0
    ignored: int = 0
    absent: int = 0
    tied: int = 0


class PodLog(Struct):
    """Writes the records of pods.

    live: by key, of existing pods that had to do with the replay.
    waits: of the pods that were placed
    completions: of pods that were placed and ended, microseconds from their creation to their end
    jobs: by name, of the pods of all records
    evictions: their times, ascending
    changes: of the timeline, in order
    attempts: all of them where they are traced, else none
    departed: of the pods that are gone, in the order in which they left; None where these are not
              kept
    traces: lists attempts
    job_label:  the label whose values are jobs; pods without it are in jobs by group or controller
    user_label: the label whose values are users; "" takes namespaces
    used: by user and resource, the amounts that pods that have left used, times microseconds
    use_of: what a pod uses of its node, see Snapshot.use_of
    endless: by label, how many pods had no run time for the value of their node, the first of them,
             and its node
    """

    live: dict[str, PodRecord] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    waits: Waits = field(default_factory=Waits)
    completions: array[int] = field(default_factory=_integers)
    jobs: dict[str, JobRecord] = field(default_factory=dict)
    evictions: array[int] = field(default_factory=_integers)
    changes: list[LoggedChange] = field(default_factory=list)
    attempts: list[ReplayAttempt] = field(default_factory=list)
    departed: list[PodRecord] | None = None
    traces: bool = False
    job_label: str = ""
    user_label: str = ""
    used: dict[str, dict[str, float]] = field(default_factory=dict)
    use_of: Callable[[PodInfo], Mapping[str, float]] = attrgetter("resources.requests")
    endless: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    _evicted: set[str] = field(default_factory=set)

    @property
    def records(self) -> list[PodRecord]:
        """Return all records that are kept. If pods share a name, the last one counts."""
        return [*(self.departed or ()), *self.live.values()]

    def arrive(self, pod: PodInfo, at: int, work: PodWork = STAYS) -> PodRecord:
        """A pod is there from now on."""
        owner = name = owner_of(pod)
        group = group_key(pod.pod)
        if group is not None and group[1]:
            name = f"{group[0]}/PodGroup/{group[1]}"
        labels = pod.pod.metadata.labels
        if self.job_label and (value := labels.get(self.job_label)):
            name = f"{pod.namespace}/{value}"
        use = self.use_of(pod)
        record = PodRecord(pod.key, pod.namespace, pod.priority, owner, at, name, use, work=work)
        job = self.jobs.get(name)
        if job is None:
            user = labels.get(self.user_label, "") if self.user_label else pod.namespace
            if user not in self.used and len(self.used) >= MAX_GROUPS:
                user = OTHERS
            self.used.setdefault(user, {})
            job = self.jobs[name] = JobRecord(at, user)
        job.present += 1
        job.runs_for = max(job.runs_for, work.shortest or 0)
        if pod.pod.node_name:
            record.was_bound, record.node = True, pod.pod.node_name
            record.outcome = RUNNING
        self.live[pod.key] = record
        return record

    def record_of(self, pod: PodInfo) -> PodRecord:
        """Return the pod's record; a new one for a pod that ran from the beginning and has none
        yet."""
        return self.live.get(pod.key) or self.arrive(pod, 0)

    def try_pod(self, pod: PodInfo, at: int) -> PodRecord:
        """Begin an attempt."""
        record = self.live[pod.key]
        record.attempts += 1
        self.counts.attempts += 1
        if record.first_tried is None:
            record.first_tried = at
        return record

    def note_rejections(self, key: str, count: int, message: str) -> None:
        """A pod was tried so often, and fits nowhere; `counts` has these attempts."""
        record = self.live[key]
        record.attempts += count
        record.message = message

    def place(self, record: PodRecord, node: str, at: int) -> None:
        record.placed, record.node, record.message = at, node, ""
        record.outcome = RUNNING
        self.counts.placed += 1
        self.waits.add(record, at - record.queued)
        if record.first_queued is None:
            self.jobs[record.job].started = at
        if record.pod in self._evicted:
            self._evicted.discard(record.pod)
            self.jobs[record.job].restarts += 1

    def note_endless(self, record: PodRecord, label: str) -> None:
        """The pod has no run time for the value of this label on its node."""
        count, pod, node = self.endless.get(label, (0, record.pod, record.node))
        self.endless[label] = (count + 1, pod, node)

    def evict(self, record: PodRecord, at: int) -> None:
        """The pod has to leave its node."""
        record.evicted = at
        self.counts.evicted += 1
        self.evictions.append(at)

    def leave(self, record: PodRecord, outcome: PodOutcome, at: int) -> None:
        """Drop the record of a pod that is gone."""
        record.ended, record.outcome = at, outcome
        job = self.jobs[record.job]
        job.present -= 1
        ran = record.ran_until(at)
        add_use(self.used[job.user], record.use, ran)
        if outcome is PodOutcome.EVICTED:
            job.lost += ran
            self._evicted.add(record.pod)
        if outcome is ENDED:
            self.counts.ended += 1
            job.ended = at
            job.lost += min(ran, record.work.overhead)
            if record.placed is not None:
                self.completions.append(at - record.arrived)
        elif outcome is PodOutcome.DELETED:
            self.counts.deleted += 1
        del self.live[record.pod]
        if self.departed is not None:
            self.departed.append(record)


def add_use(used: dict[str, float], use: Mapping[str, float], time: int) -> None:
    """Add what a pod uses, times how long it was on its node."""
    if time:
        for resource, amount in use.items():
            used[resource] = used.get(resource, 0) + amount * time


def owner_of(pod: PodInfo) -> str:
    """Return the controller as namespace/Kind/name, else the pod itself."""
    owner = pod.pod.metadata.controller
    return f"{pod.namespace}/{owner.kind}/{owner.name}" if owner is not None else pod.key
