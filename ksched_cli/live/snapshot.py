"""A cluster's objects as lists of one moment, as nearly as an API server gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, ClassVar, Literal, Self

import msgspec
from msgspec import Raw, Struct

from ksched_cli.analysis.gates import READS
from ksched_cli.answers import HIDDEN, Answer, Count, Part
from ksched_cli.cluster.loading.load import load_sources
from ksched_cli.cluster.loading.sources import Source
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.trimming import trimmed
from ksched_cli.kube.int64 import parse_int64
from ksched_cli.kube.scheduler_events import MESSAGES
from ksched_cli.live.client import UNREADABLE, ApiServer, ClusterError, StatusError
from ksched_cli.live.lists import (
    ABSENT,
    FORBIDDEN,
    ObjectList,
    Resource,
    discover,
    kinds_to_read,
    read_list,
)

# Without these there is no state to ask about.
REQUIRED = ("Node", "Pod")

EVENT = "Event"


class ReadList(Part, frozen=True):
    """A list that was read.

    namespace: the one whose objects were listed; null for those of all
    """

    kind: str
    api_version: str
    namespace: str | None
    objects: Count
    resource_version: str


class SnapshotResult(Answer, frozen=True, kw_only=True):
    """What a snapshot's file has.

    file: the snapshot's path
    bytes: the file's size
    server: the API server's URL
    server_version: the API server's version, as v1.34.1; empty where it does not tell
    taken: when reading began
    revisions_apart: how far the resourceVersions of the lists are apart; null where they are no
                     numbers
    lists: the lists that were read, in their order
    source: the context, or the cluster that this runs in
    """

    COMMAND: ClassVar = "snapshot"
    VIEW: ClassVar = "snapshot:view"

    kind: Literal["SnapshotResult"] = "SnapshotResult"
    file: str
    bytes: Count
    server: str
    server_version: str
    taken: str
    revisions_apart: Count | None
    lists: tuple[ReadList, ...]
    source: Annotated[str, HIDDEN]

    @classmethod
    def of(cls, file: str, size: int, source: str, snapshot: ClusterSnapshot) -> Self:
        return cls(
            file=file,
            bytes=size,
            server=snapshot.server,
            server_version=snapshot.server_version,
            taken=snapshot.taken,
            revisions_apart=snapshot.revisions_apart,
            lists=tuple(
                msgspec.structs.replace(entry, namespace=entry.namespace or None)
                for entry in snapshot.lists
            ),
            source=source,
        )


OnProgress = Callable[[str, int], None]


class ClusterSnapshot(Struct, frozen=True, rename="camel"):
    """What was read of a cluster, beside the objects themselves; a file of them has it too.

    server:        the API server's URL; "" where it is not told
    serverVersion: as v1.34.1
    taken:         when reading began, as 2026-01-31T12:00:00Z
    lists:         those that were read; namespace: "" for those of all
    absences:      lines about kinds that could not be listed, for whoever takes the snapshot
    warnings:      lines for whoever reads its file
    """

    server: str
    server_version: str
    taken: str
    lists: tuple[ReadList, ...]
    absences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return the lines about all that was not read, or not everywhere."""
        return self.absences + self.warnings

    @property
    def revisions_apart(self) -> int | None:
        """How far the resourceVersions of the lists are apart; None if they are not numbers,
        as an API server may have them."""
        versions = [entry.resource_version for entry in self.lists if entry.resource_version]
        numbers = [number for version in versions if (number := parse_int64(version)) is not None]
        if len(numbers) < len(versions):
            return None
        return max(numbers) - min(numbers) if numbers else 0


