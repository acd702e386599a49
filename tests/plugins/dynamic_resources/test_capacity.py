"""What requests consume of a device's capacity, and what it has room for."""

from typing import Any

import msgspec
import pytest

from ksched_cli.cluster.objects import DeviceCapacity
from ksched_cli.cluster.objects.base import decode_hook
from ksched_cli.kube.quantity import Quantity
from ksched_cli.plugins.dynamic_resources.requests import (
    CapacityPolicyRules,
    consumed_capacities,
    consumed_capacity,
    fits,
)

RULES = CapacityPolicyRules()
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
    amount = consumed_capacity(request, capacity("10", policy), RULES)
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
    assert fits((("memory", capacity("10", policy)),), requests, "", RULES) is expected


def test_a_capacity_that_the_device_does_not_have_cannot_be_requested() -> None:
    assert not fits((), (("memory", quantity("1")),), "", RULES)
    assert fits((), None, "", RULES)


def test_what_claims_consume_is_taken_off() -> None:
    capacities = (("memory", capacity("10")),)
    requests = (("memory", quantity("4")),)
    consumed = {"memory": quantity("3").nano_value()}
    assert fits(capacities, requests, "", RULES, consumed, consumed)
    assert not fits(
        capacities, requests, "", RULES, consumed, {"memory": quantity("4").nano_value()}
    )


def test_a_share_consumes_every_capacity() -> None:
    capacities = (("cores", capacity("8", VALUES)), ("memory", capacity("10")))
    shares = consumed_capacities(capacities, (("memory", quantity("4")),), "", RULES)
    assert shares == (("cores", quantity("1")), ("memory", quantity("4")))


@pytest.mark.parametrize(
    ("requested", "fractional", "consumed"),
    [
        ("600m", False, "1"),
        ("600m", True, "750m"),
        ("1500m", True, "1500m"),
        ("250m", True, "250m"),
    ],
)
def test_steps_count_in_thousandths_where_ranges_may_be_fractional(
    requested: str, fractional: bool, consumed: str
) -> None:
    policy = {"validRange": {"min": "250m", "step": "250m"}}
    rules = CapacityPolicyRules(aborts=True, fractional=fractional)
    amount = consumed_capacity(quantity(requested), capacity("10", policy), rules)
    assert amount == quantity(consumed)


@pytest.mark.parametrize(
    ("requested", "policy", "fractional", "problem"),
    [
        ("-1", None, False, "capacity value is negative"),
        ("1u", {"validRange": {"min": "0", "step": "1m"}}, True, "is not a representable milli"),
        ("9223372036854775807m", {"validRange": {"min": "0", "step": "2m"}}, True, "milli-value"),
        ("8", RANGE, False, ""),
        ("-1", RANGE, False, ""),
    ],
)
def test_what_cannot_be_said_of_a_request_is_an_error(
    requested: str, policy: dict[str, Any] | None, fractional: bool, problem: str
) -> None:
    rules = CapacityPolicyRules(aborts=True, fractional=fractional)
    capacities = (("memory", capacity("10", policy)),)
    error = rules.error(capacities, (("memory", quantity(requested)),), "")
    assert (problem in error) if problem else not error
    assert not CapacityPolicyRules().error(capacities, (("memory", quantity("-1")),), "")
