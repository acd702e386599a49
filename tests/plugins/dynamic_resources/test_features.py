"""Which features of the allocator the gates of a release switch on."""

import pytest

from ksched_cli.errors import UsageError
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins.dynamic_resources.features import (
    NO_FEATURES,
    AllocatorFeatures,
    allocator_rules,
    features_of,
)

SHARING_OFF = "DRAConsumableCapacity=false"
CONDITIONS_OFF = "DRADeviceBindingConditions=false"


def test_features_are_on_from_1_36() -> None:
    assert features_of(release_of("1.35")) == NO_FEATURES
    assert features_of(release_of("1.36")) == AllocatorFeatures(
        True, True, True, True, shows_sharing=True
    )


def test_selectors_see_what_may_be_shared_where_the_allocator_shows_it() -> None:
    assert features_of(release_of("1.34")) == AllocatorFeatures(shows_sharing=True)
    assert features_of(release_of("1.36", SHARING_OFF)).shows_sharing
    neither = f"{SHARING_OFF},{CONDITIONS_OFF}"
    assert not features_of(release_of("1.36", neither)).shows_sharing


def test_binding_conditions_need_the_status_of_devices() -> None:
    gates = f"DRAResourceClaimDeviceStatus=true,{CONDITIONS_OFF}"
    assert not features_of(release_of("1.36", gates)).binding_conditions


def test_a_gate_may_be_switched_off_where_it_is_on_and_not_on_where_it_is_off() -> None:
    release = release_of("1.36", "DRADeviceTaints=false")
    assert features_of(release) == AllocatorFeatures(True, False, True, True, shows_sharing=True)
    with pytest.raises(UsageError, match="does not implement DRADeviceTaints=true"):
        release_of("1.34", "DRADeviceTaints=true")


@pytest.mark.parametrize(
    ("gates", "distinct", "refuses"),
    [
        ("", True, False),
        (SHARING_OFF, True, True),
        (f"{SHARING_OFF},{CONDITIONS_OFF}", False, False),
    ],
)
def test_upstream_picks_the_allocator_by_the_features(
    gates: str, distinct: bool, refuses: bool
) -> None:
    rules = allocator_rules(release_of("1.36", gates))
    assert (rules.has_distinct_attributes, rules.refuses_capacity_requests) == (distinct, refuses)


def test_earlier_minors_have_one_allocator() -> None:
    for minor in ("1.34", "1.35"):
        release = release_of(minor)
        assert allocator_rules(release) is release.rules


def test_fractional_ranges_are_off_by_default() -> None:
    assert not features_of(release_of("1.37")).fractional_range
    assert features_of(release_of("1.37", "DRAFractionalCapacityRange=true")).fractional_range


def test_lists_are_compared_from_1_37_on_and_selectors_read_them_before() -> None:
    gate = "DRAListTypeAttributes=true"
    assert not features_of(release_of("1.36", gate)).list_attributes
    assert allocator_rules(release_of("1.36", gate)).reads_lists
    assert not allocator_rules(release_of("1.36")).reads_lists
    assert features_of(release_of("1.37", gate)).list_attributes
