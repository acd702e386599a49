"""The device requests that stand for a pod's requests of extended resources: one per container and
resource; init containers use the devices of the containers that come later.

Upstream: plugins/dynamicresources/extendeddynamicresources.go (createRequestsAndMappings).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ksched_cli.cluster.objects import Container, DeviceRequest, ExactDeviceRequest, PodSpec
from ksched_cli.framework.device_classes import BackingClasses


@dataclass(frozen=True, slots=True)
class _Request:
    name: str
    count: int


def device_requests(
    spec: PodSpec, resources: Collection[str], classes: BackingClasses
) -> tuple[DeviceRequest, ...]:
    """In order of their names. resources: those that devices are to stand for."""
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
    """Of one resource. Init containers that end run one after another: the greatest of their
    requests does for all of them."""
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
    """What a container requests beyond the devices of others that it may use; None: nothing.

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
