"""VolumeZone: a bound volume's zone and region labels are the node's."""

from typing import Any

import pytest

from ksched_cli.plugins.volume_zone import after_class_creation, after_volume_change
from ksched_cli.plugins.volumes import ZONE
from ksched_cli.testing import cluster
from tests.plugin_cases import cases, check
from tests.plugins.event_objects import pod_info
from tests.volumes import storage_class, volume


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin: str, case: dict[str, Any]) -> None:
    check(plugin, case)


def test_a_class_that_waits_and_a_volume_in_other_zones_may_let_a_pod_fit() -> None:
    state = cluster(storage_class("waits"), storage_class("at-once", wait=False))
    assert after_class_creation(pod_info(), None, state.storage_classes["waits"])
    assert not after_class_creation(pod_info(), None, state.storage_classes["at-once"])
    by_zone = {
        zone: cluster(volume("v", labels={ZONE: zone})).persistent_volumes["v"] for zone in "ab"
    }
    assert after_volume_change(pod_info(), None, by_zone["a"])
    assert after_volume_change(pod_info(), by_zone["a"], by_zone["b"])
    assert not after_volume_change(pod_info(), by_zone["a"], by_zone["a"])
