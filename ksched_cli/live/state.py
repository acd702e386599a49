"""A live cluster as a state: what a snapshot's file would hold, without the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import msgspec

from ksched_cli.cluster.loading.load import load_sources
from ksched_cli.cluster.loading.sources import Source
from ksched_cli.cluster.state import ClusterState
from ksched_cli.live.lists import ObjectList
from ksched_cli.live.snapshot import ClusterReader


def live_state(reader: ClusterReader, reads: Iterable[str], name: str) -> ClusterState:
    """reads: kinds to keep for plugins, besides those that ksched knows. name: of the cluster, for
    errors. Raises KschedError."""
    state = state_of(
        reader.lists(), reads, name, lambda: (*reader.snapshot.absences, *reader.snapshot.warnings)
    )
    return replace(state, server_version=reader.snapshot.server_version)


def state_of(
    lists: Iterable[ObjectList],
    reads: Iterable[str],
    name: str,
    warnings: Callable[[], Iterable[str]] = tuple,
) -> ClusterState:
    """The state of these lists. warnings: about them, once they have been read. Raises
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
