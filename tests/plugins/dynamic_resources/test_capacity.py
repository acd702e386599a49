"""What requests consume of a device's capacity, and what it has room for."""

from typing import Any

import msgspec
import pytest

from ksched_cli.cluster.objects import DeviceCapacity
from ksched_cli.cluster.objects.base import decode_hook
from ksched_cli.kube.quantity import Quantity
from ksched_cli.plugins.dynamic_resources.capacity import (
    consumed_capacities,
    consumed_capacity,
    fits,
)

RANGE = {"default": "1", "validRange": {"min": "2", "max": "8", "step": "2"}}
VALUES = {"default": "1", "validValues": ["1", "4", "8"]}


def capacity(value: str, policy: dict[str, Any] | None = None) -> DeviceCapacity:
    given = {"value": value} | ({"requestPolicy": policy} if policy else {})
    return msgspec.convert(given, DeviceCapacity, dec_hook=decode_hook)


def quantity(text: str) -> Quantity:
    return Quantity.parse(text)


@pytest.mark.parametrize(
    ("requested", "policy", "consumed"),
    [
        (None, None, "10"),
        (None, RANGE, "1"),
        ("3", None, "3"),
        ("1", RANGE, "2"),
        ("3", RANGE, "4"),
        ("4", RANGE, "4"),
        ("3", {"validRange": {"min": "1"}}, "3"),
        ("2", VALUES, "4"),
        ("9", VALUES, "9"),
    ],
)
def test_a_request_is_rounded_up_as_the_policy_says(
    requested: str | None, policy: dict[str, Any] | None, consumed: str
) -> None:
    request = None if requested is None else quantity(requested)
    amount = consumed_capacity(request, capacity("10", policy))
    assert amount == quantity(consumed)


@pytest.mark.parametrize(
    ("requested", "policy", "expected"),
    [
        ("10", None, True),
        ("11", None, False),
        ("9", RANGE, False),
        ("9", VALUES, False),
        ("8", VALUES, True),
    ],
)
def test_a_request_fits_up_to_the_capacity_and_the_policys_limit(
    requested: str, policy: dict[str, Any] | None, expected: bool
) -> None:
    requests = (("memory", quantity(requested)),)
    assert fits((("memory", capacity("10", policy)),), requests) is expected


def test_a_capacity_that_the_device_does_not_have_cannot_be_requested() -> None:
    assert not fits((), (("memory", quantity("1")),))
    assert fits((), None)


def test_what_claims_consume_is_taken_off() -> None:
    capacities = (("memory", capacity("10")),)
    requests = (("memory", quantity("4")),)
    consumed = {"memory": quantity("3").nano_value()}
    assert fits(capacities, requests, consumed, consumed)
    assert not fits(capacities, requests, consumed, {"memory": quantity("4").nano_value()})


def test_a_share_consumes_every_capacity() -> None:
    capacities = (("cores", capacity("8", VALUES)), ("memory", capacity("10")))
    shares = consumed_capacities(capacities, (("memory", quantity("4")),))
    assert shares == (("cores", quantity("1")), ("memory", quantity("4")))
