"""What `snapshot` wrote: the kinds, how many objects of each, and how far apart they were read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ksched_cli.live.snapshot import ClusterSnapshot
from ksched_cli.report.table import Limit, columns, counted, paragraph

_KILO, _MEGA = 1_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Written:
    """file: its path; size: in bytes; source: the context, or the cluster that this runs in."""

    file: str
    size: int
    source: str
    snapshot: ClusterSnapshot


def document(written: Written) -> dict[str, Any]:
    """kind SnapshotResult."""
    snapshot = written.snapshot
    return {
        "apiVersion": "ksched/v1",
        "kind": "SnapshotResult",
        "file": written.file,
        "bytes": written.size,
        "server": snapshot.server,
        "serverVersion": snapshot.server_version,
        "taken": snapshot.taken,
        "revisionsApart": snapshot.revisions_apart,
        "lists": [
            {
                "kind": entry.kind,
                "apiVersion": entry.api_version,
                "namespace": entry.namespace or None,
                "objects": entry.objects,
                "resourceVersion": entry.resource_version,
            }
            for entry in snapshot.lists
        ],
    }


def table(written: Written, limit: Limit) -> str:
    """A headline, and the kinds that there are objects of."""
    snapshot = written.snapshot
    rows = [
        (entry.kind, f"{entry.objects:,}", entry.namespace or "all", entry.resource_version)
        for entry in snapshot.lists
        if entry.objects
    ]
    parts = (
        paragraph(headline(written), limit),
        columns(("KIND", "OBJECTS", "NAMESPACES", "RESOURCE VERSION"), rows, limit),
        paragraph(_moments(snapshot), limit),
    )
    return "\n\n".join(part for part in parts if part)


def headline(written: Written) -> str:
    snapshot = written.snapshot
    count = sum(entry.objects for entry in snapshot.lists)
    version = f", Kubernetes {snapshot.server_version}" if snapshot.server_version else ""
    return (
        f"wrote {written.file}: {counted(count, 'object')}, {_size(written.size)}\n"
        f"from {written.source}{version}"
    )


def _size(count: int) -> str:
    return f"{count / _MEGA:,.1f} MB" if count >= _MEGA else f"{count / _KILO:,.0f} kB"


def _moments(snapshot: ClusterSnapshot) -> str:
    apart = snapshot.revisions_apart
    if not snapshot.taken:
        return ""
    if apart is None:
        return "The lists were read one after the other."
    if apart == 0:
        return "The lists are of one revision of the cluster."
    return (
        f"The lists were read one after the other: the last is {counted(apart, 'revision')} newer "
        "than the first."
    )
