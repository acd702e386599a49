"""Recordings of what others have written: `kubectl get --watch --output-watch-events -o json`, and
audit logs of an API server.

kubectl prints an event a line, first an ADDED for each object that there is; none has a time. The
events of several files are in the order of etcd's revisions, and their times are the latest that
the objects themselves have, to the second.

An audit log has the requests. What it shows depends on its policy: bindings need level Request, new
and changed objects RequestResponse. The state to begin with is in neither, and comes from a file.

Upstream: kubectl's pkg/cmd/get/get.go (watch), cli-runtime's pkg/printers/json.go, and
apiserver's pkg/apis/audit/v1/types.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.loading.sources import Source, documents
from ksched_cli.cluster.trimming import trimmed
from ksched_cli.errors import InputError, Position, UsageError
from ksched_cli.kube.documents import decode_text, read_file
from ksched_cli.kube.int64 import parse_int64
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.kube.stored_bytes import unpacked
from ksched_cli.kube.time import unix_seconds
from ksched_cli.live.recorder import ChangeTracker, RecordedPart, RecordResult, eviction_of
from ksched_cli.live.snapshot import ClusterSnapshot
from ksched_cli.live.snapshot_file import RecordingFile

Plain = dict[str, Any]
# Upstream: the user that kube-scheduler is by default.
SCHEDULER = "system:kube-scheduler"
_AUDIT = "audit.k8s.io/"
_POD, _EVENT = "Pod", "Event"
_GROUPS = {kind.name: kind.group for kind in KINDS.values()}
_MAX_LISTED = 3


class RecordLine(NamedTuple):
    """A line of a file: kubectl's event, or a request. where: for messages"""

    data: Plain
    where: str


class KubectlEvent(NamedTuple):
    """An event of kubectl's. at: the latest time that the object has, in seconds since 1970"""

    revision: int
    type: str
    obj: Plain
    at: float