class ClusterReader:
    """Reads lists of all kinds; `snapshot` tells of them once they all have been read."""

    def __init__(
        self,
        server: ApiServer,
        *,
        reads: Iterable[str] = (),
        namespace: str = "",
        convert: Callable[[Resource, Raw], bytes] | None = None,
        events: bool = False,
        on_progress: OnProgress | None = None,
    ) -> None:
        """reads: kinds of plugins from outside, as "PodGroup.scheduling.x-k8s.io".
        namespace: to list where those of all namespaces are forbidden, else the context's.
        convert: what is kept of an object; default `trimmed_object`.
        events: those of schedulers too.
        on_progress: called with a kind and how many of its objects have been read."""
        self._server = server
        self._reads = (*reads, *((EVENT,) if events else ()))
        self._namespace = namespace or server.identity.namespace
        self._convert = convert or trimmed_object
        self._on_progress = on_progress
        self._lists: list[ReadList] = []
        self._forbidden: list[str] = []
        self._of_namespace: list[str] = []
        self._unserved: list[str] = []
        self._version = ""
        self._taken = ""

    def lists(self) -> Iterator[ObjectList]:
        """Yield the objects of each kind. Raises ClusterError, also where nodes or pods cannot be
        read, or where a server's error leaves open whether there are objects of a kind."""
        self._taken = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._version = self._read_version()
        kinds = kinds_to_read(self._reads)
        for kind, resource in discover(self._server, kinds).items():
            if resource is None:
                if not _is_quoted(kind, kinds[kind]):
                    self._note_unserved(kind)
                continue
            objects = self._list(resource)
            if objects is not None:
                version, count = objects.resource_version, len(objects.items)
                self._lists.append(
                    ReadList(kind, resource.api_version, objects.namespace, count, version)
                )
                yield objects

    @property
    def snapshot(self) -> ClusterSnapshot:
        absences = unserved_warnings(self._unserved)
        if self._forbidden:
            absences.insert(0, forbidden_warning(self._forbidden))
        warnings = []
        if self._of_namespace:
            warnings.append(namespace_warning(self._of_namespace, self._namespace))
        return ClusterSnapshot(
            self._server.url,
            self._version,
            self._taken,
            tuple(self._lists),
            tuple(absences),
            tuple(warnings),
        )

    def _note_unserved(self, kind: str) -> None:
        if kind in REQUIRED:
            raise ClusterError(f"the API server at {self._server.url} has no {kind}")
        self._unserved.append(kind)

    def _read_version(self) -> str:
        try:
            return str(msgspec.json.decode(self._server.get("/version"))["gitVersion"])
        except StatusError as error:
            if error.status not in (FORBIDDEN, ABSENT):
                raise
            return ""
        except (*UNREADABLE, KeyError, TypeError):
            return ""

    def _list(self, resource: Resource) -> ObjectList | None:
        """None if they may not be listed, in no namespace either."""
        is_quoted = _is_quoted(resource.kind, resource.api_version.partition("/")[0])
        try:
            return self._read(resource, "")
        except StatusError as error:
            if error.status == ABSENT:
                if not is_quoted:
                    self._note_unserved(resource.kind)
                return None
            if error.status != FORBIDDEN:
                raise
            refusal = error
        if resource.namespaced:
            try:
                objects = self._read(resource, self._namespace)
                self._of_namespace.append(resource.kind)
                return objects
            except StatusError as error:
                if error.status not in (FORBIDDEN, ABSENT):
                    raise
        if resource.kind in REQUIRED:
            raise refusal
        if not is_quoted:
            self._forbidden.append(resource.kind)
        return None

    def _read(self, resource: Resource, namespace: str) -> ObjectList:
        notify = self._on_progress
        objects = read_list(
            self._server,
            resource,
            namespace,
            lambda item: self._convert(resource, item),
            None if notify is None else lambda count: notify(resource.kind, count),
        )
        if resource.kind == EVENT:
            items = list(filter(_is_of_scheduler, objects.items))
            return msgspec.structs.replace(objects, items=items)
        return objects


def _is_of_scheduler(event: bytes) -> bool:
    reason = msgspec.json.decode(event).get("reason")
    return isinstance(reason, str) and reason in MESSAGES


def typed_object(resource: Resource, item: Raw) -> dict[str, object]:
    """Return an object with its kind. Raises ClusterError."""
    try:
        plain = msgspec.json.decode(item)
    except UNREADABLE as error:
        raise ClusterError(f"the list of {resource.plural} has a broken object: {error}") from None
    if not isinstance(plain, dict):
        raise ClusterError(f"the list of {resource.plural} has {plain!r:.60} in place of an object")
    # Items of a list do not repeat their kind, and are of no other; it is written first.
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    return {**kind, **plain, **kind}


def trimmed_object(resource: Resource, item: Raw) -> bytes:
    """What is read of an object of a list, as JSON. Raises ClusterError."""
    return msgspec.json.encode(trimmed(typed_object(resource, item)))


def annotated_object(resource: Resource, item: Raw) -> bytes:
    """Return the same with all annotations of the object, which plugins from outside may read."""
    obj = typed_object(resource, item)
    rest, metadata = trimmed(obj), obj.get("metadata")
    if isinstance(metadata, dict) and (annotations := metadata.get("annotations")):
        rest["metadata"] = {**rest["metadata"], "annotations": annotations}
    return msgspec.json.encode(rest)


def _is_quoted(kind: str, group: str) -> bool:
    """Return whether answers quote objects of a kind that decides nothing: nobody misses it."""
    return f"{kind.partition('.')[0]}.{group}" in READS


