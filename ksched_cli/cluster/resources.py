"""Requests of pods and amounts of nodes, as integers: cpu in thousandths, everything else in units.

Upstream: component-helpers/resource/helpers.go (PodRequests, AggregateContainerRequests) with the
options that pkg/scheduler/framework/types.go uses (PodInfo.CalculateResource, Resource.Add):
InPlacePodVerticalScaling is on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from ksched_cli.cluster.objects import (
    Container,
    ContainerStatus,
    Node,
    NodeAllocatableClaimStatus,
    Pod,
    PodSpec,
    ResourceRequirements,
)
from ksched_cli.kube.field_errors import is_extended_resource_name
from ksched_cli.kube.gates import POD_LEVEL_GATE, RESIZE_GATE
from ksched_cli.kube.quantity import MILLI, Quantity, milli_quantity
from ksched_cli.kube.versions import Release, Rules

CPU, MEMORY, EPHEMERAL_STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
NATIVE = (CPU, MEMORY, EPHEMERAL_STORAGE)
HUGE_PAGES_PREFIX = "hugepages-"
RESIZE_PENDING = "PodResizePending"

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
    unplaced: what the pod requests where it is to be placed, or to be resized; None for the same
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
    unplaced: PodResources | None = None
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


NODE_ALLOCATABLE_GATE = "DRANodeAllocatableResources"


class ClaimedAmounts(Struct, frozen=True):
    """What the claims of a pod take of its node's allocatable resources, beside its requests.

    fixed:        as long as the pod is there
    by_container: while the container of that name runs
    """

    fixed: Amounts = {}
    by_container: Mapping[str, Amounts] = {}


NOT_CLAIMED = ClaimedAmounts()


def claimed_amounts(statuses: Iterable[NodeAllocatableClaimStatus], rules: Rules) -> ClaimedAmounts:
    """Return what claims take of the node's resources, for the pod and for each container.
    Upstream: getDRANodeAllocatableResources, until 1.37 addDRANodeAllocatableClaimResources."""
    fixed: dict[str, Quantity] = {}
    by_container: dict[str, dict[str, Quantity]] = {}
    for status in statuses:
        if not rules.knows_device_overhead:
            _add(fixed, status.resources)
            continue
        for mapped in status.mapping:
            _add(fixed, {mapped.name: mapped.quantity or ZERO})
        for overhead in status.overhead:
            if overhead.per_pod is not None:
                _add(fixed, {overhead.name: overhead.per_pod})
            if overhead.per_container is None:
                continue
            for name in status.containers:
                ends = rules.ends_overhead_with_container
                charged = by_container.setdefault(name, {}) if ends else fixed
                _add(charged, {overhead.name: overhead.per_container})
    return ClaimedAmounts(fixed, by_container)


def claimed_by_container(
    container: str, statuses: Iterable[NodeAllocatableClaimStatus]
) -> dict[str, Quantity]:
    """Return what the claims that a container uses add to its limits. Upstream:
    GetContainerDRAAllocations."""
    total: dict[str, Quantity] = {}
    for status in statuses:
        if container in status.containers:
            for mapped in status.mapping:
                _add(total, {mapped.name: mapped.quantity or ZERO})
            for overhead in status.overhead:
                for amount in filter(None, (overhead.per_pod, overhead.per_container)):
                    _add(total, {overhead.name: amount})
    return total


def requests_rule(release: Release) -> Callable[..., PodResources]:
    """Return the function by which a release counts what pods request, whether or not it looks at
    requests of the pod as a whole, and without claims. Upstream: component-helpers' PodRequests."""
    resizes_pods = release.enabled("InPlacePodLevelResourcesVerticalScaling")
    if release.rules.sums_whole_pods:
        saturates = release.rules.saturates_sums
        return partial(summed_pod_resources, resizes_pods=resizes_pods, saturates=saturates)
    return resized_pod_resources if resizes_pods else pod_resources


def resources_rule(release: Release) -> Callable[[Pod], PodResources]:
    """Return the function by which a release counts pods."""
    count = requests_rule(release)
    if release.enabled(NODE_ALLOCATABLE_GATE):
        count = _with_claims(count, release.rules)
    if release.enabled(RESIZE_GATE):
        count = _with_resizes(count, release.rules)
    if not release.enabled(POD_LEVEL_GATE):
        return lambda pod: count(structs.replace(pod, spec=without_pod_level(pod.spec)))
    return count


_without_pod_level: WeakKeyDictionary[PodSpec, PodSpec] = WeakKeyDictionary()


