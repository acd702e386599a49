"""Records a live cluster: the state to begin with, then every change as an event of a timeline.

Each resource is watched in a thread. What they notice is written in the order of etcd's revisions,
which all resources share, as far as it comes within a moment.
"""

from __future__ import annotations

import heapq
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, Queue
from typing import Annotated, ClassVar, Literal, Protocol

import msgspec
from msgspec import Struct

from ksched_cli.answers import HIDDEN, Answer, Count, Part
from ksched_cli.kube.int64 import parse_int64
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.live.change_tracker import ChangeTracker, Plain
from ksched_cli.live.client import ApiServer, ClusterError, StatusError
from ksched_cli.live.lists import ABSENT, FORBIDDEN, ObjectList, Resource, read_revision
from ksched_cli.live.snapshot import REQUIRED, ClusterReader, ClusterSnapshot, trimmed_object
from ksched_cli.live.snapshot_file import RecordingFile
from ksched_cli.live.watch import Notice, Reconnection, WatchedChange, WatchEnded, Watches

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
_EVICTIONS = {"fieldSelector": "reason=Preempted"}
_EVICTED_BY = re.compile(r"^Preempted by pod (?P<uid>\S+) on node (?P<node>\S+)$")


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
class Limits:
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
    limits: Limits
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
                self._take_notices(remaining)
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
        """Begins a part with all objects as they are now, and returns the lists. What has changed
        in between ends the part before."""
        reader = ClusterReader(self.server, reads=self.reads, namespace=self.namespace)
        lists = list(reader.lists())
        at = time.time()
        objects = [self._redacted([plain_json(item) for item in each.items]) for each in lists]
        if self.parts:
            self._write_held(None)
            for each, plain in zip(lists, objects, strict=True):
                for event in self._tracker.relist(each.resource.kind, each.namespace, plain, at):
                    self.parts[-1].add(event, at)
            self.parts[-1].close()
        else:
            for obj in (obj for plain in objects for obj in plain):
                self._tracker.begin(obj)
            for line in (*reader.snapshot.absences, *reader.snapshot.warnings):
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
        """Returns that of the events that tell of evictions, "" where they may not be read."""
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

    def _take_notices(self, seconds: float) -> None:
        """Waits for what happens, and writes what need not wait for anything earlier."""
        if self._held:
            seconds = min(seconds, HOLD_SECONDS)
        try:
            self._hold(self._notices.get(timeout=seconds))
            while len(self._held) < MAX_WAITING:
                self._hold(self._notices.get_nowait())
        except Empty:
            pass
        if self._write_held(time.time() - HOLD_SECONDS):
            self.parts[-1].flush()

    def _hold(self, notice: Notice) -> None:
        if isinstance(notice, WatchEnded):
            self._end_watch(notice)
            return
        number = self._newest  # of a watch that goes on, after what came before
        if isinstance(notice, WatchedChange):
            number = _number(_versioned.decode(notice.object).metadata.resource_version)
        elif notice.objects is not None:
            number = _number(notice.objects.resource_version)
        self._newest = max(self._newest, number)
        self._count += 1
        heapq.heappush(self._held, (number, self._count, notice))

    def _end_watch(self, notice: WatchEnded) -> None:
        """Raises ClusterError where nothing can be recorded without it."""
        if notice.resource.kind in REQUIRED or not isinstance(notice.error, StatusError):
            raise notice.error
        self.warn(f"{notice.resource.kind} is not watched any more: {notice.error}")

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
        victim = event.get("involvedObject") or {}
        eviction = _EVICTED_BY.match(event.get("message") or "")
        if eviction is not None:
            decision = {
                "namespace": victim.get("namespace", ""),
                "name": victim.get("name", ""),
                "uid": victim.get("uid", ""),
                "node": eviction["node"],
                "evictedFor": eviction["uid"],
            }
            decision = decision if self.redactor is None else self.redactor.decision(decision)
            yield {"decision": decision}

    def _finish(self) -> None:
        """Ends the watches; what came from them until now is written."""
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


class _Metadata(Struct, rename="camel"):
    resource_version: str = ""


class _Versioned(Struct):
    metadata: _Metadata


_versioned = msgspec.json.Decoder(_Versioned)


def _revision(obj: Plain) -> int:
    return _number(obj["metadata"].get("resourceVersion", ""))


def _number(version: str) -> int:
    """A revision's number; 0 where it is not a number."""
    return parse_int64(version) or 0
