"""Records a live cluster: the state to begin with, then every change as an event of a timeline.

Each resource is watched in a thread. What they notice is written in the order of etcd's revisions,
which all resources share, as far as it comes within a moment. Only digests and a few fields of each
object stay in memory.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from queue import Empty, Queue
from typing import Annotated, Any, ClassVar, Literal, Protocol

import msgspec
from msgspec import Struct

from ksched_cli.answers import HIDDEN, Answer, Count, Part
from ksched_cli.cluster.objects.pod import FINISHED_PHASES
from ksched_cli.kube.int64 import parse_int64
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.kube.scheduler_events import MESSAGES, PREEMPTED, message_of
from ksched_cli.kube.time import unix_seconds
from ksched_cli.live.client import ApiServer, ClusterError, StatusError
from ksched_cli.live.clock import CLOCK
from ksched_cli.live.lists import ABSENT, FORBIDDEN, ObjectList, Resource, read_revision
from ksched_cli.live.snapshot import ClusterReader, ClusterSnapshot, trimmed_object
from ksched_cli.live.snapshot_file import RecordingFile
from ksched_cli.live.watch import (
    Notice,
    Reconnection,
    WatchedChange,
    WatchEnded,
    Watches,
    WatchProblem,
)
from ksched_cli.plugins.volume_binding.binder import SELECTED_NODE
from ksched_cli.plugins.volumes import WAIT_FOR_FIRST_CONSUMER

Plain = dict[str, Any]
Key = tuple[str, str, str]
_POD, _CLAIM = "Pod", "ResourceClaim"
DEFAULT_GRACE_SECONDS = 30
_TOPOLOGY = "topology.kubernetes.io/"
# What is recorded of a pod's status; the rest is told in events of other kinds. Victims are ranked
# by when they started.
_POD_STATUS = (
    "startTime", "resourceClaimStatuses", "resources", "allocatedResources", "containerStatuses",
    "initContainerStatuses",
)  # fmt: skip
# Upstream: preemption.go (PreemptPod).
_BY_SCHEDULER = ("DisruptionTarget", "PreemptionByScheduler")


class _Pod(Struct):
    """What is remembered of a pod. placed: when, in seconds since 1970"""

    uid: str
    digest: bytes
    node: str = ""
    placed: float | None = None
    finished: bool = False
    leaving: bool = False
    nominated: str = ""
    message: str = ""


class ChangeTracker:
    """What there is, as far as it takes to tell what changes."""

    def __init__(self) -> None:
        self._digests: dict[Key, bytes] = {}
        self._pods: dict[Key, _Pod] = {}
        self._binding_modes: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._digests) + len(self._pods)

    def begin(self, obj: Plain) -> None:
        """An object of the state to begin with."""
        for _ in self.change(obj, 0.0):
            pass

    def relist(
        self, kind: str, namespace: str, objects: Iterable[Plain], at: float
    ) -> Iterator[Plain]:
        """Yield all objects of a kind that exist now."""
        present = set()
        for obj in objects:
            present.add(_key(obj))
            yield from self.change(obj, at)
        for key in [*self._digests, *self._pods]:
            if key[0] == kind and namespace in ("", key[1]) and key not in present:
                yield from self._remove(key)

    def change(self, obj: Plain, at: float) -> Iterator[Plain]:
        """Yield what an object that is there, as it is now, changes. at: seconds since 1970"""
        if obj["kind"] == _POD:
            yield from self._change_pod(obj, at)
            return
        if obj["kind"] == "StorageClass":
            self._binding_modes[obj["metadata"]["name"]] = obj.get("volumeBindingMode", "")
        key, digest = _key(obj), digest_of(obj)
        if self._digests.get(key) != digest:
            self._digests[key] = digest
            yield {"put": obj, **({"decided": True} if self._is_decided(obj) else {})}

    def remove(self, obj: Plain) -> Iterator[Plain]:
        """Yield an object that has gone. obj: as it was at last"""
        yield from self._remove(_key(obj), obj)

    def forget(self, key: Key) -> Iterator[Plain]:
        """Yield an object that has gone, of which no more is known. key: kind, namespace and
        name"""
        yield from self._remove(key)

    def is_on_node(self, key: Key) -> bool:
        """Return whether there is such a pod, and it has a node."""
        pod = self._pods.get(key)
        return pod is not None and bool(pod.node)

    def bind(self, key: Key, uid: str, node: str, at: float) -> Iterator[Plain]:
        """A pod was bound. uid: "" where it is not told"""
        pod = self._pods.get(key)
        if pod is not None and uid in ("", pod.uid) and not pod.node:
            pod.node, pod.placed = node, at
            _, namespace, name = key
            about = {"namespace": namespace, "name": name, "uid": pod.uid}
            yield {"decision": {**about, "node": node}}

    def begin_leaving(self, key: Key, grace: int | None) -> Iterator[Plain]:
        """The scheduler has a pod leave to make room. grace: the seconds that it is given; None for
        its own"""
        pod = self._pods.get(key)
        if pod is not None and not pod.leaving:
            pod.leaving = True
            kind, namespace, name = key
            target = {"kind": kind, "namespace": namespace, "name": name}
            seconds = DEFAULT_GRACE_SECONDS if grace is None else grace or 1
            yield {"delete": target, "gracePeriod": seconds, "preempted": True}

    def _remove(self, key: Key, obj: Plain | None = None) -> Iterator[Plain]:
        kind, namespace, name = key
        target = {"kind": kind, **({"namespace": namespace} if namespace else {}), "name": name}
        if kind != _POD:
            if self._digests.pop(key, None) is not None:
                yield {"delete": target}
            return
        pod = self._pods.get(key)
        if pod is None or (obj is not None and obj["metadata"].get("uid", "") != pod.uid):
            return
        del self._pods[key]
        if not pod.finished:
            is_preempted = pod.leaving or (obj is not None and _is_preempted(obj))
            yield {"delete": target, **({"preempted": True} if is_preempted else {})}

    def _is_decided(self, obj: Plain) -> bool:
        """Return whether the scheduler wrote it of late, or a controller because the scheduler
        asked."""
        spec, kind = obj.get("spec") or {}, obj["kind"]
        if kind == _CLAIM:
            return bool((obj.get("status") or {}).get("allocation"))
        annotations = obj["metadata"].get("annotations") or {}
        is_bound = {
            "PersistentVolumeClaim": spec.get("volumeName") or SELECTED_NODE in annotations,
            "PersistentVolume": spec.get("claimRef"),
        }
        mode = self._binding_modes.get(spec.get("storageClassName", ""))
        return bool(is_bound.get(kind)) and mode == WAIT_FOR_FIRST_CONSUMER

    # -- pods -------------------------------------------------------------------------------------

    def _change_pod(self, obj: Plain, at: float) -> Iterator[Plain]:
        key, metadata = _key(obj), obj["metadata"]
        node = (obj.get("spec") or {}).get("nodeName") or ""
        pod = self._pods.get(key)
        if pod is not None and pod.uid != metadata.get("uid", ""):
            yield from self._remove(key)
            pod = None
        # Without what the scheduler writes, and what becomes of the pod on its node.
        status = {k: v for k, v in _status(obj).items() if k in _POD_STATUS}
        if not any("resources" in each for each in status.get("containerStatuses", ())):
            status.pop("containerStatuses", None)
            status.pop("initContainerStatuses", None)
        own = obj["metadata"]
        if _is_preempted(obj):
            own = {k: v for k, v in own.items() if k != "deletionTimestamp"}
        spec = {k: v for k, v in (obj.get("spec") or {}).items() if k != "nodeName"}
        manifest = {**obj, "metadata": own, "spec": spec, "status": status}
        finished = _status(obj).get("phase") in FINISHED_PHASES
        if pod is None:
            pod = self._pods[key] = _Pod(metadata.get("uid", ""), _pod_digest(manifest), node)
            pod.finished, pod.placed = finished, _started(obj)
            pod.nominated, pod.message = _refusal(obj)
            if not finished:
                if node:
                    manifest = {**manifest, "spec": {**manifest["spec"], "nodeName": node}}
                yield {"pod": manifest}
            return
        yield from self._change_of(pod, obj, manifest, at)

    def _change_of(self, pod: _Pod, obj: Plain, manifest: Plain, at: float) -> Iterator[Plain]:
        metadata, digest = obj["metadata"], _pod_digest(manifest)
        node = (obj.get("spec") or {}).get("nodeName") or ""
        about = {"namespace": metadata["namespace"], "name": metadata["name"], "uid": pod.uid}
        if digest != pod.digest and not pod.finished:
            pod.digest = digest
            yield {"put": manifest}
        if node and not pod.node:
            pod.node, pod.placed = node, at
            yield {"decision": {**about, "node": node}}
        nominated, message = _refusal(obj)
        if not node and (nominated, message) != (pod.nominated, pod.message):
            pod.nominated, pod.message = nominated, message
            yield {"decision": {**about, "nominatedNode": nominated, "message": message}}
        if _is_preempted(obj) and metadata.get("deletionTimestamp"):
            period = (obj.get("spec") or {}).get("terminationGracePeriodSeconds")
            yield from self.begin_leaving(_key(obj), period)
        if _status(obj).get("phase") in FINISHED_PHASES and not pod.finished:
            pod.finished = True
            key = f"{about['namespace']}/{about['name']}"
            since = {} if pod.placed is None else {"ranFor": max(round(at - pod.placed, 6), 0)}
            yield {"end": key, **since}


def _key(obj: Plain) -> Key:
    metadata = obj["metadata"]
    return obj["kind"], metadata.get("namespace", ""), metadata["name"]


def _status(obj: Plain) -> Plain:
    return obj.get("status") or {}


def digest_of(obj: Plain) -> bytes:
    """Return the digest of all but the revision, which changes with what nobody reads, and the
    finalizer that kube-scheduler gives claims before it allocates them."""
    ignored = ("resourceVersion", "finalizers") if obj["kind"] == _CLAIM else ("resourceVersion",)
    metadata = {k: v for k, v in obj["metadata"].items() if k not in ignored}
    return blake2b(msgspec.json.encode({**obj, "metadata": metadata}), digest_size=8).digest()


def _pod_digest(manifest: Plain) -> bytes:
    """Without the labels that a binding copies from the node. Upstream: plugin/pkg/admission/
    podtopologylabels."""
    metadata = manifest["metadata"]
    labels = (metadata.get("labels") or {}).items()
    rest = {key: value for key, value in labels if not key.startswith(_TOPOLOGY)}
    return digest_of({**manifest, "metadata": {**metadata, "labels": rest}})


def _is_preempted(obj: Plain) -> bool:
    conditions = _status(obj).get("conditions") or ()
    return any((each.get("type"), each.get("reason")) == _BY_SCHEDULER for each in conditions)


def _refusal(obj: Plain) -> tuple[str, str]:
    """Return the node that the pod is nominated to, and why it has none; "" where neither is
    told."""
    status = _status(obj)
    messages = [
        each.get("message", "")
        for each in status.get("conditions") or ()
        if each.get("type") == "PodScheduled" and each.get("status") == "False"
    ]
    return status.get("nominatedNodeName", ""), "".join(messages[:1])


def _started(obj: Plain) -> float | None:
    """Return when a pod came to its node, as its kubelet tells."""
    try:
        return unix_seconds(_status(obj).get("startTime") or "")
    except ValueError:
        return None


# -- the recorder ---------------------------------------------------------------------------------

# So long an event waits for earlier ones of other resources.
HOLD_SECONDS = 0.5
# How many events may wait to be written, so that memory stays bounded.
MAX_WAITING = 10_000
# How long the recorder sleeps when nothing happens.
_IDLE_SECONDS = 1.0
_JOIN_SECONDS = 5.0
_POLL_SECONDS = 0.01
# Schedulers' events of evictions name the pod that they are for.
_EVENTS = Resource("Event", "v1", "events", True)
_EVICTIONS = {"fieldSelector": f"reason={PREEMPTED}"}


class RecordedPart(Part, frozen=True):
    """A timeline with the state that it begins with.

    timeline: its path
    state: the path of the state
    events: how many events the timeline has
    gaps: how often the connection was lost
    bytes: the timeline's size
    seconds: from its start to its last event
    """

    timeline: str
    state: str
    events: Count
    gaps: Count
    bytes: Count
    seconds: float


class RecordResult(Answer, frozen=True, kw_only=True):
    """What was recorded.

    server: the API server's URL
    parts: the files, in order of time
    source: the context, or the cluster that this runs in
    """

    COMMAND: ClassVar = "record"
    VIEW: ClassVar = "snapshot:recording"

    kind: Literal["RecordResult"] = "RecordResult"
    server: str
    parts: tuple[RecordedPart, ...]
    source: Annotated[str, HIDDEN]


class Redactor(Protocol):
    """Renames objects, and what a snapshot says of them."""

    def objects(self, plain: Sequence[Plain]) -> list[Plain]: ...

    def decision(self, decision: Plain) -> Plain: ...

    def about(self, about: ClusterSnapshot) -> ClusterSnapshot: ...


@dataclass(frozen=True, slots=True)
class RecordingLimits:
    """seconds: when recording ends; part_bytes: how large a part grows; None for no limit"""

    seconds: float | None = None
    part_bytes: int | None = None
    is_interrupted: Callable[[], bool] = bool


@dataclass(slots=True)
class Recorder:
    """files: of the parts to come. warn: takes lines. reads: see ClusterReader"""

    server: ApiServer
    namespace: str
    files: Iterator[RecordingFile]
    limits: RecordingLimits
    warn: Callable[[str], None]
    redactor: Redactor | None = None
    reads: frozenset[str] = frozenset()
    parts: list[RecordingFile] = field(default_factory=list)
    _tracker: ChangeTracker = field(default_factory=ChangeTracker)
    _notices: Queue[Notice] = field(default_factory=lambda: Queue(MAX_WAITING))
    _held: list[tuple[int, int, Notice]] = field(default_factory=list)
    _count: int = 0
    _newest: int = 0
    _evictions_since: str = ""
    _evictions_until: int = 0
    _warned: set[str] = field(default_factory=set)
    _watches: Watches = field(init=False)
    # By resource: the revision of the list that a part begins with.
    _since: dict[Resource, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._watches = Watches(self.server, self._notices.put)

    def run(self) -> None:
        """Until the time is over, or the recorder is interrupted. Raises ClusterError, also where
        credentials or rights are withdrawn; what was recorded until then stays."""
        start = time.monotonic()
        try:
            self._watch(self._begin_part())
            while not self.limits.is_interrupted():
                remaining = _IDLE_SECONDS
                if self.limits.seconds is not None:
                    remaining = min(self.limits.seconds - (time.monotonic() - start), remaining)
                    if remaining <= 0:
                        break
                # Wait for what happens, and write what need not wait for anything earlier.
                seconds = min(remaining, HOLD_SECONDS) if self._held else remaining
                try:
                    self._hold(self._notices.get(timeout=seconds))
                    while len(self._held) < MAX_WAITING:
                        self._hold(self._notices.get_nowait())
                except Empty:
                    pass
                if self._write_held(CLOCK.now() - HOLD_SECONDS):
                    self.parts[-1].flush()
                limit = self.limits.part_bytes
                if limit is not None and self.parts[-1].size >= limit:
                    self._begin_part()
        finally:
            self._finish()

    def result(self) -> RecordResult:
        parts = (
            RecordedPart(
                part.path, part.state_path, part.events, part.gaps, part.size, round(part.last, 3)
            )
            for part in self.parts
        )
        return RecordResult(
            server="" if self.redactor else self.server.url,
            parts=tuple(parts),
            source=self.server.identity.source,
        )

    # -- parts ------------------------------------------------------------------------------------

    def _begin_part(self) -> list[ObjectList]:
        """Begin a part with all objects as they are now, and return the lists. What has changed in
        between ends the part before."""
        reader = ClusterReader(self.server, reads=self.reads, namespace=self.namespace)
        lists = list(reader.lists())
        at = CLOCK.now()
        objects = [self._redacted(_named(each)) for each in lists]
        if self.parts:
            self._write_held(None)
            for each, plain in zip(lists, objects, strict=True):
                for event in self._tracker.relist(each.resource.kind, each.namespace, plain, at):
                    self.parts[-1].add(event, at)
            self.parts[-1].close()
        else:
            for obj in (obj for plain in objects for obj in plain):
                self._tracker.begin(obj)
            for line in reader.snapshot.remarks:
                self.warn(line)
            self._evictions_since = self._revision_of_evictions()
            self._evictions_until = _number(self._evictions_since)
        self._since = {each.resource: _number(each.resource_version) or -1 for each in lists}
        about = reader.snapshot
        if self.redactor is not None:
            about = self.redactor.about(about)
        part = next(self.files)
        texts = (msgspec.json.encode(obj) for plain in objects for obj in plain)
        part.begin(texts, lambda: about, at)
        self.parts.append(part)
        return lists

    def _redacted(self, plain: list[Plain]) -> list[Plain]:
        return plain if self.redactor is None else self.redactor.objects(plain)

    # -- watching ---------------------------------------------------------------------------------

    def _watch(self, lists: Sequence[ObjectList]) -> None:
        for each in lists:
            self._watches.start(each)
        if self._evictions_since:
            events = ObjectList(_EVENTS, "", [], self._evictions_since)
            self._watches.start(events, _EVICTIONS, lambda resource, item: bytes(item))

    def _revision_of_evictions(self) -> str:
        """Return that of the events that tell of evictions, "" where they may not be read."""
        try:
            return read_revision(self.server, _EVENTS, _EVICTIONS)
        except StatusError as error:
            if error.status not in (FORBIDDEN, ABSENT):
                raise
            self.warn(
                "no right to list Event: the recording will not show for which pod others "
                "were evicted"
            )
            return ""

    def _hold(self, notice: Notice) -> None:
        """Hold what a watch tells of until it is written. Raises ClusterError where nothing can be
        recorded without a watch that has ended."""
        if isinstance(notice, WatchEnded):
            self.warn(notice.line())
            return
        if isinstance(notice, WatchProblem):
            if notice.line not in self._warned:
                self._warned.add(notice.line)
                self.warn(f"{notice.line}; its objects are listed anew")
            return
        number = self._newest  # of a watch that goes on, after what came before
        if isinstance(notice, WatchedChange):
            number = _number(notice.version)
        elif notice.objects is not None:
            number = _number(notice.objects.resource_version)
        self._newest = max(self._newest, number)
        self._count += 1
        heapq.heappush(self._held, (number, self._count, notice))

    def _write_held(self, until: float | None) -> bool:
        """What came until then; None for all. Returns whether there was any."""
        is_any = False
        while self._held and (until is None or self._held[0][2].at <= until):
            at, _, notice = heapq.heappop(self._held)
            if (
                isinstance(notice, WatchedChange)
                and at
                and at <= self._since.get(notice.resource, 0)
            ):
                continue  # the state has it already
            written_at = self.parts[-1].time_after(notice.at)
            for event in self._events(notice, written_at):
                self.parts[-1].add(event, written_at)
                is_any = True
        return is_any

    def _events(self, notice: Notice, at: float) -> Iterator[Plain]:
        """at: when they are said to have been"""
        if isinstance(notice, Reconnection):
            kind = notice.resource.kind
            items = [] if notice.objects is None else notice.objects.items
            # A list has all events of the last hour, those that were missed among them.
            is_relisted = notice.objects is not None and notice.resource != _EVENTS
            if is_relisted or notice.is_lost:
                gap = {"seconds": round(notice.at - notice.since, 3), "kind": kind}
                yield {"gap": {**gap, **({"relisted": True} if is_relisted else {})}}
            plain = [plain_json(item) for item in items]
            if is_relisted:
                plain = self._redacted(plain)
                yield from self._tracker.relist(kind, notice.namespace, plain, at)
            else:
                for event in sorted(plain, key=_revision):
                    yield from self._eviction(event)
        elif isinstance(notice, WatchedChange) and notice.resource == _EVENTS:
            if notice.type == "ADDED":
                yield from self._eviction(plain_json(notice.object))
        elif isinstance(notice, WatchedChange):
            text = trimmed_object(notice.resource, notice.object)
            for obj in self._redacted([plain_json(text)]):
                if notice.type == "DELETED":
                    yield from self._tracker.remove(obj)
                else:
                    yield from self._tracker.change(obj, at)

    def _eviction(self, event: Plain) -> Iterator[Plain]:
        """Nothing where it has been told already."""
        if 0 < _revision(event) <= self._evictions_until:
            return
        self._evictions_until = _revision(event)
        decision = eviction_of(event)
        if decision is not None:
            decision = decision if self.redactor is None else self.redactor.decision(decision)
            yield {"decision": decision}

    def _finish(self) -> None:
        """End the watches; what came from them until now is written."""
        self._watches.end()
        deadline = time.monotonic() + _JOIN_SECONDS
        while self._watches.are_alive and time.monotonic() < deadline:
            self._drain(_POLL_SECONDS)
        self._drain(0)
        if self.parts:
            self._write_held(None)
            self.parts[-1].close()

    def _drain(self, seconds: float) -> None:
        with suppress(Empty, ClusterError):
            self._hold(
                self._notices.get(timeout=seconds) if seconds else self._notices.get_nowait()
            )
            while True:
                self._hold(self._notices.get_nowait())


def eviction_of(event: Plain) -> Plain | None:
    """Return the eviction that a scheduler's event tells of, or None."""
    victim = event.get("regarding") or event.get("involvedObject") or {}
    eviction = MESSAGES[PREEMPTED].match(message_of(event))
    if eviction is None:
        return None
    return {
        "namespace": victim.get("namespace", ""),
        "name": victim.get("name", ""),
        "uid": victim.get("uid", ""),
        "node": eviction["node"],
        "evictedFor": eviction["preemptor"],
    }


def _named(objects: ObjectList) -> list[Plain]:
    """Return the objects of a list. Raises ClusterError where one has no name."""
    plain = [plain_json(item) for item in objects.items]
    for obj in plain:
        metadata = obj.get("metadata")
        if not isinstance(metadata, dict) or not metadata.get("name"):
            plural = objects.resource.plural
            raise ClusterError(f"the list of {plural} has an object without a name")
    return plain


def _revision(obj: Plain) -> int:
    return _number(obj["metadata"].get("resourceVersion", ""))


def _number(version: str) -> int:
    """Return a revision's number; 0 where it is not a number."""
    return parse_int64(version) or 0
