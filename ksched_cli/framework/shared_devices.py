"""Devices that claims have shares of, and what the shares consume of their capacity.

Upstream: plugins/dynamicresources/allocateddevices.go, dynamic-resource-allocation/structured/
schedulerapi/types.go (ConsumedCapacityCollection).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from ksched_cli.cluster.objects import DeviceRequestAllocationResult

DeviceID: TypeAlias = tuple[str, str, str]
"""Driver, pool, device."""

_NOTHING: Mapping[str, int] = MappingProxyType({})


class SharedDevices:
    """Amounts are integers, in billionths of a unit."""

    def __init__(self) -> None:
        self._share_counts: Counter[DeviceID] = Counter()
        self._consumed: dict[DeviceID, dict[str, int]] = {}

    def __contains__(self, device: DeviceID) -> bool:
        return device in self._share_counts or device in self._consumed

    def __bool__(self) -> bool:
        return bool(self._share_counts)

    def has_consumed(self, device: DeviceID) -> bool:
        """Whether some share's consumption of a device is on record."""
        return device in self._consumed

    def consumed(self, device: DeviceID) -> Mapping[str, int]:
        """Return what is consumed of a device, by the name of the capacity. Do not change it."""
        return self._consumed.get(device, _NOTHING)

    def add(self, shares: Iterable[DeviceRequestAllocationResult]) -> None:
        for share in shares:
            device = device_id(share)
            self._share_counts[device] += 1
            if share.consumed_capacity:
                amounts = self._consumed.setdefault(device, {})
                for name, amount in share.consumed_capacity.items():
                    amounts[name] = amounts.get(name, 0) + amount.nano_value()

    def remove(self, shares: Iterable[DeviceRequestAllocationResult]) -> None:
        """Remove a share. A device of which no share consumes anything is no longer on record."""
        for share in shares:
            device = device_id(share)
            self._share_counts[device] -= 1
            if not self._share_counts[device]:
                del self._share_counts[device]
            amounts = self._consumed.get(device)
            if amounts is None:
                continue
            for name, amount in share.consumed_capacity.items():
                if name in amounts:
                    amounts[name] -= amount.nano_value()
            if not any(amounts.values()):
                del self._consumed[device]


def device_id(result: DeviceRequestAllocationResult) -> DeviceID:
    return result.driver, result.pool, result.device
