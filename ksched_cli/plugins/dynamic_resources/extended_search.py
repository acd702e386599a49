"""Allocates a pod's claims and the devices that back its extended resources, on every node: the
claim for the latter differs by which resources a node's device plugins offer.

One request stands for each container and resource; init containers use the devices of the
containers that come later.

Upstream: plugins/dynamicresources/extendeddynamicresources.go (filterExtendedResources,
createRequestsAndMappings).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from ksched_cli.cluster.objects import (
    AllocationResult,
    Container,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ObjectMeta,
    OwnerReference,
    PodSpec,
    ResourceClaim,
    ResourceClaimSpec,
)
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.device_classes import BackingClasses, is_dra_resource_name
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.resource_claims import (
    CLAIM_ANNOTATION,
    EXTENDED_RESOURCES,
    ClaimStore,
)
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.plugins.dynamic_resources.search import DeviceSearch


@dataclass(frozen=True, slots=True)
class _Request:
    name: str
    count: int


def device_requests(
    spec: PodSpec, resources: Collection[str], classes: BackingClasses
) -> tuple[DeviceRequest, ...]:
    """Return the requests in order of their names. resources: those that devices are to stand
    for."""
    containers = (*spec.init_containers, *spec.containers)
    init_count = len(spec.init_containers)
    requests: list[DeviceRequest] = []
    for resource in sorted(resources):
        device_class = classes.of(resource)
        if device_class is None:
            continue
        for request in _requests_of(containers, init_count, resource):
            exactly = ExactDeviceRequest(device_class_name=device_class.name, count=request.count)
            requests.append(DeviceRequest(name=request.name, exactly=exactly))
    return tuple(sorted(requests, key=lambda request: request.name))


def has_mappings(spec: PodSpec, resources: Collection[str]) -> bool:
    """Whether a container requests any of the resources."""
    return any(
        _amount(container, resource)
        for container in (*spec.init_containers, *spec.containers)
        for resource in resources
    )


def _requests_of(containers: Sequence[Container], init_count: int, resource: str) -> list[_Request]:
    """The containers' requests for one resource. Init containers that end run one after another:
    the greatest of their requests does for all of them."""
    long_lived: list[_Request | None] = [
        None
        if index < init_count and not container.is_sidecar
        else _request(index, container, resource, ())
        for index, container in enumerate(containers)
    ]
    greatest: _Request | None = None
    for index, container in enumerate(containers[:init_count]):
        if container.is_sidecar:
            continue
        request = _request(index, container, resource, long_lived[index:])
        if request is not None and (greatest is None or greatest.count < request.count):
            greatest = request
    return [request for request in (greatest, *long_lived) if request is not None]


def _request(
    index: int, container: Container, resource: str, reusable: Sequence[_Request | None]
) -> _Request | None:
    """Return what a container requests beyond the devices of others that it may use; None: nothing.

    Upstream: createResourceRequestAndMappings.
    """
    amount = _amount(container, resource)
    if not amount:
        return None
    position = sorted(container.resources.requests).index(resource)
    request = _Request(f"container-{index}-request-{position}", amount)
    available = sum(each.count for each in reusable if each is not None)
    return None if available >= amount else replace(request, count=amount - available)


def _amount(container: Container, resource: str) -> int:
    quantity = container.resources.requests.get(resource)
    return 0 if quantity is None else quantity.value()


STALE_CLAIM = Status.unresolvable("cannot schedule extended resource claim")
NO_SUCH_RESOURCE = Status.unresolvable("cannot fit resource")

_Resources = frozenset[str]


def claim_for(pod: PodInfo) -> ResourceClaim:
    """The claim for a pod's extended resources, before it is known what it requests."""
    owner = OwnerReference("v1", "Pod", pod.name, pod.uid, True)
    metadata = ObjectMeta(
        name=EXTENDED_RESOURCES,
        namespace=pod.namespace,
        uid=f"{pod.uid}/{EXTENDED_RESOURCES}",
        annotations={CLAIM_ANNOTATION: "true"},
        owner_references=(owner,),
    )
    return ResourceClaim(metadata=metadata)


