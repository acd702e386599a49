"""A state as the objects of a file that --state reads."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.objects import Manifest, objects_of, plain_object


def manifests(state: ClusterState) -> Iterator[bytes]:
    """Each object as JSON, pods with the node and the status that they have now."""
    for kind in KINDS.values():
        for obj in objects_of(state, kind).values():
            data = plain_object(kind, obj)
            if isinstance(obj, Pod):
                _renew(data, obj)
            yield msgspec.json.encode(data)
    for objects in state.others.values():
        for other in objects:
            yield msgspec.json.encode(other)


def _renew(data: Manifest, pod: Pod) -> None:
    status = {**(data.get("status") or {}), "phase": "Running" if pod.node_name else "Pending"}
    fields = {
        "startTime": pod.status.start_time if pod.node_name else "",
        "nominatedNodeName": pod.status.nominated_node_name,
    }
    status |= {name: value for name, value in fields.items() if value}
    if pod.finished:
        status["phase"] = pod.status.phase
    conditions = [
        {"type": each.type, "status": each.status, "reason": each.reason, "message": each.message}
        for each in pod.status.conditions
    ]
    if conditions:
        status["conditions"] = conditions
    data["status"] = status
    if not pod.node_name:
        data["spec"].pop("nodeName", None)
    if pod.deleting:
        data["metadata"]["deletionTimestamp"] = pod.metadata.deletion_timestamp
