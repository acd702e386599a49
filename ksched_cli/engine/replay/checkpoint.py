"""A replay between two instants, saved in a file, to resume later.

The file is MessagePack: a name and a number for its form, the replay's fingerprint, a digest, and
the replay as data of declared types. Reading it creates these and nothing else. The data is the
objects, each pod and each spec once; the places and counters of the queue, the clock, the records,
and what plugins remember; caches, columns and signatures follow from these and are rebuilt.

Each pod and each spec is loaded as one object. Pods of one spec count as alike, and an object as
unchanged, because they are the same in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice
from typing import Any

import msgspec
from msgspec import DecodeError, Raw, Struct, structs

from ksched_cli.cluster.custom_objects import Others
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.objects import KubeObject, ObjectMeta, Pod, PodSpec, PodStatus
from ksched_cli.cluster.objects.message_pack import pack, unpack
from ksched_cli.cluster.objects.pod import PENDING_AGAIN
from ksched_cli.cluster.pod_info import HostPort
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.replay.autoscaler.autoscaler import AutoscalerState
from ksched_cli.engine.replay.mutable_cluster import Memories
from ksched_cli.engine.replay.node_outages import OutageState
from ksched_cli.engine.replay.queued_pod import QueuedPodInfo, QueueHistory
from ksched_cli.engine.replay.records import (
    LAST_MOMENT,
    Count,
    Moment,
    NodeCounts,
    PodLog,
    PodRecord,
    PodRecords,
    UsageHistory,
)
from ksched_cli.engine.replay.replay import NodeBills, Replay
from ksched_cli.engine.replay.replay_scheduler import End
from ksched_cli.engine.scheduling_cycle import DrawState, RandomChoice
from ksched_cli.errors import InputError, UsageError
from ksched_cli.framework.pod_groups import GroupKey

# The kinds besides pods whose objects keep the JSON that they came as.
_WITH_JSON = tuple(
    kind.attribute
    for kind in KINDS.values()
    if kind.attribute != "pods" and "raw" in kind.type.__struct_fields__
)


class _SavedPod(Struct, frozen=True, array_like=True):
    """status: None for PENDING_AGAIN. raw: JSON"""

    metadata: ObjectMeta
    spec: Count
    status: PodStatus | None
    node_name: str
    raw: bytes


class SavedObjects(Struct, frozen=True, array_like=True):
    """state:  without pods; what keeps its JSON has it as MessagePack's bytes
    others: of the state, as JSON
    state_pods: those of the state; the other pods came later, or have changed
    """

    state: ClusterState
    others: dict[str, tuple[bytes, ...]]
    specs: tuple[PodSpec, ...]
    pods: tuple[_SavedPod, ...]
    state_pods: tuple[Count, ...]

    def restored(self) -> tuple[ClusterState, list[Pod]]:
        """The state, and all pods. Raises IndexError where an index leads nowhere, DecodeError."""
        specs = self.specs
        pods = [
            Pod(
                pod.metadata,
                specs[pod.spec],
                PENDING_AGAIN if pod.status is None else pod.status,
                pod.node_name,
                Raw(pod.raw),
            )
            for pod in self.pods
        ]
        state = replace(
            _with_json(self.state, lambda raw: Raw(unpack(raw, bytes))),
            pods=tuple(pods[index] for index in self.state_pods),
            others=Others({kind: [*map(Raw, listed)] for kind, listed in self.others.items()}),
        )
        return state, pods


@dataclass(slots=True)
class PodTable:
    """Numbers pods and specs in the order in which they are requested."""

    _specs: dict[PodSpec, int] = field(default_factory=dict)
    _places: dict[int, int] = field(default_factory=dict)
    _pods: list[_SavedPod] = field(default_factory=list)

    def places(self, pods: Iterable[Pod]) -> tuple[int, ...]:
        """The pods must stay in memory until `save`."""
        return tuple(map(self.place, pods))

    def place(self, pod: Pod) -> int:
        place = self._places.setdefault(id(pod), len(self._pods))
        if place == len(self._pods):
            spec = self._specs.setdefault(pod.spec, len(self._specs))
            status = None if pod.status is PENDING_AGAIN else pod.status
            saved = _SavedPod(pod.metadata, spec, status, pod.node_name, bytes(pod.raw))
            self._pods.append(saved)
        return place

    def save(self, state: ClusterState) -> SavedObjects:
        """Return all pods that have numbers, as saved objects."""
        own = self.places(state.pods)
        others = {
            kind: tuple(map(msgspec.json.encode, listed)) for kind, listed in state.others.items()
        }
        bare = replace(state, pods=(), others={})
        objects = _with_json(bare, lambda raw: Raw(pack(bytes(raw))))
        return SavedObjects(objects, others, tuple(self._specs), tuple(self._pods), own)


def _with_json(state: ClusterState, change: Callable[[Raw], Raw]) -> ClusterState:
    """Return the state with the objects' JSON changed."""

    def changed(obj: Any) -> KubeObject:
        other: KubeObject = structs.replace(obj, raw=change(obj.raw))
        return other

    changes: dict[str, Any] = {}
    for attribute in _WITH_JSON:
        objects: Mapping[Any, Any] | Sequence[Any] = getattr(state, attribute)
        if isinstance(objects, Mapping):
            changes[attribute] = {key: changed(obj) for key, obj in objects.items()}
        else:
            changes[attribute] = tuple(map(changed, objects))
    return replace(state, **changes)


