"""What a demand sees of devices: which of its requests take them, and what its constraints compare.

Devices that look the same to a demand are interchangeable for it, and so are nodes that look the
same: the search runs once for all of them.

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

UNKNOWN = -1
# Devices that have to be waited for are behind a gate.
CONDITIONS = SelectorRejection(False, -1, "")

AttributeValue: TypeAlias = tuple[str, object]
"""The type and the value; the type is "" where the attribute has none."""


@dataclass(frozen=True, slots=True)
class DeviceSignature:
    """A device as a demand sees it.

    turned:     per request of the demand, what turns the device away; None: it may be taken
    attributes: per claim and constraint, the value compared; None where the device has none
    """

    turned: tuple[SelectorRejection | None, ...]
    attributes: tuple[tuple[AttributeValue | None, ...], ...]
    consumes_counters: bool


@dataclass(frozen=True, slots=True)
class PoolSignature:
    """A pool as a demand sees it. looks: per device, an index into DemandView.looks; the rest is
    what the search treats differently."""

    looks: tuple[int, ...]
    incomplete: bool
    invalid: bool


class DemandView:
    """All pools in the eyes of one demand; looked at when somebody asks.

    looks: the different devices; pool_looks: the different pools
    interchangeable: which of several devices of one look is taken makes no difference to what comes
                     after it
    """

    def __init__(self, demand: Demand, pools: DevicePools, selectors: DeviceSelectors) -> None:
        self.demand = demand
        self.interchangeable = _interchangeable(demand)
        self.looks: list[DeviceSignature] = []
        self.pool_looks: list[PoolSignature] = []
        self._pools = pools
        self._selectors = selectors
        self._of_kind: dict[int, int] = {}
        self._look_numbers: dict[DeviceSignature, int] = {}
        self._of_pool: dict[int, int] = {}
        self._pool_numbers: dict[PoolSignature, int] = {}
        self._node_numbers: dict[tuple[int, ...], int] = {}
        self._of_row: NDArray[np.int64] = np.full(len(pools.of_row), UNKNOWN, dtype=np.int64)

    def node_looks(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Per row a number that nodes share whose pools look the same, in the same order."""
        for row in rows[self._of_row[rows] == UNKNOWN].tolist():
            looks = tuple(self.pool(number) for number in self._pools.of_row[row])
            number = self._node_numbers.setdefault(looks, len(self._node_numbers))
            self._of_row[row] = number
        return self._of_row[rows]

    def pool(self, number: int) -> int:
        """A pool's look, as an index into `pool_looks`."""
        found = self._of_pool.get(number)
        if found is None:
            pool = self._pools.pools[number]
            looks = tuple(self.device(device.kind) for device in pool.devices)
            look = PoolSignature(looks, pool.incomplete, bool(pool.invalid))
            found = self._pool_numbers.setdefault(look, len(self.pool_looks))
            if found == len(self.pool_looks):
                self.pool_looks.append(look)
            self._of_pool[number] = found
        return found

    def device(self, kind: int) -> int:
        """A kind's look, as an index into `looks`."""
        found = self._of_kind.get(kind)
        if found is None:
            look = self._look(kind)
            found = self._look_numbers.setdefault(look, len(self.looks))
            if found == len(self.looks):
                self.looks.append(look)
            self._of_kind[kind] = found
        return found

    def _look(self, kind: int) -> DeviceSignature:
        known = self._pools.kinds[kind]
        turned = (self._selectors.turned_away(one, kind) for one in self.demand.requests)
        return DeviceSignature(
            tuple(CONDITIONS for _ in self.demand.requests)
            if known.has_conditions
            else tuple(turned),
            tuple(
                tuple(compared_value(known, one.attribute) for one in claim.constraints)
                for claim in self.demand.claims
            ),
            known.consumes_counters,
        )


def _interchangeable(demand: Demand) -> bool:
    """Not where a request may use what others have; nor where all devices are wanted and upstream
    stops at the first that a constraint excludes, if it is free, or goes on with another choice."""
    if any(request.admin_access for request in demand.requests):
        return False
    return not any(
        request.mode == ALL and (place or claim.constraints)
        for claim in demand.claims
        for choices in claim.choices
        for place, request in enumerate(choices.requests)
    )


def compared_value(kind: DeviceKind, name: str) -> AttributeValue | None:
    """Upstream: lookupAttribute."""
    attributes = dict(kind.attributes)
    found = attributes.get(name)
    if found is None:
        domain, slash, own = name.partition("/")
        found = attributes.get(own) if slash and domain == kind.driver else None
    return None if found is None else _value(found)


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