def record_files(  # noqa: C901  # one recording, from top to bottom
    file: RecordingFile,
    paths: Sequence[str],
    states: Sequence[str],
    warn: Callable[[str], None],
) -> RecordResult:
    """Write a recording of what the files have. states: of the beginning, beside what kubectl lists
    first. Raises InputError, and UsageError where the files are of no or of both kinds"""
    begins = [trimmed(obj) for path in states for obj in _objects(path)]
    lines = {path: list(_lines(path)) for path in paths}
    logs = [path for path, own in lines.items() if own and _is_request(own[0].data)]
    if logs and len(logs) < len(lines):
        other = next(path for path in lines if path not in logs)
        raise UsageError(
            f"{logs[0]} is an audit log and {other} what kubectl printed; their events have no "
            "order among each other: record them apart"
        )
    tracker, requests = ChangeTracker(), None
    steps: Iterator[tuple[float, Plain]]
    if logs:
        if not begins:
            raise UsageError(
                "an audit log does not show what there was at its beginning: add --state PATH, "
                "a snapshot or a dump of that time"
            )
        requests = _Requests(tracker)
        every = [line for own in lines.values() for line in own]
        timed = sorted(((_request_time(line), line) for line in every), key=lambda each: each[0])
        start = timed[0][0] if timed else 0.0
        steps = ((at, event) for at, line in timed for event in requests.events(line, at))
    else:
        changes: list[KubectlEvent] = []
        for path, own in lines.items():
            read = [line for line in own if line.data["object"].get("kind") in _KINDS.values()]
            if len(read) < len(own):
                warn(f"{path} has objects of kinds that ksched does not read: they are left out")
            listed, rest = _split([*map(_change, read)])
            begins += [each.obj for each in listed]
            changes += rest
            if not own:
                warn(f"{path} has no events")
        changes.sort(key=attrgetter("revision"))
        times = [max((_latest(obj) for obj in begins), default=0.0), *(each.at for each in changes)]
        start = next(filter(None, times[1:]), 0.0)
        start = min(filter(None, (times[0], start)), default=0.0)
        steps = _steps(tracker, changes)
    first = [obj for obj in begins if obj["kind"] != _EVENT]
    if not any(obj["kind"] == "Node" for obj in first):
        raise UsageError(
            "there are no nodes at the beginning: add a watch of nodes, or --state PATH, a snapshot"
            " or a dump of that time"
        )
    for obj in first:
        tracker.begin(obj)
    taken = datetime.fromtimestamp(int(start), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    about = ClusterSnapshot("", "", taken, ())
    file.begin(map(msgspec.json.encode, first), lambda: about, start)
    for at, event in steps:
        file.add(event, file.time_after(at))
    file.close()
    for remark in requests.remarks() if requests is not None else ():
        warn(remark)
    part = RecordedPart(
        file.path, file.state_path, file.events, file.gaps, file.size, round(file.last, 3)
    )
    shown = ", ".join(paths[:_MAX_LISTED]) + (" and more" if len(paths) > _MAX_LISTED else "")
    return RecordResult(server="", parts=(part,), source=shown)


# -- files ----------------------------------------------------------------------------------------


def _objects(path: str) -> Iterator[Plain]:
    """Yield the objects of a state's file, those of lists one by one."""
    data, name = read_file(path)
    for document in documents(Source(name, unpacked(data, name))):
        value = plain_json(bytes(document.data), name)
        items = value.get("items") if isinstance(value, dict) else None
        for obj in items if isinstance(items, list) else [value]:
            yield _object(obj, name)


def _object(obj: object, where: str) -> Plain:
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    if not isinstance(obj, dict) or not isinstance(metadata, dict) or not metadata.get("name"):
        raise InputError(where, "an object with a name is expected")
    return obj


def _lines(path: str) -> Iterator[RecordLine]:
    """Yield the lines of a record. Raises InputError."""
    data, name = read_file(path)
    text = decode_text(unpacked(data, name), name)
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        position = Position(number, 1)
        try:
            value = plain_json(line.encode(), name)
        except InputError:
            value = None
        is_watched = (
            isinstance(value, dict)
            and isinstance(value.get("type"), str)
            and isinstance(value.get("object"), dict)
        )
        if not isinstance(value, dict) or not (_is_request(value) or is_watched):
            hint = (
                "Expected what `kubectl get --watch --output-watch-events -o json` prints, or an "
                "audit log of the API server, an event a line."
            )
            raise InputError(name, "this is no event", position=position, hint=hint)
        yield RecordLine(value, f"{name}:{number}")


def _is_request(value: Mapping[str, Any]) -> bool:
    return value.get("kind") == _EVENT and str(value.get("apiVersion")).startswith(_AUDIT)


# -- what kubectl printed -------------------------------------------------------------------------


def _change(line: RecordLine) -> KubectlEvent:
    """Return the change that a line tells of. Raises InputError."""
    kind, obj = line.data["type"], line.data["object"]
    if kind not in ("ADDED", "MODIFIED", "DELETED"):
        message = obj.get("message") or "no message"
        raise InputError(line.where, f"the watch ended with an event of type {kind}: {message}")
    metadata = _object(obj, line.where)["metadata"]
    revision = parse_int64(metadata.get("resourceVersion"))
    if revision is None:
        raise InputError(line.where, "the object has no resourceVersion, which orders the events")
    return KubectlEvent(revision, kind, _read_part(obj), _latest(obj))


def _read_part(obj: Plain) -> Plain:
    """What is read of the object; of an event, all."""
    return obj if obj.get("kind") == _EVENT else plain_json(msgspec.json.encode(trimmed(obj)))


def _split(changes: list[KubectlEvent]) -> tuple[list[KubectlEvent], list[KubectlEvent]]:
    """Split a file's events into the objects that were there and what happened then. Pods that are
    newer than all before them, in front of the first change, have come since."""
    end = next((i for i, each in enumerate(changes) if each.type != "ADDED"), len(changes))
    while (
        end > 1
        and changes[end - 1].obj["kind"] == _POD
        and all(
            each.revision < changes[end - 1].revision
            and _created(each) < _created(changes[end - 1])
            for each in changes[: end - 1]
        )
    ):
        end -= 1
    return changes[:end], changes[end:]


def _created(change: KubectlEvent) -> str:
    return str(change.obj["metadata"].get("creationTimestamp") or "")


def _latest(obj: Plain) -> float:
    """Return the latest time of a write that the object has, in seconds since 1970; 0 for none. A
    time of deletion is that of the end of its grace period."""
    metadata, status = obj["metadata"], obj.get("status")
    status = status if isinstance(status, dict) else {}
    times = [metadata.get("creationTimestamp"), status.get("startTime"), obj.get("eventTime")]
    times += [each.get("time") for each in metadata.get("managedFields") or ()]
    for condition in status.get("conditions") or ():
        times += [condition.get("lastTransitionTime"), condition.get("lastHeartbeatTime")]
    latest = max((_seconds(each) for each in times), default=0.0)
    deleted = _seconds(metadata.get("deletionTimestamp"))
    grace = metadata.get("deletionGracePeriodSeconds")
    return max(latest, deleted - (grace if isinstance(grace, int) else 0))


def _seconds(timestamp: object) -> float:
    try:
        return unix_seconds(timestamp) if isinstance(timestamp, str) else 0.0
    except ValueError:
        return 0.0


def _steps(
    tracker: ChangeTracker, changes: Iterable[KubectlEvent]
) -> Iterator[tuple[float, Plain]]:
    """Yield the timeline's events, each with its time."""
    at = 0.0
    for change in changes:
        at = max(at, change.at)
        if change.obj["kind"] == _EVENT:
            decision = eviction_of(change.obj) if change.type == "ADDED" else None
            events: Iterable[Plain] = [{"decision": decision}] if decision is not None else ()
        elif change.type == "DELETED":
            events = tracker.remove(change.obj)
        else:
            events = tracker.change(change.obj, at)
        for event in events:
            yield at, event


# -- requests -------------------------------------------------------------------------------------


def _plural(kind: str) -> str:
    """As in an API path."""
    name = kind.lower()
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


_KINDS = {_plural(name): name for name in (*_GROUPS, _EVENT)}


def _request_time(line: RecordLine) -> float:
    """When the response was complete; requests overlap. Raises InputError."""
    at = _seconds(line.data.get("stageTimestamp"))
    if not at:
        raise InputError(line.where, "the request has no stageTimestamp")
    return at


class _Requests:
    """Reads requests in their order.

    lacking: what the log's level leaves out, and how often
    """

    def __init__(self, tracker: ChangeTracker) -> None:
        self.tracker = tracker
        self.lacking: Counter[str] = Counter()

    def remarks(self) -> Iterator[str]:
        """Yield what the recording lacks."""
        for what, count in self.lacking.items():
            yield f"{count:,} {what}"

    def events(  # noqa: C901  # a case for each kind of request
        self, line: RecordLine, at: float
    ) -> Iterator[Plain]:
        """Yield what follows from a request that succeeded."""
        request = line.data
        target = request.get("objectRef") or {}
        plural = str(target.get("resource"))
        kind = _KINDS.get(plural)
        verb, sub = request.get("verb"), target.get("subresource") or ""
        code = (request.get("responseStatus") or {}).get("code") or 0
        is_done = request.get("stage") == "ResponseComplete" and 200 <= code < 300
        if not is_done or kind is None or "dryRun=All" in str(request.get("requestURI")):
            return
        body, answered = (request.get(each) for each in ("requestObject", "responseObject"))
        body = body if isinstance(body, dict) else {}
        obj = answered if isinstance(answered, dict) and answered.get("kind") == kind else None
        metadata = obj.get("metadata") or {} if obj is not None else {}
        name = metadata.get("name") or target.get("name") or ""
        namespace = target.get("namespace") or ""
        if kind == _EVENT:
            decision = eviction_of(obj or body) if verb == "create" else None
            if decision is not None:
                yield {"decision": decision}
        elif kind == _POD and sub == "binding":
            node = (body.get("target") or {}).get("name")
            if node:
                uid = (body.get("metadata") or {}).get("uid") or ""
                yield from self.tracker.bind((kind, namespace, name), uid, node, at)
            else:
                self.lacking["bindings have no node: log pods/binding at level Request"] += 1
        elif verb == "delete":
            yield from self._delete(request, (kind, namespace, name), obj, body, at)
        elif verb == "deletecollection":
            self.lacking[f"requests deleted several {plural} at once, without their names"] += 1
        elif verb in ("create", "update", "patch") and obj is not None:
            yield from self.tracker.change(_read_part(_object(obj, line.where)), at)
        elif verb == "create" and not sub and body.get("kind") == kind and name:
            # As it was asked for, before defaults and admission.
            own = {**body, "metadata": {**body.get("metadata", {}), "namespace": namespace}}
            self.lacking[f"{plural} have no defaults: log them at level RequestResponse"] += 1
            yield from self.tracker.change(_read_part(_object(own, line.where)), at)
        elif verb == "create" and not sub:
            self.lacking[f"new {plural} are unknown: log them at level RequestResponse"] += 1

    def _delete(
        self,
        request: Plain,
        key: tuple[str, str, str],
        obj: Plain | None,
        body: Plain,
        at: float,
    ) -> Iterator[Plain]:
        """A pod on a node leaves when its kubelet deletes it for good, with a grace period of 0."""
        user = (request.get("user") or {}).get("username")
        is_preempted = user == SCHEDULER
        metadata = obj.get("metadata") or {} if obj is not None else {}
        is_waiting = bool(metadata.get("deletionTimestamp")) and (
            metadata.get("deletionGracePeriodSeconds") != 0 or bool(metadata.get("finalizers"))
        )
        if key[0] == _POD and obj is None:
            is_waiting = self.tracker.is_on_node(key) and body.get("gracePeriodSeconds") != 0
        if key[0] == _POD and is_preempted:
            yield from self.tracker.begin_leaving(key, body.get("gracePeriodSeconds"))
        if not is_waiting:
            yield from self.tracker.forget(key)
        elif obj is not None:
            yield from self.tracker.change(_read_part(obj), at)