class ExtendedSearch(DeviceSearch):
    """The possible allocations of a pod's claims, the one for its extended resources last.

    claims: those of the pod's own that are to be allocated
    claim:  the one for its extended resources; one of an earlier attempt fits nowhere
    has_claims: the pod has claims of its own, allocated or not
    """

    def __init__(
        self,
        handle: Handle,
        pod: PodInfo,
        claims: Sequence[ResourceClaim],
        claim: ResourceClaim,
        seconds: float,
        has_claims: bool,
    ) -> None:
        self._handle = handle
        self._pod = pod
        self._own_claims = list(claims)
        self.claim = claim
        self._seconds = seconds
        self._has_claims = has_claims
        self._backing = handle.service(BackingClasses)
        self._searches: dict[_Resources, DeviceSearch] = {}
        self._backed_resources = sorted(self._backing.requested(pod))
        self._resources_of_row, self._lacking = self._by_row()

    @property
    def is_stale(self) -> bool:
        return self.claim.name != EXTENDED_RESOURCES

    def _by_row(self) -> tuple[list[_Resources], NDArray[np.bool_]]:
        """Per row the resources that devices stand for, and whether it lacks another one."""
        snapshot = self._handle.snapshot
        rows: list[set[str]] = [set() for _ in snapshot.names]
        for resource in self._backed_resources:
            for row in np.flatnonzero(snapshot.allocatable(resource) == 0).tolist():
                rows[row].add(resource)
        others = [
            name
            for name, amount in self._pod.resources.others.items()
            if amount and is_dra_resource_name(name) and name not in self._backed_resources
        ]
        lacking = [
            any(name not in node.status.allocatable for name in others) for node in snapshot.nodes
        ]
        return [frozenset(each) for each in rows], np.array(lacking, dtype=np.bool_)

    def verdicts(self, nodes: Nodes) -> Verdicts:
        statuses = [SUCCESS] * len(nodes)
        if self.is_stale:
            return Verdicts.of([STALE_CLAIM] * len(nodes))
        positions: dict[_Resources, list[int]] = {}
        rows = nodes.indices()
        for position, row in enumerate(rows.tolist()):
            resources = self._resources_of_row[row]
            if self._lacking[row]:
                statuses[position] = NO_SUCH_RESOURCE
            elif resources or self._has_claims:
                positions.setdefault(resources, []).append(position)
        for resources, chosen in positions.items():
            search = self._search(resources)
            verdicts = search.verdicts(Nodes(nodes.snapshot, rows[np.array(chosen)]))
            for position, status_id in zip(chosen, verdicts.ids.tolist(), strict=True):
                statuses[position] = verdicts.statuses[status_id]
        return Verdicts.of(statuses)

    def _search(self, resources: _Resources) -> DeviceSearch:
        search = self._searches.get(resources)
        if search is None:
            claims = [*self._own_claims, self._claim_with(resources)]
            search = DeviceSearch(self._handle, claims, self._seconds)
            self._searches[resources] = search
        return search

    def _claim_with(self, resources: _Resources) -> ResourceClaim:
        requests = device_requests(self._pod.spec, resources, self._backing)
        return structs.replace(
            self.claim, spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests))
        )

    def claim_on(self, row: int) -> ResourceClaim:
        """The claim for the extended resources as a node needs it."""
        return self._claim_with(self._resources_of_row[row])

    def has_mappings(self, row: int) -> bool:
        return has_mappings(self._pod.spec, self._resources_of_row[row])

    def allocations(self, row: int) -> list[AllocationResult] | None:
        search = self._searches.get(self._resources_of_row[row])
        return None if search is None else search.allocations(row)

    def lines(self, row: int, store: ClaimStore) -> list[str]:
        search = self._searches.get(self._resources_of_row[row])
        return [] if search is None else search.lines(row, store)
