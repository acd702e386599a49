"""What the allocator works with on one node: its pools, their devices as candidates, validated
requests, and the results.

Upstream: dynamic-resource-allocation/structured/internal/experimental/allocator_experimental.go
(requestData, internalDeviceResult, deviceWithID).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ksched_cli.framework.shared_devices import SharedDevices
from ksched_cli.kube.quantity import Quantity
from ksched_cli.plugins.dynamic_resources.counters import Counters
from ksched_cli.plugins.dynamic_resources.pool_devices import Pool
from ksched_cli.plugins.dynamic_resources.requests import RequestAlternative
from ksched_cli.plugins.dynamic_resources.view import PoolSignature


@dataclass(frozen=True, slots=True)
class NodePools:
    """The pools that a node reaches.

    signatures: each pool as the demand sees it
    in_use:     per pool, a bit for every device in use
    shared:     what claims consume of devices that they share
    counters:   per pool, what is left of its counters; None where it has none
    """

    pools: Sequence[Pool]
    signatures: Sequence[PoolSignature]
    in_use: Sequence[int]
    shared: SharedDevices = field(default_factory=SharedDevices)
    counters: Sequence[Counters | None] = ()


@dataclass(slots=True)
class CandidateDevice:
    """A device of the node. pool, index: as in DeviceResult; signature: an index into
    DemandView.signatures; claim_users: the claims it is tentatively allocated to."""

    pool: int
    index: int
    signature: int
    in_use: bool
    claim_users: set[int]


@dataclass(frozen=True, slots=True)
class RequestData:
    """A validated request. number: its index in Demand.requests; all_devices: in mode All, the
    devices that match it. Upstream: requestData."""

    request: RequestAlternative
    number: int
    count: int
    all_devices: Sequence[CandidateDevice] = ()


@dataclass(frozen=True, slots=True)
class DeviceResult:
    """An allocated device. Upstream: internalDeviceResult.

    pool:     an index into the node's pools; index: into the pool's devices
    consumed: of a device that is shared, what the share consumes; else None
    """

    request: RequestAlternative
    pool: int
    index: int
    consumed: tuple[tuple[str, Quantity], ...] | None = None
