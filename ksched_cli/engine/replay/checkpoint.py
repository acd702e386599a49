"""A replay as it is between two instants, in a file, to go on with later.

The file is a digest and a pickle of Python's, which is read where it has that digest. Reading one
makes nothing but objects of the classes that a replay consists of: a file that names others is
refused.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, fields
from hashlib import sha256
from io import BytesIO
from itertools import islice
from typing import Any

from ksched_cli.cluster.pod_info import HostPort
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.replay.autoscaler.state import AutoscalerState
from ksched_cli.engine.replay.ends import End
from ksched_cli.engine.replay.node_counts import NodeCounts
from ksched_cli.engine.replay.pod_log import PodLog
from ksched_cli.engine.replay.queued_pod import Place, QueuedPodInfo
from ksched_cli.engine.replay.records import PodRecord
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.engine.replay.statistics import UsageCurve
from ksched_cli.engine.replay.world import Assumptions
from ksched_cli.engine.scheduling_cycle import RandomChoice
from ksched_cli.errors import InputError

_VERSION = 5
_DIGEST_LENGTH = sha256().digest_size
_OWN = ("ksched_cli.cluster.", "ksched_cli.engine.replay.", "ksched_cli.kube.quantity")
_OTHERS = {
    ("msgspec", "Raw"),
    ("msgspec._core", "Raw"),
    ("builtins", "frozenset"),
    ("builtins", "set"),
    ("copyreg", "_reconstructor"),
    ("builtins", "object"),
}
# Of QueuedPodInfo; the rest follows from these.
_QUEUED = (
    "timestamp",
    "sequence",
    "attempts",
    "unschedulable_count",
    "consecutive_errors",
    "unschedulable_plugins",
    "pending_plugins",
    "gating_plugin",
    "backoff_expiration",
    "message",
    "repeats",
    "place",
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """fingerprint: of what is replayed; a checkpoint of anything else is not gone on with
    bound:     keys of the pods on nodes, in the order in which they were bound
    queued:    key → _QUEUED's values, in the order of the queue
    nominated: node and UID, in the order of nominations
    ends:      UIDs with their ends, in order
    assumptions: what plugins have assumed of claims and volumes
    failed:    see Attempts
    ports:     host ports in use, by node
    draws:     the state of a random tie-break
    alarms:    of plugins; seconds since 1970
    records:   of the pods that have left, where they are listed in the end
    """

    version: int
    fingerprint: str
    now: int
    changed: tuple[int, int]
    state: ClusterState
    bound: tuple[str, ...]
    queued: dict[str, tuple[Any, ...]]
    sequence: int
    nominated: tuple[tuple[str, str], ...]
    ends: tuple[tuple[str, End], ...]
    next_start: int
    log: dict[str, Any]
    usage: UsageCurve
    nodes: NodeCounts
    autoscaler: AutoscalerState | None
    assumptions: Assumptions
    failed: set[str]
    ports: dict[str, set[HostPort]]
    draws: tuple[Any, ...] | None
    alarms: tuple[float, ...]
    records: list[PodRecord]


def take_checkpoint(replay: Replay, fingerprint: str, records: list[PodRecord]) -> bytes:
    """A replay between two instants, while no pod waits in Permit."""
    world, queue = replay.world, replay.queue
    nominator, tie_break = world.simulation.nominator, world.options.tie_break
    log = {each.name: getattr(replay.log, each.name) for each in fields(PodLog)}
    del log["on_record"]
    checkpoint = Checkpoint(
        _VERSION,
        fingerprint,
        replay.clock.now,
        (replay.changed, replay.length),
        replay.state(),
        tuple(world.bound),
        {queued.pod.key: tuple(getattr(queued, name) for name in _QUEUED) for queued in queue},
        queue.sequence,
        tuple((node, pod.uid) for node in nominator.nodes() for pod in nominator.on_node(node)),
        replay.ends.listed(),
        world.simulation.pipeline.search.next_start,
        log,
        replay.usage,
        replay.nodes,
        None if replay.autoscaler is None else replay.autoscaler.state,
        world.assumptions(),
        replay.attempts.failed,
        world.ports(),
        tie_break.state if isinstance(tie_break, RandomChoice) else None,
        world.simulation.waiting.clock.alarms,
        records,
    )
    return with_digest(pickle.dumps(checkpoint, protocol=5))


def with_digest(pickled: bytes) -> bytes:
    """A checkpoint's file: a change of any byte of it shows."""
    return sha256(pickled).digest() + pickled


