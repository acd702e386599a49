"""The objects of a replay in a checkpoint: typed data that holds each pod and each spec once, and
loads each as one object.

Pods of one spec count as alike, and an object as unchanged, because they are the same in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from msgspec import Raw, Struct, structs

from ksched_cli.cluster.custom_objects import Others
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.objects import KubeObject, ObjectMeta, Pod, PodSpec, PodStatus
from ksched_cli.cluster.objects.message_pack import pack, unpack
from ksched_cli.cluster.objects.pod import PENDING_AGAIN
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.replay.records import Count

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
        return tuple(map(self._place, pods))

    def _place(self, pod: Pod) -> int:
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
