"""Requests of pods and amounts of nodes, as integers: cpu in thousandths, everything else in units.

Upstream: component-helpers/resource/helpers.go (PodRequests, AggregateContainerRequests) with the
options that pkg/scheduler/framework/types.go uses (PodInfo.CalculateResource, Resource.Add):
InPlacePodVerticalScaling and PodLevelResources are on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.cluster.objects import (
    Container,
    ContainerStatus,
    Node,
    Pod,
    PodSpec,
    ResourceRequirements,
)
from ksched_cli.kube.field_errors import is_extended_resource_name
from ksched_cli.kube.quantity import MILLI, Quantity, milli_quantity
from ksched_cli.kube.versions import Release

CPU, MEMORY, EPHEMERAL_STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
HUGE_PAGES_PREFIX = "hugepages-"

Amounts = Mapping[str, Quantity]
ZERO = Quantity(0)

# 4 TiB, as bytes: a node would need thousands of such pods before a score overflows.
HUGE = 1 << 42
MANY_PODS = 1 << 11

# Upstream: pkg/scheduler/util/pod_resources.go.
NONZERO: Amounts = {CPU: milli_quantity(100), MEMORY: Quantity(200 * 1024 * 1024)}


@dataclass(frozen=True, slots=True)
class PodResources:
    """requests: resource → amount. nonzero_*: the same, but a container without the resource counts
    for a little (100m, 200 MiB), so that such pods spread too. Do not change the maps.

    scoring: as nonzero_*, for all resources, but without the requests of the pod as a whole: that
             is what upstream's NodeResourcesFit scores by up to 1.37, where nothing switches them
             on
    whole_scoring: the same with the requests of the pod as a whole
    huge:    sums of such amounts may overflow, or not grow, as some are negative
    usage:   what it adds to a column of Snapshot.usage; others: the requests that are not in there
    principal: the requests of cpu and memory
    """

    requests: dict[str, int]
    nonzero_cpu: int
    nonzero_memory: int
    scoring: dict[str, int]
    whole_scoring: dict[str, int]
    huge: bool = False
    usage: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    others: dict[str, int] = field(init=False, repr=False, compare=False)
    principal: tuple[int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        principal = (self.requests.get(CPU, 0), self.requests.get(MEMORY, 0))
        object.__setattr__(self, "principal", principal)
        usage = np.array((*principal, 1, self.nonzero_cpu, self.nonzero_memory), dtype=np.int64)
        object.__setattr__(self, "usage", usage)
        others = {n: amount for n, amount in self.requests.items() if n not in (CPU, MEMORY)}
        object.__setattr__(self, "others", others)


def resources_rule(release: Release) -> Callable[[Pod], PodResources]:
    """Return the function by which a release counts pods."""
    resizes_pods = release.enabled("InPlacePodLevelResourcesVerticalScaling")
    if release.rules.sums_whole_pods:
        saturates = release.rules.saturates_sums
        return partial(summed_pod_resources, resizes_pods=resizes_pods, saturates=saturates)
    return resized_pod_resources if resizes_pods else pod_resources


def pod_resources(pod: Pod) -> PodResources:
    """Return the usage of a pod; the same object for pods of one spec, except for resized ones."""
    statuses = pod.status.container_statuses or pod.status.init_container_statuses
    if statuses and (granted := _granted(pod)):
        return _pod_resources(pod.spec, granted, _resize_is_infeasible(pod))
    return _template_resources(pod.spec)


def resized_pod_resources(pod: Pod) -> PodResources:
    """The same where the requests of the pod as a whole may be resized in place too
    (InPlacePodLevelResourcesVerticalScaling)."""
    status = pod.status
    pod_level = _pod_level(pod.spec) if status.resources is not None else {}
    if status.resources is None or not pod_level:
        return pod_resources(pod)
    infeasible = _resize_is_infeasible(pod)
    greatest = _effective(pod_level, status.resources, status.allocated_resources, infeasible)
    resized = {name: greatest.get(name, ZERO) for name in pod_level}
    return _pod_resources(pod.spec, _granted(pod), infeasible, resized)


def summed_pod_resources(pod: Pod, *, resizes_pods: bool, saturates: bool = False) -> PodResources:
    """What a pod takes of its node, where each of what it asks for, what its node has granted and
    what runs is summed over the pod before the greatest counts (Rules.sums_whole_pods); the same
    object for pods of one spec without statuses.

    resizes_pods: the requests of the pod as a whole may be resized in place too
    saturates: see Rules.saturates_sums
    Upstream: PodRequests, AggregateContainerRequests of 1.37 on.
    """
    status = pod.status
    containers = status.container_statuses or status.init_container_statuses
    if not (containers or status.conditions) and status.resources is None:
        return _template_resources(pod.spec, saturates)
    infeasible = _resize_is_infeasible(pod)
    statuses = {
        container.name: container
        for container in reversed((*status.container_statuses, *status.init_container_statuses))
        if container.resources is not None or container.allocated_resources
    }
    actuated = status.resources if resizes_pods else None
    if not statuses and not infeasible and actuated is None:
        return _template_resources(pod.spec, saturates)
    own: tuple[Amounts, ...] = ()
    if actuated is not None and actuated.requests and status.allocated_resources:
        own = (status.allocated_resources, actuated.requests)

    def aggregate(missing: Amounts) -> dict[str, Quantity]:
        spec, *granted = (
            aggregate_containers(*_with_nonzero_defaults(*_asks(pod.spec, amounts), missing))
            for amounts in (
                lambda container: container.resources.requests,
                lambda container: _allocated(container, statuses, infeasible),
                lambda container: _actuated(container, statuses, infeasible),
            )
        )
        greatest = {} if infeasible else spec
        for sums in own or granted:
            _raise(greatest, sums)
        return greatest

    pod_level = effective = _filled_pod_level(pod.spec)
    if pod_level and actuated is not None:
        most = _effective(pod_level, actuated, status.allocated_resources, infeasible)
        effective = {name: most[name] for name in most if is_pod_level_resource(name)}
    return _of_sums(pod.spec, aggregate, pod_level, effective, saturates)


def _asks(
    spec: PodSpec, amounts: Callable[[Container], Amounts]
) -> tuple[list[Amounts], list[ContainerRequests]]:
    """Return what the containers and init containers of a pod request."""
    inits = [ContainerRequests(amounts(c), c.is_sidecar) for c in spec.init_containers]
    return [amounts(container) for container in spec.containers], inits


def _allocated(
    container: Container, statuses: Mapping[str, ContainerStatus], infeasible: bool
) -> Amounts:
    """Upstream: containerAllocatedRequests."""
    status = statuses.get(container.name)
    if status is not None and status.allocated_resources:
        return status.allocated_resources
    return {} if infeasible else container.resources.requests


def _actuated(
    container: Container, statuses: Mapping[str, ContainerStatus], infeasible: bool
) -> Amounts:
    """Upstream: containerActuatedRequests."""
    status = statuses.get(container.name)
    if status is not None and status.resources is not None and status.resources.requests:
        return status.resources.requests
    return _allocated(container, statuses, infeasible)


def node_allocatable(node: Node, saturates: bool = False) -> dict[str, int]:
    """Return the allocatable amounts that a scheduler counts: "pods" too, no names it does not
    know. saturates: see Rules.saturates_sums"""
    return _integers(node.status.allocatable, saturates)


@lru_cache(maxsize=4096)
def is_scalar_resource(name: str) -> bool:
    """Extended resources, huge pages, attachable volumes. Upstream: IsScalarResourceName."""
    return (
        is_extended_resource_name(name)
        or "kubernetes.io/" in name
        or name.startswith((HUGE_PAGES_PREFIX, "attachable-volumes-"))
    )


def is_pod_level_resource(name: str) -> bool:
    """Upstream: IsSupportedPodLevelResource."""
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES_PREFIX)


class ContainerRequests(Struct, frozen=True):
    """A container's requests, and whether it is a sidecar."""

    amounts: Amounts
    is_sidecar: bool = False


