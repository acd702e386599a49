"""Devices that claims have shares of."""

from ksched_cli.cluster.objects import DeviceRequestAllocationResult
from ksched_cli.framework.resource_claims import SharedDevices
from ksched_cli.kube.quantity import Quantity

DEVICE = ("driver", "pool", "card")


def share(share_id: str, memory: str = "") -> DeviceRequestAllocationResult:
    consumed = {"memory": Quantity.parse(memory)} if memory else {}
    driver, pool, device = DEVICE
    return DeviceRequestAllocationResult(
        driver=driver, pool=pool, device=device, share_id=share_id, consumed_capacity=consumed
    )


def test_shares_add_up_and_are_given_back() -> None:
    shared = SharedDevices()
    shared.add([share("a", "1Gi"), share("b", "2Gi")])
    assert shared.consumed(DEVICE) == {"memory": Quantity.parse("3Gi").nano_value()}
    shared.remove([share("a", "1Gi")])
    assert shared.consumed(DEVICE) == {"memory": Quantity.parse("2Gi").nano_value()}
    assert DEVICE in shared
    shared.remove([share("b", "2Gi")])
    assert DEVICE not in shared
    assert not shared


def test_a_share_that_consumes_nothing_is_a_share() -> None:
    shared = SharedDevices()
    shared.add([share("a")])
    assert DEVICE in shared
    assert not shared.has_consumed(DEVICE)
    assert shared.consumed(DEVICE) == {}
