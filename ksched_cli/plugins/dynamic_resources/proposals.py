"""What would let claims for devices be allocated: an object that is missing, fewer devices of a
request, or a request without selectors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ksched_cli.cluster.objects import ResourceClaim
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.interface import Proposal
from ksched_cli.framework.resource_claims import ClaimError, ClaimStore, claim_name
from ksched_cli.plugins.dynamic_resources.requests import ALLOCATION_RESULTS_MAX_SIZE

MAX_LISTED = 3  # classes or drivers, of which one is to be chosen


def for_pod(pod: PodInfo, store: ClaimStore, cluster: ClusterState) -> Iterator[Proposal]:
    """About the first claim of the pod that is missing, or that requests devices of a class that
    is. A claim that is made from a template is its controller's to make."""
    for reference in pod.spec.resource_claims:
        try:
            name, _ = claim_name(pod, reference)
        except ClaimError:
            return
        claim = store.get(pod.namespace, name) if name is not None else None
        if claim is None and reference.resource_claim_name:
            yield from _created_claims(pod.namespace, reference.resource_claim_name, cluster)
            return
        for missing in _class_names(claim):
            if missing not in cluster.device_classes:
                yield from _created_classes(missing, cluster)
                return


def _class_names(claim: ResourceClaim | None) -> Iterator[str]:
    for request in claim.spec.devices.requests if claim is not None else ():
        if request.exactly is not None:
            yield request.exactly.device_class_name
        yield from (each.device_class_name for each in request.first_available)


def _created_claims(namespace: str, name: str, cluster: ClusterState) -> Iterator[Proposal]:
    for index, device_class in enumerate(sorted(cluster.device_classes)[:MAX_LISTED]):
        request = {"name": "device", "exactly": {"deviceClassName": device_class, "count": 1}}
        spec = {"devices": {"requests": [request]}}
        line = _applied("ResourceClaim", {"name": name, "namespace": namespace}, spec)
        text = f"create ResourceClaim {namespace}/{name}, of one device of class {device_class}"
        yield Proposal("object", text, (line,), amount=index)


def _created_classes(name: str, cluster: ClusterState) -> Iterator[Proposal]:
    drivers = sorted({each.spec.driver for each in cluster.resource_slices.values()})
    for index, driver in enumerate(drivers[:MAX_LISTED]):
        spec = {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]}
        text = f"create DeviceClass {name}, of the devices of {driver}"
        yield Proposal(
            "object", text, (_applied("DeviceClass", {"name": name}, spec),), amount=index
        )


def _applied(kind: str, metadata: Mapping[str, str], spec: Mapping[str, Any]) -> str:
    manifest = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }
    return f"apply -f '{json.dumps(manifest, separators=(',', ':'))}'"


def relaxed(claims: Iterable[ResourceClaim]) -> Iterator[Proposal]:
    """Fewer devices of one request of a claim that is not allocated, as only runs tell how many
    fewer are enough; or no selectors of that request."""
    for claim in claims:
        if claim.status.allocation is not None:
            continue
        line = f"patch resourceclaim/{claim.name} -n {claim.namespace} --type=json"
        for index, request in enumerate(claim.spec.devices.requests):
            if request.exactly is None:
                continue
            path = f"/spec/devices/requests/{index}/exactly"
            name, most = f"{request.name} of claim {claim.key}", request.exactly.count
            for count in range(min(most - 1, ALLOCATION_RESULTS_MAX_SIZE), 0, -1):
                patch = json.dumps([{"op": "replace", "path": f"{path}/count", "value": count}])
                devices = "1 device" if count == 1 else f"{count} devices"
                text = f"request only {devices} in {name}"
                yield Proposal("claim", text, (f"{line} -p '{patch}'",), amount=most - count)
            if request.exactly.selectors:
                patch = json.dumps([{"op": "remove", "path": f"{path}/selectors"}])
                text = f"do not select devices in {name}"
                yield Proposal("claim", text, (f"{line} -p '{patch}'",), amount=1)