_VERSION = 1
_NO_CHECKPOINT = "this is not a checkpoint"
_ANOTHER_FILE = "Name a checkpoint of this version of ksched, or a new file."
_HINT = "Remove the file to start again, or use the same options and files as before."


class _File(Struct, frozen=True, array_like=True, tag="ksched checkpoint"):
    """version: of the form. fingerprint: of what is replayed; a checkpoint of anything else is not
    resumed. digest: of the rest of the file"""

    version: int
    fingerprint: str
    digest: bytes
    checkpoint: Raw


class Checkpoint(Struct, frozen=True, kw_only=True):
    """objects:   with all pods
    running:   pods on nodes, in the order that they have there
    bound:     keys of the same, in the order in which they were bound
    strays:    pods of nodes that are not there
    queued:    pods without a node, in the order of the queue
    groups:    that are entities of the queue, by namespace and name
    incomplete: keys of the pods whose group has no object, in the order in which they come
    sequence:  of the queue
    nominated: node and UID, in the order of nominations
    ends:      UIDs with their ends, in order
    next_start: the node at which the next search begins
    failed, victims: see ReplayScheduler; uids: EventApplier.keys, as far as these pods are there
    ports:     host ports in use, by node
    draws:     of a random tie-break
    alarms:    of plugins; seconds since 1970
    records:   of the pods that have left, where they are kept
    warnings:  of the timeline's changes
    unscheduled, spared: see EventApplier
    """

    now: Moment
    changed: Moment
    length: Count
    held: tuple[str, ...]
    rung: Count
    objects: SavedObjects
    running: tuple[Count, ...]
    bound: tuple[str, ...]
    strays: tuple[Count, ...]
    queued: tuple[tuple[Count, QueueHistory], ...]
    groups: tuple[tuple[GroupKey, QueueHistory], ...]
    incomplete: tuple[str, ...]
    sequence: Count
    nominated: tuple[tuple[str, str], ...]
    ends: tuple[tuple[str, End], ...]
    next_start: Count
    log: PodRecords
    usage: UsageHistory
    nodes: NodeCounts
    bills: NodeBills | None
    autoscaler: AutoscalerState | None
    outages: OutageState
    memories: Memories
    failed: set[str]
    victims: set[str]
    uids: dict[str, str]
    ports: dict[str, set[HostPort]]
    draws: DrawState | None
    alarms: tuple[float, ...]
    records: list[PodRecord]
    warnings: list[str]
    unscheduled: tuple[Count, ...]
    spared: set[str]