def whole_object(resource: Resource, item: Raw) -> bytes:
    """Return the object as the API server returns it. Raises ClusterError."""
    return msgspec.json.encode(typed_object(resource, item))


_CONSEQUENCES = {
    "Namespace": "pod affinity with a namespaceSelector matches no namespace",
    "PriorityClass": "ksched cannot tell whether a priority class forbids preemption",
    "PodDisruptionBudget": "victims are chosen as if nothing protected them",
    "PersistentVolume": "ksched cannot tell which nodes reach a bound volume",
    "PersistentVolumeClaim": "volume plugins find no claim",
    "StorageClass": "ksched cannot tell where volumes for unbound claims can be provisioned",
    "CSINode": "NodeVolumeLimits applies no limit",
    "CSIDriver": "storage capacity is ignored",
    "CSIStorageCapacity": "storage classes that track capacity seem to have none",
    "VolumeAttachment": "volumes attached without a pod do not count",
    "Service": "the default spread constraints ignore services",
    "ReplicationController": "the default spread constraints ignore its pods",
    "ReplicaSet": "the default spread constraints ignore its pods",
    "StatefulSet": "the default spread constraints ignore its pods",
    "ResourceClaim": "DynamicResources finds no claim",
    "ResourceSlice": "DynamicResources finds no device",
    "DeviceClass": "DynamicResources finds no device",
    "DeviceTaintRule": "ksched cannot tell which devices it taints",
}
# Kinds that no minor before 1.37 serves by default: a cluster without them lacks nothing.
_NEW = ("DeviceTaintRule",)
_WORKLOADS = "its missing pods do not count, and changes cannot name it"


# How many consequences a line lists.
_MAX_LISTED = 3


def forbidden_warning(kinds: Iterable[str]) -> str:
    """Return the kinds that may not be listed, in no namespace either."""
    kinds = list(kinds)
    return f"no right to list {', '.join(kinds)}: {_joined(kinds)}"


def unserved_warnings(kinds: Iterable[str]) -> list[str]:
    """Return the kinds that the API server does not have, a line for each group; nothing in its
    cluster can be of them, so that nothing comes out less exact unless a server behind it is
    down."""
    by_group: dict[str, list[str]] = {}
    groups = kinds_to_read()
    for kind in kinds:
        if kind in _NEW:
            continue
        by_group.setdefault(groups.get(kind, ""), []).append(kind)
    return [
        f"the API server has no {', '.join(names)}{f' ({group})' if group else ''}: "
        f"{_joined(names)}"
        for group, names in by_group.items()
    ]


def namespace_warning(kinds: Sequence[str], namespace: str) -> str:
    """Return the kinds that may be listed in one namespace only."""
    effects = []
    if "Pod" in kinds:
        effects.append("nodes look emptier than they are, affinity and spreading see fewer pods")
    if "PodDisruptionBudget" in kinds:
        effects.append("budgets of others do not protect their pods")
    rest = f": {'; '.join(effects)}" if effects else ""
    return f"listed only in namespace {namespace}: {', '.join(kinds)}{rest}"


def _joined(kinds: Iterable[str]) -> str:
    """What comes out less exact without them."""
    consequences = list(dict.fromkeys(_CONSEQUENCES.get(kind, _WORKLOADS) for kind in kinds))
    more = ("…",) if len(consequences) > _MAX_LISTED else ()
    return "; ".join((*consequences[:_MAX_LISTED], *more))


# -- a live cluster as a state: what a snapshot's file would hold, without the file ---------------


def live_state(reader: ClusterReader, reads: Iterable[str], name: str) -> ClusterState:
    """reads: kinds to keep for plugins, besides those that ksched knows. name: of the cluster, for
    errors. Raises KschedError."""
    state = state_of(reader.lists(), reads, name, lambda: reader.snapshot.remarks)
    return replace(state, server_version=reader.snapshot.server_version)


def state_of(
    lists: Iterable[ObjectList],
    reads: Iterable[str],
    name: str,
    warnings: Callable[[], Iterable[str]] = tuple,
) -> ClusterState:
    """Return the state of these lists. warnings: about them, once they have been read. Raises
    InputError."""
    return load_sources(_sources(lists, name), frozenset(reads), warnings)


def _sources(lists: Iterable[ObjectList], name: str) -> Iterator[Source]:
    for objects in lists:
        about = msgspec.json.encode({"kind": objects.resource.kind, "namespace": objects.namespace})
        items = b",".join(objects.items)
        yield Source(
            name,
            b'{"kind":"List","items":[' + items + b'],"snapshot":{"lists":[' + about + b"]}}",
        )