def without_pod_level(spec: PodSpec) -> PodSpec:
    """Return the spec without requests of the pod as a whole (PodLevelResources is off); the same
    object for the same spec."""
    if spec.resources is None:
        return spec
    own = _without_pod_level.get(spec)
    if own is None:
        own = _without_pod_level[spec] = structs.replace(spec, resources=None)
    return own


def _with_claims(count: Callable[..., PodResources], rules: Rules) -> Callable[[Pod], PodResources]:
    """Count what claims take of a node, too (DRANodeAllocatableResources)."""

    def with_claims(pod: Pod) -> PodResources:
        # The claims of a pod that has no node yet are asked about anew.
        statuses = pod.status.node_allocatable_resource_claim_statuses
        resources = count(pod)
        if not statuses or not pod.node_name:
            return resources
        claimed = claimed_amounts(statuses, rules)
        return replace(count(pod, claimed=claimed), unplaced=resources)

    return with_claims


def _with_resizes(
    count: Callable[..., PodResources], rules: Rules
) -> Callable[[Pod], PodResources]:
    """Tell what the spec of a pod requests whose resize is deferred
    (InPlacePodVerticalScalingSchedulerPreemption). Upstream: ComputePodResourceRequest."""

    def with_resizes(pod: Pod) -> PodResources:
        resources = count(pod)
        if not resize_is_deferred(pod):
            return resources
        return replace(resources, unplaced=_template_resources(pod.spec, rules.saturates_sums))

    return with_resizes


def pod_resources(pod: Pod, claimed: ClaimedAmounts = NOT_CLAIMED) -> PodResources:
    """Return the usage of a pod; the same object for pods of one spec, except for resized ones, and
    those with claims that take something of their node."""
    statuses = pod.status.container_statuses or pod.status.init_container_statuses
    granted = _granted(pod) if statuses else {}
    if granted or claimed is not NOT_CLAIMED:
        infeasible = _resize_is_infeasible(pod)
        return _pod_resources(pod.spec, granted, infeasible, claimed=claimed)
    return _template_resources(pod.spec)


def resized_pod_resources(pod: Pod, claimed: ClaimedAmounts = NOT_CLAIMED) -> PodResources:
    """Return the same where the requests of the pod as a whole may be resized in place too
    (InPlacePodLevelResourcesVerticalScaling)."""
    status = pod.status
    pod_level = _pod_level(pod.spec) if status.resources is not None else {}
    if status.resources is None or not pod_level:
        return pod_resources(pod, claimed)
    infeasible = _resize_is_infeasible(pod)
    greatest = _effective(pod_level, status.resources, status.allocated_resources, infeasible)
    resized = {name: greatest.get(name, ZERO) for name in pod_level}
    return _pod_resources(pod.spec, _granted(pod), infeasible, resized, claimed=claimed)


