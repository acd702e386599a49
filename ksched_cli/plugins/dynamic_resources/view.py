"""Devices, pools and nodes as one demand sees them: which of its requests accept a device, and the
attribute values that its constraints compare.

Devices with equal signatures are interchangeable for a demand, and so are nodes: the allocator runs
once for all nodes with equal signatures.

Upstream: structured/internal/experimental/allocator_experimental.go (isSelectable,
lookupAttribute).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.objects import DeviceAttribute
from ksched_cli.plugins.dynamic_resources.pools import DeviceKind, DevicePools
from ksched_cli.plugins.dynamic_resources.requests import ALL, Demand
from ksched_cli.plugins.dynamic_resources.selectors import DeviceSelectors, SelectorRejection

NOT_COMPUTED = -1
# Devices with binding conditions need the gate DRADeviceBindingConditions, which is off.
BINDING_CONDITIONS = SelectorRejection(False, -1, "")

AttributeValue: TypeAlias = tuple[str, object]
"""The type and the value; the type is "" where the attribute has none."""


@dataclass(frozen=True, slots=True)
class DeviceSignature:
    """A device as a demand sees it.

    rejections: per request of the demand, the selector that rejects the device; None: none does
    attributes: per claim and constraint, the value compared; None where the device has none
    """

    rejections: tuple[SelectorRejection | None, ...]
    attributes: tuple[tuple[AttributeValue | None, ...], ...]
    consumes_counters: bool


@dataclass(frozen=True, slots=True)
class PoolSignature:
    """A pool as a demand sees it. signatures: per device, an index into DemandView.signatures."""

    signatures: tuple[int, ...]
    incomplete: bool
    invalid: bool


class DemandView:
    """All pools as one demand sees them; signatures are computed on first use.

    signatures:      the distinct device signatures
    pool_signatures: the distinct pool signatures
    interchangeable: which of several devices with one signature is allocated makes no difference to
                     the rest of the search
    """

    def __init__(self, demand: Demand, pools: DevicePools, selectors: DeviceSelectors) -> None:
        self.demand = demand
        self.interchangeable = _interchangeable(demand)
        self.signatures: list[DeviceSignature] = []
        self.pool_signatures: list[PoolSignature] = []
        self._pools = pools
        self._selectors = selectors
        self._id_of_kind: dict[int, int] = {}
        self._device_ids: dict[DeviceSignature, int] = {}
        self._id_of_pool: dict[int, int] = {}
        self._pool_ids: dict[PoolSignature, int] = {}
        self._node_ids: dict[tuple[int, ...], int] = {}
        self._id_of_row: NDArray[np.int64] = np.full(
            len(pools.of_row), NOT_COMPUTED, dtype=np.int64
        )

    def node_signatures(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Per row an id, equal for nodes whose pools have equal signatures in the same order."""
        for row in rows[self._id_of_row[rows] == NOT_COMPUTED].tolist():
            pool_ids = tuple(self.pool_signature_id(node_id) for node_id in self._pools.of_row[row])
            node_id = self._node_ids.setdefault(pool_ids, len(self._node_ids))
            self._id_of_row[row] = node_id
        return self._id_of_row[rows]

    def pool_signature_id(self, number: int) -> int:
        """The index of a pool's signature in `pool_signatures`."""
        pool_id = self._id_of_pool.get(number)
        if pool_id is None:
            pool = self._pools.pools[number]
            device_ids = tuple(self.device_signature_id(device.kind) for device in pool.devices)
            signature = PoolSignature(device_ids, pool.incomplete, bool(pool.invalid))
            pool_id = self._pool_ids.setdefault(signature, len(self.pool_signatures))
            if pool_id == len(self.pool_signatures):
                self.pool_signatures.append(signature)
            self._id_of_pool[number] = pool_id
        return pool_id

    def device_signature_id(self, kind: int) -> int:
        """The index of a device kind's signature in `signatures`."""
        signature_id = self._id_of_kind.get(kind)
        if signature_id is None:
            signature = self._signature(kind)
            signature_id = self._device_ids.setdefault(signature, len(self.signatures))
            if signature_id == len(self.signatures):
                self.signatures.append(signature)
            self._id_of_kind[kind] = signature_id
        return signature_id

    def _signature(self, kind: int) -> DeviceSignature:
        device_kind = self._pools.kinds[kind]
        rejections = (self._selectors.rejection(request, kind) for request in self.demand.requests)
        return DeviceSignature(
            tuple(BINDING_CONDITIONS for _ in self.demand.requests)
            if device_kind.has_binding_conditions
            else tuple(rejections),
            tuple(
                tuple(
                    lookup_attribute(device_kind, constraint.attribute)
                    for constraint in claim.constraints
                )
                for claim in self.demand.claims
            ),
            device_kind.consumes_counters,
        )


def _interchangeable(demand: Demand) -> bool:
    """Not with admin access, which may use devices in use; nor with mode All where upstream fails
    at the first free device that a constraint excludes, or goes on with another alternative."""
    if any(request.admin_access for request in demand.requests):
        return False
    return not any(
        request.mode == ALL and (index or claim.constraints)
        for claim in demand.claims
        for alternatives in claim.alternatives
        for index, request in enumerate(alternatives.requests)
    )


def lookup_attribute(kind: DeviceKind, name: str) -> AttributeValue | None:
    """Upstream: lookupAttribute."""
    attributes = dict(kind.attributes)
    attribute = attributes.get(name)
    if attribute is None:
        domain, slash, identifier = name.partition("/")
        attribute = attributes.get(identifier) if slash and domain == kind.driver else None
    return None if attribute is None else _value(attribute)


def _value(attribute: DeviceAttribute) -> AttributeValue:
    # In upstream's order, which matters where an attribute has several values.
    for kind, value in (
        ("string", attribute.string_value),
        ("int", attribute.int_value),
        ("bool", attribute.bool_value),
        ("version", attribute.version_value),
    ):
        if value is not None:
            return kind, value
    return "", None