def aggregate_containers(
    containers: Iterable[Amounts], init_containers: Iterable[ContainerRequests]
) -> dict[str, Quantity]:
    """What the containers need together: all that run side by side, or the greatest init container
    with the sidecars started before it, whichever is more.
    """
    total: dict[str, Quantity] = {}
    for amounts in containers:
        _add(total, amounts)
    sidecars: dict[str, Quantity] = {}
    greatest: dict[str, Quantity] = {}
    for ask in init_containers:
        if ask.is_sidecar:
            _add(total, ask.amounts)
            _add(sidecars, ask.amounts)
            _raise(greatest, sidecars)
        else:
            starting = dict(ask.amounts)
            _add(starting, sidecars)
            _raise(greatest, starting)
    _raise(total, greatest)
    return total


def _add(total: dict[str, Quantity], amounts: Amounts) -> None:
    for name, amount in amounts.items():
        sum_before = total.get(name)
        total[name] = amount if sum_before is None else sum_before + amount


def _raise(greatest: dict[str, Quantity], amounts: Amounts) -> None:
    for name, amount in amounts.items():
        maximum = greatest.get(name)
        if maximum is None or amount > maximum:
            greatest[name] = amount


# By `saturates`.
_by_template: tuple[WeakKeyDictionary[PodSpec, PodResources], ...] = (
    WeakKeyDictionary(),
    WeakKeyDictionary(),
)


def _template_resources(spec: PodSpec, saturates: bool = False) -> PodResources:
    by_template = _by_template[saturates]
    resources = by_template.get(spec)
    if resources is None:
        resources = _pod_resources(spec, {}, infeasible=False, saturates=saturates)
        by_template[spec] = resources
    return resources


def _pod_resources(
    spec: PodSpec,
    granted: Mapping[str, ContainerStatus],
    infeasible: bool,
    resized: Amounts | None = None,
    saturates: bool = False,
) -> PodResources:
    """resized: the requests of the pod as a whole, where they are not those of the spec"""
    containers = [_ask(container, granted, infeasible) for container in spec.containers]
    inits = [
        ContainerRequests(_ask(c, granted if c.is_sidecar else {}, infeasible), c.is_sidecar)
        for c in spec.init_containers
    ]

    def aggregate(missing: Amounts) -> dict[str, Quantity]:
        return aggregate_containers(*_with_nonzero_defaults(containers, inits, missing))

    pod_level = _pod_level(spec)
    effective = pod_level if resized is None else resized
    return _of_sums(spec, aggregate, pod_level, effective, saturates)


