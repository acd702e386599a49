"""Changes at each moment of a replay, stored compactly: exact figures are computed from them.

A pod that joins or leaves a node takes 16 bytes, a moment 24.
"""

from __future__ import annotations

from msgspec import Struct, field

from ksched_cli.cluster.objects.message_pack import Integers
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import PODS, PodResources
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.engine.replay.records import LAST_MOMENT, Count, Moment, PodRecord

# Owners beyond so many are counted together.
MAX_GROUPS = 1_000
OTHERS = "(others)"
_MAX_CACHED = 10_000


class Waits(Struct):
    """The time that the placed pods waited for a node, in microseconds, by what they have in
    common."""

    priority: dict[str, Integers] = field(default_factory=dict)
    namespace: dict[str, Integers] = field(default_factory=dict)
    owner: dict[str, Integers] = field(default_factory=dict)

    def check(self) -> None:
        """Check the data. Raises ValueError for times that no replay has."""
        groups = (self.priority, self.namespace, self.owner)
        if not all(are_moments(times) for group in groups for times in group.values()):
            raise ValueError("the times that pods waited")

    def add(self, record: PodRecord, waited: int) -> None:
        """A pod waited so long, for its node or so far."""
        _append(self.priority, str(record.priority), waited)
        _append(self.namespace, record.namespace, waited)
        if record.owner != record.pod:
            _append(self.owner, record.owner, waited)


def _append(groups: dict[str, Integers], name: str, waited: int) -> None:
    times = groups.get(name)
    if times is None:
        if len(groups) >= MAX_GROUPS:
            name = OTHERS
        times = groups.setdefault(name, Integers())
    times.append(waited)


def are_moments(times: Integers) -> bool:
    """Whether each may be a Moment: a time, or the length of one."""
    return min(times, default=0) >= 0 and max(times, default=0) <= LAST_MOMENT


class NodeChange(Struct, frozen=True, array_like=True):
    """A change of a node's resources from a time on; None: the node is gone. node: index of its
    name"""

    at: Moment
    node: Count
    allocatable: dict[str, Count] | None


class UsageHistory(Struct):
    """Moments at which something changed, and the pods that came and left up to each of them.

    times:    of the moments, ascending
    pending:  at each of them, the pods without a node that are not gated
    upto:     at each of them, how many pods had come to nodes or left them
    nodes:    of each of these the node, an index into `names`
    requests: of each of these what it requests, an index into `amounts`; ~index where it left
    amounts:  by resource; every pod requests one of `pods`
    """

    times: Integers = field(default_factory=Integers)
    pending: Integers = field(default_factory=Integers)
    upto: Integers = field(default_factory=Integers)
    nodes: Integers = field(default_factory=Integers)
    requests: Integers = field(default_factory=Integers)
    names: list[str] = field(default_factory=list)
    amounts: list[dict[str, Count]] = field(default_factory=list)
    node_changes: list[NodeChange] = field(default_factory=list)

    def check(self) -> None:
        """Check the data. Raises ValueError where parts of it contradict each other."""
        pods, moments = len(self.nodes), len(self.times)
        is_whole = len(self.requests) == pods and len(self.pending) == len(self.upto) == moments
        ascending = (list(values) == sorted(values) for values in (self.times, self.upto))
        places = {*self.nodes, *(change.node for change in self.node_changes)}
        requests = {index if index >= 0 else ~index for index in self.requests}
        # In hours of pods that wait, the largest product is the last moment with all of them.
        longest = max(self.times, default=0) * max(self.pending, default=0)
        if not (
            is_whole
            and all(ascending)
            and are_moments(self.times)
            and min(self.pending, default=0) >= 0
            and longest < 2**63
            and places <= set(range(len(self.names)))
            and requests <= set(range(len(self.amounts)))
            and set(self.upto) <= set(range(pods + 1))
        ):
            raise ValueError("the history of the pods on nodes")


class UsageRecorder:
    """Follows the pods and nodes of a replay, and writes its history. It watches the snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.history = UsageHistory()
        self._ids: dict[str, int] = {}
        self._allocatable: dict[int, dict[str, int]] = {}  # by index of the node
        self._by_amounts: dict[tuple[tuple[str, int], ...], int] = {}
        # By id; the resources are there so that no others get the id.
        self._cached: dict[int, tuple[int, PodResources]] = {}
        self._snapshot = Snapshot(())
        self._follow(0, snapshot)

    def resume(self, history: UsageHistory, snapshot: Snapshot) -> None:
        """Resumes a history that ends with what the snapshot has. Raises ValueError where its
        parts contradict each other."""
        history.check()
        self.history = history
        self._ids = {name: index for index, name in enumerate(history.names)}
        self._by_amounts = {_key(each): index for index, each in enumerate(history.amounts)}
        self._cached = {}
        self._watch(snapshot)

    def note(self, at: int, snapshot: Snapshot, pending: int) -> None:
        """All that happens at a time has happened. pending: pods without a node, not gated"""
        history = self.history
        if snapshot is not self._snapshot:
            self._follow(at, snapshot)
        times, changed = history.times, len(history.nodes)
        if times:
            if times[-1] == at:
                history.pending[-1], history.upto[-1] = pending, changed
                return
            node_change = history.node_changes[-1].at == at if history.node_changes else False
            if pending == history.pending[-1] and changed == history.upto[-1] and not node_change:
                return
        times.append(at)
        history.pending.append(pending)
        history.upto.append(changed)

    # -- pods ---------------------------------------------------------------------------------

    def pod_added(self, pod: PodInfo, row: int) -> None:
        """Record a pod that is added to a node, as a watcher of the snapshot."""
        self.history.nodes.append(self._nodes[row])
        self.history.requests.append(self._index(pod.resources))

    def pod_removed(self, pod: PodInfo, row: int) -> None:
        self.history.nodes.append(self._nodes[row])
        self.history.requests.append(~self._index(pod.resources))

    def _index(self, resources: PodResources) -> int:
        """Return the index of the pod's requests in `amounts`."""
        cached = self._cached.get(id(resources))
        if cached is not None:
            return cached[0]
        amounts = {**resources.requests, PODS: 1}
        index = self._by_amounts.setdefault(_key(amounts), len(self._by_amounts))
        if index == len(self.history.amounts):
            self.history.amounts.append(amounts)
        if len(self._cached) >= _MAX_CACHED:
            self._cached.clear()
        self._cached[id(resources)] = index, resources
        return index

    # -- nodes --------------------------------------------------------------------------------

    def _follow(self, at: int, snapshot: Snapshot) -> None:
        """Record the differences after the cluster was rebuilt from other nodes or objects."""
        before = self._snapshot
        self._note_nodes(at, before, snapshot)
        old, new = self._stays(before), self._stays(snapshot)
        history = self.history
        for stays, others, is_gone in ((old, new, True), (new, old, False)):
            for uid, (node, index) in stays.items():
                if others.get(uid) != (node, index):
                    history.nodes.append(node)
                    history.requests.append(~index if is_gone else index)
        self._watch(snapshot)

    def _watch(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
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
            pod.uid: (self._ids[name], self._index(pod.resources))
            for name, pods in zip(snapshot.names, snapshot.pods, strict=True)
            for pod in pods
        }


def _key(amounts: dict[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(amounts.items()))