def summed_pod_resources(
    pod: Pod,
    *,
    resizes_pods: bool,
    saturates: bool = False,
    claimed: ClaimedAmounts = NOT_CLAIMED,
) -> PodResources:
    """Return what a pod takes of its node, where each of what it asks for, what its node has
    granted and what runs is summed over the pod before the greatest counts (Rules.sums_whole_pods);
    the same object for pods of one spec without statuses.

    resizes_pods: the requests of the pod as a whole may be resized in place too
    saturates: see Rules.saturates_sums
    Upstream: PodRequests, AggregateContainerRequests of 1.37 on.
    """
    status = pod.status
    containers = status.container_statuses or status.init_container_statuses
    takes_more = claimed is not NOT_CLAIMED
    if not (containers or status.conditions or takes_more) and status.resources is None:
        return _template_resources(pod.spec, saturates)
    infeasible = _resize_is_infeasible(pod)
    statuses = {
        container.name: container
        for container in reversed((*status.container_statuses, *status.init_container_statuses))
        if container.resources is not None or container.allocated_resources
    }
    actuated = status.resources if resizes_pods else None
    if not statuses and not infeasible and actuated is None and not takes_more:
        return _template_resources(pod.spec, saturates)
    own: tuple[Amounts, ...] = ()
    if actuated is not None and actuated.requests and status.allocated_resources:
        own = (status.allocated_resources, actuated.requests)

    def aggregate(missing: Amounts) -> dict[str, Quantity]:
        spec, *granted = (
            _aggregate(pod.spec, *_asks(pod.spec, amounts), missing, also)
            for amounts, also in (
                (lambda container: container.resources.requests, claimed),
                (lambda container: _allocated(container, statuses, infeasible), claimed),
                # What runs has what claims take already.
                (lambda container: _actuated(container, statuses, infeasible), NOT_CLAIMED),
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
    """Return what the node allocated to the container; else what it requests, or nothing if its
    resize is infeasible. Upstream: containerAllocatedRequests."""
    status = statuses.get(container.name)
    if status is not None and status.allocated_resources:
        return status.allocated_resources
    return {} if infeasible else container.resources.requests


def _actuated(
    container: Container, statuses: Mapping[str, ContainerStatus], infeasible: bool
) -> Amounts:
    """Return what the running container was given, else what is allocated to it. Upstream:
    containerActuatedRequests."""
    status = statuses.get(container.name)
    if status is not None and status.resources is not None and status.resources.requests:
        return status.resources.requests
    return _allocated(container, statuses, infeasible)


def pod_level_requests(spec: PodSpec, rules: Rules) -> Amounts:
    """Return the requests of the pod as a whole, with those that the API server fills in."""
    return _filled_pod_level(spec) if rules.sums_whole_pods else _pod_level(spec)


def pod_level_limits(spec: PodSpec) -> Amounts:
    """Return the limits of the pod as a whole, with those that the API server fills in: where every
    container has one, the greater of their sum and the request. Upstream: defaultPodLevelLimits."""
    if spec.resources is None:
        return {}
    limits: dict[str, Quantity] = dict(spec.resources.limits)
    containers = (*spec.containers, *spec.init_containers)
    sums = aggregate_limits(spec)
    for name, request in _filled_pod_level(spec).items():
        if name not in limits and all(name in each.resources.limits for each in containers):
            limits[name] = max(request, sums[name])
    return limits


def aggregate_requests(spec: PodSpec, claimed: ClaimedAmounts = NOT_CLAIMED) -> dict[str, Quantity]:
    """Return what the containers request together, with what claims take."""
    asks = _asks(spec, lambda container: container.resources.requests)
    return _aggregate(spec, *asks, {}, claimed)


def aggregate_limits(spec: PodSpec, claimed: ClaimedAmounts = NOT_CLAIMED) -> dict[str, Quantity]:
    """Return the limits of the containers together, with what claims take."""
    asks = _asks(spec, lambda container: container.resources.limits)
    return _aggregate(spec, *asks, {}, claimed)


def claimed_requests(spec: PodSpec, claimed: ClaimedAmounts, rules: Rules) -> dict[str, int]:
    """Return what a pod that is to be placed takes of a node, with what its claims take there."""
    pod_level = pod_level_requests(spec, rules)
    total = _of_pod(spec, aggregate_requests(spec, claimed), pod_level)
    return _integers(total, rules.saturates_sums)


def node_allocatable(node: Node, saturates: bool = False) -> dict[str, int]:
    """Return the allocatable amounts that a scheduler counts: "pods" too, no names it does not
    know. saturates: see Rules.saturates_sums"""
    return _integers(node.status.allocatable, saturates)


@lru_cache(maxsize=4096)
def is_scalar_resource(name: str) -> bool:
    """Return whether it is an extended resource, huge pages or an attachable volume. Upstream:
    IsScalarResourceName."""
    return (
        is_extended_resource_name(name)
        or "kubernetes.io/" in name
        or name.startswith((HUGE_PAGES_PREFIX, "attachable-volumes-"))
    )


def is_pod_level_resource(name: str) -> bool:
    """Return whether a pod as a whole may request it. Upstream: IsSupportedPodLevelResource."""
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES_PREFIX)


class ContainerRequests(Struct, frozen=True):
    """A container's requests, and whether it is a sidecar."""

    amounts: Amounts
    is_sidecar: bool = False


def aggregate_containers(
    containers: Iterable[Amounts], init_containers: Iterable[ContainerRequests]
) -> dict[str, Quantity]:
    """Return what the containers need together: all that run side by side, or the greatest init
    container with the sidecars started before it, whichever is more."""
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
    claimed: ClaimedAmounts = NOT_CLAIMED,
) -> PodResources:
    """Return what a pod takes of its node. resized: the requests of the pod as a whole, if they are
    not those of the spec"""
    containers = [_ask(container, granted, infeasible) for container in spec.containers]
    inits = [
        ContainerRequests(_ask(c, granted if c.is_sidecar else {}, infeasible), c.is_sidecar)
        for c in spec.init_containers
    ]

    def aggregate(missing: Amounts) -> dict[str, Quantity]:
        return _aggregate(spec, containers, inits, missing, claimed)

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
    """Return what a pod takes of its node, from what its containers ask for together. aggregate:
    that, where one that lacks one of the amounts counts as having asked for it; effective: takes
    the place of `pod_level`"""
    requests = _of_pod(spec, aggregate({}), effective)
    # The amounts that count for a container without a request: with pod-level requests only what
    # nobody asked for. Upstream: getNonMissingContainerRequests.
    missing: Amounts = NONZERO
    if pod_level:
        missing = {name: amount for name, amount in NONZERO.items() if name not in requests}
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