def _of_sums(
    spec: PodSpec,
    aggregate: Callable[[Amounts], dict[str, Quantity]],
    pod_level: Amounts,
    effective: Amounts,
    saturates: bool,
) -> PodResources:
    """aggregate: what the containers ask for together, where one that lacks one of the amounts
    counts as having asked for it; effective: takes the place of `pod_level`"""
    requests = _of_pod(spec, aggregate({}), effective)
    missing = _nonmissing(pod_level, requests)
    counted = _integers(_of_pod(spec, aggregate(missing), effective), saturates)
    requested = _integers(requests, saturates)
    scored = wholly_scored = _integers(_of_pod(spec, aggregate(NONZERO), {}), saturates)
    if effective:
        filled = {**_filled_pod_level(spec), **effective}
        wholly_scored = _integers(_of_pod(spec, aggregate(NONZERO), filled), saturates)
    amounts = (*requested.values(), *counted.values(), *scored.values(), *wholly_scored.values())
    huge = max(amounts, default=0) >= HUGE or min(amounts, default=0) < 0
    cpu, memory = counted.get(CPU, 0), counted.get(MEMORY, 0)
    return PodResources(requested, cpu, memory, scored, wholly_scored, huge)


def _with_nonzero_defaults(
    containers: Iterable[Amounts], inits: Iterable[ContainerRequests], missing: Amounts
) -> tuple[list[Amounts], list[ContainerRequests]]:
    """The containers, where one that lacks one of `missing` asks for it."""
    return (
        [{**missing, **amounts} for amounts in containers],
        [ContainerRequests({**missing, **ask.amounts}, ask.is_sidecar) for ask in inits],
    )


def _of_pod(spec: PodSpec, total: dict[str, Quantity], pod_level: Amounts) -> dict[str, Quantity]:
    """Return a pod's requests, given those of its containers."""
    total.update(pod_level)
    _add(total, spec.overhead)
    return total


def _pod_level(spec: PodSpec) -> Amounts:
    """The requests of the pod as a whole, which take the place of its containers' sum."""
    if spec.resources is None:
        return {}
    return {n: a for n, a in spec.resources.requests.items() if is_pod_level_resource(n)}


def _filled_pod_level(spec: PodSpec) -> Amounts:
    """With what its containers request of cpu and memory where the pod as a whole requests only one
    of them. Upstream: defaultPodLevelRequests of 1.37 on; without statuses it changes no sum."""
    pod_level = _pod_level(spec)
    if not pod_level:
        return pod_level
    requested = aggregate_containers(*_asks(spec, lambda container: container.resources.requests))
    return {**{n: requested[n] for n in (CPU, MEMORY) if n in requested}, **pod_level}


def _nonmissing(pod_level: Amounts, requests: Amounts) -> Amounts:
    """Return the amount that counts for a container without a request.

    With pod-level requests only what nobody asked for. Upstream: getNonMissingContainerRequests.
    """
    if not pod_level:
        return NONZERO
    return {name: amount for name, amount in NONZERO.items() if name not in requests}


def _ask(container: Container, granted: Mapping[str, ContainerStatus], infeasible: bool) -> Amounts:
    """A container's request, or what it has while a resize is under way."""
    status = granted.get(container.name)
    requests = container.resources.requests
    if status is None or status.resources is None:
        return requests
    return _effective(requests, status.resources, status.allocated_resources, infeasible)


def _effective(
    requests: Amounts, actuated: ResourceRequirements, allocated: Amounts, infeasible: bool
) -> Amounts:
    """The greatest of what is requested, unless that is infeasible, what the node has granted and
    what runs. Upstream: determineEffectiveRequests."""
    greatest: dict[str, Quantity] = {} if infeasible else dict(requests)
    _raise(greatest, actuated.requests)
    _raise(greatest, allocated)
    return greatest


def _granted(pod: Pod) -> dict[str, ContainerStatus]:
    """Statuses that say what their container was granted. Upstream lets the last of a name win."""
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    by_name = {status.name: status for status in statuses}
    return {name: status for name, status in by_name.items() if status.resources is not None}


def _resize_is_infeasible(pod: Pod) -> bool:
    pending = next((c for c in pod.status.conditions if c.type == "PodResizePending"), None)
    return pending is not None and pending.reason == "Infeasible"


def _integers(amounts: Amounts, saturates: bool = False) -> dict[str, int]:
    """Upstream: Resource.Add."""
    scaled = Quantity.saturated_value if saturates else Quantity.scaled_value
    return {
        name: scaled(amount, MILLI if name == CPU else 0)
        for name, amount in amounts.items()
        if name in (CPU, MEMORY, EPHEMERAL_STORAGE, PODS) or is_scalar_resource(name)
    }
