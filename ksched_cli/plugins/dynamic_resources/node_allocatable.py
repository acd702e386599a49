"""Devices that are a part of their node's allocatable resources, or take from them beside
(DRANodeAllocatableResources): a claim for cores is cpu of the node, a GPU needs memory of its host.

What a pod's claims take is known when devices are allocated on a node. The pod has to fit there
with that, and once it is there its status says so, by which it counts for other pods.

Upstream: plugins/dynamicresources/nodeallocatabledynamicresources.go; of 1.36, whose devices have
one mapping per resource, framework/types.go (NodeAllocatableDRAClaimState), too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec.structs import replace

from ksched_cli.cluster.node_affinity import node_terms
from ksched_cli.cluster.objects import (
    AllocationResult,
    Device,
    DeviceRequestAllocationResult,
    MappedResource,
    NodeAllocatableClaimStatus,
    NodeAllocatableMapping,
    NodeAllocatableResource,
    NodeSelector,
    OverheadResource,
    PodSpec,
    ResourceClaim,
    ResourceSlice,
)
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import (
    HUGE_PAGES_PREFIX,
    NATIVE,
    ClaimedAmounts,
    aggregate_limits,
    aggregate_requests,
    claimed_amounts,
    claimed_by_container,
    claimed_requests,
    pod_level_limits,
    pod_level_requests,
)
from ksched_cli.cluster.snapshot import Mask
from ksched_cli.cluster.topology.node_selection import matches_any
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.resource_claims import claim_name, is_reserved_for, qualified
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.kube.gates import WORKLOAD_CLAIMS_GATE
from ksched_cli.kube.quantity import Quantity, amount_texts

UNIT = Quantity(1)

Statuses: TypeAlias = tuple[NodeAllocatableClaimStatus, ...]
"""What each of a pod's claims takes of a node, by name."""

ClaimDevices: TypeAlias = Sequence[tuple[ResourceClaim, AllocationResult]]
"""The claims of a pod that are allocated on a node, each with its devices."""


class UnusableDeviceError(Exception):
    """A device that the node's slices do not have, or an amount that cannot be. The text is
    upstream's."""


