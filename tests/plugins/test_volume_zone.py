"""VolumeZone: a bound volume's zone and region labels are the node's."""

from typing import Any

import pytest

from tests.plugin_cases import cases, check


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin: str, case: dict[str, Any]) -> None:
    check(plugin, case)
