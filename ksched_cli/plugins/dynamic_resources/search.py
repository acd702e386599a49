"""The search for one pod's claims over all nodes: once per kind of node.

Upstream: plugins/dynamicresources/dynamicresources.go (Filter), dynamic-resource-allocation/
structured/internal/experimental/allocator_experimental.go (Allocate).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.objects import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.plugins.dynamic_resources.allocator import (
    AllocationError,
    DeviceAllocator,
    Reachable,
    Taken,
    TimedOutError,
)
from ksched_cli.plugins.dynamic_resources.claims import ClaimStore
from ksched_cli.plugins.dynamic_resources.explain import AllocationExplanation
from ksched_cli.plugins.dynamic_resources.pools import node_selector
from ksched_cli.plugins.dynamic_resources.requests import demand_of
from ksched_cli.plugins.dynamic_resources.usage import Devices

NOT_ALLOCATABLE = Status.unresolvable("cannot allocate all claims")
TIMED_OUT = Status.unresolvable("timed out trying to allocate devices")


class DeviceSearch:
    """What can be had for the claims, with the devices that are in use now.

    claims:  those to allocate, in the pod's order
    seconds: how long one search may take; 0: as long as it does
    """

    def __init__(self, handle: Handle, claims: list[ResourceClaim], seconds: float) -> None:
        self._names_of_nodes = handle.snapshot.names
        self._claims = claims
        self._keys = [claim.key for claim in claims]
        self._seconds = seconds
        self._devices = Devices.of(handle)
        self._devices.use.refresh()
        self._view = self._devices.view(demand_of(claims))
        self._answers: dict[int, list[list[Taken]]] = {}

    def verdicts(self, nodes: Nodes) -> Verdicts:
        if self._devices.pools.error:
            return Verdicts.of([Status.error(self._devices.pools.error)] * len(nodes))
        rows = nodes.indices()
        kinds, first, of_node = np.unique(self._kinds(rows), return_index=True, return_inverse=True)
        statuses = [
            self._search(kind, int(rows[place]))
            for kind, place in zip(kinds.tolist(), first, strict=True)
        ]
        by_kind = Verdicts.of(statuses)
        return Verdicts(by_kind.ids[of_node], by_kind.statuses)

    def allocations(self, row: int) -> list[AllocationResult] | None:
        """Per claim what was found on a node; None where nothing was, or nobody has searched.

        Raises AllocationError.
        """
        answer = self._answers.get(self._kind(row))
        if answer is None:
            return None
        return [
            self._allocation(claim, taken, row)
            for claim, taken in zip(self._claims, answer, strict=True)
        ]

    def lines(self, row: int, store: ClaimStore) -> list[str]:
        """Why nothing was found on a node, for people."""
        if self._kind(row) in self._answers:
            return []
        return list(
            AllocationExplanation(self._view, self._reachable(row), self._keys, store).lines()
        )

    def _kinds(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """A number that nodes share whose pools look the same and have the same devices in use."""
        use = self._devices.use.of_row[rows]
        # Both are below the number of nodes times attempts: 32 bits each will do.
        return np.asarray(self._view.node_looks(rows) << np.int64(32) | use, dtype=np.int64)

    def _kind(self, row: int) -> int:
        return int(self._kinds(np.array([row], dtype=np.intp))[0])

    def _search(self, kind: int, row: int) -> Status:
        allocator = DeviceAllocator(
            self._view, self._reachable(row), self._keys, self._devices.classes, self._seconds
        )
        try:
            answer = allocator.allocate()
            if answer is None:
                return NOT_ALLOCATABLE
            for claim, taken in zip(self._claims, answer, strict=True):
                self._allocation(claim, taken, row)
        except TimedOutError:
            return TIMED_OUT
        except AllocationError as error:
            return Status.error(str(error))
        self._answers[kind] = answer
        return SUCCESS

    def _reachable(self, row: int) -> Reachable:
        numbers = self._devices.pools.of_row[row]
        view = self._view
        return Reachable(
            [self._devices.pools.pools[number] for number in numbers],
            [view.pool_looks[view.pool(number)] for number in numbers],
            [self._devices.use.masks[number] for number in numbers],
        )

    def _allocation(self, claim: ResourceClaim, taken: list[Taken], row: int) -> AllocationResult:
        """Raises AllocationError."""
        pools = self._devices.pools
        numbers = pools.of_row[row]
        devices = [pools.pools[numbers[one.pool]].devices[one.place] for one in taken]
        results = tuple(
            DeviceRequestAllocationResult(
                request=one.request.result_name,
                driver=device.id[0],
                pool=device.id[1],
                device=device.id[2],
                admin_access=one.request.admin_access,
            )
            for one, device in zip(taken, devices, strict=True)
        )
        try:
            selector = node_selector(devices, self._names_of_nodes[row])
        except ValueError as error:
            raise AllocationError(f"create NodeSelector for claim {claim.name}: {error}") from None
        return AllocationResult(
            devices=DeviceAllocationResult(results=results), node_selector=selector
        )
