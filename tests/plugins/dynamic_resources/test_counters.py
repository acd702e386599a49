"""Counters of pools: totals, what devices consume, what is left, and what makes a pool invalid."""

from typing import Any

import msgspec
import pytest

from ksched_cli.cluster.objects import CounterSet, Device
from ksched_cli.cluster.objects.base import decode_hook
from ksched_cli.kube.quantity import Quantity
from ksched_cli.plugins.dynamic_resources.pools import (
    CounterError,
    PoolCounters,
    check_consumption,
    consumption_of,
    total_counters,
)


def counters(**amounts: str) -> dict[str, Any]:
    return {name: {"value": amount} for name, amount in amounts.items()}


def counter_set(name: str, **amounts: str) -> CounterSet:
    given = {"name": name, "counters": counters(**amounts)}
    return msgspec.convert(given, CounterSet, dec_hook=decode_hook)


def device(counter_set_name: str, **amounts: str) -> Device:
    consumed = {"counterSet": counter_set_name, "counters": counters(**amounts)}
    given = {"name": "d", "consumesCounters": [consumed]}
    return msgspec.convert(given, Device, dec_hook=decode_hook)


def nano(text: str) -> int:
    return Quantity.parse(text).nano_value()


def test_allocated_devices_leave_less_even_below_nothing() -> None:
    total = total_counters([counter_set("card", memory="4Gi", cores="2")])
    consumption = consumption_of(device("card", memory="3Gi"))
    ids = [("driver", "pool", name) for name in "ab"]
    pool = PoolCounters(total, tuple((device_id, consumption) for device_id in ids))
    memory, cores = ("card", "memory"), ("card", "cores")
    assert pool.available(lambda device_id: False) == {memory: nano("4Gi"), cores: nano("2")}
    assert pool.available(lambda device_id: device_id == ids[0])[memory] == nano("1Gi")
    assert pool.available(lambda device_id: True)[memory] == -nano("2Gi")


def test_a_counter_set_is_there_once() -> None:
    with pytest.raises(CounterError, match="duplicate counter set name card"):
        total_counters([counter_set("card", a="1"), counter_set("card", b="1")])


@pytest.mark.parametrize(
    ("consuming", "message"),
    [
        (device("other", memory="1"), "counter set other not found"),
        (device("card", cores="1"), "counter cores not found in counter set card"),
    ],
)
def test_a_device_consumes_counters_that_are_there(consuming: Device, message: str) -> None:
    sets = [counter_set("card", memory="1")]
    check_consumption([device("card", memory="9")], sets)
    with pytest.raises(CounterError, match=message):
        check_consumption([consuming], sets)
