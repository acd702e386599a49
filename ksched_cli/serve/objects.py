"""The objects of a watched cluster, as lists and watches report them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import msgspec

from ksched_cli.cluster.loading.pod_decoder import PartError, PodDecoder
from ksched_cli.cluster.loading.sources import PodParts
from ksched_cli.cluster.objects.pod import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.live.client import ClusterError
from ksched_cli.live.lists import ObjectList, Resource
from ksched_cli.live.recorder import digest_of
from ksched_cli.live.snapshot import annotated_object, state_of
from ksched_cli.live.watch import Reconnection, WatchedChange

POD = "Pod"
Key = tuple[str, str]

_parts = msgspec.json.Decoder(PodParts)


class PodReader:
    """Decodes pods one by one; those of one template share their spec."""

    def __init__(self) -> None:
        self._decoder = PodDecoder()

    def read(self, text: bytes | msgspec.Raw) -> Pod:
        """Decode a pod. Raises msgspec.DecodeError."""
        raw = msgspec.Raw(bytes(text))
        try:
            return self._decoder.decode(_parts.decode(raw), raw)
        except PartError as error:
            raise msgspec.DecodeError(f"the pod's {error.path}: {error.cause}") from None


@dataclass(frozen=True, slots=True)
class PodChange:
    """A pod before and after a change; None where there was or is no pod."""

    before: Pod | None
    after: Pod | None


@dataclass(slots=True)
class WatchedObjects:
    """name: of the cluster, for errors. reads: kinds to keep for plugins

    pods: by key. is_stale: whether other objects have changed since `state` was made
    """

    name: str
    reads: frozenset[str]
    reader: PodReader = field(default_factory=PodReader)
    pods: dict[str, Pod] = field(default_factory=dict)
    is_stale: bool = False
    _others: dict[Resource, dict[Key, bytes]] = field(default_factory=dict)
    _namespaces: dict[Resource, str] = field(default_factory=dict)
    _digests: dict[tuple[str, Key], bytes] = field(default_factory=dict)

    def begin(self, lists: Iterable[ObjectList]) -> None:
        """Load the objects that exist at first."""
        for objects in lists:
            for _ in self._relist(objects.resource, objects.namespace, objects.items):
                pass

    def state(self) -> ClusterState:
        """Return the objects as they are now. Raises InputError."""
        lists = [
            ObjectList(resource, self._namespaces[resource], list(items.values()), "")
            for resource, items in self._others.items()
        ]
        state = state_of(lists, self.reads, self.name)
        self.is_stale = False
        return replace(state, pods=tuple(self.pods.values()))

    def changes(self, notice: WatchedChange | Reconnection) -> Iterator[PodChange]:
        """Apply the events, and return what they change about pods. Raises ClusterError."""
        if isinstance(notice, WatchedChange):
            text = annotated_object(notice.resource, notice.object)
            if notice.resource.kind == POD:
                yield from self._change_pod(text, notice.type == "DELETED")
            else:
                self._change(notice.resource, text, notice.type == "DELETED")
        elif notice.objects is not None:
            yield from self._relist(notice.resource, notice.namespace, notice.objects.items)

    def _relist(
        self, resource: Resource, namespace: str, items: Iterable[bytes]
    ) -> Iterator[PodChange]:
        """Replace all objects of a resource, and yield the changes of pods."""
        if resource.kind == POD:
            present = {pod.key: pod for pod in map(self._read, items)}
            for name in [name for name in self.pods if name not in present]:
                yield PodChange(self.pods.pop(name), None)
            for pod in present.values():
                yield self._put(pod)
            return
        self._namespaces[resource] = namespace
        gone = set(self._others.setdefault(resource, {}))
        for text in items:
            gone.discard(self._change(resource, text, is_deleted=False))
        for key in gone:
            del self._others[resource][key], self._digests[resource.kind, key]
            self.is_stale = True

    def _change_pod(self, text: bytes, is_deleted: bool) -> Iterator[PodChange]:
        pod = self._read(text)
        if not is_deleted:
            yield self._put(pod)
        elif pod.key in self.pods:
            yield PodChange(self.pods.pop(pod.key), None)

    def _put(self, pod: Pod) -> PodChange:
        before, self.pods[pod.key] = self.pods.get(pod.key), pod
        return PodChange(before, pod)

    def _read(self, text: bytes) -> Pod:
        try:
            return self.reader.read(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ClusterError(f"{self.name} has a pod that cannot be read: {error}") from None

    def _change(self, resource: Resource, text: bytes, is_deleted: bool) -> Key:
        plain = plain_json(text)
        metadata, items = plain["metadata"], self._others[resource]
        key = (metadata.get("namespace", ""), metadata["name"])
        if is_deleted:
            self.is_stale |= items.pop(key, None) is not None
            self._digests.pop((resource.kind, key), None)
            return key
        digest = digest_of(plain)
        if self._digests.get((resource.kind, key)) != digest:
            self._digests[resource.kind, key], items[key] = digest, text
            self.is_stale = True
        return key
