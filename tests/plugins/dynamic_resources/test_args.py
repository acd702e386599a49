"""The args of DynamicResources: how long Filter may take."""

import pytest

from ksched_cli.kube.versions import release_of
from ksched_cli.plugins.args import DynamicResourcesArgs, dynamic_resources_args
from tests.plugins.args_checks import error_texts

SECOND = 10**9
ARGS = dynamic_resources_args(release_of("1.34"))


@pytest.mark.parametrize(("given", "timeout"), [(None, 10 * SECOND), (0, 0), (SECOND, SECOND)])
def test_ten_seconds_unless_it_is_given(given: int | None, timeout: int) -> None:
    args = ARGS.with_defaults(DynamicResourcesArgs(filter_timeout=given))
    assert args.filter_timeout == timeout
    assert error_texts(ARGS, args) == []


def test_a_negative_timeout_is_an_error() -> None:
    args = DynamicResourcesArgs(filter_timeout=-90 * SECOND)
    message = 'filterTimeout: Invalid value: "-1m30s": must be zero or positive'
    assert error_texts(ARGS, args) == [message]


@pytest.mark.parametrize(
    ("minor", "message"),
    [
        (
            "1.35",
            "bindingTimeout: Forbidden: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus"
            " feature gate is disabled",
        ),
        ("1.36", 'bindingTimeout: Invalid value: "10ms": must be at least 1 second'),
    ],
)
def test_a_binding_timeout_is_forbidden_first_and_then_a_second_at_least(
    minor: str, message: str
) -> None:
    args = DynamicResourcesArgs(filter_timeout=0, binding_timeout=SECOND // 100)
    assert error_texts(dynamic_resources_args(release_of(minor)), args) == [message]


@pytest.mark.parametrize(("minor", "timeout"), [("1.34", None), ("1.35", None), ("1.36", 600)])
def test_ten_minutes_to_bind_where_devices_have_conditions(minor: str, timeout: int | None) -> None:
    args = dynamic_resources_args(release_of(minor)).with_defaults(DynamicResourcesArgs())
    assert args.binding_timeout == (None if timeout is None else timeout * SECOND)


def test_a_timeout_is_forbidden_and_none_where_its_gate_is_off() -> None:
    args = dynamic_resources_args(release_of("1.37", "DRASchedulerFilterTimeout=false"))
    assert args.with_defaults(DynamicResourcesArgs()).filter_timeout is None
    message = "filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled"
    assert error_texts(args, DynamicResourcesArgs(filter_timeout=SECOND)) == [message]