class NodeAllocatable:
    """A service: what devices take of the nodes' allocatable resources."""

    def __init__(self, handle: Handle) -> None:
        self._snapshot = handle.snapshot
        self._rules = handle.release.rules
        self._of_groups = handle.release.enabled(WORKLOAD_CLAIMS_GATE)
        self._slices: dict[tuple[str, ...], list[tuple[ResourceSlice, Device]]] = {}
        self._masks: dict[NodeSelector, Mask] = {}
        self.is_used = False
        for resource_slice in handle.cluster.resource_slices.values():
            spec = resource_slice.spec
            for device in spec.devices:
                key = self._key(spec.driver, spec.pool.name, device.name)
                self._slices.setdefault(key, []).append((resource_slice, device))
                self.is_used |= bool(self._resources_of(device))

    def _key(self, driver: str, pool: str, device: str) -> tuple[str, ...]:
        return (driver, pool, device) if self._rules.knows_device_overhead else (pool, device)

    def _resources_of(self, device: Device) -> Mapping[str, NodeAllocatableResource]:
        if self._rules.knows_device_overhead:
            return device.node_allocatable_resources
        resources = {}
        for name, mapping in device.node_allocatable_resource_mappings.items():
            multiplier = mapping.allocation_multiplier or UNIT
            mapped = NodeAllocatableMapping(mapping.capacity_key, multiplier, multiplier)
            resources[name] = NodeAllocatableResource(mapped)
        return resources

    def _device(self, result: DeviceRequestAllocationResult, row: int | None) -> Device:
        """Return the device of an allocation as the slices of a node have it. row: None for any
        node

        Raises UnusableDeviceError. Upstream: getDeviceFromSlices, getDeviceFromManager.
        """
        # The slices of 1.36 are looked up whatever the node.
        at = row if self._rules.knows_device_overhead else None
        for resource_slice, device in self._slices.get(
            self._key(result.driver, result.pool, result.device), ()
        ):
            if at is None:
                return device
            # The node must be one that may use devices of the slice. Upstream: filterSlicesForNode.
            spec = resource_slice.spec
            is_reached = spec.node_name == self._snapshot.names[at] or spec.all_nodes
            if not is_reached and spec.node_selector is not None:
                is_reached = self._selects(spec.node_selector, at)
            elif not is_reached:
                is_reached = bool(spec.per_device_node_selection)
            if not is_reached:
                continue
            if spec.per_device_node_selection:
                named = device.node_name == self._snapshot.names[at]
                if not (named or device.all_nodes or self._selects(device.node_selector, at)):
                    raise UnusableDeviceError(f"device {result.device} does not match node")
            return device
        text = f"device {result.device} not found in pool {result.pool}"
        if self._rules.knows_device_overhead:
            text += f" for driver {result.driver}"
        raise UnusableDeviceError(text)

    def _selects(self, selector: NodeSelector | None, row: int) -> bool:
        if selector is None:
            return False
        mask = self._masks.get(selector)
        if mask is None:
            terms = node_terms(selector)
            mask = matches_any(self._snapshot, terms)
            if terms.error:
                mask = np.zeros(len(self._snapshot), dtype=np.bool_)
            self._masks[selector] = mask
        return bool(mask[row])

    # -- sharing ----------------------------------------------------------------------------------

    def sharing_status(
        self,
        pod: PodInfo,
        claim: ResourceClaim,
        shared: AllocationResult | None,
        node: NodeInfo,
    ) -> Status:
        """Reject a claim of devices that are a part of their node, which another pod has.

        shared: an allocation that the claim does not have yet, of another pod of the group
        Upstream: PreFilter, validateNodeAllocatableDRAClaimSharing.
        """
        if not self._rules.knows_device_overhead:
            if shared is not None:
                return SUCCESS
            # 1.36 rejects a node on which the status of another pod has the claim.
            users = {
                other.uid
                for other in node.pods
                if other.namespace == pod.namespace
                for status in other.pod.status.node_allocatable_resource_claim_statuses
                if status.resource_claim_name == claim.name
            }
            what = f"node allocatable resource claim {claim.name}"
            if len(users) > 1:
                return Status.unresolvable(f"{what} shared by multiple pods")
            if users and pod.uid not in users:
                return Status.unresolvable(f"{what} is already used by another pod")
            return SUCCESS
        allocation = shared or claim.status.allocation
        if allocation is None or not self._is_mapped(allocation):
            return SUCCESS
        is_used = claim.status.reserved_for and not is_reserved_for(
            claim, pod, of_groups=self._of_groups
        )
        if shared is not None or is_used:
            return Status.unresolvable(
                f"node allocatable resource claim {claim.name} has a mapped device and cannot be"
                " shared across pods"
            )
        return SUCCESS

    def _is_mapped(self, allocation: AllocationResult) -> bool:
        for result in allocation.devices.results:
            try:
                resources = self._resources_of(self._device(result, None))
            except UnusableDeviceError:
                continue
            if any(resource.mapping is not None for resource in resources.values()):
                return True
        return False

    # -- what claims take -------------------------------------------------------------------------

    def check(
        self, pod: PodInfo, allocations: ClaimDevices, node: NodeInfo
    ) -> tuple[Status, Statuses]:
        """Return whether the pod fits on a node with what its claims take there, and what that is.

        Upstream: calculateAndCheckNodeAllocatableResources.
        """
        using = [each for each in allocations if self._takes(each[1], node.row)]
        if not using:
            return SUCCESS, ()
        try:
            statuses = self._statuses(pod, using, node.row)
        except UnusableDeviceError as error:
            return Status.error(str(error)), ()
        spec, claimed = pod.spec, claimed_amounts(statuses, self._rules)
        status = self._consistency(pod, statuses, claimed)
        if not status.is_success:
            return status, ()
        requests = claimed_requests(spec, claimed, self._rules)
        short = list(_shortages(requests, node))
        if not short:
            return SUCCESS, statuses
        reasons = [f"Insufficient {name}" for name, _, _, _ in short]
        if any(amount > capacity for _, amount, _, capacity in short):
            return Status.unresolvable(*reasons), ()
        return Status.unschedulable(*reasons), ()

    def lines(self, pod: PodInfo, allocations: ClaimDevices, node: NodeInfo) -> list[str]:
        """Return the explanation of what the pod lacks on a node because of its claims."""
        using = [each for each in allocations if self._takes(each[1], node.row)]
        try:
            statuses = self._statuses(pod, using, node.row)
        except UnusableDeviceError:
            return []
        requests = claimed_requests(pod.spec, claimed_amounts(statuses, self._rules), self._rules)
        names = ", ".join(claim.key for claim, _ in using)
        lines = []
        for name, amount, free, capacity in _shortages(requests, node):
            requested, free_text, all_text = amount_texts(name, (amount, free, capacity))
            lines.append(
                f"{name}: wants {requested} with the devices of {names}, {free_text} free of"
                f" {all_text}"
            )
        return lines

    def _takes(self, allocation: AllocationResult, row: int) -> bool:
        """Return whether a device of a claim takes something of the node."""
        for result in allocation.devices.results:
            try:
                if self._resources_of(self._device(result, row)):
                    return True
            except UnusableDeviceError:
                continue
        return False

    def _statuses(self, pod: PodInfo, allocations: ClaimDevices, row: int) -> Statuses:
        """Return what the allocated devices of each claim take of the node's resources. Raises
        UnusableDeviceError. Upstream: buildNodeAllocatableDRAInfo."""
        uses: dict[str, list[str]] = {}
        names = {each.name: claim_name(pod, each)[0] for each in pod.spec.resource_claims}
        for container in (*pod.spec.init_containers, *pod.spec.containers):
            for use in container.resources.claims:
                uses.setdefault(names.get(use.name) or "", []).append(container.name)
        statuses = {}
        for claim, allocation in allocations:
            mapped, overhead = self._amounts(claim, allocation, row)
            if not mapped and not overhead:
                continue
            status = NodeAllocatableClaimStatus(claim.name, tuple(uses.get(claim.name, ())))
            if self._rules.knows_device_overhead:
                status = replace(
                    status,
                    mapping=tuple(MappedResource(name, mapped[name]) for name in sorted(mapped)),
                    overhead=tuple(overhead[name] for name in sorted(overhead)),
                )
            else:
                status = replace(status, resources=mapped)
            statuses[claim.name] = status
        return tuple(statuses[name] for name in sorted(statuses))

    def _amounts(
        self, claim: ResourceClaim, allocation: AllocationResult, row: int
    ) -> tuple[dict[str, Quantity], dict[str, OverheadResource]]:
        """Return how much of the node's resources the devices of a claim are, and what they take
        besides.

        Raises UnusableDeviceError.
        """
        mapped: dict[str, Quantity] = {}
        overhead: dict[str, OverheadResource] = {}
        for result in allocation.devices.results:
            where = f"claim {claim.key}, device {result.device}"
            try:
                device = self._device(result, row)
            except UnusableDeviceError as error:
                if self._rules.knows_device_overhead:
                    where += f", driver {result.driver}"
                raise UnusableDeviceError(f"{where}: {error}") from None
            for name, resource in self._resources_of(device).items():
                if resource.mapping is not None:
                    amount = self._mapped(name, resource.mapping, result, where)
                    if amount is not None:
                        mapped[name] = mapped[name] + amount if name in mapped else amount
                more = resource.overhead
                if more is not None and (more.per_pod or more.per_container) is not None:
                    before = overhead.get(name, OverheadResource(name))
                    overhead[name] = OverheadResource(
                        name,
                        _sum(before.per_pod, more.per_pod),
                        _sum(before.per_container, more.per_container),
                    )
        return mapped, overhead

    def _mapped(
        self,
        resource: str,
        mapping: NodeAllocatableMapping,
        result: DeviceRequestAllocationResult,
        where: str,
    ) -> Quantity | None:
        """Return how much of a resource an allocated device is, or None where the mapping does not
        apply.

        Raises UnusableDeviceError. Upstream: addDeviceMapping.
        """
        knows_overhead = self._rules.knows_device_overhead
        key, of_capacity = mapping.capacity_key, mapping.capacity_multiplier
        if not key:
            return mapping.device_multiplier
        consumed = result.consumed_capacity
        if not consumed:
            fields = "NodeAllocatableResource" + ("s" if knows_overhead else "Mappings")
            raise UnusableDeviceError(
                f"{where}: ConsumedCapacity is nil, but Capacity key '{key}' is set in {fields} for"
                f" resource {resource}"
            )
        if self._rules.qualifies_names:
            consumed = qualified(consumed, result.driver)
            amount = consumed.get(key if "/" in key else f"{result.driver}/{key}")
        else:
            amount = consumed.get(key)
        if amount is None:
            return None
        if self._rules.refuses_negative_capacity and amount.sign() < 0:
            raise UnusableDeviceError(
                f"{where}: ConsumedCapacity for capacity key '{key}' must not be negative, got"
                f" {amount}"
            )
        if of_capacity is not None and of_capacity != UNIT:
            amount = amount * of_capacity
        if self._rules.refuses_negative_capacity and amount.sign() < 0:
            raise UnusableDeviceError(
                f"{where}: computed node-allocatable footprint for resource {resource} must not be"
                f" negative, got {amount}"
            )
        return amount

    def _consistency(self, pod: PodInfo, statuses: Statuses, claimed: ClaimedAmounts) -> Status:
        """Reject a pod whose requests or limits as a whole do not cover those of its containers
        with what claims take. Upstream: validatePodLevelResourcesCoverDRA."""
        spec, rules = pod.spec, self._rules
        if not rules.knows_device_overhead:
            for status in statuses:
                if not status.containers:
                    return Status.unresolvable(
                        f"claim {status.resource_claim_name}: node-allocatable resource claim not"
                        " referenced by any container within the pod"
                    )
        if spec.resources is None or (rules.knows_device_overhead and not statuses):
            return SUCCESS
        covered = aggregate_requests(spec, claimed)
        for name, amount in sorted(pod_level_requests(spec, rules).items()):
            if name in covered and covered[name] > amount:
                return _uncovered("request", name)
        if not rules.knows_device_overhead:
            return SUCCESS
        return _limits_status(spec, statuses, aggregate_limits(spec, claimed))