def take_checkpoint(replay: Replay, fingerprint: str) -> bytes:
    """A replay between two instants, while no pod waits in Permit. Raises UsageError where it
    cannot be written, PluginDefectError where a plugin fails to tell what it remembers."""
    cluster, queue, table = replay.cluster, replay.queue, PodTable()
    nominator, tie_break = cluster.engine.nominator, cluster.options.tie_break
    queued = list(queue)
    checkpoint = Checkpoint(
        now=replay.clock.now,
        changed=replay.changed,
        length=replay.length,
        held=tuple(sorted(replay.held)),
        rung=replay.rung,
        running=table.places(pod.pod for pods in cluster.snapshot.pods for pod in pods),
        bound=tuple(cluster.bound),
        strays=table.places(cluster.strays.values()),
        queued=tuple((table.place(each.pod.pod), each.history) for each in queued),
        groups=tuple((group.key, group.history) for group in queue.entities.values()),
        incomplete=tuple(queue.incomplete),
        sequence=queue.sequence,
        nominated=tuple(
            (node, pod.uid) for node in nominator.nodes() for pod in nominator.on_node(node)
        ),
        ends=replay.ends.listed(),
        next_start=cluster.engine.pipeline.search.next_start,
        log=PodRecords(*(getattr(replay.log, name) for name in PodRecords.__struct_fields__)),
        usage=replay.usage.history,
        nodes=replay.nodes,
        outages=replay.applier.outages.state,
        bills=None if replay.biller is None else replay.biller.bills,
        autoscaler=None if replay.autoscaler is None else replay.autoscaler.state,
        memories=cluster.memories(),
        failed=replay.scheduler.failed,
        victims=replay.scheduler.victims,
        uids=replay.applier.uids(),
        ports=cluster.ports(),
        draws=tie_break.state if isinstance(tie_break, RandomChoice) else None,
        alarms=cluster.engine.waiting.clock.alarms,
        records=replay.log.departed or [],
        warnings=list(replay.applier.warnings),
        unscheduled=table.places(replay.applier.unscheduled.values()),
        spared=replay.applier.spared,
        objects=table.save(cluster.state),
    )
    try:
        if any(end.at > LAST_MOMENT for _, end in checkpoint.ends):
            raise OverflowError
        return write_file(fingerprint, pack(checkpoint))
    except OverflowError:
        raise UsageError("--checkpoint: a time or a sum of times is too large to save") from None


def write_file(fingerprint: str, checkpoint: bytes) -> bytes:
    """Write a checkpoint's file; a change of any byte can be detected. checkpoint: MessagePack"""
    return pack(_File(_VERSION, fingerprint, sha256(checkpoint).digest(), Raw(checkpoint)))


def read_checkpoint(data: bytes, name: str, fingerprint: str) -> Checkpoint:
    """Read a checkpoint. Raises InputError where the file is none, or belongs to another replay.
    name: of the file"""
    try:
        file = unpack(data, _File)
    except DecodeError:
        raise InputError(name, _NO_CHECKPOINT, hint=_ANOTHER_FILE) from None
    if file.version != _VERSION:
        problem = "this is a checkpoint of another version of ksched"
        raise InputError(name, problem, hint=_ANOTHER_FILE)
    if file.fingerprint != fingerprint:
        problem = "this is a checkpoint of another timeline, state, configuration or options"
        raise InputError(name, problem, hint=_HINT)
    try:
        if sha256(file.checkpoint).digest() != file.digest:
            raise DecodeError("it was edited after ksched wrote it")
        return unpack(file.checkpoint, Checkpoint)
    except DecodeError as error:
        raise InputError(name, f"{_NO_CHECKPOINT}: {error}", hint=_ANOTHER_FILE) from None


def resume(replay: Replay, checkpoint: Checkpoint, name: str) -> None:
    """Turn a replay that has not begun into the one in the checkpoint. name: of the file. Raises
    InputError where parts of it contradict each other."""
    try:
        checkpoint.log.check()
        _resume(replay, checkpoint)
    except (LookupError, ValueError, TypeError, OverflowError, DecodeError) as error:
        problem = f"{_NO_CHECKPOINT}: its parts contradict each other ({error})"
        raise InputError(name, problem, hint=_ANOTHER_FILE) from None


def _resume_log(log: PodLog, checkpoint: Checkpoint) -> None:
    for name in PodRecords.__struct_fields__:
        setattr(log, name, getattr(checkpoint.log, name))
    if log.departed is not None:
        log.departed = checkpoint.records


