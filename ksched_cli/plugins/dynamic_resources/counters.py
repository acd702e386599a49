"""Counters of a pool, which its devices consume: partitions of one card, say, that take from the
memory of the card.

Amounts are integers, in billionths of a unit.

Upstream: dynamic-resource-allocation/structured/internal/incubating (allocator_incubating.go,
checkAvailableCounters; pools_incubating.go, getAndValidateCounterSets,
validateDeviceCounterConsumption).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ksched_cli.cluster.objects import CounterSet, Device
from ksched_cli.framework.shared_devices import DeviceID

CounterKey: TypeAlias = tuple[str, str]
"""Counter set, counter."""

Counters: TypeAlias = Mapping[CounterKey, int]

Consumption: TypeAlias = tuple[tuple[CounterKey, int], ...]
"""What one device consumes, a pair for each counter that it lists."""


class CounterError(Exception):
    """Counters that make a pool invalid. The text is upstream's."""


@dataclass(frozen=True, slots=True, eq=False)
class PoolCounters:
    """The counters of a pool's newest generation. Compared by identity.

    total:     of each counter
    consumers: every device of the pool that consumes some, on whichever node, with what it does
    """

    total: Counters
    consumers: tuple[tuple[DeviceID, Consumption], ...]

    def available(self, is_allocated: Callable[[DeviceID], bool]) -> dict[CounterKey, int]:
        """Return what the allocated devices leave; below 0 where they consume more than there
        is."""
        amounts = dict(self.total)
        for device, consumption in self.consumers:
            if is_allocated(device):
                for key, amount in consumption:
                    if key in amounts:
                        amounts[key] -= amount
        return amounts


def consumption_of(device: Device) -> Consumption:
    return tuple(
        ((consumed.counter_set, name), counter.value.nano_value())
        for consumed in device.consumes_counters
        for name, counter in consumed.counters.items()
    )


def total_counters(sets: Iterable[CounterSet]) -> dict[CounterKey, int]:
    """Raises CounterError."""
    total: dict[CounterKey, int] = {}
    names: set[str] = set()
    for counter_set in sets:
        if counter_set.name in names:
            raise CounterError(f"duplicate counter set name {counter_set.name}")
        names.add(counter_set.name)
        for name, counter in counter_set.counters.items():
            total[counter_set.name, name] = counter.value.nano_value()
    return total


def check_consumption(devices: Iterable[Device], sets: Iterable[CounterSet]) -> None:
    """Raises CounterError for a device that consumes a counter which its pool does not have."""
    counters = {counter_set.name: counter_set.counters for counter_set in sets}
    for device in devices:
        for consumed in device.consumes_counters:
            existing = counters.get(consumed.counter_set)
            if existing is None:
                raise CounterError(f"counter set {consumed.counter_set} not found")
            for name in consumed.counters:
                if name not in existing:
                    raise CounterError(
                        f"counter {name} not found in counter set {consumed.counter_set}"
                    )