def _limits_status(spec: PodSpec, statuses: Statuses, covered: Mapping[str, Quantity]) -> Status:
    """Return a rejection where containers exceed the pod's own limits.

    covered: the limits of the containers together, with what claims take
    """
    limits = pod_level_limits(spec)
    for name, amount in sorted(covered.items()):
        if name.startswith(HUGE_PAGES_PREFIX) and name in limits and amount > limits[name]:
            return _uncovered("limit", name)
    for container in spec.containers:
        added = claimed_by_container(container.name, statuses)
        for name, limit in sorted(container.resources.limits.items()):
            if name.startswith(HUGE_PAGES_PREFIX) or name not in limits:
                continue
            if limit + added.get(name, Quantity(0)) > limits[name]:
                return Status.unresolvable(
                    f"pod level limit for {name} is insufficient to cover the limit and DRA"
                    f" overhead for container {container.name}"
                )
    return SUCCESS


def _uncovered(what: str, name: str) -> Status:
    return Status.unresolvable(
        f"pod level {what} for {name} is insufficient to cover the aggregated container and"
        f" node-allocatable DRA {what}s"
    )


def _sum(first: Quantity | None, second: Quantity | None) -> Quantity | None:
    if first is None or second is None:
        return second if first is None else first
    return first + second


def _shortages(requested: Mapping[str, int], node: NodeInfo) -> Iterator[tuple[str, int, int, int]]:
    """Yield what is too much for a node: the resource, and how much of it is requested, free and
    allocatable.

    Upstream: nodeFitsResources.
    """
    huge_pages = sorted(name for name in requested if name.startswith(HUGE_PAGES_PREFIX))
    for name in (*(name for name in NATIVE if requested.get(name, 0) > 0), *huge_pages):
        capacity = node.allocatable(name)
        free = capacity - node.requested(name)
        if requested[name] > free:
            yield name, requested[name], free, capacity