def _aggregate(
    spec: PodSpec,
    containers: Iterable[Amounts],
    inits: Iterable[ContainerRequests],
    missing: Amounts,
    claimed: ClaimedAmounts = NOT_CLAIMED,
) -> dict[str, Quantity]:
    """Return what the containers need together with what claims take, where a container that lacks
    one of `missing` asks for it."""

    def counted(container: Container, amounts: Amounts) -> Amounts:
        all_amounts = {**missing, **amounts}
        _add(all_amounts, claimed.by_container.get(container.name, {}))
        return all_amounts

    total = aggregate_containers(
        map(counted, spec.containers, containers),
        [
            ContainerRequests(counted(container, ask.amounts), ask.is_sidecar)
            for container, ask in zip(spec.init_containers, inits, strict=True)
        ],
    )
    _add(total, claimed.fixed)
    return total


def _of_pod(spec: PodSpec, total: dict[str, Quantity], pod_level: Amounts) -> dict[str, Quantity]:
    """Return a pod's requests, given those of its containers."""
    total.update(pod_level)
    _add(total, spec.overhead)
    return total


def _pod_level(spec: PodSpec) -> Amounts:
    """Return the requests of the pod as a whole, which take the place of its containers' sum."""
    if spec.resources is None:
        return {}
    return {n: a for n, a in spec.resources.requests.items() if is_pod_level_resource(n)}


def _filled_pod_level(spec: PodSpec) -> Amounts:
    """Return what the pod as a whole requests. If it requests anything, cpu and memory that it does
    not name are what its containers request. Upstream: defaultPodLevelRequests of 1.37 on; without
    statuses it changes no sum."""
    pod_level = _pod_level(spec)
    if not pod_level:
        return pod_level
    requested = aggregate_requests(spec)
    return {**{n: requested[n] for n in (CPU, MEMORY) if n in requested}, **pod_level}


def _ask(container: Container, granted: Mapping[str, ContainerStatus], infeasible: bool) -> Amounts:
    """Return a container's request, or what it has while a resize is under way."""
    status = granted.get(container.name)
    requests = container.resources.requests
    if status is None or status.resources is None:
        return requests
    return _effective(requests, status.resources, status.allocated_resources, infeasible)


def _effective(
    requests: Amounts, actuated: ResourceRequirements, allocated: Amounts, infeasible: bool
) -> Amounts:
    """Return the greatest of what is requested, unless that is infeasible, what the node has
    granted and what runs. Upstream: determineEffectiveRequests."""
    greatest: dict[str, Quantity] = {} if infeasible else dict(requests)
    _raise(greatest, actuated.requests)
    _raise(greatest, allocated)
    return greatest


def _granted(pod: Pod) -> dict[str, ContainerStatus]:
    """Return, by container, the status that says what it was granted. Upstream lets the last of a
    name win."""
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    by_name = {status.name: status for status in statuses}
    return {name: status for name, status in by_name.items() if status.resources is not None}


def _resize_is_infeasible(pod: Pod) -> bool:
    return _why_resize_waits(pod) == "Infeasible"


def resize_is_deferred(pod: Pod) -> bool:
    """Return whether the pod runs, and its node has no room for what it is to have. Upstream:
    IsPodResizeDeferred."""
    return bool(pod.node_name) and _why_resize_waits(pod) == "Deferred"


def _why_resize_waits(pod: Pod) -> str:
    pending = next((c for c in pod.status.conditions if c.type == RESIZE_PENDING), None)
    return "" if pending is None else pending.reason


def _integers(amounts: Amounts, saturates: bool = False) -> dict[str, int]:
    """Return the amounts as whole numbers, cpu in milli. Upstream: Resource.Add."""
    scaled = Quantity.saturated_value if saturates else Quantity.scaled_value
    return {
        name: scaled(amount, MILLI if name == CPU else 0)
        for name, amount in amounts.items()
        if name in (*NATIVE, PODS) or is_scalar_resource(name)
    }
