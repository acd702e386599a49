"""Allocates one pod's claims on every node: the allocator runs once per kind of node.

Upstream: plugins/dynamicresources/dynamicresources.go (Filter), dynamic-resource-allocation/
structured/internal/experimental/allocator_experimental.go (Allocate).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.objects import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ResourceClaim,
)
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.resource_claims import ClaimStore, claim_uid
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.plugins.dynamic_resources.allocator import (
    AllocationError,
    DeviceAllocator,
    InvalidPoolsError,
    TimedOutError,
)
from ksched_cli.plugins.dynamic_resources.candidates import DeviceResult, NodePools
from ksched_cli.plugins.dynamic_resources.explain import AllocationExplanation
from ksched_cli.plugins.dynamic_resources.pool_devices import PoolDevice
from ksched_cli.plugins.dynamic_resources.requests import demand_of
from ksched_cli.plugins.dynamic_resources.usage import Devices

NOT_ALLOCATABLE = Status.unresolvable("cannot allocate all claims")
INVALID_POOLS = Status.unresolvable("invalid resource pools were encountered")
TIMED_OUT = Status.unresolvable("timed out trying to allocate devices")


class DeviceSearch:
    """The possible allocations of a pod's claims, given the devices in use at its creation.

    claims:  those to allocate, in the pod's order
    seconds: the time limit for one node; 0: none
    """

    def __init__(self, handle: Handle, claims: list[ResourceClaim], seconds: float) -> None:
        self._node_names = handle.snapshot.names
        self._claims = claims
        self._claim_names = [claim.key for claim in claims]
        self._seconds = seconds
        self._devices = handle.service(Devices)
        self._devices.in_use.refresh()
        self._view = self._devices.view(demand_of(claims))
        self._results: dict[int, list[list[DeviceResult]]] = {}

    def verdicts(self, nodes: Nodes) -> Verdicts:
        if self._devices.pools.error:
            return Verdicts.of([Status.error(self._devices.pools.error)] * len(nodes))
        rows = nodes.indices()
        node_kinds, first_index, kind_of_node = np.unique(
            self._node_kinds(rows), return_index=True, return_inverse=True
        )
        statuses = [
            self._allocate(node_kind, int(rows[index]))
            for node_kind, index in zip(node_kinds.tolist(), first_index, strict=True)
        ]
        by_kind = Verdicts.of(statuses)
        return Verdicts(by_kind.ids[kind_of_node], by_kind.statuses)

    def allocations(self, row: int) -> list[AllocationResult] | None:
        """Per claim its allocation on a node; None if there is none, or Filter did not run for it.

        Raises AllocationError.
        """
        results = self._results.get(self._node_kind(row))
        if results is None:
            return None
        return [
            self._allocation(claim, device_results, row)
            for claim, device_results in zip(self._claims, results, strict=True)
        ]

    def lines(self, row: int, store: ClaimStore) -> list[str]:
        """The explanation of why the claims cannot be allocated on a node."""
        if self._node_kind(row) in self._results:
            return []
        return list(
            AllocationExplanation(
                self._view, self._node_pools(row), self._claim_names, store
            ).lines()
        )

    def _node_kinds(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Per row an id, equal for nodes whose pools have equal signatures and devices in use."""
        in_use = self._devices.in_use.of_row[rows]
        # Both are below the number of nodes times attempts: 32 bits each will do.
        return np.asarray(self._view.node_signatures(rows) << np.int64(32) | in_use, dtype=np.int64)

    def _node_kind(self, row: int) -> int:
        return int(self._node_kinds(np.array([row], dtype=np.intp))[0])

    def _allocate(self, node_kind: int, row: int) -> Status:
        allocator = DeviceAllocator(
            self._view,
            self._node_pools(row),
            self._claim_names,
            self._devices.classes,
            self._seconds,
            self._devices.rules,
        )
        try:
            results = allocator.allocate()
            if results is None:
                return NOT_ALLOCATABLE
            for claim, device_results in zip(self._claims, results, strict=True):
                self._allocation(claim, device_results, row)
        except TimedOutError:
            return self._timed_out(row)
        except InvalidPoolsError:
            return INVALID_POOLS
        except AllocationError as error:
            return Status.error(str(error))
        self._results[node_kind] = results
        return SUCCESS

    def _timed_out(self, row: int) -> Status:
        if not self._devices.rules.filter_timeout_is_error:
            return TIMED_OUT
        return Status.error(f"node {self._node_names[row]}: {TIMED_OUT.message}")

    def _node_pools(self, row: int) -> NodePools:
        numbers = self._devices.pools.of_row[row]
        view = self._view
        return NodePools(
            [self._devices.pools.pools[number] for number in numbers],
            [view.pool_signatures[view.pool_signature_id(number)] for number in numbers],
            [self._devices.in_use.masks[number] for number in numbers],
            self._devices.in_use.shared,
            [self._devices.in_use.counters(number) for number in numbers],
        )

    def _allocation(
        self, claim: ResourceClaim, device_results: list[DeviceResult], row: int
    ) -> AllocationResult:
        """Raises AllocationError."""
        pools = self._devices.pools
        numbers = pools.of_row[row]
        devices = [
            pools.pools[numbers[result.pool]].devices[result.index] for result in device_results
        ]
        results = tuple(
            DeviceRequestAllocationResult(
                request=result.request.result_name,
                driver=device.id[0],
                pool=device.id[1],
                device=device.id[2],
                admin_access=result.request.admin_access,
                tolerations=result.request.tolerations,
                binding_conditions=device.device.binding_conditions,
                binding_failure_conditions=device.device.binding_failure_conditions,
                share_id=None if result.consumed is None else f"{claim_uid(claim)}-{index}",
                consumed_capacity=dict(result.consumed or ()),
            )
            for index, (result, device) in enumerate(zip(device_results, devices, strict=True))
        )
        try:
            selector = node_selector(devices, self._node_names[row])
        except ValueError as error:
            raise AllocationError(f"create NodeSelector for claim {claim.name}: {error}") from None
        return AllocationResult(
            devices=DeviceAllocationResult(results=results), node_selector=selector
        )


def node_selector(devices: Iterable[PoolDevice], node_name: str) -> NodeSelector | None:
    """The nodes that can use an allocation of these devices; None: all. Raises ValueError.

    Upstream: dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go
    (createNodeSelector).
    """
    expressions: dict[Hashable, NodeSelectorRequirement] = {}
    fields: dict[Hashable, NodeSelectorRequirement] = {}
    for device in devices:
        spec = device.slice.spec
        place = device.device if spec.per_device_node_selection else spec
        if place.node_name is not None or device.device.binds_to_node:
            this_node = NodeSelectorRequirement(
                key="metadata.name", operator="In", values=(node_name,)
            )
            return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(this_node,)),))
        terms = place.node_selector.node_selector_terms if place.node_selector else ()
        if len(terms) > 1:
            raise ValueError(f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms")
        for term in terms:
            _add_new(fields, term.match_fields)
            _add_new(expressions, term.match_expressions)
    if not expressions and not fields:
        return None
    term = NodeSelectorTerm(
        match_expressions=tuple(expressions.values()), match_fields=tuple(fields.values())
    )
    return NodeSelector(node_selector_terms=(term,))


def _add_new(
    requirements: dict[Hashable, NodeSelectorRequirement], added: Iterable[NodeSelectorRequirement]
) -> None:
    for each in added:
        requirements.setdefault((each.key, each.operator, frozenset(each.values)), each)