def _resume(replay: Replay, checkpoint: Checkpoint) -> None:
    replay.clock.now = checkpoint.now
    replay.changed, replay.length = checkpoint.changed, checkpoint.length
    replay.held = set(checkpoint.held)
    replay.rung = checkpoint.rung
    _resume_log(replay.log, checkpoint)
    replay.nodes = checkpoint.nodes
    if replay.autoscaler is not None and checkpoint.autoscaler is not None:
        replay.autoscaler.restore(checkpoint.autoscaler)
    replay.applier.outages.restore(checkpoint.outages)
    if replay.biller is not None and checkpoint.bills is not None:
        replay.biller.bills = checkpoint.bills
    replay.scheduler.failed |= checkpoint.failed
    replay.scheduler.victims |= checkpoint.victims
    replay.applier.keys = checkpoint.uids
    replay.applier.warnings = dict.fromkeys(checkpoint.warnings)
    state, pods = checkpoint.objects.restored()
    unscheduled = (pods[index] for index in checkpoint.unscheduled)
    replay.applier.unscheduled = {pod.key: pod for pod in unscheduled}
    replay.applier.spared = checkpoint.spared
    _check_records(checkpoint.log.live, [pods[index] for index, _ in checkpoint.queued])
    _resume_cluster(replay, checkpoint, state, pods)
    replay.scheduler.engine = replay.cluster.engine
    queued = (index for index, _ in checkpoint.queued)
    there = (*checkpoint.running, *checkpoint.strays, *queued)
    replay.cluster.list_pods([pods[index] for index in there])
    replay.usage.resume(checkpoint.usage, replay.cluster.snapshot)
    _resume_queue(replay, checkpoint, pods)
    for uid, end in checkpoint.ends:
        replay.ends.schedule(uid, end)
    replay.events = islice(replay.events, checkpoint.log.counts.events, None)
    replay.is_resumed = True


def _check_records(records: Mapping[str, PodRecord], waiting: Iterable[Pod]) -> None:
    """Raises LookupError where a pod that waits has none, or is on a node, or one is another's."""
    wrong = [pod.key for pod in waiting if pod.node_name or pod.key not in records]
    wrong += [key for key, record in records.items() if record.pod != key]
    if wrong:
        raise LookupError(f"pod {wrong[0]} has no record, or waits and is on a node")


def _resume_cluster(replay: Replay, checkpoint: Checkpoint, state: Any, pods: list[Pod]) -> None:
    cluster = replay.cluster
    cluster.restore(
        state,
        [pods[index] for index in checkpoint.running],
        [pods[index] for index in checkpoint.strays],
        checkpoint.ports,
        checkpoint.memories,
    )
    if cluster.bound.keys() != set(checkpoint.bound):
        raise LookupError("other pods were bound than are on nodes")
    cluster.bound = {key: cluster.bound[key] for key in checkpoint.bound}
    cluster.engine.pipeline.search.next_start = checkpoint.next_start
    clock = cluster.engine.waiting.clock
    clock.jump(replay.clock.seconds)
    for alarm in checkpoint.alarms:
        clock.wake(alarm)
    tie_break = cluster.options.tie_break
    if isinstance(tie_break, RandomChoice) and checkpoint.draws is not None:
        tie_break.state = checkpoint.draws


def _resume_queue(replay: Replay, checkpoint: Checkpoint, pods: list[Pod]) -> None:
    """Resume the queue, and its pods' nominations."""
    cluster, queue = replay.cluster, replay.queue
    groups = cluster.engine.queued_groups
    queue.use(cluster.engine.frameworks, groups)
    for index, history in checkpoint.queued:
        info = cluster.info(pods[index])
        cluster.expect(info)
        queue.restore(history, info)
    members: defaultdict[GroupKey | None, list[QueuedPodInfo]] = defaultdict(list)
    for queued in queue:
        members[groups.entity_of(queued.pod.pod) if groups is not None else None].append(queued)
    for key, history in checkpoint.groups:
        queue.restore_group(key, members[key], history)
    queue.restore_incomplete(checkpoint.incomplete)
    queue.sequence = checkpoint.sequence
    by_uid = {queued.pod.uid: queued.pod for queued in queue}
    for node, uid in checkpoint.nominated:
        cluster.engine.nominator.nominate(by_uid[uid], node)
