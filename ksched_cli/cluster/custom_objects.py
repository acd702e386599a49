"""Objects of kinds that ksched does not know and a plugin wants to see, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from ksched_cli.kube.plain_json import plain_json

Plain = Mapping[str, Any]
# From an object to the manifests of the pods that its controller makes.
PodMaker: TypeAlias = Callable[[Plain], Iterable[Plain]]


def kind_with_group(api_version: str, kind: str) -> str:
    """Return the kind as "PodGroup.scheduling.x-k8s.io"; the kind alone where it has no group."""
    group = api_version.rpartition("/")[0]
    return f"{kind}.{group}" if group else kind


class Others(Mapping[str, tuple[Plain, ...]]):
    """Kind with its group → the objects in the order of the files, decoded when they are read."""

    def __init__(self, raw: Mapping[str, Sequence[msgspec.Raw]]) -> None:
        self._raw = raw
        self._decoded: dict[str, tuple[Plain, ...]] = {}

    def __getitem__(self, kind: str) -> tuple[Plain, ...]:
        if kind not in self._decoded:
            self._decoded[kind] = tuple(map(plain_json, self._raw[kind]))
        return self._decoded[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)