def read_checkpoint(data: bytes, name: str, fingerprint: str) -> Checkpoint:
    """Raises InputError where it is none, or one of another replay. name: of the file"""
    digest, pickled = data[:_DIGEST_LENGTH], data[_DIGEST_LENGTH:]
    try:
        if sha256(pickled).digest() != digest:
            raise pickle.UnpicklingError("it is damaged, or of another version of ksched")
        checkpoint = _Reader(BytesIO(pickled)).load()
    except Exception as error:
        raise InputError(name, f"this is no checkpoint: {error}") from None
    if not isinstance(checkpoint, Checkpoint) or checkpoint.version != _VERSION:
        raise InputError(name, "this is no checkpoint of this version of ksched")
    if checkpoint.fingerprint != fingerprint:
        hint = "Remove the file to begin anew, or give the options and files of before."
        problem = "this is a checkpoint of another timeline, state, configuration or options"
        raise InputError(name, problem, hint=hint)
    return checkpoint


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module.startswith(_OWN) or (module, name) in _OTHERS:
            resolved = super().find_class(module, name)
            if isinstance(resolved, type) or (module, name) in _OTHERS:
                return resolved
        raise pickle.UnpicklingError(f"it names {module}.{name}")


def resume(replay: Replay, checkpoint: Checkpoint) -> None:
    """Makes a replay that has not begun the one that the checkpoint is of."""
    replay.clock.now = checkpoint.now
    replay.changed, replay.length = checkpoint.changed
    for name, value in checkpoint.log.items():
        setattr(replay.log, name, value)
    replay.usage, replay.nodes = checkpoint.usage, checkpoint.nodes
    if replay.autoscaler is not None and checkpoint.autoscaler is not None:
        replay.autoscaler.restore(checkpoint.autoscaler)
    replay.attempts.failed |= checkpoint.failed
    _resume_world(replay, checkpoint)
    _resume_queue(replay, checkpoint)
    for uid, end in checkpoint.ends:
        replay.ends.schedule(uid, end)
    replay.events = islice(replay.events, checkpoint.log["counts"].events, None)
    replay.is_resumed = True


def _resume_world(replay: Replay, checkpoint: Checkpoint) -> None:
    world = replay.world
    world.restore(checkpoint.state, checkpoint.ports)
    world.assume(checkpoint.assumptions)
    world.bound = {key: world.bound[key] for key in checkpoint.bound}
    world.simulation.pipeline.search.next_start = checkpoint.next_start
    clock = world.simulation.waiting.clock
    clock.jump(replay.clock.seconds)
    for alarm in checkpoint.alarms:
        clock.wake(alarm)
    tie_break = world.options.tie_break
    if isinstance(tie_break, RandomChoice) and checkpoint.draws is not None:
        tie_break.state = checkpoint.draws


def _resume_queue(replay: Replay, checkpoint: Checkpoint) -> None:
    """With the nominations of its pods."""
    world, queue = replay.world, replay.queue
    queue.use(world.simulation.frameworks)
    pods = {pod.key: pod for pod in checkpoint.state.pods if pod.key in checkpoint.queued}
    for key, values in checkpoint.queued.items():
        info = world.info(pods[key])
        world.expect(info)
        queued = QueuedPodInfo(info, **dict(zip(_QUEUED, values, strict=True)))
        place, queued.place = queued.place, Place.NOWHERE
        queue.restore(queued, place)
    queue.sequence = checkpoint.sequence
    by_uid = {queued.pod.uid: queued.pod for queued in queue}
    for node, uid in checkpoint.nominated:
        world.simulation.nominator.nominate(by_uid[uid], node)
